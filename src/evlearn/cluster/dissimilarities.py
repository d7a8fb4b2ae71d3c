"""Dissimilarities of samples: computed, or given and checked."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import normalize

from evlearn.blocks.sparse import Features, SparseBlock
from evlearn.utils.convergence import warn_caller
from evlearn.utils.typing import FloatArray

#: The metrics that sparse features may have.
SPARSE_METRICS = ("euclidean", "cosine")
#: A diagonal below this share of the largest dissimilarity is meant to be zero: products leave the root of a
#: rounding error there, in double and in single precision.
_ZERO, _ZERO_SINGLE = 1e-6, 1e-3


def check_dissimilarities(X: FloatArray, *, square: bool) -> None:
    """Raise unless dissimilarities can be such."""
    if square and X.shape[0] != X.shape[1]:
        raise ValueError(f"X must be a square matrix if metric='precomputed', got shape {X.shape}.")
    if (X < 0).any():
        raise ValueError("X has negative dissimilarities; with metric='precomputed' they must not be negative.")
    if square:
        check_diagonal(X)


def check_diagonal(X: Any) -> None:
    """Raise if samples are far from themselves: then X holds similarities."""
    worst = float(X.diagonal().max())
    if worst > (_ZERO_SINGLE if X.dtype == np.float32 else _ZERO) * X.max():
        raise ValueError(
            f"X has {worst:g} on its diagonal; with metric='precomputed' a sample has dissimilarity 0 to itself. "
            "Turn similarities into dissimilarities first."
        )


def symmetric_dissimilarities(D: FloatArray) -> FloatArray:
    """A symmetric matrix with the dissimilarities of D, which may differ a little across the diagonal."""
    if np.array_equal(D, D.T):
        return D
    if not np.allclose(D, D.T, rtol=1e-8, atol=0):
        warn_caller("X is not symmetric; the mean of both dissimilarities of each pair is used.")
    return (D + D.T) / 2


def squared_distances(block: FloatArray, landmarks: FloatArray, landmark_squares: FloatArray) -> FloatArray:
    """Squared Euclidean distances of rows to landmarks, by one product; both must be centred."""
    squares = block @ landmarks.T
    squares *= -2
    squares += landmark_squares
    squares += np.einsum("ij,ij->i", block, block)[:, None]
    return np.maximum(squares, 0, out=squares)


def row_distances(X: SparseBlock, others: SparseBlock, metric: str) -> FloatArray:
    """Dissimilarities of sparse rows to others, one to one."""
    one, other = (rows.matrix.astype(np.float64) for rows in (X, others))
    if metric == "cosine":  # half the squared distance of rows of length one
        one, other = normalize(one), normalize(other)
        return np.asarray(1 - one.multiply(other).sum(axis=1)).ravel()
    apart = one - other
    return np.asarray(np.sqrt(apart.multiply(apart).sum(axis=1))).ravel()


def distances_between(X: Features, others: Features, metric: Any) -> FloatArray:
    """Dissimilarities of all rows of X to all rows of others, in double precision."""
    # Products of single precision would round differently in blocks of other sizes.
    given: list[Any] = [rows.matrix if isinstance(rows, SparseBlock) else rows for rows in (X, others)]
    one, other = (rows.astype(np.float64, copy=False) for rows in given)
    dense = not (isinstance(X, SparseBlock) or isinstance(others, SparseBlock))
    if dense and isinstance(metric, str) and metric == "euclidean":
        return np.asarray(cdist(one, other))
    return np.asarray(pairwise_distances(one, other, metric=metric), dtype=np.float64)
