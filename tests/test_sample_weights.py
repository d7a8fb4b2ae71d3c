"""Sample weights of all public estimators: weight 0 equals no sample, and weight 2 equals two samples."""

import copy
import importlib
import inspect
import pkgutil

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_blobs
from sklearn.utils import get_tags

import evlearn
from evlearn.classify import EvidentialForestClassifier, EvidentialKNNClassifier
from evlearn.cluster import CCM, ECM
from evlearn.mixture.missing_values import Gaps

CENTERS = [[0, 0, 0], [4, 0, 1], [0, 4, 2]]
X, Y = make_blobs(90, centers=CENTERS, random_state=0)
WEIGHTS = np.random.default_rng(0).integers(0, 4, size=90)
REPEATED = np.repeat(np.arange(90), WEIGHTS)
SOFT = np.maximum(np.eye(3)[Y], np.random.default_rng(1).uniform(0, 0.6, size=(90, 3)))


def public_classes():
    for package in pkgutil.iter_modules(evlearn.__path__):
        if package.ispkg and package.name not in ("neural", "plotting"):  # these need extras
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
    labels_if_needed = [labels] if is_classifier(model) else []
    options = {} if weights is None else {"sample_weight": weights}
    return getattr(model, method)(samples, *labels_if_needed, **options).predict_mass(X).masses


def test_the_estimators_that_take_weights_are_found():
    assert {kind.__name__ for kind in takes_weights("fit")} == {
        "CCM",
        "ECM",
        "SECM",
        "CredalEnsemble",
        "EvidentialForestClassifier",
        "EvidentialKNNClassifier",
        "EvidentialNeuralClassifier",
        "EvidentialRBFClassifier",
    }


