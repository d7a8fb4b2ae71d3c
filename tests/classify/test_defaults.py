"""Defaults: no collapse, and choices that follow the data."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from evlearn.classify import EvidentialKNNClassifier, EvidentialNeuralClassifier, EvidentialRBFClassifier


def some_data(seed):
    """Real or generated, a random half of it."""
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
def test_nothing_collapses_in_a_hundred_runs(kind):
    for seed in range(100):
        X, y, new, truth = some_data(seed)
        model = kind() if kind is EvidentialKNNClassifier else kind(random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a CollapseWarning is an error here
            said = model.fit(X, y).predict(new)
        assert len(np.unique(said)) == len(np.unique(y)), seed
        assert (said == truth).mean() > np.bincount(truth).max() / len(truth) + 0.1, seed


def test_neighbours_choose_what_suits_the_data():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 2))
    clear = (X[:, 0] > 0).astype(int)
    noisy = np.where(random.uniform(size=300) < 0.3, 1 - clear, clear)
    sure, careful = (EvidentialKNNClassifier().fit(X, y) for y in (clear, noisy))
    assert careful.n_neighbors_ >= 20
    assert careful.alpha_ < sure.alpha_ or sure.n_neighbors_ < careful.n_neighbors_
    settings = {"n_neighbors": careful.n_neighbors_, "alpha": careful.alpha_}
    by_hand = EvidentialKNNClassifier(**settings).fit(X, noisy)
    np.testing.assert_array_equal(by_hand.predict_mass(X).masses, careful.predict_mass(X).masses)
    assert EvidentialKNNClassifier(7).fit(X, clear).n_neighbors_ == 7
    assert EvidentialKNNClassifier(alpha=0.5).fit(X, clear).alpha_ == 0.5


def test_few_samples_have_few_neighbours_and_prototypes():
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    assert EvidentialKNNClassifier().fit(X, y).n_neighbors_ == 5
    assert EvidentialKNNClassifier().fit(X[:3], y[:3]).predict(X[:3]).shape == (3,)
    X, y = load_iris(return_X_y=True)
    assert len(EvidentialNeuralClassifier(random_state=0).fit(X, y).prototypes_) == 15
    assert len(EvidentialNeuralClassifier(random_state=0).fit(X[::3], y[::3]).prototypes_) == 6
    assert len(EvidentialNeuralClassifier(per_class=False, random_state=0).fit(X, y).prototypes_) == 15


def test_the_price_of_weights_falls_with_the_number_of_samples():
    X, y = load_iris(return_X_y=True)
    start = {"prototypes": X[::10]}
    auto, given = (EvidentialRBFClassifier(init=start, l2=one).fit(X, y) for one in ("auto", 0.1 / 150))
    np.testing.assert_array_equal(auto.weights_, given.weights_)
