"""Exact search for nearest neighbors: of other rows in a tree, of samples themselves, or in a matrix of distances.

Classifiers use `BoxTree`, `MetricSearch` or `GivenDistances`, which share an interface, and sort ties by number.
Clusterers use `find_neighbors` and `find_nearest`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from types import NoneType
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed, effective_n_jobs
from scipy.sparse import csr_array, csr_matrix
from scipy.spatial.distance import cdist
from sklearn import config_context

from evlearn.blocks.sparse import SparseBlock
from evlearn.kernels.neighbors import LEAF, nearest, nearest_of_few, select_among
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, IntArray, Metric

_PADDING = np.iinfo(np.int32).max  # number of empty places in leaves
_TASK_LEAVES, _TASK_NEIGHBORS = 64, 1 << 16  # maximum numbers per parallel task
#: Maximum number of features for a tree; with more features, exhaustive search is faster.
_MAX_TREE_FEATURES = 15
#: Maximum number of values per block, and megabytes for the parameter `working_memory` in scikit-learn. Both are
#: small compared with the memory of the neighbors.
BLOCK = 1 << 19
_WORKING_MEMORY = 32
#: Minimum ratio of the distance to neighbors and that to the origin, by the number of bytes of a value. For
#: smaller ratios, squared distances that are sums of products would lose more than half of their digits.
_MIN_DISTANCE_RATIO = {4: 1e-3, 8: 1e-4}
#: Ratio of distances from the mean and between rows beyond which the mean is assumed to be distorted by outliers.
_MAX_MEAN_RATIO = 100.0
#: Approximate number of rows for this test.
_MIDDLE_ROWS = 20
#: Standard deviations of the number of drawn neighbors by which the number of neighbors of all samples is larger.
_DEVIATIONS = 4.5
EUCLIDEAN = ("euclidean", "l2", "minkowski")


@fields.stored_as(rows=fields.array(2, low=-1e150, high=1e150))
class BoxTree(NamedTuple):
    """Tree of samples in boxes that are halved along their longest side.

    Attributes
    ----------
    lower, upper : ndarray of shape (2 * n_leaves, width)
        Boxes, padded with zeros. Node 1 is the root, and node i has the children 2 i and 2 i + 1.
    points : ndarray of shape (n_leaves, n_features, leaf size)
        Samples of each leaf.
    numbers : ndarray of int32 of shape (n_leaves, leaf size)
        Numbers of these samples.
    smallest : ndarray of int32 of shape (2 * n_leaves,)
        Lowest number in each box.
    """

    lower: FloatArray
    upper: FloatArray
    points: FloatArray
    numbers: npt.NDArray[np.int32]
    smallest: npt.NDArray[np.int32]

    @classmethod
    def of(cls, data: FloatArray) -> "BoxTree":
        """Build a tree of samples."""
        leaves = [np.arange(len(data))]
        while len(leaves) * LEAF < len(data):
            leaves = [half for members in leaves for half in _split(data, members)]
        numbers = np.full((len(leaves), LEAF), _PADDING, dtype=np.int32)
        numbers[np.arange(LEAF) < np.array([[len(members)] for members in leaves])] = np.concatenate(leaves)
        is_sample = numbers[:, None] < _PADDING
        points = np.ascontiguousarray(data[np.minimum(numbers, len(data) - 1)].transpose(0, 2, 1))
        return cls(
            lower=_pad(_aggregate(np.where(is_sample, points, np.inf).min(axis=2), np.minimum)),
            upper=_pad(_aggregate(np.where(is_sample, points, -np.inf).max(axis=2), np.maximum)),
            points=np.where(is_sample, points, np.inf),
            numbers=numbers,
            smallest=_aggregate(numbers.min(axis=1), np.minimum),
        )

    @property
    def samples(self) -> FloatArray:
        """Samples, in their original order."""
        is_sample = self.numbers < _PADDING
        rows = np.empty((int(is_sample.sum()), self.points.shape[1]))
        rows[self.numbers[is_sample]] = self.points.transpose(0, 2, 1)[is_sample]
        return rows

    def nearest_others(
        self, n_neighbors: int, *, n_jobs: int | None = None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """Return the nearest other samples of each sample; ties are sorted by number.

        Returns
        -------
        indices : ndarray of int32 of shape (n_samples, n_neighbors)
            Neighbors.
        squares : ndarray of shape (n_samples, n_neighbors)
            Squared distances to them.
        """
        return self._nearest(self, n_neighbors, others=True, n_jobs=n_jobs)

    def nearest_of(
        self, rows: FloatArray, n_neighbors: int, *, n_jobs: int | None = None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """Return the nearest samples of rows; ties are sorted by number.

        Returns
        -------
        indices : ndarray of int32 of shape (n_rows, n_neighbors)
            Samples.
        squares : ndarray of shape (n_rows, n_neighbors)
            Squared distances to them.
        """
        if not 0 < len(rows) <= LEAF:
            return self._nearest(BoxTree.of(rows), n_neighbors, others=False, n_jobs=n_jobs)
        shape = len(rows), n_neighbors
        indices, squares = np.empty(shape, dtype=np.int32), np.empty(shape)
        nearest_of_few(self, np.ascontiguousarray(rows, dtype=np.float64), indices, squares)
        return indices, squares

    def _nearest(
        self, queries: "BoxTree", n_neighbors: int, *, others: bool, n_jobs: int | None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        shape = (int((queries.numbers < _PADDING).sum()), n_neighbors)
        indices, squares = np.empty(shape, dtype=np.int32), np.empty(shape)
        n_leaves = max(min(_TASK_LEAVES, _TASK_NEIGHBORS // (LEAF * n_neighbors)), 1)
        tasks = [
            (tuple(self), tuple(queries), leaves.start, leaves.stop, others, indices, squares)
            for leaves in row_blocks(len(queries.points), n_leaves)
        ]
        if len(tasks) == 1:  # for a few rows, starting workers would take longer
            nearest(*tasks[0])
        else:
            Parallel(n_jobs, prefer="threads", require="sharedmem")(delayed(nearest)(*task) for task in tasks)
        return indices, squares

    def to_stored(self) -> dict[str, FloatArray]:
        """Return the samples, from which the tree can be built."""
        return {"rows": self.samples}

    @classmethod
    def from_stored(cls, rows: FloatArray) -> "BoxTree":
        """Build a tree of the samples in a file."""
        if not rows.size:
            raise ValueError("rows must not be empty")
        return cls.of(np.ascontiguousarray(rows))


def _split(data: FloatArray, members: IntArray) -> list[IntArray]:
    half = -(-len(members) // LEAF // 2) * LEAF  # a multiple of full leaves; a few leaves may be empty
    if len(members) <= half:
        return [members, members[:0]]
    rows = data[members]
    axis = (rows.max(axis=0) - rows.min(axis=0)).argmax()
    order = rows[:, axis].argpartition(half)
    return [members[order[:half]], members[order[half:]]]


def _aggregate(leaves: npt.NDArray[Any], reduce: np.ufunc) -> npt.NDArray[Any]:
    """Aggregate values of leaves for all nodes; node 0 does not exist."""
    levels = [leaves]
    while len(levels[0]) > 1:
        levels.insert(0, reduce(levels[0][::2], levels[0][1::2]))
    return np.concatenate([np.zeros_like(leaves[:1]), *levels])


def _pad(boxes: FloatArray) -> FloatArray:
    """Append columns of zeros, up to a multiple of 4 columns."""
    padded = np.zeros((len(boxes), -(-boxes.shape[1] // 4) * 4))
    padded[:, : boxes.shape[1]] = boxes
    return padded


@fields.stored
@dataclass(frozen=True)
class MetricSearch:
    """Neighbor search with the interface of `evlearn.neighbors.BoxTree`, for any metric.

    Attributes
    ----------
    samples : SparseBlock or ndarray of shape (n_samples, n_features)
        Samples.
    metric : str or callable
        Distance of samples.
    """

    samples: Annotated[Any, fields.array(2, low=-1e150, high=1e150)]
    metric: Annotated[Metric, fields.text()]

    def nearest_others(
        self, n_neighbors: int, *, n_jobs: int | None = None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """Return the nearest other samples of each sample, and squared distances."""
        return self._nearest(None, n_neighbors, n_jobs)

    def nearest_of(
        self, rows: Any, n_neighbors: int, *, n_jobs: int | None = None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """Return the nearest samples of rows, and squared distances."""
        if isinstance(self.samples, SparseBlock) and not isinstance(rows, SparseBlock):
            rows = SparseBlock(rows)
        return self._nearest(plain_rows(rows), n_neighbors, n_jobs)

    def _nearest(
        self, queries: Any, n_neighbors: int, n_jobs: int | None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        self._search.set_params(n_jobs=n_jobs)
        distances, indices = self._search.kneighbors(queries, n_neighbors)
        return indices.astype(np.int32), np.asarray(distances**2)

    @cached_property
    def _search(self) -> Any:
        from sklearn.neighbors import NearestNeighbors  # slow to import, and many fits do not need it

        algorithm = "brute" if isinstance(self.samples, SparseBlock) else "auto"
        search = NearestNeighbors(metric=self.metric, algorithm=algorithm)
        return search.fit(plain_rows(self.samples))


def plain_rows(rows: Any) -> Any:
    """Convert rows for scikit-learn metrics: sparse rows have 32-bit indices."""
    if not isinstance(rows, SparseBlock):
        return rows
    matrix = rows.matrix
    parts = (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32))
    return csr_matrix(parts, shape=matrix.shape)


@fields.stored
@dataclass(frozen=True)
class GivenDistances:
    """Neighbor search by precomputed distances; ties are sorted by number. Rows of new samples contain distances.

    Attributes
    ----------
    distances : ndarray of shape (n_samples, n_samples) or None
        Distances between the samples, which are required only for a fit.
    """

    distances: Annotated[FloatArray | None, fields.instance(NoneType)]

    def nearest_others(
        self, n_neighbors: int, *, n_jobs: int | None = None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """Return the nearest other samples of each sample, and squared distances."""
        others = np.array(self.distances)
        np.fill_diagonal(others, np.inf)
        return self.nearest_of(others, n_neighbors, n_jobs=n_jobs)

    def nearest_of(
        self, rows: FloatArray, n_neighbors: int, *, n_jobs: int | None = None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """Return the nearest samples of rows, and squared distances."""
        indices, distances = _nearest_columns(rows, n_neighbors)
        return indices, distances**2


@dataclass(frozen=True)
class Neighbors:
    """Samples and their nearest neighbors.

    Attributes
    ----------
    data : ndarray of shape (n_samples, n_features) or (n_samples, n_samples)
        Features, or dissimilarities if `metric` is "precomputed".
    metric : str or callable
        Metric, as for `sklearn.neighbors.NearestNeighbors`.
    indices : ndarray of int32 of shape (n_samples, n_neighbors)
        Neighbors of each sample, without the sample itself.
    distances : ndarray of shape (n_samples, n_neighbors) or None
        Distances to the neighbors; None, for Euclidean distances only, if they are computed when needed.
    """

    data: FloatArray
    metric: Any
    indices: npt.NDArray[np.int32]
    distances: FloatArray | None = None

    def blocks(self) -> Iterator[tuple[slice, npt.NDArray[np.int32], FloatArray]]:
        """Yield blocks of rows, their neighbors, and the distances to the neighbors."""
        per_row = self.indices.shape[1] * (self.data.shape[1] if self.distances is None else 1)
        for rows in row_blocks(len(self.data), max(BLOCK // per_row, 1)):
            yield rows, self.indices[rows], self._distances_of(rows)

    def with_distances(self) -> "Neighbors":
        """Return the neighbors with stored distances."""
        return replace(self, distances=np.concatenate([distances for _, _, distances in self.blocks()]))

    def sort(self) -> "Neighbors":
        """Return the neighbors of each sample in ascending order of their stored distances."""
        assert self.distances is not None
        indices, distances = np.empty_like(self.indices), np.empty_like(self.distances)
        for rows in row_blocks(len(self.data), max(BLOCK // self.indices.shape[1], 1)):
            order = np.argsort(self.distances[rows], axis=1, kind="stable")
            indices[rows] = np.take_along_axis(self.indices[rows], order, axis=1)
            distances[rows] = np.take_along_axis(self.distances[rows], order, axis=1)
        return replace(self, indices=indices, distances=distances)

    def select(self, rows: IntArray, n_neighbors: int) -> "Neighbors":
        """Return the nearest neighbors of some samples among these, from sorted neighbors among all samples.

        Samples that have too few of these among their neighbors are searched.
        """
        assert self.distances is not None
        number = np.full(len(self.data), -1, dtype=np.int32)
        number[rows] = np.arange(len(rows), dtype=np.int32)
        width = min(count_neighbors_of_all(n_neighbors, len(rows) / len(self.data)), self.indices.shape[1])
        shape = (len(rows), n_neighbors)
        data, indices, distances = self.data[rows], np.empty(shape, dtype=np.int32), np.empty(shape)
        counts = select_among(self.indices, self.distances, rows, number, width, indices, distances)
        pending = np.flatnonzero(counts < n_neighbors)
        if len(pending):
            indices[pending], distances[pending] = _Others(data, n_neighbors, self.metric, None)(pending)
        return Neighbors(data, self.metric, indices, distances)

    def to_graph(self) -> csr_array:
        """Return the neighbors as a sparse matrix whose entries are distances."""
        distances = self.with_distances().distances if self.distances is None else self.distances
        return _to_graph(self.indices, np.asarray(distances), len(self.data))

    @property
    def pairwise_metric(self) -> Any:
        """Metric, as for `evlearn.cluster.dissimilarities.distances_between`."""
        return "euclidean" if is_metric(self.metric, *EUCLIDEAN) else self.metric

    def _distances_of(self, rows: slice) -> FloatArray:
        if self.distances is not None:
            return self.distances[rows]
        return _euclidean(self.data[rows], self.data, self.indices[rows])


def find_neighbors(
    data: FloatArray, n_neighbors: int, *, metric: Any, n_jobs: int | None, keep: bool = False
) -> Neighbors:
    """Find the nearest neighbors of each sample among all others, in arbitrary order."""
    others = _Others(data, n_neighbors, metric, n_jobs)
    indices = np.empty((len(data), n_neighbors), dtype=np.int32)
    # Distances are not stored if a tree is used, because with few features memory matters more than time.
    distances = np.empty(indices.shape) if keep or not others.search.in_tree else None
    order = others.search.prepare()
    for block in row_blocks(len(data), max(BLOCK // (n_neighbors + 1), 1)):
        rows = order[block]
        indices[rows], block_distances = others(rows)
        if distances is not None:
            distances[rows] = block_distances
    return Neighbors(data, metric, indices, distances)


def count_neighbors_of_all(n_neighbors: int, share: float) -> int:
    """Return a number of neighbors among all samples of which nearly always enough are in a subsample."""
    return math.ceil(n_neighbors / share + _DEVIATIONS * math.sqrt(n_neighbors * (1 - share)) / share)


def find_nearest(
    data: FloatArray | None, new: FloatArray, n_neighbors: int, *, metric: Any, n_jobs: int | None
) -> csr_array:
    """Find the samples that are nearest to new samples."""
    if data is None:
        return _to_graph(*_nearest_columns(new, n_neighbors), new.shape[1])
    search = _Search(data, np.arange(len(data)), metric, n_jobs)
    indices = np.empty((len(new), n_neighbors), dtype=np.int32)
    distances = np.empty(indices.shape)
    for rows in row_blocks(len(new), max(BLOCK // n_neighbors, 1)):
        distances[rows], indices[rows] = search(new[rows], n_neighbors)
    return _to_graph(indices, distances, len(data))


def find_copies(data: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the positions of the distinct rows, in order, and for each row the number of its distinct row."""
    _, positions, group = np.unique(data, axis=0, return_index=True, return_inverse=True)
    return np.unique(positions[group.reshape(-1)], return_inverse=True)


