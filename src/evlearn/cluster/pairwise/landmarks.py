"""Masses of any number of samples, computed from landmarks with known masses.

The quadratic programs of all samples have the same matrix, because all samples are compared with the same
landmarks. Samples are independent of each other: a block of rows takes a product for distances, an exponential, a
product for linear terms, and a small program for each row.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from evlearn.belief import FocalSets
from evlearn.blocks.sparse import Features, SparseBlock
from evlearn.cluster.dissimilarities import distances_between, squared_distances
from evlearn.cluster.pairwise.irqp import rows_against
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray
from evlearn.utils.validation import check_shape

#: Number of rows per block.
_BLOCK_ROWS = 2048
#: Maximum rounding error of a squared distance, relative to the range of squares from no conflict to 0.95. The
#: quadratic programs may magnify errors 1000 times, and masses of a row must not depend on the other rows.
_MAX_ROUNDING = 1e-13


@fields.stored
@dataclass(frozen=True)
class LandmarkModel:
    """Landmarks with known masses, and their comparison with other samples.

    Attributes
    ----------
    indices : ndarray of int of shape (n_landmarks,)
        Indices of the landmarks in the training set.
    landmarks : array of shape (n_landmarks, n_features), sparse rows or None
        Features of the landmarks; None for precomputed dissimilarities.
    masses : ndarray of shape (n_landmarks, n_focal_sets)
        Masses of the landmarks.
    focal_sets : FocalSets
        Sets of the columns of the masses.
    transform : Transform
        Transform of dissimilarities to target conflicts.
    metric : str or callable
        Dissimilarity.
    """

    indices: fields.Indices
    landmarks: Annotated[Any, fields.optional(fields.array(2))]
    masses: fields.Masses
    focal_sets: FocalSets
    transform: Transform
    metric: Annotated[Any, fields.text()]

    def __post_init__(self) -> None:
        # Compiled code does not check shapes.
        check_shape("indices", self.indices, (max(len(self.indices), 1),))
        check_shape("masses", self.masses, (len(self.indices), len(self.focal_sets)))
        if self.landmarks is not None:
            check_shape("landmarks", self.landmarks, (len(self.indices), self.landmarks.shape[-1]))

    @property
    def n_features(self) -> int | None:
        """Number of features of a row; None if rows are dissimilarities."""
        return None if self.landmarks is None else int(self.landmarks.shape[1])

    @property
    def _uses_products(self) -> bool:
        return bool(self.transform.kind == "exponential" and self.metric == "euclidean")

    def assign(self, rows: Features, weights: Any = None) -> FloatArray:
        """Return the masses of rows."""
        out = np.empty((len(rows), len(self.focal_sets)), dtype=rows.dtype)
        targets = self._targets(rows)
        conflict = self.focal_sets.conflict_matrix[None]
        for block in row_blocks(len(rows), _BLOCK_ROWS):
            delta = targets(rows[block])
            out[block] = rows_against(delta, self.masses, conflict)
            # Rows in full conflict with all landmarks have no masses from rounding errors, which would determine
            # their probabilities.
            outliers = np.flatnonzero(delta[:, 0] == 1)
            if len(outliers):
                outliers = outliers[(delta[outliers] == 1).all(axis=1)]
                out[block.start + outliers] = np.arange(len(self.focal_sets)) == 0
        return out

    def _targets(self, X: Features) -> Any:
        """Return a function from a block of X to its target conflicts with the landmarks, in double precision."""
        if self.landmarks is None:
            return lambda block: self.transform(np.asarray(block[:, self.indices], dtype=np.float64))
        if not self._uses_products or isinstance(X, SparseBlock) or isinstance(self.landmarks, SparseBlock):
            landmarks = self.landmarks
            return lambda block: self.transform(distances_between(block, landmarks, self.metric))
        return self._targets_by_products()

    def _targets_by_products(self) -> Any:
        """Return the function of `_targets`, with squared distances from products if rounding errors are small.

        Products are in double precision, because errors in single precision depend on the size of a block.
        """
        assert self.landmarks is not None
        # Coordinates are centered, because products of large coordinates lose small distances.
        center = self.landmarks.mean(axis=0, dtype=np.float64)
        centered, norms, is_remote = self._center(center)
        if is_remote.any():  # remote landmarks do not affect the median
            center = np.median(self.landmarks.astype(np.float64, copy=False), axis=0)
            centered, norms, is_remote = self._center(center)
        remote, first = self.landmarks[is_remote], int(is_remote.argmin())

        def targets(block: FloatArray) -> FloatArray:
            with np.errstate(over="ignore", invalid="ignore"):
                squares = squared_distances(block - center, centered, norms)
                if is_remote.any():
                    squares[:, is_remote] = distances_between(block, remote, "euclidean") ** 2
                # Rows whose squares are not finite are far from all landmarks.
                if not np.isfinite(squares[:, first]).all():
                    squares[~np.isfinite(squares[:, first])] = np.inf
            return self.transform.of_squares(squares)

        return targets

    def _center(self, center: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return the centered landmarks, their squared norms, and True where these are too large for products."""
        assert self.landmarks is not None
        centered = self.landmarks - center
        norms = np.einsum("ij,ij->i", centered, centered)
        return centered, norms, ~(norms * np.finfo(np.float64).eps < _MAX_ROUNDING * self.transform.width)
