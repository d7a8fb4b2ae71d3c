"""Computation and validation of dissimilarities between samples, and a base class of clusterers for these."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist, squareform
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from evlearn.blocks.sparse import Features, SparseBlock
from evlearn.cluster.base import EvidentialClusterer
from evlearn.cluster.missing_values import partition_with_gaps
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import with_names_of
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import warn_caller
from evlearn.utils.reading import Numbers, read_numbers
from evlearn.utils.typing import FloatArray, IntArray, Metric
from evlearn.utils.validation import check_range

#: Maximum number of dissimilarities per block.
_BLOCK_SIZE = 1 << 22
#: Quantile of the dissimilarities that bounds the distance to the empty set.
_DELTA_QUANTILE = 0.95
#: Metrics for sparse features.
SPARSE_METRICS = ("euclidean", "cosine")
#: Value on the diagonal, relative to the largest dissimilarity, up to which it counts as zero, in double and in
#: single precision. If distances are computed from products, it is the square root of a rounding error.
_ZERO, _ZERO_SINGLE = 1e-6, 1e-3


def check_dissimilarities(X: FloatArray, *, square: bool) -> None:
    """Raise an error if values are not dissimilarities."""
    if square and X.shape[0] != X.shape[1]:
        raise ValueError(f"X must be a square matrix if metric='precomputed', got shape {X.shape}.")
    if (X < 0).any():
        raise ValueError(
            f"X has negative dissimilarities, such as {X.min():g}; with metric='precomputed' they must not be "
            "negative."
        )
    if square:
        check_diagonal(X)


def read_precomputed(data: FloatArray, *, reset: bool, squares: bool = True) -> Numbers:
    """Return checked dissimilarities, symmetric in a fit; their squares must not overflow if `squares` is True."""
    if squares:
        check_range("X", data.astype(np.float64, copy=False), fitting=reset)
    check_dissimilarities(data, square=reset)
    return Numbers(symmetric_dissimilarities(data) if reset else data, False)


def check_diagonal(X: Any) -> None:
    """Raise an error if the diagonal is not zero, as in a matrix of similarities."""
    worst = float(X.diagonal().max())
    if worst > (_ZERO_SINGLE if X.dtype == np.float32 else _ZERO) * X.max():
        raise ValueError(
            f"X has {worst:g} on its diagonal; with metric='precomputed' a sample has dissimilarity 0 to itself. "
            "Convert similarities to dissimilarities first."
        )


def symmetric_dissimilarities(D: FloatArray) -> FloatArray:
    """Return a symmetric matrix of dissimilarities: the mean of D and its transpose."""
    if np.array_equal(D, D.T):
        return D
    if not np.allclose(D, D.T, rtol=1e-8, atol=0):
        warn_caller("X is not symmetric; the mean of both dissimilarities of each pair is used.")
    return (D + D.T) / 2


def typical_value(values: FloatArray) -> float:
    """Return the value that 95 % of the pairs in a symmetric matrix do not exceed, for "auto" in `delta`."""
    pairs = squareform(values, checks=False)
    quantile = float(np.quantile(pairs, _DELTA_QUANTILE))
    # If more than 95 % of the pairs are duplicates, any positive scale separates them from the rest.
    return quantile if quantile > 0 else float(pairs.max())


def squared_distances(block: FloatArray, landmarks: FloatArray, landmark_squares: FloatArray) -> FloatArray:
    """Compute squared Euclidean distances of rows to landmarks by a matrix product; both must be centered."""
    squares = block @ landmarks.T
    squares *= -2
    squares += landmark_squares
    squares += np.einsum("ij,ij->i", block, block)[:, None]
    return np.maximum(squares, 0, out=squares)


def row_distances(X: SparseBlock, others: SparseBlock, metric: str) -> FloatArray:
    """Compute the dissimilarities between corresponding rows of 2 sparse blocks."""
    left, right = (rows.matrix.astype(np.float64) for rows in (X, others))
    if metric == "cosine":  # half the squared distance of rows of length 1
        left, right = normalize(left), normalize(right)
        return np.asarray(1 - left.multiply(right).sum(axis=1)).ravel()
    differences = left - right
    return np.asarray(np.sqrt(differences.multiply(differences).sum(axis=1))).ravel()


def distances_between(X: Features, others: Features, metric: Any) -> FloatArray:
    """Compute the dissimilarities of all rows of X to all rows of others, in double precision."""
    # In single precision, rounding errors of products would depend on the sizes of blocks.
    arrays: list[Any] = [rows.matrix if isinstance(rows, SparseBlock) else rows for rows in (X, others)]
    left, right = (rows.astype(np.float64, copy=False) for rows in arrays)
    dense = not (isinstance(X, SparseBlock) or isinstance(others, SparseBlock))
    if dense and isinstance(metric, str) and metric == "euclidean":
        return np.asarray(cdist(left, right))
    from sklearn.metrics import pairwise_distances  # slow to import, and most fits do not need it

    return np.asarray(pairwise_distances(left, right, metric=metric), dtype=np.float64)


class DissimilarityClusterer(EvidentialClusterer):
    """Base class of clusterers whose model needs the dissimilarities to training samples.

    A method defines `_masses_of`, and sets `_model` and `_training`.
    """

    n_clusters: int
    metric: Metric
    _model: Any
    #: Training samples; None if dissimilarities are given.
    _training: FloatArray | None
    #: Whether squares of given dissimilarities must not overflow.
    _takes_squares = True

    def predict_mass(self, X: ArrayLike) -> CredalPartition:
        """Compute the mass functions of new or training samples.

        The masses of training samples are equal to `masses_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_training_samples)
            Features, or dissimilarities to the samples of the training set if `metric` is "precomputed"; squares
            if those of the fit were squares.

        Returns
        -------
        CredalPartition
            Mass function of each sample.
        """
        check_is_fitted(self)
        numbers = self._read_data(X, reset=False)
        partition = partition_with_gaps(numbers, self._assign, self.focal_sets_, self._known_gaps)
        return with_names_of(X, self._finalize_partition(partition))

    def _read_data(self, X: Any, *, reset: bool) -> Numbers:
        """Read and check features or dissimilarities."""
        numbers = read_numbers(
            self,
            X,
            reset=reset,
            takes_gaps=self._takes_gaps and not self._precomputed,
            dtype=[np.float64, np.float32],
            ensure_min_samples=2 if reset else 1,
        )
        if reset and len(numbers.data) < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} is larger than n_samples={len(numbers.data)}; use fewer clusters "
                "or more samples."
            )
        return (
            read_precomputed(numbers.data, reset=reset, squares=self._takes_squares)
            if self._precomputed
            else numbers
        )

    def _assign(self, rows: FloatArray) -> FloatArray:
        """Return the masses of complete rows."""
        columns, training = self._columns, self._training
        width = rows[:1][:, columns].shape[1] if training is None else len(training)
        masses = np.empty((len(rows), len(self._model.focal_sets)))
        for block in row_blocks(len(rows), max(1, _BLOCK_SIZE // width)):
            distances = (
                rows[block][:, columns]
                if training is None
                else distances_between(rows[block], training, self.metric)
            )
            masses[block] = self._masses_of(distances)
        return masses

    @property
    def _columns(self) -> IntArray | slice:
        """Columns of given dissimilarities that the model needs."""
        return slice(None)

    def _masses_of(self, dissimilarities: FloatArray) -> FloatArray:
        """Return masses for dissimilarities to the training samples that the model needs."""
        raise NotImplementedError
