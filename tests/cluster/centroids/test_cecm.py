"""Constrained evidential c-means: the solver of rows, and the estimator."""

import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from evlearn.kernels.simplex_qp import solve_many
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from evlearn import cluster, papers
from evlearn.belief import FocalSets
from evlearn.cluster import AdaptiveMetric
from evlearn.cluster.centroids.adaptive import AdaptiveModel
from evlearn.cluster.centroids.constrained_descent import (
    ConstrainedRows,
    best_rows,
    independent_groups,
    penalty_forms,
)
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
from evlearn.cluster.set_costs import SetCosts
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import load_butterfly, make_bananas, make_fourclass

METRICS = ["euclidean", "adaptive"]


@parametrize_with_checks([cluster.CECM(n_clusters=2, metric=metric) for metric in METRICS])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, PairwiseConstraints.sample(y, 60, random_state=0)


# The row problem


def objective(h, u, m):
    return (h * m**2 + u * m).sum(axis=1)


@given(st.integers(1, 12), st.integers(0, 2**31), st.sampled_from([1e-9, 1e-3, 1, 1e3, 1e9]), st.booleans())
def test_a_row_solution_is_that_of_the_general_solver(f, seed, scale, ties):
    random = np.random.default_rng(seed)
    h = random.exponential(size=(20, f)) + 0.01
    u = scale * random.standard_normal((20, f))
    if ties:
        h, u = np.ceil(h), scale * np.round(u / scale)
    other = random.dirichlet(np.ones(f), size=20)
    solve_many(np.stack([np.diag(2 * costs) for costs in h]), u, other)
    rows = best_rows(h, u)
    assert (rows >= 0).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-14)
    assert (objective(h, u, rows) <= objective(h, u, other) + 1e-12 * (1 + scale)).all()
    np.testing.assert_allclose(rows, other, rtol=0, atol=1e-6)


@given(st.integers(2, 8), st.integers(0, 2**31), st.sampled_from([0.1, 10, 1e6]))
def test_sets_without_cost_get_the_remaining_mass(f, seed, scale):
    random = np.random.default_rng(seed)
    h, u = random.exponential(size=(50, f)), scale * random.random((50, f))
    h[random.random((50, f)) < 0.4] = 0
    u = np.where(random.random((50, f)) < 0.3, u[:, :1], u)
    rows = best_rows(h, u)
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-14)
    # Optimality condition of a convex problem: no set has a lower gradient than those with mass.
    gradient = 2 * h * rows + u
    gap = (gradient * rows).sum(axis=1) - gradient.min(axis=1)
    assert (gap <= 1e-12 * (1 + scale)).all()


def test_sets_without_cost_share_equally():
    rows = best_rows(np.array([[4.0, 0, 0, 1]]), np.zeros((1, 4)))
    np.testing.assert_allclose(rows, [[0, 0.5, 0.5, 0]], rtol=0, atol=1e-100)
    # The slopes of both are 1 up to rounding; with a smaller slope, the last set gets half of the mass.
    rows = best_rows(np.array([[4.0, 0, 0, 1]]), np.array([[2.0, 1, 1 + 1e-16, 0]]))
    np.testing.assert_allclose(rows, [[0, 0.25, 0.25, 0.5]], rtol=1e-12)


def test_a_tiny_cost_loses_no_digits():
    rows = best_rows(np.array([[1e-25, 10, 10]]), np.array([[5.0, 0, 0]]))
    np.testing.assert_allclose(rows, [[0.5, 0.25, 0.25]], rtol=1e-12)


def test_rows_of_a_group_have_no_constraint_between_them():
    y = np.random.default_rng(0).integers(4, size=300)
    indptr, indices, _ = PairwiseConstraints.sample(y, 600, random_state=0).neighbors(300)
    groups = independent_groups(indptr, indices)
    np.testing.assert_array_equal(np.sort(np.concatenate(groups)), np.arange(300))
    for rows in groups:
        for row in rows:
            assert not np.isin(indices[indptr[row] : indptr[row + 1]], rows).any()


