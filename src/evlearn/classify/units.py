"""Units of features, which a few values far out do not spoil."""

import numpy as np

from evlearn.utils.typing import FloatArray

#: The share of values at each end that say nothing about the unit of a feature.
_FAR_OUT = 0.01
#: Trees compare in single precision, and squares of distances must be numbers.
_FARTHEST = 1e30


def usual_values(data: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mean and the standard deviation of features, without the values that lie farthest out."""
    low = np.quantile(data, _FAR_OUT, axis=0, method="higher")
    high = np.quantile(data, 1 - _FAR_OUT, axis=0, method="lower")
    inner = np.clip(data, low, high)
    spread = inner.std(axis=0)
    spread = np.where(spread > 0, spread, np.ptp(data, axis=0))  # or else only a few values differ at all
    return inner.mean(axis=0), np.where(spread > 0, spread, 1)


def in_units(data: FloatArray, centre: FloatArray, unit: FloatArray) -> FloatArray:
    """Samples in these units."""
    return np.asarray(np.clip((data - centre) / unit, -_FARTHEST, _FARTHEST))
