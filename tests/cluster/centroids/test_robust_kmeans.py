"""Rows that are gross errors, and wide clusters that are none."""

import numpy as np
import pytest

from evlearn.cluster.centroids.robust_kmeans import rows_to_fit


def clusters(random, sizes=(200, 200, 200), d=2, spreads=(1, 1, 1)):
    """Return Gaussian clusters 15 apart from the first, and their numbers."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    centers = 15 * np.vstack([np.zeros(d), np.eye(d)[: len(sizes) - 1]])
    return centers[y] + np.array(spreads)[y, None] * random.normal(size=(len(y), d)), y


@pytest.mark.parametrize("d", [2, 20])
@pytest.mark.parametrize("distance", [100, 1e4, 1e9])
@pytest.mark.parametrize("kind", ["spread out", "few points", "single column"])
def test_gross_errors_are_left_out_and_no_other_rows(d, distance, kind):
    random = np.random.default_rng(d)
    X, _ = clusters(random, d=d)
    if kind == "single column":
        errors = X[:20].copy()
        errors[:, 1] = distance
    else:
        errors = random.normal(size=(3 if kind == "few points" else 20, d))
        errors = distance * np.resize(errors / np.linalg.norm(errors, axis=1, keepdims=True), (20, d))
    np.testing.assert_array_equal(rows_to_fit(np.vstack([X, errors]), 3), np.arange(620) < 600)


@pytest.mark.parametrize("spread", [1, 3, 6])
def test_small_and_wide_clusters_are_no_errors(spread):
    random = np.random.default_rng(spread)
    X, _ = clusters(random)
    small = [0, 60] + spread * random.normal(size=(30, 2))
    assert rows_to_fit(np.vstack([X, small]), 4).all()


def test_heavy_tails_are_no_errors():
    random = np.random.default_rng(0)
    X, _ = clusters(random)
    heavy = X + random.standard_t(5, size=X.shape)
    assert rows_to_fit(heavy, 3).all()


def test_neither_place_nor_unit_matter():
    random = np.random.default_rng(0)
    X = np.vstack([clusters(random)[0], 1e3 * random.normal(size=(10, 2))])
    expected = rows_to_fit(X, 3)
    assert not expected.all()
    for scale in (1e-100, 1e100):
        np.testing.assert_array_equal(rows_to_fit(scale * X + 3 * scale, 3), expected)
