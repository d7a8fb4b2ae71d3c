"""Doubt about the labels of any clusterer: kinds of noise, agreement with the clusterer, forms of results."""

import hdbscan
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris, make_circles, make_moons
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import evlearn
from evlearn.cluster import CCM, CredalClusterer


@pytest.fixture(scope="module")
def two():
    left, right = np.random.default_rng(0).normal([[[-2, 0]], [[2, 0]]], 0.8, size=(2, 100, 2))
    return np.vstack([left, right, [[0, 0], [0, 40], [-3, 1.6]]])


@pytest.fixture(scope="module")
def fitted(two):
    model = HDBSCAN(min_cluster_size=20, copy=True).fit(two)
    assert (model.labels_[-3:] == -1).all()
    assert model.labels_.max() == 1
    return model


@pytest.fixture(scope="module")
def iris():
    return load_iris().data


# Kinds of noise


def test_noise_is_sure_torn_or_an_outlier(two, fitted):
    verdict = CredalClusterer(fitted).fit(two).credal_partition_.verdict()
    assert verdict.torn[-3]
    assert verdict.outlier[-2]
    assert verdict.sure[-1]
    assert verdict.candidates[-1, fitted.labels_[0]]


def test_noise_with_only_noise_as_neighbors_has_all_its_mass_on_the_frame(two):
    labels = np.where(two[:, 0] < -1, 0, np.where(two[:, 0] > 1, 1, -1))
    distant = np.random.default_rng(1).normal([0, 9], 0.3, size=(30, 2))
    model = CredalClusterer(np.concatenate([labels, np.full(30, -1)]), n_neighbors=5).fit(
        np.vstack([two, distant])
    )
    nonempty = model.masses_[-30:, 1:] / model.masses_[-30:, 1:].sum(axis=1, keepdims=True)
    assert (nonempty[:, -1] > 0.98).all()


def test_a_requested_share_of_samples_is_labeled_as_noise(iris):
    for share in (0.0, 0.02, 0.2, 0.5):
        model = CredalClusterer(KMeans(3, n_init=3, random_state=0), outlier_share=share).fit(iris)
        assert int(share * len(iris)) - 2 <= (model.labels_ == -1).sum() <= share * len(iris)  # there are ties
        np.testing.assert_array_equal(model.labels_, model.predict(iris))
        np.testing.assert_array_equal(model.labels_ == -1, model.credal_partition_.outliers())
    assert CredalClusterer(model.clusterer_).fit(iris).labels_.min() == 0


def test_ties_do_not_exceed_the_requested_share():
    X = np.repeat([[0.0, 0], [1, 0], [9, 0], [10, 0]], 20, axis=0) + np.tile([[0.0, 0], [0, 0.1]], (40, 1))
    model = CredalClusterer(np.repeat([0, 1], 40), outlier_share=0.3).fit(X)
    assert (model.labels_ == -1).mean() <= 0.3


# Agreement with the clusterer


@pytest.mark.parametrize("n_landmarks", [60, 5000])
def test_clustered_samples_keep_their_labels(iris, n_landmarks):
    for clusterer in (
        KMeans(3, n_init=3, random_state=0),
        HDBSCAN(min_cluster_size=8, cluster_selection_method="leaf", copy=True),
        GaussianMixture(3, random_state=0),
        AgglomerativeClustering(3),
        CCM(3, random_state=0),
    ):
        labels = clone(clusterer).fit_predict(iris)
        model = CredalClusterer(clusterer, n_landmarks=n_landmarks, random_state=0).fit(iris)
        np.testing.assert_array_equal(model.labels_[labels >= 0], labels[labels >= 0])
        np.testing.assert_array_equal(model.probabilities_.argmax(axis=1), model.labels_)
        np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1)


def test_training_samples_are_predicted_as_fitted(two, fitted):
    model = CredalClusterer(fitted).fit(two)
    np.testing.assert_allclose(model.predict_mass(two).masses, model.masses_, rtol=0, atol=1e-12)


