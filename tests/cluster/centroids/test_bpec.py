"""Belief-peak evidential clustering: peaks are fixed, and metrics are fitted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

from evlearn import papers
from evlearn.cluster import AdaptiveMetric, FocalFamily, belief_peaks
from evlearn.cluster.centroids.adaptive import AdaptiveModel, euclidean_metrics
from evlearn.cluster.centroids.model import Coordinates
from evlearn.cluster.set_costs import SetCosts
from evlearn.datasets import load_butterfly, make_fourclass

cut_off = pytest.mark.filterwarnings("ignore:the objective still changed:sklearn.exceptions.ConvergenceWarning")
seeds = st.integers(0, 10_000)
alphas = st.sampled_from([0.0, 1.0, 2.0])
betas = st.sampled_from([1.1, 1.5, 2.0, 3.0])


@pytest.fixture(scope="module")
def fourclass():
    return make_fourclass(400, random_state=0)


def make_samples(seed, n_samples=60):
    random = np.random.default_rng(seed)
    places = np.array([[0.0, 0, 0], [7, 1, 0], [1, 8, 2]])
    return places[np.arange(n_samples) % 3] + random.standard_normal((n_samples, 3)) * [1, 1.5, 0.7], random


@pytest.mark.parametrize("metric", ["adaptive", "euclidean"])
def test_prototypes_are_the_peaks_in_the_order_of_their_scores(fourclass, metric):
    X, y = fourclass
    graph = belief_peaks(X, n_neighbors=50)
    model = papers.bpec(n_neighbors=50, metric=metric).fit(X)
    assert model.n_clusters_ == 4
    np.testing.assert_allclose(model.cluster_centers_, X[graph.peaks()], rtol=0, atol=1e-14)
    assert sorted(y[graph.peaks()]) == [0, 1, 2, 3]
    assert adjusted_rand_score(y, model.labels_) > 0.65
    two = papers.bpec(2, n_neighbors=50, metric=metric).fit(X)
    np.testing.assert_allclose(two.cluster_centers_, X[graph.peaks(n_peaks=2)], rtol=0, atol=1e-14)
    assert two.n_clusters_ == 2


def test_thresholds_select_the_peaks(fourclass):
    X, _ = fourclass
    graph = belief_peaks(X, n_neighbors=50)
    model = papers.bpec(n_neighbors=50, min_bel=0.45, min_delta=2).fit(X)
    peaks = graph.peaks(min_bel=0.45, min_delta=2)
    assert 1 < len(peaks) < 10
    np.testing.assert_allclose(model.cluster_centers_, X[peaks], rtol=0, atol=1e-14)
    with pytest.raises(ValueError, match="no sample lies above min_bel=2"):
        papers.bpec(min_bel=2).fit(X)


def test_the_scale_of_neighbors_is_a_parameter(fourclass):
    X, _ = fourclass
    for options in ({"n_neighbors": 20, "q": 0.5}, {"n_neighbors": 20, "q": None}):
        peaks = belief_peaks(X, **options).peaks(n_peaks=4)
        np.testing.assert_allclose(papers.bpec(4, **options).fit(X).cluster_centers_, X[peaks], rtol=0, atol=1e-14)
    with pytest.raises(ValueError, match="q must be a number above 0 and at most 1, got 2"):
        papers.bpec(4, q=2).fit(X)
    with pytest.raises(ValueError, match="n_neighbors must be"):
        papers.bpec(4, n_neighbors=0).fit(X)


def test_initial_prototypes_are_not_changed(fourclass):
    X, _ = fourclass
    prototypes = np.array([[0.5, 0], [0, 4], [4.0, 3]])
    model = papers.bpec(init=prototypes, metric="euclidean", delta=3).fit(X)
    np.testing.assert_allclose(model.cluster_centers_, prototypes, rtol=0, atol=1e-14)
    assert model.n_clusters_ == 3
    # Masses by the formula of ECM.
    F = model.focal_sets_.membership[1:].astype(float)
    size = F.sum(axis=1)
    costs = np.hstack([np.full((400, 1), 9.0), size * cdist(X, F @ prototypes / size[:, None]) ** 2])
    expected = (1 / costs) / (1 / costs).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.masses_, expected, rtol=0, atol=1e-12)
    assert model.n_iter_ == 1  # prototypes are fixed
    assert model.converged_
    with pytest.raises(ValueError, match=r"init must have shape \(2, 2\)"):
        papers.bpec(2, init=prototypes).fit(X)


@cut_off
@settings(max_examples=20)
@given(seeds, alphas, betas)
def test_the_first_masses_are_euclidean_and_no_iteration_increases_the_objective(seed, alpha, beta):
    X, random = make_samples(seed)
    prototypes = X[:3] + 0.1 * random.standard_normal((3, 3))
    parameters = {"alpha": alpha, "beta": beta, "delta": 4, "init": prototypes}
    start = papers.bpec(metric="euclidean", **parameters).fit(X)
    fit = papers.bpec(metric=AdaptiveMetric(0), tol=0, max_iter=3, **parameters).fit(X)
    assert fit.objective_history_[0] == pytest.approx(start.objective_, rel=1e-10)
    np.testing.assert_allclose(fit.cluster_centers_, prototypes, rtol=0, atol=1e-13)
    np.testing.assert_allclose(np.linalg.det(fit.metrics_), 1, rtol=1e-8)
    # These are the same steps without the rule that rejects an increase.
    costs = SetCosts.ecm(fit.focal_sets_, alpha=alpha, beta=beta, delta=4)
    coordinates = Coordinates.of(X)
    points = coordinates.transform(prototypes)
    model = AdaptiveModel(costs, coordinates, points, euclidean_metrics(points), 0.0, fixed=True)
    objectives = []
    for _ in range(10):
        statistics = model.collect(X)
        objectives.append(statistics.cost)
        model = model.solve(statistics)
    np.testing.assert_allclose(objectives[: fit.n_iter_ + 1], fit.objective_history_, rtol=1e-12)
    assert (np.diff(objectives) <= 1e-10 * np.array(objectives[:-1])).all()


@cut_off
@settings(max_examples=20)
@given(seeds, alphas, betas)
def test_the_objective_matches_its_formula(seed, alpha, beta):
    X, _ = make_samples(seed)
    model = papers.bpec(3, alpha=alpha, beta=beta, delta=4, max_iter=5).fit(X)
    F = model.focal_sets_.membership[1:].astype(float)
    size = F.sum(axis=1)
    metrics = np.einsum("jk,kde->jde", F, model.metrics_) / size[:, None, None]
    differences = X[:, None, :] - F @ model.cluster_centers_ / size[:, None]
    squares = np.einsum("njd,jde,nje->nj", differences, metrics, differences)
    powers = model.masses_**beta
    expected = (size**alpha * powers[:, 1:] * squares).sum() + 16 * powers[:, 0].sum()
    assert model.objective_ == pytest.approx(expected, rel=1e-9)


@cut_off
@settings(max_examples=20)
@given(seeds, betas, st.sampled_from(["adaptive", "euclidean"]), st.sampled_from([0.25, 8.0, 1024.0]))
@pytest.mark.slow
def test_location_direction_unit_and_order_change_nothing(seed, beta, metric, unit):
    X, random = make_samples(seed)
    rotation = np.linalg.qr(random.standard_normal((3, 3)))[0]
    shift, order = 10 * random.standard_normal(3), random.permutation(len(X))
    settings = {"beta": beta, "metric": metric, "tol": 0, "max_iter": 6}
    for delta in (4.0, "auto"):
        plain = papers.bpec(3, delta=delta, **settings).fit(X)
        scaled = delta if delta == "auto" else unit * delta
        transformed = papers.bpec(3, delta=scaled, **settings).fit(unit * (X @ rotation + shift)[order])
        np.testing.assert_allclose(transformed.masses_, plain.masses_[order], rtol=0, atol=1e-7)


def test_metrics_follow_the_shapes_of_clusters():
    random = np.random.default_rng(0)
    long = random.standard_normal((150, 2)) * [4, 0.5]
    high = random.standard_normal((150, 2)) * [0.5, 4] + [12, 0]
    X, y = np.vstack([long, high]), np.repeat([0, 1], 150)
    plain, adaptive = (papers.bpec(2, metric=metric).fit(X) for metric in ("euclidean", "adaptive"))
    assert adjusted_rand_score(y, adaptive.labels_) > 0.95 > adjusted_rand_score(y, plain.labels_)


def test_there_is_no_randomness_in_data_of_moderate_size(fourclass):
    X, _ = fourclass
    first, second = (papers.bpec(4, random_state=seed).fit(X) for seed in (0, 1))
    np.testing.assert_array_equal(first.masses_, second.masses_)


def test_neighboring_clusters_are_found_and_paired():
    random = np.random.default_rng(0)
    places = np.column_stack([[0.0, 4, 8, 12], np.zeros(4)])
    X = np.repeat(places, 60, axis=0) + 0.8 * random.standard_normal((240, 2))
    for metric in ("adaptive", "euclidean"):
        model = papers.bpec(
            init=places, metric=metric, focal_sets=FocalFamily("neighbor_pairs", n_neighbors=2)
        ).fit(X)
        sets = [(), (0,), (1,), (2,), (3,), (0, 1), (1, 2), (2, 3), (0, 1, 2, 3)]
        assert [tuple(focal_set) for focal_set in model.focal_sets_] == sets


def test_other_methods_can_start_at_peaks(fourclass):
    X, y = fourclass
    peaks = papers.bpec(4, metric="euclidean", focal_sets="simple", delta=4).fit(X)
    ecm = papers.ecm(4, init="peaks", focal_sets="simple", delta=4).fit(X)
    assert ecm.objective_history_[0] == pytest.approx(peaks.objective_, rel=1e-9)
    assert ecm.objective_ < peaks.objective_
    assert adjusted_rand_score(y, ecm.labels_) > 0.65


def test_a_single_sample_has_no_neighbors():
    with pytest.raises(ValueError, match="minimum of 2"):
        papers.bpec(1).fit([[1.0, 2.0]])
    model = papers.bpec(init=[[1.0, 2.0]]).fit([[1.0, 2.0]])
    np.testing.assert_allclose(model.masses_, [[0, 1]], rtol=0, atol=1e-100)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": "some"}, r"n_clusters must be 'auto' or a whole number of at least 1, got 'some'"),
        ({"n_clusters": "auto", "init": 5}, r"init must have shape \(1, 2\), .* got shape \(\)"),
        ({"init": "kmeans"}, r"init must be one of \['peaks'\], got 'kmeans'"),
        ({"n_clusters": 2, "min_bel": 0.5}, "give n_clusters or thresholds, not both; got n_clusters=2"),
    ],
)
def test_invalid_parameters_are_reported_with_allowed_values(settings, message):
    with pytest.raises(ValueError, match=message):
        papers.bpec(**settings).fit(load_butterfly().data)
