"""Properties of evidential c-means, with a common metric and with a metric for each cluster."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import evlearn
from evlearn import cluster, papers
from evlearn.belief import FocalSets
from evlearn.cluster import AdaptiveMetric, FocalFamily
from evlearn.cluster.centroids.adaptive import AdaptiveModel, euclidean_metrics
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
from evlearn.cluster.set_costs import SetCosts
from evlearn.datasets import load_butterfly, make_fourclass

pytestmark = pytest.mark.filterwarnings(
    "ignore:the objective still changed:sklearn.exceptions.ConvergenceWarning"  # a given number of iterations
)
seeds = st.integers(0, 10_000)
alphas = st.sampled_from([0.0, 1.0, 2.0])
betas = st.sampled_from([1.1, 1.5, 2.0, 3.0])
metrics = st.sampled_from(["euclidean", "adaptive"])


def make_samples(seed, n_samples=40, n_features=3):
    """Return 3 clusters and 3 initial prototypes at random locations."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_samples, n_features)) + 4 * random.integers(3, size=(n_samples, 1))
    return X, X[random.choice(n_samples, 3, replace=False)] + 0.1 * random.standard_normal((3, n_features)), random


def fuzzy_c_means(X, V, exponent, n_iter, noise=np.inf):
    """Return memberships and centers after `n_iter` iterations, with Davé's noise cluster at a fixed distance."""
    for _ in range(n_iter + 1):
        relative = np.hstack([np.full((len(X), 1), noise), cdist(X, V)]) ** (-2 / (exponent - 1))
        memberships = relative / relative.sum(axis=1, keepdims=True)
        centers = V
        weights = memberships[:, 1:] ** exponent
        V = weights.T @ X / weights.sum(axis=0)[:, None]
    return memberships, centers


def objective(X, V, S, masses, focal_sets, alpha, beta, delta):
    """Return the objective by the formula of the papers; S contains a metric for each cluster."""
    F = focal_sets.membership[1:].astype(float)
    size = F.sum(axis=1)
    differences = X[:, None, :] - (F @ V / size[:, None])
    squares = np.einsum(
        "njd,jde,nje->nj", differences, np.einsum("jk,kde->jde", F, S) / size[:, None, None], differences
    )
    powers = masses**beta
    return (size**alpha * powers[:, 1:] * squares).sum() + delta**2 * powers[:, 0].sum()


def make_model(X, V, *, metric="euclidean", alpha=1.0, beta=2.0, delta=5.0, focal_sets=None):
    costs = SetCosts.ecm(focal_sets or FocalSets.full(len(V)), alpha=alpha, beta=beta, delta=delta)
    coordinates = Coordinates.of(X)
    points = coordinates.transform(V)
    if metric == "euclidean":
        return EuclideanModel(costs, coordinates, points)
    return AdaptiveModel(costs, coordinates, points, euclidean_metrics(points), 0.0)


def metrics_of(model):
    return getattr(model, "metrics_", np.stack([np.eye(model.n_features_in_)] * len(model.cluster_centers_)))


# The objective


@settings(max_examples=20)
@given(seeds, alphas, betas, metrics)
def test_the_objective_matches_its_formula(seed, alpha, beta, metric):
    X, V, _ = make_samples(seed)
    model = papers.ecm(3, alpha=alpha, beta=beta, delta=3, metric=metric, init=V, max_iter=5).fit(X)
    S = metrics_of(model)
    expected = objective(X, model.cluster_centers_, S, model.masses_, model.focal_sets_, alpha, beta, model.delta_)
    assert model.objective_ == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(np.linalg.det(S), 1, rtol=1e-8)


@settings(max_examples=20)
@given(seeds, alphas, betas)
def test_the_objective_has_a_closed_form_at_the_best_masses(seed, alpha, beta):
    X, V, _ = make_samples(seed)
    model = papers.ecm(3, alpha=alpha, beta=beta, delta=3, init=V, max_iter=5).fit(X)
    F = model.focal_sets_.membership[1:].astype(float)
    size = F.sum(axis=1)
    costs = size**alpha * cdist(X, F @ model.cluster_centers_ / size[:, None]) ** 2
    costs = np.hstack([np.full((len(X), 1), 9.0), costs])
    closed = ((costs ** (-1 / (beta - 1))).sum(axis=1) ** -(beta - 1)).sum()
    assert model.objective_ == pytest.approx(closed, rel=1e-9)


