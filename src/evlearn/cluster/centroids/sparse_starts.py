"""Starts for sparse features: some rows are moved, with all their distances, to a space of few dimensions.

As many rows span as many dimensions at most. In coordinates of that space everything is decided as it is for
dense features, and prototypes, which are weighted means of these rows, are brought back by the same weights.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg import eigh

from evlearn.blocks.sparse import SparseBlock
from evlearn.utils.typing import FloatArray

_ROUNDING = 1e-12


def distinct_rows(rows: SparseBlock, weights: FloatArray) -> tuple[SparseBlock, FloatArray]:
    """Each row once, in an order that depends on the rows alone, with its weight; none of weight zero."""
    matrix = rows.matrix[weights > 0]
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    names = [
        matrix.indices[start:end].astype(np.int64).tobytes() + matrix.data[start:end].tobytes()
        for start, end in pairwise(matrix.indptr)
    ]
    _, first, places = np.unique(np.array(names, dtype=object), return_index=True, return_inverse=True)
    return SparseBlock(matrix[first]), np.bincount(places, weights[weights > 0]).astype(np.float64)


@dataclass(frozen=True)
class Isometry:
    """Some sparse rows, and coordinates in which they have the same distances.

    Attributes
    ----------
    rows : SparseBlock
        The rows.
    mean : ndarray of shape (n_features,)
        Their mean, where the coordinates are zero.
    coordinates : ndarray of shape (n_rows, n_dimensions)
        The coordinates of the rows.
    vectors : ndarray of shape (n_rows, n_dimensions)
        The weights of the rows in each direction.
    """

    rows: SparseBlock
    mean: FloatArray
    coordinates: FloatArray
    vectors: FloatArray

    @classmethod
    def of(cls, rows: SparseBlock) -> "Isometry":
        """From products of rows, which do not depend on the number of features."""
        matrix = rows.matrix.astype(np.float64)
        products = (matrix @ matrix.T).toarray()
        centred = products - products.mean(axis=0) - products.mean(axis=1)[:, None] + products.mean()
        values, vectors = eigh(centred)
        kept = values > max(_ROUNDING * len(rows) * values[-1], 0.0)
        kept[-1] = True  # rows that are all the same have one direction, of length zero
        lengths = np.sqrt(np.maximum(values[kept], 0.0))
        inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        mean = np.asarray(matrix.mean(axis=0)).ravel()
        return cls(rows, mean, vectors[:, kept] * lengths, vectors[:, kept] * inverse)

    def enter(self, points: FloatArray) -> FloatArray:
        """The coordinates of points with features; what is beyond the space of the rows is lost."""
        apart = points - self.mean
        products = (self.rows.matrix @ apart.T).T - (apart @ self.mean)[:, None]
        return np.asarray(products @ self.vectors)

    def leave(self, points: FloatArray) -> FloatArray:
        """The features of points with coordinates."""
        weights = points @ self.vectors.T
        return np.asarray((self.rows.matrix.T @ weights.T).T + (1 - weights.sum(axis=1))[:, None] * self.mean)
