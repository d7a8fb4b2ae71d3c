"""Evidential c-medoids: samples that represent clusters and sets of clusters."""

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
from evlearn.cluster import ECMdd, FocalFamily, MedoidKind
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


def make_samples(seed, n_samples=30):
    random = np.random.default_rng(seed)
    return random.standard_normal((n_samples, 3)) + 4 * random.integers(3, size=(n_samples, 1))


@pytest.mark.parametrize("focal_sets", ["full", "pairs", "simple"])
def test_a_fit_finds_the_clusters_and_their_central_samples(blobs, focal_sets):
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
def test_single_medoids_match_their_formulas(seed, alpha, beta):
    X = make_samples(seed)
    tau = pairwise_distances(X)
    model = ECMdd(3, alpha=alpha, beta=beta, medoids=MedoidKind(eta=0.7, gamma=1.3), delta=2, random_state=0).fit(
        X
    )
    F, v = model.focal_sets_.membership[1:], model.medoid_indices_
    d = np.empty((len(X), 7))
    for j, members in enumerate(F):
        distances = tau[:, v[:3][members]]
        if members.sum() == 1:
            d[:, j] = distances[:, 0]
            continue
        scores = distances.var(axis=1) + 0.7 * distances.mean(axis=1)
        assert scores[v[j]] == pytest.approx(scores.min(), rel=1e-9)
        d[:, j] = (tau[:, v[j]] + 1.3 * distances.mean(axis=1)) / 2.3
    costs = np.hstack([np.full((len(X), 1), 4.0), F.sum(axis=1) ** alpha * d])
    powers = np.maximum(costs, 1e-100) ** (-1 / (beta - 1))
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.masses_, expected, rtol=0, atol=1e-9)
    assert model.objective_ == pytest.approx((model.masses_**beta * costs).sum(), rel=1e-9)


@cut_off
@settings(max_examples=20)
@given(seeds, st.sampled_from([0.0, 1.0]), st.sampled_from([1.5, 2.0]), st.sampled_from([1.0, 50.0]))
def test_median_medoids_match_their_formulas(seed, alpha, beta, size):
    X = make_samples(seed) * size
    tau = pairwise_distances(X)
    options = {"alpha": alpha, "beta": beta, "delta": 2 * size}
    model = ECMdd(3, medoids=MedoidKind("median", eta=0.7, gamma=0.4), random_state=0, **options).fit(X)
    F, v = model.focal_sets_.membership[1:], model.medoid_indices_
    assert v.shape == (3,)
    squares = np.empty((len(X), 7))
    for j, members in enumerate(F):
        distances, medoids = tau[:, v[members]], v[members]
        if len(medoids) == 1:
            squares[:, j] = distances[:, 0] ** 2
            continue
        difference = sum(
            np.abs(distances[:, k] - distances[:, m]) for k in range(len(medoids)) for m in range(len(medoids))
        )
        rho = difference / (0.7 * tau[np.ix_(medoids, medoids)].sum())
        squares[:, j] = (0.4 * (distances**2).mean(axis=1) + rho * distances.min(axis=1)) / 1.4
    costs = np.hstack([np.full((len(X), 1), 4.0 * size**2), F.sum(axis=1) ** alpha * squares])
    powers = np.maximum(costs, 1e-100) ** (-1 / (beta - 1))
    np.testing.assert_allclose(model.masses_, powers / powers.sum(axis=1, keepdims=True), rtol=0, atol=1e-9)
    assert model.objective_ == pytest.approx((model.masses_**beta * costs).sum(), rel=1e-9)
    assert model.delta_ == pytest.approx(2 * size)


def test_samples_equally_far_from_two_median_medoids_are_torn(blobs):
    X, _ = blobs
    model = ECMdd(3, medoids=MedoidKind("median", gamma=0.3), alpha=1, random_state=0).fit(X)
    first, second, third = X[model.medoid_indices_]
    middle, normal = (first + second) / 2, np.array([second[1] - first[1], first[0] - second[0]])
    side = middle - np.sign((third - middle) @ normal) * 0.3 * normal  # equally far from both, not between them
    for point in (middle, side):
        masses = model.predict_mass([point])
        assert set(np.array(list(model.focal_sets_), dtype=object)[masses.masses.argmax()]) == {0, 1}


