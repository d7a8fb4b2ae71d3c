"""Isolated samples: gross errors are isolated, samples of small clusters are not, and fits set them aside."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from evlearn.blocks.sparse import SparseBlock
from evlearn.cluster import EVCLUS, RECM, ECMdd, Quantile
from evlearn.cluster.isolation import BEYOND_REACH, crisp_clusters
from evlearn.datasets import load_butterfly


def draw(seed, sizes, n_features, separation=8.0):
    """Draw Gaussian clusters, the closest of which are `separation` standard deviations apart."""
    random = np.random.default_rng(seed)
    centers = random.normal(size=(len(sizes), n_features))
    centers *= separation / pairwise_distances(centers)[np.triu_indices(len(sizes), 1)].min()
    y = np.repeat(np.arange(len(sizes)), sizes)
    return centers[y] + random.normal(size=(len(y), n_features)), y


def draw_with_errors(seed, n_features, share, size, *, n_values=None, n=300):
    """Draw 5 clusters in which the first samples are errors, `size` standard deviations away."""
    X, y = draw(seed, [n // 5] * 5, n_features)
    random = np.random.default_rng(seed)
    order = random.permutation(n)
    X, y = X[order], y[order]
    n_errors = round(share * n)
    directions = random.normal(size=(n_values or n_errors, n_features))
    directions *= np.sqrt(n_features) / np.linalg.norm(directions, axis=1, keepdims=True)
    values = X.mean(axis=0) + size * X.std(axis=0) * directions
    X[:n_errors] = values[np.arange(n_errors) % len(values)]
    y[:n_errors] = -1
    return X, y


@pytest.mark.parametrize("n_values", [None, 3])
@pytest.mark.parametrize("size", [10, 1000])
@pytest.mark.parametrize("share", [0.01, 0.05])
@pytest.mark.parametrize("n_features", [2, 20])
def test_only_gross_errors_are_isolated(n_features, share, size, n_values):
    X, y = draw_with_errors(100, n_features, share, size, n_values=n_values)
    clusters = crisp_clusters(X, 5, "euclidean")
    assert clusters.isolated[y < 0].all()
    assert clusters.isolated[y >= 0].mean() <= 0.005
    assert adjusted_rand_score(y[y >= 0], clusters.labels[y >= 0]) > 0.99
    np.testing.assert_array_equal(clusters.ordinary, ~clusters.isolated)


@pytest.mark.parametrize("n_features", [2, 5, 20])
@pytest.mark.parametrize("seed", [100, 101, 102])
def test_small_clusters_are_not_isolated(seed, n_features):
    X, y = draw(seed, (242, 48, 10), n_features)
    clusters = crisp_clusters(X, 3, "euclidean")
    assert not clusters.isolated.any()
    assert clusters.unbalanced
    assert adjusted_rand_score(y, clusters.labels) > 0.99


def test_small_wide_clusters_are_not_isolated():
    random = np.random.default_rng(100)
    centers = np.array([[0, 0], [12, 0], [0, 12], [60, 0], [0, 60], [60, 60]])
    y = np.repeat(np.arange(6), [300, 300, 300, 25, 25, 25])
    X = centers[y] + random.normal(size=(len(y), 2)) * np.where(y < 3, 1, 3)[:, None]
    assert not crisp_clusters(X, 6, "euclidean").isolated.any()


@pytest.mark.parametrize("n_features", [50, 500])
def test_no_samples_are_isolated_in_many_dimensions(n_features):
    X, _ = draw(100, (150, 150), n_features, separation=2 * np.sqrt(n_features))
    assert not crisp_clusters(X, 2, "euclidean").isolated.any()


def test_the_outlier_of_the_butterfly_is_isolated():
    isolated = crisp_clusters(load_butterfly().data, 2, "euclidean").isolated
    np.testing.assert_array_equal(np.flatnonzero(isolated), [11])


def test_dissimilarities_and_sparse_features_give_the_same_result():
    X, _ = draw_with_errors(100, 5, 0.03, 30)
    expected = crisp_clusters(X, 5, "euclidean")
    for data, metric in (
        (pairwise_distances(X), "precomputed"),
        (SparseBlock(sparse.csr_array(X)), "euclidean"),
        (1e150 * X, "euclidean"),
    ):
        clusters = crisp_clusters(data, 5, metric)
        np.testing.assert_array_equal(clusters.isolated, expected.isolated)
        np.testing.assert_array_equal(clusters.labels, expected.labels)
    assert np.isfinite(expected.reach)


def test_samples_outside_the_subsample_are_also_classified():
    X, y = draw_with_errors(100, 5, 0.03, 30, n=3000)
    np.testing.assert_array_equal(crisp_clusters(X, 5, "euclidean").isolated, y < 0)


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((50, 2)),
        np.repeat(np.eye(2), 25, axis=0),
        np.arange(6.0)[:, None],
        np.vstack([np.zeros((60, 2)), 1 + np.random.default_rng(0).normal(size=(40, 2)) * 1e3]),
    ],
    ids=["equal", "two points", "few", "too many"],
)
def test_data_without_a_scale_have_no_isolated_samples(X):
    assert not crisp_clusters(X, 2, "euclidean").isolated.any()


METHODS = [
    EVCLUS(5, random_state=0),
    EVCLUS(5, solver="stochastic", random_state=0),
    EVCLUS(5, solver="landmark", n_landmarks=200, random_state=0),
    RECM(5, random_state=0),
    ECMdd(5, random_state=0),
    ECMdd(5, medoids="median", random_state=0),
]


@pytest.mark.parametrize("n_values", [None, 3], ids=["spread", "few values"])
@pytest.mark.parametrize("size", [10, 1000])
@pytest.mark.parametrize("n_features", [2, 20])
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_gross_errors_are_outliers_and_do_not_change_the_clusters(method, n_features, size, n_values):
    X, y = draw_with_errors(101, n_features, 0.05, size, n_values=n_values)
    model = clone(method).fit(X)
    assert adjusted_rand_score(y[y >= 0], model.labels_[y >= 0]) >= 0.95
    outliers = model.masses_[:, 0] >= 0.5
    assert outliers[y < 0].mean() >= 0.9
    assert outliers[y >= 0].mean() <= 0.01


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_dissimilarities_with_gross_errors_give_the_same_clusters(method):
    X, y = draw_with_errors(102, 5, 0.03, 30)
    model = clone(method).set_params(metric="precomputed").fit(pairwise_distances(X))
    assert adjusted_rand_score(y[y >= 0], model.labels_[y >= 0]) >= 0.95
    assert (model.masses_[y < 0, 0] >= 0.5).mean() >= 0.9


@pytest.mark.parametrize("method", [EVCLUS(2), RECM(2), ECMdd(2)], ids=str)
def test_the_butterfly_has_10_sure_samples_1_torn_and_1_outlier_by_default(method):
    verdict = clone(method).set_params(random_state=0).fit(load_butterfly().data).credal_partition_.verdict()
    assert verdict.sure.sum() == 10
    np.testing.assert_array_equal(np.flatnonzero(verdict.torn), [5])
    np.testing.assert_array_equal(np.flatnonzero(verdict.outlier), [11])


@pytest.mark.parametrize("n_features", [2, 4, 8, 14, 20])
@pytest.mark.parametrize("method", [EVCLUS(3), EVCLUS(3, solver="landmark"), RECM(3), ECMdd(3)], ids=str)
def test_small_clusters_are_found(method, n_features):
    X, y = draw(103, (242, 48, 10), n_features)
    model = clone(method).set_params(random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) >= 0.95
    assert (model.masses_[:, 0] >= 0.5).mean() <= 0.01


@pytest.mark.parametrize("seed", [100, 101])
@pytest.mark.slow
def test_uniform_outliers_do_not_change_the_clusters_of_evclus_with_many_samples(seed):
    X, y = draw(seed, [1960] * 5, 8)
    random = np.random.default_rng(seed)
    low, high = X.min(axis=0), X.max(axis=0)
    outliers = random.uniform(2 * low - high, 2 * high - low, size=(200, 8))
    model = EVCLUS(5, random_state=seed).fit(np.vstack([X, outliers]))
    assert adjusted_rand_score(y, model.labels_[: len(y)]) >= 0.95
    assert (model.masses_[len(y) :, 0] >= 0.5).mean() >= 0.9


@pytest.mark.slow
def test_an_explicit_quantile_is_that_of_all_pairs():
    X, _ = draw_with_errors(100, 2, 0.05, 100)
    pairs = pairwise_distances(X)[np.triu_indices(len(X), 1)]
    d0 = EVCLUS(5, d0=Quantile(0.95), random_state=0).fit(X).d0_
    assert d0 == pytest.approx(np.quantile(pairs, 0.95), rel=1e-3)
    assert EVCLUS(5, random_state=0).fit(X).d0_ < np.quantile(pairs, 0.9)


@pytest.mark.parametrize("solver", ["exact", "stochastic", "landmark"])
def test_the_scale_of_evclus_does_not_depend_on_the_size_of_errors(solver):
    scales = [
        EVCLUS(5, solver=solver, random_state=0).fit(draw_with_errors(100, 2, 0.05, size)[0]).d0_
        for size in (30, 3000)
    ]
    assert scales[0] == pytest.approx(scales[1], rel=1e-6)


@pytest.mark.slow
def test_the_distance_to_the_empty_set_is_bounded_by_the_reach_of_clusters():
    X, y = draw_with_errors(100, 2, 0.05, 100)
    for data, rows in ((X, y >= 0), (X[y >= 0], slice(None))):
        reach = crisp_clusters(data, 5, "euclidean").reach
        quantile = np.quantile(pairwise_distances(data[rows])[np.triu_indices(len(data[rows]), 1)], 0.95)
        expected = min(quantile, BEYOND_REACH * reach)
        assert RECM(5, random_state=0).fit(data).delta_ == pytest.approx(expected, rel=1e-6)
        assert ECMdd(5, random_state=0).fit(data).delta_ ** 2 == pytest.approx(expected, rel=1e-6)
        assert RECM(5, delta=7.0, random_state=0).fit(data).delta_ == 7.0
