"""Properties of credal c-means, and differences from evidential c-means."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

from evlearn import papers
from evlearn.belief import FocalSets
from evlearn.cluster import FocalFamily
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
from evlearn.cluster.set_costs import SetCosts
from evlearn.datasets import load_butterfly, make_fourclass

pytestmark = pytest.mark.filterwarnings(
    "ignore:the objective still changed:sklearn.exceptions.ConvergenceWarning"  # a given number of iterations
)
seeds = st.integers(0, 10_000)
gammas = st.sampled_from([0.0, 0.5, 1.0, 10.0])
betas = st.sampled_from([1.1, 1.5, 2.0, 3.0])


def make_samples(seed, n_samples=40, n_features=3):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_samples, n_features)) + 4 * random.integers(3, size=(n_samples, 1))
    return X, X[random.choice(n_samples, 3, replace=False)] + 0.1 * random.standard_normal((3, n_features)), random


def squared_distances(X, V, focal_sets, gamma):
    """Return squared distances to sets of clusters, by the formula of the paper."""
    F = focal_sets.membership[1:].astype(float)
    size = F.sum(axis=1)
    to_prototypes, to_barycenters = cdist(X, V) ** 2, cdist(X, F @ V / size[:, None]) ** 2
    return (to_prototypes @ F.T + gamma * to_barycenters) / (size + gamma)


def objective(X, V, masses, focal_sets, gamma, beta, delta):
    powers = masses**beta
    return (powers[:, 1:] * squared_distances(X, V, focal_sets, gamma)).sum() + delta**2 * powers[:, 0].sum()


def make_model(X, V, *, gamma=1.0, beta=2.0, delta=5.0, focal_sets=None):
    costs = SetCosts.ccm(focal_sets or FocalSets.full(len(V)), gamma=gamma, beta=beta, delta=delta)
    coordinates = Coordinates.of(X)
    return EuclideanModel(costs, coordinates, coordinates.transform(V))


def fuzzy_c_means(X, V, exponent, n_iter, noise):
    """Return memberships and centers after `n_iter` iterations, with Davé's noise cluster at a fixed distance."""
    for _ in range(n_iter + 1):
        relative = np.hstack([np.full((len(X), 1), noise), cdist(X, V)]) ** (-2 / (exponent - 1))
        memberships = relative / relative.sum(axis=1, keepdims=True)
        centers = V
        weights = memberships[:, 1:] ** exponent
        V = weights.T @ X / weights.sum(axis=0)[:, None]
    return memberships, centers


@settings(max_examples=20)
@given(seeds, gammas, betas, st.sampled_from(["pairs", "full"]))
def test_objective_and_masses_match_their_formulas(seed, gamma, beta, kind):
    X, V, _ = make_samples(seed)
    model = papers.ccm(3, gamma=gamma, beta=beta, delta=3, focal_sets=kind, init=V, max_iter=5).fit(X)
    assert len(model.focal_sets_) == {"pairs": 7, "full": 8}[kind]
    squares = squared_distances(X, model.cluster_centers_, model.focal_sets_, gamma)
    relative = np.hstack([np.full((len(X), 1), 9.0), squares]) ** (-1 / (beta - 1))
    np.testing.assert_allclose(model.masses_, relative / relative.sum(axis=1, keepdims=True), rtol=0, atol=1e-9)
    expected = objective(X, model.cluster_centers_, model.masses_, model.focal_sets_, gamma, beta, 3)
    assert model.objective_ == pytest.approx(expected, rel=1e-9)
    # The closed form at the best masses.
    assert model.objective_ == pytest.approx((relative.sum(axis=1) ** -(beta - 1)).sum(), rel=1e-9)


@settings(max_examples=20)
@given(seeds, gammas, betas)
def test_the_gradient_vanishes_at_the_new_prototypes(seed, gamma, beta):
    X, V, _ = make_samples(seed, n_features=2)
    model = make_model(X, V, gamma=gamma, beta=beta)
    masses = model.assign(X)

    def value(prototypes):
        return objective(X, prototypes, masses, model.focal_sets, gamma, beta, 5.0)

    def slope(prototypes):
        steps = 1e-3 * np.eye(6).reshape(6, 3, 2)
        return np.array([(value(prototypes + step) - value(prototypes - step)) / 2e-3 for step in steps])  # exact

    before, after = slope(V), slope(model.solve(model.collect(X)).centers)
    assert np.abs(after).max() < 1e-7 * np.abs(before).max()


