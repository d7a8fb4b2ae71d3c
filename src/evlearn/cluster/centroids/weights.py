"""Checks and scaling of sample weights."""

from typing import Any

import numpy as np

from evlearn.blocks import RowDataset
from evlearn.utils.typing import FloatArray

# Range of the largest weight for which sums are safe in single precision, too.
_MIN_WEIGHT, _MAX_WEIGHT = 1e-6, 1e6


def check_weights(weights: Any, rows: RowDataset) -> FloatArray | None:
    """Return sample weights as an array, and raise ValueError if they are invalid."""
    stored_weights = getattr(rows, "weights", None)
    if weights is None and stored_weights is None:
        return None
    if stored_weights is not None:
        if weights is not None:
            raise ValueError("sample_weight is given, and X was opened with weight=...; give one of them.")
        weights = (
            stored_weights.read_rows(0, len(rows))[:, 0]
            if hasattr(stored_weights, "read_rows")
            else stored_weights
        )
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
    """Return the divisor of the weights: 1, or a power of 2 for weights too small or too large for sums."""
    largest = 1.0 if weights is None else float(weights.max())
    return 1.0 if _MIN_WEIGHT < largest < _MAX_WEIGHT else float(2.0 ** np.floor(np.log2(largest)))
