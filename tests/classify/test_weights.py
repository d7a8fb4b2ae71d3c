"""Weights of samples and of classes: a sample of weight 2 is there twice, and one of weight 0 is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import recall_score
from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_dense_data

from evlearn.belief import FocalSets
from evlearn.classify import EvidentialKNNClassifier, EvidentialNeuralClassifier, EvidentialRBFClassifier
from evlearn.classify.labels import read_labels
from evlearn.classify.neighbor_evidence import make_evidence
from evlearn.classify.sample_weights import nearest_by_weight
from evlearn.partition import CredalPartition

CENTRES = [[0.0, 0], [2, 0], [0, 2]]
MODELS = [
    EvidentialKNNClassifier(7, tol=1e-10),
    EvidentialNeuralClassifier(init={"prototypes": CENTRES}, tol=1e-8),
    EvidentialRBFClassifier(init={"prototypes": CENTRES}, tol=1e-10, l2=0.01),
]
all_models = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
pytestmark = pytest.mark.filterwarnings("ignore:the loss still changed:sklearn.exceptions.ConvergenceWarning")


def test_scikit_learns_check_of_weights_passes_for_neighbours():
    check_sample_weight_equivalence_on_dense_data("k-NN", EvidentialKNNClassifier(10, alpha=0.3, tol=1e-12))


@all_models
@pytest.mark.parametrize("soft", [False, True])
def test_weights_are_counts(model, soft):
    random = np.random.default_rng(0)
    X, y = make_blobs(80, centers=CENTRES, cluster_std=0.8, random_state=0)
    counts = random.integers(0, 4, size=80)
    labels = np.maximum(np.eye(3)[y], random.uniform(0, 0.6, size=(80, 3))) if soft else y
    weighted = clone(model).fit(X, labels, sample_weight=counts)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(labels, counts, axis=0))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
    said, expected = (one.predict_mass(X).masses for one in (weighted, repeated))
    np.testing.assert_allclose(said, expected, rtol=0, atol=2e-3)
    plain = clone(model).fit(X, labels).predict_mass(X).masses
    assert np.abs(plain - expected).max() > 0.02
    np.testing.assert_array_equal(
        clone(model).fit(X, labels, sample_weight=np.ones(80)).predict_mass(X).masses.round(9), plain.round(9)
    )


@given(st.integers(0, 10_000), st.integers(1, 9))
def test_neighbours_weigh_what_was_asked_for(seed, n_neighbors):
    random = np.random.default_rng(seed)
    weights = random.choice([0.0, 0.25, 1, 2, 5], size=20)
    squares = np.sort(random.uniform(size=(4, 20)), axis=1)
    order = np.array([random.permutation(20) for _ in range(4)], dtype=np.int32)
    numbers, found, counts = nearest_by_weight(lambda k: (order[:, :k], squares[:, :k]), 20, n_neighbors, weights)
    for row in range(4):
        room, expected = float(n_neighbors), []
        for number, square in zip(order[row], squares[row], strict=True):
            taken = min(room, weights[number])
            room -= taken
            if taken > 0:
                expected.append((number, square, taken))
        said = zip(numbers[row], found[row], counts[row], strict=True)
        assert np.allclose([one for one in said if one[2] > 0] or 0, expected or 0)


@given(st.integers(0, 10_000), st.booleans())
def test_neighbours_with_counts_are_as_many_neighbours(seed, soft):
    random = np.random.default_rng(seed)
    y = np.arange(12) % 3
    labels = np.maximum(np.eye(3)[y], random.uniform(size=(12, 3))) if soft else y
    evidence = make_evidence(read_labels(labels, np.zeros((12, 1)), ""))
    neighbors = random.integers(12, size=(5, 3)).astype(np.int32)
    squares, counts = random.uniform(0, 3, size=(5, 3)), np.array([1, 2, 3])
    gamma, targets = random.uniform(0.5, 1, size=evidence.n_scales), np.eye(3)[random.integers(3, size=5)]
    often = np.repeat(counts[None], 5, axis=0).astype(float)
    repeated = [np.ascontiguousarray(np.repeat(part, counts, axis=1)) for part in (neighbors, squares)]
    said = evidence.masses(neighbors, squares, gamma, 0.4, often)
    np.testing.assert_allclose(said, evidence.masses(*repeated, gamma, 0.4), rtol=0, atol=1e-12)
    importance = np.array([0, 1, 2, 1, 3.0])
    rows = np.repeat(np.arange(5), importance.astype(int))
    loss, slopes = evidence.loss(neighbors, squares, gamma, 0.4, targets, 1 / 3, often, importance)
    expected = evidence.loss(*(part[rows] for part in repeated), gamma, 0.4, targets[rows], 1 / 3)
    assert loss == pytest.approx(expected[0], rel=1e-10)
    np.testing.assert_allclose(slopes, expected[1], rtol=1e-8, atol=1e-12)


@all_models
def test_balanced_classes_find_more_of_a_rare_one(model):
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(size=(300, 2)), random.normal([1.5, 0], size=(25, 2))])
    y = np.repeat(["common", "rare"], [300, 25])
    plain, balanced = (clone(model).set_params(class_weight=one).fit(X, y) for one in (None, "balanced"))
    by_hand = clone(model).set_params(class_weight={"common": 325 / 600, "rare": 325 / 50}).fit(X, y)
    found = [recall_score(y, one.predict(X), pos_label="rare") for one in (plain, balanced)]
    assert found[1] > found[0] + 0.2
    np.testing.assert_array_equal(by_hand.predict_mass(X).masses, balanced.predict_mass(X).masses)


@all_models
def test_weights_that_cannot_be_used_are_refused(model):
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]
    for weights, message in (
        (np.ones(3), "sample_weight must be 1D with shape"),
        (np.zeros(150), "not all zero"),
        (-np.ones(150), "not negative"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="class_weight='balanced' needs crisp labels; give sample_weight"):
        clone(model).set_params(class_weight="balanced").fit(X, np.eye(3)[y])


def test_masses_as_labels_may_be_weighted():
    X, y = make_blobs(60, centers=2, random_state=0)
    soft = CredalPartition(
        np.column_stack([np.zeros(60), np.eye(2)[y] * 0.8, np.full(60, 0.2)]), FocalSets.full(2)
    )
    weights = np.where(np.arange(60) < 40, 1, 0)
    for model in (EvidentialKNNClassifier(tol=1e-10), EvidentialRBFClassifier(2, random_state=0)):
        one, other = clone(model).fit(X, soft, weights), clone(model).fit(X[:40], soft[:40])
        np.testing.assert_allclose(one.predict_mass(X).masses, other.predict_mass(X).masses, rtol=0, atol=1e-6)
