import multiprocessing
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from evlearn.belief import FocalSets
from evlearn.cluster import EVCLUS, FocalFamily, Quantile
from evlearn.constraints import PairwiseConstraints
from evlearn.constraints.pairwise import Penalty
from evlearn.datasets import load_butterfly, make_bananas, make_fourclass
from evlearn.exceptions import CollapseWarning
from evlearn.utils.parameters import with_switches
from strategies import checks_of_classifiers

SOLVERS = ["exact", "stochastic", "landmark"]


@parametrize_with_checks(
    [EVCLUS(n_clusters=2, solver=solver) for solver in SOLVERS],
    expected_failed_checks=checks_of_classifiers,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    return make_fourclass(600, random_state=0)


@pytest.mark.parametrize("solver", SOLVERS)
def test_all_solvers_find_the_clusters_and_set_the_attributes(blobs, solver):
    X, y = blobs
    model = EVCLUS(4, solver=solver, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.75
    assert model.credal_partition_.n_clusters == 4
    np.testing.assert_allclose(model.masses_.sum(axis=1), 1, rtol=0, atol=1e-10)
    assert (model.masses_ >= 0).all()
    assert len(model.objective_history_) == model.n_iter_ + 1
    assert model.d0_ > 0
    assert len(model.conflict_) == len(model.transformed_dissimilarities_) <= 50_000
    assert model.stress(X, random_state=0) < 0.05
    np.testing.assert_array_equal(model.predict(X[:5]), model.predict_proba(X[:5]).argmax(axis=1))
    assert model.predict_set(X[:5]).any(axis=1).all()


def test_pairs_of_the_stress_are_not_those_of_the_fit_even_with_its_seed(blobs):
    X, _ = blobs
    model = EVCLUS(4, n_partners=20, random_state=0).fit(X)
    assert model.stress(X, n_pairs=6000, random_state=0) > 1.02 * model.stress_


@pytest.mark.slow
def test_other_solvers_reach_nearly_the_stress_of_the_exact_solver(blobs):
    X, _ = blobs
    exact = EVCLUS(4, random_state=0).fit(X).stress(X, random_state=1)
    assert EVCLUS(4, solver="stochastic", random_state=0).fit(X).stress(X, random_state=1) < 1.05 * exact
    landmark = EVCLUS(4, solver="landmark", n_landmarks=200, random_state=0).fit(X)
    assert landmark.stress(X, random_state=1) < 1.15 * exact


@pytest.mark.parametrize("n_partners", ["all", 20])
@pytest.mark.parametrize("focal_sets", ["simple", "pairs", "full"])
def test_the_objective_never_increases(blobs, focal_sets, n_partners):
    model = EVCLUS(4, focal_sets=focal_sets, n_partners=n_partners, init="random", random_state=0).fit(blobs[0])
    history = model.objective_history_
    assert (np.diff(history) <= 1e-9 * history[:-1]).all()


def test_the_objective_matches_its_formula(blobs):
    X = blobs[0][::10]
    for loss in ("stress", "mse"):
        model = EVCLUS(4, loss=loss, random_state=0).fit(X)
        i, j = np.triu_indices(len(X), k=1)
        assert 0 < model.d1_ < model.d0_
        squares = np.maximum(pairwise_distances(X)[i, j] ** 2 - model.d1_**2, 0)
        delta = 1 - np.exp(np.log(0.05) * squares / (model.d0_**2 - model.d1_**2))
        conflict = np.einsum("ij,jk,ik->i", model.masses_[i], model.focal_sets_.conflict_matrix, model.masses_[j])
        squares = (delta**2).sum() if loss == "stress" else len(i)
        assert model.objective_ == pytest.approx(((conflict - delta) ** 2).sum() / squares, rel=1e-9)
        assert model.stress_ == model.objective_


def test_conflicts_of_known_masses_are_reproduced():
    random = np.random.RandomState(0)
    focal_sets = FocalSets.simple(3)
    masses = random.dirichlet(np.full(5, 0.2), size=80)
    conflict = masses @ focal_sets.conflict_matrix @ masses.T
    np.fill_diagonal(conflict, 0)
    model = EVCLUS(
        3,
        metric="precomputed",
        dissimilarity_transform=lambda d: d,
        tol=1e-7,
        max_iter=5000,
        n_init=3,
        random_state=0,
    )
    assert model.fit(conflict).objective_ < 1e-6


def test_features_and_their_distances_give_the_same_bits(blobs):
    X = blobs[0][::5]
    D = cdist(X, X)
    direct = EVCLUS(4, random_state=0).fit(X)
    precomputed = EVCLUS(4, metric="precomputed", random_state=0).fit(D)
    np.testing.assert_array_equal(direct.masses_, precomputed.masses_)
    np.testing.assert_allclose(
        precomputed.predict_mass(D[:4]).masses, direct.predict_mass(X[:4]).masses, atol=1e-6
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.slow
def test_the_result_does_not_depend_on_the_number_of_threads(blobs, solver):
    X, _ = blobs
    fits = [EVCLUS(4, solver=solver, n_init=2, n_jobs=n_jobs, random_state=3).fit(X) for n_jobs in (1, 2)]
    np.testing.assert_array_equal(fits[0].masses_, fits[1].masses_)
    np.testing.assert_array_equal(fits[0].predict_mass(X).masses, fits[1].predict_mass(X).masses)


@settings(max_examples=10)
@given(st.integers(0, 1000))
@pytest.mark.slow
def test_translation_rotation_and_scale_change_nothing(seed):
    random = np.random.default_rng(seed)
    X = random.standard_normal((30, 2)) + 4 * random.integers(2, size=(30, 1))
    rotation = np.linalg.qr(random.standard_normal((2, 2)))[0]
    plain = EVCLUS(2, random_state=0, tol=1e-10).fit(X)
    rotated = EVCLUS(2, random_state=0, tol=1e-10).fit(X @ rotation + 100)
    np.testing.assert_allclose(rotated.masses_, plain.masses_, rtol=0, atol=1e-4)
    larger = EVCLUS(2, random_state=0, tol=1e-10).fit(1000 * X)
    np.testing.assert_allclose(larger.masses_, plain.masses_, rtol=0, atol=1e-4)


def test_permuting_samples_permutes_the_result_from_corresponding_starts():
    random = np.random.RandomState(0)
    X, _ = make_fourclass(80, random_state=0)
    start = random.dirichlet(np.ones(6), size=80)
    order = random.permutation(80)
    settings = {"tol": 1e-12, "max_iter": 3000}
    plain = with_switches(EVCLUS(4, init=start, **settings), shuffle=False).fit(X)
    # Sweeps visit samples in another order, so the fits take different paths to the same minimum.
    permuted = with_switches(EVCLUS(4, init=plain.masses_[order], **settings), shuffle=False).fit(X[order])
    np.testing.assert_allclose(permuted.masses_, plain.masses_[order], rtol=0, atol=1e-4)


def test_prediction_of_training_samples_agrees_with_the_fit(blobs):
    X, _ = blobs
    model = EVCLUS(4, random_state=0).fit(X[:400])
    predicted = model.predict_mass(X[:400])
    assert adjusted_rand_score(model.labels_, predicted.to_hard()) > 0.98
    assert np.abs(predicted.masses - model.masses_).mean() < 0.01
    landmark = EVCLUS(4, solver="landmark", random_state=0).fit(X)
    np.testing.assert_array_equal(landmark.predict_mass(X).masses, landmark.masses_)


def test_masses_of_new_samples_are_plausible():
    model = EVCLUS(2, d0=11, focal_sets="full", random_state=0).fit(load_butterfly().data)
    new = model.predict_mass([[-3.5, 0.1], [0, 0.2], [3.5, -0.1], [40, 40]])
    rough = new.to_rough()
    assert rough[0].sum() == rough[2].sum() == 1
    assert (rough[0] != rough[2]).all()
    assert rough[1].all()
    assert new.outliers().tolist() == [False, False, False, True]


def test_frames_of_any_kind_are_accepted(blobs):
    X = blobs[0][:60]
    plain = EVCLUS(4, random_state=0).fit(X)
    for frame in (pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame(X, schema=["a", "b"])):
        model = EVCLUS(4, random_state=0).fit(frame)
        np.testing.assert_array_equal(model.masses_, plain.masses_)
        assert model.feature_names_in_.tolist() == ["a", "b"]
    rows = pd.DataFrame(X, index=[f"row {k}" for k in range(60)])
    model = EVCLUS(4, random_state=0).fit(rows)
    assert model.credal_partition_.sample_names[3] == "row 3"
    assert model.predict_mass(rows).sample_names[3] == "row 3"
    assert plain.credal_partition_.sample_names is None
    single = EVCLUS(4, random_state=0, solver="landmark").fit(X.astype(np.float32))
    assert single.masses_.dtype == np.float32


def test_it_works_in_a_pipeline(blobs):
    X, y = blobs
    labels = make_pipeline(StandardScaler(), EVCLUS(4, random_state=0)).fit_predict(X)
    assert adjusted_rand_score(y, labels) > 0.75


@pytest.mark.filterwarnings("ignore::evlearn.exceptions.CollapseWarning")  # too few partners for 4 clusters
@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "cosine"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_other_metrics_work_with_sampled_pairs_and_prediction(blobs, metric, solver):
    X = blobs[0][:100] + 10
    model = EVCLUS(4, metric=metric, solver=solver, n_partners=10, random_state=0).fit(X)
    assert model.predict_mass(X[:3]).n_samples == 3


@pytest.mark.parametrize("transform", ["linear", "rank", lambda d: d / (1 + d)])
def test_other_transforms_find_the_clusters_too(blobs, transform):
    X, y = blobs
    model = EVCLUS(4, dissimilarity_transform=transform, random_state=0).fit(X[::2])
    assert adjusted_rand_score(y[::2], model.labels_) > 0.6
    assert ((model.transformed_dissimilarities_ >= 0) & (model.transformed_dissimilarities_ <= 1)).all()


def test_neighboring_clusters_are_found_and_paired():
    random = np.random.default_rng(0)
    X = np.column_stack([np.repeat([0.0, 4, 8, 12], 60), np.zeros(240)]) + random.standard_normal((240, 2)) * 0.8
    for solver in ("exact", "landmark"):
        model = EVCLUS(
            4,
            focal_sets=FocalFamily("neighbor_pairs", n_neighbors=2),
            d0=Quantile(0.6),
            solver=solver,
            random_state=0,
        ).fit(X)
        pairs = {frozenset(subset) for subset in model.focal_sets_ if len(subset) == 2}
        order = np.argsort([X[model.labels_ == k, 0].mean() for k in range(4)])
        assert pairs == {frozenset(map(int, order[k : k + 2])) for k in range(3)}


@pytest.mark.parametrize(
    ("settings", "switches"), [({}, {}), ({"n_partners": 20}, {}), ({"n_partners": 20}, {"pair_update": "own"})]
)
def test_the_average_of_the_papers_takes_more_sweeps_to_a_lower_objective(blobs, settings, switches):
    model = EVCLUS(4, tol=1e-4, init="random", random_state=0, **settings)
    last = clone(with_switches(model, **switches)).fit(blobs[0][::2])
    average = with_switches(model, stopping="average").fit(blobs[0][::2])
    assert average.converged_
    assert average.n_iter_ >= 14  # the average starts at 1, and decreases by half at most
    if not switches:  # otherwise sweeps may increase the objective
        assert average.n_iter_ > last.n_iter_
        assert average.objective_ < last.objective_


def test_constraints_influence_the_selection_of_the_scale():
    X, y = load_iris(return_X_y=True)
    model = EVCLUS(3, random_state=0)
    lists = [None, *(PairwiseConstraints.sample(y, number, random_state=0) for number in (15, 200))]
    scales = [model.fit(X, constraints=pairs).d0_ for pairs in lists]
    assert scales[1] == scales[0]  # too few constraints between the samples
    assert scales[2] < scales[0]


def test_an_explicit_scale_is_that_of_the_papers(blobs):
    X = blobs[0][::10]
    distances = pairwise_distances(X)[np.triu_indices(len(X), k=1)]
    model = EVCLUS(4, d0=Quantile(0.9), random_state=0).fit(X)
    assert model.d0_ == pytest.approx(np.quantile(distances, 0.9))
    assert model.d1_ == 0
    model = EVCLUS(4, d0=5, random_state=0).fit(X)
    assert (model.d0_, model.d1_) == (5, 0)


@pytest.mark.parametrize("n_clusters", [5, 9, 16, 25])
@pytest.mark.slow
def test_any_number_of_clusters_is_found_by_default(n_clusters):
    random = np.random.RandomState(n_clusters)
    side = int(np.ceil(np.sqrt(n_clusters)))
    centers = 6.0 * np.array([(k // side, k % side) for k in range(n_clusters)])
    y = np.repeat(np.arange(n_clusters), 30)
    X = centers[y] + random.standard_normal((len(y), 2))
    model = EVCLUS(n_clusters, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95


def test_clusters_of_very_different_sizes_are_found_by_default():
    random = np.random.RandomState(0)
    y = np.repeat(np.arange(6), [400, 400, 40, 40, 40, 40])
    X = 10.0 * np.array([(0, 0), (0, 1), (3, 0), (3, 1), (4, 0), (4, 1)])[y] + random.standard_normal((len(y), 2))
    model = EVCLUS(6, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95


@pytest.mark.parametrize("n_features", [2, 10, 20])
def test_one_cloud_has_few_outliers_and_few_sure_samples_in_three_clusters(n_features):
    X = np.random.RandomState(0).standard_normal((500, n_features))
    model = EVCLUS(3, random_state=0).fit(X)
    assert (model.masses_[:, 0] >= 0.5).mean() <= 0.05
    assert (model.masses_[:, 1:4].max(axis=1) >= 2 / 3).mean() < 0.5


@pytest.mark.parametrize("n_features", [2, 5, 10, 20])
def test_samples_halfway_between_clusters_are_not_sure_in_any_dimension(n_features):
    random = np.random.RandomState(n_features)
    centers = np.zeros((3, n_features))
    centers[1, 0], centers[2, :2] = 5, (2.5, 5)
    y = np.repeat(np.arange(3), 100)
    middle = random.standard_normal((20, n_features))
    middle[:, 0] = 2.5
    model = EVCLUS(3, random_state=0).fit(
        np.vstack([centers[y] + random.standard_normal((300, n_features)), middle])
    )
    beliefs = model.masses_[:, 1:4].max(axis=1) / (1 - model.masses_[:, 0])
    assert (beliefs[300:] < 2 / 3).mean() >= 0.9
    assert (beliefs[:300] < 2 / 3).mean() < 0.3
    assert adjusted_rand_score(y, model.labels_[:300]) > 0.9


def test_texts_with_similar_distances_are_clustered_by_default():
    random = np.random.RandomState(0)
    words = 1 / np.arange(1.0, 1001)
    topics = words * np.exp(1.5 * random.standard_normal((4, 1000)))
    y = random.randint(4, size=400)
    shares = 0.5 * words / words.sum() + 0.5 * (topics / topics.sum(axis=1, keepdims=True))[y]
    X = np.log1p([random.multinomial(80, share / share.sum()) for share in shares])
    model = EVCLUS(4, metric="cosine", random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.8
    assert (model.masses_[:, 0] >= 0.5).mean() <= 0.05


@pytest.mark.parametrize("solver", SOLVERS)
def test_empty_clusters_are_reported(solver):
    X = np.repeat([[0.0, 0], [0, 9]], 50, axis=0)
    with pytest.warns(CollapseWarning, match="of 3 clusters, some hold one sample or none"):
        EVCLUS(3, solver=solver, random_state=0).fit(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # fewer pairs than masses
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((10, 2)),
        np.repeat([[0.0, 0.0], [5.0, 5.0]], 10, axis=0),
        np.column_stack([np.arange(12.0), np.ones(12)]),
        np.array([[0.0], [1.0]]),
        np.array([[0.0, 1e300], [1.0, -1e-300], [2.0, 0]]) * [1, 1e-150],
        np.full((30, 2), 1e6) + np.random.default_rng(0).standard_normal((30, 2)),
    ],
    ids=["one place", "duplicates", "a constant column", "two samples", "extreme", "far from the origin"],
)
def test_degenerate_data_give_valid_masses(X, solver):
    model = EVCLUS(3, solver=solver, focal_sets="full", n_partners=5, random_state=0).fit(X)
    assert np.isfinite(model.masses_).all()
    np.testing.assert_allclose(model.masses_.sum(axis=1), 1, rtol=0, atol=1e-10)


def test_identical_samples_have_nearly_identical_masses():
    X = np.repeat(np.array([[0.0, 0], [0.5, 0.2], [6, 6], [6.3, 6], [3, 3.1]]), 4, axis=0)
    model = EVCLUS(2, random_state=0, tol=1e-10).fit(X)
    for start in range(0, 20, 4):
        assert np.ptp(model.masses_[start : start + 4], axis=0).max() < 0.05


def test_constraints_change_the_clusters():
    X, y = make_bananas(300, random_state=0)
    plain = EVCLUS(2, focal_sets="full", random_state=0).fit(X)
    constraints = PairwiseConstraints.sample(y, 300, random_state=0)
    informed = EVCLUS(2, focal_sets="full", random_state=0).fit(X, constraints=constraints)
    assert adjusted_rand_score(y, informed.labels_) > adjusted_rand_score(y, plain.labels_) + 0.3
    assert len(constraints.violations(informed.labels_)) < len(constraints.violations(plain.labels_)) / 4
    without_weight = EVCLUS(2, focal_sets="full", constraint_weight=0, random_state=0).fit(
        X, constraints=constraints
    )
    np.testing.assert_array_equal(without_weight.masses_, plain.masses_)


def test_a_larger_weight_gives_a_smaller_penalty():
    X, y = make_bananas(120, random_state=1)
    constraints = PairwiseConstraints.sample(y, 60, random_state=0)
    penalties = []
    for weight in (0, 0.05, 0.5):
        model = EVCLUS(2, constraint_weight=weight, random_state=0).fit(X, constraints=constraints)
        penalties.append(Penalty.of(constraints, 1, model.focal_sets_).value(model.masses_))
    assert (np.diff(penalties) < 0).all()
    certain = np.eye(4)[1 + y]
    assert Penalty.of(constraints, 1, FocalSets.simple(2)).value(certain) == 0


def test_asymmetric_dissimilarities_are_averaged_with_a_warning():
    D = pairwise_distances(load_butterfly().data)
    skewed = D * (1 + 0.1 * np.triu(np.ones_like(D)))
    with pytest.warns(UserWarning, match="not symmetric"):
        model = EVCLUS(2, metric="precomputed", random_state=0).fit(skewed)
    expected = EVCLUS(2, metric="precomputed", random_state=0).fit((skewed + skewed.T) / 2)
    np.testing.assert_array_equal(model.masses_, expected.masses_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number of at least 1, got 0"),
        ({"n_clusters": True}, "n_clusters must be a whole number"),
        ({"solver": "magic"}, r"solver must be one of \['exact', 'stochastic', 'landmark'\], got 'magic'"),
        ({"d0": -1}, "d0 must be 'auto' or a number above 0, got -1"),
        ({"n_partners": 0}, "n_partners must be a whole number of at least 1"),
        ({"n_partners": "some"}, "n_partners must be one of"),
        ({"n_partners": [[1], [0]]}, r"a row for each of the 12 samples, got an array of int64 of shape \(2, 1\)"),
        ({"n_partners": np.zeros((12, 1), dtype=int)}, "lists sample 0 as a partner of itself"),
        ({"focal_sets": "half"}, "focal_sets must be one of .* got 'half'"),
        ({"focal_sets": 3}, "focal_sets must be one of"),
        ({"focal_sets": [(0, 1)]}, r"lacks the single cluster 0; .* add \(0,\)"),
        ({"focal_sets": FocalSets.full(3)}, "focal_sets is on 3 clusters but n_clusters is 2"),
        ({"init": "guess"}, "init must be one of"),
        ({"init": np.eye(4)}, r"init must have shape \(12, 4\), .* got shape \(4, 4\)"),
        ({"tol": -1}, "tol must be a number at least 0"),
        ({"loss": "abs"}, "loss must be one of"),
        ({"dissimilarity_transform": "square"}, "dissimilarity_transform must be one of"),
        (
            {"dissimilarity_transform": lambda d: d + 5},
            "dissimilarity_transform must return values between 0 and 1",
        ),
        ({"solver": "stochastic", "focal_sets": "neighbor_pairs"}, "needs solver='exact' or 'landmark'"),
    ],
)
def test_invalid_parameters_are_reported_with_allowed_values(settings, message):
    with pytest.raises(ValueError, match=message):
        EVCLUS(**({"n_clusters": 2} | settings)).fit(load_butterfly().data)


def test_invalid_data_are_refused_with_the_reason():
    X = load_butterfly().data
    model = EVCLUS(2, metric="precomputed")
    with pytest.raises(ValueError, match=r"square matrix if metric='precomputed', got shape \(12, 2\)"):
        model.fit(np.abs(X))
    with pytest.raises(ValueError, match="negative dissimilarities"):
        model.fit(-pairwise_distances(X))
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.full((3, 3), np.inf))
    with pytest.raises(ValueError, match="infinity"):
        EVCLUS(2).fit([[0, np.inf], [1, 2]])
    with pytest.raises(NotFittedError):
        EVCLUS(2).predict(X)
    with pytest.raises(ValueError, match="99"):
        EVCLUS(2).fit(X, constraints=PairwiseConstraints([(0, 99)]))
    with pytest.raises(TypeError, match=r"must be PairwiseConstraints, got list; use PairwiseConstraints\("):
        EVCLUS(2).fit(X, constraints=[(0, 1)])
    for solver in ("stochastic", "landmark"):
        with pytest.raises(ValueError, match="constraints need solver='exact'"):
            EVCLUS(2, solver=solver).fit(X, constraints=PairwiseConstraints([(0, 1)]))
    with pytest.raises(ValueError, match="X has 3 samples but the model was fitted to 12"):
        EVCLUS(2, random_state=0).fit(X).stress(X[:3])


def test_progress_is_reported_when_asked_for(blobs, capsys):
    model = EVCLUS(4, random_state=0, init="random", verbose=1).fit(blobs[0])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("EVCLUS sweep    1   objective 0.")


def test_too_few_sweeps_are_reported(blobs):
    with pytest.warns(ConvergenceWarning, match="after max_iter=2 sweeps; raise max_iter or tol"):
        model = EVCLUS(4, init="random", max_iter=2, random_state=0).fit(blobs[0])
    assert not model.converged_


@pytest.mark.filterwarnings("ignore::evlearn.exceptions.CollapseWarning")  # too few partners for 6 clusters
@pytest.mark.slow
def test_a_stochastic_fit_reports_convergence_only_if_it_has_converged():
    # For noise with few partners, averages of 5 sweeps change by more than the tolerance.
    X = np.random.default_rng(0).standard_normal((60, 8))
    fits = [EVCLUS(6, solver="stochastic", n_partners=3, random_state=seed).fit(X) for seed in range(8)]
    long_fits = [model for model in fits if model.n_iter_ == 50]
    assert long_fits
    for model in long_fits:
        average, previous_average = model.objective_history_[-5:].mean(), model.objective_history_[-10:-5].mean()
        assert model.converged_ == (abs(previous_average - average) <= 1e-3 * previous_average)
    assert not all(model.converged_ for model in long_fits)


def test_masses_can_be_written_to_a_file(blobs, tmp_path):
    X = blobs[0].astype(np.float32)
    path = tmp_path / "masses.npy"
    model = EVCLUS(4, solver="landmark", store_masses=path, random_state=0).fit(X)
    np.testing.assert_array_equal(np.load(path), model.masses_)
    assert np.shares_memory(model.masses_, model.credal_partition_.masses)


@pytest.mark.slow
def test_a_fit_of_a_million_samples_with_landmarks_needs_little_memory():
    random = np.random.default_rng(0)
    X = random.standard_normal((1_000_000, 10), dtype=np.float32)
    X[:, 0] += 8 * random.integers(4, size=1_000_000)

    def fit(queue):
        import resource

        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        model = EVCLUS(4, solver="landmark", random_state=0).fit(X)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        queue.put((1024 * (after - before), model.masses_.nbytes))

    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=fit, args=(queue,))
    process.start()
    growth, masses = queue.get(timeout=120)
    process.join()
    assert growth < masses + 1e9


@pytest.mark.timing
def test_a_first_fit_in_a_new_process_is_quick():
    # CPU time relative to importing scikit-learn does not depend on slow machines and other processes.
    code = (
        "import time; begin = time.process_time(); import sklearn.cluster; start = time.process_time();"
        "from evlearn.cluster import EVCLUS; from evlearn.datasets import load_butterfly;"
        "EVCLUS(2, random_state=0).fit(load_butterfly().data);"
        "print((time.process_time() - start) / (start - begin))"
    )
    ratios = [
        float(subprocess.check_output([sys.executable, "-c", code], cwd="/", env=os.environ)) for _ in range(3)
    ]
    assert min(ratios) <= 0.32  # 0.4 seconds if scikit-learn needs 1.25


@pytest.mark.timing
def test_repeated_fits_do_not_slow_down():
    X = load_butterfly().data
    start = time.process_time()
    for seed in range(20):
        EVCLUS(2, random_state=seed).fit(X)
    assert time.process_time() - start < 5