@settings(max_examples=20)
@given(seeds, gammas, betas)
def test_no_iteration_increases_the_objective(seed, gamma, beta):
    X, V, _ = make_samples(seed)
    model = make_model(X, V, gamma=gamma, beta=beta)
    costs = []
    for _ in range(25):
        statistics = model.collect(X)
        costs.append(statistics.cost)
        model = model.solve(statistics)
    assert (np.diff(costs) <= 1e-10 * np.array(costs[:-1])).all()
    assert costs[-1] < costs[0]


@settings(max_examples=20)
@given(seeds, gammas, betas, st.integers(1, 30), st.sampled_from([1.0, 3.0]))
def test_single_clusters_are_fuzzy_c_means_with_a_noise_cluster(seed, gamma, beta, n_iter, delta):
    X, V, _ = make_samples(seed)
    memberships, centers = fuzzy_c_means(X, V, beta, n_iter, delta)
    settings = {"focal_sets": FocalSets.singletons(3), "gamma": gamma, "beta": beta, "delta": delta}
    model = papers.ccm(3, init=V, tol=0, max_iter=n_iter, **settings).fit(X)
    np.testing.assert_allclose(model.masses_, memberships, rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.cluster_centers_, centers, rtol=0, atol=1e-6)


@settings(max_examples=20)
@given(seeds, betas)
def test_a_large_gamma_is_evidential_c_means_without_a_penalty_on_large_sets(seed, beta):
    X, V, _ = make_samples(seed)
    settings = {"beta": beta, "delta": 4, "init": V, "tol": 0, "max_iter": 10}
    ccm = papers.ccm(3, gamma=1e12, focal_sets="pairs", **settings).fit(X)
    ecm = papers.ecm(3, alpha=0, focal_sets=FocalFamily("pairs", include_omega=False), **settings).fit(X)
    np.testing.assert_allclose(ccm.masses_, ecm.masses_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(ccm.cluster_centers_, ecm.cluster_centers_, rtol=0, atol=1e-6)


@settings(max_examples=20)
@given(seeds, betas)
def test_without_the_barycenter_no_set_is_nearer_than_its_nearest_cluster(seed, beta):
    # Therefore a single cluster has the largest mass.
    X, V, _ = make_samples(seed)
    squares = squared_distances(X, V, FocalSets.full(3), 0.0)
    assert (squares[:, 3:] >= squares[:, :3].min(axis=1, keepdims=True) - 1e-12).all()
    masses = make_model(X, V, gamma=0.0, beta=beta).assign(X)
    assert (masses[:, 4:].max(axis=1) <= masses[:, 1:4].max(axis=1) + 1e-12).all()


def test_the_middle_cluster_keeps_its_samples():
    random = np.random.default_rng(0)
    places = np.array([[0.0, 0], [5, 0], [10, 0]])
    X = np.repeat(places, 100, axis=0) + random.standard_normal((300, 2))
    y = np.repeat([0, 1, 2], 100)
    settings = {"focal_sets": FocalFamily("pairs", include_omega=False), "init": places}
    ecm, ccm = papers.ecm(3, **settings).fit(X), papers.ccm(3, **settings).fit(X)
    middle, outer_pair = list(ccm.focal_sets_).index((1,)), list(ccm.focal_sets_).index((0, 2))
    shared_by_ecm, shared_by_ccm = (model.masses_[y == 1, outer_pair].mean() for model in (ecm, ccm))
    assert shared_by_ccm < 0.1 < 0.2 < shared_by_ecm
    shares = [(model.masses_[y == 1].argmax(axis=1) == middle).mean() for model in (ecm, ccm)]
    assert shares[0] < 0.75
    assert shares[1] >= 0.95
    np.testing.assert_allclose(ccm.cluster_centers_, places, rtol=0, atol=0.3)
    assert adjusted_rand_score(y, ccm.labels_) > 0.9 > adjusted_rand_score(y, ecm.labels_)


def test_a_sample_on_a_barycenter_belongs_to_the_prototype_there():
    X = np.array([[0.0, 0], [-1, 0], [1, 0], [0.5, 0], [0, 2], [3, 1]])
    masses = make_model(X, np.array([[-1.0, 0], [1, 0], [0, 0]]), delta=2).assign(X)
    sets = list(FocalSets.full(3))
    for row, cluster in ((0, 2), (1, 0), (2, 1)):
        np.testing.assert_allclose(masses[row], np.eye(8)[sets.index((cluster,))], rtol=0, atol=1e-14)
    assert masses[3].argmax() in (sets.index((1,)), sets.index((2,)), sets.index((1, 2)))
    assert masses[3].max() < 0.5


@settings(max_examples=20)
@given(seeds, gammas, betas, st.sampled_from([1e-3, 0.5, 7.0, 1e4]))
@pytest.mark.slow
def test_location_direction_unit_and_order_change_nothing(seed, gamma, beta, unit):
    X, V, random = make_samples(seed)
    rotation = np.linalg.qr(random.standard_normal((3, 3)))[0]
    shift, order = 10 * random.standard_normal(3), random.permutation(len(X))
    settings = {"gamma": gamma, "beta": beta, "tol": 0, "max_iter": 10}
    plain = papers.ccm(3, delta=4, init=V, **settings).fit(X)
    transformed = papers.ccm(3, delta=4 * unit, init=unit * (V @ rotation + shift), **settings)
    transformed.fit(unit * (X @ rotation + shift)[order])
    np.testing.assert_allclose(transformed.masses_, plain.masses_[order], rtol=0, atol=1e-7)
    assert transformed.objective_ == pytest.approx(unit**2 * plain.objective_, rel=1e-8)


@settings(max_examples=20)
@given(seeds, gammas)
@pytest.mark.slow
def test_a_weight_is_a_number_of_repetitions(seed, gamma):
    X, _, random = make_samples(seed)
    weights = random.integers(0, 4, size=len(X))
    settings = {"gamma": gamma, "tol": 0, "max_iter": 10, "random_state": seed}
    weighted = papers.ccm(3, **settings).fit(X, sample_weight=weights)
    repeated = papers.ccm(3, **settings).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(np.repeat(weighted.masses_, weights, axis=0), repeated.masses_, rtol=0, atol=1e-7)
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, rtol=0, atol=1e-7)


