"""Evidential c-medoids: samples that stand for clusters and for sets of these."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from evlearn import watching
from evlearn.cluster import ECMdd
from evlearn.datasets import make_fourclass
from evlearn.exceptions import CollapseWarning

cut_off = pytest.mark.filterwarnings("ignore:the medoids still changed:sklearn.exceptions.ConvergenceWarning")
pytestmark = pytest.mark.filterwarnings("ignore::evlearn.exceptions.CollapseWarning")
seeds = st.integers(0, 10_000)
kinds = st.sampled_from(["single", "weighted", "median"])


@parametrize_with_checks(
    [
        ECMdd(n_clusters=2),
        ECMdd(n_clusters=2, medoids="weighted", n_init=2),
        ECMdd(n_clusters=2, medoids="median"),
    ]
)
@cut_off
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    random = np.random.default_rng(0)
    y = np.arange(120) % 3
    return np.array([[0.0, 0], [9, 0], [4, 8]])[y] + random.standard_normal((120, 2)), y


def some_objects(seed, n_samples=30):
    random = np.random.default_rng(seed)
    return random.standard_normal((n_samples, 3)) + 4 * random.integers(3, size=(n_samples, 1))


@pytest.mark.parametrize("focal_sets", ["full", "pairs", "simple"])
def test_it_finds_the_clusters_and_objects_in_their_middle(blobs, focal_sets):
    X, y = blobs
    model = ECMdd(3, focal_sets=focal_sets, n_init=5, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    np.testing.assert_allclose(model.masses_.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert sorted(y[model.medoid_indices_[:3]]) == [0, 1, 2]
    for medoid in model.medoid_indices_[:3]:
        assert np.linalg.norm(X[medoid] - X[y == y[medoid]].mean(axis=0)) < 1
    assert model.objective_ == model.objective_history_[1:].min()
    assert not hasattr(model, "prototype_weights_")


def test_weights_of_weighted_medoids_sum_to_one(blobs):
    X, _ = blobs
    model = ECMdd(3, medoids="weighted", n_init=5, random_state=0).fit(X)
    assert model.prototype_weights_.shape == (7, 120)
    np.testing.assert_allclose(model.prototype_weights_.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert (model.prototype_weights_ >= 0).all()
    np.testing.assert_array_equal(model.medoid_indices_, model.prototype_weights_.argmax(axis=1))


@cut_off
@settings(max_examples=20)
@given(seeds, st.sampled_from([0.0, 1.0, 2.0]), st.sampled_from([1.5, 2.0, 3.0]))
def test_single_medoids_are_what_their_formulas_say(seed, alpha, beta):
    X = some_objects(seed)
    tau = pairwise_distances(X)
    model = ECMdd(3, alpha=alpha, beta=beta, eta=0.7, gamma=1.3, delta=2, random_state=0).fit(X)
    F, v = model.focal_sets_.membership[1:], model.medoid_indices_
    d = np.empty((len(X), 7))
    for j, members in enumerate(F):
        near = tau[:, v[:3][members]]
        if members.sum() == 1:
            d[:, j] = near[:, 0]
            continue
        best = near.var(axis=1) + 0.7 * near.mean(axis=1)
        assert best[v[j]] == pytest.approx(best.min(), rel=1e-9)
        d[:, j] = (tau[:, v[j]] + 1.3 * near.mean(axis=1)) / 2.3
    costs = np.hstack([np.full((len(X), 1), 4.0), F.sum(axis=1) ** alpha * d])
    powers = np.maximum(costs, 1e-100) ** (-1 / (beta - 1))
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.masses_, expected, rtol=0, atol=1e-9)
    assert model.objective_ == pytest.approx((model.masses_**beta * costs).sum(), rel=1e-9)


@cut_off
@settings(max_examples=20)
@given(seeds, st.sampled_from([0.0, 1.0]), st.sampled_from([1.5, 2.0]), st.sampled_from([1.0, 50.0]))
def test_the_median_is_what_its_formulas_say(seed, alpha, beta, size):
    X = some_objects(seed) * size
    tau = pairwise_distances(X)
    options = {"alpha": alpha, "beta": beta, "eta": 0.7, "gamma": 0.4, "delta": 2 * size}
    model = ECMdd(3, medoids="median", random_state=0, **options).fit(X)
    F, v = model.focal_sets_.membership[1:], model.medoid_indices_
    assert v.shape == (3,)
    squares = np.empty((len(X), 7))
    for j, members in enumerate(F):
        near, medoids = tau[:, v[members]], v[members]
        if len(medoids) == 1:
            squares[:, j] = near[:, 0] ** 2
            continue
        unlike = sum(np.abs(near[:, k] - near[:, m]) for k in range(len(medoids)) for m in range(len(medoids)))
        rho = unlike / (0.7 * tau[np.ix_(medoids, medoids)].sum())
        squares[:, j] = (0.4 * (near**2).mean(axis=1) + rho * near.min(axis=1)) / 1.4
    costs = np.hstack([np.full((len(X), 1), 4.0 * size**2), F.sum(axis=1) ** alpha * squares])
    powers = np.maximum(costs, 1e-100) ** (-1 / (beta - 1))
    np.testing.assert_allclose(model.masses_, powers / powers.sum(axis=1, keepdims=True), rtol=0, atol=1e-9)
    assert model.objective_ == pytest.approx((model.masses_**beta * costs).sum(), rel=1e-9)
    assert model.delta_ == pytest.approx(2 * size)


def test_the_median_tears_samples_that_are_as_far_from_two_clusters(blobs):
    X, _ = blobs
    model = ECMdd(3, medoids="median", alpha=1, gamma=0.3, random_state=0).fit(X)
    first, second, third = X[model.medoid_indices_]
    along, across = (first + second) / 2, np.array([second[1] - first[1], first[0] - second[0]])
    away = along - np.sign((third - along) @ across) * 0.3 * across  # as far from both, and not between them
    for one in (along, away):
        masses = model.predict_mass([one])
        assert set(np.array(list(model.focal_sets_), dtype=object)[masses.masses.argmax()]) == {0, 1}


@cut_off
@settings(max_examples=20)
@given(seeds, st.sampled_from([1.5, 2.0]))
def test_weighted_medoids_are_what_their_formulas_say(seed, psi):
    X = some_objects(seed)
    tau = pairwise_distances(X)
    model = ECMdd(3, medoids="weighted", psi=psi, xi=3, delta=2, beta=2.0, init=[0, 1, 2]).fit(X)
    V = model.prototype_weights_
    for j, members in enumerate(model.focal_sets_.membership[1:]):
        if members.sum() > 1:
            some = V[:3][members]
            raw = some.min(axis=0) ** 3 / (some.var(axis=0) + 1e-12)
            np.testing.assert_allclose(V[j], raw / raw.sum(), rtol=1e-6, atol=1e-12)
    size = model.focal_sets_.membership[1:].sum(axis=1)
    costs = np.hstack([np.full((len(X), 1), 4.0), size**2 * (tau @ (V**psi).T)])
    expected = (1 / costs) / (1 / costs).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.masses_, expected, rtol=0, atol=1e-9)


@cut_off
@settings(max_examples=20)
@given(seeds, kinds, st.sampled_from([1.5, 2.0]))
def test_with_single_clusters_only_it_is_fuzzy_c_medoids_and_never_gets_worse(seed, medoids, beta):
    X = some_objects(seed)
    own = {"focal_sets": "simple", "include_omega": False, "delta": np.inf, "beta": beta}
    model = ECMdd(3, medoids=medoids, init=[0, 1, 2], **own).fit(X)
    assert (model.masses_[:, 0] == 0).all()
    history = model.objective_history_
    assert (np.diff(history) <= 1e-9 * history[:-1]).all()
    tau = pairwise_distances(X)
    if medoids != "weighted" and model.converged_:
        scores = (model.masses_[:, 1:] ** beta).T @ (tau**2 if medoids == "median" else tau)
        np.testing.assert_allclose(scores[range(3), model.medoid_indices_], scores.min(axis=1), rtol=1e-9)


@cut_off
@settings(max_examples=20)
@given(seeds, kinds)
def test_prediction_of_training_objects_is_the_fit(seed, medoids):
    X = np.repeat(some_objects(seed, 15), 2, axis=0)
    model = ECMdd(3, medoids=medoids, metric="manhattan").fit(X)
    np.testing.assert_allclose(model.predict_mass(X).masses, model.masses_, rtol=0, atol=1e-12)
    D = pairwise_distances(X, metric="manhattan")
    square = ECMdd(3, medoids=medoids, metric="precomputed").fit(D)
    np.testing.assert_allclose(square.masses_, model.masses_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(square.predict_mass(D[3:5]).masses, model.masses_[3:5], rtol=0, atol=1e-12)


@cut_off
@pytest.mark.parametrize("medoids", ["single", "weighted", "median"])
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((10, 2)),
        np.repeat([[0.0, 0.0], [5.0, 5.0]], 10, axis=0),
        np.array([[0.0], [1.0], [3.0]]),
        np.vstack([np.random.default_rng(0).standard_normal((40, 2)), [[1e6, 0]]]),
        np.random.default_rng(0).standard_normal((40, 2)) * 1e150,
        np.random.default_rng(0).standard_normal((40, 2)) * 1e-150,
    ],
    ids=["one place", "two places", "three samples", "far out", "huge", "tiny"],
)
def test_awkward_data_give_valid_masses(X, medoids):
    model = ECMdd(3, medoids=medoids, n_init=3, random_state=0).fit(X)
    assert np.isfinite(model.masses_).all()
    np.testing.assert_allclose(model.masses_.sum(axis=1), 1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.predict_mass(X).masses, model.masses_, rtol=0, atol=1e-9)
    assert model.delta_ > 0


@cut_off
@pytest.mark.parametrize("medoids", ["single", "weighted", "median"])
def test_one_result_whatever_the_threads_and_more_starts_are_never_worse(blobs, medoids):
    X, _ = blobs
    fits = [ECMdd(3, medoids=medoids, n_init=4, n_jobs=n_jobs, random_state=1).fit(X) for n_jobs in (None, 2)]
    np.testing.assert_array_equal(fits[1].masses_, fits[0].masses_)
    assert fits[0].objective_ <= ECMdd(3, medoids=medoids, random_state=1).fit(X).objective_


def test_the_first_medoids_are_central_and_far_apart():
    X = np.array([[0.0], [1], [2], [10], [-20]])
    with pytest.warns(ConvergenceWarning, match="the medoids still changed after max_iter=1 iterations"):
        ECMdd(3, max_iter=1).fit(X)
    model = ECMdd(3, init=[1, 3, 4]).fit(X)
    assert sorted(model.medoid_indices_[:3]) == [1, 3, 4]


def test_new_objects_are_judged_sensibly(blobs):
    X, _ = blobs
    model = ECMdd(3, n_init=5, random_state=0, delta=2).fit(X)
    new = model.predict_mass([[0, 0], [900, 900]])
    assert new.to_rough()[0].sum() == 1
    assert new.outliers().tolist() == [False, True]


def test_frames_and_pipelines_are_accepted(blobs):
    X = blobs[0][:60]
    plain = ECMdd(3, random_state=0).fit(X)
    for frame in (pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame(X, schema=["a", "b"])):
        model = ECMdd(3, random_state=0).fit(frame)
        np.testing.assert_array_equal(model.masses_, plain.masses_)
        np.testing.assert_array_equal(model.predict(frame), plain.labels_)
    pipeline = make_pipeline(StandardScaler(), ECMdd(3)).fit(X)
    np.testing.assert_array_equal(pipeline.predict(X), pipeline[-1].labels_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number of at least 1, got 0"),
        ({"n_clusters": 13}, "n_clusters=13 needs at least as many samples, and there are n_samples=12"),
        ({"medoids": "median", "eta": 0}, "eta"),
        ({"medoids": "two"}, r"medoids must be one of \['single', 'weighted', 'median'\], got 'two'"),
        ({"focal_sets": "some"}, "focal_sets must be one of"),
        ({"beta": 1}, "beta must be 'auto' or a number above 1, got 1"),
        ({"psi": 1}, "psi must be a number above 1, got 1"),
        ({"delta": 0}, "delta must be 'auto' or a number above 0, got 0"),
        ({"init": "best"}, r"init must be one of \['hard', 'spread', 'random'\], got 'best'"),
        (
            {"init": [0, 1]},
            r"init must be 'hard', 'spread', 'random' or 3 numbers of samples, got an array",
        ),
        ({"init": [0, 1, 1]}, r"init must name different samples from 0 to 11, got \[0, 1, 1\]"),
        ({"metric": "precomputed"}, "X must be a square matrix"),
    ],
)
def test_wrong_parameters_are_named_with_what_is_allowed(settings, message):
    with pytest.raises(ValueError, match=message):
        ECMdd(**settings).fit(np.random.default_rng(0).standard_normal((12, 2)))
    with pytest.raises(NotFittedError):
        ECMdd().predict([[0.0, 0.0]])


def test_an_interrupt_keeps_the_best_so_far():
    def stop(progress):
        if progress.done == 2:
            raise KeyboardInterrupt

    X, _ = make_fourclass(100, random_state=0)
    with watching(stop), pytest.warns(ConvergenceWarning, match="interrupted after 2 iterations"):
        model = ECMdd(4, medoids="weighted", tol=0).fit(X)
    assert model.n_iter_ == 2
    np.testing.assert_allclose(model.masses_.sum(axis=1), 1)


def test_weights_need_no_nearest_set():
    # With xi=0 the smallest score does not count, also if it is zero.
    model = ECMdd(2, medoids="weighted", xi=0, random_state=0).fit([[1.0, 1.0], [2.0, 2.0]])
    assert np.isfinite(model.masses_).all()


@cut_off
def test_the_best_medoids_of_a_search_are_kept_and_not_the_last():
    # Weighted medoids of dissimilarities without any order: the objective falls at first and rises again.
    for seed in range(4):
        apart = np.triu(np.random.default_rng(seed).uniform(size=(12, 12)), k=1)
        apart += apart.T
        model = ECMdd(
            2, medoids="weighted", metric="precomputed", beta=2.0, init="spread", tol=0, max_iter=30
        ).fit(apart)
        assert model.objective_ == model.objective_history_[1:].min() < model.objective_history_[-1]
        np.testing.assert_allclose(model.predict_mass(apart).masses, model.masses_, rtol=0, atol=1e-12)


@cut_off
@pytest.mark.parametrize("medoids", ["single", "weighted", "median"])
@pytest.mark.parametrize(("n_features", "n_clusters"), [(2, 4), (10, 4), (20, 6)])
def test_every_cluster_has_a_medoid_of_its_own_in_any_dimension(n_features, n_clusters, medoids):
    random = np.random.RandomState(n_features)
    centres = random.standard_normal((n_clusters, n_features))
    centres *= 6 / pairwise_distances(centres)[np.triu_indices(n_clusters, k=1)].min()
    y = np.repeat(np.arange(n_clusters), 50)
    X = centres[y] + random.standard_normal((len(y), n_features))
    model = ECMdd(n_clusters, medoids=medoids, random_state=0).fit(X)
    assert len(set(model.medoid_indices_[:n_clusters].tolist())) == n_clusters
    assert adjusted_rand_score(y, model.labels_) > 0.85
    assert 1.1 <= model.beta_ <= 2


@pytest.mark.filterwarnings("always::evlearn.exceptions.CollapseWarning")
def test_medoids_that_clusters_share_are_said():
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 10, axis=0)
    with pytest.warns(CollapseWarning, match="n_clusters=3 were asked for, and only 2 different medoids"):
        ECMdd(3, random_state=0).fit(X)


def test_more_sets_than_memory_holds_are_refused_with_what_to_do():
    X = np.random.default_rng(0).normal(size=(300, 2))
    with pytest.raises(ValueError, match=r"300 samples x 1,048,576 focal sets .*focal_sets='simple'"):
        ECMdd(20).fit(X)
