"""Arrays of pairs of samples: read, listed, drawn and written."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from evlearn.utils.typing import BoolArray, IntArray

#: Pairs of sample numbers: an array of shape (n_pairs, 2), or any iterable of pairs.
PairsLike: TypeAlias = npt.ArrayLike | Iterable[tuple[int, int]]
KeyArray: TypeAlias = npt.NDArray[np.int64]

#: Beyond this many pairs, listing all of them is not what is wanted.
LARGEST_LIST = 5_000_000
_OBJECT_BITS = 31
_SHOWN = 5


def read_pairs(pairs: PairsLike, name: str) -> IntArray:
    """Pairs as an array, each with the smaller sample first, in lexicographic order and without repetition."""
    given = _as_array(pairs, name)
    if given.size == 0:
        return np.empty((0, 2), dtype=np.intp)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be pairs of sample numbers such as [(0, 4), (1, 2)], "
            f"got an array of shape {given.shape} and type {given.dtype}."
        )
    for number in (int(given.min()), int(given.max())):
        if not 0 <= number < 1 << _OBJECT_BITS:
            raise ValueError(f"{name} has the sample {number}; samples are numbered from 0 to 2^31 - 1.")
    return pairs_of_keys(distinct(keys_of_pairs(given)))


def _as_array(pairs: PairsLike, name: str) -> npt.NDArray[Any]:
    # Sets and zip() hold pairs too, but NumPy would take either for one single sample.
    listed = pairs if hasattr(pairs, "__array__") or not isinstance(pairs, Iterable) else list(pairs)
    try:
        return np.asarray(listed)
    except ValueError:
        raise ValueError(f"{name} must hold pairs of sample numbers, but not all its rows are pairs.") from None


def keys_of_pairs(pairs: npt.NDArray[Any]) -> KeyArray:
    """One number for each unordered pair; numbers follow the lexicographic order of sorted pairs."""
    smaller = np.minimum(pairs[..., 0], pairs[..., 1]).astype(np.int64)
    larger = np.maximum(pairs[..., 0], pairs[..., 1]).astype(np.int64)
    return np.asarray((smaller << _OBJECT_BITS) | larger)


def pairs_of_keys(keys: KeyArray) -> IntArray:
    """The sorted pairs that `keys_of_pairs` made these keys of."""
    last = (1 << _OBJECT_BITS) - 1
    return np.column_stack([keys >> _OBJECT_BITS, keys & last]).astype(np.intp, copy=False)


def distinct(keys: KeyArray) -> KeyArray:
    """The keys in ascending order, each once."""
    # Sorting is many times faster than the hash table that numpy.unique builds of millions of whole numbers.
    ordered = np.sort(keys)
    return np.asarray(ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]])


def contains(sorted_keys: KeyArray, keys: KeyArray) -> BoolArray:
    """Whether each key is among the sorted ones."""
    if len(sorted_keys) == 0:
        return np.zeros(keys.shape, dtype=bool)
    found = np.searchsorted(sorted_keys, keys).clip(max=len(sorted_keys) - 1)
    return np.asarray(sorted_keys[found] == keys)


def all_pairs_of(objects: IntArray) -> IntArray:
    """All unordered pairs of these samples."""
    return objects[np.column_stack(np.triu_indices(len(objects), k=1))]


def draw_pairs(n_samples: int, n_pairs: int, random_state: Any) -> IntArray:
    """Different pairs of samples, drawn uniformly."""
    random = check_random_state(random_state)
    n_possible = n_samples * (n_samples - 1) // 2
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
    """The first pairs as text, and how many more there are."""
    shown = ", ".join(str(tuple(pair)) for pair in pairs[:_SHOWN].tolist())
    return shown if len(pairs) <= _SHOWN else f"{shown} and {len(pairs) - _SHOWN} more"
