"""Exact nearest neighbors by a balanced tree of boxes with vectorized scans of the leaves."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from evlearn.kernels.neighbors import LEAF, nearest
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, IntArray

_PADDING = np.iinfo(np.int32).max  # number of empty places in leaves
_TASK_LEAVES = 64  # per parallel task


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
        return self._nearest(BoxTree.of(rows), n_neighbors, others=False, n_jobs=n_jobs)

    def _nearest(
        self, queries: "BoxTree", n_neighbors: int, *, others: bool, n_jobs: int | None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        shape = (int((queries.numbers < _PADDING).sum()), n_neighbors)
        indices, squares = np.empty(shape, dtype=np.int32), np.empty(shape)
        tasks = [
            (tuple(self), tuple(queries), leaves.start, leaves.stop, others, indices, squares)
            for leaves in row_blocks(len(queries.points), _TASK_LEAVES)
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
