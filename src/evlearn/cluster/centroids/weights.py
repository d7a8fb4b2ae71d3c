"""Weights of rows: checked, and in a unit in which sums are safe."""

from typing import Any

import numpy as np

from evlearn.blocks import Rows
from evlearn.utils.typing import FloatArray

# Between these, sums of weights are safe in single precision too.
_LIGHT, _HEAVY = 1e-6, 1e6


def check_weights(weights: Any, rows: Rows) -> FloatArray | None:
    """Weights of rows as an array, or an error that says what is wrong with them."""
    named = getattr(rows, "weights", None)
    if weights is None and named is None:
        return None
    if named is not None:
        if weights is not None:
            raise ValueError("sample_weight is given, and X was opened with weight=...; give one of them.")
        weights = named.read(0, len(rows))[:, 0] if hasattr(named, "read") else named
    if hasattr(weights, "__dask_graph__"):
        weights = weights.compute()
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be numbers, got {weights!r}.") from error
    if array.ndim == 0:
        array = np.full(len(rows), float(array))
    if array.shape != (len(rows),):
        raise ValueError(f"sample_weight must be 1D with shape {(len(rows),)}, got {array.shape}.")
    if not np.isfinite(array).all() or (array < 0).any() or not array.any():
        raise ValueError("sample_weight must be finite numbers that are not negative and not all zero.")
    return array


def weight_unit(weights: FloatArray | None) -> float:
    """What weights are divided by: 1, or a power of two where they are too small or too large for sums."""
    heaviest = 1.0 if weights is None else float(weights.max())
    return 1.0 if _LIGHT < heaviest < _HEAVY else float(2.0 ** np.floor(np.log2(heaviest)))