def test_predictions_with_few_landmarks_are_close_to_those_with_all(iris):
    labels = KMeans(3, n_init=3, random_state=0).fit_predict(iris)
    all_samples = CredalClusterer(labels).fit(iris)
    subset = CredalClusterer(labels, n_landmarks=100, random_state=0).fit(iris)
    assert len(subset._model.labels) == 100
    assert (subset.predict(iris) == all_samples.labels_).mean() > 0.95


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_clusters_of_any_shape_are_sure(make):
    X = make(500, noise=0.05, random_state=0, **({"factor": 0.4} if make is make_circles else {}))[0]
    model = CredalClusterer(HDBSCAN(min_cluster_size=20, copy=True)).fit(X)
    assert model.n_clusters_ == 2
    assert model.credal_partition_.verdict().sure.mean() > 0.97


def test_doubt_of_k_means_increases_with_the_ratio_of_distances(iris):
    clusterer = KMeans(3, n_init=3, random_state=0).fit(iris)
    distances = np.sort(clusterer.transform(iris), axis=1)
    doubt = CredalClusterer(clusterer).fit(iris).credal_partition_.doubt()
    assert spearmanr(doubt, distances[:, 0] / distances[:, 1]).statistic > 0.7


# Forms of results


def test_a_fitted_clusterer_is_not_fitted_again_and_its_labels_are_sufficient(two, fitted):
    model = CredalClusterer(fitted).fit(two)
    assert model.clusterer_ is fitted
    for labels in (fitted.labels_, list(fitted.labels_), fitted.labels_.astype(np.int8)):
        by_labels = CredalClusterer(labels).fit(two)
        np.testing.assert_array_equal(by_labels.masses_, model.masses_)
        assert not hasattr(by_labels, "clusterer_")
    unfitted = clone(fitted)
    by_fit = CredalClusterer(unfitted).fit(two)
    np.testing.assert_array_equal(by_fit.masses_, model.masses_)
    assert not hasattr(unfitted, "labels_")


def test_numbers_of_clusters_may_have_gaps_and_become_names(two, fitted):
    labels = np.where(fitted.labels_ > 0, 7, fitted.labels_)
    model, expected = CredalClusterer(labels).fit(two), CredalClusterer(fitted.labels_).fit(two)
    np.testing.assert_array_equal(model.masses_, expected.masses_)
    assert model.credal_partition_.cluster_names == ("0", "7")


def test_the_package_hdbscan_and_dbscan_are_supported(two):
    for clusterer in (hdbscan.HDBSCAN(min_cluster_size=20), DBSCAN(eps=0.5)):
        model = CredalClusterer(clusterer).fit(two)
        labels = model.clusterer_.labels_
        np.testing.assert_array_equal(model.labels_[labels >= 0], labels[labels >= 0])
        assert model.credal_partition_.outliers()[-2]


def test_probabilities_of_a_mixture_and_its_matrix_give_the_same_masses(iris):
    mixture = GaussianMixture(3, random_state=0).fit(iris)
    by_mixture = CredalClusterer(mixture).fit(iris)
    by_matrix = CredalClusterer(mixture.predict_proba(iris)).fit(iris)
    np.testing.assert_allclose(by_matrix.masses_, by_mixture.masses_, rtol=0, atol=1e-12)


def test_rows_of_probabilities_without_any_are_noise(two, fitted):
    matrix = np.eye(2)[fitted.labels_] * (fitted.labels_ >= 0)[:, None]
    np.testing.assert_array_equal(
        CredalClusterer(matrix).fit(two).masses_, CredalClusterer(fitted).fit(two).masses_
    )


def test_a_single_cluster_has_members_and_outliers(two):
    partition = CredalClusterer(np.where(np.arange(len(two)) < 200, 0, -1)).fit(two).credal_partition_
    assert partition.n_clusters == 1
    assert partition.outliers()[-2]
    assert partition.outliers()[:200].mean() < 0.02


def test_equal_samples_have_finite_masses():
    X = np.repeat([[0.0], [1.0], [9.0]], [20, 20, 1], axis=0)
    model = CredalClusterer(np.repeat([0, 1, -1], [20, 20, 1])).fit(X)
    assert np.isfinite(model.masses_).all()
    assert CredalClusterer(np.zeros(5, dtype=int)).fit(np.ones((5, 2))).masses_.sum() == pytest.approx(5)


