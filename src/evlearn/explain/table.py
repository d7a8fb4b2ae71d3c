"""Which columns of a table can tell something, as numbers, dates or words."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from evlearn.explain import plain
from evlearn.explain.columns import Categories, Column, Numbers
from evlearn.preprocessing.reading import RawColumn, as_text, read_columns, split_columns
from evlearn.utils.typing import FloatArray

#: Words of which most occur once are names or free text, and no categories.
_MANY_WORDS = 50
_MOSTLY_DIFFERENT = 0.5
_DAY = 86400.0
_EXPONENT = re.compile(r"-?\d+(\.\d+)?[eE][+-]?\d+")
_YES_NO = {"True": "yes", "False": "no"}


def telling_columns(
    X: Any, weights: FloatArray, names: Sequence[object] | None = None
) -> tuple[list[Column], dict[str, str]]:
    """The columns of a table that can tell something, and why others cannot.

    Returns
    -------
    columns : list of Column
        What clusters have in them.
    left_out : dict from str to str
        The names of other columns, and why they are left out.
    """
    if issparse(X):
        raise ValueError(
            "X is sparse, and explanations are about columns that a person knows; give the table before it was "
            "encoded, or the columns of interest as a dense array."
        )
    parts, named = split_columns(X)
    columns: list[Column] = []
    left_out: dict[str, str] = {}
    for k, (name, part) in enumerate(parts):
        shown = plain.one_line(names[k] if names is not None else name if named else f"feature {k}")
        # One by one, because here two columns may have the same name.
        found = _column(shown, read_columns([(name, part)])[name], weights)
        if isinstance(found, str):
            left_out[shown] = found
        else:
            columns.append(found)
    return columns, left_out


def _column(name: str, raw: RawColumn, weights: FloatArray) -> Column | str:
    """A column, or why it is left out."""
    if raw.kind in ("number", "date") and not _is_flag(raw.values):
        return _numbers(name, raw, weights)
    words, codes = _coded(as_text(raw))
    n_present = int((codes >= 0).sum())
    if len(words) > max(_MANY_WORDS, _MOSTLY_DIFFERENT * n_present):
        return "names or free text"
    if len(words) < 2 and n_present in (0, len(codes)):
        return "the same for all" if n_present else "no values"
    if raw.kind == "yes/no":
        words = [_YES_NO.get(word, word) for word in words]
    return Categories(name, codes, words, weights)


def _numbers(name: str, raw: RawColumn, weights: FloatArray) -> Column | str:
    present = raw.values[~np.isnan(raw.values)]
    if len(present) == 0:
        return "no values"
    if len(present) == len(raw.values) and present.min() == present.max():
        return "the same for all"
    if raw.kind == "date":
        return Numbers(name, raw.values * _DAY, weights, kind="date")
    return Numbers(name, raw.values, weights)


def _is_flag(values: NDArray[Any]) -> bool:
    """Whether numbers are but zeros and ones, which say yes or no."""
    present = values[~np.isnan(values)]
    return len(present) > 0 and bool(np.isin(present, (0.0, 1.0)).all())


def _coded(texts: NDArray[Any]) -> tuple[list[str], NDArray[np.intp]]:
    """The words, and a number for each text; -1 for gaps."""
    present = np.array([one is not None for one in texts], dtype=bool)
    words, places = np.unique(texts[present].astype(object), return_inverse=True)
    codes = np.full(len(texts), -1, dtype=np.intp)
    codes[present] = places.ravel()
    return [_plain_word(str(word)) for word in words], codes


def _plain_word(word: str) -> str:
    """A word; a number among words without an exponent."""
    return plain.number(float(word)) if _EXPONENT.fullmatch(word) else word
