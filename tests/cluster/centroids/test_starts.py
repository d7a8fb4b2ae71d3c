"""Typical distances, compared with those of all pairs of rows, and starts of many clusters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cut_tree, linkage

from evlearn.blocks.dataset import ArrayDataset
from evlearn.cluster.centroids.kmeans import _merge, kmeans, kmeans_solutions, squared_distances
from evlearn.cluster.centroids.starts import _merge_copies, draw, typical_distance


def by_all_pairs(X):
    """Return the quantile of the distances of all pairs of different rows, with duplicates."""
    squares = ((X[:, None] - X) ** 2).sum(axis=2)[~np.eye(len(X), dtype=bool)]
    return np.sqrt(np.quantile(squares, 0.95))


@given(st.integers(0, 10_000), st.integers(2, 9), st.sampled_from([1, 3, 40]))
def test_a_weight_is_a_number_of_repetitions(seed, n, max_weight):
    random = np.random.default_rng(seed)
    X, weights = random.standard_normal((n, 2)), random.integers(1, max_weight + 1, size=n)
    weights[0] *= 3  # this row forms pairs at distance 0, which count in the quantile
    distance = typical_distance(X, weights.astype(float), np.random.RandomState(0))
    expected = by_all_pairs(np.repeat(X, weights, axis=0))
    if expected > 0:
        assert distance == pytest.approx(expected, rel=1e-9)


def test_the_scale_is_smaller_if_most_pairs_are_duplicates():
    # 20 rows: 18 at 0, one at 1 and one at 10. Of 190 pairs, 153 have distance 0, 18 distance 1, 1 distance 9, and
    # 18 distance 10. With both directions, position 0.95 * 379 = 360.05 in sorted order has distance 10. 60 rows:
    # 58 at 0. Of 1770 pairs, 1653 have distance 0 and 58 distance 1: position 0.95 * 3539 = 3362.05 has distance
    # 1.
    X, random = np.array([[0.0], [1.0], [10.0]]), np.random.RandomState(0)
    assert typical_distance(X, np.array([18.0, 1.0, 1.0]), random) == pytest.approx(10)
    assert typical_distance(X, np.array([58.0, 1.0, 1.0]), random) == pytest.approx(1)


# Many clusters


def many_clusters(n_clusters, n_samples_each, seed=0, shares=None):
    """Return separate clusters and their centers."""
    random = np.random.default_rng(seed)
    centers = 4 * random.standard_normal((n_clusters, 8))
    y = random.choice(n_clusters, size=n_samples_each * n_clusters, p=shares)
    return centers, centers[y] + random.standard_normal((len(y), 8))


def missed(centers, prototypes):
    """Return the number of clusters whose center is not the closest one to any prototype."""
    return len(centers) - len(set(squared_distances(prototypes, centers).argmin(axis=1)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.slow
def test_nearly_all_of_many_clusters_have_a_prototype(seed):
    centers, X = many_clusters(120, 60, seed)
    (prototypes,) = kmeans_solutions(120, X, np.ones(len(X)), np.random.RandomState(seed), n_init=10)
    assert prototypes.shape == centers.shape
    assert missed(centers, prototypes) <= 1
    assert missed(centers, kmeans(X, np.ones(len(X)), 120, np.random.RandomState(seed))[0]) > 1


@pytest.mark.slow
def test_small_clusters_among_many_are_not_outliers():
    shares = np.tile([1.0, 12.0], 100)
    centers, X = many_clusters(200, 50, shares=shares / shares.sum())
    (prototypes,) = kmeans_solutions(200, X, np.ones(len(X)), np.random.RandomState(0), n_init=1)
    assert missed(centers, prototypes) < 30  # 79 if a share of 0.1 % made a cluster


def test_outliers_have_no_prototypes_among_many():
    _, X = many_clusters(80, 60)
    remote = 1000 * np.eye(8)[:5]
    rows = np.vstack([X, remote])
    (prototypes,) = kmeans_solutions(80, rows, np.ones(len(rows)), np.random.RandomState(0), n_init=1)
    assert np.abs(prototypes).max() < 100


@given(st.integers(0, 10_000), st.integers(2, 25), st.integers(1, 25))
def test_prototypes_are_merged_as_by_ward(seed, n, n_left):
    X = np.random.default_rng(seed).standard_normal((n, 2))
    n_left = min(n, n_left)
    labels = cut_tree(linkage(X, "ward"), n_clusters=n_left).ravel()
    expected = np.array([X[labels == k].mean(axis=0) for k in np.unique(labels)])
    prototypes = _merge(X, np.ones(n), n_left)
    np.testing.assert_allclose(prototypes[np.lexsort(prototypes.T)], expected[np.lexsort(expected.T)], atol=1e-9)


def test_empty_prototypes_are_merged_first():
    prototypes = _merge(np.array([[0.0], [5.0], [9.0], [2.0]]), np.array([3.0, 0.0, 2.0, 0.0]), 2)
    np.testing.assert_allclose(np.sort(prototypes, axis=0), [[0.0], [9.0]], atol=1e-12)


def test_the_sample_size_increases_with_the_number_of_clusters():
    rows, random = ArrayDataset(np.random.default_rng(0).standard_normal((60_000, 1))), np.random.RandomState
    small, medium, large = (draw(rows, None, random(0), n_clusters)[0] for n_clusters in (1, 50, 1000))
    np.testing.assert_array_equal(small, medium)
    assert (len(small), len(large)) == (20_000, 50_000)


def test_copies_are_merged_as_by_unique():
    random = np.random.default_rng(0)
    distinct = random.normal(size=(50, 3))
    tied = np.column_stack([random.integers(3, size=50), distinct])
    for rows in (distinct, tied, np.repeat(tied, 2, axis=0)):
        rows, counts = random.permutation(rows), random.integers(1, 4, len(rows)).astype(float)
        expected, positions = np.unique(rows, axis=0, return_inverse=True)
        merged, totals = _merge_copies(rows, counts)
        np.testing.assert_array_equal(merged, expected)
        np.testing.assert_array_equal(totals, np.bincount(positions.ravel(), counts))
