"""The scale of a sample, against all pairs of the rows that it stands for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evlearn.cluster.centroids.starts import typical_distance


def by_all_pairs(X):
    """The quantile of the distances of all pairs of different rows, duplicates among them."""
    squares = ((X[:, None] - X) ** 2).sum(axis=2)[~np.eye(len(X), dtype=bool)]
    return np.sqrt(np.quantile(squares, 0.95))


@given(st.integers(0, 10_000), st.integers(2, 9), st.sampled_from([1, 3, 40]))
def test_a_row_of_some_weight_is_as_if_it_were_there_so_many_times(seed, n, most):
    random = np.random.default_rng(seed)
    X, weights = random.standard_normal((n, 2)), random.integers(1, most + 1, size=n)
    weights[0] *= 3  # this row alone makes pairs at distance zero that the quantile has to count
    found = typical_distance(X, weights.astype(float), np.random.RandomState(0))
    expected = by_all_pairs(np.repeat(X, weights, axis=0))
    if expected > 0:
        assert found == pytest.approx(expected, rel=1e-9)


def test_duplicates_that_are_most_of_the_pairs_bring_the_scale_down():
    # 20 rows: 18 at 0, one at 1 and one at 10. Of 190 pairs 153 have distance 0, 18 distance 1, 1 distance 9, and
    # 18 distance 10; both directions counted, place 0.95 * 379 = 360.05 of them in order has distance 10.
    # 60 rows: 58 at 0. Of 1770 pairs 1653 have distance 0 and 58 distance 1: place 0.95 * 3539 = 3362.05 has 1.
    X, random = np.array([[0.0], [1.0], [10.0]]), np.random.RandomState(0)
    assert typical_distance(X, np.array([18.0, 1.0, 1.0]), random) == pytest.approx(10)
    assert typical_distance(X, np.array([58.0, 1.0, 1.0]), random) == pytest.approx(1)
