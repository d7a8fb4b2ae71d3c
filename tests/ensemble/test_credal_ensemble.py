"""Tests of `CredalEnsemble`: several clusterers, clones of one clusterer, and predictions."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from evlearn.cluster import ECM
from evlearn.ensemble import CredalEnsemble
from evlearn.metrics import credal_rand_index


def weights_are_for_default_members(estimator):
    """Return the checks that pass weights, which given clusterers do not support."""
    shapes = ("pandas_series", "not_an_array", "list", "shape", "not_overwritten")
    names = [f"check_sample_weights_{shape}" for shape in shapes]
    names += ["check_sample_weight_equivalence_on_dense_data", "check_all_zero_sample_weights_error"]
    return dict.fromkeys(names, "weights are for default members only")


@parametrize_with_checks(
    [
        CredalEnsemble([KMeans(2, n_init=1), ECM(2)], n_init=1),
        CredalEnsemble(KMeans(2, n_init=1), n_estimators=2, max_samples=1.0, n_init=1),
    ],
    expected_failed_checks=weights_are_for_default_members,
)
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.filterwarnings("ignore:the objective still changed:sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, 2, centers=[[0, 0], [5, 0], [0, 8]], cluster_std=1.2, random_state=0)


@pytest.fixture(scope="module")
def fitted(blobs):
    members = [KMeans(3), GaussianMixture(3), ECM(3), AgglomerativeClustering(3), DBSCAN(eps=1.2)]
    return CredalEnsemble(members, n_clusters=3, random_state=0).fit(blobs[0])


def test_clusterers_of_all_kinds_can_be_combined(fitted, blobs):
    assert len(fitted.partitions_) == 5
    assert adjusted_rand_score(blobs[1], fitted.labels_) > 0.9
    # Only samples that DBSCAN labels as noise have much mass on the empty set.
    noise = fitted.clusterers_[4].labels_ == -1
    assert 0 < noise.sum() < 30
    assert fitted.masses_[noise, 0].mean() > 3 * fitted.masses_[~noise, 0].mean()


@pytest.mark.parametrize("n_errors", [3, 5])
@pytest.mark.parametrize(
    "clusterers", [KMeans(3), [KMeans(3), GaussianMixture(3), make_pipeline(StandardScaler(), KMeans(3))]]
)
def test_gross_errors_do_not_capture_clusters(blobs, clusterers, n_errors):
    X, y = blobs
    errors = 5e3 * np.random.default_rng(0).normal(size=(n_errors, 2))
    model = CredalEnsemble(clusterers, random_state=0).fit(np.vstack([X, errors]))
    assert adjusted_rand_score(y, model.labels_[:120]) > 0.85
    assert model.partitions_[0].n_samples == 120 + n_errors
    for member in model.partitions_:
        assert np.bincount(member.to_hard()[:120], minlength=3).min() > 20


def test_a_member_that_cannot_predict_is_fitted_to_all_samples(blobs):
    X = np.vstack([blobs[0], [[5e3, 5e3], [-5e3, 0]]])
    model = CredalEnsemble([KMeans(3), AgglomerativeClustering(3)], random_state=0).fit(X)
    assert [len(member.labels_) for member in model.clusterers_] == [120, 122]


def test_where_members_agree_the_result_is_sure():
    X, y = make_blobs(150, 2, centers=[[0, 0], [4, 0], [0, 12]], random_state=0)
    model = CredalEnsemble([KMeans(3), GaussianMixture(3), KMeans(2)], random_state=0).fit(X)
    doubt = model.credal_partition_.nonspecificity(per_sample=True)
    shares = np.asarray(model.credal_partition_.to_fuzzy())
    assert shares[y == 2].max(axis=1).min() > 0.99
    assert doubt[y == 2].max() < 0.05


def test_predictions_of_training_samples_are_similar_to_their_masses(blobs):
    X, _ = blobs
    model = CredalEnsemble([KMeans(3), GaussianMixture(3), ECM(3)], random_state=0).fit(X)
    predicted = model.predict_mass(X)
    assert np.abs(predicted.masses - model.masses_).max() < 0.05
    fresh, truth = make_blobs(60, 2, centers=[[0, 0], [5, 0], [0, 8]], cluster_std=1.2, random_state=1)
    assert adjusted_rand_score(truth, model.predict(fresh)) > 0.85
    np.testing.assert_allclose(
        model.predict_mass(fresh[:7]).masses, model.predict_mass(fresh).masses[:7], atol=1e-9
    )


def test_prediction_with_a_member_that_cannot_predict_is_an_error(fitted, blobs):
    with pytest.raises(ValueError, match=r"AgglomerativeClustering\(n_clusters=3\) cannot predict"):
        fitted.predict(blobs[0])


@pytest.mark.slow
@pytest.mark.parametrize("clusterers", [[KMeans(3), KMeans(4), GaussianMixture(3)], KMeans(4)])
def test_workers_do_not_change_the_result(blobs, clusterers):
    serial, parallel = (
        CredalEnsemble(clusterers, random_state=0, n_landmarks=50, n_jobs=n_jobs).fit(blobs[0])
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(serial.masses_, parallel.masses_)


def test_clones_of_one_clusterer_find_clusters_that_are_not_round():
    X, y = make_moons(400, noise=0.06, random_state=0)
    model = CredalEnsemble(KMeans(12), n_estimators=20, n_clusters=2, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9 > 0.5 > adjusted_rand_score(y, KMeans(2).fit_predict(X))
    assert model.credal_partition_.n_clusters == 2
    assert len({member.random_state for member in model.clusterers_}) == 20


@pytest.mark.parametrize(("max_samples", "n_samples"), [(0.5, 60), (1.0, 120), (30, 30), (1000, 120)])
def test_clones_are_fitted_to_some_samples_and_predict_all(blobs, max_samples, n_samples):
    model = CredalEnsemble(KMeans(3), n_estimators=3, max_samples=max_samples, random_state=0).fit(blobs[0])
    assert [len(member.labels_) for member in model.clusterers_] == [n_samples] * 3
    assert [member.n_samples for member in model.partitions_] == [120] * 3
    assert adjusted_rand_score(blobs[1], model.labels_) > 0.9


def test_masses_of_many_samples_follow_from_landmarks_as_predictions_do(blobs):
    X, _ = blobs
    complete = CredalEnsemble(KMeans(5), n_clusters=3, random_state=0).fit(X)
    sampled = CredalEnsemble(KMeans(5), n_clusters=3, n_landmarks=40, random_state=0).fit(X)
    np.testing.assert_array_equal(sampled.predict_mass(X).masses, sampled.masses_)
    assert credal_rand_index(complete.credal_partition_, sampled.credal_partition_) > 0.95


def test_one_clusterer_must_predict(blobs):
    with pytest.raises(ValueError, match=r"AgglomerativeClustering\(n_clusters=3\) cannot predict"):
        CredalEnsemble(AgglomerativeClustering(3)).fit(blobs[0])


@pytest.mark.parametrize("name", ["n_estimators", "max_samples", "n_landmarks"])
def test_invalid_numbers_are_errors(blobs, name):
    with pytest.raises(ValueError, match=name):
        CredalEnsemble(KMeans(3), **{name: 0}).fit(blobs[0])


def test_seeds_of_members_are_preserved(blobs):
    model = CredalEnsemble([KMeans(3, random_state=5), KMeans(3)], random_state=0).fit(blobs[0])
    assert model.clusterers_[0].random_state == 5
    assert model.clusterers_[1].random_state is not None


def test_frames_and_pipelines_work(blobs):
    frame = pd.DataFrame(blobs[0], columns=["a", "b"], index=[f"row {i}" for i in range(120)])
    ensemble = CredalEnsemble([KMeans(3), ECM(3)], random_state=0)
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), ensemble).fit(frame)
    assert pipeline[-1].credal_partition_.sample_names[2] == "row 2"
    assert len(pipeline.predict(frame)) == 120


def test_progress_is_printed(blobs, capsys):
    CredalEnsemble([KMeans(3), ECM(3)], random_state=0, verbose=1, tol=1e-9).fit(blobs[0])
    assert re.search(r"CredalEnsemble sweep    1   objective \d", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("clusterers", "message"),
    [
        ([], "clusterers must be 'auto', an estimator or a list of at least one"),
        ([StandardScaler()], "is not a clusterer"),
    ],
)
def test_invalid_clusterers_are_errors(blobs, clusterers, message):
    with pytest.raises(ValueError, match=message):
        CredalEnsemble(clusterers).fit(blobs[0])


def test_data_that_are_not_in_memory_are_errors(tmp_path):
    with pytest.raises(ValueError, match="CredalEnsemble needs data in memory"):
        CredalEnsemble([KMeans(2)]).fit(str(tmp_path / "data.parquet"))


def test_pipelines_have_the_partitions_of_their_clusterers(blobs):
    X = blobs[0] * [1, 1000]
    members = [make_pipeline(StandardScaler(), KMeans(3)), make_pipeline(StandardScaler(), ECM(3))]
    ensemble = CredalEnsemble(members, random_state=0).fit(X)
    clusterer = ensemble.clusterers_[1][-1]
    np.testing.assert_array_equal(ensemble.partitions_[1].masses, clusterer.credal_partition_.masses)
    assert adjusted_rand_score(blobs[1], ensemble.labels_) > 0.9
    assert adjusted_rand_score(ensemble.labels_, ensemble.predict(X)) > 0.9


def test_a_seed_reaches_the_steps_of_pipelines(blobs):
    members = [make_pipeline("passthrough", GaussianMixture(7, init_params="random"))]
    first, second = (
        CredalEnsemble(members, n_init=1, max_iter=1000, random_state=0).fit(blobs[0]) for _ in range(2)
    )
    np.testing.assert_array_equal(first.partitions_[0].masses, second.partitions_[0].masses)


def test_a_clusterer_that_labels_only_noise_is_an_error(blobs):
    with pytest.raises(
        ValueError, match=r"DBSCAN\(eps=1e-09\) labels all samples as noise; change its parameters"
    ):
        CredalEnsemble([DBSCAN(eps=1e-9), ECM(3)]).fit(blobs[0])


def test_one_sample_is_an_error(blobs):
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        CredalEnsemble([KMeans(1)]).fit(blobs[0][:1])


@pytest.mark.parametrize("value", [1e20, 1e100, 1e150])
def test_a_far_row_is_an_outlier_although_members_detect_none(blobs, value):
    X = blobs[0]
    model = CredalEnsemble([KMeans(3), GaussianMixture(3)], random_state=0).fit(X)
    before = model.predict_mass(X[:5]).masses
    masses = model.predict_mass(np.vstack([X[:5], [[value, value]]])).masses
    np.testing.assert_array_equal(masses[:5], before)
    np.testing.assert_array_equal(masses[5], np.arange(masses.shape[1]) == 0)
