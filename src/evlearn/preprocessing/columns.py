"""Encoding of a single column: its scale or the spellings of its categories, the learned facts, and the features.

Facts are a dictionary of plain values, so that they can be stored in a file and shown as a row of a table. A few
percent of gross errors in a column, such as 999999 or a negative age, hardly change the choice of the logarithm,
the center and the scale.
"""

import re
from dataclasses import replace
from itertools import takewhile, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from evlearn.preprocessing.reading import RawColumn, aliases, as_dates, as_flags, as_numbers, as_text
from evlearn.utils.cells import PERCENT, NumberFormat
from evlearn.utils.typing import BoolArray, FloatArray

#: Name of the feature that rare categories share.
OTHER = "other"
#: Maximum share of distinct texts in a column of categories, and minimum number of rows for this rule.
_TEXT_SHARE, _MIN_ROWS = 0.5, 20
_NAMED_AS_ID = re.compile(r"(^|[\W_])(id|nr|no|number|key|uuid|index|code)$|[a-z]I[dD]$", re.IGNORECASE)
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
#: Maximum length of spellings that are different categories if they differ in case, unless all but one are rarer
#: than this share.
_MAX_SHORT_LENGTH, _MAX_RARE_SHARE = 2, 0.1
#: Minimum ratio of the frequencies of a similar category and a misspelling, maximum number of categories for this
#: comparison, and minimum number of letters of a misspelled word.
_FREQUENCY_RATIO, _MAX_CATEGORIES, _MIN_LETTERS = 20, 500, 3


def learn_column(
    column: RawColumn, *, has_names: bool, scaling: str, max_categories: int, categorical: bool, weight: float
) -> dict[str, Any]:
    """Return the facts about a column that an encoder stores."""
    if categorical and not column.declared:
        column = replace(column, declared=True)
    kind = "yes/no" if column.kind == "category" and column.source == "yes/no" else column.kind
    kind = "category" if categorical and kind == "ordered" else kind
    facts: dict[str, Any] = {"column": column.name, "kind": kind}
    numeric = kind in ("number", "date")
    values = column.values
    present = values[~np.isnan(values)] if numeric else values[values != None]  # noqa: E711, elementwise
    facts |= {"missing": 1 - len(present) / max(len(values), 1), "weight": weight}
    reason = _reason_to_drop(column, present, has_names and not categorical)
    if reason:
        return facts | {"kind": "left out", "reason": reason, "features": []}
    facts_if_dropped = facts | {"kind": "left out", "features": []}
    facts |= {"source": column.source, "suspicions": []}
    if numeric:
        facts |= {"decimal": column.numbers.decimal, **learn_numbers(column, present, scaling)}
        facts["currency"] = column.numbers.unit if column.source == "amount" else None
        if column.has_ambiguous_dates:
            facts["suspicions"].append({"what": "day or month", "count": len(present), "examples": []})
        return facts
    categories, counts = _count(column, present)
    if kind == "ordered":
        return facts | {"exact": True, "merged": []} | _learn_ranks(column.name, categories, counts)
    exact = kind == "yes/no" or not may_merge(categories, counts)
    merged: list[str] = []
    if not exact:
        categories, counts, merged = merge_spellings(categories, counts)
    if len(categories) == 1:
        return facts_if_dropped | {"reason": "constant"}
    facts["suspicions"] = suspect_spellings(categories, counts) if kind == "category" else []
    facts |= {"exact": exact, "merged": merged}
    return facts | _learn_categories(column.name, categories, counts, max_categories)


def encode_column(column: RawColumn, facts: dict[str, Any]) -> FloatArray:
    """Return the features of a column, with NaN for missing cells, and zeros for unknown categories."""
    weight = facts["weight"] ** 0.5
    if facts["kind"] in ("number", "date"):
        numbers = transformed(numbers_of(column, facts), facts)
        return np.asarray(weight / facts["scale"] * (numbers - facts["center"]))[:, None]
    codes = codes_of(column, facts)
    n_categories = len(facts["categories"])
    if facts["kind"] == "ordered":
        values = (np.arange(n_categories) - facts["center"]) / facts["scale"]
        table = np.append(values, [np.nan, 0.0])[:, None]
    else:
        size = facts["size"]
        blocks = size * np.eye(n_categories) if n_categories > 2 else size / 2**0.5 * np.array([[-1.0], [1.0]])
        table = np.vstack([blocks, np.full((1, blocks.shape[1]), np.nan), np.zeros((1, blocks.shape[1]))])
    return np.asarray(weight * table[codes])


