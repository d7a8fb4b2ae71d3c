"""Exact nearest neighbours: a balanced tree of boxes, whose leaves are scanned in vectors."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from evlearn.kernels.neighbors import LEAF, nearest
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, IntArray

_NONE = np.iinfo(np.int32).max
_TASK_LEAVES = 64


class BoxTree(NamedTuple):
    """Samples in boxes that are halved along their longest side.

    Attributes
    ----------
    lower, upper : ndarray of shape (2 * n_leaves, width)
        The boxes, padded with zeros. Node 1 is the root, and node i has the children 2 i and 2 i + 1.
    points : ndarray of shape (n_leaves, n_features, leaf size)
        The samples of each leaf.
    numbers : ndarray of int32 of shape (n_leaves, leaf size)
        Which samples they are.
    smallest : ndarray of int32 of shape (2 * n_leaves,)
        The lowest number in each box.
    """

    lower: FloatArray
    upper: FloatArray
    points: FloatArray
    numbers: npt.NDArray[np.int32]
    smallest: npt.NDArray[np.int32]

    @classmethod
    def of(cls, data: FloatArray) -> "BoxTree":
        """A tree of samples."""
        leaves = [np.arange(len(data))]
        while len(leaves) * LEAF < len(data):
            leaves = [half for members in leaves for half in _halves(data, members)]
        numbers = np.full((len(leaves), LEAF), _NONE, dtype=np.int32)
        numbers[np.arange(LEAF) < np.array([[len(members)] for members in leaves])] = np.concatenate(leaves)
        inside = numbers[:, None] < _NONE
        points = np.ascontiguousarray(data[np.minimum(numbers, len(data) - 1)].transpose(0, 2, 1))
        return cls(
            lower=_padded(_upwards(np.where(inside, points, np.inf).min(axis=2), np.minimum)),
            upper=_padded(_upwards(np.where(inside, points, -np.inf).max(axis=2), np.maximum)),
            points=np.where(inside, points, np.inf),
            numbers=numbers,
            smallest=_upwards(numbers.min(axis=1), np.minimum),
        )

    @property
    def samples(self) -> FloatArray:
        """The samples, in their order."""
        inside = self.numbers < _NONE
        found = np.empty((int(inside.sum()), self.points.shape[1]))
        found[self.numbers[inside]] = self.points.transpose(0, 2, 1)[inside]
        return found

    def nearest_others(
        self, n_neighbors: int, *, n_jobs: int | None = None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """The nearest neighbours of each sample among the others; of equals those with the lowest numbers.

        Returns
        -------
        indices : ndarray of int32 of shape (n_samples, n_neighbors)
            The neighbours.
        squares : ndarray of shape (n_samples, n_neighbors)
            The squared distances to them.
        """
        return self._nearest(self, n_neighbors, others=True, n_jobs=n_jobs)

    def nearest_of(
        self, rows: FloatArray, n_neighbors: int, *, n_jobs: int | None = None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """The nearest samples of rows; of equals those with the lowest numbers.

        Returns
        -------
        indices : ndarray of int32 of shape (n_rows, n_neighbors)
            The samples.
        squares : ndarray of shape (n_rows, n_neighbors)
            The squared distances to them.
        """
        return self._nearest(BoxTree.of(rows), n_neighbors, others=False, n_jobs=n_jobs)

    def _nearest(
        self, asking: "BoxTree", n_neighbors: int, *, others: bool, n_jobs: int | None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        shape = (int((asking.numbers < _NONE).sum()), n_neighbors)
        indices, squares = np.empty(shape, dtype=np.int32), np.empty(shape)
        tasks = [
            (tuple(self), tuple(asking), leaves.start, leaves.stop, others, indices, squares)
            for leaves in row_blocks(len(asking.points), _TASK_LEAVES)
        ]
        if len(tasks) == 1:  # of a few rows: to hire workers would take longer
            nearest(*tasks[0])
        else:
            Parallel(n_jobs, prefer="threads", require="sharedmem")(delayed(nearest)(*task) for task in tasks)
        return indices, squares


def _halves(data: FloatArray, members: IntArray) -> list[IntArray]:
    half = -(-len(members) // LEAF // 2) * LEAF  # in full leaves, so that a few are empty
    if len(members) <= half:
        return [members, members[:0]]
    inside = data[members]
    longest = (inside.max(axis=0) - inside.min(axis=0)).argmax()
    order = inside[:, longest].argpartition(half)
    return [members[order[:half]], members[order[half:]]]


def _upwards(leaves: npt.NDArray[Any], reduce: np.ufunc) -> npt.NDArray[Any]:
    """What holds for all nodes, from what holds for the leaves; node 0 does not exist."""
    levels = [leaves]
    while len(levels[0]) > 1:
        levels.insert(0, reduce(levels[0][::2], levels[0][1::2]))
    return np.concatenate([np.zeros_like(leaves[:1]), *levels])


def _padded(boxes: FloatArray) -> FloatArray:
    """With columns of zeros, to a multiple of four."""
    found = np.zeros((len(boxes), -(-boxes.shape[1] // 4) * 4))
    found[:, : boxes.shape[1]] = boxes
    return found