@pytest.mark.parametrize("kind", ["plausibility", "symmetric"])
def test_sweeps_end_where_no_row_alone_can_improve(kind):
    random = np.random.default_rng(0)
    focal_sets = FocalSets.full(3)
    constraints = PairwiseConstraints.sample(random.integers(3, size=40), 60, random_state=0)
    rows = ConstrainedRows.of(constraints, random.random((40, 2)), focal_sets, kind=kind, weight=0.7)
    costs = random.exponential(size=(len(rows.samples), 8))
    masses = random.dirichlet(np.ones(8), size=len(rows.samples))

    def value(masses):
        return (costs * masses**2).sum() + rows.penalty.value(masses)

    after = rows.descend(masses, costs)
    assert value(after) < value(masses)
    repeated = rows.descend(after, costs)
    assert value(after) - value(repeated) <= 1e-6 * value(repeated)
    for row in range(len(after)):
        for other in np.eye(8):
            changed = after.copy()
            changed[row] = 0.999 * after[row] + 0.001 * other
            assert value(changed) >= value(after) - 1e-6


@pytest.mark.parametrize("kind", ["plausibility", "symmetric"])
def test_a_constraint_costs_0_if_it_is_surely_satisfied_and_1_if_it_is_surely_violated(kind):
    must_link, cannot_link = penalty_forms(kind, FocalSets.full(2))  # ∅, {0}, {1}, Ω
    assert must_link[1, 1] == must_link[2, 2] == cannot_link[1, 2] == 0
    assert must_link[1, 2] == cannot_link[1, 1] == cannot_link[2, 2] == 1
    assert must_link[0, 0] == (0 if kind == "plausibility" else 0.5)  # with or without cost on the empty set
    np.testing.assert_array_equal(must_link, must_link.T)
    np.testing.assert_array_equal(cannot_link, cannot_link.T)
    assert ((must_link >= 0) & (must_link <= 1) & (cannot_link >= 0) & (cannot_link <= 1)).all()


# The estimator


def plain_iterations(X, prototypes, delta, n_iter, metric):
    """Run iterations of ECM by its formulas."""
    costs = SetCosts.ecm(FocalSets.full(len(prototypes)), alpha=1.0, beta=2.0, delta=delta)
    coordinates = Coordinates.of(X)
    model = EuclideanModel(costs, coordinates, coordinates.transform(prototypes))
    if metric == "adaptive":
        metrics = np.stack([np.eye(X.shape[1])] * len(prototypes))
        model = AdaptiveModel(costs, coordinates, model.prototypes, metrics, 1e-6)
    for _ in range(n_iter):
        model = model.solve(model.collect(X))
    return model.assign(X), model.centers


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("metric", METRICS)
def test_without_constraints_or_weight_it_is_ecm(iris, metric):
    X, _, constraints = iris
    masses, centers = plain_iterations(X, X[[0, 60, 120]], 3.0, 5, metric)
    for xi, given_constraints in ((0.5, None), (0.5, PairwiseConstraints()), (0, constraints)):
        model = papers.cecm(
            3, constraint_weight=xi, metric=metric, delta=3, init=X[[0, 60, 120]], tol=0, max_iter=5
        )
        model.fit(X, constraints=given_constraints)
        np.testing.assert_allclose(model.masses_, masses, rtol=0, atol=1e-12)
        np.testing.assert_allclose(model.cluster_centers_, centers, rtol=1e-12)
        assert model.penalty_ == 0


def test_a_fit_without_constraints_ends_where_that_of_ecm_does(iris):
    X, _, _ = iris
    cecm, ecm = papers.cecm(3, tol=1e-6, random_state=0).fit(X), papers.ecm(3, tol=1e-10, random_state=0).fit(X)
    assert cecm.delta_ == ecm.delta_
    assert cecm.objective_ == pytest.approx(0.5 / (150 * 8) * ecm.objective_, rel=1e-6)
    assert adjusted_rand_score(cecm.labels_, ecm.labels_) == 1