class _Others:
    """Search for the nearest neighbors of samples among all others."""

    def __init__(self, data: FloatArray, n_neighbors: int, metric: Any, n_jobs: int | None) -> None:
        candidates = np.arange(len(data))
        if not is_metric(metric, "precomputed"):
            candidates = _limit_copies(data, n_neighbors + 1)
        self.n_neighbors, self.search = n_neighbors, _Search(data, candidates, metric, n_jobs)

    def __call__(self, rows: IntArray) -> tuple[IntArray, FloatArray]:
        """Return the neighbors of some samples, and the distances to them."""
        distances, nearest = self.search(self.search.data[rows], self.n_neighbors + 1)
        others = nearest != rows[:, None]
        # If a sample has so many duplicates that it is not among the results, one of these is removed instead.
        others[others.all(axis=1), -1] = False
        shape = (len(rows), self.n_neighbors)
        return nearest[others].reshape(shape), distances[others].reshape(shape)


class _Search:
    """Search among candidates, in a tree for Euclidean distances and few features; of all samples, in boxes."""

    def __init__(self, data: FloatArray, candidates: IntArray, metric: Any, n_jobs: int | None) -> None:
        self.data, self.candidates, self.metric, self.n_jobs = data, candidates, metric, n_jobs
        self.euclidean = is_metric(metric, *EUCLIDEAN)
        self.boxes: BoxTree | None = None
        self.center = None
        self.in_tree = self.euclidean and data.shape[1] <= _MAX_TREE_FEATURES
        if self.in_tree:
            return
        from sklearn.neighbors import NearestNeighbors

        # Without a tree, squared distances are sums of products, which are accurate only near the origin.
        if self.euclidean or is_metric(metric, "sqeuclidean"):
            self.center = _middle(data)
        rows = self._select_candidates(self._shift(data))
        self.brute = NearestNeighbors(metric=metric, n_jobs=n_jobs).fit(rows)

    def prepare(self) -> IntArray:
        """Prepare the search for all samples, and return a fast order: nearby samples follow each other."""
        if not self.in_tree:
            return np.arange(len(self.data))
        self.boxes = BoxTree.of(self._select_candidates(self.data).astype(np.float64))
        is_copy = np.ones(len(self.data), dtype=bool)
        is_copy[self.candidates] = False
        numbers = self.boxes.numbers[self.boxes.numbers < _PADDING]
        return np.concatenate([self.candidates[numbers], np.flatnonzero(is_copy)])

    def __call__(self, rows: FloatArray, n_neighbors: int) -> tuple[FloatArray, IntArray]:
        """Return the distances of rows to the nearest samples, and the numbers of these."""
        if self.boxes is not None:
            distances, indices = self._search_boxes(self.boxes, rows, n_neighbors)
        elif self.in_tree:
            distances, indices = self._search_tree(rows, n_neighbors)
        else:
            with config_context(working_memory=_WORKING_MEMORY):
                distances, indices = self.brute.kneighbors(self._shift(rows), n_neighbors=n_neighbors)
            indices = self.candidates[indices]
            if self.center is not None:
                for block in row_blocks(len(rows), max(BLOCK // (n_neighbors * rows.shape[1]), 1)):
                    direct = _euclidean(rows[block], self.data, indices[block])
                    distances[block] = direct if self.euclidean else direct**2
                self._correct(rows, distances, indices)
        check_finite(distances, self.metric)
        return distances, indices

    @cached_property
    def _tree(self) -> Any:
        from sklearn.neighbors import KDTree

        return KDTree(self._select_candidates(self.data))

    def _search_tree(self, rows: FloatArray, n_neighbors: int) -> tuple[FloatArray, IntArray]:
        parts = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._tree.query)(part, n_neighbors, sort_results=False)
            for part in np.array_split(rows, min(effective_n_jobs(self.n_jobs), len(rows)))
        )
        distances, indices = (np.concatenate(part) for part in zip(*parts, strict=True))
        return distances, self.candidates[indices]

    def _search_boxes(self, boxes: BoxTree, rows: FloatArray, n_neighbors: int) -> tuple[FloatArray, IntArray]:
        """Search in boxes; if the last neighbors of a row are tied, the tree selects among them."""
        width = min(n_neighbors + 1, len(self.candidates))  # the next one may be as near as the last
        indices, distances = boxes.nearest_of(rows.astype(np.float64), width, n_jobs=self.n_jobs)
        np.sqrt(distances, out=distances)
        has_ties = distances[:, min(1, width - 1)] == 0
        if width > n_neighbors:
            has_ties |= distances[:, -1] == distances[:, -2]
        distances, numbers = distances[:, :n_neighbors], self.candidates[indices[:, :n_neighbors]]
        if has_ties.any():
            distances[has_ties], numbers[has_ties] = self._search_tree(rows[has_ties], n_neighbors)
        return distances, numbers

    def _correct(self, rows: FloatArray, distances: FloatArray, indices: IntArray) -> None:
        """Search again by differences for rows so far from the origin that products are inaccurate."""
        farthest = distances.max(axis=1)
        if not self.euclidean:
            farthest = np.sqrt(farthest)
        with np.errstate(over="ignore"):
            norms = np.linalg.norm(self._shift(rows).astype(np.float64, copy=False), axis=1)
            inaccurate = _MIN_DISTANCE_RATIO[rows.dtype.itemsize] * (norms + farthest) > farthest
        candidates = self._select_candidates(self.data)
        for row in np.flatnonzero(inaccurate & (farthest > 0)):
            squares = cdist(rows[row : row + 1], candidates, "sqeuclidean")[0]
            nearest = np.argpartition(squares, indices.shape[1] - 1)[: indices.shape[1]]
            indices[row] = self.candidates[nearest]
            distances[row] = np.sqrt(squares[nearest]) if self.euclidean else squares[nearest]

    def _shift(self, data: FloatArray) -> FloatArray:
        return data if self.center is None else data - self.center

    def _select_candidates(self, data: FloatArray) -> FloatArray:
        return data if len(self.candidates) == len(data) else data[self.candidates]


