"""Sparse features, read in blocks and never converted to dense arrays as a whole."""

from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse

from evlearn.blocks.dataset import ArrayDataset
from evlearn.utils.chunks import task_slices
from evlearn.utils.reading import Numbers
from evlearn.utils.typing import FloatArray, IntArray


class SparseBlock:
    """Rows of a sparse matrix, with the length and the indexing of an array.

    Parameters
    ----------
    matrix : sparse matrix
        Rows of the block.
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
        """Squared norm of each row, in double precision."""
        return np.asarray(self.matrix.multiply(self.matrix).sum(axis=1, dtype=np.float64)).ravel()


def with_length(numbers: Numbers) -> Numbers:
    """Wrap sparse data in a `SparseBlock`, which has a length."""
    return Numbers(SparseBlock(numbers.data), False) if issparse(numbers.data) else numbers  # type: ignore[arg-type]


#: Rows with features, dense or sparse.
Features: TypeAlias = FloatArray | SparseBlock


class SparseDataset(ArrayDataset):
    """Sparse rows in blocks.

    Parameters
    ----------
    source : SparseBlock
        Rows of the dataset.
    """

    def __init__(self, source: SparseBlock) -> None:
        super().__init__(source)  # type: ignore[arg-type]

    def take(self, indices: IntArray) -> SparseBlock:
        """Return selected rows, as a sparse block."""
        rows: SparseBlock = self._source[indices]  # type: ignore[index, assignment]
        return rows

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def _tasks(self) -> list[slice]:
        matrix = self._source.matrix  # type: ignore[union-attr]
        row_bytes = 1 + (matrix.data.nbytes + matrix.indices.nbytes) // max(self.n_rows, 1)
        return task_slices(self.n_rows, row_bytes)
