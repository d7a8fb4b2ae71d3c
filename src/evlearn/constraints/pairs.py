"""Arrays of pairs of samples: reading, enumeration, random selection, closure, expansion and output.

The expansion is Algorithm 2 of k-CEVCLUS: pairs near a constrained pair get its constraint. The algorithm visits
the must-links and then the cannot-links, and each adds the best pairs that no earlier one has added. Here the
constraints of a block choose in parallel; if several choose the same pair, the earliest keeps it and the others
choose again, until all choices differ. The result is the same, without a loop over constraints.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components
from sklearn.utils import check_random_state

from evlearn.partition.conversions import is_missing
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

#: Pairs of row numbers: an array of shape (n_pairs, 2), or any iterable of pairs.
PairsLike: TypeAlias = npt.ArrayLike | Iterable[tuple[int, int]]
KeyArray: TypeAlias = npt.NDArray[np.int64]

#: Maximum number of pairs in a list of all pairs.
LARGEST_LIST = 5_000_000
_SAMPLE_BITS = 31
_MAX_LISTED = 5
_LONGEST_CHAIN = 20
_CHAINS = 3
_CANDIDATES_PER_BLOCK = 1 << 19
_VALUES_PER_BLOCK = 1 << 21


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


def close_pairs(must_link: IntArray, cannot_link: IntArray) -> tuple[IntArray, IntArray]:
    """Return all pairs that the constraints imply.

    Returns
    -------
    must_link, cannot_link : ndarray of int of shape (n_pairs, 2)
        All pairs within groups that must-links connect, and all pairs between groups that a cannot-link separates.
    """
    # Only samples with constraints, so that the cost does not depend on the number of other samples.
    samples, places = np.unique(np.vstack([must_link, cannot_link]), return_inverse=True)
    places = places.reshape(-1, 2)
    graph = _graph(places[: len(must_link)], len(samples))
    _, groups = connected_components(graph, directed=False)
    _check_contradictions(graph, groups, samples, places[len(must_link) :])
    separated_groups = keys_of_pairs(groups[places[len(must_link) :]])
    pairs_of_groups = pairs_of_keys(distinct(separated_groups))
    sizes = np.bincount(groups, minlength=1)
    _check_size(sizes, pairs_of_groups)
    by_group = samples[np.argsort(groups, kind="stable")]
    return by_group[_places_within(sizes)], by_group[_places_between(sizes, pairs_of_groups)]


def _graph(edges: IntArray, n_nodes: int) -> csr_array:
    return csr_array((np.ones(len(edges), dtype=np.int8), (edges[:, 0], edges[:, 1])), shape=(n_nodes, n_nodes))


def _check_contradictions(graph: csr_array, groups: IntArray, samples: IntArray, separated: IntArray) -> None:
    broken = separated[groups[separated[:, 0]] == groups[separated[:, 1]]]
    if len(broken) == 0:
        return
    chains = [
        f"cannot_link holds {tuple(samples[pair].tolist())}, but must_link connects them: "
        + _chain(graph, samples, *pair.tolist())
        for pair in broken[:_CHAINS]
    ]
    remainder = f"; and {len(broken) - _CHAINS} more" if len(broken) > _CHAINS else ""
    raise ValueError(
        f"the constraints contradict each other: {'; '.join(chains)}{remainder}. "
        "Drop the cannot-link or a must-link of each chain."
    )


def _chain(graph: csr_array, samples: IntArray, start: int, end: int) -> str:
    """Return a shortest chain of must-links from one sample to another, as text."""
    _, predecessors = breadth_first_order(graph, start, directed=False)
    places = [end]
    while places[-1] != start:
        places.append(int(predecessors[places[-1]]))
    names = [str(number) for number in samples[places[::-1]].tolist()]
    if len(names) > _LONGEST_CHAIN:
        half = _LONGEST_CHAIN // 2
        names[half:-half] = [f"({len(names) - 2 * half} samples)"]
    return " - ".join(names)


def _check_size(sizes: IntArray, pairs_of_groups: IntArray) -> None:
    n_within = int((sizes * (sizes - 1) // 2).sum())
    n_between = int(sizes[pairs_of_groups].prod(axis=1).sum())
    if n_within + n_between > LARGEST_LIST:
        raise ValueError(
            f"the closure has {n_within:,} must-links and {n_between:,} cannot-links, more than {LARGEST_LIST:,} "
            "in total; use the constraints without closure, or fewer of them."
        )


def _places_within(sizes: IntArray) -> IntArray:
    """Return all pairs of positions in the same group; positions are ordered by group, with these group sizes."""
    ends = np.repeat(np.cumsum(sizes), sizes)
    places = np.arange(len(ends))
    following = ends - places - 1
    first = np.repeat(places, following)
    return np.column_stack([first, first + 1 + _count_up(following)])


def _places_between(sizes: IntArray, pairs_of_groups: IntArray) -> IntArray:
    """Return all pairs of a position in one group and a position in the other."""
    starts = np.cumsum(sizes) - sizes
    first, second = pairs_of_groups.T
    steps = sizes[first] * sizes[second]
    step, width = _count_up(steps), np.repeat(sizes[second], steps)
    return np.column_stack(
        [np.repeat(starts[first], steps) + step // width, np.repeat(starts[second], steps) + step % width]
    )


def _count_up(lengths: IntArray) -> IntArray:
    """Return 0, 1, 2, ... for each length in turn."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def expand_pairs(
    must_link: IntArray, cannot_link: IntArray, X: npt.NDArray[Any], n_neighbors: int, metric: Any
) -> tuple[IntArray, IntArray]:
    """Return constraints for pairs near the constrained ones.

    Returns
    -------
    must_link, cannot_link : ndarray of int of shape (n_new_pairs, 2)
        New constraints.
    """
    pairs = np.vstack([must_link, cannot_link])
    samples, places = np.unique(pairs, return_inverse=True)
    places = places.reshape(-1, 2)
    neighborhoods, distances = _neighborhoods(X, samples, n_neighbors, metric)
    used_keys = np.sort(keys_of_pairs(pairs))
    added: list[KeyArray] = []
    sources: list[IntArray] = []
    for block in row_blocks(len(pairs), max(1, _CANDIDATES_PER_BLOCK // (n_neighbors + 1) ** 2)):
        keys, rows = _nearest_pairs(neighborhoods[places[block]], distances[places[block]], used_keys, n_neighbors)
        added.append(keys)
        sources.append(block.start + rows)
        new = np.sort(keys)
        used_keys = np.insert(used_keys, np.searchsorted(used_keys, new), new)
    new_pairs = pairs_of_keys(np.concatenate(added))
    of_must_link = np.concatenate(sources) < len(must_link)
    return new_pairs[of_must_link], new_pairs[~of_must_link]


def _neighborhoods(
    X: npt.NDArray[Any], samples: IntArray, n_neighbors: int, metric: Any
) -> tuple[IntArray, FloatArray]:
    """Return each sample, at distance 0, with its nearest neighbors."""
    from sklearn.neighbors import NearestNeighbors  # slow to import, and most fits do not need it

    search = NearestNeighbors(n_neighbors=n_neighbors + 1, metric=metric).fit(X)
    # In blocks, because rows of a dissimilarity matrix have as many columns as there are samples.
    blocks = row_blocks(len(samples), max(1, _VALUES_PER_BLOCK // X.shape[1]))
    results = [search.kneighbors(X[samples[block]]) for block in blocks]
    distances, neighbors = (np.concatenate(part) for part in zip(*results, strict=True))
    is_sample = neighbors == samples[:, None]
    # A sample with many duplicates may not be among its own neighbors; then the farthest neighbor is removed.
    is_sample[~is_sample.any(axis=1), -1] = True
    neighborhoods = np.column_stack([samples, neighbors[~is_sample].reshape(-1, n_neighbors)])
    return neighborhoods, np.column_stack([np.zeros(len(samples)), distances[~is_sample].reshape(-1, n_neighbors)])


def _nearest_pairs(
    neighborhoods: IntArray, distances: FloatArray, used_keys: KeyArray, n_neighbors: int
) -> tuple[KeyArray, IntArray]:
    """Return the unused pairs nearest to each constraint, and the row of the constraint for each pair."""
    first, second = neighborhoods[:, 0, :, None], neighborhoods[:, 1, None, :]
    shared = first == second
    # (N(i) \ N(j)) x (N(j) \ N(i)): common neighbors carry no information about the pair.
    free = ~(shared.any(axis=2, keepdims=True) | shared.any(axis=1, keepdims=True))
    keys = keys_of_pairs(np.stack(np.broadcast_arrays(first, second), axis=-1))
    free &= ~contains(used_keys, keys)
    scores = distances[:, 0, :, None] + distances[:, 1, None, :]
    keys, free = keys.reshape(len(neighborhoods), -1), free.reshape(len(neighborhoods), -1)
    order = np.lexsort((keys, scores.reshape(len(neighborhoods), -1)), axis=1)  # the first pair in case of ties
    keys, free = np.take_along_axis(keys, order, axis=1), np.take_along_axis(free, order, axis=1)
    chosen = _first_come(keys, free, n_neighbors)
    return keys[chosen], np.nonzero(chosen)[0]


def _first_come(keys: KeyArray, free: BoolArray, n_keys: int) -> BoolArray:
    """Return True for the first free keys of each row, where earlier rows choose first."""
    while True:
        chosen = free & (free.cumsum(axis=1) <= n_keys)
        places = np.flatnonzero(chosen)
        _, earliest = np.unique(keys.ravel()[places], return_index=True)
        if len(earliest) == len(places):
            return np.asarray(chosen)
        np.put(free, np.delete(places, earliest), False)


def label_codes(labels: npt.ArrayLike, unlabeled: Any, name: str) -> IntArray:
    """Return a number for each label, and -1 for samples without a label."""
    values = np.asarray(labels)
    if values.dtype.kind in "US" and not hasattr(labels, "__array__"):
        # NumPy has converted other values in this list, such as NaN or -1, to text.
        values = np.asarray(labels, dtype=object)
    if values.ndim != 1:
        raise ValueError(f"{name} must be one label for each sample, got an array of shape {values.shape}.")
    missing = _missing(values, unlabeled)
    codes = np.full(len(values), -1, dtype=np.intp)
    if values.dtype.kind == "O":
        # Labels of different types cannot be sorted, so not np.unique.
        numbers: dict[Any, int] = {}
        codes[~missing] = [numbers.setdefault(label, len(numbers)) for label in values[~missing]]
    else:
        codes[~missing] = np.unique(values[~missing], return_inverse=True)[1]
    return codes


def _missing(labels: npt.NDArray[Any], unlabeled: Any) -> BoolArray:
    missing = np.zeros(len(labels), dtype=bool)
    if labels.dtype.kind == "O":
        missing |= np.fromiter((is_missing(label) for label in labels), dtype=bool, count=len(labels))
        missing[~missing] = [bool(label == unlabeled) for label in labels[~missing]]
        return missing
    if labels.dtype.kind == "f":
        missing |= np.isnan(labels)
    return np.asarray(missing | (labels == unlabeled))