@settings(max_examples=30)
@given(seeds, alphas, betas, metrics, st.sampled_from(["full", "pairs", "simple"]))
@pytest.mark.slow
def test_no_iteration_increases_the_objective(seed, alpha, beta, metric, kind):
    X, V, _ = make_samples(seed)
    family = {"full": FocalSets.full, "pairs": FocalSets.pairs, "simple": FocalSets.simple}[kind](3)
    model = make_model(X, V, metric=metric, alpha=alpha, beta=beta, focal_sets=family)
    costs = []
    for _ in range(25):
        statistics = model.collect(X)
        costs.append(statistics.cost)
        model = model.solve(statistics)
    assert (np.diff(costs) <= 1e-10 * np.array(costs[:-1])).all()
    assert costs[-1] < costs[0]


@settings(max_examples=20)
@given(seeds, alphas, betas)
def test_the_gradient_vanishes_at_the_new_prototypes(seed, alpha, beta):
    X, V, _ = make_samples(seed, n_features=2)
    model = make_model(X, V, alpha=alpha, beta=beta)
    masses = model.assign(X)
    S = np.stack([np.eye(2)] * 3)

    def slope(prototypes):
        value = lambda change: objective(X, prototypes + change, S, masses, model.focal_sets, alpha, beta, 5.0)  # noqa: E731
        steps = 1e-3 * np.eye(6).reshape(6, 3, 2)
        return np.array([(value(step) - value(-step)) / 2e-3 for step in steps])  # exact: J is quadratic

    before, after = slope(V), slope(model.solve(model.collect(X)).centers)
    assert np.abs(after).max() < 1e-7 * np.abs(before).max()


@settings(max_examples=20)
@given(seeds, alphas, betas)
def test_new_prototypes_and_new_metrics_are_optimal(seed, alpha, beta):
    X, V, random = make_samples(seed, n_features=2)
    model = make_model(X, V, metric="adaptive", alpha=alpha, beta=beta)
    model = model.solve(model.collect(X))
    masses = model.assign(X)
    better = model.solve(model.collect(X))

    def value(prototypes, S):
        return objective(X, prototypes, S, masses, model.focal_sets, alpha, beta, 5.0)

    with_old_metrics, with_new_metrics = (value(better.centers, S) for S in (model.metrics, better.metrics))
    assert with_new_metrics <= with_old_metrics <= value(model.centers, model.metrics)
    for _ in range(5):
        assert with_old_metrics <= value(better.centers + 0.01 * random.standard_normal((3, 2)), model.metrics)
        bent = better.metrics + 0.01 * random.standard_normal((3, 1, 1)) * better.metrics @ better.metrics
        bent /= np.sqrt(np.abs(np.linalg.det(bent)))[:, None, None]
        assert with_new_metrics <= value(better.centers, bent) * (1 + 1e-12)


def test_a_fit_with_a_small_tolerance_ends_at_a_fixed_point():
    X, _ = make_fourclass(300, random_state=0)
    for metric in ("euclidean", "adaptive"):
        model = papers.ecm(
            4,
            metric=AdaptiveMetric(0) if metric == "adaptive" else metric,
            tol=1e-15,
            max_iter=5000,
            random_state=0,
        ).fit(X)
        assert model.converged_
        start = make_model(X, model.cluster_centers_, metric=metric, delta=model.delta_)
        if metric == "adaptive":
            start = AdaptiveModel(start.costs, start.coordinates, start.prototypes, model.metrics_, 0.0)
        np.testing.assert_allclose(start.solve(start.collect(X)).centers, model.cluster_centers_, atol=1e-5)