@pytest.mark.parametrize("penalty", ["plausibility", "symmetric"])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("focal_sets", ["simple", "pairs", "full"])
def test_the_objective_never_increases(iris, metric, penalty, focal_sets):
    X, _, constraints = iris
    model = papers.cecm(
        3,
        focal_sets=focal_sets,
        metric=AdaptiveMetric(0) if metric == "adaptive" else metric,
        penalty=penalty,
        init=X[:3],
        tol=1e-5,
    )
    history = model.fit(X, constraints=constraints).objective_history_
    assert len(history) == model.n_iter_ + 1
    assert (np.diff(history) <= 1e-9 * history[:-1]).all()
    assert model.objective_ == history[-1]
    np.testing.assert_allclose(model.masses_.sum(axis=1), 1, rtol=0, atol=1e-10)
    assert (model.masses_ >= 0).all()


@pytest.mark.parametrize("penalty", ["plausibility", "symmetric"])
@pytest.mark.parametrize("metric", METRICS)
def test_the_objective_matches_its_formula(iris, metric, penalty):
    X, _, constraints = iris
    model = papers.cecm(
        3, alpha=1.5, delta=4, constraint_weight=0.3, metric=metric, penalty=penalty, random_state=0
    )
    model.fit(X, constraints=constraints)
    M, F = model.masses_, model.focal_sets_.membership[1:].astype(float)
    size = F.sum(axis=1)
    differences = X[:, None] - F @ model.cluster_centers_ / size[:, None]
    metrics = model.metrics_ if metric == "adaptive" else np.stack([np.eye(4)] * 3)
    metrics = np.einsum("jk,kde->jde", F, metrics) / size[:, None, None]
    squares = np.einsum("njd,jde,nje->nj", differences, metrics, differences)
    ecm = (size**1.5 * M[:, 1:] ** 2 * squares).sum() + 16 * (M[:, 0] ** 2).sum()
    total = 0.0
    for pairs, form in zip(
        (constraints.must_link, constraints.cannot_link), penalty_forms(penalty, model.focal_sets_), strict=True
    ):
        total += sum(M[i] @ form @ M[j] for i, j in pairs)
    assert model.penalty_ == pytest.approx(0.3 / 60 * total, rel=1e-9)
    assert model.objective_ == pytest.approx(0.7 / (150 * 8) * ecm + model.penalty_, rel=1e-9)
    if metric == "adaptive":
        np.testing.assert_allclose(np.linalg.det(model.metrics_), 1, rtol=1e-9)
    else:
        assert not hasattr(model, "metrics_")


@pytest.mark.parametrize("metric", METRICS)
def test_an_infinite_delta_leaves_no_mass_on_the_empty_set(iris, metric):
    X, _, constraints = iris
    model = papers.cecm(3, delta=np.inf, metric=metric, random_state=0).fit(X, constraints=constraints)
    assert model.masses_[:, 0].max() < 1e-100
    assert np.isfinite(model.objective_)
    finite = papers.cecm(3, delta=1e9, metric=metric, random_state=0).fit(X, constraints=constraints)
    np.testing.assert_allclose(model.masses_, finite.masses_, rtol=0, atol=1e-6)


@pytest.mark.parametrize("penalty", ["plausibility", "symmetric"])
def test_a_larger_weight_satisfies_more_constraints(iris, penalty):
    X, _, constraints = iris
    forms = penalty_forms(penalty, FocalSets.full(3))
    costs = []
    for xi in (0, 0.01, 0.1, 0.5):
        M = (
            papers.cecm(3, constraint_weight=xi, penalty=penalty, random_state=0)
            .fit(X, constraints=constraints)
            .masses_
        )
        pairs_with_forms = zip((constraints.must_link, constraints.cannot_link), forms, strict=True)
        costs.append(
            sum(np.einsum("ij,jk,ik->", M[pairs[:, 0]], form, M[pairs[:, 1]]) for pairs, form in pairs_with_forms)
        )
    assert (np.diff(costs) < 0).all()
    assert costs[-1] < costs[0] / 5


