"""Constraint expansion: pairs near a constrained pair get its constraint (Algorithm 2 of k-CEVCLUS).

The algorithm visits the must-links and then the cannot-links, and each adds the best pairs that no earlier one has
taken. Here a block of constraints chooses at once; where several want the same pair the earliest keeps it, and the
others choose again, until no two want the same. That ends in the same choice, without a loop over constraints.
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
    """Constraints for pairs near the constrained ones.

    Returns
    -------
    must_link, cannot_link : ndarray of int of shape (n_new_pairs, 2)
        The new constraints only.
    """
    pairs = np.vstack([must_link, cannot_link])
    objects, places = np.unique(pairs, return_inverse=True)
    places = places.reshape(-1, 2)
    around, distances = _neighbourhoods(X, objects, n_neighbors, metric)
    taken = np.sort(keys_of_pairs(pairs))
    added: list[KeyArray] = []
    sources: list[IntArray] = []
    for block in row_blocks(len(pairs), max(1, _CANDIDATES_PER_BLOCK // (n_neighbors + 1) ** 2)):
        keys, rows = _nearest_pairs(around[places[block]], distances[places[block]], taken, n_neighbors)
        added.append(keys)
        sources.append(block.start + rows)
        new = np.sort(keys)
        taken = np.insert(taken, np.searchsorted(taken, new), new)
    new_pairs = pairs_of_keys(np.concatenate(added))
    of_must_link = np.concatenate(sources) < len(must_link)
    return new_pairs[of_must_link], new_pairs[~of_must_link]


def _neighbourhoods(
    X: npt.NDArray[Any], objects: IntArray, n_neighbors: int, metric: Any
) -> tuple[IntArray, FloatArray]:
    """Each sample itself, at distance 0, and its nearest neighbours."""
    search = NearestNeighbors(n_neighbors=n_neighbors + 1, metric=metric).fit(X)
    # In blocks, because the rows of a matrix of dissimilarities are as long as there are samples.
    blocks = row_blocks(len(objects), max(1, _VALUES_PER_BLOCK // X.shape[1]))
    answers = [search.kneighbors(X[objects[block]]) for block in blocks]
    distances, found = (np.concatenate(part) for part in zip(*answers, strict=True))
    itself = found == objects[:, None]
    # A sample with many duplicates may not be among its own neighbours; then the farthest is one too many.
    itself[~itself.any(axis=1), -1] = True
    around = np.column_stack([objects, found[~itself].reshape(-1, n_neighbors)])
    return around, np.column_stack([np.zeros(len(objects)), distances[~itself].reshape(-1, n_neighbors)])


def _nearest_pairs(
    around: IntArray, distances: FloatArray, taken: KeyArray, n_neighbors: int
) -> tuple[KeyArray, IntArray]:
    """For each constraint, the pairs nearest to it that are not taken; with the row of the constraint."""
    one, other = around[:, 0, :, None], around[:, 1, None, :]
    shared = one == other
    # (N(i) \ N(j)) x (N(j) \ N(i)): what is near both samples says nothing about the pair.
    free = ~(shared.any(axis=2, keepdims=True) | shared.any(axis=1, keepdims=True))
    keys = keys_of_pairs(np.stack(np.broadcast_arrays(one, other), axis=-1))
    free &= ~contains(taken, keys)
    scores = distances[:, 0, :, None] + distances[:, 1, None, :]
    keys, free = keys.reshape(len(around), -1), free.reshape(len(around), -1)
    order = np.lexsort((keys, scores.reshape(len(around), -1)), axis=1)  # the lowest pair of equals
    keys, free = np.take_along_axis(keys, order, axis=1), np.take_along_axis(free, order, axis=1)
    chosen = _first_come(keys, free, n_neighbors)
    return keys[chosen], np.nonzero(chosen)[0]


def _first_come(keys: KeyArray, free: BoolArray, n_wanted: int) -> BoolArray:
    """The first free keys of each row, where earlier rows choose before later ones."""
    while True:
        chosen = free & (free.cumsum(axis=1) <= n_wanted)
        wanted = np.flatnonzero(chosen)
        _, earliest = np.unique(keys.ravel()[wanted], return_index=True)
        if len(earliest) == len(wanted):
            return np.asarray(chosen)
        np.put(free, np.delete(wanted, earliest), False)
