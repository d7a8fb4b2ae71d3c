"""Masses of any number of samples, computed from landmarks with known masses.

The quadratic programs of all samples have the same matrix, because all samples are compared with the same
landmarks. Samples are independent of each other: a block of rows takes a product for distances, an exponential
and a product for linear terms, in a single loop for dense rows, and a small program for each row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np

from evlearn.belief import FocalSets
from evlearn.blocks.sparse import Features, SparseBlock
from evlearn.cluster.dissimilarities import distances_between, squared_distances
from evlearn.cluster.pairwise.irqp import row_problems
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.kernels.agreements import PADDED, sum_agreements
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import check_shape

#: Function from a block of rows to the linear terms of their programs, and to the rows far from all landmarks.
Comparison: TypeAlias = Callable[[Any], tuple[FloatArray, IntArray]]

#: Number of rows per block.
_BLOCK_ROWS = 2048
#: Binary logarithm of the largest complement of a conflict that is rounded to 1.
_NO_AGREEMENT = -54
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
        factors = self.masses @ self.focal_sets.conflict_matrix
        form = factors.T @ factors
        compare = self._comparison(rows, factors)
        for block in row_blocks(len(rows), _BLOCK_ROWS):
            linear, outliers = compare(rows[block])
            out[block] = row_problems(form, linear)
            # Rows in full conflict with all landmarks have no masses from rounding errors, which would determine
            # their probabilities.
            out[block.start + outliers] = np.arange(len(self.focal_sets)) == 0
        return out

    def _comparison(self, X: Features, factors: FloatArray) -> Comparison:
        """Return a function that compares a block of rows with the landmarks."""
        is_sparse = isinstance(X, SparseBlock) or isinstance(self.landmarks, SparseBlock)
        if self.landmarks is not None and self._uses_products and not is_sparse:
            center = self.landmarks.mean(axis=0, dtype=np.float64)
            centered, norms, is_remote = self._center(center)
            if not is_remote.any():
                return self._comparison_by_products(center, centered, norms, factors)
        targets = self._targets(is_sparse)

        def compare(block: Any) -> tuple[FloatArray, IntArray]:
            delta = targets(block)
            outliers = np.flatnonzero(delta[:, 0] == 1)
            return -(delta @ factors), outliers[(delta[outliers] == 1).all(axis=1)]

        return compare

    def _comparison_by_products(
        self, center: FloatArray, centered: FloatArray, norms: FloatArray, factors: FloatArray
    ) -> Comparison:
        """Return the function of `_comparison` for landmarks near the center.

        Complements of conflicts are powers of 2, with exponents that are products of landmarks and rows with 2
        further columns: their squared norms and 1. Products are in double precision, because errors in single
        precision depend on the size of a block.
        """
        slope, offset = self.transform.slope / np.log(2), self.transform.d1**2
        n_landmarks, padding = len(centered), -len(centered) % PADDED
        exponents = np.zeros((n_landmarks + padding, len(center) + 2))
        exponents[:n_landmarks] = slope * np.column_stack([-2 * centered, np.ones(n_landmarks), norms - offset])
        columns = np.pad(factors, [(0, padding), (0, -factors.shape[1] % PADDED)]).T.copy()
        totals, largest = factors.sum(axis=0), 0.0 if offset else np.inf

        def compare(block: FloatArray) -> tuple[FloatArray, IntArray]:
            points = np.ones((len(block), len(center) + 2))
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                np.subtract(block, center, out=points[:, :-2])
                squares = np.einsum("ij,ij->i", points[:, :-2], points[:, :-2])
                # Rows whose squares are not finite are far from all landmarks.
                is_far = ~np.isfinite(squares)
                points[is_far, :-2], squares[is_far] = 0, np.inf
                points[:, -2] = squares
                outliers = np.flatnonzero(~(points @ exponents[0] > _NO_AGREEMENT))
                agrees = points[outliers] @ exponents[:n_landmarks].T > _NO_AGREEMENT
            linear = np.empty((len(block), factors.shape[1]))
            sum_agreements(points, exponents, columns, largest, linear)
            linear -= totals
            return linear, outliers[~agrees.any(axis=1)]

        return compare

    def _targets(self, is_sparse: bool) -> Any:
        """Return a function from a block of rows to its target conflicts with the landmarks."""
        landmarks = self.landmarks
        if landmarks is None:
            return lambda block: self.transform(np.asarray(block[:, self.indices], dtype=np.float64))
        if not self._uses_products or is_sparse:
            return lambda block: self.transform(distances_between(block, landmarks, self.metric))
        return self._targets_by_products()

    def _targets_by_products(self) -> Any:
        """Return the function of `_targets` if some landmarks are remote; their distances are not from products.

        Products are in double precision, because errors in single precision depend on the size of a block.
        """
        assert self.landmarks is not None
        # Remote landmarks do not affect the median.
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