def test_neighboring_clusters_are_found_and_paired():
    random = np.random.default_rng(0)
    places = np.column_stack([[0.0, 4, 8, 12], np.zeros(4)])
    X = np.repeat(places, 60, axis=0) + 0.8 * random.standard_normal((240, 2))
    # With gamma=0 and single clusters, plausibilities still show which clusters are neighbors.
    for gamma in (0, 1):
        model = papers.ccm(
            4, gamma=gamma, focal_sets=FocalFamily("neighbor_pairs", n_neighbors=2), init=places
        ).fit(X)
        sets = [(), (0,), (1,), (2,), (3,), (0, 1), (1, 2), (2, 3)]
        assert [tuple(focal_set) for focal_set in model.focal_sets_] == sets


def test_batches_lead_to_the_clusters_of_all_samples():
    X, _ = make_fourclass(8000, random_state=0)
    X = np.random.default_rng(0).permutation(X)
    whole = papers.ccm(4, delta=4, n_init=3, random_state=0).fit(X)
    model = papers.ccm(4, delta=4, init=whole.cluster_centers_ + 0.5)
    distances = []
    for start in range(0, 8000, 400):
        model.partial_fit(X[start : start + 400])
        distances.append(np.abs(model.cluster_centers_ - whole.cluster_centers_).max())
    assert model.n_samples_seen_ == 8000
    assert distances[-1] < 0.15 < distances[0]
    assert adjusted_rand_score(whole.labels_, model.predict(X)) > 0.95


@pytest.mark.parametrize(
    ("gamma", "message"),
    [(-1, "gamma must be a number at least 0 and at most 1e[+]100, got -1"), (np.inf, "gamma .* got inf")],
)
def test_an_invalid_gamma_is_reported_with_allowed_values(gamma, message):
    with pytest.raises(ValueError, match=message):
        papers.ccm(2, gamma=gamma).fit(load_butterfly().data)
