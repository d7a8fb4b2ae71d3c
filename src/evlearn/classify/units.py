"""Units of features, which a few values far out do not spoil."""

import numpy as np

from evlearn.utils.typing import FloatArray

#: The share of values at each end that say nothing about the unit of a feature.
_FAR_OUT = 0.01
#: Trees compare in single precision, and squares of distances must be numbers.
_FARTHEST = 1e30


def usual_values(data: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the standard deviation of features, with the most extreme values clipped.

    A sample of weight 2 counts as 2 samples. The mean of the weights must be at least 1.
    """
    counts = np.ones(len(data)) if weights is None else weights
    last, shares = counts.sum() - 1, counts / counts.sum()
    order = np.argsort(data, axis=0, kind="stable")
    values, reached = np.take_along_axis(data, order, axis=0), counts[order].cumsum(axis=0)
    columns = np.arange(data.shape[1])
    low = values[(reached <= np.ceil(_FAR_OUT * last)).sum(axis=0), columns]
    high = values[(reached <= np.floor((1 - _FAR_OUT) * last)).sum(axis=0), columns]
    inner = np.clip(data, low, high)
    mean = shares @ inner
    spread = np.sqrt(shares @ np.square(inner - mean))
    # Rounding gives constants a tiny spread. Where the clipped values are constant, few values differ at all.
    spread = np.where(low < high, spread, np.ptp(data, axis=0))
    return mean, np.where(spread > 0, spread, 1)


def in_units(data: FloatArray, centre: FloatArray, unit: FloatArray) -> FloatArray:
    """Samples in these units."""
    return np.asarray(np.clip((data - centre) / unit, -_FARTHEST, _FARTHEST))
