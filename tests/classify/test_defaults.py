"""Defaults: no collapse, and choices that depend on the data."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from evlearn.classify import EvidentialKNNClassifier, EvidentialNeuralClassifier, EvidentialRBFClassifier
from evlearn.utils.parameters import with_switches


def random_split(seed):
    """Return random halves of real or generated data."""
    random = np.random.default_rng(seed)
    if seed % 4 == 3:
        X, y = make_classification(
            300, 8, n_informative=5, n_classes=2 + seed % 3, n_clusters_per_class=1, random_state=seed
        )
    else:
        X, y = (load_iris, load_wine, load_breast_cancer)[seed % 4](return_X_y=True)
    order = random.permutation(len(y))
    half = len(y) // 2
    return scale(X)[order[:half]], y[order[:half]], scale(X)[order[half:]], y[order[half:]]


@pytest.mark.long
@pytest.mark.parametrize("kind", [EvidentialKNNClassifier, EvidentialNeuralClassifier, EvidentialRBFClassifier])
def test_no_model_collapses_in_100_runs(kind):
    for seed in range(100):
        X, y, new, truth = random_split(seed)
        model = kind() if kind is EvidentialKNNClassifier else kind(random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a CollapseWarning is an error here
            predictions = model.fit(X, y).predict(new)
        assert len(np.unique(predictions)) == len(np.unique(y)), seed
        assert (predictions == truth).mean() > np.bincount(truth).max() / len(truth) + 0.1, seed


def test_settings_of_neighbors_depend_on_the_data():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 2))
    clear = (X[:, 0] > 0).astype(int)
    noisy = np.where(random.uniform(size=300) < 0.3, 1 - clear, clear)
    confident, cautious = (EvidentialKNNClassifier().fit(X, y) for y in (clear, noisy))
    assert cautious.n_neighbors_ >= 20
    assert cautious.alpha_ < confident.alpha_ or confident.n_neighbors_ < cautious.n_neighbors_
    settings = {"n_neighbors": cautious.n_neighbors_, "alpha": cautious.alpha_}
    explicit = EvidentialKNNClassifier(**settings).fit(X, noisy)
    np.testing.assert_array_equal(explicit.predict_mass(X).masses, cautious.predict_mass(X).masses)
    assert EvidentialKNNClassifier(7).fit(X, clear).n_neighbors_ == 7
    assert EvidentialKNNClassifier(alpha=0.5).fit(X, clear).alpha_ == 0.5


@pytest.mark.slow
def test_few_samples_have_few_neighbors_and_prototypes():
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    assert EvidentialKNNClassifier().fit(X, y).n_neighbors_ == 5
    assert EvidentialKNNClassifier().fit(X[:3], y[:3]).predict(X[:3]).shape == (3,)
    X, y = load_iris(return_X_y=True)
    assert len(EvidentialNeuralClassifier(random_state=0).fit(X, y).prototypes_) == 15
    assert len(EvidentialNeuralClassifier(random_state=0).fit(X[::3], y[::3]).prototypes_) == 6
    assert (
        len(with_switches(EvidentialNeuralClassifier(random_state=0), per_class=False).fit(X, y).prototypes_) == 15
    )


def test_the_penalty_on_weights_decreases_with_the_number_of_samples():
    X, y = load_iris(return_X_y=True)
    start = {"prototypes": X[::10]}
    auto, explicit = (EvidentialRBFClassifier(init=start, l2=l2).fit(X, y) for l2 in ("auto", 0.1 / 150))
    np.testing.assert_array_equal(auto.weights_, explicit.weights_)
