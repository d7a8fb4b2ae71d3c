"""Scales of columns of numbers and dates, and the values that look like errors.

A few percent of gross errors in a column, such as 999999 or a negative age, change neither the decision for the
logarithm nor center and scale by much.
"""

from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from evlearn.preprocessing.reading import RawColumn
from evlearn.utils.typing import BoolArray, FloatArray

#: A column is skewed if its upper twentieth is so many times farther from the median than its lower one.
_SKEWED, _FEW_VALUES = 3.0, 10
#: Scales are computed from values that are clipped to these quantiles.
_QUANTILES = (0.01, 0.99)
#: The unit of distances from the median is the one that this share of the values on the same side do not exceed.
_NEAR_SHARE = 0.8
#: Values are far from the others at this distance, if no more than this share of the values are that far. A larger
#: share could be a small cluster and must be farther away. Logarithms are never very far.
_FAR = {"none": ((4.0, 0.02), (12.0, 0.065)), "log": ((4.0, 0.02), (6.0, 0.065))}
#: Far values are suspicious if the first of them is so many times as far from the median as the one before it.
_GAP = 1.5
#: Negative values are suspicious if they are at most this share of a column of skewed or of other numbers.
_MOST_NEGATIVE, _FEW_NEGATIVE = 0.065, 0.01
_EXAMPLES = 3


def learn_numbers(column: RawColumn, there: FloatArray, scaling: str) -> dict[str, Any]:
    """Return transform, range, center, scale and suspicious values of a column of numbers or dates.

    Suspicious values have no influence on the range. If `scaling` is "auto", center and scale are those of the
    values that are near the others.
    """
    facts: dict[str, Any] = {"transform": "none", "unit": 1.0}
    if scaling == "auto" and column.kind == "number" and _is_skewed(there):
        facts |= {"transform": "log", "unit": float(np.median(there[there > 0]))}
    values = transformed(there, facts)
    near = _is_near(values, facts["transform"])
    suspicious = _suspicious_numbers(column, there, values, near)
    usual = ~np.any(list(suspicious.values()), axis=0)
    facts |= {"low": float(there[usual].min()), "high": float(there[usual].max())}
    values = values[near & usual] if scaling == "auto" else values
    if scaling == "auto" and column.kind == "number":
        low, high = np.quantile(values, _QUANTILES)
        clipped = np.clip(values, low, high)
        values = clipped if clipped.std() > 0 else values  # or else only a few values differ at all
    facts["suspicions"] = [
        {"what": what, "count": int(rows.sum()), "examples": _most_frequent(there[rows])}
        for what, rows in suspicious.items()
        if rows.any()
    ]
    return facts | {"center": float(values.mean()), "scale": _spread(values), "features": [column.name]}


def transformed(numbers: FloatArray, facts: dict[str, Any]) -> FloatArray:
    """Return numbers, or their logarithms: log(1 + |x|/unit), with the sign of x."""
    if facts["transform"] != "log":
        return numbers
    return np.asarray(np.sign(numbers) * np.log1p(np.abs(numbers) / facts["unit"]))


def _is_near(values: FloatArray, transform: str = "none") -> BoolArray:
    """Return False for the few values that are far from all others, and True otherwise."""
    differences = _differences(values)
    ratios = np.zeros(len(values))
    for side in (differences, -differences):
        rows = side > 0
        if rows.any():
            ratios[rows] = side[rows] / np.quantile(side[rows], _NEAR_SHARE)
    near = np.ones(len(values), dtype=bool)
    for ratio, share in _FAR[transform]:
        if np.mean(ratios > ratio) <= share:
            near &= ratios <= ratio
    return near if np.ptp(values[near]) > 0 else np.ones(len(values), dtype=bool)


def _differences(values: FloatArray) -> FloatArray:
    values = values / (np.abs(values).max() or 1.0)  # so that no difference is infinite
    return np.asarray(values - np.median(values))


def _is_skewed(there: FloatArray) -> bool:
    if (there < 0).sum() > max(1, _MOST_NEGATIVE * len(there)):
        return False
    values = there[_is_near(there) & (there >= 0)]
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    return bool(high - middle > _SKEWED * (middle - low)) and len(np.unique(values)) > _FEW_VALUES


def _suspicious_numbers(
    column: RawColumn, there: FloatArray, values: FloatArray, near: BoolArray
) -> dict[str, BoolArray]:
    """Return the rows with negative numbers among positive ones, and those with numbers beyond a wide gap."""
    negative = (there < 0) & _is_positive(column, there)
    if not np.ptp(there[near & ~negative]):
        negative = np.zeros(len(there), dtype=bool)
    differences = _differences(values)
    return {
        "negative": negative,
        "below": _beyond_gap(-differences, near | negative),
        "above": _beyond_gap(differences, near),
    }


def _beyond_gap(distances: FloatArray, near: BoolArray) -> BoolArray:
    """Return True for all values from the first far one that is much farther away than the one before it."""
    ordered = np.sort(distances[distances > 0])
    wide = ordered[1:] > _GAP * ordered[:-1]
    far = distances[~near & (distances > 0)]
    starts = ordered[1:][wide]
    starts = starts[starts >= far.min()] if len(far) else starts[:0]
    return np.asarray(~near & (distances >= starts[0])) if len(starts) else np.zeros(len(near), dtype=bool)


def _is_positive(column: RawColumn, there: FloatArray) -> bool:
    """Return True if the numbers are by nature not negative, as far as all but a few of them show.

    These are skewed numbers of which few are negative; whole numbers, amounts and percentages of which very few
    are; and numbers of which many more are than in a normal distribution with the same median and lower half.
    """
    share = float(np.mean(there < 0))
    if column.kind != "number" or not 0 < share <= _MOST_NEGATIVE:
        return False
    counted = column.source in ("amount", "percentage") or bool((there == np.rint(there)).all())
    if (counted and share <= _FEW_NEGATIVE) or _is_skewed(there):
        return True
    middle, low = np.quantile(there, [0.5, 0.1])
    return bool(middle > low and share > 4 * ndtr(ndtri(0.1) * middle / (middle - low)))


def _most_frequent(values: FloatArray) -> list[float]:
    numbers, counts = np.unique(values, return_counts=True)
    return [float(number) for number in numbers[np.argsort(-counts, kind="stable")][:_EXAMPLES]]


def _spread(values: FloatArray) -> float:
    # Of values divided by the largest, whose squares are numbers.
    largest = float(np.abs(values).max()) or 1.0
    return float((values / largest).std() * largest) or 1.0
