"""Scales of columns of numbers and dates, and values that look like errors.

A few percent of gross errors in a column, such as 999999 or a negative age, hardly change the choice of the
logarithm, the center and the scale.
"""

from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from evlearn.preprocessing.reading import RawColumn
from evlearn.utils.typing import BoolArray, FloatArray

#: Minimum ratio of the distances of the 95 % and 5 % quantiles from the median in a skewed column, and maximum
#: number of distinct values in a column that is never skewed.
_SKEWNESS, _MAX_FEW_VALUES = 3.0, 10
#: Quantiles to which values are clipped for the computation of scales.
_QUANTILES = (0.01, 0.99)
#: Quantile of the distances from the median, on either side, that is the unit of these distances.
_UNIT_QUANTILE = 0.8
#: Distances beyond which values are outliers, each with the maximum share of outliers. A larger share could be a
#: small cluster and must be farther away. Logarithms have smaller distances.
_OUTLIER_LIMITS = {"none": ((4.0, 0.02), (12.0, 0.065)), "log": ((4.0, 0.02), (6.0, 0.065))}
#: Minimum ratio of the distances from the median of the first suspicious value and the value before it.
_GAP_RATIO = 1.5
#: Maximum shares of negative values that are suspicious, in a column of skewed numbers and of other numbers.
_MAX_NEGATIVE, _MAX_NEGATIVE_COUNTS = 0.065, 0.01
_N_EXAMPLES = 3


def learn_numbers(column: RawColumn, numbers: FloatArray, scaling: str) -> dict[str, Any]:
    """Return transform, range, center, scale and suspicious values of a column of numbers or dates.

    Suspicious values have no influence on the range. If `scaling` is "auto", center and scale are computed without
    outliers.
    """
    facts: dict[str, Any] = {"transform": "none", "unit": 1.0}
    if scaling == "auto" and column.kind == "number" and _is_skewed(numbers):
        facts |= {"transform": "log", "unit": float(np.median(numbers[numbers > 0]))}
    values = transformed(numbers, facts)
    inliers = _is_inlier(values, facts["transform"])
    suspicious = _suspicious_numbers(column, numbers, values, inliers)
    is_usual = ~np.any(list(suspicious.values()), axis=0)
    facts |= {"low": float(numbers[is_usual].min()), "high": float(numbers[is_usual].max())}
    values = values[inliers & is_usual] if scaling == "auto" else values
    if scaling == "auto" and column.kind == "number":
        low, high = np.quantile(values, _QUANTILES)
        clipped = np.clip(values, low, high)
        values = clipped if clipped.std() > 0 else values  # otherwise, only a few values differ
    facts["suspicions"] = [
        {"what": kind, "count": int(rows.sum()), "examples": _most_frequent(numbers[rows])}
        for kind, rows in suspicious.items()
        if rows.any()
    ]
    return facts | {"center": float(values.mean()), "scale": _spread(values), "features": [column.name]}


def transformed(numbers: FloatArray, facts: dict[str, Any]) -> FloatArray:
    """Return numbers, or their logarithms: log(1 + |x|/unit), with the sign of x."""
    if facts["transform"] != "log":
        return numbers
    return np.asarray(np.sign(numbers) * np.log1p(np.abs(numbers) / facts["unit"]))


def _is_inlier(values: FloatArray, transform: str = "none") -> BoolArray:
    """Return False for the few values that are far from all others, else True."""
    differences = _differences(values)
    ratios = np.zeros(len(values))
    for side in (differences, -differences):
        rows = side > 0
        if rows.any():
            ratios[rows] = side[rows] / np.quantile(side[rows], _UNIT_QUANTILE)
    inliers = np.ones(len(values), dtype=bool)
    for ratio, share in _OUTLIER_LIMITS[transform]:
        if np.mean(ratios > ratio) <= share:
            inliers &= ratios <= ratio
    return inliers if np.ptp(values[inliers]) > 0 else np.ones(len(values), dtype=bool)


def _differences(values: FloatArray) -> FloatArray:
    values = values / (np.abs(values).max() or 1.0)  # prevents an overflow of differences
    return np.asarray(values - np.median(values))


def _is_skewed(numbers: FloatArray) -> bool:
    if (numbers < 0).sum() > max(1, _MAX_NEGATIVE * len(numbers)):
        return False
    values = numbers[_is_inlier(numbers) & (numbers >= 0)]
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    return bool(high - middle > _SKEWNESS * (middle - low)) and len(np.unique(values)) > _MAX_FEW_VALUES


def _suspicious_numbers(
    column: RawColumn, numbers: FloatArray, values: FloatArray, inliers: BoolArray
) -> dict[str, BoolArray]:
    """Return the rows with negative numbers among positive numbers, and with numbers beyond a wide gap."""
    negative = (numbers < 0) & _is_positive(column, numbers)
    if not np.ptp(numbers[inliers & ~negative]):
        negative = np.zeros(len(numbers), dtype=bool)
    differences = _differences(values)
    return {
        "negative": negative,
        "below": _beyond_gap(-differences, inliers | negative),
        "above": _beyond_gap(differences, inliers),
    }


def _beyond_gap(distances: FloatArray, inliers: BoolArray) -> BoolArray:
    """Return True for values from the first outlier that is much farther away than the value before it."""
    ordered = np.sort(distances[distances > 0])
    wide = ordered[1:] > _GAP_RATIO * ordered[:-1]
    outlier_distances = distances[~inliers & (distances > 0)]
    starts = ordered[1:][wide]
    starts = starts[starts >= outlier_distances.min()] if len(outlier_distances) else starts[:0]
    return np.asarray(~inliers & (distances >= starts[0])) if len(starts) else np.zeros(len(inliers), dtype=bool)


def _is_positive(column: RawColumn, numbers: FloatArray) -> bool:
    """Return True if the numbers seem to be nonnegative, with a few errors.

    This is assumed of skewed numbers with few negative values; of whole numbers, amounts and percentages with very
    few negative values; and of numbers with many more negative values than a normal distribution with the same
    median and 10 % quantile.
    """
    share = float(np.mean(numbers < 0))
    if column.kind != "number" or not 0 < share <= _MAX_NEGATIVE:
        return False
    is_countable = column.source in ("amount", "percentage") or bool((numbers == np.rint(numbers)).all())
    if (is_countable and share <= _MAX_NEGATIVE_COUNTS) or _is_skewed(numbers):
        return True
    middle, low = np.quantile(numbers, [0.5, 0.1])
    return bool(middle > low and share > 4 * ndtr(ndtri(0.1) * middle / (middle - low)))


def _most_frequent(values: FloatArray) -> list[float]:
    numbers, counts = np.unique(values, return_counts=True)
    return [float(number) for number in numbers[np.argsort(-counts, kind="stable")][:_N_EXAMPLES]]


def _spread(values: FloatArray) -> float:
    # Division by the largest value prevents an overflow of squares.
    largest = float(np.abs(values).max()) or 1.0
    return float((values / largest).std() * largest) or 1.0
