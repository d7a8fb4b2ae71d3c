"""Tests of `CredalEnsemble` with its default members, and of `tabular_clusterer`."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import evlearn
from benchmarks.studies.answers.generated import latent_classes
from benchmarks.studies.unclean.generators import gross_errors, unbalanced
from evlearn.belief import pignistic
from evlearn.ensemble import CredalEnsemble
from evlearn.ensemble.consensus import consensus, supports
from evlearn.ensemble.members import reliabilities, weights_of
from evlearn.mixture.discrete_columns import blur_discrete_columns, discrete_columns, levels_of
from evlearn.mixture.latent_classes import fit_latent_classes
from evlearn.neighbors import BoxTree


@pytest.mark.slow
@parametrize_with_checks([CredalEnsemble(n_clusters=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.07, random_state=0)


@pytest.fixture(scope="module")
def fitted(moons):
    return CredalEnsemble(n_clusters=2, random_state=0).fit(moons[0])


# Members and their reliability


def test_members_that_separate_neighbors_have_small_weights(moons, fitted):
    assert adjusted_rand_score(moons[1], fitted.labels_) > 0.95
    weights = dict(zip(fitted.member_names_, fitted.weights_, strict=True))
    assert weights["spectral clustering"] > 1.5 * weights["k-means"]
    assert fitted.weights_.sum() == pytest.approx(1)
    best = fitted.member_names_[int(fitted.weights_.argmax())]
    assert fitted.describe().splitlines()[1].startswith(f"  {best}: weight ")


def test_reliability_is_0_by_chance_and_1_at_best():
    X, y = make_blobs(300, centers=[[0, 0], [20, 0], [0, 20]], random_state=0)
    neighbors = BoxTree.of(X).nearest_others(10)[0]
    shuffled = np.random.default_rng(0).permutation(y)
    values = reliabilities([y, shuffled, np.zeros(300, dtype=int)], np.ones(300), neighbors)
    assert values[0] == pytest.approx(1)
    assert abs(values[1]) < 0.05
    assert values[2] == 0


def test_weights_are_exponential_in_the_reliability():
    for scale, temperature in ((0.1, 0.025), (0.01, 0.007), (1.0, 0.04)):
        weights = weights_of(1 - scale * np.array([0.5, 1.0, 1.5]))
        np.testing.assert_allclose(weights[:-1] / weights[1:], np.exp(0.5 * scale / temperature), rtol=1e-9)
        assert weights.sum() == pytest.approx(1)


def test_consensus_follows_the_members_with_large_weights():
    first, second = np.repeat([0, 1], 6), np.tile([0, 1], 6)
    for weights, winner in (([0.9, 0.1], first), ([0.1, 0.9], second)):
        labels, _ = consensus([first, second], np.array(weights), np.ones(12), 2, seed=0)
        assert adjusted_rand_score(winner, labels) == 1


def test_support_is_the_weighted_share_of_a_cluster_that_is_with_the_sample():
    first, second = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1])
    support = supports([first, second], np.array([0.75, 0.25]), np.ones(6), first, 2)
    # Sample 2: with all of cluster 0 and nothing of 1, and with a third of cluster 0 and all of 1.
    raw = np.array([0.75 + 0.25 / 3, 0.25])
    np.testing.assert_allclose(support[2], raw / raw.sum())
    np.testing.assert_allclose(support.sum(axis=1), 1)


def test_discrete_data_have_members_for_categories():
    X, y = latent_classes(3, 12, seed=5, n=400)
    model = CredalEnsemble(n_clusters=3, random_state=0).fit(X)
    assert model.member_names_ == ["k-means", "latent classes"]
    assert adjusted_rand_score(y, model.labels_) > 0.8


def test_latent_classes_recover_classes_from_discrete_and_other_columns():
    random = np.random.default_rng(0)
    y = random.integers(2, size=400)
    flags = random.random((400, 6)) < np.where(y[:, None] == 1, 0.8, 0.2)
    X = np.column_stack([flags, y + 0.8 * random.normal(size=400)])
    assert discrete_columns(X).tolist() == [True] * 6 + [False]
    labels = fit_latent_classes(X, np.ones(400), random.integers(2, size=400), 2, np.random.RandomState(0))
    assert adjusted_rand_score(y, labels) > 0.75
    heavy = np.where(y == 1, 1.0, 0.0)
    parts = fit_latent_classes(X, heavy, labels, 2, np.random.RandomState(0))
    assert len(parts) == 400


def test_levels_are_frequent_values_also_beside_replaced_missing_values():
    random = np.random.default_rng(0)
    flags = random.integers(2, size=200).astype(float)
    filled = np.where(np.arange(200) % 10 == 0, random.random(200), flags)
    X = np.column_stack([flags, filled, random.normal(size=200)])
    assert discrete_columns(X).tolist() == [True, True, False]
    assert levels_of(filled).tolist() == [0, 1]


def test_gaps_gap_rows_levels_are_no_boundaries():
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(2, size=500), random.normal(size=(500, 2))])
    flag = X[:, 0].astype(int)
    blurred = blur_discrete_columns(X, np.random.RandomState(0))
    np.testing.assert_array_equal(blurred[:, 1:], X[:, 1:])
    sharp, soft = (
        reliabilities([flag], np.ones(500), BoxTree.of(rows).nearest_others(20)[0])[0] for rows in (X, blurred)
    )
    assert sharp > 0.9 > 0.5 > soft


# Results


def test_sure_samples_are_right_more_often_than_torn_ones():
    X, y = make_blobs(400, 4, centers=4, cluster_std=3.5, random_state=3)
    model = CredalEnsemble(n_clusters=4, random_state=0).fit(X)
    verdict = model.credal_partition_.verdict()
    majority = np.array([np.bincount(y[model.labels_ == k]).argmax() for k in range(4)])
    wrong = majority[model.labels_] != y
    assert verdict.torn.sum() > 20
    assert wrong[verdict.torn].mean() > 2.5 * wrong[verdict.sure].mean()


def test_belief_in_the_best_cluster_is_its_lead_in_probability(fitted):
    probabilities = np.sort(pignistic(fitted.masses_, fitted.focal_sets_), axis=1)
    mass = 1 - fitted.masses_[:, 0]
    best = fitted.masses_[:, fitted.focal_sets_.singleton_positions].max(axis=1) / mass
    np.testing.assert_allclose(best, probabilities[:, -1] - probabilities[:, -2], atol=1e-9)


@pytest.mark.parametrize("size", [30, 1000])
def test_gross_errors_are_outliers_and_capture_no_cluster(size):
    problem = gross_errors(np.random.default_rng(1), n=400, d=4, size=size)
    model = CredalEnsemble(n_clusters=5, random_state=0).fit(problem.X)
    ordinary = ~problem.planted
    assert adjusted_rand_score(problem.y[ordinary], model.labels_[ordinary]) > 0.95
    outliers = model.credal_partition_.outliers()
    assert outliers[problem.planted].all()
    assert outliers[ordinary].mean() < 0.02


def test_small_clusters_are_found():
    problem = unbalanced(np.random.default_rng(0))
    model = CredalEnsemble(n_clusters=3, random_state=0).fit(problem.X)
    assert adjusted_rand_score(problem.y, model.labels_) > 0.95


def test_predictions_of_training_samples_are_those_of_the_fit_in_any_batch(moons, fitted):
    X = moons[0]
    np.testing.assert_array_equal(fitted.predict_mass(X).masses, fitted.masses_)
    np.testing.assert_allclose(fitted.predict_mass(X[:7]).masses, fitted.masses_[:7], atol=1e-12)


def test_the_order_of_rows_and_the_number_of_jobs_do_not_matter(moons, fitted):
    order = np.random.default_rng(0).permutation(300)
    other = CredalEnsemble(n_clusters=2, random_state=0, n_jobs=2).fit(moons[0][order])
    np.testing.assert_allclose(other.masses_, fitted.masses_[order], atol=1e-9)


def test_a_weight_of_0_removes_a_sample_and_a_copy_is_a_weight_of_2():
    X, _ = load_iris(return_X_y=True)
    weights = np.ones(150)
    weights[:20] = 0
    removed = CredalEnsemble(n_clusters=3, random_state=0).fit(X[20:])
    weighted = CredalEnsemble(n_clusters=3, random_state=0).fit(X, sample_weight=weights)
    np.testing.assert_allclose(weighted.masses_[20:], removed.masses_, atol=1e-12)
    repeated = CredalEnsemble(n_clusters=3, random_state=0).fit(np.vstack([X, X[:30]]))
    weights = np.where(np.arange(150) < 30, 2.0, 1.0)
    weighted = CredalEnsemble(n_clusters=3, random_state=0).fit(X, sample_weight=weights)
    np.testing.assert_allclose(weighted.masses_, repeated.masses_[:150], atol=1e-9)


def test_missing_values_are_doubt():
    X, y = make_blobs(300, centers=[[0, 0], [6, 0], [0, 12]], random_state=1)
    gap_rows = np.flatnonzero(y < 2)[:40]
    whole = CredalEnsemble(n_clusters=3, random_state=0).fit(X)
    X[gap_rows, 0] = np.nan
    copy = X.copy()
    model = CredalEnsemble(n_clusters=3, random_state=0).fit(X)
    np.testing.assert_array_equal(X, copy)
    doubt, doubt_before = (fitted.credal_partition_.doubt()[gap_rows].mean() for fitted in (model, whole))
    assert doubt > 0.5 > doubt_before
    observed = np.setdiff1d(np.arange(300), gap_rows)
    assert adjusted_rand_score(y[observed], model.labels_[observed]) > 0.95


def test_other_rows_follow_from_the_landmarks():
    X, y = make_blobs(1500, 3, centers=4, random_state=2)
    model = CredalEnsemble(n_clusters=4, n_landmarks=200, random_state=0).fit(X)
    assert len(model._model.supports) == 200
    assert adjusted_rand_score(y, model.labels_) > 0.97


def test_data_in_files_have_the_same_result(tmp_path, moons, fitted):
    pytest.importorskip("pyarrow")
    path = tmp_path / "moons.parquet"
    pd.DataFrame(moons[0], columns=["a", "b"]).to_parquet(path)
    model = CredalEnsemble(n_clusters=2, random_state=0).fit(path)
    np.testing.assert_allclose(model.predict_mass(path).masses, fitted.masses_, atol=1e-12)


@pytest.mark.filterwarnings("ignore::evlearn.exceptions.CollapseWarning")
@pytest.mark.parametrize("n_clusters", [1, 2, 5])
@pytest.mark.parametrize("X", [np.zeros((8, 2)), np.arange(6.0)[:, None], np.repeat(np.eye(3), 4, axis=0)])
def test_few_distinct_samples(X, n_clusters):
    model = CredalEnsemble(n_clusters=n_clusters, random_state=0).fit(X)
    assert np.isfinite(model.masses_).all()
    np.testing.assert_allclose(model.masses_.sum(axis=1), 1, atol=1e-9)
    assert model.labels_.max() < n_clusters


def test_weights_for_given_clusterers_are_an_error(moons):
    model = CredalEnsemble([CredalEnsemble(n_clusters=2)])
    with pytest.raises(ValueError, match="sample_weight is only for clusterers='auto'"):
        model.fit(moons[0], sample_weight=np.ones(300))


# Tables


@pytest.fixture(scope="module")
def customers():
    random = np.random.default_rng(0)
    segment = random.integers(3, size=300)
    table = pd.DataFrame(
        {
            "spend": [f"€ {value:,.2f}" for value in np.exp(random.normal(4 + 1.5 * segment, 0.3))],
            "orders": random.poisson(3 + 9 * segment),
            "age": random.normal(30 + 20 * segment, 4).round(),
            "channel": np.array(["app", "web", "store"])[np.where(random.random(300) < 0.9, segment, 1)],
        }
    )
    table.loc[::20, "channel"] = None
    table.loc[:2, "age"] = 999
    return table, segment


def test_a_raw_table_is_clustered_in_one_call(customers, tmp_path):
    table, segment = customers
    model = evlearn.tabular_clusterer(3, random_state=0).fit(table)
    partition = evlearn.predict_mass(model, table)
    assert adjusted_rand_score(segment[3:], partition.to_hard()[3:]) > 0.9
    assert partition.outliers()[:3].all()
    evlearn.save_model(model, tmp_path / "model.json")
    predicted = evlearn.predict_mass(evlearn.load_model(tmp_path / "model.json"), table)
    np.testing.assert_array_equal(predicted.masses, partition.masses)


@pytest.mark.parametrize("value", ["3", 0, 2.5, None])
def test_invalid_numbers_of_clusters_are_refused_with_the_alternative(value):
    message = re.escape(f"n_clusters must be 'auto' or a whole number of at least 1, got {value!r}.")
    with pytest.raises(ValueError, match=message):
        CredalEnsemble(n_clusters=value).fit(np.eye(4))
