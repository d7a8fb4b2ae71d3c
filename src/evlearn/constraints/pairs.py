"""Arrays of pairs of samples: reading, enumeration, random selection and output."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from evlearn.utils.typing import BoolArray, IntArray

#: Pairs of row numbers: an array of shape (n_pairs, 2), or any iterable of pairs.
PairsLike: TypeAlias = npt.ArrayLike | Iterable[tuple[int, int]]
KeyArray: TypeAlias = npt.NDArray[np.int64]

#: Maximum number of pairs in a list of all pairs.
LARGEST_LIST = 5_000_000
_SAMPLE_BITS = 31
_MAX_LISTED = 5


def read_pairs(pairs: PairsLike, name: str) -> IntArray:
    """Return pairs as an array, each with the smaller sample first, in lexicographic order, without duplicates."""
    values = _as_array(pairs, name)
    if values.size == 0:
        return np.empty((0, 2), dtype=np.intp)
    if values.ndim != 2 or values.shape[1] != 2 or values.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be pairs of sample numbers such as [(0, 4), (1, 2)], "
            f"got an array of shape {values.shape} and type {values.dtype}."
        )
    for number in (int(values.min()), int(values.max())):
        if not 0 <= number < 1 << _SAMPLE_BITS:
            raise ValueError(f"{name} has the sample {number}; samples are numbered from 0 to 2^31 - 1.")
    return pairs_of_keys(distinct(keys_of_pairs(values)))


def _as_array(pairs: PairsLike, name: str) -> npt.NDArray[Any]:
    # NumPy would convert a set or a zip to a single object.
    values = pairs if hasattr(pairs, "__array__") or not isinstance(pairs, Iterable) else list(pairs)
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must hold pairs of sample numbers, but not all its rows are pairs.") from None


def keys_of_pairs(pairs: npt.NDArray[Any]) -> KeyArray:
    """Return a number for each unordered pair; their order is the lexicographic order of sorted pairs."""
    smaller = np.minimum(pairs[..., 0], pairs[..., 1]).astype(np.int64)
    larger = np.maximum(pairs[..., 0], pairs[..., 1]).astype(np.int64)
    return np.asarray((smaller << _SAMPLE_BITS) | larger)


def pairs_of_keys(keys: KeyArray) -> IntArray:
    """Return the sorted pairs for these keys of `keys_of_pairs`."""
    last = (1 << _SAMPLE_BITS) - 1
    return np.column_stack([keys >> _SAMPLE_BITS, keys & last]).astype(np.intp, copy=False)


def distinct(keys: KeyArray) -> KeyArray:
    """Return the keys in ascending order, without duplicates."""
    # Sorting is many times faster than the hash table of numpy.unique for millions of whole numbers.
    ordered = np.sort(keys)
    return np.asarray(ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]])


def contains(sorted_keys: KeyArray, keys: KeyArray) -> BoolArray:
    """Return True for each key that is among the sorted ones."""
    if len(sorted_keys) == 0:
        return np.zeros(keys.shape, dtype=bool)
    places = np.searchsorted(sorted_keys, keys).clip(max=len(sorted_keys) - 1)
    return np.asarray(sorted_keys[places] == keys)


def all_pairs_of(samples: IntArray) -> IntArray:
    """Return all unordered pairs of these samples."""
    return samples[np.column_stack(np.triu_indices(len(samples), k=1))]


def draw_pairs(n_samples: int, n_pairs: int, random_state: Any) -> IntArray:
    """Return different pairs of samples, drawn uniformly."""
    random = check_random_state(random_state)
    n_possible = n_samples * (n_samples - 1) // 2
    if 2 * n_pairs > n_possible:
        return _pairs_of_indices(random.permutation(n_possible)[:n_pairs])
    # All sets of pairs are equally likely, because duplicates are replaced by further uniform draws.
    keys = np.empty(0, dtype=np.int64)
    while len(keys) < n_pairs:
        additional = random.randint(n_possible, size=n_pairs - len(keys), dtype=np.int64)
        keys = distinct(np.concatenate([keys, additional]))
    return _pairs_of_indices(keys)


def _pairs_of_indices(indices: npt.NDArray[Any]) -> IntArray:
    """Return the pairs (i, j), i < j, at these positions of the list (0, 1), (0, 2), (1, 2), (0, 3), ..."""
    larger = ((1 + np.sqrt(1 + 8 * indices.astype(float))) / 2).astype(np.int64)
    # The root may be off by rounding; this correction in whole numbers is exact.
    larger -= larger * (larger - 1) // 2 > indices
    larger += larger * (larger + 1) // 2 <= indices
    return np.column_stack([indices - larger * (larger - 1) // 2, larger]).astype(np.intp, copy=False)


def describe_pairs(pairs: IntArray) -> str:
    """Return the first pairs as text, with the number of further pairs."""
    text = ", ".join(str(tuple(pair)) for pair in pairs[:_MAX_LISTED].tolist())
    return text if len(pairs) <= _MAX_LISTED else f"{text} and {len(pairs) - _MAX_LISTED} more"
