"""Quantiles of weighted values."""

import numpy as np

from evlearn.utils.typing import FloatArray


def weighted_quantile(values: FloatArray, weights: FloatArray, q: float) -> float:
    """Return the quantile of values of which each counts `weights` times, with linear interpolation."""
    order = np.argsort(values, kind="stable")
    values, ends = values[order], np.cumsum(weights[order])
    place = q * (ends[-1] - 1)
    if place <= 0:
        return float(values[weights[order] > 0][0])
    low = values[min(np.searchsorted(ends, np.floor(place), side="right"), len(values) - 1)]
    high = values[min(np.searchsorted(ends, np.floor(place) + 1, side="right"), len(values) - 1)]
    return float(low + (place - np.floor(place)) * (high - low))
