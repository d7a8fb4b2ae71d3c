"""Neighbors by other metrics and by precomputed distances."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import evlearn
from evlearn.classify import EvidentialKNNClassifier

METRICS = ["manhattan", "cosine", "chebyshev", "correlation", "sqeuclidean"]
X, y = load_iris(return_X_y=True)
X = X + np.random.default_rng(0).uniform(0, 0.1, size=X.shape)  # without equal distances
OLD, NEW = X[::2], X[1::2]


def maximum_distance(first, second):
    return np.abs(first - second).max()


@pytest.mark.parametrize("metric", [*METRICS, maximum_distance])
@pytest.mark.parametrize("soft", [False, True])
def test_a_metric_and_its_precomputed_distances_give_the_same_masses(metric, soft):
    labels = np.maximum(np.eye(3)[y[::2]], 0.2) if soft else y[::2]
    by_metric = EvidentialKNNClassifier(metric=metric).fit(OLD, labels)
    precomputed = EvidentialKNNClassifier(metric="precomputed").fit(pairwise_distances(OLD, metric=metric), labels)
    np.testing.assert_allclose(precomputed.gamma_, by_metric.gamma_, rtol=1e-4)
    distances = pairwise_distances(NEW, OLD, metric=metric)
    masses, expected = precomputed.predict_mass(distances).masses, by_metric.predict_mass(NEW).masses
    np.testing.assert_allclose(masses, expected, rtol=0, atol=1e-4)
    assert by_metric.score(NEW, y[1::2]) > 0.9
    remote = EvidentialKNNClassifier(metric="precomputed").fit(pairwise_distances(OLD), labels)
    np.testing.assert_allclose(remote.predict_mass(np.full((1, 75), 1e9)).masses[0, -1], 1)


def test_precomputed_euclidean_distances_give_the_masses_of_the_tree():
    plain = EvidentialKNNClassifier().fit(OLD, y[::2])
    precomputed = EvidentialKNNClassifier(metric="precomputed").fit(pairwise_distances(OLD), y[::2])
    masses = precomputed.predict_mass(pairwise_distances(NEW, OLD)).masses
    np.testing.assert_allclose(masses, plain.predict_mass(NEW).masses, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_cross_validation_slices_rows_and_columns_of_distances():
    distances = pairwise_distances(X)
    model = EvidentialKNNClassifier(metric="precomputed")
    by_rows = cross_val_score(EvidentialKNNClassifier(), X, y)
    np.testing.assert_allclose(cross_val_score(model, distances, y), by_rows, atol=0.04)
    assert GridSearchCV(model, {"n_neighbors": [3, 9]}, cv=3).fit(distances, y).best_score_ > 0.9


@pytest.mark.slow
def test_scikit_learns_checks_pass_for_another_metric():
    expected = {"check_sample_weight_equivalence_on_dense_data": "the precision of scales depends on tol"}
    check_estimator(EvidentialKNNClassifier(metric="manhattan"), expected_failed_checks=expected, on_skip=None)


def test_sparse_rows_may_have_another_metric():
    matrix = sp.csr_matrix(np.where(X > 2, X, 0))
    for metric in ("cosine", "manhattan"):
        sparse, dense = (
            EvidentialKNNClassifier(metric=metric).fit(part, y) for part in (matrix, matrix.toarray())
        )
        assert (sparse.predict(matrix) == dense.predict(matrix.toarray())).mean() > 0.98


def test_missing_values_and_weights_work_with_a_metric():
    gaps = X.copy()
    gaps[::7, 0] = np.nan
    model = EvidentialKNNClassifier(metric="manhattan").fit(gaps, y, sample_weight=1 + np.arange(150) % 2)
    assert model.score(gaps, y) > 0.9
    assert model.predict_mass(np.full((1, 4), np.nan)).masses[0, -1] > 0.3


@pytest.mark.parametrize("metric", ["manhattan", "precomputed"])
def test_models_are_restored_from_files(metric, tmp_path):
    old = pairwise_distances(OLD) if metric == "precomputed" else OLD
    new = pairwise_distances(NEW, OLD) if metric == "precomputed" else NEW
    model = EvidentialKNNClassifier(metric=metric).fit(old, y[::2], sample_weight=1 + np.arange(75) % 3)
    evlearn.save_model(model, tmp_path / "model.json")
    loaded = evlearn.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_mass(new).masses, model.predict_mass(new).masses)


def test_inconsistent_files_are_rejected(tmp_path):
    path = tmp_path / "model.json"
    evlearn.save_model(EvidentialKNNClassifier(metric="manhattan").fit(OLD, y[::2]), path)
    path.write_text(path.read_text().replace('"metric": "manhattan"', '"metric": "cosine"', 1))
    with pytest.raises(ValueError, match="its metric does not match its neighbor search"):
        evlearn.load_model(path)


def test_invalid_distances_are_rejected():
    model = EvidentialKNNClassifier(metric="precomputed")
    with pytest.raises(ValueError, match="X must be a square matrix if metric='precomputed'"):
        model.fit(OLD, y[::2])
    with pytest.raises(ValueError, match="X has negative dissimilarities"):
        model.fit(-pairwise_distances(OLD), y[::2])
    model.fit(pairwise_distances(OLD), y[::2])
    with pytest.raises(ValueError, match="X has 4 features"):
        model.predict(NEW)
    with pytest.raises(ValueError, match="The 'metric' parameter"):
        EvidentialKNNClassifier(metric="nearness").fit(OLD, y[::2])
