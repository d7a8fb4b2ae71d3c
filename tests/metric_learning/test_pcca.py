import copy
import pickle
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from evlearn import watching
from evlearn.cluster import CECM, ECM, EVCLUS
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_core_and_ring, make_fourclass
from evlearn.metric_learning import FDA, PCCA, features
from evlearn.metric_learning.pcca import PairLoss, lower_pair_loss

RBF = partial(PCCA, kernel="rbf")
METHODS = [pytest.param(PCCA, id="linear"), pytest.param(RBF, id="rbf")]


@parametrize_with_checks([PCCA(), *(PCCA(kernel=kernel) for kernel in ("rbf", "linear", "precomputed"))])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y, PairwiseConstraints.sample(y, 50, random_state=0)


@pytest.fixture(scope="module")
def circles():
    X, y = make_core_and_ring(500, random_state=0)
    return X, y, PairwiseConstraints.sample(y, 50, random_state=0)


def loss_at_zero(constraints, beta=1.0):
    return (
        constraints.n_must_link * np.logaddexp(0, -beta) + constraints.n_cannot_link * np.logaddexp(0, beta)
    ) / beta


def loss_of(z, constraints, beta=1.0):
    """Compute the loss from its formula, pair by pair."""
    total = 0.0
    for sign, pairs in ((1, constraints.must_link), (-1, constraints.cannot_link)):
        for i, j in pairs:
            total += np.logaddexp(0, beta * sign * (((z[i] - z[j]) ** 2).sum() - 1)) / beta
    return total


def is_separated(z, y):
    """Return True if a threshold separates the 2 classes."""
    first, second = z[y == 0], z[y == 1]
    return max(first.min(), second.min()) > min(first.max(), second.max())


# The loss


@given(st.integers(0, 2**31), st.integers(1, 3), st.integers(1, 4), st.sampled_from([0.3, 1.0, 5.0]))
def test_the_gradient_is_that_of_finite_differences(seed, n_components, n_features, beta):
    random = np.random.default_rng(seed)
    X = random.standard_normal((10, n_features))
    constraints = PairwiseConstraints.sample(random.integers(2, size=10), 12, random_state=0)
    loss = PairLoss.of(X, constraints, beta)
    components = random.standard_normal((n_components, n_features))

    def value(flat):
        return loss.evaluate(flat.reshape(components.shape))[0]

    expected = approx_fprime(components.ravel(), value, 1e-7)
    value_here, gradient = loss.evaluate(components)
    np.testing.assert_allclose(gradient.ravel(), expected, rtol=1e-4, atol=1e-4 * (1 + np.abs(gradient).max()))
    np.testing.assert_allclose(value_here, loss_of(X @ components.T, constraints, beta), rtol=1e-12)


def test_the_loss_does_not_overflow():
    loss = PairLoss.of(1e6 * np.eye(3), PairwiseConstraints([(0, 1)], [(1, 2)]), 1.0)
    value, gradient = loss.evaluate(np.ones((1, 3)) * [1, 2, 3])
    np.testing.assert_allclose(value, 1e12, rtol=1e-9)
    assert np.isfinite(gradient).all()


def test_both_starts_lie_in_the_span_of_the_pairs(iris):
    X = np.column_stack([iris[0], np.ones(150)])
    loss = PairLoss.of(X, iris[2], 1.0)
    for start in (loss.random_start(2, np.random.RandomState(0)), loss.steepest_start(2)):
        assert np.abs(start[:, -1]).max() < 1e-15
        lengths = np.sqrt(((loss.differences @ X @ start.T) ** 2).mean(axis=0))
        np.testing.assert_allclose(lengths, 1e-3)


def test_the_loss_decreases_fastest_in_the_directions_of_the_steepest_start(iris):
    X, _, constraints = iris
    loss = PairLoss.of(X, constraints, 1.0)
    best = loss.steepest_start(1)
    size = np.linalg.norm(best)
    for seed in range(20):
        other = np.random.default_rng(seed).standard_normal(best.shape)
        other *= size / np.linalg.norm(other)
        assert loss.evaluate(best)[0] < loss.evaluate(other)[0]


# Against the R package