def test_with_the_symmetric_penalty_samples_do_not_move_to_the_empty_set():
    X = np.array([[0.0], [1], [2], [10], [11], [12]])
    torn = PairwiseConstraints(must_link=[(0, 5)])
    plausibility_masses, symmetric_masses = (
        papers.cecm(2, penalty=penalty, constraint_weight=0.99, delta=3, random_state=0)
        .fit(X, constraints=torn)
        .masses_[[0, 5], 0]
        for penalty in ("plausibility", "symmetric")
    )
    assert plausibility_masses.max() > 0.9
    assert symmetric_masses.max() < plausibility_masses.max() / 2


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_constraints_help_on_average(metric):
    iris = load_iris(return_X_y=True)
    bananas = make_bananas(200, random_state=0)
    for (X, y), n_clusters, gain in ((iris, 3, 0.1), (bananas, 2, 0.05)):
        X = StandardScaler().fit_transform(X)
        scores = []
        for seed in range(5):
            constraints = PairwiseConstraints.sample(y, 100, random_state=seed)
            model = papers.cecm(n_clusters, metric=metric, random_state=seed)
            unconstrained_score = adjusted_rand_score(y, model.fit(X).labels_)
            scores.append(
                adjusted_rand_score(y, model.fit(X, constraints=constraints).labels_) - unconstrained_score
            )
        assert np.mean(scores) > gain


@pytest.mark.slow
def test_all_starts_lead_to_nearly_the_same_objective(iris):
    X, y, _ = iris
    constraints = PairwiseConstraints.sample(y, 100, random_state=1)
    fits = [papers.cecm(3, random_state=seed).fit(X, constraints=constraints).objective_ for seed in range(6)]
    assert np.ptp(fits) < 0.02 * min(fits)


@pytest.mark.parametrize("metric", METRICS)
def test_permuting_samples_permutes_the_result(iris, metric):
    X, _, constraints = iris
    order = np.random.default_rng(0).permutation(150)
    place = np.argsort(order)
    permuted_constraints = PairwiseConstraints(place[constraints.must_link], place[constraints.cannot_link])
    settings = {"metric": metric, "tol": 1e-9, "random_state": 0, "max_iter": 1000}
    plain = papers.cecm(3, **settings).fit(X, constraints=constraints)
    permuted = papers.cecm(3, **settings).fit(X[order], constraints=permuted_constraints)
    np.testing.assert_allclose(permuted.masses_, plain.masses_[order], rtol=0, atol=1e-6)


@pytest.mark.slow
@settings(max_examples=5)
@given(st.integers(0, 1000))
def test_translation_and_rotation_change_nothing(seed):
    random = np.random.default_rng(seed)
    X = random.standard_normal((40, 2)) + 3 * random.integers(2, size=(40, 1))
    constraints = PairwiseConstraints.sample(random.integers(2, size=40), 15, random_state=0)
    rotation = np.linalg.qr(random.standard_normal((2, 2)))[0]
    plain = papers.cecm(2, init=X[:2], tol=1e-8, max_iter=2000).fit(X, constraints=constraints)
    for transformed in (X @ rotation, X + 1e6):
        other = papers.cecm(2, init=transformed[:2], tol=1e-8, max_iter=2000).fit(
            transformed, constraints=constraints
        )
        np.testing.assert_allclose(other.masses_, plain.masses_, rtol=0, atol=1e-4)


