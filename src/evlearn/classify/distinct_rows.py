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
    """Return the distinct rows of a table of numbers, sorted by values, the first column first.

    Neither positive units nor origins of the columns nor their precision change this order. Two NaN are equal, and
    so are 0.0 and -0.0.
    """
    rows = np.asarray(table, dtype=np.float64)
    order = np.lexsort(rows.T[::-1])  # stable, with NaN last
    before, after = rows[order[:-1]], rows[order[1:]]
    is_equal = (before == after) | (np.isnan(before) & np.isnan(after))
    is_new = np.ones(len(rows), dtype=bool)
    is_new[1:] = ~is_equal.all(axis=1)
    inverse = np.empty(len(rows), dtype=np.intp)
    inverse[order] = np.cumsum(is_new) - 1
    return DistinctRows(order[is_new], inverse)
