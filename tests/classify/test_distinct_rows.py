"""Distinct rows, whose order does not depend on the units, origins and precision of the columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from evlearn.classify.samples import distinct_rows

VALUES = st.sampled_from([-np.inf, -2.0, -1e-300, -0.0, 0.0, 5e-324, 1.0, 256.0, np.inf, np.nan, -np.nan])


def key(row):
    """Return a row as a sortable key, in which NaN are equal and last."""
    return tuple((bool(np.isnan(value)), 0.0 if np.isnan(value) else float(value)) for value in row)


@given(arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=12), elements=VALUES))
def test_distinct_rows_are_those_of_a_sorted_set(table):
    keys = [key(row) for row in table]
    first, inverse = distinct_rows(table)
    assert [keys[row] for row in first] == sorted(set(keys))
    assert [keys[first[number]] for number in inverse] == keys
    assert [keys.index(keys[row]) for row in first] == first.tolist()


@pytest.mark.parametrize(
    "change", [lambda X: 37.5 * X, lambda X: X - 1e3, lambda X: X.astype(np.float32), np.asfortranarray]
)
def test_units_origins_and_precision_do_not_change_the_order(change):
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[100:] = X[:100]
    for expected, result in zip(distinct_rows(X), distinct_rows(change(X)), strict=True):
        np.testing.assert_array_equal(expected, result)
