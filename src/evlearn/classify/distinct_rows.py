"""Distinct rows of tables, in an order that does not depend on the order of the rows."""

from typing import NamedTuple

import numpy as np

from evlearn.utils.typing import FloatArray, IntArray


class DistinctRows(NamedTuple):
    """Sorted distinct rows of a table.

    Attributes
    ----------
    first : ndarray of int of shape (n_distinct,)
        First row of the table that equals each distinct row.
    inverse : ndarray of int of shape (n_rows,)
        Distinct row that each row of the table equals.
    """

    first: IntArray
    inverse: IntArray


def distinct_rows(table: FloatArray) -> DistinctRows:
    """Return the distinct rows of a table of numbers, in lexicographic order.

    The order does not depend on the units, origins and precision of the columns. NaN equals NaN, and 0.0 equals
    -0.0.
    """
    rows = np.asarray(table, dtype=np.float64)
    order = np.lexsort(rows.T[::-1])  # stable, with NaN last
    previous, following = rows[order[:-1]], rows[order[1:]]
    is_equal = (previous == following) | (np.isnan(previous) & np.isnan(following))
    is_new = np.ones(len(rows), dtype=bool)
    is_new[1:] = ~is_equal.all(axis=1)
    inverse = np.empty(len(rows), dtype=np.intp)
    inverse[order] = np.cumsum(is_new) - 1
    return DistinctRows(order[is_new], inverse)
