"""Missing values as doubt: laws, frames of all kinds, files, and what is refused."""

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
from evlearn.belief import expand
from evlearn.cluster import BPEC, CCM, CECM, ECM, EVCLUS, RECM, SECM, BootClus, ECMdd, EKNNClus, MergedMixture
from evlearn.constraints import PairwiseConstraints
from evlearn.ensemble import CredalEnsemble
from evlearn.mixture.gaps import COMPLETIONS, Conditional, Gaps

TAKING = {
    "ECM": ECM(3, random_state=0),
    "CCM": CCM(3, random_state=0),
    "EVCLUS": EVCLUS(3, random_state=0),
    "landmarks": EVCLUS(3, solver="landmark", n_landmarks=80, random_state=0),
    "RECM": RECM(3, random_state=0),
    "MergedMixture": MergedMixture(3, component_numbers=[3, 5], random_state=0),
    "BootClus": BootClus(3, covariance_models="EEE", n_bootstrap=20, random_state=0),
}
REFUSING = [BPEC(n_clusters=3), CECM(3), SECM(3), ECMdd(3), EKNNClus(), CredalEnsemble(ECM(3))]
#: Their fit compares all pairs, and prediction some.
FIT_BY_PAIRS = ("EVCLUS", "BootClus")
all_taking = pytest.mark.parametrize("name", TAKING)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def with_holes(X, share, seed=0):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


@pytest.fixture(scope="module")
def fitted(iris):
    """Each estimator, fitted to complete data and to data with gaps."""
    X, _ = iris
    holes = with_holes(X, 0.2)
    return {name: (clone(one).fit(X), clone(one).fit(holes)) for name, one in TAKING.items()}


@all_taking
def test_samples_without_gaps_have_the_same_bits_beside_samples_with_gaps(fitted, iris, name):
    X, holes = iris[0], with_holes(iris[0], 0.1)
    whole = ~np.isnan(holes).any(axis=1)
    for model in fitted[name]:
        beside, alone = model.predict_mass(holes), model.predict_mass(X[whole])
        wide = np.zeros((whole.sum(), beside.masses.shape[1]))
        wide[:, beside.focal_sets.positions(alone.focal_sets.membership)] = alone.masses
        np.testing.assert_array_equal(beside.masses[whole], wide)


@all_taking
def test_a_sample_that_has_no_value_at_all_is_total_ignorance(fitted, name):
    for model in fitted[name]:
        partition = model.predict_mass(np.full((2, 4), np.nan))
        assert partition.focal_sets.has_omega
        np.testing.assert_array_equal(partition.masses[:, -1], 1)
        assert model.predict_set(np.full((2, 4), np.nan)).all()


@all_taking
def test_doubt_grows_with_the_share_that_is_missing(fitted, iris, name):
    X = iris[0]
    order = np.random.default_rng(1).random(X.shape)  # holes of a larger share hold those of a smaller one
    for model in fitted[name]:
        doubts = [
            model.predict_mass(np.where(order < share, np.nan, X)).doubt().mean()
            for share in (0, 0.2, 0.4, 0.6, 1)
        ]
        assert (np.diff(doubts) > 0).all(), doubts
        assert doubts[-1] == 1


@all_taking
def test_a_fit_to_gaps_finds_the_clusters(fitted, iris, name):
    whole, gappy = (model.credal_partition_ for model in fitted[name])
    assert adjusted_rand_score(whole.to_hard(), gappy.to_hard()) > 0.6
    assert np.isfinite(gappy.masses).all()
    np.testing.assert_allclose(gappy.masses.sum(axis=1), 1)


@all_taking
def test_training_samples_with_gaps_are_predicted_as_they_were_fitted(fitted, iris, name):
    gappy, holes = fitted[name][1], with_holes(iris[0], 0.2)
    rows = np.isnan(holes).any(axis=1)
    np.testing.assert_allclose(gappy.predict_mass(holes).masses[rows], gappy.masses_[rows], atol=1e-12)
    np.testing.assert_array_equal(gappy.predict(holes)[rows], gappy.labels_[rows])
    if name not in FIT_BY_PAIRS:
        np.testing.assert_allclose(gappy.predict_mass(holes).masses, gappy.masses_)


@all_taking
def test_the_order_of_features_does_not_matter(iris, name):
    # No ties, of which rounding would choose others.
    X, order = iris[0] + np.random.default_rng(0).normal(scale=1e-3, size=iris[0].shape), [2, 0, 3, 1]
    holes = with_holes(X, 0.3)
    completed = Gaps.learn(holes, 3).completions(holes)
    np.testing.assert_allclose(Gaps.learn(holes[:, order], 3).completions(holes[:, order]), completed[..., order])
    straight = clone(TAKING[name]).fit(holes).credal_partition_
    turned = clone(TAKING[name]).fit(holes[:, order]).credal_partition_
    # Clusters may have other numbers: doubt has none. What is "auto" is found on clouds that follow the order.
    np.testing.assert_allclose(turned.doubt(), straight.doubt(), atol=0.03)


