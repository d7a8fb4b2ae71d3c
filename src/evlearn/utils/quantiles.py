"""Quantiles of weighted values."""

from collections.abc import Sequence

import numpy as np

from evlearn.utils.typing import FloatArray


def weighted_quantile(values: FloatArray, weights: FloatArray, q: float) -> float:
    """Return a quantile of weighted values, with linear interpolation."""
    return weighted_quantiles(values, weights, [q])[0]


def weighted_quantiles(values: FloatArray, weights: FloatArray, q: Sequence[float]) -> list[float]:
    """Return several quantiles of weighted values."""
    if (weights == 1).all():
        return [_order_statistic(values, float(share * (len(values) - 1))) for share in q]
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    ends = np.cumsum(weights)
    return [_interpolate(values, weights, ends, float(share * (ends[-1] - 1))) for share in q]


def _interpolate(values: FloatArray, weights: FloatArray, ends: FloatArray, place: float) -> float:
    """Return the value at a position among sorted values, each repeated according to its weight."""
    if place <= 0:
        return float(values[weights > 0][0])
    start = int(place)
    low, high = values[np.minimum(np.searchsorted(ends, [start, start + 1], side="right"), len(values) - 1)]
    return float(low + (place - start) * (high - low))


def _order_statistic(values: FloatArray, place: float) -> float:
    """Return the value at a position among values, as if they were sorted."""
    start = int(place)
    end = min(start + 1, len(values) - 1)
    low, high = np.partition(values, [start, end])[[start, end]]
    return float(low + (place - start) * (high - low))
