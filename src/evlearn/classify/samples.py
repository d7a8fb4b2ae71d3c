"""Training samples of classifiers: weights, distinct rows, and robust units of features."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from evlearn.classify.labels import Labels
from evlearn.utils.typing import FloatArray, IntArray

#: Share of values at each end that are clipped.
_CLIPPED_SHARE = 0.01
#: Largest scaled value: trees use single precision, and squared distances must be finite.
_MAX_VALUE = 1e30


@dataclass(frozen=True)
class SampleWeights:
    """Weights of samples and of their classes.

    Attributes
    ----------
    counts : ndarray of shape (n_samples,)
        Multiplicity of each sample.
    by_class : ndarray of shape (n_samples,)
        Weight of the class of each sample.
    """

    counts: FloatArray
    by_class: FloatArray

    @property
    def total(self) -> FloatArray:
        """Total weight of each sample."""
        return np.asarray(self.counts * self.by_class)

    @property
    def leave_one_out(self) -> FloatArray:
        """Remaining weight of each sample if one copy of it is left out."""
        return np.asarray(np.maximum(self.counts - 1, 0) * self.by_class)


def read_weights(counts: FloatArray | None, class_weight: Any, labels: Labels, data: Any) -> SampleWeights | None:
    """Return the weights of samples and of their classes, or None if all samples count once."""
    if class_weight is None:
        return None if counts is None else SampleWeights(counts, np.ones(len(data)))
    if labels.codes is None:
        raise ValueError(f"class_weight={class_weight!r} requires crisp labels; pass sample_weight to fit.")
    counts = np.ones(len(data)) if counts is None else counts
    if isinstance(class_weight, str) and class_weight == "balanced":
        shares = np.bincount(labels.codes, counts)
        class_weight = {
            name: counts.sum() / (len(shares) * share)
            for name, share in zip(labels.classes.tolist(), shares, strict=True)
            if share > 0
        }
    by_class = compute_sample_weight(class_weight, labels.classes[labels.codes])
    return SampleWeights(counts, np.asarray(by_class, dtype=np.float64))


class DistinctRows(NamedTuple):
    """Sorted distinct rows of a table.

    Attributes
    ----------
    first : ndarray of int of shape (n_distinct,)
        First row of the table that equals each distinct row.
    inverse : ndarray of int of shape (n_rows,)
        Distinct row that each row of the table equals.
    """

    first: IntArray
    inverse: IntArray


def distinct_rows(table: FloatArray) -> DistinctRows:
    """Return the distinct rows of a table of numbers, in lexicographic order.

    The order does not depend on the units, origins and precision of the columns. NaN equals NaN, and 0.0 equals
    -0.0.
    """
    rows = np.asarray(table, dtype=np.float64)
    order = np.lexsort(rows.T[::-1])  # stable, with NaN last
    previous, following = rows[order[:-1]], rows[order[1:]]
    is_equal = (previous == following) | (np.isnan(previous) & np.isnan(following))
    is_new = np.ones(len(rows), dtype=bool)
    is_new[1:] = ~is_equal.all(axis=1)
    inverse = np.empty(len(rows), dtype=np.intp)
    inverse[order] = np.cumsum(is_new) - 1
    return DistinctRows(order[is_new], inverse)


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
