"""Robust location and scale of features."""

import numpy as np

from evlearn.utils.typing import FloatArray

#: Share of values at each end that are clipped.
_CLIPPED_SHARE = 0.01
#: Largest scaled value: trees use single precision, and squared distances must be finite.
_MAX_VALUE = 1e30


def usual_values(data: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the standard deviation of features, with the most extreme values clipped.

    A sample of weight 2 counts as 2 samples. The mean of the weights must be at least 1.
    """
    counts = np.ones(len(data)) if weights is None else weights
    last, shares = counts.sum() - 1, counts / counts.sum()
    order = np.argsort(data, axis=0, kind="stable")
    values, cumulated = np.take_along_axis(data, order, axis=0), counts[order].cumsum(axis=0)
    columns = np.arange(data.shape[1])
    low = values[(cumulated <= np.ceil(_CLIPPED_SHARE * last)).sum(axis=0), columns]
    high = values[(cumulated <= np.floor((1 - _CLIPPED_SHARE) * last)).sum(axis=0), columns]
    inner = np.clip(data, low, high)
    mean = shares @ inner
    spread = np.sqrt(shares @ np.square(inner - mean))
    # Rounding errors give constants a tiny spread. If the clipped values are constant, only few values differ.
    spread = np.where(low < high, spread, np.ptp(data, axis=0))
    return mean, np.where(spread > 0, spread, 1)


def in_units(data: FloatArray, center: FloatArray, unit: FloatArray) -> FloatArray:
    """Return scaled samples."""
    return np.asarray(np.clip((data - center) / unit, -_MAX_VALUE, _MAX_VALUE))
