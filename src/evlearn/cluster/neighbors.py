"""The nearest neighbours of all objects, each without itself, found and walked through in blocks."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors

from evlearn.belief.types import FloatArray, IntArray
from evlearn.slices import row_blocks

#: With more attributes than this, comparing with everyone is faster than a tree.
_TREE_UP_TO = 15
#: Numbers in a block of work, and megabytes that scikit-learn may take for one: little beside the neighbours.
BLOCK = 1 << 19
_WORKING_MEMORY = 32
_EUCLIDEAN = ("euclidean", "l2", "minkowski")


@dataclass(frozen=True)
class Neighbors:
    """Objects with their nearest neighbours.

    Attributes
    ----------
    data : ndarray of shape (n_objects, n_features) or (n_objects, n_objects)
        Attributes, or dissimilarities if `metric` is "precomputed".
    metric : str or callable
        As for `sklearn.neighbors.NearestNeighbors`.
    indices : ndarray of int32 of shape (n_objects, n_neighbors)
        The neighbours of each object, itself excluded.
    distances : ndarray of shape (n_objects, n_neighbors) or None
        The distances to them. None, for Euclidean ones only, means that they are worked out when asked for.
    """

    data: FloatArray
    metric: Any
    indices: npt.NDArray[np.int32]
    distances: FloatArray | None = None

    def blocks(self) -> Iterator[tuple[slice, npt.NDArray[np.int32], FloatArray]]:
        """Yield some rows, their neighbours, and the distances to these."""
        per_row = self.indices.shape[1] * (self.data.shape[1] if self.distances is None else 1)
        for rows in row_blocks(len(self.data), max(BLOCK // per_row, 1)):
            found = self.indices[rows]
            yield rows, found, self._apart(rows, found) if self.distances is None else self.distances[rows]

    def with_distances(self) -> "Neighbors":
        """The same, with all distances kept."""
        return replace(self, distances=np.concatenate([distances for _, _, distances in self.blocks()]))

    @property
    def pairwise_metric(self) -> Any:
        """The metric as `evlearn.cluster.pairs.distances_between` knows it."""
        return "euclidean" if is_metric(self.metric, *_EUCLIDEAN) else self.metric

    def _apart(self, rows: slice, found: npt.NDArray[np.int32]) -> FloatArray:
        # Differences first: a squared norm by products loses its digits, and duplicates would be apart.
        apart = self.data.take(found, axis=0)
        apart -= self.data[rows, None]
        return np.asarray(np.sqrt(np.einsum("ijk,ijk->ij", apart, apart)))


def find_neighbors(data: FloatArray, n_neighbors: int, *, metric: Any, n_jobs: int | None) -> Neighbors:
    """The nearest neighbours of each object among all others.

    Parameters
    ----------
    data : ndarray of shape (n_objects, n_features) or (n_objects, n_objects)
        Attributes, or dissimilarities if `metric` is "precomputed".
    n_neighbors : int
        How many, less than there are objects.
    metric : str or callable
        As for `sklearn.neighbors.NearestNeighbors`.
    n_jobs : int or None
        Threads for the search.

    Returns
    -------
    Neighbors
        The neighbours. Distances are kept where they take long to work out again.
    """
    euclidean = is_metric(metric, *_EUCLIDEAN)
    tree = euclidean and data.shape[1] <= _TREE_UP_TO
    # Without a tree, squared distances are sums of products, which are right near the origin only.
    centred = is_metric(metric, *_EUCLIDEAN, "sqeuclidean") and not tree
    searched = data - data.mean(axis=0) if centred else data
    known = np.arange(len(data)) if is_metric(metric, "precomputed") else _few_copies(data, n_neighbors + 1)
    search = NearestNeighbors(algorithm="kd_tree" if tree else "auto", metric=metric, n_jobs=n_jobs)
    search.fit(searched if len(known) == len(data) else searched[known])
    indices = np.empty((len(data), n_neighbors), dtype=np.int32)
    distances = None if euclidean else np.empty(indices.shape)
    with config_context(working_memory=_WORKING_MEMORY):
        for rows in row_blocks(len(data), max(BLOCK // (n_neighbors + 1), 1)):
            apart, found = search.kneighbors(searched[rows], n_neighbors=n_neighbors + 1)
            check_finite(apart, metric)
            found = known[found]
            others = found != np.arange(rows.start, rows.stop)[:, None]
            # An object with many duplicates may not be among its own nearest: then the farthest is one too many.
            others[others.all(axis=1), -1] = False
            indices[rows] = found[others].reshape(-1, n_neighbors)
            if distances is not None:
                distances[rows] = apart[others].reshape(-1, n_neighbors)
    neighbors = Neighbors(data, metric, indices, distances)
    # With few attributes it is memory that counts, with many it is time.
    return neighbors.with_distances() if euclidean and not tree else neighbors


def is_metric(metric: Any, *names: str) -> bool:
    """Whether a metric is one of these names, and not a function.

    Parameters
    ----------
    metric : str or callable
        The metric.
    *names : str
        Names.

    Returns
    -------
    bool
        Whether it is.
    """
    return isinstance(metric, str) and metric in names


def check_finite(distances: FloatArray, metric: Any) -> None:
    """Raise unless all distances are finite.

    Parameters
    ----------
    distances : ndarray
        Distances.
    metric : str or callable
        Where they come from, for the message.
    """
    if not np.isfinite(distances).all():
        raise ValueError(f"metric={metric!r} gives distances that are not finite; choose another.")


def _few_copies(data: FloatArray, most: int) -> IntArray:
    """The objects without those that coincide with `most` others before them: a tree would visit them all."""
    _, group, counts = np.unique(data, axis=0, return_inverse=True, return_counts=True)
    number = np.arange(len(data)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(np.argsort(group.reshape(-1), kind="stable")[number < most])
