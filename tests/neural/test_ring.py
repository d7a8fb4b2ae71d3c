"""Tests of Examples 4 and 5 of the paper: new outliers, and a ring with learned distances."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from evlearn.cluster import Quantile
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_core_and_ring, make_fourclass
from evlearn.metric_learning import FDA, PCCA
from evlearn.neural import NNEVCLUS

PAPER_SETTINGS = {"focal_sets": "full", "network": (30,), "l2": 0.01, "d0": Quantile(0.9), "tol": 1e-3}


def make_problem(seed):
    """Return the data of Example 5, 50 constraints, and 50 labels."""
    X, y = make_core_and_ring(500, random_state=seed)
    chosen = np.random.default_rng(seed).choice(500, size=50, replace=False)
    labels = np.full(500, -1)
    labels[chosen] = y[chosen]
    return X, y, PairwiseConstraints.sample(y, 50, random_state=seed), labels


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 3, 5, 8])
def test_50_constraints_separate_a_ring_from_its_core(seed):
    X, y, constraints, _ = make_problem(seed)
    feature = PCCA(kernel="rbf", gamma=0.3, random_state=0).fit(X, constraints=constraints)
    model = NNEVCLUS(2, constraint_weight=0.1, random_state=seed, **PAPER_SETTINGS)
    model.fit(X, constraints=constraints, dissimilarities=feature)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert len(constraints.violations(model.labels_)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 3, 5, 8])
def test_50_labels_separate_a_ring_from_its_core(seed):
    X, y, _, labels = make_problem(seed)
    feature = FDA(kernel="rbf", gamma=0.3).fit(X, labels)
    model = NNEVCLUS(2, random_state=seed, **PAPER_SETTINGS).fit(X, labels=labels, dissimilarities=feature)
    assert adjusted_rand_score(y, model.labels_) == 1
    np.testing.assert_array_equal(model.labels_, y)  # clusters have the numbers of the labels


@pytest.mark.slow
def test_the_original_distances_do_not_show_a_ring():
    X, y, constraints, _ = make_problem(0)
    model = NNEVCLUS(2, constraint_weight=0.1, random_state=0, **PAPER_SETTINGS).fit(X, constraints=constraints)
    assert adjusted_rand_score(y, model.labels_) < 0.5


@pytest.fixture(scope="module")
def fourclass():
    """Return the data and the network of Example 4."""
    X, y = make_fourclass(400, random_state=0)
    settings = {"focal_sets": "pairs", "network": (20,), "outlier_model": "svm", "d0": Quantile(0.9), "tol": 1e-3}
    return X, y, NNEVCLUS(4, random_state=0, **settings).fit(X)


def test_predictions_are_as_accurate_as_training_results(fourclass):
    _, y, model = fourclass
    new, truth = make_fourclass(1000, random_state=1)
    prediction = model.predict_mass(new)
    scores = [adjusted_rand_score(y, model.labels_), adjusted_rand_score(truth, prediction.to_hard())]
    assert min(scores) > 0.68
    assert abs(scores[0] - scores[1]) < 0.06
    shares = [model.credal_partition_.outliers().mean(), prediction.outliers().mean()]
    assert min(shares) > 0.005
    assert max(shares) < 0.05


def test_new_outliers_are_recognized(fourclass):
    _, _, model = fourclass
    new, _ = make_fourclass(1000, random_state=1)
    angle = np.linspace(0, 2 * np.pi, 50, endpoint=False)
    directions = np.column_stack([np.cos(angle), np.sin(angle)])
    for distance in (12, 30, 1000):
        outliers = model.predict_mass(2 + distance * directions)
        assert outliers.masses[:, 0].min() > 0.8
        assert outliers.outliers().all()
    prediction = model.predict_mass(new)
    radius = np.linalg.norm(new - 2, axis=1)
    # Only the outermost of the generated samples are outliers.
    assert radius[prediction.outliers()].min() > np.quantile(radius, 0.95)
    assert prediction.outliers()[radius > 7].all()


@pytest.mark.slow
def test_samples_of_a_new_cluster_are_outliers(fourclass):
    _, _, model = fourclass
    cluster = np.random.default_rng(0).normal((14, 14), 1, size=(200, 2))
    prediction = model.predict_mass(cluster)
    assert prediction.masses[:, 0].min() > 0.8
    assert prediction.outliers().all()