def test_loss_and_gradient_at_the_start_are_those_of_the_reference(reference):
    case = reference("pcca_iris_d2")
    X = load_iris().data
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    constraints = PairwiseConstraints(case.arrays["ML_1b"] - 1, case.arrays["CL_1b"] - 1)
    value, gradient = PairLoss.of(X, constraints, 1.0).evaluate(case.arrays["L0"])
    np.testing.assert_allclose(value, case.scalars["loss0"], rtol=1e-12)
    np.testing.assert_allclose(gradient, case.arrays["grad0"], rtol=0, atol=1e-12)


def test_the_loss_on_irises_is_that_of_the_reference_or_lower(reference):
    case = reference("pcca_iris_d2")
    X = load_iris().data
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    constraints = PairwiseConstraints(case.arrays["ML_1b"] - 1, case.arrays["CL_1b"] - 1)
    model = PCCA(2, random_state=0).fit(X, constraints=constraints)
    assert model.objective_ < case.scalars["loss_at_L"]
    np.testing.assert_allclose(model.objective_, case.scalars["loss_at_L"], rtol=1e-5)
    # The optimum is the same up to rotations. R stops 5e-8 above it, so that the metrics agree in 3 digits.
    metric, expected = (L.T @ L for L in (model.components_, case.arrays["L"]))
    np.testing.assert_allclose(metric, expected, rtol=0, atol=1e-3 * np.abs(expected).max())


def test_a_descent_from_the_reference_hardly_lowers_the_loss(reference):
    case = reference("pcca_iris_d2")
    X = load_iris().data
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    constraints = PairwiseConstraints(case.arrays["ML_1b"] - 1, case.arrays["CL_1b"] - 1)
    loss = PairLoss.of(X, constraints, 1.0)
    trace = lower_pair_loss(loss, case.arrays["L0"], tol=1e-9, max_iter=1000)
    descent_from_reference = lower_pair_loss(loss, case.arrays["L"], tol=1e-9, max_iter=1000)
    np.testing.assert_allclose(trace.objective, descent_from_reference.objective, rtol=1e-8)


def test_the_kernel_loss_on_bananas_is_lower_than_that_of_the_reference(reference_file, reference):
    case = reference("kpcca_bananas200_d1")
    table = np.genfromtxt(reference_file("data/bananas_n200_seed7.csv"), delimiter=",", names=True)
    X = np.column_stack([table["x1"], table["x2"]])
    constraints = PairwiseConstraints(case.arrays["ML_1b"] - 1, case.arrays["CL_1b"] - 1)
    z = case.arrays["z"]
    np.testing.assert_allclose(rbf_kernel(X, gamma=0.2) @ case.arrays["A"].T, z, rtol=0, atol=1e-12)
    np.testing.assert_allclose(loss_of(z, constraints), case.scalars["loss_final"], rtol=1e-12)
    model = RBF(gamma=0.2, random_state=0).fit(X, constraints=constraints)
    features = model.transform(X)
    np.testing.assert_allclose(loss_of(features, constraints), model.objective_, rtol=1e-9)
    # All constraints can be met, so that the loss has a lower bound but no minimum. R ends farther from it.
    bound = constraints.n_must_link * np.log1p(np.exp(-1))
    assert bound < model.objective_ < case.scalars["loss_final"]
    assert model.objective_ - bound < 0.2 * (case.scalars["loss_final"] - bound)
    assert abs(np.corrcoef(features[:, 0], z[:, 0])[0, 1]) > 0.98


# Properties


@pytest.mark.parametrize("method", METHODS)
def test_the_loss_is_lower_than_without_features(iris, method):
    X, _, constraints = iris
    model = method(random_state=0).fit(X, constraints=constraints)
    assert model.objective_ < 0.3 * loss_at_zero(constraints)
    np.testing.assert_allclose(model.objective_, loss_of(model.transform(X), constraints), rtol=1e-8)
    assert (np.diff(model.objective_history_) <= 1e-9).all()
    assert len(model.objective_history_) == model.n_iter_ + 1
    assert model.objective_history_[-1] == model.objective_
    assert model.converged_


@pytest.mark.slow
@given(st.integers(0, 2**31), st.integers(1, 3), st.sampled_from([0.3, 1.0, 4.0]))
def test_the_result_is_a_stationary_point_that_is_better_than_zero(seed, n_components, beta):
    random = np.random.default_rng(seed)
    X, y = random.standard_normal((30, 3)), np.arange(30) % 2
    X[:, 0] += y
    constraints = PairwiseConstraints.sample(y, 60, random_state=seed % 1000)
    model = PCCA(n_components, beta=beta, tol=1e-10, random_state=0).fit(X, constraints=constraints)
    assert model.objective_ < loss_at_zero(constraints, beta)
    gradient = PairLoss.of(X, constraints, beta).evaluate(model.components_)[1]
    assert np.abs(gradient).max() < 1e-2