@pytest.mark.parametrize("reg_covar", [0.1, 0.5, 0.9])
def test_a_fit_with_a_regularized_metric_ends_at_the_smallest_objective(reg_covar):
    # Such a metric is not optimal, so a step may increase the objective. Such a step is rejected and is the last.
    for seed in range(8):
        random = np.random.default_rng(seed)
        X = random.standard_normal((30, 2)) * [5, 0.3] + [0, 2] * random.integers(2, size=(30, 1))
        settings = {"metric": AdaptiveMetric(reg_covar), "init": "random", "tol": 0, "max_iter": 60}
        model = papers.ecm(2, **settings, delta=5.0, random_state=seed).fit(X)
        assert (np.diff(model.objective_history_) <= 0).all()
        S, delta = model.metrics_, model.delta_
        expected = objective(X, model.cluster_centers_, S, model.masses_, model.focal_sets_, 1.0, 2.0, delta)
        assert model.objective_ == model.objective_history_[-1] == pytest.approx(expected, rel=1e-9)


def test_a_regularized_metric_is_that_of_a_mixture_with_a_round_scatter():
    # A single cluster around the origin: the scatter is diag(8, 2); in units of its mean eigenvalue, diag(1.6,
    # 0.4).
    X = np.array([[2.0, 0], [-2, 0], [0, 1], [0, -1]])
    costs = SetCosts.ecm(FocalSets.full(1), alpha=1.0, beta=2.0, delta=5.0)
    for reg_covar, sizes in {0.0: [1.6, 0.4], 0.5: [1.3, 0.7], 0.25: [1.45, 0.55], 1.0: [1.0, 1.0]}.items():
        model = AdaptiveModel(costs, Coordinates(np.zeros(2), 0.5), np.zeros((1, 2)), np.eye(2)[None], reg_covar)
        sure = np.tile([0.0, 1.0], (4, 1))
        expected = np.sqrt(np.prod(sizes)) * np.diag(1 / np.array(sizes))
        np.testing.assert_allclose(model.solve(model.statistics_of(X, sure)).metrics[0], expected, atol=1e-12)


# Special cases


@settings(max_examples=20)
@given(seeds, betas, st.integers(0, 30))
def test_single_clusters_and_no_outliers_are_fuzzy_c_means(seed, beta, n_iter):
    X, V, _ = make_samples(seed)
    memberships, centers = fuzzy_c_means(X, V, beta, n_iter)
    model = make_model(X, V, beta=beta, delta=np.inf, focal_sets=FocalSets.singletons(3))
    for _ in range(n_iter):
        model = model.solve(model.collect(X))
    np.testing.assert_allclose(model.assign(X), memberships, rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.centers, centers, rtol=0, atol=1e-9)


def test_a_large_delta_is_nearly_an_infinite_one():
    X, V, _ = make_samples(0)
    settings = {"focal_sets": FocalSets.singletons(3), "init": V, "tol": 0, "max_iter": 200}
    memberships, centers = fuzzy_c_means(X, V, 2, 200)
    for delta, close in ((1e3, 1e-2), (1e6, 1e-8), (np.inf, 1e-8)):
        model = papers.ecm(3, delta=delta, **settings).fit(X)
        np.testing.assert_allclose(model.masses_, memberships, rtol=0, atol=close)
        np.testing.assert_allclose(model.cluster_centers_, centers, rtol=0, atol=close)


