"""Constraint expansion: pairs near a constrained pair get its constraint (Algorithm 2 of k-CEVCLUS).

The algorithm visits the must-links and then the cannot-links, and each adds the best pairs that no earlier one has
added. Here the constraints of a block choose in parallel; if several choose the same pair, the earliest keeps it
and the others choose again, until all choices differ. The result is the same, without a loop over constraints.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.neighbors import NearestNeighbors

from evlearn.constraints.pairs import KeyArray, contains, keys_of_pairs, pairs_of_keys
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

_CANDIDATES_PER_BLOCK = 1 << 19
_VALUES_PER_BLOCK = 1 << 21


def expand(
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