def numbers_of(column: RawColumn, facts: dict[str, Any]) -> FloatArray:
    """Return the numbers of a column of numbers or dates (as days), with NaN for missing cells."""
    if facts["kind"] == "date":
        return as_dates(column, facts["source"])
    return as_numbers(column, facts["source"], format_of(facts))


def format_of(facts: dict[str, Any]) -> NumberFormat:
    """Return the format of the numbers in a column of text."""
    unit = PERCENT if facts["source"] == "percentage" else facts["currency"]
    return NumberFormat.of_unit(facts["decimal"], unit)


def codes_of(column: RawColumn, facts: dict[str, Any]) -> NDArray[np.intp]:
    """Return the codes of categories: -2 for missing cells, -1 for unknown categories."""
    if facts["kind"] == "yes/no":
        return as_flags(column)
    position = {name: k for k, name in enumerate(facts["categories"])}
    rest = position.get(OTHER, -1) if facts["pooled"] else -1
    names = as_text(column, facts["source"])
    if facts["source"] == "text":
        converted = [not isinstance(cell, str) for cell in column.cells]
        if any(converted):
            text_categories = aliases(facts["categories"])
            names[converted] = [text_categories.get(name, name) for name in names[converted]]
    if not facts["exact"]:
        position = {fold(name): place for name, place in position.items()}
        names[:] = [None if name is None else fold(name) for name in names]
    return np.array([-2 if name is None else position.get(name, rest) for name in names], dtype=np.intp)


def decode_column(features: FloatArray, facts: dict[str, Any]) -> NDArray[Any]:
    """Return the values of a column from its features: numbers in their original unit, or category names."""
    features = features / facts["weight"] ** 0.5
    if facts["kind"] in ("number", "date"):
        numbers = features[:, 0] * facts["scale"] + facts["center"]
        if facts["transform"] == "log":
            numbers = np.sign(numbers) * np.expm1(np.abs(numbers)) * facts["unit"]
        return np.asarray(numbers)
    names = np.array([*facts["categories"], None], dtype=object)
    is_missing = np.asarray(np.isnan(features).any(axis=1))
    filled = np.where(is_missing[:, None], 0, features)
    if facts["kind"] == "ordered":
        codes = np.rint(filled[:, 0] * facts["scale"] + facts["center"]).astype(int)
        codes = np.clip(codes, 0, len(names) - 2)
    elif features.shape[1] == 1:
        codes = (filled[:, 0] > 0).astype(int)
    else:
        codes = filled.argmax(axis=1)
    return np.asarray(names[np.where(is_missing, -1, codes)])


def _reason_to_drop(column: RawColumn, present: NDArray[Any], has_names: bool) -> str:
    """Return the reason to drop a column, or an empty string."""
    if not len(present):
        return "empty"
    n_distinct = len(set(present.tolist()))
    if n_distinct == 1:
        return "constant"
    if not has_names or column.declared or len(present) < _MIN_ROWS:
        return ""
    if column.kind == "category" and column.problem == "dates":
        return "dates"
    if column.kind == "category" and n_distinct > _TEXT_SHARE * len(present):
        return column.problem or ("identifier" if n_distinct == len(present) else "text")
    if column.kind == "number" and n_distinct == len(present) and (present == np.rint(present)).all():
        consecutive = present.max() - present.min() == len(present) - 1
        return "identifier" if consecutive or _NAMED_AS_ID.search(column.name) else ""
    return ""


def _count(column: RawColumn, present: NDArray[Any]) -> tuple[list[str], FloatArray]:
    """Return the categories that occur, in the declared order or sorted by name, and their counts."""
    names, counts = np.unique(present.astype(str), return_counts=True)
    if column.categories is not None:
        count_by_name = dict(zip(names.tolist(), counts.tolist(), strict=True))
        order = [name for name in column.categories if name in count_by_name]
        return order, np.array([count_by_name[name] for name in order], dtype=np.float64)
    return names.tolist(), counts.astype(np.float64)