@pytest.mark.parametrize("kind", takes_weights("fit"))
@pytest.mark.slow_cells("EvidentialNeuralClassifier")
def test_weight_2_is_the_same_as_two_equal_samples(kind):
    weighted = masses(kind, X, Y, WEIGHTS)
    np.testing.assert_allclose(weighted, masses(kind, X[REPEATED], Y[REPEATED]), rtol=0, atol=1e-9)
    at_the_end = np.argsort(np.concatenate([np.arange(n) for n in WEIGHTS]), kind="stable")
    other_order = masses(kind, X[REPEATED[at_the_end]], Y[REPEATED[at_the_end]])
    np.testing.assert_allclose(weighted, other_order, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", takes_weights("fit"))
def test_weight_0_is_the_same_as_no_sample(kind):
    extended = np.vstack([X, [[50.0, 50, 50]] * 5])
    labels, is_kept = np.concatenate([Y, [0] * 5]), np.concatenate([WEIGHTS > 0, [False] * 5])
    labels[~is_kept] = (labels[~is_kept] + 1) % 3  # wrong labels have no effect either
    expected = masses(kind, extended[is_kept], labels[is_kept])
    np.testing.assert_allclose(masses(kind, extended, labels, is_kept * 1.0), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", [kind for kind in takes_weights("fit") if is_classifier(make(kind))])
def test_labels_with_doubt_may_be_weighted(kind):
    weighted = masses(kind, X, SOFT, WEIGHTS)
    np.testing.assert_allclose(weighted, masses(kind, X[REPEATED], SOFT[REPEATED]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", takes_weights("partial_fit"))
def test_weights_of_streams_are_counts(kind):
    weighted = masses(kind, X, weights=WEIGHTS, method="partial_fit")
    np.testing.assert_allclose(weighted, masses(kind, X[REPEATED], method="partial_fit"), rtol=0, atol=1e-9)


TAKES_GAPS = [kind for kind in takes_weights("fit") if get_tags(make(kind)).input_tags.allow_nan]
HOLES = np.array(X)
HOLES[np.arange(0, 90, 4), np.arange(0, 90, 4) % 3] = np.nan


def test_the_estimators_that_take_weights_and_missing_values_are_found():
    names = {kind.__name__ for kind in TAKES_GAPS}
    assert names == {"CCM", "ECM", "CredalEnsemble", "EvidentialForestClassifier", "EvidentialKNNClassifier"}


def masses_of_holes(kind, samples, labels, weights=None):
    model = make(kind)
    labels_if_needed = [labels] if is_classifier(model) else []
    return model.fit(samples, *labels_if_needed, sample_weight=weights).predict_mass(HOLES).masses


@pytest.mark.parametrize("kind", TAKES_GAPS)
def test_samples_of_weight_0_have_no_effect_on_the_model_of_missing_values(kind):
    extended = np.vstack([[[50.0, 50, np.nan]] * 5, HOLES])
    labels, is_kept = np.concatenate([[0] * 5, Y]), np.concatenate([[False] * 5, WEIGHTS > 0])
    first = masses_of_holes(kind, extended, labels, is_kept * 1.0)
    np.testing.assert_allclose(first, masses_of_holes(kind, extended[is_kept], labels[is_kept]), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "factor"),
    # A weight of 11 makes more copies than completions.
    [*((kind, 1) for kind in TAKES_GAPS), (CCM, 11), (ECM, 11), (EvidentialForestClassifier, 11)],
)
def test_weight_2_is_the_same_as_two_equal_samples_with_missing_values(kind, factor):
    weights = WEIGHTS * factor
    repeated = np.repeat(np.arange(90), weights)
    weighted = masses_of_holes(kind, HOLES, Y, weights)
    other = masses_of_holes(kind, HOLES[repeated], Y[repeated])
    np.testing.assert_allclose(weighted, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", TAKES_GAPS)
def test_weights_count_for_new_samples_with_missing_values(kind):
    weighted = masses_of_holes(kind, X, Y, WEIGHTS)
    np.testing.assert_allclose(weighted, masses_of_holes(kind, X[REPEATED], Y[REPEATED]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", TAKES_GAPS)
def test_equal_weights_are_no_weights_for_missing_values(kind):
    plain = masses_of_holes(kind, HOLES, Y)
    np.testing.assert_allclose(masses_of_holes(kind, HOLES, Y, np.ones(90)), plain, rtol=0, atol=1e-9)
    if kind is not EvidentialKNNClassifier:  # it counts neighbors
        np.testing.assert_allclose(masses_of_holes(kind, HOLES, Y, np.full(90, 0.5)), plain, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", [CCM, ECM])
def test_portions_with_weights_and_missing_values(kind):
    first = make(kind).fit(X)
    weighted = copy.deepcopy(first).partial_fit(HOLES, sample_weight=WEIGHTS)
    repeated = copy.deepcopy(first).partial_fit(HOLES[REPEATED])
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, rtol=0, atol=1e-9)
    assert weighted.n_samples_seen_ == 180


def test_fractional_weights_draw_samples_in_proportion():
    rows, weights = np.arange(10.0)[:, None], np.array([0.5] * 5 + [1.5] * 5)
    gaps = Gaps.learn(rows, 1, weights=weights)
    # About half of the light samples are drawn, and half of the heavy ones are drawn twice.
    assert gaps.center[0] == pytest.approx(np.median([0, 2, 4, 5, 6, 6, 7, 8, 8, 9]), abs=0.6)
    filled = gaps.fill_weighted(np.array([[np.nan], [1.0]]), np.array([2.5, 0.5]))
    np.testing.assert_array_equal(filled.weights, [2.5, 0.5])
    np.testing.assert_array_equal(filled.places, [0, 1])


def test_completions_share_the_weight_of_a_sample():
    gaps = Gaps.learn(HOLES, 3)
    filled = gaps.fill_weighted(HOLES[:2], np.array([47.0, 5]))
    np.testing.assert_array_equal(filled.places, [0] * 20 + [1])
    np.testing.assert_array_equal(filled.weights, [3] * 7 + [2] * 13 + [5])
    assert len(np.unique(filled.data[:20], axis=0)) == 20
    np.testing.assert_array_equal(gaps.fill_weighted(HOLES, np.ones(90)).data, gaps.fill(HOLES))


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
    first = clone(model).set_params(class_weight={0: 1, 1: 1, 2: 0}).fit(X, Y)
    assert first.oob_partition_.n_samples == 90
    second = clone(model).fit(X, Y, sample_weight=Y < 2)
    np.testing.assert_array_equal(first.predict_mass(X).masses, second.predict_mass(X).masses)
    assert set(first.predict(X)) == {0, 1}
