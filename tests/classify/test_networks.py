"""Networks of prototypes: forward passes, gradients and training, compared with R and Dempster's rule."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from evlearn.belief import FocalSets, combine
from evlearn.classify import EvidentialNeuralClassifier, EvidentialRBFClassifier
from evlearn.classify.prototype_networks import ENNLoss, ENNParameters, RBFLoss, RBFParameters, pack, unpack
from evlearn.classify.weights_of_evidence import combine_evidence
from evlearn.utils.convergence import minimize_lbfgs
from evlearn.utils.parameters import with_switches

ENN_CASES = [
    "proDS_glass_n7",
    "proDS_glass_scaled_n7_mu",
    "proDS_iris_2perclass_crisp_fixedproto",
    "proDS_iris_n6",
]
RBF_CASES = ["RBF_glass_scaled_n7", "RBF_ionosphere_n6", "RBF_iris_n6"]
cut_off = pytest.mark.filterwarnings("ignore:the loss still changed:sklearn.exceptions.ConvergenceWarning")


def enn_of(arrays, suffix=""):
    """Convert parameters of R, which halves the squared distance."""
    prototypes, gamma, beta, alpha = (arrays[name + suffix] for name in ("W", "gamma", "beta", "alpha"))
    return ENNParameters(prototypes, gamma / np.sqrt(2), beta, alpha)


def enn_loss(case):
    targets = np.eye(case.y.max())[case.y - 1]
    return ENNLoss(
        case.X, targets, case.parameters["lambda"], case.parameters["mu"], not case.parameters["optimProto"]
    )


def random_enn(seed, n_prototypes=4, n_classes=3, n_samples=30):
    random = np.random.default_rng(seed)
    parts = [random.normal(size=(n_prototypes, 2)), random.uniform(0.2, 1.5, size=n_prototypes)]
    parts += [random.uniform(0.1, 1, size=(n_prototypes, n_classes)), random.normal(size=n_prototypes)]
    targets = random.dirichlet(np.ones(n_classes), size=n_samples)
    return ENNParameters(*parts), random.normal(size=(n_samples, 2)), targets


def random_rbf(seed, n_prototypes=4, n_classes=3, n_samples=30):
    random = np.random.default_rng(seed)
    parts = [random.normal(size=(n_prototypes, 2)), random.uniform(0.2, 1.5, size=n_prototypes)]
    parts += [2 * random.normal(size=(n_prototypes, n_classes))]
    plausibilities = random.uniform(size=(n_samples, n_classes))
    plausibilities /= plausibilities.max(axis=1, keepdims=True)
    return RBFParameters(*parts), random.normal(size=(n_samples, 2)), plausibilities


def slopes_by_differences(loss, parameters):
    return approx_fprime(pack(parameters), lambda v: loss.evaluate(unpack(v, parameters))[0], 1e-7)


# The evidential neural network


@pytest.mark.parametrize("name", ENN_CASES)
def test_the_forward_pass_loss_and_gradient_are_those_of_r(read_case, name):
    case = read_case(name)
    for suffix, masses in (("0", "test_mass_init"), ("", "test_mass")):
        result = enn_of(case.arrays, suffix).masses(case.X_test)
        np.testing.assert_allclose(result, case.arrays[masses], rtol=0, atol=1e-8)
    loss, start = enn_loss(case), enn_of(case.arrays, "0")
    value, gradient = loss.evaluate(start)
    assert value == pytest.approx(case.scalars["cost0"], abs=1e-10)
    expected = case.arrays["grad0_numeric"]  # R's derivative of the last part is not exact
    parts = [gradient.prototypes.T, gradient.eta / np.sqrt(2), gradient.beta.T, gradient.xi]
    result = np.concatenate([part.ravel() for part in parts])
    moving = slice(0 if case.parameters["optimProto"] else start.prototypes.size, None)
    np.testing.assert_allclose(result[moving], expected[moving], rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", ENN_CASES)
def test_from_the_same_start_the_loss_is_no_worse_than_that_of_r(read_case, name):
    case = read_case(name)
    loss, start = enn_loss(case), enn_of(case.arrays, "0")
    value = _trained(loss, start, 500)
    assert value <= case.scalars["cost_at_returned_param"] * (1 + 1e-6)


def _trained(loss, start, max_iter):
    def evaluate(values):
        value, gradient = loss.evaluate(unpack(values, start))
        return value, pack(gradient)

    return minimize_lbfgs(evaluate, pack(start), tol=1e-6, max_iter=max_iter, gradient_tol=1e-9).history[-1]


@cut_off
@pytest.mark.slow
def test_the_error_on_glass_is_that_of_the_slides(read_data):
    X, y = read_data("glass_evclass")
    errors = []
    for seed in range(10):
        model = EvidentialNeuralClassifier(7, tol=1e-4, random_state=seed)
        with_switches(model, per_class=False, standardize=False)
        errors.append(1 - model.fit(X[:89], y[:89]).score(X[89:], y[89:]))
    assert np.mean(errors) == pytest.approx(0.333, abs=0.05)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 1 / 3, 1.0]), st.sampled_from([0.0, 0.1]))
@pytest.mark.slow
def test_the_gradient_of_the_evidential_network_is_that_of_differences(seed, share, mu):
    parameters, data, targets = random_enn(seed)
    loss = ENNLoss(data, targets, share, mu, False)
    np.testing.assert_allclose(
        pack(loss.evaluate(parameters)[1]), slopes_by_differences(loss, parameters), rtol=0, atol=2e-6
    )


@given(st.integers(0, 10_000))
def test_prototypes_are_combined_by_dempsters_rule(seed):
    parameters, data, _ = random_enn(seed, n_samples=1)
    supports, _ = parameters.supports(data)
    pieces = np.column_stack([0 * supports[0], supports.T * parameters.memberships, 1 - supports[0]])
    expected = combine(list(pieces), FocalSets.simple(3))
    np.testing.assert_allclose(parameters.masses(data)[0], expected[1:], rtol=0, atol=1e-12)


def test_prototypes_may_be_fixed_and_a_penalty_reduces_strengths():
    _, data, _ = random_enn(0, n_samples=200)
    y = (data[:, 0] > 0).astype(int)
    model = EvidentialNeuralClassifier(6, random_state=0)
    with_switches(model, optimize_prototypes=False).fit(data, y)
    flexible = EvidentialNeuralClassifier(6, random_state=0).fit(data, y)
    first = EvidentialNeuralClassifier(6, random_state=0, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="the loss still changed"):
        first.fit(data, y)
    assert model.objective_ >= flexible.objective_ - 1e-6
    assert np.abs(model.prototypes_ - flexible.prototypes_).max() > 1e-3
    weak, strong = (EvidentialNeuralClassifier(6, mu=mu, random_state=0).fit(data, y) for mu in (1e-4, 0.05))
    assert strong.strengths_.sum() < weak.strengths_.sum()


@pytest.mark.parametrize("per_class", [True, False])
def test_the_number_of_prototypes_is_the_total_of_all_classes(per_class):
    X, y = make_blobs([60, 20, 40, 30], n_features=3, centers=None, random_state=0)
    for number in (2, 4, 11):
        model = EvidentialNeuralClassifier(number, max_iter=20, random_state=0)
        with_switches(model, per_class=per_class)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # 2 prototypes may be too few for 4 classes
            assert len(model.fit(X, y).prototypes_) == number


def test_classes_have_equal_numbers_of_initial_prototypes():
    X, y = make_blobs([60, 20, 40], n_features=3, random_state=0)
    model = EvidentialNeuralClassifier(7, random_state=0)
    with_switches(model, optimize_prototypes=False).fit(X, y)
    nearest = np.linalg.norm(model.prototypes_[:, None] - X, axis=2).argmin(axis=1)
    np.testing.assert_array_equal(np.bincount(y[nearest]), [3, 2, 2])  # the largest class has one more


@pytest.mark.parametrize("kind", [EvidentialNeuralClassifier, EvidentialRBFClassifier])
def test_too_many_prototypes_are_reported(kind):
    X, y = make_blobs(40, n_features=2, centers=2, random_state=0)
    message = "n_prototypes=21 exceeds half of the 40 distinct training samples.*use at most 20, or 'auto'"
    with pytest.warns(UserWarning, match=message):
        kind(21, random_state=0).fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    kind(20, random_state=0).fit(X, y)
    kind(init={"prototypes": X}).fit(X, y)


@pytest.mark.slow
def test_the_error_on_vowels_is_that_of_the_slides(read_data):
    X, y = read_data("vowel_train")
    new, truth = read_data("vowel_test")
    model = EvidentialNeuralClassifier(33, random_state=0).fit(X, y)
    assert len(model.prototypes_) == 33
    assert 1 - model.score(new, truth) < 0.6  # of 11 classes; with 33 prototypes per class it was 0.85


@pytest.mark.slow
def test_the_best_of_several_starts_is_used():
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = (np.abs(X).sum(axis=1) > 2.2).astype(int)
    for kind in (EvidentialNeuralClassifier, EvidentialRBFClassifier):
        single, multiple = (kind(4, n_init=n, random_state=0).fit(X, y) for n in (1, 5))
        assert multiple.objective_ <= single.objective_


# Weights of evidence


@pytest.mark.parametrize("name", RBF_CASES)
def test_the_loss_gradient_and_masses_of_the_rbf_network_are_those_of_r(read_case, name):
    case = read_case(name)
    loss = RBFLoss(case.X, np.eye(case.y.max())[case.y - 1], case.parameters["lambda"])
    start = RBFParameters(*(case.arrays[part + "0"] for part in ("P", "Gamma", "W")))
    value, gradient = loss.evaluate(start)
    assert -value == pytest.approx(case.scalars["loglik0"], abs=1e-10)
    slopes = np.concatenate([gradient.prototypes.T.ravel(), gradient.gamma, gradient.weights.T.ravel()])
    np.testing.assert_allclose(-slopes, case.arrays["grad0"], rtol=0, atol=1e-8)
    end = RBFParameters(*(case.arrays[part] for part in ("P", "Gamma", "W")))
    for network, suffix in ((start, "_init"), (end, "")):
        weights = network.weights - network.weights.mean(axis=1, keepdims=True)
        if weights.shape[1] == 2:
            weights = weights / 2  # R halves the evidence of 2 classes
        active = network.activations(case.X_test)[0]
        partition = combine_evidence(active, weights, 0 * weights, [str(k) for k in range(weights.shape[1])])
        columns = partition.focal_sets.positions(case.arrays["test_focal_int"].astype(bool))
        expected = case.arrays["test_mass" + suffix]
        np.testing.assert_allclose(partition.masses[:, columns], expected, rtol=0, atol=1e-8)
    # Some cases of R stopped after 200 iterations.
    assert -_trained(loss, start, 1000) >= case.scalars["loglik"] - 1e-6


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.01]))
@pytest.mark.slow
def test_the_gradient_of_the_rbf_network_is_that_of_differences(seed, l2):
    parameters, data, plausibilities = random_rbf(seed)
    loss = RBFLoss(data, plausibilities, l2)
    np.testing.assert_allclose(
        pack(loss.evaluate(parameters)[1]), slopes_by_differences(loss, parameters), rtol=0, atol=2e-6
    )


def test_the_loss_is_the_mean_over_blocks_of_rows():
    for make, kind in (
        (random_enn, lambda *p: ENNLoss(*p, 0.5, 0.0, False)),
        (random_rbf, lambda *p: RBFLoss(*p, 0.0)),
    ):
        parameters, data, targets = make(0, n_samples=9000)
        complete, parts = kind(data, targets), [kind(data[i::3], targets[i::3]) for i in range(3)]
        assert complete.evaluate(parameters)[0] == pytest.approx(
            np.mean([part.evaluate(parameters)[0] for part in parts]), rel=1e-12
        )


def test_plausibilities_of_the_rbf_network_are_in_proportion_to_its_probabilities():
    X = np.random.default_rng(0).normal(size=(150, 2))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    model = EvidentialRBFClassifier(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_mass(X).to_fuzzy(), model.predict_proba(X), rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.weights_.sum(axis=1), 0, atol=1e-9)


def test_no_rbf_prototype_begins_on_one_remote_object():
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(size=(30, 2)), random.normal([6, 0], size=(30, 2)), [[30, 40]]])
    y = np.repeat([0, 1], [30, 31])
    model = EvidentialRBFClassifier(3, random_state=0).fit(X, y)
    assert len(model.prototypes_) == 2
    assert (np.abs(model.prototypes_ - X[-1]).max(axis=1) > 10).all()
    # A single sample is not evidence about its surroundings: there all mass is on all classes.
    assert model.predict_mass(X[-1:]).masses[0, -1] > 0.99


def test_samples_with_vacuous_labels_do_not_change_the_rbf_network():
    X = np.random.default_rng(0).normal(size=(150, 2))
    plausibilities = np.eye(2)[(X[:, 0] > 0).astype(int)]
    parameters, *_ = random_rbf(0, n_classes=2)
    padded = RBFLoss(np.vstack([X, X]), np.vstack([plausibilities, np.ones((150, 2))]), 0.0)
    half, expected = padded.evaluate(parameters), RBFLoss(X, plausibilities, 0.0).evaluate(parameters)
    assert 2 * half[0] == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(2 * pack(half[1]), pack(expected[1]), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (EvidentialNeuralClassifier(0), "n_prototypes must be 'auto' or a whole number of at least 1, got 0"),
        (EvidentialNeuralClassifier(mu=-1), "mu must be a number at least 0"),
        (EvidentialRBFClassifier("many"), "n_prototypes must be 'auto' or a whole number"),
        (EvidentialRBFClassifier(l2=-1), "l2 must be 'auto' or a number at least 0"),
        (EvidentialRBFClassifier(n_init=0), "n_init must be"),
    ],
)
def test_errors_name_the_parameter(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit([[0.0], [1.0]], [0, 1])
