"""Noise told apart: what belongs to a cluster after all, what lies between clusters, and what is odd."""

import hdbscan
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, HDBSCAN

from evlearn.partition import from_hdbscan


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


def test_noise_is_torn_between_clusters_or_odd_or_of_one_cluster(two, fitted):
    verdict = from_hdbscan(fitted, two).verdict()
    assert verdict.torn[-3]
    assert verdict.outlier[-2]
    assert verdict.sure[-1]
    assert verdict.candidates[-1, fitted.labels_[0]]


def test_clustered_samples_keep_their_labels_and_are_never_odd(two, fitted):
    found, inside = from_hdbscan(fitted, two), fitted.labels_ >= 0
    np.testing.assert_array_equal(found.to_hard()[inside], fitted.labels_[inside])
    assert found.masses[inside, 0].max() == 0
    strong = fitted.probabilities_ == 1
    np.testing.assert_allclose(found.doubt()[strong], 0)


def test_scale_place_and_order_of_samples_do_not_matter(two, fitted):
    found, order = from_hdbscan(fitted, two), np.random.default_rng(0).permutation(len(two))
    moved = from_hdbscan(fitted, 1000 * two + 7)
    np.testing.assert_allclose(moved.masses, found.masses, atol=1e-9)
    shuffled = from_hdbscan(fitted.labels_[order], two[order])
    np.testing.assert_allclose(shuffled.masses, from_hdbscan(fitted.labels_, two).masses[order], atol=1e-12)


def test_labels_of_any_origin_will_do(two):
    model = DBSCAN(eps=0.5).fit(two)
    by_model, by_labels = from_hdbscan(model, two), from_hdbscan(list(model.labels_), two)
    np.testing.assert_array_equal(by_model.masses, by_labels.masses)
    gaps = from_hdbscan(np.where(model.labels_ > 0, 7, model.labels_), two)
    np.testing.assert_array_equal(gaps.masses, by_labels.masses)


def test_the_package_hdbscan_is_understood(two, fitted):
    model = hdbscan.HDBSCAN(min_cluster_size=20, prediction_data=True).fit(two)
    found = from_hdbscan(model, two)
    inside = model.labels_ >= 0
    np.testing.assert_array_equal(found.to_hard()[inside], model.labels_[inside])
    np.testing.assert_array_equal(found.verdict().outlier, from_hdbscan(fitted, two).verdict().outlier)


def test_rows_that_are_no_numbers_have_an_answer(two):
    rows = np.vstack([two, [[np.inf, 0], [np.nan, 0]]])
    model = HDBSCAN(min_cluster_size=20, copy=True).fit(rows)
    assert model.labels_[-2:].tolist() == [-2, -3]
    found = from_hdbscan(model, rows)
    assert found.outliers()[-2]
    np.testing.assert_allclose(found.masses[-1], [0, 0.5, 0.5])


def test_equal_samples_are_no_trouble():
    X = np.repeat([[0.0], [1.0], [9.0]], [20, 20, 1], axis=0)
    found = from_hdbscan(np.repeat([0, 1, -1], [20, 20, 1]), X)
    assert np.isfinite(found.masses).all()
    assert found.outliers()[-1]


def test_names_of_a_frame_are_kept(two, fitted):
    frame = pd.DataFrame(two, index=[f"row {i}" for i in range(len(two))])
    assert from_hdbscan(fitted, frame).sample_names[2] == "row 2"


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([-1, -1, -1], {}, "labels all samples as noise"),
        ([0, 0, 1], {}, "a cluster of one sample"),
        ([0, 0], {}, "X must have a row for each of the 2 labels"),
        ([0.5, 0, 0], {}, "must be fitted and have labels_, or be labels"),
        (HDBSCAN(copy=True), {}, "must be fitted"),
        ([0, 0, 0], {"n_neighbors": 0}, "n_neighbors"),
    ],
)
def test_wrong_input_is_named(labels, options, message):
    with pytest.raises(ValueError, match=message):
        from_hdbscan(labels, np.arange(3.0)[:, None], **options)
