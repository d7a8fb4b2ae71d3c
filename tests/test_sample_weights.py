"""Sample weights of all public estimators: weight 0 equals no sample, and weight 2 equals two samples."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_blobs

import evlearn
from evlearn.classify import EvidentialForestClassifier, EvidentialKNNClassifier

CENTERS = [[0, 0, 0], [4, 0, 1], [0, 4, 2]]
X, Y = make_blobs(90, centers=CENTERS, random_state=0)
WEIGHTS = np.random.default_rng(0).integers(0, 4, size=90)
REPEATED = np.repeat(np.arange(90), WEIGHTS)
SOFT = np.maximum(np.eye(3)[Y], np.random.default_rng(1).uniform(0, 0.6, size=(90, 3)))


def public_classes():
    for package in pkgutil.iter_modules(evlearn.__path__):
        if package.ispkg and package.name not in ("neural", "plotting"):  # which need extras
            module = importlib.import_module(f"evlearn.{package.name}")
            yield from (getattr(module, name) for name in getattr(module, "__all__", ()))


def takes_weights(method):
    return sorted(
        {
            kind
            for kind in public_classes()
            if inspect.isclass(kind)
            and hasattr(kind, method)
            and "sample_weight" in inspect.signature(getattr(kind, method)).parameters
        },
        key=lambda kind: kind.__name__,
    )


def make(kind):
    options = {"n_clusters": 3, "n_estimators": 20, "random_state": 0}
    names = inspect.signature(kind).parameters
    return kind(**{name: value for name, value in options.items() if name in names})


def masses(kind, samples, labels=None, weights=None, method="fit"):
    model = make(kind)
    known = [labels] if is_classifier(model) else []
    options = {} if weights is None else {"sample_weight": weights}
    return getattr(model, method)(samples, *known, **options).predict_mass(X).masses


def test_the_estimators_that_take_weights_are_found():
    assert {kind.__name__ for kind in takes_weights("fit")} == {
        "CCM",
        "ECM",
        "SECM",
        "EvidentialForestClassifier",
        "EvidentialKNNClassifier",
        "EvidentialNeuralClassifier",
        "EvidentialRBFClassifier",
    }


@pytest.mark.parametrize("kind", takes_weights("fit"))
def test_weight_2_is_the_same_as_two_equal_samples(kind):
    weighted = masses(kind, X, Y, WEIGHTS)
    np.testing.assert_allclose(weighted, masses(kind, X[REPEATED], Y[REPEATED]), rtol=0, atol=1e-9)
    at_the_end = np.argsort(np.concatenate([np.arange(n) for n in WEIGHTS]), kind="stable")
    other_order = masses(kind, X[REPEATED[at_the_end]], Y[REPEATED[at_the_end]])
    np.testing.assert_allclose(weighted, other_order, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", takes_weights("fit"))
def test_weight_0_is_the_same_as_no_sample(kind):
    far = np.vstack([X, [[50.0, 50, 50]] * 5])
    labels, kept = np.concatenate([Y, [0] * 5]), np.concatenate([WEIGHTS > 0, [False] * 5])
    labels[~kept] = (labels[~kept] + 1) % 3  # wrong labels do not count either
    without = masses(kind, far[kept], labels[kept])
    np.testing.assert_allclose(masses(kind, far, labels, kept * 1.0), without, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", [kind for kind in takes_weights("fit") if is_classifier(make(kind))])
def test_labels_with_doubt_may_be_weighted(kind):
    weighted = masses(kind, X, SOFT, WEIGHTS)
    np.testing.assert_allclose(weighted, masses(kind, X[REPEATED], SOFT[REPEATED]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", takes_weights("partial_fit"))
def test_weights_of_streams_are_counts(kind):
    weighted = masses(kind, X, weights=WEIGHTS, method="partial_fit")
    np.testing.assert_allclose(weighted, masses(kind, X[REPEATED], method="partial_fit"), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", [EvidentialForestClassifier, EvidentialKNNClassifier])
def test_samples_of_weight_0_say_nothing_about_gaps(kind):
    holes = np.array(X)
    holes[np.arange(0, 90, 4), np.arange(0, 90, 4) % 3] = np.nan
    far = np.vstack([[[50.0, 50, np.nan]] * 5, holes])
    labels, kept = np.concatenate([[0] * 5, Y]), np.concatenate([[False] * 5, WEIGHTS > 0])
    one = make(kind).fit(far, labels, sample_weight=kept * 1.0)
    other = make(kind).fit(far[kept], labels[kept])
    np.testing.assert_allclose(one.predict_mass(holes).masses, other.predict_mass(holes).masses, atol=1e-9)


def test_a_forest_with_weights_has_masses_out_of_bag_for_all_samples():
    model = EvidentialForestClassifier(20, random_state=0)
    weighted = clone(model).fit(X, Y, sample_weight=WEIGHTS).oob_partition_
    repeated = clone(model).fit(X[REPEATED], Y[REPEATED]).oob_partition_
    assert weighted.n_samples == 90
    np.testing.assert_allclose(weighted.masses[REPEATED], repeated.masses, atol=1e-12)
    # Samples of weight 0 are new to all trees, and easy ones are recognized.
    assert (weighted.to_hard()[WEIGHTS == 0] == Y[WEIGHTS == 0]).mean() > 0.9


def test_only_large_weights_of_a_forest_have_a_scale():
    model = EvidentialForestClassifier(20, random_state=0)
    plain, small, large = (
        clone(model).fit(X, Y, sample_weight=np.full(90, weight)).predict_mass(X) for weight in (1, 1 / 90, 3)
    )
    np.testing.assert_allclose(small.masses, plain.masses, atol=1e-9)
    assert large.masses[:, 1:4].max(axis=1).mean() > plain.masses[:, 1:4].max(axis=1).mean()


def test_a_class_of_weight_0_is_the_same_as_no_samples():
    model = EvidentialForestClassifier(20, random_state=0)
    one = clone(model).set_params(class_weight={0: 1, 1: 1, 2: 0}).fit(X, Y)
    assert one.oob_partition_.n_samples == 90
    other = clone(model).fit(X, Y, sample_weight=Y < 2)
    np.testing.assert_array_equal(one.predict_mass(X).masses, other.predict_mass(X).masses)
    assert set(one.predict(X)) == {0, 1}
