"""Encoding of a single column: the learned facts, and the features.

Facts are a dictionary of plain values, so that they can be stored in a file and shown as a row of a table.
"""

import re
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evlearn.preprocessing.reading import RawColumn, aliases, as_dates, as_flags, as_numbers, as_text
from evlearn.preprocessing.scales import learn_numbers, transformed
from evlearn.preprocessing.spellings import fold, may_merge, merge_spellings, suspect_spellings
from evlearn.utils.cells import PERCENT, NumberFormat
from evlearn.utils.typing import FloatArray

#: Name of the feature that rare categories share.
OTHER = "other"
#: Maximum share of distinct texts in a column of categories, and minimum number of rows for this rule.
_TEXT_SHARE, _MIN_ROWS = 0.5, 20
_NAMED_AS_ID = re.compile(r"(^|[\W_])(id|nr|no|number|key|uuid|index|code)$|[a-z]I[dD]$", re.IGNORECASE)


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
