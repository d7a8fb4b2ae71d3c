"""Examples 4 and 5 of the paper: new outliers are recognised, and a ring is found with learned distances."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_circles, make_fourclass
from evlearn.metric_learning import KernelFDA, KernelPCCA
from evlearn.neural import NNEVCLUS

OF_THE_PAPER = {"focal_sets": "full", "network": (30,), "l2": 0.01, "d0_quantile": 0.9, "tol": 1e-3}


def circles(seed):
    """The data of Example 5, fifty constraints, and fifty labels."""
    X, y = make_circles(500, random_state=seed)
    chosen = np.random.default_rng(seed).choice(500, size=50, replace=False)
    labels = np.full(500, -1)
    labels[chosen] = y[chosen]
    return X, y, PairwiseConstraints.sample(y, 50, random_state=seed), labels


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 3, 5, 8])
def test_fifty_constraints_separate_a_ring_from_its_core(seed):
    X, y, constraints, _ = circles(seed)
    feature = KernelPCCA(gamma=0.3, random_state=0).fit(X, constraints=constraints)
    model = NNEVCLUS(2, xi=0.1, random_state=seed, **OF_THE_PAPER)
    model.fit(X, constraints=constraints, dissimilarities=feature)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert len(constraints.violations(model.labels_)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 3, 5, 8])
def test_fifty_labels_separate_a_ring_from_its_core(seed):
    X, y, _, labels = circles(seed)
    feature = KernelFDA(gamma=0.3).fit(X, labels)
    model = NNEVCLUS(2, random_state=seed, **OF_THE_PAPER).fit(X, labels=labels, dissimilarities=feature)
    assert adjusted_rand_score(y, model.labels_) == 1
    np.testing.assert_array_equal(model.labels_, y)  # clusters are numbered as the labels are


def test_the_original_distances_do_not_show_a_ring():
    X, y, constraints, _ = circles(0)
    model = NNEVCLUS(2, xi=0.1, random_state=0, **OF_THE_PAPER).fit(X, constraints=constraints)
    assert adjusted_rand_score(y, model.labels_) < 0.5


@pytest.fixture(scope="module")
def fourclass():
    """The network of Example 4."""
    X, y = make_fourclass(400, random_state=0)
    settings = {"focal_sets": "pairs", "network": (20,), "outlier_model": "svm", "d0_quantile": 0.9, "tol": 1e-3}
    return X, y, NNEVCLUS(4, random_state=0, **settings).fit(X)


def test_new_objects_are_judged_as_well_as_those_of_the_training(fourclass):
    _, y, model = fourclass
    new, truth = make_fourclass(1000, random_state=1)
    judged = model.predict_mass(new)
    scores = [adjusted_rand_score(y, model.labels_), adjusted_rand_score(truth, judged.to_hard())]
    assert min(scores) > 0.68
    assert abs(scores[0] - scores[1]) < 0.06
    shares = [model.credal_partition_.outliers().mean(), judged.outliers().mean()]
    assert min(shares) > 0.005
    assert max(shares) < 0.05


def test_new_outliers_are_recognised(fourclass):
    _, _, model = fourclass
    new, _ = make_fourclass(1000, random_state=1)
    angle = np.linspace(0, 2 * np.pi, 50, endpoint=False)
    around = np.column_stack([np.cos(angle), np.sin(angle)])
    for distance in (12, 30, 1000):
        far = model.predict_mass(2 + distance * around)
        assert far.masses[:, 0].min() > 0.8
        assert far.outliers().all()
    judged = model.predict_mass(new)
    reach = np.linalg.norm(new - 2, axis=1)
    # Those of the generated samples that are called outliers are the outermost ones.
    assert reach[judged.outliers()].min() > np.quantile(reach, 0.95)
    assert judged.outliers()[reach > 7].all()


@pytest.mark.slow
def test_a_new_cluster_is_recognised_as_none_of_the_old(fourclass):
    _, _, model = fourclass
    cluster = np.random.default_rng(0).normal((14, 14), 1, size=(200, 2))
    judged = model.predict_mass(cluster)
    assert judged.masses[:, 0].min() > 0.8
    assert judged.outliers().all()
