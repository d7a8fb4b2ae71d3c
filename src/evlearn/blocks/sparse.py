"""Sparse features: rows that know how many they are, as arrays do, and are never made dense as a whole."""

from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse

from evlearn.blocks.rows import ArrayRows
from evlearn.utils.chunks import task_slices
from evlearn.utils.reading import Numbers
from evlearn.utils.typing import FloatArray, IntArray


class SparseBlock:
    """Rows of a sparse matrix, with the length and the indices of an array.

    Parameters
    ----------
    matrix : sparse matrix
        The rows.
    """

    ndim = 2

    def __init__(self, matrix: Any) -> None:
        self.matrix = csr_array(matrix)
        self.shape = self.matrix.shape
        self.dtype = self.matrix.dtype

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> "SparseBlock":
        return SparseBlock(self.matrix[rows])

    @property
    def squares(self) -> FloatArray:
        """The squared length of each row, in double precision."""
        return np.asarray(self.matrix.multiply(self.matrix).sum(axis=1, dtype=np.float64)).ravel()


def with_length(numbers: Numbers) -> Numbers:
    """Numbers whose data know their length, also where they are sparse."""
    return Numbers(SparseBlock(numbers.data), False) if issparse(numbers.data) else numbers  # type: ignore[arg-type]


#: Rows with features, dense or sparse.
Features: TypeAlias = FloatArray | SparseBlock


class SparseRows(ArrayRows):
    """Sparse rows in blocks.

    Parameters
    ----------
    source : SparseBlock
        The rows.
    """

    def __init__(self, source: SparseBlock) -> None:
        super().__init__(source)  # type: ignore[arg-type]

    def take(self, indices: IntArray) -> SparseBlock:
        """Some rows, as they are."""
        found: SparseBlock = self._source[indices]  # type: ignore[index, assignment]
        return found

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def _tasks(self) -> list[slice]:
        matrix = self._source.matrix  # type: ignore[union-attr]
        row_bytes = 1 + (matrix.data.nbytes + matrix.indices.nbytes) // max(self.n_rows, 1)
        return task_slices(self.n_rows, row_bytes)