@cut_off
@settings(max_examples=20)
@given(seeds, st.sampled_from([1.5, 2.0]))
@pytest.mark.slow
def test_weighted_medoids_match_their_formulas(seed, psi):
    X = make_samples(seed)
    tau = pairwise_distances(X)
    model = ECMdd(
        3,
        medoids=MedoidKind("weighted", weight_exponent=psi, joint_weight_exponent=3),
        delta=2,
        beta=2.0,
        init=[0, 1, 2],
    ).fit(X)
    V = model.prototype_weights_
    for j, members in enumerate(model.focal_sets_.membership[1:]):
        if members.sum() > 1:
            weights = V[:3][members]
            scores = weights.min(axis=0) ** 3 / (weights.var(axis=0) + 1e-12)
            np.testing.assert_allclose(V[j], scores / scores.sum(), rtol=1e-6, atol=1e-12)
    size = model.focal_sets_.membership[1:].sum(axis=1)
    costs = np.hstack([np.full((len(X), 1), 4.0), size**2 * (tau @ (V**psi).T)])
    expected = (1 / costs) / (1 / costs).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.masses_, expected, rtol=0, atol=1e-9)


@cut_off
@settings(max_examples=20)
@given(seeds, kinds, st.sampled_from([1.5, 2.0]))
def test_single_clusters_are_fuzzy_c_medoids_whose_objective_never_increases(seed, medoids, beta):
    X = make_samples(seed)
    parameters = {"focal_sets": FocalFamily("simple", include_omega=False), "delta": np.inf, "beta": beta}
    model = ECMdd(3, medoids=medoids, init=[0, 1, 2], **parameters).fit(X)
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
@pytest.mark.slow
def test_prediction_of_training_samples_is_the_fit(seed, medoids):
    X = np.repeat(make_samples(seed, 15), 2, axis=0)
    model = ECMdd(3, medoids=medoids, metric="manhattan").fit(X)
    np.testing.assert_allclose(model.predict_mass(X).masses, model.masses_, rtol=0, atol=1e-12)
    D = pairwise_distances(X, metric="manhattan")
    other = ECMdd(3, medoids=medoids, metric="precomputed").fit(D)
    np.testing.assert_allclose(other.masses_, model.masses_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(other.predict_mass(D[3:5]).masses, model.masses_[3:5], rtol=0, atol=1e-12)


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
def test_degenerate_data_give_valid_masses(X, medoids):
    model = ECMdd(3, medoids=medoids, n_init=3, random_state=0).fit(X)
    assert np.isfinite(model.masses_).all()
    np.testing.assert_allclose(model.masses_.sum(axis=1), 1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.predict_mass(X).masses, model.masses_, rtol=0, atol=1e-9)
    assert model.delta_ > 0


@cut_off
@pytest.mark.parametrize("medoids", ["single", "weighted", "median"])
def test_the_result_does_not_depend_on_threads_and_more_starts_are_never_worse(blobs, medoids):
    X, _ = blobs
    fits = [ECMdd(3, medoids=medoids, n_init=4, n_jobs=n_jobs, random_state=1).fit(X) for n_jobs in (None, 2)]
    np.testing.assert_array_equal(fits[1].masses_, fits[0].masses_)
    assert fits[0].objective_ <= ECMdd(3, medoids=medoids, random_state=1).fit(X).objective_


def test_initial_medoids_can_be_specified_and_too_few_iterations_are_reported():
    X = np.array([[0.0], [1], [2], [10], [-20]])
    with pytest.warns(ConvergenceWarning, match="the medoids still changed after max_iter=1 iterations"):
        ECMdd(3, max_iter=1).fit(X)
    model = ECMdd(3, init=[1, 3, 4]).fit(X)
    assert sorted(model.medoid_indices_[:3]) == [1, 3, 4]


def test_masses_of_new_samples_are_plausible(blobs):
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
        ({"n_clusters": 13}, "n_clusters=13 is larger than n_samples=12"),
        ({"medoids": "two"}, r"medoids must be one of \['single', 'weighted', 'median'\], got 'two'"),
        ({"focal_sets": "some"}, "focal_sets must be one of"),
        ({"beta": 1}, "beta must be 'auto' or a number above 1, got 1"),
        ({"delta": 0}, "delta must be 'auto' or a number above 0, got 0"),
        ({"init": "best"}, r"init must be one of \['hard', 'spread', 'random'\], got 'best'"),
        (
            {"init": [0, 1]},
            r"init must be 'hard', 'spread', 'random' or 3 sample indices, got an array",
        ),
        ({"init": [0, 1, 1]}, r"init must contain different sample indices from 0 to 11, got \[0, 1, 1\]"),
        ({"metric": "precomputed"}, "X must be a square matrix"),
    ],
)
def test_invalid_parameters_are_reported_with_allowed_values(settings, message):
    with pytest.raises(ValueError, match=message):
        ECMdd(**settings).fit(np.random.default_rng(0).standard_normal((12, 2)))
    with pytest.raises(NotFittedError):
        ECMdd().predict([[0.0, 0.0]])


