"""Masses, sets and decisions of pipelines and searches."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import evlearn
from evlearn.belief import FocalSets
from evlearn.classify import EvidentialKNNClassifier
from evlearn.cluster import ECM
from evlearn.partition.estimators import transform_through_pipeline

X, y = load_iris(return_X_y=True)
SCALED = StandardScaler().fit_transform(X)


@pytest.fixture(scope="module")
def pipeline():
    return make_pipeline(StandardScaler(), EvidentialKNNClassifier()).fit(X, y)


def test_a_pipeline_returns_the_results_of_its_last_step(pipeline):
    plain = EvidentialKNNClassifier().fit(SCALED, y)
    assert evlearn.predict_mass(pipeline, X) == plain.predict_mass(SCALED)
    assert np.array_equal(evlearn.predict_set(pipeline, X), plain.predict_set(SCALED))
    assert np.array_equal(evlearn.predict_set(pipeline, X, level=0.95), plain.predict_set(SCALED, level=0.95))
    expected = plain.decide(SCALED, rejection_cost=0.1, criterion="pessimistic")
    assert np.array_equal(evlearn.decide(pipeline, X, rejection_cost=0.1, criterion="pessimistic"), expected)
    assert "refused" in expected


def test_an_estimator_without_pipeline_is_accepted():
    model = ECM(3, random_state=0).fit(X)
    assert evlearn.predict_mass(model, X) == model.predict_mass(X)


def test_masses_have_the_index_of_the_frame_before_the_first_step(pipeline):
    frame = pd.DataFrame(X, index=[f"flower {k}" for k in range(len(X))])
    partition = evlearn.predict_mass(make_pipeline(StandardScaler(), ECM(3, random_state=0)).fit(frame), frame)
    assert partition.sample_index.equals(frame.index)


def test_a_parameter_search_returns_the_results_of_its_best_estimator(pipeline):
    search = GridSearchCV(pipeline, {"evidentialknnclassifier__n_neighbors": [3, 7]}, cv=3).fit(X, y)
    assert evlearn.predict_mass(search, X) == evlearn.predict_mass(search.best_estimator_, X)


def test_probabilities_of_others_are_masses_on_single_clusters():
    mixture = GaussianMixture(3, random_state=0).fit(X)
    partition = evlearn.predict_mass(mixture, X)
    assert np.allclose(partition.to_fuzzy(), mixture.predict_proba(X))
    assert np.array_equal(evlearn.predict_set(mixture, X), partition.verdict().candidates)


def test_the_error_names_an_estimator_that_cannot_predict():
    with pytest.raises(ValueError, match=r"StandardScaler.* has no predict_mass"):
        evlearn.predict_mass(StandardScaler().fit(X), X)


def test_partitions_reject_samples_if_rejection_has_the_smallest_loss():
    partition = evlearn.CredalPartition([[0, 1, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 0, 1]], FocalSets.full(2))
    assert partition.decide().tolist() == [0, 0, 0]
    assert partition.decide(rejection_cost=0.3).tolist() == [0, -1, -1]
    assert partition.decide(rejection_cost=0.3, unknown_cost=0.2).tolist() == [0, -2, -2]


def test_outlier_label_replaces_the_labels_of_outliers():
    partition = evlearn.CredalPartition([[0, 1, 0, 0], [0.6, 0, 0.4, 0]], FocalSets.full(2))
    assert partition.to_hard().tolist() == [0, 1]
    assert partition.to_hard(outlier_label=-1).tolist() == [0, -1]
    assert partition.to_hard("pignistic", outlier_label=-1).tolist() == [0, -1]


@pytest.mark.parametrize("options", [{}, {"with_mean": False}, {"with_std": False}])
def test_a_scaler_of_a_few_rows_has_equal_results_without_its_checks(options):
    X = np.random.default_rng(0).normal(3, 5, (50, 7))
    scaler = StandardScaler(**options).fit(X)
    X[0, 0] = np.nan
    _, rows = transform_through_pipeline(make_pipeline(scaler, EvidentialKNNClassifier()), X)
    np.testing.assert_array_equal(rows, scaler.transform(X))