def test_missing_values_increase_doubt(iris):
    X = iris.copy()
    X[::7, 2] = np.nan
    labels = KMeans(3, n_init=3, random_state=0).fit_predict(iris)
    model = CredalClusterer(labels).fit(X)
    np.testing.assert_array_equal(model.labels_, labels)
    complete = CredalClusterer(labels).fit(iris).credal_partition_.doubt()
    assert model.credal_partition_.doubt()[::7].mean() > complete[::7].mean()
    assert model.predict_mass([[np.nan] * 4]).masses[0, -1] == 1


# Frames, pipelines and files


def test_frames_have_the_same_columns_for_any_number_of_clusters(two, fitted):
    frame = pd.DataFrame(two, columns=["x", "y"], index=[f"row {i}" for i in range(len(two))])
    model = CredalClusterer(fitted).fit(frame)
    table = model.predict_frame(frame)
    assert list(table) == ["cluster", "second_cluster", "verdict", "doubt", "outlier_score"]
    assert list(table.index) == list(frame.index)
    assert table["verdict"].iloc[[0, -3, -2]].tolist() == ["sure", "torn", "outlier"]
    assert (table["cluster"] != table["second_cluster"]).all()
    np.testing.assert_array_equal(table["doubt"], model.predict_mass(frame).doubt())
    strict = model.predict_frame(frame, level=1.0)
    assert (strict["verdict"] == "torn").sum() > (table["verdict"] == "torn").sum()


def test_frames_have_the_library_of_the_samples(two, fitted):
    columns = pl.DataFrame(two, schema=["x", "y"])
    model = CredalClusterer(fitted).fit(columns)
    assert isinstance(model.predict_frame(columns), pl.DataFrame)
    assert isinstance(model.predict_frame(columns, library="pandas"), pd.DataFrame)
    with pytest.raises(ValueError, match="library must be 'pandas' or 'polars', got 'spark'"):
        model.predict_frame(columns, library="spark")


def test_frames_of_a_single_cluster_have_no_second_cluster(two):
    table = CredalClusterer(np.zeros(len(two), dtype=int)).fit(two).predict_frame(two)
    assert table["second_cluster"].isna().all()


def test_a_pipeline_with_a_clusterer_that_cannot_predict_is_saved_without_it(two, fitted, tmp_path):
    pipeline = make_pipeline(StandardScaler(), CredalClusterer(clone(fitted), outlier_share=0.05)).fit(two)
    evlearn.save_model(pipeline, tmp_path / "model.json")
    loaded = evlearn.load_model(tmp_path / "model.json")
    new = two[::5] + 0.1
    assert loaded[-1].clusterer is None
    assert evlearn.predict_frame(loaded, new).equals(evlearn.predict_frame(pipeline, new))
    np.testing.assert_array_equal(loaded.predict(two), pipeline.predict(two))
    with pytest.raises(ValueError, match="clusterer must be a clusterer"):
        loaded.fit(two)


@pytest.mark.parametrize(
    ("clusterer", "options", "message"),
    [
        ([-1, -1, -1], {}, "labels all samples as noise"),
        ([0, 0], {}, "clusterer has a result for 2 samples, but X has 3"),
        (np.zeros((3, 2)), {}, "no positive probability"),
        (["a", "b", "a"], {}, "clusterer must be a clusterer, integer labels"),
        (KMeans, {}, r"an estimator and not a class; use KMeans\(\)"),
        (make_pipeline(KMeans(2)), {}, "put CredalClusterer at the end of the pipeline"),
        ([0, 0, 0], {"n_neighbors": 0}, "n_neighbors"),
        ([0, 0, 0], {"n_landmarks": 1}, "n_landmarks"),
        ([0, 0, 0], {"outlier_share": 0.7}, "outlier_share must be"),
    ],
)
def test_errors_name_invalid_input(clusterer, options, message):
    with pytest.raises(ValueError, match=message):
        CredalClusterer(clusterer, **options).fit(np.arange(3.0)[:, None])
