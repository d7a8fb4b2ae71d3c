"""Arrays of pairs of objects: read, listed, drawn and written."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from evlearn.utils.typing import BoolArray, IntArray

#: Pairs of object numbers: an array of shape (n_pairs, 2), or any iterable of pairs.
PairsLike: TypeAlias = npt.ArrayLike | Iterable[tuple[int, int]]
KeyArray: TypeAlias = npt.NDArray[np.int64]

#: Beyond this many pairs, listing all of them is not what is wanted.
LARGEST_LIST = 5_000_000
_OBJECT_BITS = 31
_SHOWN = 5


def read_pairs(pairs: PairsLike, name: str) -> IntArray:
    """Pairs as an array, each with the smaller object first, in lexicographic order and without repetition.

    Parameters
    ----------
    pairs : array-like of int of shape (n_pairs, 2) or iterable of pairs
        The pairs; pairs of an object with itself are kept.
    name : str
        What the pairs are called in errors.

    Returns
    -------
    ndarray of int of shape (n_pairs, 2)
        A new array.
    """
    given = _as_array(pairs, name)
    if given.size == 0:
        return np.empty((0, 2), dtype=np.intp)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be pairs of object numbers such as [(0, 4), (1, 2)], "
            f"got an array of shape {given.shape} and type {given.dtype}."
        )
    for number in (int(given.min()), int(given.max())):
        if not 0 <= number < 1 << _OBJECT_BITS:
            raise ValueError(f"{name} has the object {number}; objects are numbered from 0 to 2^31 - 1.")
    return pairs_of_keys(distinct(keys_of_pairs(given)))


def _as_array(pairs: PairsLike, name: str) -> npt.NDArray[Any]:
    # Sets and zip() hold pairs too, but NumPy would take either for one single object.
    listed = pairs if hasattr(pairs, "__array__") or not isinstance(pairs, Iterable) else list(pairs)
    try:
        return np.asarray(listed)
    except ValueError:
        raise ValueError(f"{name} must hold pairs of object numbers, but not all its rows are pairs.") from None


def keys_of_pairs(pairs: npt.NDArray[Any]) -> KeyArray:
    """One number for each unordered pair; numbers follow the lexicographic order of sorted pairs.

    Parameters
    ----------
    pairs : ndarray of int of shape (..., 2)
        The pairs, in either order.

    Returns
    -------
    ndarray of int64 of shape (...)
        The keys.
    """
    smaller = np.minimum(pairs[..., 0], pairs[..., 1]).astype(np.int64)
    larger = np.maximum(pairs[..., 0], pairs[..., 1]).astype(np.int64)
    return np.asarray((smaller << _OBJECT_BITS) | larger)


def pairs_of_keys(keys: KeyArray) -> IntArray:
    """The sorted pairs that `keys_of_pairs` made these keys of.

    Parameters
    ----------
    keys : ndarray of int64 of shape (n_pairs,)
        The keys.

    Returns
    -------
    ndarray of int of shape (n_pairs, 2)
        The pairs.
    """
    last = (1 << _OBJECT_BITS) - 1
    return np.column_stack([keys >> _OBJECT_BITS, keys & last]).astype(np.intp, copy=False)


def distinct(keys: KeyArray) -> KeyArray:
    """The keys in ascending order, each once.

    Parameters
    ----------
    keys : ndarray of int64 of shape (n_keys,)
        The keys, in any order.

    Returns
    -------
    ndarray of int64 of shape (n_distinct,)
        What `numpy.unique` gives.
    """
    # Sorting is many times faster than the hash table that numpy.unique builds of millions of whole numbers.
    ordered = np.sort(keys)
    return np.asarray(ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]])


def contains(sorted_keys: KeyArray, keys: KeyArray) -> BoolArray:
    """Whether each key is among the sorted ones.

    Parameters
    ----------
    sorted_keys : ndarray of int64 of shape (n_keys,)
        Keys in ascending order.
    keys : ndarray of int64
        The keys to look up, of any shape.

    Returns
    -------
    ndarray of bool
        The answers, in the shape of `keys`.
    """
    if len(sorted_keys) == 0:
        return np.zeros(keys.shape, dtype=bool)
    found = np.searchsorted(sorted_keys, keys).clip(max=len(sorted_keys) - 1)
    return np.asarray(sorted_keys[found] == keys)


def all_pairs_of(objects: IntArray) -> IntArray:
    """All unordered pairs of these objects.

    Parameters
    ----------
    objects : ndarray of int of shape (n_objects,)
        The objects.

    Returns
    -------
    ndarray of int of shape (n_objects * (n_objects - 1) / 2, 2)
        The pairs.
    """
    return objects[np.column_stack(np.triu_indices(len(objects), k=1))]


def draw_pairs(n_objects: int, n_pairs: int, random_state: Any) -> IntArray:
    """Different pairs of objects, drawn uniformly.

    Parameters
    ----------
    n_objects : int
        The number of objects.
    n_pairs : int
        How many pairs to draw, not more than there are.
    random_state : int, RandomState instance or None
        The seed.

    Returns
    -------
    ndarray of int of shape (n_pairs, 2)
        The pairs.
    """
    random = check_random_state(random_state)
    n_possible = n_objects * (n_objects - 1) // 2
    if 2 * n_pairs > n_possible:
        return _pairs_of_indices(random.permutation(n_possible)[:n_pairs])
    # Filling up what repetitions left open treats all pairs alike: every set of pairs is as likely as any other.
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < n_pairs:
        more = random.randint(n_possible, size=n_pairs - len(drawn), dtype=np.int64)
        drawn = distinct(np.concatenate([drawn, more]))
    return _pairs_of_indices(drawn)


def _pairs_of_indices(indices: npt.NDArray[Any]) -> IntArray:
    """The pairs (i, j), i < j, at these places of the list (0, 1), (0, 2), (1, 2), (0, 3), ..."""
    larger = ((1 + np.sqrt(1 + 8 * indices.astype(float))) / 2).astype(np.int64)
    # The root may be off by rounding; these are whole numbers and so exact.
    larger -= larger * (larger - 1) // 2 > indices
    larger += larger * (larger + 1) // 2 <= indices
    return np.column_stack([indices - larger * (larger - 1) // 2, larger]).astype(np.intp, copy=False)


def describe_pairs(pairs: IntArray) -> str:
    """The first pairs as text, and how many more there are.

    Parameters
    ----------
    pairs : ndarray of int of shape (n_pairs, 2)
        The pairs.

    Returns
    -------
    str
        For example ``(0, 1), (2, 5) and 7 more``.
    """
    shown = ", ".join(str(tuple(pair)) for pair in pairs[:_SHOWN].tolist())
    return shown if len(pairs) <= _SHOWN else f"{shown} and {len(pairs) - _SHOWN} more"
