"""The nearest neighbours of all samples, each without itself, found and walked through in blocks."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed, effective_n_jobs
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn import config_context
from sklearn.neighbors import KDTree, NearestNeighbors

from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, IntArray

#: With more features than this, comparing with everyone is faster than a tree.
_TREE_UP_TO = 15
#: Numbers in a block of work, and megabytes that scikit-learn may take for one: little beside the neighbours.
BLOCK = 1 << 19
_WORKING_MEMORY = 32
# The share of its distance from the origin from which a row should be apart from its neighbours: nearer, and its
# squared distances, as sums of products, would have less than half of their digits. By the bytes of a number.
_LOST = {4: 1e-3, 8: 1e-4}
# A mean that is so many times farther from most of some rows than these are from each other may have been moved by
# something remote.
_MOVED = 100.0
_MIDDLE_ROWS = 20
_EUCLIDEAN = ("euclidean", "l2", "minkowski")


@dataclass(frozen=True)
class Neighbors:
    """Samples with their nearest neighbours.

    Attributes
    ----------
    data : ndarray of shape (n_samples, n_features) or (n_samples, n_samples)
        Features, or dissimilarities if `metric` is "precomputed".
    metric : str or callable
        As for `sklearn.neighbors.NearestNeighbors`.
    indices : ndarray of int32 of shape (n_samples, n_neighbors)
        The neighbours of each sample, itself excluded.
    distances : ndarray of shape (n_samples, n_neighbors) or None
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

    def to_graph(self) -> csr_array:
        """The neighbours as a matrix: distances where a sample has a neighbour, and nothing elsewhere."""
        distances = self.with_distances().distances if self.distances is None else self.distances
        return _to_graph(self.indices, np.asarray(distances), len(self.data))

    @property
    def pairwise_metric(self) -> Any:
        """The metric as `evlearn.cluster.dissimilarities.distances_between` knows it."""
        return "euclidean" if is_metric(self.metric, *_EUCLIDEAN) else self.metric

    def _apart(self, rows: slice, found: npt.NDArray[np.int32]) -> FloatArray:
        return _euclidean(self.data[rows], self.data, found)


