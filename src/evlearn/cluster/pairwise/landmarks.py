"""Masses of any number of samples from a few whose masses are known.

With a shared set of landmarks all row problems share one matrix, so that samples are independent of each other: a
block of rows is one product for distances, an exponential, one product for linear terms, and the row problems.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from evlearn.belief import FocalSets
from evlearn.blocks.sparse import Features, SparseBlock
from evlearn.cluster.dissimilarities import distances_between, squared_distances
from evlearn.cluster.pairwise.irqp import rows_against
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import check_shape

_BLOCK_ROWS = 2048
# The largest rounding error of a squared distance, as a share of the squares between no conflict and 0.95. The
# masses of a row must not depend on the other rows, and row problems may magnify an error a thousand times.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class LandmarkModel:
    """Samples with known masses, and what it takes to compare others with them.

    Attributes
    ----------
    indices : ndarray of int of shape (n_landmarks,)
        Which training samples they are.
    landmarks : array of shape (n_landmarks, n_features), sparse rows or None
        Their features; None if dissimilarities are given.
    masses : ndarray of shape (n_landmarks, n_focal_sets)
        Their masses.
    focal_sets : FocalSets
        What the columns of the masses stand for.
    transform : Transform
        From dissimilarities to target conflicts.
    metric : str or callable
        The dissimilarity.
    """

    indices: IntArray
    landmarks: Any
    masses: FloatArray
    focal_sets: FocalSets
    transform: Transform
    metric: Any

    def __post_init__(self) -> None:
        # Compiled code reads these without looking.
        check_shape("indices", self.indices, (max(len(self.indices), 1),))
        check_shape("masses", self.masses, (len(self.indices), len(self.focal_sets)))
        if self.landmarks is not None:
            check_shape("landmarks", self.landmarks, (len(self.indices), self.landmarks.shape[-1]))

    @property
    def n_features(self) -> int | None:
        """The number of features of a row; None if rows are dissimilarities."""
        return None if self.landmarks is None else int(self.landmarks.shape[1])

    @property
    def _by_product(self) -> bool:
        return bool(self.transform.kind == "exponential" and self.metric == "euclidean")

    def assign(self, rows: Features, weights: Any = None) -> FloatArray:
        """The masses of rows."""
        out = np.empty((len(rows), len(self.focal_sets)), dtype=rows.dtype)
        targets = self._targets(rows)
        conflict = self.focal_sets.conflict_matrix[None]
        for block in row_blocks(len(rows), _BLOCK_ROWS):
            delta = targets(rows[block])
            out[block] = rows_against(delta, self.masses, conflict)
            # In full conflict with everyone: no crumbs of rounding, of which probabilities would be made.
            apart = np.flatnonzero(delta[:, 0] == 1)
            if len(apart):
                apart = apart[(delta[apart] == 1).all(axis=1)]
                out[block.start + apart] = np.arange(len(self.focal_sets)) == 0
        return out

    def _targets(self, X: Features) -> Any:
        """Return a function from a block of X to its target conflicts with the landmarks, in double precision."""
        if self.landmarks is None:
            return lambda block: self.transform(np.asarray(block[:, self.indices], dtype=np.float64))
        if not self._by_product or isinstance(X, SparseBlock) or isinstance(self.landmarks, SparseBlock):
            landmarks = self.landmarks
            return lambda block: self.transform(distances_between(block, landmarks, self.metric))
        return self._by_products()

    def _by_products(self) -> Any:
        """As `_targets`, with squared distances as sums of products; those that would lose digits are direct.

        Products of single precision round differently in blocks of other sizes, so they are in double precision.
        """
        assert self.landmarks is not None
        # Centred, because products of large coordinates leave nothing of small distances.
        centre = self.landmarks.mean(axis=0, dtype=np.float64)
        centred, squares, lost = self._centred(centre)
        if lost.any():  # by something remote, which a median does not heed
            centre = np.median(self.landmarks.astype(np.float64, copy=False), axis=0)
            centred, squares, lost = self._centred(centre)
        remote, first = self.landmarks[lost], int(lost.argmin())

        def targets(block: FloatArray) -> FloatArray:
            with np.errstate(over="ignore", invalid="ignore"):
                found = squared_distances(block - centre, centred, squares)
                if lost.any():
                    found[:, lost] = distances_between(block, remote, "euclidean") ** 2
                # Rows whose squares are no numbers are far from all landmarks.
                if not np.isfinite(found[:, first]).all():
                    found[~np.isfinite(found[:, first])] = np.inf
            return self.transform.of_squares(found)

        return targets

    def _centred(self, centre: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
        """The landmarks around a centre, their squared norms, and which of these are too large for products."""
        assert self.landmarks is not None
        centred = self.landmarks - centre
        squares = np.einsum("ij,ij->i", centred, centred)
        return centred, squares, ~(squares * np.finfo(np.float64).eps < _ROUNDING * self.transform.width)
