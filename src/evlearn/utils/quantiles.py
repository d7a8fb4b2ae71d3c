"""Quantiles of weighted values."""

from collections.abc import Sequence

import numpy as np

from evlearn.utils.typing import FloatArray


def weighted_quantile(values: FloatArray, weights: FloatArray, q: float) -> float:
    """Return the quantile of values of which each counts `weights` times, with linear interpolation."""
    return weighted_quantiles(values, weights, [q])[0]


def weighted_quantiles(values: FloatArray, weights: FloatArray, q: Sequence[float]) -> list[float]:
    """Return several quantiles of weighted values."""
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    ends = np.cumsum(weights)
    return [_interpolate(values, weights, ends, float(share * (ends[-1] - 1))) for share in q]


def _interpolate(values: FloatArray, weights: FloatArray, ends: FloatArray, place: float) -> float:
    """Return the value at a place among sorted values that are repeated as often as they count."""
    if place <= 0:
        return float(values[weights > 0][0])
    start = int(place)
    low, high = values[np.minimum(np.searchsorted(ends, [start, start + 1], side="right"), len(values) - 1)]
    return float(low + (place - start) * (high - low))
