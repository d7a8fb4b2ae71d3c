"""Computation and validation of dissimilarities between samples."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import normalize

from evlearn.blocks.sparse import Features, SparseBlock
from evlearn.utils.convergence import warn_caller
from evlearn.utils.typing import FloatArray

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
    return np.asarray(pairwise_distances(left, right, metric=metric), dtype=np.float64)
