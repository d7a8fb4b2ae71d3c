"""Starts for sparse features: a sample of rows is mapped, with all distances, to a space with few dimensions.

The rows of the sample span at most as many dimensions as there are rows. In coordinates of that space, starts and
parameters are selected as for dense features. Prototypes are weighted means of these rows, so the same weights map
them back to the features.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg import eigh

from evlearn.blocks.sparse import SparseBlock
from evlearn.utils.typing import FloatArray

_ROUNDING_ERROR = 1e-12


def distinct_rows(rows: SparseBlock, weights: FloatArray) -> tuple[SparseBlock, FloatArray]:
    """Return distinct rows with positive weights, and their total weights.

    The order depends on the rows alone.
    """
    matrix = rows.matrix[weights > 0]
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    keys = [
        matrix.indices[start:end].astype(np.int64).tobytes() + matrix.data[start:end].tobytes()
        for start, end in pairwise(matrix.indptr)
    ]
    _, first, positions = np.unique(np.array(keys, dtype=object), return_index=True, return_inverse=True)
    return SparseBlock(matrix[first]), np.bincount(positions, weights[weights > 0]).astype(np.float64)


@dataclass(frozen=True)
class Isometry:
    """Sparse rows, and coordinates in which they have the same distances.

    Attributes
    ----------
    rows : SparseBlock
        Rows.
    mean : ndarray of shape (n_features,)
        Mean of the rows, where the coordinates are 0.
    coordinates : ndarray of shape (n_rows, n_dimensions)
        Coordinates of the rows.
    vectors : ndarray of shape (n_rows, n_dimensions)
        Weights of the rows in each direction.
    """

    rows: SparseBlock
    mean: FloatArray
    coordinates: FloatArray
    vectors: FloatArray

    @classmethod
    def of(cls, rows: SparseBlock) -> "Isometry":
        """Return an isometry from products of rows, whose number does not depend on the number of features."""
        matrix = rows.matrix.astype(np.float64)
        products = (matrix @ matrix.T).toarray()
        centered = products - products.mean(axis=0) - products.mean(axis=1)[:, None] + products.mean()
        values, vectors = eigh(centered)
        is_positive = values > max(_ROUNDING_ERROR * len(rows) * values[-1], 0.0)
        is_positive[-1] = True  # equal rows have a single direction of length 0
        lengths = np.sqrt(np.maximum(values[is_positive], 0.0))
        inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        mean = np.asarray(matrix.mean(axis=0)).ravel()
        return cls(rows, mean, vectors[:, is_positive] * lengths, vectors[:, is_positive] * inverse)

    def transform(self, points: FloatArray) -> FloatArray:
        """Return the coordinates of the projections of points to the space of the rows."""
        differences = points - self.mean
        products = (self.rows.matrix @ differences.T).T - (differences @ self.mean)[:, None]
        return np.asarray(products @ self.vectors)

    def inverse_transform(self, points: FloatArray) -> FloatArray:
        """Return points with coordinates as points with features."""
        weights = points @ self.vectors.T
        return np.asarray((self.rows.matrix.T @ weights.T).T + (1 - weights.sum(axis=1))[:, None] * self.mean)