def test_transforming_is_linear(iris):
    X, _, constraints = iris
    model = PCCA(random_state=0).fit(X, constraints=constraints)
    a, b = X[:20], X[20:40]
    np.testing.assert_allclose(
        model.transform(2 * a - 3 * b), 2 * model.transform(a) - 3 * model.transform(b), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("method", METHODS)
def test_translations_do_not_change_distances(iris, method):
    X, _, constraints = iris
    model = method(random_state=0)
    before = pairwise_distances(model.fit_transform(X, constraints=constraints))
    after = pairwise_distances(model.fit_transform(X + 64, constraints=constraints))
    if method is RBF:  # without a minimum, the end of the descent depends slightly on rounding
        before, after = before / before.max(), after / after.max()
        np.testing.assert_allclose(after, before, rtol=0, atol=0.05)
    else:
        np.testing.assert_allclose(after, before, rtol=0, atol=1e-3 * before.max())


@pytest.mark.slow
@given(st.integers(0, 2**31))
def test_rotations_of_the_data_do_not_change_distances(seed):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    constraints = PairwiseConstraints.sample(y, 50, random_state=0)
    rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((4, 4)))[0]
    model = PCCA(tol=1e-10, random_state=0)
    before = pairwise_distances(model.fit_transform(X, constraints=constraints))
    loss = model.objective_
    after = pairwise_distances(model.fit_transform(X @ rotation, constraints=constraints))
    np.testing.assert_allclose(model.objective_, loss, rtol=1e-7)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-3 * before.max())


@pytest.mark.parametrize("scale", [1e-150, 1e-6, 1e6, 1e150])
def test_the_unit_of_the_data_does_not_matter(iris, scale):
    X, _, constraints = iris
    model = PCCA(random_state=0)
    before = model.fit_transform(X, constraints=constraints)
    after = model.fit_transform(scale * X, constraints=constraints)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-2)


def test_directions_in_which_no_pair_differs_have_no_weight(iris):
    X = np.column_stack([iris[0], np.arange(150) * 0.0])
    X[149, -1] = 1
    constraints = PairwiseConstraints.sample(iris[1][:149], 50, random_state=0)
    assert np.abs(PCCA(random_state=0).fit(X, constraints=constraints).components_[:, -1]).max() < 1e-12


def test_more_features_than_samples_give_the_same_distances(iris):
    X, _, constraints = iris
    wide = np.linalg.qr(np.random.default_rng(0).standard_normal((400, 4)))[0]
    model = PCCA(tol=1e-10, random_state=0)
    before = pairwise_distances(model.fit_transform(X, constraints=constraints))
    after = pairwise_distances(model.fit_transform(X @ wide.T, constraints=constraints))
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-3 * before.max())
    assert model.components_.shape == (2, 400)


def test_a_linear_kernel_gives_linear_features(iris):
    X, _, constraints = iris
    linear = PCCA(1, tol=1e-10, random_state=0).fit(X, constraints=constraints)
    kernel = PCCA(1, kernel="linear", tol=1e-10, random_state=0).fit(X, constraints=constraints)
    np.testing.assert_allclose(kernel.objective_, linear.objective_, rtol=1e-6)
    distances = [pairwise_distances(model.transform(X)) for model in (linear, kernel)]
    np.testing.assert_allclose(distances[1], distances[0], rtol=0, atol=1e-3 * distances[0].max())


def test_precomputed_and_custom_kernels_give_the_same_features(circles):
    X, _, constraints = circles
    K = rbf_kernel(X, gamma=0.3)
    expected = RBF(gamma=0.3, random_state=0).fit(X, constraints=constraints).transform(X)
    precomputed = PCCA(kernel="precomputed", random_state=0).fit(K, constraints=constraints)
    np.testing.assert_allclose(precomputed.transform(K), expected, rtol=0, atol=1e-6)
    custom = PCCA(kernel=lambda a, b: np.exp(-0.3 * ((a - b) ** 2).sum()), random_state=0)
    z = custom.fit(X, constraints=constraints).transform(X[:10])
    np.testing.assert_allclose(z, expected[:10], rtol=0, atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "sigmoid", "cosine"])