@settings(max_examples=20)
@given(seeds, betas, st.integers(1, 30), st.sampled_from([1.0, 3.0]))
def test_single_clusters_and_outliers_are_fuzzy_c_means_with_a_noise_cluster(seed, beta, n_iter, delta):
    X, V, _ = make_samples(seed)
    memberships, centers = fuzzy_c_means(X, V, beta, n_iter, noise=delta)
    focal_sets = FocalSets.singletons(3)
    model = papers.ecm(3, focal_sets=focal_sets, beta=beta, delta=delta, init=V, tol=0, max_iter=n_iter).fit(X)
    np.testing.assert_allclose(model.masses_, memberships, rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.cluster_centers_, centers, rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("metric", ["euclidean", "adaptive"])
@pytest.mark.parametrize("alpha", [60, 1000])
def test_a_large_alpha_leaves_no_mass_on_several_clusters(metric, alpha, dtype):
    X, V, _ = make_samples(0)
    model = papers.ecm(3, alpha=alpha, metric=metric, delta=5, init=V).fit(X.astype(dtype))
    is_set = model.focal_sets_.sizes > 1
    assert model.masses_[:, is_set].max() < 1e-14
    single = papers.ecm(3, focal_sets=FocalSets.singletons(3), metric=metric, delta=5, init=V).fit(X.astype(dtype))
    close = 1e-5 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(model.masses_[:, ~is_set], single.masses_, rtol=0, atol=close)


@settings(max_examples=20)
@given(seeds, betas, metrics)
def test_a_larger_alpha_leaves_less_mass_on_several_clusters_at_fixed_prototypes(seed, beta, metric):
    X, V, _ = make_samples(seed)
    is_set = FocalSets.full(3).sizes > 1
    shares = [
        make_model(X, V, metric=metric, alpha=alpha, beta=beta).assign(X)[:, is_set].sum(axis=1)
        for alpha in (0, 0.5, 1, 2, 5)
    ]
    assert (np.diff(shares, axis=0) <= 1e-12).all()


@settings(max_examples=20)
@given(seeds, betas, metrics)
def test_a_larger_delta_leaves_less_mass_on_the_empty_set_at_fixed_prototypes(seed, beta, metric):
    X, V, _ = make_samples(seed)
    empty = [
        make_model(X, V, metric=metric, beta=beta, delta=delta).assign(X)[:, 0]
        for delta in (0.1, 0.5, 1, 2, 5, 50)
    ]
    assert (np.diff(empty, axis=0) <= 0).all()
    assert (empty[0] > empty[-1]).all()


# Invariances


@settings(max_examples=20)
@given(seeds, betas, metrics)
@pytest.mark.slow
def test_permuting_samples_permutes_the_result(seed, beta, metric):
    X, _, random = make_samples(seed)
    order = random.permutation(len(X))
    settings = {
        "beta": beta,
        "metric": AdaptiveMetric(1e-3) if metric == "adaptive" else metric,
        "tol": 0,
        "max_iter": 10,
        "random_state": seed,
    }
    plain, permuted = (papers.ecm(3, **settings).fit(rows) for rows in (X, X[order]))
    np.testing.assert_allclose(permuted.masses_, plain.masses_[order], rtol=0, atol=1e-7)
    assert permuted.delta_ == plain.delta_


@settings(max_examples=20)
@given(seeds, betas, metrics, st.sampled_from([1e-3, 0.5, 7.0, 1e4]))
@pytest.mark.slow
def test_location_direction_and_unit_change_nothing(seed, beta, metric, unit):
    X, V, random = make_samples(seed)
    rotation = np.linalg.qr(random.standard_normal((3, 3)))[0]
    shift = 10 * random.standard_normal(3)
    settings = {
        "beta": beta,
        "metric": AdaptiveMetric(1e-3) if metric == "adaptive" else metric,
        "tol": 0,
        "max_iter": 10,
    }
    for delta in (4.0, "auto"):
        plain = papers.ecm(3, delta=delta, init=V, **settings).fit(X)
        scaled = delta if delta == "auto" else unit * delta
        transformed = papers.ecm(3, delta=scaled, init=unit * (V @ rotation + shift), **settings)
        transformed.fit(unit * (X @ rotation + shift))
        np.testing.assert_allclose(transformed.masses_, plain.masses_, rtol=0, atol=1e-7)
        np.testing.assert_allclose(
            transformed.cluster_centers_ / unit - shift, plain.cluster_centers_ @ rotation, atol=1e-6
        )
        assert transformed.objective_ == pytest.approx(unit**2 * plain.objective_, rel=1e-8)


@settings(max_examples=20)
@given(seeds, alphas, betas, st.booleans())
def test_adaptive_metrics_are_invariant_to_linear_maps_of_features(seed, alpha, beta, keeps_volume):
    X, _, random = make_samples(seed)
    masses = random.dirichlet(np.ones(8), size=len(X))
    A = random.standard_normal((3, 3)) + 2 * np.eye(3)
    volume = np.abs(np.linalg.det(A)) ** (1 / 3)
    if keeps_volume:
        A, volume = A / volume, 1.0
    paths = []
    for data, delta in ((X, 3.0), (X @ A.T, 3.0 * volume)):
        model = make_model(data, np.zeros((3, 3)), metric="adaptive", alpha=alpha, beta=beta, delta=delta)
        model = model.solve(model.statistics_of(data, masses))
        for _ in range(10):
            model = model.solve(model.collect(data))
        paths.append(model)
    np.testing.assert_allclose(paths[1].assign(X @ A.T), paths[0].assign(X), rtol=0, atol=1e-6)
    np.testing.assert_allclose(paths[1].centers, paths[0].centers @ A.T, rtol=0, atol=1e-5)


def test_adaptive_metrics_find_clusters_of_different_shapes():
    random = np.random.default_rng(0)
    long = random.standard_normal((200, 2)) * [6, 0.4]
    high = random.standard_normal((200, 2)) * [0.4, 6] + [14, 0]
    X, y = np.vstack([long, high]), np.repeat([0, 1], 200)
    plain, adaptive = (papers.ecm(2, metric=metric, random_state=0).fit(X) for metric in ("euclidean", "adaptive"))
    assert adjusted_rand_score(y, adaptive.labels_) > 0.95 > adjusted_rand_score(y, plain.labels_) + 0.1
    order = np.argsort(adaptive.cluster_centers_[:, 0])
    lengths = [np.diag(metric) for metric in adaptive.metrics_[order]]
    assert lengths[0][0] < 0.1 * lengths[0][1]
    assert lengths[1][1] < 0.1 * lengths[1][0]


# Weights


@settings(max_examples=20)
@given(seeds, betas, metrics, st.sampled_from(["kmeans", "random", "peaks"]))
@pytest.mark.slow
def test_a_weight_is_a_number_of_repetitions(seed, beta, metric, init):
    X, _, random = make_samples(seed)
    weights = random.integers(0, 4, size=len(X))
    settings = {"beta": beta, "metric": metric, "init": init, "tol": 0, "max_iter": 10, "random_state": seed}
    weighted = papers.ecm(3, **settings).fit(X, sample_weight=weights)
    repeated = papers.ecm(3, **settings).fit(np.repeat(X, weights, axis=0))
    assert weighted.delta_ == pytest.approx(repeated.delta_, rel=1e-12)
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, rtol=0, atol=1e-7)
    np.testing.assert_allclose(weighted.predict_mass(X).masses, repeated.predict_mass(X).masses, atol=1e-7)
    np.testing.assert_allclose(np.repeat(weighted.masses_, weights, axis=0), repeated.masses_, atol=1e-7)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "adaptive"])
