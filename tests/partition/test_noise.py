"""Classification of noise: samples of a cluster, samples between clusters, and outliers."""

import hdbscan
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, HDBSCAN

from evlearn import CredalPartition


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


def test_noise_is_sure_torn_or_an_outlier(two, fitted):
    verdict = CredalPartition.from_hdbscan(fitted, two).verdict()
    assert verdict.torn[-3]
    assert verdict.outlier[-2]
    assert verdict.sure[-1]
    assert verdict.candidates[-1, fitted.labels_[0]]


def test_clustered_samples_keep_their_labels_and_are_never_outliers(two, fitted):
    partition, is_clustered = CredalPartition.from_hdbscan(fitted, two), fitted.labels_ >= 0
    np.testing.assert_array_equal(partition.to_hard()[is_clustered], fitted.labels_[is_clustered])
    assert partition.masses[is_clustered, 0].max() == 0
    strong = fitted.probabilities_ == 1
    np.testing.assert_allclose(partition.doubt()[strong], 0)


def test_result_does_not_depend_on_scale_location_and_order(two, fitted):
    partition, order = CredalPartition.from_hdbscan(fitted, two), np.random.default_rng(0).permutation(len(two))
    rescaled = CredalPartition.from_hdbscan(fitted, 1000 * two + 7)
    np.testing.assert_allclose(rescaled.masses, partition.masses, atol=1e-9)
    shuffled = CredalPartition.from_hdbscan(fitted.labels_[order], two[order])
    np.testing.assert_allclose(
        shuffled.masses, CredalPartition.from_hdbscan(fitted.labels_, two).masses[order], atol=1e-12
    )


def test_labels_of_any_clusterer_are_accepted(two):
    model = DBSCAN(eps=0.5).fit(two)
    by_model, by_labels = (
        CredalPartition.from_hdbscan(model, two),
        CredalPartition.from_hdbscan(list(model.labels_), two),
    )
    np.testing.assert_array_equal(by_model.masses, by_labels.masses)
    gaps = CredalPartition.from_hdbscan(np.where(model.labels_ > 0, 7, model.labels_), two)
    np.testing.assert_array_equal(gaps.masses, by_labels.masses)


def test_the_package_hdbscan_is_supported(two, fitted):
    model = hdbscan.HDBSCAN(min_cluster_size=20, prediction_data=True).fit(two)
    partition = CredalPartition.from_hdbscan(model, two)
    is_clustered = model.labels_ >= 0
    np.testing.assert_array_equal(partition.to_hard()[is_clustered], model.labels_[is_clustered])
    np.testing.assert_array_equal(
        partition.verdict().outlier, CredalPartition.from_hdbscan(fitted, two).verdict().outlier
    )


def test_infinite_and_missing_values_have_defined_masses(two):
    rows = np.vstack([two, [[np.inf, 0], [np.nan, 0]]])
    model = HDBSCAN(min_cluster_size=20, copy=True).fit(rows)
    assert model.labels_[-2:].tolist() == [-2, -3]
    partition = CredalPartition.from_hdbscan(model, rows)
    assert partition.outliers()[-2]
    np.testing.assert_allclose(partition.masses[-1], [0, 0.5, 0.5])


def test_equal_samples_have_finite_masses():
    X = np.repeat([[0.0], [1.0], [9.0]], [20, 20, 1], axis=0)
    partition = CredalPartition.from_hdbscan(np.repeat([0, 1, -1], [20, 20, 1]), X)
    assert np.isfinite(partition.masses).all()
    assert partition.outliers()[-1]


def test_names_of_a_frame_are_kept(two, fitted):
    frame = pd.DataFrame(two, index=[f"row {i}" for i in range(len(two))])
    assert CredalPartition.from_hdbscan(fitted, frame).sample_names[2] == "row 2"


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([-1, -1, -1], {}, "labels all samples as noise"),
        ([0, 0, 1], {}, "a cluster with a single sample"),
        ([0, 0], {}, "X must have a row for each of the 2 labels"),
        ([0.5, 0, 0], {}, "must be a fitted estimator with labels_, or integer labels"),
        (HDBSCAN(copy=True), {}, "must be a fitted"),
        ([0, 0, 0], {"n_neighbors": 0}, "n_neighbors"),
    ],
)
def test_errors_name_invalid_input(labels, options, message):
    with pytest.raises(ValueError, match=message):
        CredalPartition.from_hdbscan(labels, np.arange(3.0)[:, None], **options)