def test_every_kernel_lowers_the_loss(iris, kernel):
    X, _, constraints = iris
    model = PCCA(kernel=kernel, gamma=0.1, random_state=0).fit(X, constraints=constraints)
    assert model.objective_ < 0.6 * loss_at_zero(constraints)
    assert np.isfinite(model.transform(X + 1)).all()


def test_kernels_are_around_constrained_samples_only(circles):
    X, _, constraints = circles
    model = RBF(gamma=0.3, random_state=0).fit(X, constraints=constraints)
    pairs = np.vstack([constraints.must_link, constraints.cannot_link])
    np.testing.assert_array_equal(model.support_, np.unique(pairs))
    assert model.dual_coef_.shape == (1, len(model.support_))


# Example 5 of the NN-EVCLUS paper


@pytest.mark.parametrize("seed", range(5))
def test_fifty_constraints_separate_the_circles(seed):
    X, y = make_core_and_ring(500, random_state=seed)
    constraints = PairwiseConstraints.sample(y, 50, random_state=seed)
    z = RBF(gamma=0.3, random_state=0).fit_transform(X, constraints=constraints)
    assert is_separated(z[:, 0], y)
    labels = ECM(2, random_state=0).fit(z).labels_
    assert adjusted_rand_score(y, labels) > 0.9


def test_no_linear_feature_separates_the_circles(circles):
    X, y, constraints = circles
    z = PCCA(1, random_state=0).fit_transform(X, constraints=constraints)
    assert not is_separated(z[:, 0], y)


# With labels


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_labels_are_constraints_on_all_pairs(iris, method):
    X, y, _ = iris
    labels = np.where(np.arange(150) % 10 == 0, y, -1)
    constraints = PairwiseConstraints.from_labels(labels)
    expected = method(random_state=0).fit(X, constraints=constraints).transform(X)
    for values in (
        labels,
        np.where(labels < 0, np.nan, labels),
        [None if label < 0 else f"c{label}" for label in labels],
        labels[:, None],
    ):
        np.testing.assert_array_equal(method(random_state=0).fit(X, values).transform(X), expected)
    np.testing.assert_array_equal(
        method(random_state=0).fit(X, y[::-1], constraints=constraints).transform(X), expected
    )


def test_pairs_are_drawn_if_there_are_many_labels(iris, monkeypatch):
    X, y, _ = iris
    samples = []
    original = PairwiseConstraints.sample

    def sample(*arguments, **settings):
        samples.append(original(*arguments, **settings))
        return samples[-1]

    monkeypatch.setattr(features, "MAX_PAIRS", 500)
    monkeypatch.setattr(PairwiseConstraints, "sample", sample)
    z = PCCA(random_state=0).fit(X, y).transform(X)
    assert [len(pairs) for pairs in samples] == [500]
    all_pairs = PairwiseConstraints.from_labels(y)
    assert loss_of(z, all_pairs) < 1.1 * PCCA(random_state=0).fit(X, constraints=all_pairs).objective_


@pytest.mark.parametrize("kernels", [(None, "rbf"), ("rbf", None)])
def test_a_second_fit_with_another_kernel_replaces_the_first(iris, kernels):
    X, _, constraints = iris
    models = [PCCA(kernel=kernel, random_state=0).fit(X, constraints=constraints) for kernel in kernels]
    refitted = models[0].set_params(kernel=kernels[1]).fit(X, constraints=constraints)
    assert vars(refitted).keys() == vars(models[1]).keys()
    np.testing.assert_array_equal(refitted.transform(X), models[1].transform(X))


def test_automatic_parameters_depend_on_the_kernel(iris):
    X, _, constraints = iris
    for kernel, settings in ((None, (2, 1e-5)), ("rbf", (1, 1e-3))):
        model = PCCA(kernel=kernel, random_state=0).fit(X, constraints=constraints)
        expected = PCCA(settings[0], kernel=kernel, tol=settings[1], random_state=0)
        expected.fit(X, constraints=constraints)
        np.testing.assert_array_equal(model.transform(X), expected.transform(X))


# As a transformer


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_identical_results(iris, method):
    X, _, constraints = iris
    first, second = (method(n_init=3, random_state=4).fit(X, constraints=constraints) for _ in range(2))
    expected = first.transform(X)
    for model in (second, pickle.loads(pickle.dumps(first)), copy.deepcopy(first)):
        np.testing.assert_array_equal(model.transform(X), expected)