def test_only_the_proportions_of_weights_matter(metric):
    X, _, random = make_samples(0)
    weights = random.uniform(0.5, 1, size=len(X))
    plain = papers.ecm(3, metric=metric, random_state=0).fit(X, sample_weight=weights / weights.mean())
    shares = papers.ecm(3, metric=metric, random_state=0).fit(X, sample_weight=weights / weights.sum())
    assert shares.delta_ == pytest.approx(plain.delta_, rel=1e-9)
    np.testing.assert_allclose(shares.masses_, plain.masses_, rtol=0, atol=1e-7)
    even = papers.ecm(3, metric=metric, random_state=0).fit(X, sample_weight=np.full(len(X), 1e-3))
    np.testing.assert_allclose(
        even.masses_, papers.ecm(3, metric=metric, random_state=0).fit(X).masses_, atol=1e-7
    )


# Starts and pairs


def test_the_distance_to_the_empty_set_is_a_quantile_of_the_distances():
    X, _ = make_blobs(300, centers=4, random_state=0)
    squares = cdist(X, X, "sqeuclidean")[~np.eye(300, dtype=bool)]
    expected = np.sqrt(np.quantile(squares, 0.95))
    assert papers.ecm(4, random_state=0).fit(X).delta_ == pytest.approx(expected, rel=1e-3)
    assert papers.ecm(4, delta=2, random_state=0).fit(X).delta_ == 2
    large, _ = make_blobs(30_000, centers=4, random_state=0)
    assert papers.ecm(4, random_state=0).fit(large).delta_ == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("init", ["kmeans", "random", "peaks"])
