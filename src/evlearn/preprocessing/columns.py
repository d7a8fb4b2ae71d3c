"""One column: what is learned of it, and the features that it becomes.

What is learned is a dictionary of plain values, so that it can be shown as a row of a table and kept in a file.
"""

import re
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evlearn.preprocessing.reading import RawColumn, aliases, as_dates, as_flags, as_numbers, as_text, number_in
from evlearn.utils.typing import FloatArray

#: The name of the feature that rare categories share.
OTHER = "other"
#: More different texts than this share of the rows are no categories, where there are enough rows to tell.
_TEXT_SHARE, _ENOUGH_ROWS = 0.5, 20
#: A column is skewed if its upper twentieth is so many times farther from the median than its lower one.
_SKEWED, _FEW_VALUES = 3.0, 10
#: Scales heed the values between these quantiles, so that a few wrong ones do not squeeze all others.
_QUANTILES = (0.01, 0.99)
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
    facts["source"] = column.source
    if numeric:
        return facts | _learn_numbers(column.name, there, scaling if kind == "number" else "standard")
    categories, counts = _count(column, there)
    if kind == "ordered":
        return facts | _learn_ranks(column.name, categories, counts)
    return facts | _learn_categories(column.name, categories, counts, max_categories)


def encode_column(column: RawColumn, facts: dict[str, Any]) -> FloatArray:
    """The features of a column, with NaN for gaps; a category that the fit did not see gives zeros."""
    weight = facts["weight"] ** 0.5
    if facts["kind"] in ("number", "date"):
        numbers = as_dates(column) if facts["kind"] == "date" else as_numbers(column, facts["source"])
        if facts["transform"] == "log":
            numbers = np.log1p(np.maximum(numbers, 0) / facts["unit"])
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
    return np.array([-2 if name is None else position.get(name, rest) for name in names], dtype=np.intp)


def decode_column(features: FloatArray, facts: dict[str, Any]) -> NDArray[Any]:
    """Values of a column from its features: numbers in their own unit, or the names of categories."""
    features = features / facts["weight"] ** 0.5
    if facts["kind"] in ("number", "date"):
        numbers = features[:, 0] * facts["scale"] + facts["center"]
        return np.asarray(np.expm1(numbers) * facts["unit"] if facts["transform"] == "log" else numbers)
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
    if column.kind == "category" and distinct > _TEXT_SHARE * len(there):
        if sum(cell is not None for cell in map(number_in, column.cells)) > _TEXT_SHARE * len(there):
            return "mixed"
        return "identifier" if distinct == len(there) else "text"
    if column.kind == "number" and distinct == len(there) and (there == np.rint(there)).all():
        consecutive = there.max() - there.min() == len(there) - 1
        return "identifier" if consecutive or _NAMED_AS_ID.search(column.name) else ""
    return ""


def _learn_numbers(name: str, there: FloatArray, scaling: str) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "transform": "none",
        "unit": 1.0,
        "low": float(there.min()),
        "high": float(there.max()),
    }
    if scaling == "auto" and _is_skewed(there):
        positive = there[there > 0]
        facts |= {"transform": "log", "unit": float(np.median(positive))}
        there = np.log1p(there / facts["unit"])
    if scaling == "auto":
        low, high = np.quantile(there, _QUANTILES)
        clipped = np.clip(there, low, high)
        there = clipped if clipped.std() > 0 else there  # or else only a few values differ at all
    return facts | {"center": float(there.mean()), "scale": _spread(there), "features": [name]}


def _is_skewed(there: FloatArray) -> bool:
    if there.min() < 0:
        return False
    low, middle, high = np.quantile(there, [0.05, 0.5, 0.95])
    return bool(high - middle > _SKEWED * (middle - low)) and len(np.unique(there)) > _FEW_VALUES


def _spread(values: FloatArray) -> float:
    # Of values divided by the largest, whose squares are numbers.
    largest = float(np.abs(values).max()) or 1.0
    return float((values / largest).std() * largest) or 1.0


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
        kept = sorted(k for k in largest if categories[k] != OTHER)
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