@pytest.mark.parametrize("method", METHODS)
def test_more_starts_are_never_worse(iris, method):
    X, _, constraints = iris
    losses = [method(n_init=n, random_state=0).fit(X, constraints=constraints).objective_ for n in (1, 4)]
    assert losses[1] <= losses[0]


@pytest.mark.parametrize("method", METHODS)
def test_frames_are_accepted_and_returned(iris, method):
    X, _, constraints = iris
    names = ["a", "b", "c", "d"]
    frame = pd.DataFrame(X, columns=names, index=[f"flower {i}" for i in range(150)])
    expected = method(2, random_state=0).fit(X, constraints=constraints).transform(X)
    model = method(2, random_state=0).fit(frame, constraints=constraints)
    assert model.feature_names_in_.tolist() == names
    columns = ["pcca0", "pcca1"]
    assert model.get_feature_names_out().tolist() == columns
    out = model.set_output(transform="pandas").transform(frame)
    assert out.columns.tolist() == columns
    assert out.index.tolist() == frame.index.tolist()
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-12)
    other = method(2, random_state=0).fit(pl.DataFrame(X, schema=names), constraints=constraints)
    out = other.set_output(transform="polars").transform(pl.DataFrame(X, schema=names))
    assert out.columns == columns
    np.testing.assert_allclose(out.to_numpy(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("clusterer", [CECM, EVCLUS])
@pytest.mark.slow
def test_constraints_reach_both_steps_of_a_pipeline(clusterer):
    X, y = make_fourclass(300, degrees_of_freedom=50, random_state=0)
    X = np.column_stack([X, 5 * np.random.default_rng(0).standard_normal((300, 4))])
    constraints = PairwiseConstraints.sample(y, 150, random_state=0)
    name = clusterer.__name__.lower()
    plain = clusterer(4, random_state=0).fit(X, constraints=constraints)
    model = make_pipeline(PCCA(random_state=0), clusterer(4, random_state=0))
    model.fit(X, **{"pcca__constraints": constraints, f"{name}__constraints": constraints})
    assert adjusted_rand_score(y, plain.labels_) < 0.6
    assert adjusted_rand_score(y, model[-1].labels_) > 0.8
    assert adjusted_rand_score(y, model.predict(X)) > 0.8


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", [*METHODS, partial(PCCA, kernel="linear")])
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((10, 2)),
        np.ones((10, 2)),
        np.repeat([[0.0, 0.0], [5.0, 5.0]], 5, axis=0),
        np.column_stack([np.arange(10.0), np.ones(10)]),
        np.arange(10.0)[:, None],
        1e6 + np.random.default_rng(0).standard_normal((10, 2)),
    ],
    ids=["zeros", "ones", "duplicates", "a constant column", "a single feature", "large offset"],
)
def test_degenerate_data_give_finite_features(X, method):
    for constraints in (PairwiseConstraints([(0, 1)], [(1, 8)]), PairwiseConstraints([], [(1, 2), (3, 8)])):
        model = method(n_components=2, random_state=0).fit(X, constraints=constraints)
        z = model.transform(X)
        assert z.shape == (10, 2)
        assert np.isfinite(z).all()
        assert model.objective_ <= loss_at_zero(constraints) + 1e-9


# Errors and progress


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components must be 'auto' or a whole number of at least 1, got 0"),
        ({"beta": 0}, "beta must be a number above 0, got 0"),
        ({"n_init": 0}, "n_init must be a whole number of at least 1, got 0"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1, got 0"),
        ({"tol": -1}, "tol must be 'auto' or a number at least 0, got -1"),
    ],
)
@pytest.mark.parametrize("method", METHODS)
def test_messages_for_invalid_parameters_contain_the_allowed_values(iris, method, settings, message):
    with pytest.raises(ValueError, match=message):
        method(**settings).fit(iris[0], constraints=iris[2])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "round"}, r"kernel must be one of \['linear', .* got 'round'"),
        ({"gamma": 0}, "gamma must be a number above 0, got 0"),
        ({"kernel_params": {"degree": -1}}, r"kernel_params\['degree'\] must be a number above 0, got -1"),
        ({"kernel_params": {"coef0": "none"}}, r"kernel_params\['coef0'\] must be a number"),
        ({"kernel_params": {"gamma": 1}}, "kernel_params must contain only 'degree' and 'coef0', got 'gamma'"),
        ({"kernel_params": [3, 1]}, r"kernel_params must be None or a dict .* got \[3, 1\]"),
        ({"kernel": "precomputed"}, r"X must be square when kernel='precomputed', got shape \(150, 4\)"),
    ],
)
def test_messages_for_invalid_kernels_contain_the_allowed_values(iris, settings, message):
    with pytest.raises(ValueError, match=message):
        PCCA(**({"kernel": "rbf"} | settings)).fit(iris[0], constraints=iris[2])


