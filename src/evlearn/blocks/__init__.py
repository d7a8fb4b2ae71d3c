"""Rows in blocks, from arrays, frames, files and Dask collections, and targets for results.

Estimators of the prototype family accept all of these as ``X``. Use `evlearn.open_dataset` to read the same data
several times, or to choose the folder of temporary files.
"""

from evlearn.blocks.dataset import ArrayDataset, RowDataset
from evlearn.blocks.open import open_dataset

__all__ = ["ArrayDataset", "RowDataset", "open_dataset"]
