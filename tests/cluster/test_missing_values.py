"""Missing values as doubt: properties, kinds of frames, model files, and rejected data."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.utils import get_tags

import evlearn
from evlearn.belief import expand_masses
from evlearn.cluster import (
    BPEC,
    CCM,
    CECM,
    ECM,
    EVCLUS,
    RECM,
    SECM,
    BootClus,
    ECMdd,
    EKNNClus,
    FocalFamily,
    MergedMixture,
)
from evlearn.constraints import PairwiseConstraints
from evlearn.ensemble import CredalEnsemble
from evlearn.mixture.missing_values import COMPLETIONS, Conditional, Gaps

ESTIMATORS = {
    "ECM": ECM(3, random_state=0),
    "CCM": CCM(3, random_state=0),
    "EVCLUS": EVCLUS(3, random_state=0),
    "landmarks": EVCLUS(3, solver="landmark", n_landmarks=80, random_state=0),
    "RECM": RECM(3, random_state=0),
    "MergedMixture": MergedMixture(3, component_numbers=[3, 5], random_state=0),
    "BootClus": BootClus(3, covariance_models="EEE", n_bootstrap=20, random_state=0),
}
COMPLETE_ONLY = [BPEC(n_clusters=3), CECM(3), SECM(3), ECMdd(3), EKNNClus(), CredalEnsemble(ECM(3))]
#: Estimators whose fit compares all pairs of samples, and whose prediction compares only some of them.
FIT_BY_PAIRS = ("EVCLUS", "BootClus")
parametrize_estimators = pytest.mark.parametrize("name", ESTIMATORS)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def remove_values(X, share, seed=0):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


@pytest.fixture(scope="module")
def fitted(iris):
    """Fit each estimator to complete data and to data with missing values."""
    X, _ = iris
    X_missing = remove_values(X, 0.2)
    return {name: (clone(model).fit(X), clone(model).fit(X_missing)) for name, model in ESTIMATORS.items()}


@parametrize_estimators
def test_incomplete_samples_do_not_change_the_masses_of_complete_samples(fitted, iris, name):
    X, X_missing = iris[0], remove_values(iris[0], 0.1)
    complete = ~np.isnan(X_missing).any(axis=1)
    for model in fitted[name]:
        partition, part = model.predict_mass(X_missing), model.predict_mass(X[complete])
        expected = np.zeros((complete.sum(), partition.masses.shape[1]))
        expected[:, partition.focal_sets.positions(part.focal_sets.membership)] = part.masses
        np.testing.assert_array_equal(partition.masses[complete], expected)


@parametrize_estimators
def test_a_sample_without_values_has_all_mass_on_the_set_of_all_clusters(fitted, name):
    for model in fitted[name]:
        partition = model.predict_mass(np.full((2, 4), np.nan))
        assert partition.focal_sets.has_omega
        np.testing.assert_array_equal(partition.masses[:, -1], 1)
        assert model.predict_set(np.full((2, 4), np.nan)).all()


@parametrize_estimators
@pytest.mark.slow_cells("BootClus")
def test_doubt_increases_with_the_share_of_missing_values(fitted, iris, name):
    X = iris[0]
    # Values that are missing at a share are also missing at each larger share.
    order = np.random.default_rng(1).random(X.shape)
    for model in fitted[name]:
        doubts = [
            model.predict_mass(np.where(order < share, np.nan, X)).doubt().mean()
            for share in (0, 0.2, 0.4, 0.6, 1)
        ]
        assert (np.diff(doubts) > 0).all(), doubts
        assert doubts[-1] == 1


@parametrize_estimators
def test_a_fit_with_missing_values_recovers_the_clusters(fitted, iris, name):
    expected, partition = (model.credal_partition_ for model in fitted[name])
    assert adjusted_rand_score(expected.to_hard(), partition.to_hard()) > 0.6
    assert np.isfinite(partition.masses).all()
    np.testing.assert_allclose(partition.masses.sum(axis=1), 1)


@parametrize_estimators
def test_predicted_masses_of_incomplete_training_samples_are_those_of_the_fit(fitted, iris, name):
    model, X_missing = fitted[name][1], remove_values(iris[0], 0.2)
    rows = np.isnan(X_missing).any(axis=1)
    np.testing.assert_allclose(model.predict_mass(X_missing).masses[rows], model.masses_[rows], atol=1e-12)
    np.testing.assert_array_equal(model.predict(X_missing)[rows], model.labels_[rows])
    if name not in FIT_BY_PAIRS:
        np.testing.assert_allclose(model.predict_mass(X_missing).masses, model.masses_)


@parametrize_estimators
def test_the_order_of_features_does_not_matter(iris, name):
    # Noise removes ties, which rounding would break differently.
    X, order = iris[0] + np.random.default_rng(0).normal(scale=1e-3, size=iris[0].shape), [2, 0, 3, 1]
    X_missing = remove_values(X, 0.3)
    completed = Gaps.learn(X_missing, 3).completions(X_missing)
    np.testing.assert_allclose(
        Gaps.learn(X_missing[:, order], 3).completions(X_missing[:, order]), completed[..., order]
    )
    expected = clone(ESTIMATORS[name]).fit(X_missing).credal_partition_
    partition = clone(ESTIMATORS[name]).fit(X_missing[:, order]).credal_partition_
    # Only doubt is compared, because cluster numbers may differ. Automatic parameters depend on clouds, whose
    # coordinates are drawn in the order of features.
    np.testing.assert_allclose(partition.doubt(), expected.doubt(), atol=0.03)


@parametrize_estimators
@pytest.mark.slow
def test_all_kinds_of_frames_with_missing_values_give_the_same_masses(fitted, iris, name):
    reference, X = fitted[name][1], remove_values(iris[0], 0.2)
    expected, predicted = reference.masses_, reference.predict_mass(X).masses
    frame = pd.DataFrame(X, columns=list("abcd"))
    kinds = [
        frame,
        frame.astype("Float64"),
        frame.astype("Float64").convert_dtypes(),
        frame.astype(object).where(frame.notna(), None),
        pl.from_pandas(frame),
        X.tolist(),
    ]
    for kind in kinds:
        model = clone(ESTIMATORS[name]).fit(kind)
        np.testing.assert_allclose(model.masses_, expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(model.predict_mass(kind).masses, predicted, rtol=0, atol=1e-12)


@parametrize_estimators
def test_workers_and_single_precision_give_the_same_masses(fitted, iris, name):
    X_missing = remove_values(iris[0], 0.2)
    with parallel_config("threading"):
        model = clone(ESTIMATORS[name]).set_params(n_jobs=2).fit(X_missing)
    np.testing.assert_array_equal(model.masses_, fitted[name][1].masses_)
    single = fitted[name][1].predict_mass(X_missing.astype(np.float32))
    assert single.masses.dtype == np.float32
    np.testing.assert_allclose(single.masses, fitted[name][1].predict_mass(X_missing).masses, atol=4e-3)


@parametrize_estimators
def test_estimators_that_support_missing_values_have_the_tag(name):
    assert get_tags(ESTIMATORS[name]).input_tags.allow_nan


@parametrize_estimators
@pytest.mark.slow_cells("BootClus")
def test_a_model_file_contains_the_model_of_missing_values(fitted, iris, name, tmp_path):
    X_missing = remove_values(iris[0], 0.3, seed=5)
    for model in fitted[name]:
        evlearn.save_model(model, tmp_path / "model.json")
        loaded_model = evlearn.load_model(tmp_path / "model.json")
        np.testing.assert_array_equal(
            loaded_model.predict_mass(X_missing).masses, model.predict_mass(X_missing).masses
        )


@pytest.mark.parametrize("estimator", COMPLETE_ONLY, ids=lambda estimator: type(estimator).__name__)
def test_estimators_that_need_complete_samples_raise_an_error_with_a_remedy(iris, estimator):
    assert not get_tags(estimator).input_tags.allow_nan
    with pytest.raises(ValueError, match=r"contains NaN\. .* put an imputer such as .* accepts missing values"):
        clone(estimator).fit(remove_values(iris[0], 0.1))


def test_infinite_values_and_features_without_values_are_refused(iris):
    X = remove_values(iris[0], 0.1)
    X[3, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        ECM(3).fit(X)
    frame = pd.DataFrame(remove_values(iris[0], 0.1), columns=["a", "b", "c", "age"])
    frame["age"] = np.nan
    with pytest.raises(ValueError, match=r"NaN only in 1 of 4 features \('age'\).* remove them"):
        ECM(3).fit(frame)
    with pytest.raises(ValueError, match=r"NaN only in 1 of 4 features \(number 3\)"):
        ECM(3).fit(frame.to_numpy())


def test_batches_and_chunks_must_not_have_missing_values(iris):
    X = iris[0]
    with pytest.raises(ValueError, match="partial_fit needs complete samples"):
        ECM(3, random_state=0).partial_fit(remove_values(X, 0.1))
    with pytest.raises(ValueError, match="has no model of missing values"):
        ECM(3, random_state=0).partial_fit(X).predict_mass(remove_values(X, 0.1))
    with pytest.raises(ValueError, match="NaN or infinity"):
        ECM(3).fit([remove_values(X, 0.1), X])


def test_families_without_the_set_of_all_clusters_include_it_for_incomplete_samples(iris):
    X = iris[0]
    model = ECM(3, focal_sets=FocalFamily("simple", include_omega=False), random_state=0).fit(X)
    assert not model.focal_sets_.has_omega
    assert not model.predict_mass(X).focal_sets.has_omega
    assert model.predict_mass(remove_values(X, 0.1)).focal_sets.has_omega
    assert model.set_params(focal_sets=[[0], [1], [2]]).fit(remove_values(X, 0.1)).focal_sets_.has_omega


@parametrize_estimators
def test_focal_sets_of_predictions_vary_only_after_a_complete_fit_without_omega(fitted, iris, name):
    complete, X_missing = iris[0][:4], iris[0][:4].copy()
    X_missing[2, 1] = np.nan
    for model, has_missing_values in zip(fitted[name], (False, True), strict=True):
        family = model.focal_sets_
        assert model.predict_mass(complete).focal_sets == family
        masses = model.predict_mass(X_missing)
        assert masses.focal_sets == family.with_omega()
        if has_missing_values:
            assert masses.focal_sets == family
        parts = [model.predict_mass(X_missing[[row]]) for row in range(4)]
        stacked = [expand_masses(part.masses, part.focal_sets, family.with_omega()) for part in parts]
        np.testing.assert_allclose(np.vstack(stacked), masses.masses, atol=1e-12)


def test_an_outlier_with_a_missing_value_does_not_move_the_clusters():
    X = remove_values(make_blobs(300, random_state=0)[0], 0.1)
    model = ECM(3, random_state=0).fit(X)
    X_outlier = np.vstack([X, np.full((1, X.shape[1]), 1e9)])
    X_outlier[-1, 0] = np.nan
    with_outlier = ECM(3, random_state=0).fit(X_outlier)
    assert with_outlier.masses_[-1, 0] > 0.99
    order = np.argsort(model.cluster_centers_[:, 0])
    np.testing.assert_allclose(
        np.sort(with_outlier.cluster_centers_, axis=0), np.sort(model.cluster_centers_[order], axis=0), atol=0.3
    )


def test_many_features_are_completed_one_by_one():
    X = np.random.default_rng(0).normal(size=(60, 150)) + np.repeat([0, 3, 6], 20)[:, None]
    model = ECM(3, random_state=0).fit(remove_values(X, 0.3))
    assert adjusted_rand_score(np.repeat([0, 1, 2], 20), model.labels_) == 1


# Properties of completions


@given(st.integers(0, 10**6), st.floats(0.05, 0.9))
@settings(max_examples=30, deadline=None)
@pytest.mark.slow
def test_the_belief_of_a_sample_is_at_most_the_average_belief_of_its_completions(seed, share):
    random = np.random.default_rng(seed)
    X = random.normal(size=(40, 3)) + 3 * random.integers(0, 2, size=(40, 1))
    X[:, :2] += random.normal(size=(40, 1))
    model = ECM(2, random_state=0, beta=2.0, delta=10.0, n_init=1).fit(X)
    X_missing = remove_values(X, share, seed)
    completed = model._gaps.completions(X_missing)
    sure = 1 - np.mean([model.predict_mass(completion).doubt() for completion in completed], axis=0)
    beliefs = model.predict_mass(X_missing).masses
    singles = model.predict_mass(X_missing).focal_sets.singleton_positions
    total = beliefs.sum(axis=1) - beliefs[:, 0]
    assert (beliefs[:, singles].max(axis=1) / total <= sure + 0.05).all()


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_completions_preserve_observed_values_and_complete_samples(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(30, 4)) @ random.normal(size=(4, 4))
    X_missing = remove_values(X, 0.4, seed)
    X_missing[:2] = X[:2]
    gaps = Gaps.learn(X_missing, 2)
    completions = gaps.completions(X_missing)
    assert completions.shape == (COMPLETIONS, 30, 4)
    assert np.isfinite(completions).all()
    mask = ~np.isnan(X_missing)
    np.testing.assert_array_equal(
        completions[:, mask], np.broadcast_to(X_missing[mask], (COMPLETIONS, mask.sum()))
    )
    filled = gaps.fill(X_missing)
    assert (filled[None] == completions).all(axis=2).any(axis=0).all()


def test_conditional_moments_are_those_of_a_normal_distribution():
    random = np.random.default_rng(0)
    root = random.normal(size=(3, 3))
    S, mean = root @ root.T, random.normal(size=3)
    pattern = np.array([[False, True, True]])
    conditional = Conditional.of(S, pattern)
    row = np.array([[0.7, np.nan, np.nan]])
    _, guesses = conditional.expect(row, np.array([0]), np.ones(1), mean[None])
    np.testing.assert_allclose(guesses[0, 0, 1:], mean[1:] + S[1:, 0] / S[0, 0] * (0.7 - mean[0]))
    covariance = S[1:, 1:] - np.outer(S[1:, 0], S[0, 1:]) / S[0, 0]
    np.testing.assert_allclose(conditional.uncertainty(np.ones(1))[1:, 1:], covariance)
    draws = random.multivariate_normal(np.zeros(3), S, size=200_000)
    np.testing.assert_allclose(np.cov(conditional.residuals(draws)[:, 0, 1:].T), covariance, rtol=0.03, atol=0.03)


def test_dissimilarities_must_not_be_missing(iris):
    D = pairwise_distances(iris[0])
    D[3, 5] = D[5, 3] = np.nan
    for estimator in (EVCLUS(3, metric="precomputed"), RECM(3, metric="precomputed")):
        assert not get_tags(estimator).input_tags.allow_nan
        with pytest.raises(ValueError, match=r"contains NaN\. .* needs all dissimilarities .*GowerDistances"):
            estimator.fit(D)


def test_the_model_of_some_features_is_a_marginal_model(iris):
    X_missing = remove_values(iris[0], 0.3)
    model = Gaps.learn(X_missing, 3)
    marginal = model.of_features(slice(2))
    X_marginal, X_joint = X_missing[:, :2], np.hstack([X_missing[:, :2], np.full((len(X_missing), 2), np.nan)])
    # Random parts are equal, because they are conditional on the same observed values.
    np.testing.assert_allclose(marginal.completions(X_marginal), model.completions(X_joint)[..., :2])


def test_hundreds_of_clusters_and_features_need_little_memory():
    X = np.random.default_rng(0).normal(size=(250, 400))
    tracemalloc.start()
    Gaps.learn(X, 240, np.arange(250) % 240).completions(remove_values(X[:5], 0.5))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * X.nbytes


def test_stress_and_constraints_of_evclus_support_missing_values(fitted, iris):
    X_missing = remove_values(iris[0], 0.2)
    assert 0 < fitted["EVCLUS"][1].stress(X_missing, n_pairs=1000, random_state=0) < 1
    linked = EVCLUS(3, random_state=0).fit(X_missing, constraints=PairwiseConstraints([(0, 100)]))
    assert np.isfinite(linked.masses_).all()
