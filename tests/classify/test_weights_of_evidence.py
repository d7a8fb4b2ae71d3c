"""Masses of a logistic regression or a multilayer perceptron."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn.belief import FocalSets, combine
from evlearn.classify import masses_from_linear
from evlearn.classify.weights_of_evidence import combine_evidence


def columns_of(partition, table):
    """Return the columns of sets, given as rows of a membership matrix."""
    return partition.focal_sets.positions(table.astype(bool))


def logistic_regression(coefficients, intercepts):
    """Return a model with given coefficients."""
    model = LogisticRegression()
    model.coef_, model.intercept_ = np.atleast_2d(coefficients), np.atleast_1d(intercepts)
    model.classes_ = np.arange(max(2, len(model.coef_)))
    return model


@pytest.mark.parametrize(
    ("name", "data"), [("multinom_iris", "iris"), ("logistic_ionosphere", "ionosphere_evclass")]
)
def test_masses_are_those_of_r(reference, read_data, name, data):
    arrays = reference(f"calcm_{name}").arrays
    X, _ = read_data(data)
    if name == "multinom_iris":
        model = logistic_regression(arrays["W"][1:].T, arrays["W"][0])
    else:  # the score of R supports the first class
        X = X[:, [2, 4, 7, 26]]
        model = logistic_regression(-arrays["w"][1:], -arrays["w"][0])
    partition = masses_from_linear(model, X)
    masses = partition.masses[:, columns_of(partition, arrays["focal_int"])]
    np.testing.assert_allclose(masses, arrays["mass"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(partition.to_fuzzy(), arrays["prob"], rtol=0, atol=1e-10)


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 4))
def test_masses_are_those_of_dempsters_rule(seed, n_classes, n_features):
    random = np.random.default_rng(seed)
    features = random.normal(size=(1, n_features))
    weights, constants = random.normal(size=(2, n_features, n_classes))
    weights -= weights.mean(axis=1, keepdims=True)
    constants -= constants.mean(axis=1, keepdims=True)
    sets = FocalSets.full(n_classes)
    pieces = [np.eye(len(sets))[-1]]
    for j in range(n_features):
        for k in range(n_classes):
            weight = features[0, j] * weights[j, k] + constants[j, k]
            piece = np.zeros(len(sets))
            classes = [k] if weight > 0 else [other for other in range(n_classes) if other != k]
            piece[sets.index(classes)] = -np.expm1(-abs(weight))
            piece[-1] += np.exp(-abs(weight))
            pieces.append(piece)
    partition = combine_evidence(features, weights, constants, [str(k) for k in range(n_classes)])
    np.testing.assert_allclose(partition.masses[0], combine(pieces, sets), rtol=0, atol=1e-10)


@given(st.integers(0, 10_000), st.integers(2, 14), st.sampled_from([0.0, 1e-8, 1.0, 100.0, 1e4]))
def test_masses_are_valid_for_any_weights(seed, n_classes, size):
    random = np.random.default_rng(seed)
    features = random.normal(size=(20, 3))
    weights = size * random.normal(size=(3, n_classes))
    weights -= weights.mean(axis=1, keepdims=True)
    masses = combine_evidence(features, weights, 0 * weights, [str(k) for k in range(n_classes)]).masses
    assert (masses >= 0).all()
    np.testing.assert_allclose(masses.sum(axis=1), 1, rtol=0, atol=1e-10)
    if size == 0:
        assert (masses[:, -1] == 1).all()  # no evidence


def test_with_many_classes_the_ratios_of_single_classes_are_preserved():
    random = np.random.default_rng(0)
    features, weights = random.normal(size=(10, 4)), random.normal(size=(4, 12))
    weights = np.hstack([weights, np.zeros((4, 1))])  # a class without evidence
    full = combine_evidence(features, weights[:, :12], np.zeros((4, 12)), [str(k) for k in range(12)])
    simple = combine_evidence(features, weights, np.zeros((4, 13)), [str(k) for k in range(13)])
    assert len(simple.focal_sets) == 15
    # The evidence against the first 12 classes is the same, and there is none against the last class, so that sums
    # over sets that contain it are products.
    evidence = features[:, :, None] * weights[:, :12]
    support, denial = np.maximum(evidence, 0).sum(axis=1), np.maximum(-evidence, 0).sum(axis=1)
    expected = np.exp(-denial) * np.expm1(support)
    np.testing.assert_allclose(
        simple.masses[:, 1:13] / simple.masses[:, 1:2], expected / expected[:, :1], rtol=1e-9, atol=1e-12
    )
    assert full.masses.shape[1] == 2**12


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_plausibilities_are_in_proportion_to_the_probabilities_of_the_model(n_classes):
    X, y = make_classification(200, 6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=0)
    names = np.array(["ash", "oak", "elm", "yew"])[y]
    models = [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        *[MLPClassifier((5, 4), activation=name, max_iter=50, random_state=0) for name in ("relu", "tanh")],
        *[MLPClassifier(4, activation=name, max_iter=50, random_state=0) for name in ("logistic", "identity")],
    ]
    for model in models:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, names)
        partition = masses_from_linear(model, X, reference=X[:100])
        np.testing.assert_allclose(partition.to_fuzzy(), model.predict_proba(X), rtol=0, atol=1e-9)
        assert partition.focal_sets.names == tuple(model.classes_)


def test_row_names_are_preserved_and_masses_depend_on_the_reference():
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd"), index=[f"flower {k}" for k in range(150)])
    model = LogisticRegression(max_iter=1000).fit(frame, y)
    partition = masses_from_linear(model, frame)
    assert partition.sample_names[3] == "flower 3"
    subset = masses_from_linear(model, frame[60:63], reference=frame)
    np.testing.assert_allclose(subset.masses, partition.masses[60:63], rtol=0, atol=1e-12)
    assert np.abs(masses_from_linear(model, frame[60:63]).masses - subset.masses).max() > 1e-3


def test_other_models_are_rejected():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="must be a scikit-learn logistic regression or multilayer perceptron"):
        masses_from_linear(KNeighborsClassifier().fit(X, y), X)
    one_against_all = SGDClassifier(loss="log_loss", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="softmax of linear scores"):
        masses_from_linear(one_against_all, X)
    with pytest.raises(NotFittedError):
        masses_from_linear(LogisticRegression(), X)