@pytest.mark.parametrize("method", METHODS)
def test_constraints_and_labels_are_required_and_checked(iris, method):
    X, y, _ = iris
    with pytest.raises(ValueError, match=r"requires y .* there are no constraints; use fit\(X, constraints="):
        method().fit(X)
    with pytest.raises(ValueError, match="at least one cannot-link"):
        method().fit(X, constraints=PairwiseConstraints([(0, 1)]))
    with pytest.raises(ValueError, match="at least one cannot-link"):
        method().fit(X, np.zeros(150))
    with pytest.raises(ValueError, match=r"cannot_link has the pair \(0, 150\), but there are 150 samples"):
        method().fit(X, constraints=PairwiseConstraints([], [(0, 150)]))
    with pytest.raises(TypeError, match=r"must be PairwiseConstraints, got list; use PairwiseConstraints\("):
        method().fit(X, constraints=[(0, 1)])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        method().fit(X, y[:-1])
    with pytest.raises(NotFittedError):
        method().transform(X)


@pytest.mark.parametrize("method", METHODS)
def test_progress_is_reported_to_watchers(iris, method, capsys):
    events = []
    with watching(events.append):
        model = method(random_state=0).fit(iris[0], constraints=iris[2])
    assert [event.n_done for event in events] == list(range(1, model.n_iter_ + 1))
    assert str(events[0]).startswith("PCCA iteration    1   objective ")
    assert events[-1].objective == model.objective_
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("method", METHODS)
def test_too_few_iterations_raise_a_warning(iris, method):
    with pytest.warns(
        ConvergenceWarning, match="after max_iter=2 iterations; raise max_iter or tol"
    ) as warning_list:
        model = method(max_iter=2, random_state=0).fit(iris[0], constraints=iris[2])
    assert not model.converged_
    assert model.n_iter_ == 2
    assert warning_list[0].filename == __file__


def test_an_interrupted_fit_keeps_the_best_state(iris, monkeypatch):
    X, _, constraints = iris
    calls = []

    def evaluate(self, components):
        calls.append(1)
        if len(calls) == 12:
            raise KeyboardInterrupt
        return original(self, components)

    original = PairLoss.evaluate
    monkeypatch.setattr(PairLoss, "evaluate", evaluate)
    with pytest.warns(ConvergenceWarning, match="interrupted after"):
        model = PCCA(n_init=3, random_state=0).fit(X, constraints=constraints)
    assert not model.converged_
    np.testing.assert_allclose(model.objective_, loss_of(model.transform(X), constraints), rtol=1e-8)


# Rounding errors


@pytest.mark.parametrize(
    ("X", "pairs"),
    [
        (np.full((6, 2), 0.1), PairwiseConstraints([(0, 1)], [(2, 3), (4, 5)])),
        (np.tile([[1.764, 0.400, 0.979]], (60, 1)), PairwiseConstraints([(0, 1)], [(2, 50), (4, 5)])),
        (np.array([[1.7, 0.4, 0.9], [5.2, 0.2, -0.1]]), PairwiseConstraints([], [(0, 1)])),
        (np.random.RandomState(0).normal(size=(3, 3)), PairwiseConstraints([(0, 1), (1, 2)], [(0, 2)])),
    ],
    ids=["equal samples", "many equal samples", "a single pair", "contradictions"],
)
@pytest.mark.parametrize("method", [PCCA(random_state=0), RBF(2, random_state=0)], ids=["linear", "rbf"])
def test_rounding_errors_do_not_become_features(X, pairs, method):
    features = method.fit(X, constraints=pairs).transform(X + 1.0)
    assert np.abs(features).max() < 1e3


@pytest.mark.parametrize("method", [PCCA, FDA])
def test_a_kernel_that_overflows_raises_an_error(method):
    X = np.random.RandomState(0).normal(size=(20, 2)) * 1e110
    with (
        np.errstate(over="ignore"),
        pytest.raises(ValueError, match="kernel='poly' gives values that are not finite; scale X"),
    ):
        method(kernel="poly").fit(X, np.repeat([0, 1], 10))
