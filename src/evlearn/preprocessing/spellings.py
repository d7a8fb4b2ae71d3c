"""Spellings of categories: those that are merged, and those that look like misspellings."""

from itertools import takewhile, zip_longest
from typing import Any

import numpy as np

from evlearn.utils.typing import FloatArray

#: Spellings that differ in case are 1 category if they are longer than this, or if all but 1 are so rare.
_SHORT_NAME, _RARE_SPELLING = 2, 0.1
#: A category is suspected to be misspelled if it is so many times rarer than a similar one.
_RARER, _MOST_COMPARED, _FEWEST_LETTERS = 20, 500, 3


def fold(name: str) -> str:
    """Return the name of a category without differences in case and whitespace."""
    return " ".join(name.split()).casefold()


def may_merge(categories: list[str], counts: FloatArray) -> bool:
    """Return True if spellings that differ in case or whitespace are the same category.

    They are not if they are short and none of them is rare, like the genotypes AA, Aa and aa.
    """
    groups: dict[str, list[float]] = {}
    for name, count in zip(categories, counts.tolist(), strict=True):
        groups.setdefault(fold(name), []).append(count)
    return all(
        len(name) > _SHORT_NAME or sum(sizes) - max(sizes) <= _RARE_SPELLING * sum(sizes)
        for name, sizes in groups.items()
    )


def merge_spellings(categories: list[str], counts: FloatArray) -> tuple[list[str], FloatArray, list[str]]:
    """Return categories by their most frequent spelling, their counts, and the other spellings."""
    groups: dict[str, list[tuple[float, str]]] = {}
    for name, count in zip(categories, counts.tolist(), strict=True):
        groups.setdefault(fold(name), []).append((-count, name))
    names = {min(group)[1]: -sum(count for count, _ in group) for group in groups.values()}
    order = [name for name in categories if name in names]
    rest = sorted(set(categories) - set(order))
    return order, np.array([names[name] for name in order], dtype=np.float64), rest


def suspect_spellings(categories: list[str], counts: FloatArray) -> list[dict[str, Any]]:
    """Return descriptions of rare categories with nearly the same name as a frequent one."""
    if len(categories) > _MOST_COMPARED:
        return []
    suspicions = []
    for name, count in zip(categories, counts.tolist(), strict=True):
        similar = [
            (size, other)
            for other, size in zip(categories, counts.tolist(), strict=True)
            if size >= _RARER * count and is_misspelled(fold(name), fold(other))
        ]
        if similar:
            suspicions.append({"what": "spelling", "count": int(count), "examples": [name, max(similar)[1]]})
    return suspicions


def is_misspelled(name: str, other: str) -> bool:
    """Return True if a word has 1 letter more, 1 less or 1 other letter, or 2 neighboring letters exchanged.

    Words with fewer than 3 letters, and names that differ in several words or in digits, are different names.
    """
    pairs = [pair for pair in zip_longest(name.split(), other.split(), fillvalue="") if pair[0] != pair[1]]
    if len(pairs) != 1 or min(map(len, pairs[0])) < _FEWEST_LETTERS:
        return False
    word, right = pairs[0]
    start = _n_common(word, right)
    end = _n_common(word[start:][::-1], right[start:][::-1])
    part, letters = word[start : len(word) - end], right[start : len(right) - end]
    exchanged = len(letters) > 1 and part == letters[1] + letters[0]
    return (part + letters).isalpha() and (exchanged or max(len(part), len(letters)) == 1)


def _n_common(name: str, other: str) -> int:
    """Return the number of letters at the start that are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(name, other, strict=False)))