@all_taking
def test_frames_with_missing_values_of_any_kind_say_the_same(fitted, iris, name):
    gappy, X = fitted[name][1], with_holes(iris[0], 0.2)
    expected, predicted = gappy.masses_, gappy.predict_mass(X).masses
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
        model = clone(TAKING[name]).fit(kind)
        np.testing.assert_allclose(model.masses_, expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(model.predict_mass(kind).masses, predicted, rtol=0, atol=1e-12)


@all_taking
def test_workers_and_single_precision_give_the_same_answers(fitted, iris, name):
    holes = with_holes(iris[0], 0.2)
    with parallel_config("threading"):
        several = clone(TAKING[name]).set_params(n_jobs=2).fit(holes)
    np.testing.assert_array_equal(several.masses_, fitted[name][1].masses_)
    single = fitted[name][1].predict_mass(holes.astype(np.float32))
    assert single.masses.dtype == np.float32
    np.testing.assert_allclose(single.masses, fitted[name][1].predict_mass(holes).masses, atol=4e-3)


@all_taking
def test_only_estimators_that_take_gaps_have_the_tag(name):
    assert get_tags(TAKING[name]).input_tags.allow_nan


@all_taking
def test_a_model_file_keeps_what_is_known_about_gaps(fitted, iris, name, tmp_path):
    holes = with_holes(iris[0], 0.3, seed=5)
    for model in fitted[name]:
        evlearn.save_model(model, tmp_path / "model.json")
        again = evlearn.load_model(tmp_path / "model.json")
        np.testing.assert_array_equal(again.predict_mass(holes).masses, model.predict_mass(holes).masses)


@pytest.mark.parametrize("estimator", REFUSING, ids=lambda one: type(one).__name__)
def test_estimators_that_need_complete_samples_say_what_to_do(iris, estimator):
    assert not get_tags(estimator).input_tags.allow_nan
    with pytest.raises(ValueError, match=r"contains NaN\. .* put an imputer such as .* turns gaps into doubt"):
        clone(estimator).fit(with_holes(iris[0], 0.1))


def test_infinite_values_and_features_without_any_value_are_refused(iris):
    X = with_holes(iris[0], 0.1)
    X[3, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        ECM(3).fit(X)
    frame = pd.DataFrame(with_holes(iris[0], 0.1), columns=["a", "b", "c", "age"])
    frame["age"] = np.nan
    with pytest.raises(ValueError, match=r"NaN only in 1 of 4 features \('age'\).* leave them out"):
        ECM(3).fit(frame)
    with pytest.raises(ValueError, match=r"NaN only in 1 of 4 features \(number 3\)"):
        ECM(3).fit(frame.to_numpy())


def test_what_learns_from_portions_or_files_asks_for_complete_samples(iris):
    X = iris[0]
    with pytest.raises(ValueError, match="partial_fit needs complete samples"):
        ECM(3, random_state=0).partial_fit(with_holes(X, 0.1))
    with pytest.raises(ValueError, match="does not know what samples with gaps may look like"):
        ECM(3, random_state=0).partial_fit(X).predict_mass(with_holes(X, 0.1))
    with pytest.raises(ValueError, match="NaN or infinity"):
        ECM(3).fit([with_holes(X, 0.1), X])


def test_families_without_the_set_of_all_clusters_get_it_for_samples_with_gaps(iris):
    X = iris[0]
    model = ECM(3, focal_sets="simple", include_omega=False, random_state=0).fit(X)
    assert not model.focal_sets_.has_omega
    assert not model.predict_mass(X).focal_sets.has_omega
    assert model.predict_mass(with_holes(X, 0.1)).focal_sets.has_omega
    assert model.set_params(focal_sets=[[0], [1], [2]]).fit(with_holes(X, 0.1)).focal_sets_.has_omega


@all_taking
def test_columns_depend_on_the_batch_only_after_a_fit_to_complete_data_without_omega(fitted, iris, name):
    complete, holes = iris[0][:4], iris[0][:4].copy()
    holes[2, 1] = np.nan
    for model, fitted_to_gaps in zip(fitted[name], (False, True), strict=True):
        family = model.focal_sets_
        assert model.predict_mass(complete).focal_sets == family
        masses = model.predict_mass(holes)
        assert masses.focal_sets == family.with_omega()
        if fitted_to_gaps:
            assert masses.focal_sets == family
        parts = [model.predict_mass(holes[[row]]) for row in range(4)]
        stacked = [expand(part.masses, part.focal_sets, family.with_omega()) for part in parts]
        np.testing.assert_allclose(np.vstack(stacked), masses.masses, atol=1e-12)


def test_an_outlier_stays_one_and_leaves_the_clusters_where_they_are():
    X = with_holes(make_blobs(300, random_state=0)[0], 0.1)
    model = ECM(3, random_state=0).fit(X)
    far = np.vstack([X, np.full((1, X.shape[1]), 1e9)])
    far[-1, 0] = np.nan
    with_outlier = ECM(3, random_state=0).fit(far)
    assert with_outlier.masses_[-1, 0] > 0.99
    order = np.argsort(model.cluster_centers_[:, 0])
    np.testing.assert_allclose(
        np.sort(with_outlier.cluster_centers_, axis=0), np.sort(model.cluster_centers_[order], axis=0), atol=0.3
    )


def test_many_features_are_completed_one_by_one():
    X = np.random.default_rng(0).normal(size=(60, 150)) + np.repeat([0, 3, 6], 20)[:, None]
    model = ECM(3, random_state=0).fit(with_holes(X, 0.3))
    assert adjusted_rand_score(np.repeat([0, 1, 2], 20), model.labels_) == 1


# What the mechanism promises


@given(st.integers(0, 10**6), st.floats(0.05, 0.9))
@settings(max_examples=30, deadline=None)
def test_a_sample_is_never_surer_than_its_completions_are_on_average(seed, share):
    random = np.random.default_rng(seed)
    X = random.normal(size=(40, 3)) + 3 * random.integers(0, 2, size=(40, 1))
    X[:, :2] += random.normal(size=(40, 1))
    model = ECM(2, random_state=0, beta=2.0, delta=10.0, n_init=1).fit(X)
    holes = with_holes(X, share, seed)
    completed = model._gaps.completions(holes)
    sure = 1 - np.mean([model.predict_mass(one).doubt() for one in completed], axis=0)
    beliefs = model.predict_mass(holes).masses
    singles = model.predict_mass(holes).focal_sets.singleton_positions
    whole = beliefs.sum(axis=1) - beliefs[:, 0]
    assert (beliefs[:, singles].max(axis=1) / whole <= sure + 0.05).all()


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_completions_keep_what_is_there_and_complete_samples(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(30, 4)) @ random.normal(size=(4, 4))
    holes = with_holes(X, 0.4, seed)
    holes[:2] = X[:2]
    gaps = Gaps.learn(holes, 2)
    found = gaps.completions(holes)
    assert found.shape == (COMPLETIONS, 30, 4)
    assert np.isfinite(found).all()
    there = ~np.isnan(holes)
    np.testing.assert_array_equal(found[:, there], np.broadcast_to(holes[there], (COMPLETIONS, there.sum())))
    filled = gaps.fill(holes)
    assert (filled[None] == found).all(axis=2).any(axis=0).all()


def test_what_is_missing_given_the_rest_is_that_of_a_normal_distribution():
    random = np.random.default_rng(0)
    root = random.normal(size=(3, 3))
    S, mean = root @ root.T, random.normal(size=3)
    pattern = np.array([[False, True, True]])
    conditional = Conditional.of(S, pattern)
    row = np.array([[0.7, np.nan, np.nan]])
    _, guesses = conditional.expect(row, np.array([0]), np.ones(1), mean[None])
    np.testing.assert_allclose(guesses[0, 0, 1:], mean[1:] + S[1:, 0] / S[0, 0] * (0.7 - mean[0]))
    left = S[1:, 1:] - np.outer(S[1:, 0], S[0, 1:]) / S[0, 0]
    np.testing.assert_allclose(conditional.uncertainty(np.ones(1))[1:, 1:], left)
    draws = random.multivariate_normal(np.zeros(3), S, size=200_000)
    np.testing.assert_allclose(np.cov(conditional.residuals(draws)[:, 0, 1:].T), left, rtol=0.03, atol=0.03)


def test_dissimilarities_must_be_known(iris):
    D = pairwise_distances(iris[0])
    D[3, 5] = D[5, 3] = np.nan
    for estimator in (EVCLUS(3, metric="precomputed"), RECM(3, metric="precomputed")):
        assert not get_tags(estimator).input_tags.allow_nan
        with pytest.raises(ValueError, match=r"contains NaN\. .* needs all dissimilarities .*GowerDistances"):
            estimator.fit(D)


def test_what_is_known_about_some_features_is_what_a_mixture_says_about_them(iris):
    holes = with_holes(iris[0], 0.3)
    known = Gaps.learn(holes, 3)
    some = known.of_features(slice(2))
    alone, beside = holes[:, :2], np.hstack([holes[:, :2], np.full((len(holes), 2), np.nan)])
    # The draws of the rest of the variance are given what is there: the same, because nothing else is.
    np.testing.assert_allclose(some.completions(alone), known.completions(beside)[..., :2])


def test_hundreds_of_clusters_and_thousands_of_features_take_little_memory():
    X = np.random.default_rng(0).normal(size=(250, 400))
    tracemalloc.start()
    Gaps.learn(X, 240, np.arange(250) % 240).completions(with_holes(X[:5], 0.5))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * X.nbytes


def test_stress_and_constraints_of_evclus_take_gaps_too(fitted, iris):
    holes = with_holes(iris[0], 0.2)
    assert 0 < fitted["EVCLUS"][1].stress(holes, n_pairs=1000, random_state=0) < 1
    linked = EVCLUS(3, random_state=0).fit(holes, constraints=PairwiseConstraints([(0, 100)]))
    assert np.isfinite(linked.masses_).all()