@pytest.mark.parametrize("unit", [1e-3, 7.0, 1e5])
def test_in_another_unit_the_corresponding_weight_gives_the_same_masses(iris, unit):
    X, _, constraints = iris
    plain = papers.cecm(3, delta=4, constraint_weight=0.2, init=X[[0, 60, 120]]).fit(X, constraints=constraints)
    odds = 0.2 / 0.8 * unit**2
    model = papers.cecm(3, delta=4 * unit, constraint_weight=odds / (1 + odds), init=unit * X[[0, 60, 120]])
    model.fit(unit * X, constraints=constraints)
    np.testing.assert_allclose(model.masses_, plain.masses_, rtol=0, atol=1e-3)


def test_masses_of_adaptive_metrics_are_invariant_to_linear_maps_that_preserve_volumes(iris):
    X, _, constraints = iris
    mixing = np.random.default_rng(0).standard_normal((4, 4))
    mixing /= np.abs(np.linalg.det(mixing)) ** 0.25
    settings = {"metric": AdaptiveMetric(0), "delta": 3, "tol": 1e-8, "max_iter": 2000}
    plain = papers.cecm(3, init=X[[0, 60, 120]], **settings).fit(X, constraints=constraints)
    transformed = papers.cecm(3, init=plain.cluster_centers_ @ mixing, **settings).fit(
        X @ mixing, constraints=constraints
    )
    # The initial metrics are Euclidean in both fits, so the paths differ.
    assert transformed.objective_ == pytest.approx(plain.objective_, rel=0.02)
    assert adjusted_rand_score(transformed.labels_, plain.labels_) > 0.9


def test_identical_samples_with_the_same_constraints_have_identical_masses():
    X = np.repeat([[0.0, 0], [0.5, 0.3], [5, 5], [5.5, 5], [2.5, 2.6]], 3, axis=0)
    model = papers.cecm(2, random_state=0).fit(X, constraints=PairwiseConstraints([(0, 9), (1, 9), (2, 9)]))
    for start in range(0, 15, 3):
        rows = model.masses_[start : start + 3]
        if 9 not in range(start, start + 3):
            np.testing.assert_allclose(rows, np.tile(rows[0], (3, 1)), rtol=0, atol=1e-9)


def test_prediction_ignores_constraints_and_nothing_else(iris):
    X, _, constraints = iris
    model = papers.cecm(3, random_state=0).fit(X, constraints=constraints)
    predicted = model.predict_mass(X)
    bound = np.unique(np.concatenate([constraints.must_link, constraints.cannot_link]))
    free = np.setdiff1d(np.arange(150), bound)
    np.testing.assert_allclose(predicted.masses[free], model.masses_[free], rtol=0, atol=1e-15)
    assert np.abs(predicted.masses[bound] - model.masses_[bound]).max() > 0.1
    np.testing.assert_array_equal(model.predict(X), predicted.to_hard())
    remote = model.predict_mass(X[:1] + 100)
    assert remote.outliers().all()
    assert model.predict_set(X[:5]).any(axis=1).all()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits_and_more_starts_are_no_worse(iris):
    X, _, constraints = iris
    first, second = (papers.cecm(3, random_state=4).fit(X, constraints=constraints) for _ in range(2))
    np.testing.assert_array_equal(first.masses_, second.masses_)
    with_4_starts = papers.cecm(3, n_init=4, random_state=4).fit(X, constraints=constraints)
    assert with_4_starts.objective_ <= first.objective_


@pytest.mark.parametrize("init", ["random", "peaks"])
def test_other_starts_work_too(iris, init):
    X, y, constraints = iris
    model = papers.cecm(3, init=init, random_state=0).fit(X, constraints=constraints)
    assert adjusted_rand_score(y, model.labels_) > 0.6


