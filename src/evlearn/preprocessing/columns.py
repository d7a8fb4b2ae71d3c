"""One column: what is learned of it, and the features that it becomes.

What is learned is a dictionary of plain values, so that it can be shown as a row of a table and kept in a file.
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

#: The name of the feature that rare categories share.
OTHER = "other"
#: More different texts than this share of the rows are no categories, where there are enough rows to tell.
_TEXT_SHARE, _ENOUGH_ROWS = 0.5, 20
_NAMED_AS_ID = re.compile(r"(^|[\W_])(id|nr|no|number|key|uuid|index|code)$|[a-z]I[dD]$", re.IGNORECASE)


def learn_column(
    column: RawColumn, *, named: bool, scaling: str, max_categories: int, categorical: bool, weight: float
) -> dict[str, Any]:
    """Return all that an encoder must store of a column."""
    if categorical and not column.declared:
        column = replace(column, declared=True)
    kind = "yes/no" if column.kind == "category" and column.source == "yes/no" else column.kind
    kind = "category" if categorical and kind == "ordered" else kind
    facts: dict[str, Any] = {"column": column.name, "kind": kind}
    numeric = kind in ("number", "date")
    values = column.values
    there = values[~np.isnan(values)] if numeric else values[values != None]  # noqa: E711, element by element
    facts |= {"missing": 1 - len(there) / max(len(values), 1), "weight": weight}
    reason = _why_not(column, there, named and not categorical)
    if reason:
        return facts | {"kind": "left out", "reason": reason, "features": []}
    left_out = facts | {"kind": "left out", "features": []}
    facts |= {"source": column.source, "suspicions": []}
    if numeric:
        facts |= {"decimal": column.numbers.decimal, **learn_numbers(column, there, scaling)}
        facts["currency"] = column.numbers.unit if column.source == "amount" else None
        if column.has_ambiguous_dates:
            facts["suspicions"].append({"what": "day or month", "count": len(there), "examples": []})
        return facts
    categories, counts = _count(column, there)
    if kind == "ordered":
        return facts | {"exact": True, "merged": []} | _learn_ranks(column.name, categories, counts)
    exact = kind == "yes/no" or not may_merge(categories, counts)
    merged: list[str] = []
    if not exact:
        categories, counts, merged = merge_spellings(categories, counts)
    if len(categories) == 1:
        return left_out | {"reason": "constant"}
    facts["suspicions"] = suspect_spellings(categories, counts) if kind == "category" else []
    facts |= {"exact": exact, "merged": merged}
    return facts | _learn_categories(column.name, categories, counts, max_categories)


def encode_column(column: RawColumn, facts: dict[str, Any]) -> FloatArray:
    """The features of a column, with NaN for gaps; a category that the fit did not see gives zeros."""
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
    """Return the numbers or days of a column that were learned as such, with NaN for missing cells."""
    if facts["kind"] == "date":
        return as_dates(column, facts["source"])
    return as_numbers(column, facts["source"], format_of(facts))


def format_of(facts: dict[str, Any]) -> NumberFormat:
    """Return the format of the numbers of a column that is text."""
    unit = PERCENT if facts["source"] == "percentage" else facts["currency"]
    return NumberFormat.of_unit(facts["decimal"], unit)


def codes_of(column: RawColumn, facts: dict[str, Any]) -> NDArray[np.intp]:
    """Return numbers of categories: -2 for missing cells, -1 for a category that the fit did not see."""
    if facts["kind"] == "yes/no":
        return as_flags(column)
    position = {name: k for k, name in enumerate(facts["categories"])}
    rest = position.get(OTHER, -1) if facts["pooled"] else -1
    names = as_text(column, facts["source"])
    if facts["source"] == "text":
        converted = [not isinstance(cell, str) for cell in column.cells]
        if any(converted):
            same = aliases(facts["categories"])
            names[converted] = [same.get(name, name) for name in names[converted]]
    if not facts["exact"]:
        position = {fold(name): place for name, place in position.items()}
        names[:] = [None if name is None else fold(name) for name in names]
    return np.array([-2 if name is None else position.get(name, rest) for name in names], dtype=np.intp)


def decode_column(features: FloatArray, facts: dict[str, Any]) -> NDArray[Any]:
    """Values of a column from its features: numbers in their own unit, or the names of categories."""
    features = features / facts["weight"] ** 0.5
    if facts["kind"] in ("number", "date"):
        numbers = features[:, 0] * facts["scale"] + facts["center"]
        if facts["transform"] == "log":
            numbers = np.sign(numbers) * np.expm1(np.abs(numbers)) * facts["unit"]
        return np.asarray(numbers)
    names = np.array([*facts["categories"], None], dtype=object)
    gaps = np.asarray(np.isnan(features).any(axis=1))
    filled = np.where(gaps[:, None], 0, features)
    if facts["kind"] == "ordered":
        codes = np.rint(filled[:, 0] * facts["scale"] + facts["center"]).astype(int)
        codes = np.clip(codes, 0, len(names) - 2)
    elif features.shape[1] == 1:
        codes = (filled[:, 0] > 0).astype(int)
    else:
        codes = filled.argmax(axis=1)
    return np.asarray(names[np.where(gaps, -1, codes)])


def _why_not(column: RawColumn, there: NDArray[Any], named: bool) -> str:
    """Why a column is of no use; nothing if it is."""
    if not len(there):
        return "empty"
    distinct = len(set(there.tolist()))
    if distinct == 1:
        return "constant"
    if not named or column.declared or len(there) < _ENOUGH_ROWS:
        return ""
    if column.kind == "category" and column.problem == "dates":
        return "dates"
    if column.kind == "category" and distinct > _TEXT_SHARE * len(there):
        return column.problem or ("identifier" if distinct == len(there) else "text")
    if column.kind == "number" and distinct == len(there) and (there == np.rint(there)).all():
        consecutive = there.max() - there.min() == len(there) - 1
        return "identifier" if consecutive or _NAMED_AS_ID.search(column.name) else ""
    return ""


def _count(column: RawColumn, there: NDArray[Any]) -> tuple[list[str], FloatArray]:
    """The categories that occur, in their order or by name, and how often they do."""
    names, counts = np.unique(there.astype(str), return_counts=True)
    if column.categories is not None:
        number = dict(zip(names.tolist(), counts.tolist(), strict=True))
        order = [one for one in column.categories if one in number]
        return order, np.array([number[one] for one in order], dtype=np.float64)
    return names.tolist(), counts.astype(np.float64)


def _learn_ranks(name: str, categories: list[str], counts: FloatArray) -> dict[str, Any]:
    ranks, shares = np.arange(len(categories)), counts / counts.sum()
    center = float(shares @ ranks)
    scale = float(shares @ (ranks - center) ** 2) ** 0.5
    facts = {"categories": categories, "frequencies": shares.tolist(), "pooled": False}
    return facts | {"center": center, "scale": scale, "features": [name]}


def _learn_categories(name: str, categories: list[str], counts: FloatArray, most: int) -> dict[str, Any]:
    pooled = len(categories) > most
    if pooled:
        largest = np.argsort(-counts, kind="stable")[: most - 1].tolist()
        kept = sorted(k for k in largest if fold(categories[k]) != OTHER)
        counts = np.append(counts[kept], counts.sum() - counts[kept].sum())
        categories = [*(categories[k] for k in kept), OTHER]
    shares = counts / counts.sum()
    shown = categories[1:] if len(categories) == 2 else categories
    return {
        "categories": categories,
        "frequencies": shares.tolist(),
        "pooled": pooled,
        "size": block_size(shares),
        "features": [f"{name}={one}" for one in shown],
    }


def block_size(shares: FloatArray) -> float:
    """What a category is worth in its feature: then the features of a column have variance one together."""
    return float(1 / np.sqrt(1 - shares @ shares))