def _learn_ranks(name: str, categories: list[str], counts: FloatArray) -> dict[str, Any]:
    ranks, shares = np.arange(len(categories)), counts / counts.sum()
    center = float(shares @ ranks)
    scale = float(shares @ (ranks - center) ** 2) ** 0.5
    facts = {"categories": categories, "frequencies": shares.tolist(), "pooled": False}
    return facts | {"center": center, "scale": scale, "features": [name]}


def _learn_categories(name: str, categories: list[str], counts: FloatArray, max_categories: int) -> dict[str, Any]:
    pooled = len(categories) > max_categories
    if pooled:
        largest = np.argsort(-counts, kind="stable")[: max_categories - 1].tolist()
        frequent = sorted(k for k in largest if fold(categories[k]) != OTHER)
        counts = np.append(counts[frequent], counts.sum() - counts[frequent].sum())
        categories = [*(categories[k] for k in frequent), OTHER]
    shares = counts / counts.sum()
    encoded = categories[1:] if len(categories) == 2 else categories
    return {
        "categories": categories,
        "frequencies": shares.tolist(),
        "pooled": pooled,
        "size": block_size(shares),
        "features": [f"{name}={category}" for category in encoded],
    }


def block_size(shares: FloatArray) -> float:
    """Return the value of a category in its feature, for a total variance of 1 of the features of a column."""
    return float(1 / np.sqrt(1 - shares @ shares))


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


def fold(name: str) -> str:
    """Return the name of a category with normalized case and whitespace."""
    return " ".join(name.split()).casefold()


def may_merge(categories: list[str], counts: FloatArray) -> bool:
    """Return True if spellings that differ in case or whitespace are the same category.

    They are different if they are short and none of them is rare, such as the genotypes AA, Aa and aa.
    """
    groups: dict[str, list[float]] = {}
    for name, count in zip(categories, counts.tolist(), strict=True):
        groups.setdefault(fold(name), []).append(count)
    return all(
        len(name) > _MAX_SHORT_LENGTH or sum(sizes) - max(sizes) <= _MAX_RARE_SHARE * sum(sizes)
        for name, sizes in groups.items()
    )


def merge_spellings(categories: list[str], counts: FloatArray) -> tuple[list[str], FloatArray, list[str]]:
    """Return the most frequent spelling of each category, the counts, and the other spellings."""
    groups: dict[str, list[tuple[float, str]]] = {}
    for name, count in zip(categories, counts.tolist(), strict=True):
        groups.setdefault(fold(name), []).append((-count, name))
    names = {min(group)[1]: -sum(count for count, _ in group) for group in groups.values()}
    order = [name for name in categories if name in names]
    rest = sorted(set(categories) - set(order))
    return order, np.array([names[name] for name in order], dtype=np.float64), rest


def suspect_spellings(categories: list[str], counts: FloatArray) -> list[dict[str, Any]]:
    """Return descriptions of rare categories with nearly the same name as a frequent category."""
    if len(categories) > _MAX_CATEGORIES:
        return []
    suspicions = []
    for name, count in zip(categories, counts.tolist(), strict=True):
        similar = [
            (size, other)
            for other, size in zip(categories, counts.tolist(), strict=True)
            if size >= _FREQUENCY_RATIO * count and is_misspelled(fold(name), fold(other))
        ]
        if similar:
            suspicions.append({"what": "spelling", "count": int(count), "examples": [name, max(similar)[1]]})
    return suspicions


def is_misspelled(name: str, other: str) -> bool:
    """Return True if a word has one letter more, less or changed, or 2 neighboring letters exchanged.

    Words with fewer than 3 letters, and names that differ in several words or in digits, are different names.
    """
    pairs = [pair for pair in zip_longest(name.split(), other.split(), fillvalue="") if pair[0] != pair[1]]
    if len(pairs) != 1 or min(map(len, pairs[0])) < _MIN_LETTERS:
        return False
    word, right = pairs[0]
    start = _n_common(word, right)
    end = _n_common(word[start:][::-1], right[start:][::-1])
    part, letters = word[start : len(word) - end], right[start : len(right) - end]
    exchanged = len(letters) > 1 and part == letters[1] + letters[0]
    return (part + letters).isalpha() and (exchanged or max(len(part), len(letters)) == 1)


def _n_common(name: str, other: str) -> int:
    """Return the length of the common prefix."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(name, other, strict=False)))
