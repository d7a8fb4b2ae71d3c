"""Where rows come from, and where results go: arrays, frames, files, Dask collections, in blocks.

Estimators of the prototype family take all of these as ``X``; `open_rows` is for opening data once and using them
several times, or for choosing the folder of temporary files.
"""

from evlearn.blocks.open import open_rows
from evlearn.blocks.rows import ArrayRows, Rows
from evlearn.blocks.through import fit_scaler

__all__ = ["ArrayRows", "Rows", "fit_scaler", "open_rows"]
