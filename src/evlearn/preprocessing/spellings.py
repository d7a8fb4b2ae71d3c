"""Spellings of categories: equal categories, and categories that look like misspellings."""

from itertools import takewhile, zip_longest
from typing import Any

import numpy as np

from evlearn.utils.typing import FloatArray

#: Maximum length of spellings that are different categories if they differ in case, unless all but one are rarer
#: than this share.
_MAX_SHORT_LENGTH, _MAX_RARE_SHARE = 2, 0.1
#: Minimum ratio of the frequencies of a similar category and a misspelling, maximum number of categories for this
#: comparison, and minimum number of letters of a misspelled word.
_FREQUENCY_RATIO, _MAX_CATEGORIES, _MIN_LETTERS = 20, 500, 3


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