def find_neighbors(
    data: FloatArray, n_neighbors: int, *, metric: Any, n_jobs: int | None, keep: bool = False
) -> Neighbors:
    """The nearest neighbours of each sample among all others, in no order."""
    known = np.arange(len(data)) if is_metric(metric, "precomputed") else _few_copies(data, n_neighbors + 1)
    search = _Search(data, known, metric, n_jobs)
    indices = np.empty((len(data), n_neighbors), dtype=np.int32)
    # With few features it is memory that counts, with many it is time.
    distances = np.empty(indices.shape) if keep or search.tree is None else None
    for rows in row_blocks(len(data), max(BLOCK // (n_neighbors + 1), 1)):
        apart, found = search(data[rows], n_neighbors + 1)
        others = found != np.arange(rows.start, rows.stop)[:, None]
        # A sample may have too many duplicates to be among its own nearest: then any of these is one too many.
        others[others.all(axis=1), -1] = False
        indices[rows] = found[others].reshape(-1, n_neighbors)
        if distances is not None:
            distances[rows] = apart[others].reshape(-1, n_neighbors)
    return Neighbors(data, metric, indices, distances)


def nearest_among(
    data: FloatArray | None, new: FloatArray, n_neighbors: int, *, metric: Any, n_jobs: int | None
) -> csr_array:
    """The samples that are nearest to new ones."""
    if data is None:
        nearest = np.argsort(new, axis=1, kind="stable")[:, :n_neighbors].astype(np.int32)
        return _to_graph(nearest, np.take_along_axis(new, nearest, axis=1), new.shape[1])
    search = _Search(data, np.arange(len(data)), metric, n_jobs)
    indices = np.empty((len(new), n_neighbors), dtype=np.int32)
    distances = np.empty(indices.shape)
    for rows in row_blocks(len(new), max(BLOCK // n_neighbors, 1)):
        distances[rows], indices[rows] = search(new[rows], n_neighbors)
    return _to_graph(indices, distances, len(data))


def find_copies(data: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the positions of the distinct rows, in order, and the number of its distinct row for each row."""
    _, positions, group = np.unique(data, axis=0, return_index=True, return_inverse=True)
    return np.unique(positions[group.reshape(-1)], return_inverse=True)


class _Search:
    """Finds the nearest of known samples: in a tree, if distances are Euclidean and features are few."""

    def __init__(self, data: FloatArray, known: IntArray, metric: Any, n_jobs: int | None) -> None:
        self.data, self.known, self.metric, self.n_jobs = data, known, metric, n_jobs
        self.euclidean = is_metric(metric, *_EUCLIDEAN)
        self.tree = self.centre = None
        if self.euclidean and data.shape[1] <= _TREE_UP_TO:
            self.tree = KDTree(self._known_of(data))
            return
        # Without a tree, squared distances are sums of products, which are right near the origin only.
        if self.euclidean or is_metric(metric, "sqeuclidean"):
            self.centre = _middle(data)
        self.brute = NearestNeighbors(metric=metric, n_jobs=n_jobs).fit(self._known_of(self._near_origin(data)))

    def __call__(self, rows: FloatArray, n_neighbors: int) -> tuple[FloatArray, IntArray]:
        """The distances of rows to their nearest, and who these are."""
        if self.tree is not None:
            parts = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self.tree.query)(part, n_neighbors, sort_results=False)
                for part in np.array_split(rows, min(effective_n_jobs(self.n_jobs), len(rows)))
            )
            apart, found = (np.concatenate(one) for one in zip(*parts, strict=True))
            found = self.known[found]
        else:
            with config_context(working_memory=_WORKING_MEMORY):
                apart, found = self.brute.kneighbors(self._near_origin(rows), n_neighbors=n_neighbors)
            found = self.known[found]
            if self.centre is not None:
                for block in row_blocks(len(rows), max(BLOCK // (n_neighbors * rows.shape[1]), 1)):
                    direct = _euclidean(rows[block], self.data, found[block])
                    apart[block] = direct if self.euclidean else direct**2
                self._directly(rows, apart, found)
        check_finite(apart, self.metric)
        return apart, found

    def _directly(self, rows: FloatArray, apart: FloatArray, found: IntArray) -> None:
        """Once more by direct differences, for rows so far from the origin that products mistake neighbours."""
        farthest = apart.max(axis=1)
        if not self.euclidean:
            farthest = np.sqrt(farthest)
        with np.errstate(over="ignore"):
            norms = np.linalg.norm(self._near_origin(rows).astype(np.float64, copy=False), axis=1)
            doubtful = _LOST[rows.dtype.itemsize] * (norms + farthest) > farthest
        known = self._known_of(self.data)
        for row in np.flatnonzero(doubtful & (farthest > 0)):
            squares = cdist(rows[row : row + 1], known, "sqeuclidean")[0]
            nearest = np.argpartition(squares, found.shape[1] - 1)[: found.shape[1]]
            found[row] = self.known[nearest]
            apart[row] = np.sqrt(squares[nearest]) if self.euclidean else squares[nearest]

    def _near_origin(self, data: FloatArray) -> FloatArray:
        return data if self.centre is None else data - self.centre

    def _known_of(self, data: FloatArray) -> FloatArray:
        return data if len(self.known) == len(data) else data[self.known]


def is_metric(metric: Any, *names: str) -> bool:
    """Whether a metric is one of these names, and not a function."""
    return isinstance(metric, str) and metric in names


def check_finite(distances: FloatArray, metric: Any) -> None:
    """Raise unless all distances are finite."""
    if not np.isfinite(distances).all():
        raise ValueError(
            f"metric={metric!r} gives distances between rows of X that are not finite: rescale X, remove "
            "rows with very large values, or choose another metric."
        )


def _middle(data: FloatArray) -> FloatArray:
    """The mean; or, if it is away from all rows, as something remote makes it, the median."""
    mean = data.mean(axis=0)
    some = data[:: -(-len(data) // _MIDDLE_ROWS)]
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.abs(np.diff(some, axis=0)).max(axis=1)
        if (np.abs(some[1:] - mean).max(axis=1) > _MOVED * steps).mean() < 0.5:
            return np.asarray(mean)
    return np.median(data, axis=0)


def _few_copies(data: FloatArray, most: int) -> IntArray:
    """The samples without those that coincide with `most` others before them: a tree would visit them all."""
    _, group, counts = np.unique(data, axis=0, return_inverse=True, return_counts=True)
    number = np.arange(len(data)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(np.argsort(group.reshape(-1), kind="stable")[number < most])


def _euclidean(rows: FloatArray, data: FloatArray, found: npt.NDArray[Any]) -> FloatArray:
    # Differences first: a squared norm by products loses its digits, and duplicates would be apart.
    apart = data.take(found, axis=0)
    apart -= rows[:, None]
    return np.asarray(np.sqrt(np.einsum("ijk,ijk->ij", apart, apart)))


def _to_graph(indices: npt.NDArray[np.int32], distances: FloatArray, n_samples: int) -> csr_array:
    starts = np.arange(len(indices) + 1) * indices.shape[1]
    if starts[-1] <= np.iinfo(np.int32).max:  # or else scipy would make all indices larger
        starts = starts.astype(np.int32)
    return csr_array((distances.reshape(-1), indices.reshape(-1), starts), shape=(len(indices), n_samples))