def test_frames_of_any_kind_are_accepted(iris):
    X, _, constraints = iris
    plain = papers.cecm(3, random_state=0).fit(X, constraints=constraints)
    names = list("abcd")
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = papers.cecm(3, random_state=0).fit(frame, constraints=constraints)
        np.testing.assert_allclose(model.masses_, plain.masses_, rtol=0, atol=1e-12)
        assert model.feature_names_in_.tolist() == names
        assert model.predict_mass(frame).n_samples == 150
    rows = pd.DataFrame(X, index=[f"row {k}" for k in range(150)])
    model = papers.cecm(3, random_state=0).fit(rows)
    assert model.credal_partition_.sample_names[3] == "row 3"
    assert model.predict_mass(rows).sample_names[3] == "row 3"
    single = papers.cecm(3, random_state=0).fit(X.astype(np.float32), constraints=constraints)
    assert single.masses_.dtype == np.float32
    np.testing.assert_allclose(single.masses_, plain.masses_, rtol=0, atol=0.01)


def test_it_works_in_a_pipeline(iris):
    X, y, constraints = iris
    model = make_pipeline(StandardScaler(), papers.cecm(3, random_state=0))
    model.fit(X, cecm__constraints=constraints)
    assert adjusted_rand_score(y, model[-1].labels_) > 0.6


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((10, 2)),
        np.repeat([[0.0, 0.0], [5.0, 5.0], [9.0, 0.0]], 10, axis=0),
        np.column_stack([np.arange(12.0), np.ones(12)]),
        np.arange(6.0).reshape(3, 2),
        np.full((30, 2), 1e6) + np.random.default_rng(0).standard_normal((30, 2)),
        1e-100 * np.random.default_rng(0).standard_normal((30, 2)),
    ],
    ids=["one point", "duplicates", "a constant column", "as many clusters", "far from the origin", "tiny"],
)
def test_degenerate_data_give_valid_masses(X, metric):
    constraints = PairwiseConstraints([(0, 1)], [(1, 2)])
    for n_clusters in (1, 2, 3):
        model = papers.cecm(n_clusters, metric=metric, random_state=0).fit(X, constraints=constraints)
        assert np.isfinite(model.masses_).all()
        assert np.isfinite(model.objective_)
        np.testing.assert_allclose(model.masses_.sum(axis=1), 1, rtol=0, atol=1e-10)
        assert len(model.cluster_centers_) == n_clusters


def test_with_as_many_clusters_as_samples_each_sample_has_a_prototype():
    X = np.arange(8.0).reshape(4, 2) ** 2
    model = papers.cecm(4, focal_sets="simple", random_state=0).fit(X)
    assert len(set(model.labels_)) == 4
    constrained = papers.cecm(4, focal_sets="simple", init=X).fit(X, constraints=PairwiseConstraints([(0, 1)]))
    assert np.isfinite(constrained.objective_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number of at least 1, got 0"),
        ({"n_clusters": 13}, "n_clusters=13 is more than n_samples=12"),
        ({"alpha": -1}, "alpha must be 'auto' or a number at least 0, got -1"),
        ({"delta": 0}, "delta must be 'auto' or a number above 0, got 0"),
        ({"delta": "large"}, r"delta must be 'auto' or a number above 0, got 'large'"),
        ({"constraint_weight": 1}, "constraint_weight must be below 1, got 1"),
        ({"constraint_weight": -0.1}, "constraint_weight must be a number at least 0 and at most 1, got -0.1"),
        ({"metric": "cosine"}, r"metric must be one of \['euclidean', 'adaptive'\], got 'cosine'"),
        ({"penalty": "none"}, r"penalty must be one of \['plausibility', 'symmetric'\], got 'none'"),
        (
            {"focal_sets": "some"},
            r"focal_sets must be one of \['auto', 'full', 'pairs', 'simple', 'neighbor_pairs'\]",
        ),
        ({"focal_sets": [(0, 1)]}, "lacks the single cluster 0"),
        ({"init": "guess"}, "init must be one of"),
        ({"init": np.eye(3)}, r"init must have shape \(2, 2\).* got shape \(3, 3\)"),
        ({"n_init": 0}, "n_init must be a whole number"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
        ({"tol": -1}, "tol must be a number at least 0"),
    ],
)
def test_invalid_parameters_are_reported_with_allowed_values(settings, message):
    with pytest.raises(ValueError, match=message):
        papers.cecm(**({"n_clusters": 2} | settings)).fit(load_butterfly().data)


