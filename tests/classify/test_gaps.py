"""Missing values in EvidentialKNNClassifier."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.utils import get_tags

import evlearn
from evlearn.classify import EvidentialKNNClassifier, EvidentialNeuralClassifier, EvidentialRBFClassifier


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), load_iris().target_names[y]


def with_holes(X, share, seed=0):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


@pytest.fixture(scope="module")
def fitted(iris):
    """Return models fitted to complete data, with missing values, and with missing values and soft labels."""
    X, y = iris
    plausible = 0.3 + 0.7 * (load_iris().target[:, None] == np.arange(3))
    return [
        EvidentialKNNClassifier().fit(X, y),
        EvidentialKNNClassifier().fit(with_holes(X, 0.2), y),
        EvidentialKNNClassifier().fit(with_holes(X, 0.2), plausible),
    ]


def test_complete_samples_have_the_same_masses_with_or_without_incomplete_ones(fitted, iris):
    holes = with_holes(iris[0], 0.1)
    is_complete = ~np.isnan(holes).any(axis=1)
    for model in fitted:
        joint, separate = model.predict_mass(holes), model.predict_mass(iris[0][is_complete])
        np.testing.assert_array_equal(joint.masses[is_complete], separate.masses)


def test_the_fit_does_not_depend_on_the_container_of_complete_samples(iris):
    X, y = iris
    model = EvidentialKNNClassifier().fit(X, y)
    assert model.gamma_.tolist() == EvidentialKNNClassifier().fit(pd.DataFrame(X), y).gamma_.tolist()


def test_a_sample_without_any_value_has_a_vacuous_mass_function(fitted):
    for model in fitted:
        partition = model.predict_mass(np.full((2, 4), np.nan))
        np.testing.assert_array_equal(partition.masses[:, -1], 1)
        np.testing.assert_allclose(model.predict_proba(np.full((2, 4), np.nan)), 1 / 3)
        assert (model.decide(np.full((2, 4), np.nan), rejection_cost=0.5) == "refused").all()


def test_doubt_increases_with_the_share_of_missing_values(fitted, iris):
    X = iris[0]
    order = np.random.default_rng(1).random(X.shape)
    for model in fitted:
        shares = (0, 0.2, 0.4, 0.6, 1)
        doubts = [model.predict_mass(np.where(order < share, np.nan, X)).doubt().mean() for share in shares]
        assert (np.diff(doubts) > 0).all(), doubts


def test_accuracy_is_high_in_spite_of_missing_values(iris):
    X, y = iris
    holes, train = with_holes(X, 0.2), np.arange(len(X)) % 2 == 0
    model = EvidentialKNNClassifier().fit(holes[train], y[train])
    assert model.score(holes[~train], y[~train]) > 0.85
    # Completions of training samples are typical of their class, so that complete samples are predicted, too.
    assert model.score(X[~train], y[~train]) > 0.9


def test_missing_values_of_all_libraries_are_equivalent(iris):
    X, y = with_holes(iris[0], 0.2), iris[1]
    frame = pd.DataFrame(X, columns=list("abcd"))
    expected = EvidentialKNNClassifier().fit(X, y).predict_mass(X).masses
    for kind in (frame, frame.astype("Float64").convert_dtypes(), pl.from_pandas(frame), X.tolist()):
        np.testing.assert_array_equal(EvidentialKNNClassifier().fit(kind, y).predict_mass(kind).masses, expected)


def test_a_model_file_contains_the_model_of_missing_values(fitted, iris, tmp_path):
    holes = with_holes(iris[0], 0.3, seed=5)
    for model in fitted:
        evlearn.save_model(model, tmp_path / "model.json")
        loaded = evlearn.load_model(tmp_path / "model.json")
        np.testing.assert_array_equal(loaded.predict_mass(holes).masses, model.predict_mass(holes).masses)


def test_errors_of_other_classifiers_suggest_an_imputer(iris):
    X, y = iris
    assert get_tags(EvidentialKNNClassifier()).input_tags.allow_nan
    for model in (EvidentialNeuralClassifier(), EvidentialRBFClassifier()):
        assert not get_tags(model).input_tags.allow_nan
        with pytest.raises(ValueError, match=r"contains NaN\. .* put an imputer .* accepts missing values"):
            model.fit(with_holes(X, 0.1), y)


def test_a_fit_to_sparse_features_has_no_model_of_missing_values(iris):
    model = EvidentialKNNClassifier().fit(csr_array(iris[0]), iris[1])
    with pytest.raises(ValueError, match="has no model of missing values"):
        model.predict(with_holes(iris[0], 0.1))
