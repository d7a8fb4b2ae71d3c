"""Informative columns of a table: numbers, dates and categories."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from evlearn.explain.columns import Categories, Column, Numbers
from evlearn.preprocessing.reading import RawColumn, as_text, read_columns, split_columns
from evlearn.utils.formatting import format_rounded, one_line
from evlearn.utils.typing import FloatArray

#: A column with more distinct words, most of which occur only once, has names or free text and not categories.
_MAX_CATEGORIES = 50
_MAX_DISTINCT_SHARE = 0.5
_DAY = 86400.0
_EXPONENT = re.compile(r"-?\d+(\.\d+)?[eE][+-]?\d+")
_YES_NO = {"True": "yes", "False": "no"}


def informative_columns(
    X: Any, weights: FloatArray, names: Sequence[object] | None = None
) -> tuple[list[Column], dict[str, str]]:
    """Return the informative columns of a table, and the reasons for excluding others.

    Returns
    -------
    columns : list of Column
        Informative columns, with statistics of each cluster.
    excluded : dict from str to str
        Names of the other columns, with the reasons.
    """
    if issparse(X):
        raise ValueError(
            "X is sparse, but explanations describe the original columns; pass the table before encoding, or the "
            "columns of interest as a dense array."
        )
    parts, has_names = split_columns(X)
    columns: list[Column] = []
    excluded: dict[str, str] = {}
    for k, (name, part) in enumerate(parts):
        label = one_line(names[k] if names is not None else name if has_names else f"feature {k}")
        # One column at a time, because 2 columns may have the same name.
        column = _read_column(label, read_columns([(name, part)])[name], weights)
        if isinstance(column, str):
            excluded[label] = column
        else:
            columns.append(column)
    return columns, excluded


def _read_column(name: str, raw: RawColumn, weights: FloatArray) -> Column | str:
    """Return a column, or the reason why it is excluded."""
    if raw.kind in ("number", "date") and not _is_flag(raw.values):
        return _read_numbers(name, raw, weights)
    words, codes = _encode_texts(as_text(raw))
    n_present = int((codes >= 0).sum())
    if len(words) > max(_MAX_CATEGORIES, _MAX_DISTINCT_SHARE * n_present):
        return "names or free text"
    if len(words) < 2 and n_present in (0, len(codes)):
        return "the same value everywhere" if n_present else "no values"
    if raw.kind == "yes/no":
        words = [_YES_NO.get(word, word) for word in words]
    return Categories(name, codes, words, weights)


def _read_numbers(name: str, raw: RawColumn, weights: FloatArray) -> Column | str:
    present = raw.values[~np.isnan(raw.values)]
    if len(present) == 0:
        return "no values"
    if len(present) == len(raw.values) and present.min() == present.max():
        return "the same value everywhere"
    if raw.kind == "date":
        return Numbers(name, raw.values * _DAY, weights, kind="date")
    return Numbers(name, raw.values, weights)


def _is_flag(values: NDArray[Any]) -> bool:
    """Return True if all numbers are 0 or 1."""
    present = values[~np.isnan(values)]
    return len(present) > 0 and bool(np.isin(present, (0.0, 1.0)).all())


def _encode_texts(texts: NDArray[Any]) -> tuple[list[str], NDArray[np.intp]]:
    """Return the distinct words, and the number of the word of each text, -1 for missing ones."""
    present = np.array([text is not None for text in texts], dtype=bool)
    words, numbers = np.unique(texts[present].astype(object), return_inverse=True)
    codes = np.full(len(texts), -1, dtype=np.intp)
    codes[present] = numbers.ravel()
    return [_plain_word(str(word)) for word in words], codes


def _plain_word(word: str) -> str:
    """Return a word; a number is written without an exponent."""
    return format_rounded(float(word)) if _EXPONENT.fullmatch(word) else word