def test_every_start_finds_separate_clusters(init):
    X, y = make_fourclass(400, random_state=0)
    model = papers.ecm(4, init=init, n_init=3, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.65


@pytest.mark.slow
def test_more_starts_are_never_worse():
    X, _ = make_fourclass(400, random_state=0)
    settings = {"focal_sets": "simple", "random_state": 0}
    objectives = [papers.ecm(9, n_init=n, **settings).fit(X).objective_ for n in (1, 2, 8)]
    assert objectives[2] <= objectives[1] <= objectives[0]
    assert objectives[2] < objectives[0]


def test_the_result_depends_on_the_seed():
    X, _ = make_fourclass(400, random_state=0)
    settings = {"focal_sets": "simple", "init": "random", "max_iter": 2}
    first, repeated, other = (papers.ecm(9, random_state=seed, **settings).fit(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.masses_, repeated.masses_)
    assert np.abs(first.masses_ - other.masses_).max() > 0.01
    with_state = papers.ecm(9, random_state=np.random.RandomState(0), **settings).fit(X)
    np.testing.assert_array_equal(first.masses_, with_state.masses_)


@pytest.mark.parametrize("metric", ["euclidean", "adaptive"])
@pytest.mark.parametrize("include_omega", [True, False])
def test_neighboring_clusters_are_found_and_paired(metric, include_omega):
    random = np.random.default_rng(0)
    places = np.column_stack([[0.0, 4, 8, 12], np.zeros(4)])
    X = np.repeat(places, 60, axis=0) + 0.8 * random.standard_normal((240, 2))
    model = papers.ecm(
        4,
        focal_sets=FocalFamily("neighbor_pairs", include_omega=include_omega, n_neighbors=2),
        metric=metric,
        init=places,
    ).fit(X)
    sets = [(), (0,), (1,), (2,), (3,), (0, 1), (1, 2), (2, 3)] + [(0, 1, 2, 3)] * include_omega
    assert [tuple(focal_set) for focal_set in model.focal_sets_] == sets
    simple = papers.ecm(
        4, focal_sets="simple" if include_omega else FocalSets.singletons(4), metric=metric, init=places
    )
    assert model.objective_history_[0] <= simple.fit(X).objective_  # the second step continues with more sets
    np.testing.assert_array_equal(model.predict_mass(X).masses, model.masses_)


# Batches


@pytest.mark.parametrize("metric", ["euclidean", "adaptive"])
@pytest.mark.slow
def test_batches_lead_to_the_clusters_of_all_samples(metric):
    X, _ = make_fourclass(8000, random_state=0)
    X = np.random.default_rng(0).permutation(X)
    whole = papers.ecm(4, metric=metric, delta=4, n_init=3, random_state=0).fit(X)
    model = papers.ecm(4, metric=metric, delta=4, init=whole.cluster_centers_ + 0.5)
    distances = []
    for start in range(0, 8000, 400):
        model.partial_fit(X[start : start + 400])
        distances.append(np.abs(model.cluster_centers_ - whole.cluster_centers_).max())
    assert model.n_samples_seen_ == 8000
    assert 0.5 > distances[0] > distances[4] > distances[9]
    assert distances[19] < 0.45 * distances[0]  # 0.6 without forgetting
    assert adjusted_rand_score(whole.labels_, model.predict(X)) > 0.9
    np.testing.assert_allclose(model.predict_proba(X[:100]).sum(axis=1), 1, rtol=0, atol=1e-12)


def test_one_batch_is_one_iteration():
    X, V, _ = make_samples(0)
    weights = np.linspace(1, 2, len(X))
    portion = papers.ecm(3, init=V).partial_fit(X, sample_weight=weights)
    model = papers.ecm(3, init=V, max_iter=1, tol=0).fit(X, sample_weight=weights)
    np.testing.assert_allclose(portion.cluster_centers_, model.cluster_centers_, rtol=1e-13)
    assert portion.delta_ == model.delta_


@pytest.mark.parametrize("metric", ["euclidean", "adaptive"])
@pytest.mark.parametrize("weighted", [False, True])
def test_batches_continue_a_fit(metric, weighted, tmp_path):
    X, _ = make_fourclass(4000, random_state=0)
    X = np.random.default_rng(0).permutation(X)
    weights = np.linspace(1, 3, 4000) if weighted else None
    batch = slice(0, 2000)
    fit = papers.ecm(4, metric=metric, tol=1e-8, max_iter=1000, random_state=0)
    fit.fit(X[batch], sample_weight=None if weights is None else weights[batch])
    centers = fit.cluster_centers_
    # The same samples change nothing.
    repeated = copy.deepcopy(fit).partial_fit(X[batch], sample_weight=None if weights is None else weights[batch])
    np.testing.assert_allclose(repeated.cluster_centers_, centers, atol=2e-3)
    evlearn.save_model(fit, tmp_path / "model.json")
    loaded = evlearn.load_model(tmp_path / "model.json")
    # The prototypes follow clusters that move.
    for model in (fit, loaded):
        for start in range(2000, 4000, 500):
            portion = slice(start, start + 500)
            model.partial_fit(X[portion] + 1, sample_weight=None if weights is None else weights[portion])
    assert fit.n_samples_seen_ == 4000
    shifts = fit.cluster_centers_ - centers
    assert ((shifts > 0) & (shifts < 1)).all()
    np.testing.assert_array_equal(loaded.cluster_centers_, fit.cluster_centers_)


def test_batches_after_a_fit_can_have_missing_values():
    X, _, _ = make_samples(0)
    X_missing = np.array(X)
    X_missing[::5, 0] = np.nan
    model = papers.ecm(3, random_state=0).fit(X_missing)
    before = model.cluster_centers_
    model.partial_fit(X_missing)
    assert np.isfinite(model.cluster_centers_).all()
    assert np.abs(model.cluster_centers_ - before).max() < 0.5 * np.ptp(X)
    assert np.isfinite(model.predict_mass(X_missing).masses).all()


def test_later_batches_can_be_small():
    X, _, _ = make_samples(0)
    model = papers.ecm(3, random_state=0)
    model.partial_fit(X[:20])
    for k in range(20, 40):
        model.partial_fit(X[k : k + 1])
    assert model.n_samples_seen_ == 40
    assert np.isfinite(model.cluster_centers_).all()
    with pytest.raises(ValueError, match=r"2 features, .* expecting 3 features"):
        model.partial_fit(X[:5, :2])
    with pytest.raises(ValueError, match="sample_weight must be finite"):
        model.partial_fit(X[:5], sample_weight=np.full(5, -1.0))


def test_there_are_no_masses_after_partial_fit():
    X, _, _ = make_samples(0)
    model = papers.ecm(3, random_state=0).fit(X).partial_fit(X)
    for name in ("masses_", "labels_", "credal_partition_"):
        with pytest.raises(AttributeError, match=rf"no {name}: partial_fit stores sums over samples, but not"):
            getattr(model, name)
    for name in ("objective_", "objective_history_", "n_iter_", "converged_"):
        assert not hasattr(model, name)
    assert set(vars(model)) == set(vars(papers.ecm(3, random_state=0).partial_fit(X)))
    refitted = model.fit(X)
    assert refitted.n_samples_seen_ == len(X)
    np.testing.assert_array_equal(refitted.masses_, papers.ecm(3, random_state=0).fit(X).masses_)


def test_the_reason_for_missing_labels_is_correct(tmp_path):
    X, _, _ = make_samples(0)
    model = papers.ecm(3, random_state=0).fit([X[:20], X[20:]])
    with pytest.raises(AttributeError, match="no labels_: it is stored only for data in memory"):
        _ = model.labels_
    assert model.set_params(store_masses=tmp_path / "masses.parquet").fit(X).n_iter_
    with pytest.raises(AttributeError, match=r"no labels_: the masses are in .*masses\.parquet"):
        _ = model.labels_
    with pytest.raises(AttributeError, match="no labels_: partial_fit"):
        _ = model.partial_fit(X).labels_
    evlearn.save_model(papers.ecm(3, random_state=0).fit(X), tmp_path / "model.json")
    loaded = evlearn.load_model(tmp_path / "model.json")
    with pytest.raises(AttributeError, match="no labels_: it is not in the model file"):
        _ = loaded.labels_
    assert len(loaded.fit(X).labels_) == len(X)


def test_pairs_cannot_be_selected_from_batches():
    X, _, _ = make_samples(0)
    with pytest.raises(ValueError, match="focal_sets='neighbor_pairs' needs all samples at once"):
        papers.ecm(3, focal_sets="neighbor_pairs").partial_fit(X)


def test_an_outlier_and_a_sample_between_clusters_are_distinguished():
    summary = cluster.ECM(2, delta=5, random_state=0).fit(load_butterfly().data).credal_partition_.summary()
    assert (summary.n_sure, summary.n_torn, summary.n_outliers) == (10, 1, 1)