def test_an_interrupted_fit_keeps_the_best_state_so_far():
    def stop(progress):
        if progress.n_done == 2:
            raise KeyboardInterrupt

    X, _ = make_fourclass(100, random_state=0)
    with watching(stop), pytest.warns(ConvergenceWarning, match="interrupted after 2 iterations"):
        model = ECMdd(4, medoids="weighted", tol=0).fit(X)
    assert model.n_iter_ == 2
    np.testing.assert_allclose(model.masses_.sum(axis=1), 1)


def test_the_joint_weight_exponent_can_be_0():
    # With an exponent of 0, the smallest weight has no effect, even if it is 0.
    model = ECMdd(2, medoids=MedoidKind("weighted", joint_weight_exponent=0), random_state=0).fit(
        [[1.0, 1.0], [2.0, 2.0]]
    )
    assert np.isfinite(model.masses_).all()


@cut_off
def test_the_result_is_the_best_and_not_the_last_state_of_a_search():
    # With weighted medoids of random dissimilarities, the objective decreases at first and then increases.
    for seed in range(4):
        D = np.triu(np.random.default_rng(seed).uniform(size=(12, 12)), k=1)
        D += D.T
        model = ECMdd(
            2, medoids="weighted", metric="precomputed", beta=2.0, init="spread", tol=0, max_iter=30
        ).fit(D)
        assert model.objective_ == model.objective_history_[1:].min() < model.objective_history_[-1]
        np.testing.assert_allclose(model.predict_mass(D).masses, model.masses_, rtol=0, atol=1e-12)


@cut_off
@pytest.mark.parametrize("medoids", ["single", "weighted", "median"])
@pytest.mark.parametrize(("n_features", "n_clusters"), [(2, 4), (10, 4), (20, 6)])
def test_clusters_have_different_medoids_in_any_dimension(n_features, n_clusters, medoids):
    random = np.random.RandomState(n_features)
    centers = random.standard_normal((n_clusters, n_features))
    centers *= 6 / pairwise_distances(centers)[np.triu_indices(n_clusters, k=1)].min()
    y = np.repeat(np.arange(n_clusters), 50)
    X = centers[y] + random.standard_normal((len(y), n_features))
    model = ECMdd(n_clusters, medoids=medoids, random_state=0).fit(X)
    assert len(set(model.medoid_indices_[:n_clusters].tolist())) == n_clusters
    assert adjusted_rand_score(y, model.labels_) > 0.85
    assert 1.1 <= model.beta_ <= 2


@pytest.mark.filterwarnings("always::evlearn.exceptions.CollapseWarning")
def test_clusters_with_the_same_medoid_are_reported():
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 10, axis=0)
    with pytest.warns(CollapseWarning, match="only 2 different medoids for n_clusters=3"):
        ECMdd(3, random_state=0).fit(X)


def test_masses_that_exceed_memory_are_refused_with_a_remedy():
    X = np.random.default_rng(0).normal(size=(300, 2))
    with pytest.raises(ValueError, match=r"300 samples x 1,048,576 focal sets .*focal_sets='simple'"):
        ECMdd(20).fit(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "mean"}, "name must be one of .* got 'mean'"),
        ({"name": "median", "eta": 0}, "eta must be a number above 0, got 0"),
        ({"gamma": -1}, "gamma must be a number at least 0, got -1"),
        ({"joint_weight_exponent": -1}, "joint_weight_exponent must be a number at least 0, got -1"),
        ({"weight_exponent": 1}, "weight_exponent must be a number above 1, got 1"),
    ],
)
def test_invalid_kinds_of_medoids_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        MedoidKind(**options)
