"""Rows of a matrix in which few numbers are not 0, such as masses on thousands of focal sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, IntArray

#: Minimum number of columns of rows that are stored sparsely; with fewer columns, the memory is hardly smaller.
MIN_COLUMNS = 257
#: Sum of the masses of a row that are omitted, at most, relative to the others.
NEGLIGIBLE = 1e-13
#: Number of entries of a dense block.
BLOCK_ENTRIES = 1 << 22
# Number of rows from which the share of zeros is estimated before all rows are read.
_SAMPLE_ROWS = 64


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Matrix in CSR form that is indexed like an array, and returns arrays.

    Attributes
    ----------
    starts : ndarray of int of shape (n_rows + 1,)
        Position of the first number of each row.
    columns : ndarray of int of shape (n_numbers,)
        Columns of the numbers, increasing in each row.
    values : ndarray of shape (n_numbers,)
        Numbers, which are not 0.
    n_columns : int
        Number of columns.
    """

    starts: npt.NDArray[Any]
    columns: npt.NDArray[Any]
    values: FloatArray
    n_columns: int

    @classmethod
    def of(cls, table: FloatArray) -> SparseRows:
        """Return the rows of an array, which is read in blocks."""
        parts = []
        for block in row_blocks(max(len(table), 1), max(1, BLOCK_ENTRIES // table.shape[1])):
            dense = table[block]
            rows, columns = np.nonzero(dense)
            parts.append(cls.from_entries(rows, columns, dense[rows, columns], (len(dense), table.shape[1])))
        return cls.concatenate(parts)

    @classmethod
    def from_entries(
        cls, rows: IntArray, columns: IntArray, values: FloatArray, shape: tuple[int, int]
    ) -> SparseRows:
        """Return rows with numbers that are sorted by row and column; the sum of numbers with equal positions."""
        keys = rows.astype(np.int64) * shape[1] + columns
        if len(keys) and (np.diff(keys) <= 0).any():
            keys, positions = np.unique(keys, return_inverse=True)
            values = np.bincount(positions.ravel(), values, len(keys)).astype(values.dtype)
        counts = np.bincount(keys // shape[1], minlength=shape[0])
        return cls._compact(np.concatenate([[0], np.cumsum(counts)]), keys % shape[1], values, shape[1])

    @classmethod
    def concatenate(cls, parts: Sequence[SparseRows]) -> SparseRows:
        """Return the rows of all parts."""
        if len(parts) == 1:
            return parts[0]
        ends = np.cumsum([0, *(part.n_numbers for part in parts)])
        starts = [np.zeros(1, dtype=np.int64)]
        starts += [end + part.starts[1:].astype(np.int64) for end, part in zip(ends, parts, strict=False)]
        columns = np.concatenate([part.columns for part in parts])
        values = np.concatenate([part.values for part in parts])
        return cls._compact(np.concatenate(starts), columns, values, parts[0].n_columns)

    @classmethod
    def _compact(cls, starts: Any, columns: Any, values: FloatArray, n_columns: int) -> SparseRows:
        """Return rows with the smallest types of indices."""
        index = np.uint16 if n_columns <= 1 << 16 else np.int32
        offset = np.int32 if len(values) < 1 << 31 else np.int64
        return cls(starts.astype(offset, copy=False), columns.astype(index, copy=False), values, n_columns)

    def __post_init__(self) -> None:
        for name in ("starts", "columns", "values"):
            view = getattr(self, name).view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.starts) - 1, self.n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return self.values.dtype

    @property
    def n_numbers(self) -> int:
        """Number of numbers that are stored."""
        return len(self.values)

    @property
    def nbytes(self) -> int:
        """Number of bytes."""
        return int(self.starts.nbytes + self.columns.nbytes + self.values.nbytes)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def row_numbers(self) -> IntArray:
        """Row of each number."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def __getitem__(self, key: Any) -> Any:
        """Return rows, a column, or single numbers ``[rows, columns]``, as an array."""
        if isinstance(key, tuple):
            rows, columns = key
            part = self if isinstance(rows, slice) and rows == slice(None) else self.take(rows)
            return part._column(columns) if np.ndim(columns) == 0 else part._numbers(np.asarray(columns))
        if isinstance(key, (int, np.integer)):
            return self.take([range(len(self))[key]]).toarray()[0]
        return self.take(key).toarray()

    def take(self, rows: Any) -> SparseRows:
        """Return selected rows; `rows` is a slice, numbers, or a mask."""
        numbers = np.arange(len(self))[rows]
        if isinstance(rows, slice) and rows.step in (None, 1) and len(numbers):
            first, last = self.starts[numbers[0]], self.starts[numbers[-1] + 1]
            starts = self.starts[numbers[0] : numbers[-1] + 2] - first
            return SparseRows(starts, self.columns[first:last], self.values[first:last], self.n_columns)
        begin = self.starts[numbers].astype(np.int64)
        counts = self.starts[numbers + 1] - begin
        starts = np.concatenate([[0], np.cumsum(counts)])
        positions = np.arange(starts[-1]) + np.repeat(begin - starts[:-1], counts)
        return self._compact(starts, self.columns[positions], self.values[positions], self.n_columns)

    def equals(self, other: SparseRows) -> bool:
        """Return True if the other rows have the same shape and the same numbers; zeros need not be stored."""
        mine, others = self._entries(), other._entries()
        return self.shape == other.shape and all(map(np.array_equal, mine, others))

    def _entries(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return rows, columns and values of all numbers that are not 0."""
        is_stored = self.values != 0
        return self.row_numbers[is_stored], self.columns[is_stored], self.values[is_stored]

    def toarray(self) -> FloatArray:
        """Return an array."""
        dense = np.zeros(self.shape, dtype=self.dtype)
        dense[self.row_numbers, self.columns] = self.values
        return dense

    def sum_rows(self, factors: FloatArray | None = None) -> FloatArray:
        """Return the sum of each row, with a factor for each column, in double precision."""
        values = self.values if factors is None else self.values * factors[self.columns]
        return np.asarray(np.bincount(self.row_numbers, values, len(self)), dtype=np.float64)

    def sum_columns(self) -> FloatArray:
        """Return the sum of each column, in double precision."""
        return np.asarray(np.bincount(self.columns, self.values, self.n_columns), dtype=np.float64)

    def move_columns(self, targets: IntArray, n_columns: int) -> SparseRows:
        """Return rows in which column k is added to column ``targets[k]``; -1 removes it."""
        rows, columns = self.row_numbers, targets[self.columns]
        order = np.lexsort([columns, rows])
        order = order[columns[order] >= 0]
        entries = rows[order], columns[order], self.values[order]
        return self.from_entries(*entries, (len(self), n_columns))

    def map_blocks(self, function: Callable[[FloatArray], FloatArray]) -> SparseRows:
        """Apply a function of arrays to blocks of rows."""
        blocks = row_blocks(len(self), max(1, BLOCK_ENTRIES // self.n_columns))
        return self.concatenate([SparseRows.of(function(self[block])) for block in blocks])

    def _column(self, column: Any) -> FloatArray:
        number = range(self.n_columns)[column]
        chosen = np.flatnonzero(self.columns == number)
        values = np.zeros(len(self), dtype=self.dtype)
        values[np.searchsorted(self.starts, chosen, side="right") - 1] = self.values[chosen]
        return values

    def _numbers(self, columns: IntArray) -> FloatArray:
        """Return the number of each row in the given column."""
        values = np.zeros(len(self), dtype=self.dtype)
        rows = self.row_numbers
        chosen = self.columns == columns[rows]
        values[rows[chosen]] = self.values[chosen]
        return values


def without_negligible(masses: FloatArray) -> SparseRows:
    """Return masses without those that are negligible.

    The masses that are omitted are less than 1e-13 of the mass of all nonempty sets together. Outliers keep the
    largest of their small masses, so that their most plausible cluster is the same.
    """
    largest = masses[:, 1:].max(axis=1, keepdims=True)
    is_negligible = masses < largest * (NEGLIGIBLE / masses.shape[1])
    is_negligible[:, 0] = False
    return SparseRows.of(np.where(is_negligible, 0, masses))


def is_smaller_sparse(table: FloatArray) -> bool:
    """Return True if an array has many columns, and takes less memory without its zeros."""
    if table.ndim != 2 or table.shape[1] < MIN_COLUMNS or isinstance(table, np.memmap):
        return False
    largest_share = table.itemsize / (table.itemsize + 4) / 2
    step = -(-len(table) // _SAMPLE_ROWS)
    if np.count_nonzero(table[::step]) > largest_share * table[::step].size:
        return False
    blocks = row_blocks(len(table), max(1, BLOCK_ENTRIES // table.shape[1]))
    return bool(sum(np.count_nonzero(table[block]) for block in blocks) <= largest_share * table.size)
