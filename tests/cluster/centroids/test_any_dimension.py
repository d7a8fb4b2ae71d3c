"""Prototype methods with default parameters in any number of features, and warnings if there are no clusters."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from evlearn.cluster import BPEC, CCM, CECM, ECM, RECM, belief_peaks
from evlearn.cluster.centroids.kmeans import kmeans, kmeans_solutions
from evlearn.cluster.centroids.scales import Scales, is_one_cloud
from evlearn.cluster.focal_families import auto_focal_sets
from evlearn.exceptions import CollapseWarning


def gaussians(n_features, n_clusters=4, n_samples=1000, gap=5.0, seed=0):
    """Return round clusters, the closest 2 of which are `gap` standard deviations apart."""
    random = np.random.default_rng(seed)
    centers = random.normal(size=(n_clusters, n_features))
    distances = np.sqrt(((centers[:, None] - centers) ** 2).sum(axis=-1))
    np.fill_diagonal(distances, np.inf)
    centers *= gap / distances.min()
    y = random.integers(n_clusters, size=n_samples)
    return centers[y] + random.normal(size=(n_samples, n_features)), y, centers


def draw_with_halfway_samples(n_features, n_halfway=50, seed=0):
    """Return clusters, and samples between the closest 2, spread across the line between them."""
    X, y, centers = gaussians(n_features, seed=seed)
    distances = np.sqrt(((centers[:, None] - centers) ** 2).sum(axis=-1))
    np.fill_diagonal(distances, np.inf)
    first, second = np.unravel_index(distances.argmin(), distances.shape)
    line = (centers[second] - centers[first]) / distances.min()
    random = np.random.default_rng(seed + 1)
    spread = random.normal(size=(n_halfway, n_features))
    spread += np.outer(0.2 * random.normal(size=n_halfway) - spread @ line, line)
    return np.vstack([X, (centers[first] + centers[second]) / 2 + spread]), y


@pytest.mark.parametrize("n_features", [2, 4, 8, 20, 40])
def test_samples_halfway_between_two_clusters_and_few_others_are_torn(n_features):
    X, y = draw_with_halfway_samples(n_features, seed=n_features)
    verdict = CCM(4, random_state=0).fit(X).credal_partition_.verdict()
    assert verdict.torn[len(y) :].mean() >= 0.9
    assert verdict.torn[: len(y)].mean() <= 0.05


@pytest.mark.parametrize("n_features", [4, 20])
@pytest.mark.slow
def test_samples_halfway_are_also_torn_with_ecm_and_recm(n_features):
    X, y = draw_with_halfway_samples(n_features, seed=n_features)
    for method in (ECM, RECM):
        verdict = method(4, random_state=0).fit(X).credal_partition_.verdict()
        assert verdict.torn[len(y) :].mean() >= 0.75
        assert verdict.torn[: len(y)].mean() <= 0.08


@pytest.mark.parametrize("method", [ECM, CCM, RECM])
@pytest.mark.parametrize(("n_features", "n_clusters"), [(20, 4), (50, 7), (100, 10)])
@pytest.mark.slow_cells("100-10-RECM", "50-7-RECM")
def test_clusters_in_many_features_do_not_collapse(method, n_features, n_clusters):
    X, y, _ = gaussians(n_features, n_clusters, n_samples=800, seed=n_features)
    model = method(n_clusters, random_state=0).fit(X)
    peer = KMeans(n_clusters, n_init=10, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) >= adjusted_rand_score(y, peer.labels_) - 0.02


def test_the_exponent_of_the_papers_collapses_in_many_features_with_a_warning():
    X, _, _ = gaussians(20, seed=20)
    with pytest.warns(CollapseWarning, match="have the same prototype.*beta='auto'"):
        ECM(4, alpha=1, beta=2, random_state=0).fit(X)


@pytest.mark.parametrize("method", [ECM, CCM])
@pytest.mark.slow
def test_digits_are_found_as_well_as_by_kmeans(method):
    X, y = load_digits(return_X_y=True)
    model = method(10, random_state=0).fit(X)
    peer = KMeans(10, n_init=10, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) >= adjusted_rand_score(y, peer.labels_) - 0.02
    verdict, wrong = model.credal_partition_.verdict(), _wrong(y, model.labels_)
    assert wrong[verdict.torn].mean() >= 2 * wrong[verdict.sure].mean()


def _wrong(y, labels):
    majority = {label: np.bincount(y[labels == label]).argmax() for label in np.unique(labels)}
    return y != np.array([majority[label] for label in labels])


@pytest.mark.slow
@pytest.mark.parametrize("method", [ECM, CCM, RECM])
@pytest.mark.parametrize("n_features", [2, 10, 30])
def test_no_sample_of_one_cloud_is_sure_of_three_clusters(method, n_features):
    X = np.random.default_rng(n_features).normal(size=(600, n_features))
    with pytest.warns(CollapseWarning, match="one Gaussian cloud"):
        model = method(3, random_state=0).fit(X)
    assert model.credal_partition_.verdict().sure.mean() < 0.3


@pytest.mark.slow
def test_the_test_for_one_cloud_separates_clouds_from_clusters():
    random = np.random.RandomState(0)
    stretched = random.normal(size=(500, 6)) * [5, 3, 1, 1, 1, 0.1]
    results = [is_one_cloud(stretched, np.ones(500), 3, np.random.RandomState(seed)) for seed in range(5)]
    assert sum(results) >= 4
    X, _, _ = gaussians(30, 3, 500, gap=4, seed=1)
    assert not any(is_one_cloud(X, np.ones(500), 3, np.random.RandomState(seed)) for seed in range(5))
    with_outliers = np.vstack([X, 60 * np.random.default_rng(1).normal(size=(5, X.shape[1]))])
    assert not any(is_one_cloud(with_outliers, np.ones(505), 3, np.random.RandomState(seed)) for seed in range(5))
    assert not is_one_cloud(stretched[:10], np.ones(10), 3, random)  # too few samples


def test_scales_are_those_of_the_clusters():
    X, _, centers = gaussians(30, 3, 3000, seed=3)
    scales = Scales.of(X, np.ones(len(X)), centers)
    assert scales.mean_square == pytest.approx(30, rel=0.05)
    assert scales.variance == pytest.approx(1, rel=0.1)
    squares = ((centers[:, None] - centers) ** 2).sum(axis=-1) + np.diag(np.full(3, np.inf))
    np.testing.assert_allclose(scales.separations, squares.min(axis=1))
    excess = 0.8 * scales.variance / (np.median(scales.separations) / 4 + scales.mean_square - scales.variance)
    assert 1 / (scales.beta() - 1) == pytest.approx(round(1 / excess))
    assert 1 < scales.beta() < scales.beta(cloud=True)
    # Directions without variance have no effect.
    flat = Scales.of(
        np.hstack([X, np.zeros((3000, 70))]), np.ones(len(X)), np.hstack([centers, np.zeros((3, 70))])
    )
    assert flat.beta() == pytest.approx(scales.beta())
    assert flat.alpha() == pytest.approx(scales.alpha())


def test_scales_are_invariant_to_units_and_copies():
    X, _, centers = gaussians(5, 3, 300, seed=4)
    scales = Scales.of(X, np.ones(300), centers)
    large = Scales.of(1000 * X, np.full(300, 7.0), 1000 * centers)
    assert large.beta() == pytest.approx(scales.beta())
    assert large.alpha() == pytest.approx(scales.alpha())


def test_data_without_width_or_separation_have_exponents():
    points = np.repeat([[0.0, 0.0], [1.0, 0.0]], 20, axis=0)
    scales = Scales.of(points, np.ones(40), np.array([[0.0, 0.0], [1.0, 0.0]]))
    assert scales.beta() == 2
    assert scales.alpha() == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)
        model = ECM(3, random_state=0).fit(points)
    assert np.isfinite(model.masses_).all()
    assert ECM(1, random_state=0).fit(points).labels_.max() == 0


def test_automatic_focal_sets_depend_only_on_the_number_of_clusters():
    random = np.random.default_rng(0)
    for n_clusters in (2, 3, 10, 50):
        sets = auto_focal_sets(random.uniform(size=(2000, n_clusters)), None, include_omega=True)
        assert len(sets) <= 2 + 3 * n_clusters
        assert (sets.singleton_positions >= 0).all()


def test_memory_grows_with_the_number_of_clusters_and_no_faster():
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 5)) + 30 * random.normal(size=(40, 5))[random.integers(40, size=2000)]
    sizes = {c: ECM(c, n_init=1, max_iter=2, tol=1, random_state=0).fit(X).masses_.nbytes for c in (10, 40)}
    assert sizes[40] <= 4 * 1.05 * sizes[10]


def test_gigabytes_are_refused_before_they_are_allocated():
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    with pytest.raises(ValueError, match=r"20,000 samples x 16,384 focal sets .*2,621,440,000 bytes"):
        ECM(14, focal_sets="full").fit(X)


def test_a_few_remote_samples_do_not_capture_a_prototype():
    X, y, _ = gaussians(5, 4, 2000, gap=8, seed=5)
    with_remote_samples = np.vstack([X, [[300.0] * 5, [-200.0] * 5]])
    model = CCM(4, random_state=0).fit(with_remote_samples)
    assert adjusted_rand_score(y, model.labels_[:2000]) > 0.95
    assert model.credal_partition_.outliers()[2000:].all()


def test_kmeans_is_that_of_scikit_learn():
    X, _, _ = gaussians(6, 5, 500, seed=6)
    inertia = min(kmeans(X, np.ones(500), 5, np.random.RandomState(seed))[1] for seed in range(10))
    assert inertia == pytest.approx(KMeans(5, n_init=10, random_state=0).fit(X).inertia_, rel=1e-3)
    solutions = kmeans_solutions(5, X, np.ones(500), np.random.RandomState(0), n_init=10)
    inertias = [((X[:, None] - centers) ** 2).sum(axis=-1).min(axis=1).sum() for centers in solutions]
    assert inertias == sorted(inertias)
    assert inertias[0] == pytest.approx(inertia, rel=2e-3)


def test_empty_clusters_and_clusters_of_one_sample_are_reported():
    X = np.vstack([np.random.default_rng(0).normal(size=(60, 2)), [[40.0, 40.0]]])
    with pytest.warns(CollapseWarning, match="some hold one sample or none: 1 "):
        ECM(2, alpha=1, beta=2, delta=100, init=[[0.0, 0.0], [40.0, 40.0]]).fit(X)


def test_bpec_warns_if_it_finds_one_cluster():
    X = np.random.default_rng(0).normal(size=(200, 2))
    graph = belief_peaks(X)
    with pytest.warns(CollapseWarning, match="only one peak"):
        BPEC(min_bel=float(np.sort(graph.bel)[-2]), min_delta=0.0).fit(X)


def test_cecm_warns_of_coincident_prototypes_with_a_remedy():
    X, _, _ = gaussians(40, 4, 400, seed=7)
    with pytest.warns(CollapseWarning, match="PCA"):
        CECM(4, random_state=0).fit(X)
