"""Evidential k-nearest neighbors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from sklearn.datasets import load_iris
from sklearn.metrics import confusion_matrix
from sklearn.neighbors import KNeighborsClassifier

from evlearn import CredalPartition
from evlearn.belief import FocalSets, combine
from evlearn.classify import EvidentialKNNClassifier
from evlearn.classify.labels import read_labels
from evlearn.classify.neighbor_evidence import make_evidence
from evlearn.utils.parameters import with_switches

CASES = ["EkNN_glass_K5", "EkNN_glass_K5_lambda1", "EkNN_ionosphere_K5", "EkNN_iris_K5", "EkNN_vehicles_K9"]


def random_problem(seed, n_samples=60, n_classes=3):
    random = np.random.default_rng(seed)
    y = random.integers(n_classes, size=n_samples)
    y[:n_classes] = np.arange(n_classes)
    return random.normal(size=(n_samples, 2)) + 2 * np.eye(n_classes, 2)[y], y, random


def random_soft_labels(random, y, n_classes=3):
    doubt = random.uniform(size=len(y))
    masses = np.zeros((len(y), 2**n_classes))
    sets = FocalSets.full(n_classes)
    masses[np.arange(len(y)), 1 + y] = 1 - doubt
    masses[np.arange(len(y)), random.integers(n_classes + 1, len(sets), size=len(y))] += doubt
    return CredalPartition(masses, sets)


# Results of R


@pytest.mark.parametrize("name", CASES)
def test_masses_loss_and_gradient_are_those_of_r(read_case, name):
    case = read_case(name)
    share = case.parameters["lambda"]
    labels = read_labels(case.y, case.X, "")
    evidence = make_evidence(labels)

    def squares_to(rows, neighbors):
        return ((rows[:, None] - case.X[neighbors]) ** 2).sum(axis=2)

    # With R's neighbors, because it selects others among ties.
    neighbors = case.arrays["train_nn_index_1b"] - 1
    squares = squares_to(case.X, neighbors)
    fixed = (neighbors, squares, case.arrays["gamma0"], 0.95)
    loss, gradient = evidence.loss(*fixed, labels.targets(share), share)
    assert loss == pytest.approx(case.scalars["cost0"], abs=1e-12)
    np.testing.assert_allclose(gradient, case.arrays["grad0"], rtol=0, atol=1e-10)
    fitted = evidence.masses(neighbors, squares, case.arrays["gamma"], 0.95)
    np.testing.assert_allclose(fitted[:, 1:], case.arrays["loo_mass_fit"], rtol=0, atol=1e-8)
    test_neighbors = case.arrays["test_nn_index_1b"] - 1
    masses = evidence.masses(test_neighbors, squares_to(case.X_test, test_neighbors), case.arrays["gamma"], 0.95)
    np.testing.assert_allclose(masses[:, 1:], case.arrays["test_mass_fit"], rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_from_the_same_start_the_loss_is_no_worse_than_that_of_r(read_case, name):
    case = read_case(name)
    settings = {"alpha": 0.95, "gamma": case.arrays["gamma0"]}
    model = EvidentialKNNClassifier(case.parameters["K"], **settings)
    with_switches(model, loss_lambda=case.parameters["lambda"]).fit(case.X, case.y)
    assert model.objective_ <= case.scalars["cost"] * (1 + 1e-7)


@pytest.mark.parametrize("name", CASES)
def test_the_loss_from_the_default_start_is_at_most_slightly_worse(read_case, name):
    case = read_case(name)
    model = EvidentialKNNClassifier(case.parameters["K"], alpha=0.95)
    with_switches(model, loss_lambda=case.parameters["lambda"])
    assert model.fit(case.X, case.y).objective_ <= case.scalars["cost"] * 1.01


def test_the_published_table_of_ionosphere(read_data):
    X, y = read_data("ionosphere_evclass")
    model = EvidentialKNNClassifier(10, alpha=0.95).fit(X[:176], y[:176])
    predicted = model.predict(X[176:])
    np.testing.assert_array_equal(confusion_matrix(y[176:], predicted), [[106, 6], [7, 56]])
    assert (predicted != y[176:]).mean() == pytest.approx(0.0743, abs=5e-5)


# Laws


@given(st.integers(0, 10_000), st.integers(1, 8))
@pytest.mark.slow
def test_masses_are_those_of_dempsters_rule(seed, n_neighbors):
    X, y, random = random_problem(seed)
    model = EvidentialKNNClassifier(n_neighbors, alpha=0.95, gamma=0.7, optimize=False).fit(X, y)
    row = random.normal(size=(1, 2))
    squares = ((X - row) ** 2).sum(axis=1)
    sets = FocalSets.simple(3)
    expected = np.array([0, 0, 0, 0, 1.0])
    for i in np.argsort(squares)[:n_neighbors]:
        support = 0.95 * np.exp(-0.49 * squares[i])
        piece = np.zeros(5)
        piece[1 + y[i]], piece[-1] = support, 1 - support
        expected = combine([expected, piece], sets)
    np.testing.assert_allclose(model.predict_mass(row).masses[0], expected, rtol=0, atol=1e-12)


@given(st.integers(0, 10_000))
@pytest.mark.slow
def test_crisp_labels_and_equivalent_soft_labels_give_the_same_masses(seed):
    X, y, random = random_problem(seed)
    rows = random.normal(size=(20, 2)) * 3
    crisp = EvidentialKNNClassifier(gamma=0.7, optimize=False).fit(X, y)
    for labels in (CredalPartition.from_hard(y), np.eye(3)[y]):
        soft = EvidentialKNNClassifier(gamma=0.7, optimize=False).fit(X, labels)
        assert soft.objective_ == pytest.approx(crisp.objective_, abs=1e-12)
        partition = soft.predict_mass(rows)
        for subset in crisp.focal_sets_:
            np.testing.assert_allclose(
                partition.masses[:, partition.focal_sets.index(subset)],
                crisp.predict_mass(rows).masses[:, crisp.focal_sets_.index(subset)],
                rtol=0,
                atol=1e-9,
            )


@given(st.integers(0, 10_000), st.sampled_from([1.0, 1 / 3]))
@pytest.mark.slow
def test_the_gradient_of_soft_labels_is_that_of_differences(seed, share):
    X, y, random = random_problem(seed)
    labels = read_labels(random_soft_labels(random, y), X, "")
    evidence, targets = make_evidence(labels), labels.targets(share)
    model = EvidentialKNNClassifier().fit(X, y)
    neighbors, squares = model._tree.nearest_others(5)

    def loss(gamma):
        return evidence.loss(neighbors, squares, gamma, 0.95, targets, share)

    gamma = np.array([random.uniform(0.2, 2)])
    np.testing.assert_allclose(loss(gamma)[1], approx_fprime(gamma, lambda g: loss(g)[0], 1e-7), atol=1e-6)


@given(st.integers(0, 10_000))
@pytest.mark.slow
def test_soft_labels_are_combined_by_dempsters_rule(seed):
    X, y, random = random_problem(seed)
    labels = random_soft_labels(random, y)
    model = EvidentialKNNClassifier(4, alpha=0.95, gamma=0.7, optimize=False).fit(X, labels)
    row = random.normal(size=(1, 2))
    squares = ((X - row) ** 2).sum(axis=1)
    full = FocalSets.full(3)
    expected = np.eye(8)[-1]
    for i in np.argsort(squares)[:4]:
        support = 0.95 * np.exp(-0.49 * squares[i])
        piece = support * labels.masses[i] + (1 - support) * np.eye(8)[-1]
        expected = combine([expected, piece], full)
    partition = model.predict_mass(row)
    columns = partition.focal_sets.positions(full.membership)
    np.testing.assert_allclose(partition.masses[0, columns], expected, rtol=0, atol=1e-10)


@given(st.integers(0, 10_000), st.sampled_from([1e-3, 8.0, 1e4]))
@pytest.mark.slow
def test_masses_do_not_depend_on_origin_and_units(seed, unit):
    X, y, random = random_problem(seed)
    rows = random.normal(size=(10, 2))
    original = EvidentialKNNClassifier().fit(X, y)
    scaled = EvidentialKNNClassifier().fit(unit * (X + 1), y)
    np.testing.assert_allclose(scaled.gamma_ * unit, original.gamma_, rtol=1e-3, atol=1e-3)
    assert scaled.objective_ == pytest.approx(original.objective_, rel=1e-5)
    np.testing.assert_allclose(
        scaled.predict_mass(unit * (rows + 1)).masses, original.predict_mass(rows).masses, rtol=0, atol=1e-3
    )


@given(st.integers(0, 10_000))
@pytest.mark.slow
def test_the_loss_never_increases(seed):
    X, y, _ = random_problem(seed)
    model = EvidentialKNNClassifier().fit(X, y)
    assert (np.diff(model.objective_history_) <= 1e-12).all()
    assert model.objective_ == model.objective_history_[-1]


def test_a_single_neighbor_gives_the_nearest_label():
    X, y, random = random_problem(0)
    rows = random.normal(size=(50, 2))
    nearest = ((rows[:, None] - X) ** 2).sum(axis=2).argmin(axis=1)
    model = EvidentialKNNClassifier(1, gamma=0.5, optimize=False).fit(X, y)
    np.testing.assert_array_equal(model.predict(rows), y[nearest])


@pytest.mark.slow
def test_the_result_does_not_depend_on_threads():
    X, y, _ = random_problem(0, 5000)
    serial, parallel = (EvidentialKNNClassifier(n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(serial.gamma_, parallel.gamma_)
    np.testing.assert_array_equal(serial.predict_mass(X).masses, parallel.predict_mass(X).masses)


def test_no_class_learns_that_it_reaches_everywhere():
    X, y = load_iris(return_X_y=True)
    for n_neighbors in (3, 10, 20):
        model = EvidentialKNNClassifier(n_neighbors).fit(X, y)
        remote = X + 200 * np.sign(X - X.mean(axis=0))
        assert (model.predict_mass(remote).masses[:, -1] > 0.999).all()
    unlimited = EvidentialKNNClassifier(gamma=1e-9).fit(X, y)  # smaller initial scales are possible
    assert np.isfinite(unlimited.objective_)


# Soft labels


def test_soft_labels_are_better_than_majority_votes():
    """Compare soft labels of 5 experts with their majority votes, as for EEG recordings in the slides."""
    errors = {"ordinary": [], "crisp": [], "soft": []}
    for seed in range(10):
        random = np.random.default_rng(seed)
        y = random.integers(2, size=1500)
        X = random.normal(size=(1500, 4)) + 1.1 * (2 * y[:, None] - 1) * [0.7, 0.5, 0.3, 0.1]
        # The skill of experts depends on the sample; labels are the shares of their votes.
        skill = random.uniform(0.35, 1, size=300)
        votes = random.binomial(5, np.where(y[:300] == 1, skill, 1 - skill)) / 5
        shares = np.column_stack([1 - votes, votes])
        soft = shares / shares.max(axis=1, keepdims=True)
        for name, labels in {"crisp": (votes > 0.5).astype(int), "soft": soft}.items():
            model = EvidentialKNNClassifier(9, alpha=0.1).fit(X[:300], labels)
            errors[name].append((model.predict(X[300:]) != y[300:]).mean())
        ordinary = KNeighborsClassifier(9).fit(X[:300], votes > 0.5)
        errors["ordinary"].append((ordinary.predict(X[300:]) != y[300:]).mean())
    for name in ("crisp", "ordinary"):
        gains = np.array(errors[name]) - errors["soft"]
        assert gains.mean() > 0.01
        assert (gains > 0).sum() >= 9


# Bad input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be 'auto' or a whole number of at least 1, got 0"),
        ({"alpha": 1}, "alpha must be less than 1"),
        ({"alpha": 0}, "alpha must be 'auto' or a number above 0"),
        ({"gamma": -1.0}, "gamma must be above 0"),
        ({"gamma": [1.0, 2.0]}, r"gamma must have shape \(3,\)"),
        ({"max_iter": 0}, "max_iter must be"),
    ],
)
def test_errors_name_the_parameter(parameters, message):
    X, y, _ = random_problem(0)
    with pytest.raises(ValueError, match=message):
        EvidentialKNNClassifier(**parameters).fit(X, y)


def test_more_neighbors_than_samples_are_all_samples():
    X, y, _ = random_problem(0, 12)
    model = EvidentialKNNClassifier(100, gamma=1.0, optimize=False).fit(X, y)
    expected = EvidentialKNNClassifier(12, gamma=1.0, optimize=False).fit(X, y)
    np.testing.assert_array_equal(model.predict_mass(X).masses, expected.predict_mass(X).masses)


def test_a_class_of_duplicates_has_the_scale_of_all_objects_in_any_unit():
    X = np.array([[0.0, 0], [0, 0], [0, 0], [3, 1], [4, 3], [5, 2]])
    y = [0, 0, 0, 1, 1, 1]
    for unit in (1.0, 1e-3, 1e3):
        gamma = EvidentialKNNClassifier(2, optimize=False).fit(unit * X, y).gamma_
        squares = [((rows[:, None] - rows) ** 2).sum(axis=2) for rows in (unit * X, unit * X[3:])]
        # The mean over pairs of different samples: of all samples for a class of duplicates.
        means = [block.sum() / (len(block) * (len(block) - 1)) for block in squares]
        np.testing.assert_allclose(gamma, 1 / np.sqrt(means), rtol=1e-12)