def test_invalid_constraints_are_refused_with_the_reason():
    X = load_butterfly().data
    with pytest.raises(ValueError, match=r"must_link has the pair \(0, 99\), but there are 12 samples"):
        papers.cecm(2).fit(X, constraints=PairwiseConstraints([(0, 99)]))
    with pytest.raises(ValueError, match="keep a pair in one of them only"):
        papers.cecm(2).fit(X, constraints=PairwiseConstraints([(0, 1)], [(1, 0)]))
    with pytest.raises(TypeError, match=r"must be PairwiseConstraints, got list; use PairwiseConstraints\("):
        papers.cecm(2).fit(X, constraints=[(0, 1)])
    with pytest.raises(NotFittedError):
        papers.cecm(2).predict(X)


def test_cyclic_contradictions_of_constraints_are_not_refused():
    X = load_butterfly().data
    ring = PairwiseConstraints(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)])
    model = papers.cecm(2, random_state=0).fit(X, constraints=ring)
    assert model.penalty_ > 0
    np.testing.assert_allclose(model.masses_.sum(axis=1), 1, rtol=0, atol=1e-10)


def test_progress_is_reported_when_asked_for(iris, capsys):
    X, _, constraints = iris
    model = papers.cecm(3, verbose=1, random_state=0).fit(X, constraints=constraints)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("CECM iteration    1   objective 0.")


def test_too_few_iterations_are_reported(iris):
    X, _, constraints = iris
    with pytest.warns(ConvergenceWarning, match="after max_iter=1 iterations; raise max_iter or tol") as records:
        model = papers.cecm(3, init=X[:3], max_iter=1).fit(X, constraints=constraints)
    assert not model.converged_
    assert records[0].filename == __file__


@pytest.mark.slow
def test_an_interrupted_fit_keeps_the_state_so_far():
    code = (
        "from evlearn.cluster import CECM\n"
        "from evlearn.constraints import PairwiseConstraints\n"
        "from evlearn.datasets import make_bananas\n"
        "X, y = make_bananas(3000, random_state=0)\n"
        "known = PairwiseConstraints.sample(y, 3000, random_state=0)\n"
        "model = CECM(2, init=X[:2], tol=0, max_iter=10**6, verbose=1).fit(X, constraints=known)\n"
        "print('kept', model.n_iter_, model.converged_, len(model.labels_))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/"
    )
    for line in process.stdout:
        if "iteration    5" in line:
            process.send_signal(signal.SIGINT)
            break
    out, err = process.communicate(timeout=60)
    assert "False 3000" in out.splitlines()[-1]
    assert "interrupted after" in err


@pytest.mark.parametrize("stage", ["the start", "the schedule"])
def test_an_interrupt_before_the_first_iteration_keeps_a_state_too(iris, stage, monkeypatch):
    X, _, constraints = iris
    solved = []

    def solve(self, statistics):
        solved.append(1)
        if len(solved) == 4:
            raise KeyboardInterrupt
        return original(self, statistics)

    original = EuclideanModel.solve
    monkeypatch.setattr(EuclideanModel, "solve", solve)
    model = papers.cecm(3, init="kmeans" if stage == "the start" else X[[0, 60, 120]], n_init=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="interrupted after 0 iterations"):
        model.fit(X, constraints=constraints)
    assert not model.converged_
    assert model.objective_history_.tolist() == [model.objective_]


@pytest.mark.timing
def test_a_fit_of_2000_samples_with_2000_constraints_is_fast():
    X, y = make_fourclass(2000, random_state=0)
    constraints = PairwiseConstraints.sample(y, 2000, random_state=0)
    start = time.process_time()
    model = papers.cecm(4, random_state=0).fit(X, constraints=constraints)
    assert time.process_time() - start < 10
    assert adjusted_rand_score(y, model.labels_) > adjusted_rand_score(y, papers.cecm(4).fit(X).labels_) + 0.05