def is_metric(metric: Any, *names: str) -> bool:
    """Return True if a metric is one of the names."""
    return isinstance(metric, str) and metric in names


def check_finite(distances: FloatArray, metric: Any) -> None:
    """Raise an error unless all distances are finite."""
    if not np.isfinite(distances).all():
        raise ValueError(
            f"metric={metric!r} gives distances between rows of X that are not finite: rescale X, remove "
            "rows with very large values, or use another metric."
        )


def _nearest_columns(distances: FloatArray, n_neighbors: int) -> tuple[npt.NDArray[np.int32], FloatArray]:
    """Return the columns with the smallest distances in each row, and these distances."""
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :n_neighbors]
    return nearest.astype(np.int32), np.take_along_axis(distances, nearest, axis=1)


def _middle(data: FloatArray) -> FloatArray:
    """Return the mean, or the median if the mean is far from most rows because of outliers."""
    mean = data.mean(axis=0)
    sample = data[:: -(-len(data) // _MIDDLE_ROWS)]
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.abs(np.diff(sample, axis=0)).max(axis=1)
        if (np.abs(sample[1:] - mean).max(axis=1) > _MAX_MEAN_RATIO * steps).mean() < 0.5:
            return np.asarray(mean)
    return np.median(data, axis=0)


def _limit_copies(data: FloatArray, max_copies: int) -> IntArray:
    """Return the samples with at most `max_copies` copies of each, because a tree would visit all copies."""
    _, group, counts = np.unique(data, axis=0, return_inverse=True, return_counts=True)
    number = np.arange(len(data)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(np.argsort(group.reshape(-1), kind="stable")[number < max_copies])


def _euclidean(rows: FloatArray, data: FloatArray, indices: npt.NDArray[Any]) -> FloatArray:
    # Squared norms of differences are accurate, so the distance of duplicates is exactly 0.
    differences = data.take(indices, axis=0)
    differences -= rows[:, None]
    return np.asarray(np.sqrt(np.einsum("ijk,ijk->ij", differences, differences)))


def _to_graph(indices: npt.NDArray[np.int32], distances: FloatArray, n_samples: int) -> csr_array:
    starts = np.arange(len(indices) + 1) * indices.shape[1]
    if starts[-1] <= np.iinfo(np.int32).max:  # otherwise, scipy would convert all indices to 64 bits
        starts = starts.astype(np.int32)
    return csr_array((distances.reshape(-1), indices.reshape(-1), starts), shape=(len(indices), n_samples))
