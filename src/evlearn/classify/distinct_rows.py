"""Distinct rows of tables, in an order that does not depend on the order of the rows."""

from typing import NamedTuple

import numpy as np

from evlearn.utils.typing import FloatArray, IntArray


class DistinctRows(NamedTuple):
    """The distinct rows of a table, sorted.

    Attributes
    ----------
    first : ndarray of int of shape (n_distinct,)
        The first row of the table that equals each distinct row.
    inverse : ndarray of int of shape (n_rows,)
        The distinct row that each row of the table equals.
    """

    first: IntArray
    inverse: IntArray


def distinct_rows(table: FloatArray) -> DistinctRows:
    """Return the distinct rows of a table of numbers without NaN."""
    rows = np.ascontiguousarray(table + 0.0, dtype=np.float64)  # -0.0 becomes 0.0
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return DistinctRows(first.astype(np.intp, copy=False), inverse.astype(np.intp, copy=False))
