"""Weights of samples and of classes: weight 2 is equivalent to 2 equal samples, and weight 0 to none."""

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
from evlearn.classify.knn import nearest_by_weight
from evlearn.classify.labels import read_labels
from evlearn.classify.neighbor_evidence import make_evidence
from evlearn.partition import CredalPartition

CENTERS = [[0.0, 0], [2, 0], [0, 2]]
MODELS = [
    EvidentialKNNClassifier(7, tol=1e-10),
    EvidentialNeuralClassifier(init={"prototypes": CENTERS}, tol=1e-8),
    EvidentialRBFClassifier(init={"prototypes": CENTERS}, tol=1e-10, l2=0.01),
]
all_models = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
pytestmark = pytest.mark.filterwarnings("ignore:the loss still changed:sklearn.exceptions.ConvergenceWarning")


def test_scikit_learns_check_of_weights_passes_for_neighbors():
    check_sample_weight_equivalence_on_dense_data("k-NN", EvidentialKNNClassifier(10, alpha=0.3, tol=1e-12))


@all_models
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.slow_cells("True-EvidentialNeuralClassifier")
def test_weights_are_counts(model, soft):
    random = np.random.default_rng(0)
    X, y = make_blobs(80, centers=CENTERS, cluster_std=0.8, random_state=0)
    counts = random.integers(0, 4, size=80)
    labels = np.maximum(np.eye(3)[y], random.uniform(0, 0.6, size=(80, 3))) if soft else y
    weighted = clone(model).fit(X, labels, sample_weight=counts)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(labels, counts, axis=0))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
    masses, expected = (fitted.predict_mass(X).masses for fitted in (weighted, repeated))
    np.testing.assert_allclose(masses, expected, rtol=0, atol=2e-3)
    plain = clone(model).fit(X, labels).predict_mass(X).masses
    assert np.abs(plain - expected).max() > 0.02
    np.testing.assert_array_equal(
        clone(model).fit(X, labels, sample_weight=np.ones(80)).predict_mass(X).masses.round(9), plain.round(9)
    )


@given(st.integers(0, 10_000), st.integers(1, 9))
def test_neighbors_have_the_required_total_weight(seed, n_neighbors):
    random = np.random.default_rng(seed)
    weights = random.choice([0.0, 0.25, 1, 2, 5], size=20)
    squares = np.sort(random.uniform(size=(4, 20)), axis=1)
    order = np.array([random.permutation(20) for _ in range(4)], dtype=np.int32)
    numbers, distances, counts = nearest_by_weight(
        lambda k: (order[:, :k], squares[:, :k]), 20, n_neighbors, weights
    )
    for row in range(4):
        remaining, expected = float(n_neighbors), []
        for number, square in zip(order[row], squares[row], strict=True):
            weight = min(remaining, weights[number])
            remaining -= weight
            if weight > 0:
                expected.append((number, square, weight))
        entries = zip(numbers[row], distances[row], counts[row], strict=True)
        assert np.allclose([entry for entry in entries if entry[2] > 0] or 0, expected or 0)


@given(st.integers(0, 10_000), st.booleans())
def test_counts_are_equivalent_to_repeated_neighbors(seed, soft):
    random = np.random.default_rng(seed)
    y = np.arange(12) % 3
    labels = np.maximum(np.eye(3)[y], random.uniform(size=(12, 3))) if soft else y
    evidence = make_evidence(read_labels(labels, np.zeros((12, 1)), ""))
    neighbors = random.integers(12, size=(5, 3)).astype(np.int32)
    squares, counts = random.uniform(0, 3, size=(5, 3)), np.array([1, 2, 3])
    gamma, targets = random.uniform(0.5, 1, size=evidence.n_scales), np.eye(3)[random.integers(3, size=5)]
    multiplicities = np.repeat(counts[None], 5, axis=0).astype(float)
    repeated = [np.ascontiguousarray(np.repeat(part, counts, axis=1)) for part in (neighbors, squares)]
    masses = evidence.masses(neighbors, squares, gamma, 0.4, multiplicities)
    np.testing.assert_allclose(masses, evidence.masses(*repeated, gamma, 0.4), rtol=0, atol=1e-12)
    importance = np.array([0, 1, 2, 1, 3.0])
    rows = np.repeat(np.arange(5), importance.astype(int))
    loss, slopes = evidence.loss(neighbors, squares, gamma, 0.4, targets, 1 / 3, multiplicities, importance)
    expected = evidence.loss(*(part[rows] for part in repeated), gamma, 0.4, targets[rows], 1 / 3)
    assert loss == pytest.approx(expected[0], rel=1e-10)
    np.testing.assert_allclose(slopes, expected[1], rtol=1e-8, atol=1e-12)


@all_models
@pytest.mark.slow_cells("EvidentialNeuralClassifier")
def test_balanced_classes_increase_the_recall_of_a_rare_class(model):
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(size=(300, 2)), random.normal([1.5, 0], size=(25, 2))])
    y = np.repeat(["common", "rare"], [300, 25])
    plain, balanced = (clone(model).set_params(class_weight=weight).fit(X, y) for weight in (None, "balanced"))
    explicit = clone(model).set_params(class_weight={"common": 325 / 600, "rare": 325 / 50}).fit(X, y)
    recalls = [recall_score(y, fitted.predict(X), pos_label="rare") for fitted in (plain, balanced)]
    assert recalls[1] > recalls[0] + 0.2
    np.testing.assert_array_equal(explicit.predict_mass(X).masses, balanced.predict_mass(X).masses)


@all_models
def test_invalid_weights_are_rejected(model):
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]
    for weights, message in (
        (np.ones(3), "sample_weight must be 1D with shape"),
        (np.zeros(150), "not all zero"),
        (-np.ones(150), "not negative"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="class_weight='balanced' requires crisp labels; pass sample_weight"):
        clone(model).set_params(class_weight="balanced").fit(X, np.eye(3)[y])


def test_soft_labels_may_be_weighted():
    X, y = make_blobs(60, centers=2, random_state=0)
    soft = CredalPartition(
        np.column_stack([np.zeros(60), np.eye(2)[y] * 0.8, np.full(60, 0.2)]), FocalSets.full(2)
    )
    weights = np.where(np.arange(60) < 40, 1, 0)
    for model in (EvidentialKNNClassifier(tol=1e-10), EvidentialRBFClassifier(2, random_state=0)):
        weighted, subset = clone(model).fit(X, soft, weights), clone(model).fit(X[:40], soft[:40])
        np.testing.assert_allclose(
            weighted.predict_mass(X).masses, subset.predict_mass(X).masses, rtol=0, atol=1e-6
        )
