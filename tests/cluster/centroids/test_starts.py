"""The scale of a sample, against all pairs of the rows that it stands for; and starts of many clusters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage

from evlearn.blocks import ArrayRows
from evlearn.cluster.centroids.kmeans import _merged, kmeans, squared_distances
from evlearn.cluster.centroids.robust_kmeans import kmeans_solutions
from evlearn.cluster.centroids.starts import draw, typical_distance


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


# Many clusters


def many_clusters(n_clusters, each, seed=0, shares=None):
    """Clusters that lie apart, and their centres."""
    random = np.random.default_rng(seed)
    centers = 4 * random.standard_normal((n_clusters, 8))
    y = random.choice(n_clusters, size=each * n_clusters, p=shares)
    return centers, centers[y] + random.standard_normal((len(y), 8))


def missed(centers, prototypes):
    """How many clusters have no prototype that is nearer to them than to the others."""
    return len(centers) - len(set(squared_distances(prototypes, centers).argmin(axis=1)))


@pytest.mark.parametrize("seed", range(3))
def test_of_many_clusters_hardly_one_is_without_a_prototype(seed):
    centers, X = many_clusters(120, 60, seed)
    (found,) = kmeans_solutions(120, X, np.ones(len(X)), np.random.RandomState(seed), n_init=10)
    assert found.shape == centers.shape
    assert missed(centers, found) <= 1
    assert missed(centers, kmeans(X, np.ones(len(X)), 120, np.random.RandomState(seed))[0]) > 1


def test_small_clusters_among_many_are_no_outliers():
    shares = np.tile([1.0, 12.0], 100)
    centers, X = many_clusters(200, 50, shares=shares / shares.sum())
    (found,) = kmeans_solutions(200, X, np.ones(len(X)), np.random.RandomState(0), n_init=1)
    assert missed(centers, found) < 30  # it was 79 when a share of one in a thousand was enough to be one


def test_outliers_have_no_prototypes_among_many():
    _, X = many_clusters(80, 60)
    far = 1000 * np.eye(8)[:5]
    rows = np.vstack([X, far])
    (found,) = kmeans_solutions(80, rows, np.ones(len(rows)), np.random.RandomState(0), n_init=1)
    assert np.abs(found).max() < 100


@given(st.integers(0, 10_000), st.integers(2, 25), st.integers(1, 25))
def test_prototypes_are_merged_as_by_ward(seed, n, n_left):
    X = np.random.default_rng(seed).standard_normal((n, 2))
    n_left = min(n, n_left)
    labels = fcluster(linkage(X, "ward"), n_left, "maxclust")
    expected = np.array([X[labels == k].mean(axis=0) for k in np.unique(labels)])
    found = _merged(X, np.ones(n), n_left)
    np.testing.assert_allclose(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)], atol=1e-9)


def test_prototypes_of_nobody_are_merged_first():
    found = _merged(np.array([[0.0], [5.0], [9.0], [2.0]]), np.array([3.0, 0.0, 2.0, 0.0]), 2)
    np.testing.assert_allclose(np.sort(found, axis=0), [[0.0], [9.0]], atol=1e-12)


def test_the_more_clusters_the_more_samples_are_looked_at():
    rows, random = ArrayRows(np.random.default_rng(0).standard_normal((60_000, 1))), np.random.RandomState
    few, some, many = (draw(rows, None, random(0), n_clusters)[0] for n_clusters in (1, 50, 1000))
    np.testing.assert_array_equal(few, some)
    assert (len(few), len(many)) == (20_000, 50_000)
