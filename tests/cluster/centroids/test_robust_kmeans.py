"""Starts and scales with gross errors, and small clusters that are not confused with errors."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from evlearn.cluster import CCM, ECM
from evlearn.cluster.centroids import kmeans as kmeans_module
from evlearn.cluster.centroids.kmeans import (
    Spread,
    kmeans_solutions,
    ordinary_rows,
    squared_distances,
    trimmed_kmeans,
)
from evlearn.datasets import load_butterfly


def clusters(seed, d, sizes=(200,) * 5, gap=8.0):
    """Draw Gaussian clusters that are at least `gap` standard deviations apart."""
    random = np.random.default_rng(seed)
    centers = random.normal(size=(len(sizes), d))
    distances = np.linalg.norm(centers[:, None] - centers, axis=2)[np.triu_indices(len(sizes), 1)]
    y = np.repeat(np.arange(len(sizes)), sizes)
    return (centers * gap / distances.min())[y] + random.normal(size=(len(y), d)), y, random


def draw_with_errors(seed, d, share, size, kind):
    """Replace a share of the rows by errors."""
    X, y, random = clusters(seed, d)
    rows = random.choice(len(X), size=int(share * len(X)), replace=False)
    directions = random.normal(size=(len(rows) if kind == "spread" else 3, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    X[rows] = X.mean(axis=0) + size * X.std() * directions[np.arange(len(rows)) % len(directions)]
    return X, y, np.isin(np.arange(len(X)), rows)


@pytest.mark.parametrize("kind", ["spread", "few"])
@pytest.mark.parametrize(("share", "size"), [(0.01, 30), (0.05, 10), (0.05, 1000)])
@pytest.mark.parametrize("method", [CCM, ECM])
def test_gross_errors_are_outliers_and_do_not_change_the_clusters(method, share, size, kind):
    X, y, errors = draw_with_errors(0, 5, share, size, kind)
    model = method(5, random_state=0).fit(X)
    assert adjusted_rand_score(y[~errors], model.labels_[~errors]) >= 0.95
    outlier = model.credal_partition_.verdict().outlier
    assert outlier[errors].mean() >= 0.9
    assert outlier[~errors].mean() <= 0.01


def test_scales_do_not_depend_on_the_size_of_errors():
    fits = [CCM(5, random_state=0).fit(draw_with_errors(1, 5, 0.03, size, "spread")[0]) for size in (30, 1000)]
    assert fits[0].beta_ == fits[1].beta_
    assert fits[0].delta_ == pytest.approx(fits[1].delta_, rel=0.02)


@pytest.mark.parametrize("sizes", [(242, 48, 10), (230, 40, 20, 10), (400, 60, 12)])
@pytest.mark.parametrize(("seed", "d"), [(0, 2), (1, 5), (2, 20)])
@pytest.mark.parametrize("method", [CCM, ECM])
def test_small_clusters_are_found_where_kmeans_finds_them(method, seed, d, sizes):
    X, y, _ = clusters(seed, d, sizes)
    score = adjusted_rand_score(y, method(len(sizes), random_state=0).fit(X).labels_)
    assert score >= adjusted_rand_score(y, KMeans(len(sizes), n_init=10, random_state=0).fit_predict(X)) - 0.02


def test_small_wide_clusters_are_not_errors():
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(8), [2000] * 3 + [100] * 5)
    centers = np.array([[0, 0], [6, 0], [3, 5], [40, 0], [40, 20], [52, 10], [60, 0], [60, 20]])
    X = centers[y] + random.normal(size=(len(y), 2)) * np.where(y < 3, 0.7, 2.0)[:, None]
    model = CCM(8, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) >= 0.98
    assert model.credal_partition_.verdict().outlier.mean() <= 0.01


def test_small_clusters_are_not_one_cloud():
    X, y, _ = clusters(0, 2, (300, 15, 10), gap=9.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = CCM(3, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1


@pytest.mark.parametrize("method", [CCM, ECM])
def test_a_typing_error_in_iris_is_an_outlier_and_changes_nothing_else(method):
    X = load_iris().data.copy()
    before = method(3, random_state=0).fit(X).credal_partition_.verdict()
    X[0, 0] = 51
    after = method(3, random_state=0).fit(X).credal_partition_.verdict()
    assert after.outlier[0]
    assert abs(int(after.torn.sum()) - int(before.torn.sum())) <= 3


@pytest.mark.parametrize("method", [CCM, ECM])
def test_the_butterfly_has_10_sure_samples_1_torn_and_1_outlier(method):
    verdict = method(2, random_state=0).fit(load_butterfly().data).credal_partition_.verdict()
    assert (verdict.sure.sum(), verdict.torn.sum(), verdict.outlier.sum()) == (10, 1, 1)
    assert verdict.torn[5]
    assert verdict.outlier[11]


def test_ordinary_rows_are_those_of_clusters_in_any_dimension():
    for d in (2, 20, 200):
        X, _, _ = clusters(0, d)
        starts = kmeans_solutions(5, X, np.ones(len(X)), np.random.RandomState(0), n_init=10)
        assert ordinary_rows(X, np.ones(len(X)), starts[0]).mean() >= 0.999
        with_remote_rows = np.vstack([X, X[:20] + 100])
        assert not ordinary_rows(with_remote_rows, np.ones(len(with_remote_rows)), starts[0])[len(X) :].any()


def test_trimmed_kmeans_leaves_out_the_farthest_rows():
    random = np.random.default_rng(0)
    X = np.vstack(
        [random.normal(size=(90, 2)), random.normal(size=(90, 2)) + 20, random.normal(size=(20, 2)) * 500]
    )
    start = np.array([[1.0, 1.0], [18.0, 18.0]])
    prototypes = trimmed_kmeans(X, np.ones(200), np.ones(200, dtype=bool), start, 0.1)
    means = np.array([X[:90].mean(axis=0), X[90:180].mean(axis=0)])
    assert squared_distances(prototypes, means).min(axis=1).max() < 0.2


def test_distant_rows_with_neighbors_are_not_isolated():
    random = np.random.default_rng(0)
    rows = np.vstack([random.normal(size=(300, 3)), random.normal((30, 0, 0), size=(10, 3)), [[0, 90, 0]]])
    prototypes = np.zeros((1, 3))
    spread = Spread.of(rows, np.ones(len(rows)), prototypes)
    isolated = kmeans_module._find_isolated(rows, kmeans_module.Nearest.of(rows, prototypes), spread)
    assert np.flatnonzero(isolated).tolist() == [310]


def test_only_the_proportions_of_small_weights_matter():
    random = np.random.default_rng(0)
    rows = np.vstack([random.normal(size=(200, 3)), [[60, 0, 0]]])
    prototypes, weights = np.zeros((1, 3)), np.ones(201)
    expected = ordinary_rows(rows, weights, prototypes)
    assert np.flatnonzero(~expected).tolist() == [200]
    np.testing.assert_array_equal(ordinary_rows(rows, weights / 201, prototypes), expected)
