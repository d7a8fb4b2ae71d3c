import copy
import pickle

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

from evlearn.cluster import CECM, ECM, EVCLUS
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_circles, make_fourclass
from evlearn.metric_learning import PCCA, KernelFDA, KernelPCCA, supervision
from evlearn.metric_learning.pair_loss import PairLoss, lower_pair_loss

METHODS = [PCCA, KernelPCCA]


@parametrize_with_checks([PCCA(), KernelPCCA(), KernelPCCA(kernel="linear"), KernelPCCA(kernel="precomputed")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y, PairwiseConstraints.sample(y, 50, random_state=0)


@pytest.fixture(scope="module")
def circles():
    X, y = make_circles(500, random_state=0)
    return X, y, PairwiseConstraints.sample(y, 50, random_state=0)


def loss_at_zero(constraints, beta=1.0):
    return (
        constraints.n_must_link * np.logaddexp(0, -beta) + constraints.n_cannot_link * np.logaddexp(0, beta)
    ) / beta


def loss_of(z, constraints, beta=1.0):
    """The loss from its formula, pair by pair."""
    total = 0.0
    for sign, pairs in ((1, constraints.must_link), (-1, constraints.cannot_link)):
        for i, j in pairs:
            total += np.logaddexp(0, beta * sign * (((z[i] - z[j]) ** 2).sum() - 1)) / beta
    return total


def separated(z, y):
    """Whether one threshold tells the two classes."""
    one, other = z[y == 0], z[y == 1]
    return max(one.min(), other.min()) > min(one.max(), other.max())


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


def test_the_steepest_start_is_where_the_loss_falls_fastest(iris):
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
    # The optimum is the same, and rotations are free. R stops 5e-8 above it, so the metric has three digits.
    ours, theirs = (L.T @ L for L in (model.components_, case.arrays["L"]))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-3 * np.abs(theirs).max())


def test_starting_at_the_reference_moves_it_hardly(reference):
    case = reference("pcca_iris_d2")
    X = load_iris().data
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    constraints = PairwiseConstraints(case.arrays["ML_1b"] - 1, case.arrays["CL_1b"] - 1)
    loss = PairLoss.of(X, constraints, 1.0)
    trace = lower_pair_loss(loss, case.arrays["L0"], tol=1e-9, max_iter=1000)
    again = lower_pair_loss(loss, case.arrays["L"], tol=1e-9, max_iter=1000)
    np.testing.assert_allclose(trace.objective, again.objective, rtol=1e-8)


def test_the_kernel_loss_on_bananas_is_lower_than_that_of_the_reference(reference_file, reference):
    case = reference("kpcca_bananas200_d1")
    table = np.genfromtxt(reference_file("data/bananas_n200_seed7.csv"), delimiter=",", names=True)
    X = np.column_stack([table["x1"], table["x2"]])
    constraints = PairwiseConstraints(case.arrays["ML_1b"] - 1, case.arrays["CL_1b"] - 1)
    z = case.arrays["z"]
    np.testing.assert_allclose(rbf_kernel(X, gamma=0.2) @ case.arrays["A"].T, z, rtol=0, atol=1e-12)
    np.testing.assert_allclose(loss_of(z, constraints), case.scalars["loss_final"], rtol=1e-12)
    model = KernelPCCA(gamma=0.2, random_state=0).fit(X, constraints=constraints)
    ours = model.transform(X)
    np.testing.assert_allclose(loss_of(ours, constraints), model.objective_, rtol=1e-9)
    # All constraints can be met, so that the loss has no minimum, only a lower bound. We are nearer to it.
    bound = constraints.n_must_link * np.log1p(np.exp(-1))
    assert bound < model.objective_ < case.scalars["loss_final"]
    assert model.objective_ - bound < 0.2 * (case.scalars["loss_final"] - bound)
    assert abs(np.corrcoef(ours[:, 0], z[:, 0])[0, 1]) > 0.98


# Laws


@pytest.mark.parametrize("method", METHODS)
def test_the_loss_falls_below_that_of_no_features_at_all(iris, method):
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
def test_the_result_is_a_stationary_point_that_is_better_than_none(seed, n_components, beta):
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
    if method is KernelPCCA:  # the loss has no minimum here: where the descent ends depends on rounding a little
        before, after = before / before.max(), after / after.max()
        np.testing.assert_allclose(after, before, rtol=0, atol=0.05)
    else:
        np.testing.assert_allclose(after, before, rtol=0, atol=1e-3 * before.max())


@pytest.mark.slow
@given(st.integers(0, 2**31))
def test_rotations_of_the_data_rotate_the_features_only(seed):
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


def test_more_attributes_than_objects_give_the_same_features(iris):
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
    kernel = KernelPCCA(1, kernel="linear", tol=1e-10, random_state=0).fit(X, constraints=constraints)
    np.testing.assert_allclose(kernel.objective_, linear.objective_, rtol=1e-6)
    distances = [pairwise_distances(model.transform(X)) for model in (linear, kernel)]
    np.testing.assert_allclose(distances[1], distances[0], rtol=0, atol=1e-3 * distances[0].max())


def test_a_precomputed_kernel_gives_the_same_features(circles):
    X, _, constraints = circles
    K = rbf_kernel(X, gamma=0.3)
    one = KernelPCCA(gamma=0.3, random_state=0).fit(X, constraints=constraints)
    other = KernelPCCA(kernel="precomputed", random_state=0).fit(K, constraints=constraints)
    np.testing.assert_allclose(other.transform(K), one.transform(X), rtol=0, atol=1e-6)
    own = KernelPCCA(kernel=lambda a, b: np.exp(-0.3 * ((a - b) ** 2).sum()), random_state=0)
    z = own.fit(X, constraints=constraints).transform(X[:10])
    np.testing.assert_allclose(z, one.transform(X[:10]), rtol=0, atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "sigmoid", "cosine"])
def test_every_kernel_lowers_the_loss(iris, kernel):
    X, _, constraints = iris
    model = KernelPCCA(kernel=kernel, gamma=0.1, random_state=0).fit(X, constraints=constraints)
    assert model.objective_ < 0.6 * loss_at_zero(constraints)
    assert np.isfinite(model.transform(X + 1)).all()


def test_only_objects_in_constraints_carry_kernels(circles):
    X, _, constraints = circles
    model = KernelPCCA(gamma=0.3, random_state=0).fit(X, constraints=constraints)
    pairs = np.vstack([constraints.must_link, constraints.cannot_link])
    np.testing.assert_array_equal(model.support_, np.unique(pairs))
    assert model.dual_coef_.shape == (1, len(model.support_))


# Example 5 of the NN-EVCLUS paper


@pytest.mark.parametrize("seed", range(5))
def test_fifty_constraints_separate_the_circles(seed):
    X, y = make_circles(500, random_state=seed)
    constraints = PairwiseConstraints.sample(y, 50, random_state=seed)
    z = KernelPCCA(gamma=0.3, random_state=0).fit_transform(X, constraints=constraints)
    assert separated(z[:, 0], y)
    labels = ECM(2, random_state=0).fit(z).labels_
    assert adjusted_rand_score(y, labels) > 0.9


def test_no_linear_feature_separates_the_circles(circles):
    X, y, constraints = circles
    z = PCCA(1, random_state=0).fit_transform(X, constraints=constraints)
    assert not separated(z[:, 0], y)


# With labels


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_labels_are_constraints_on_all_pairs(iris, method):
    X, y, _ = iris
    few = np.where(np.arange(150) % 10 == 0, y, -1)
    constraints = PairwiseConstraints.from_labels(few)
    expected = method(random_state=0).fit(X, constraints=constraints).transform(X)
    for labels in (
        few,
        np.where(few < 0, np.nan, few),
        [None if one < 0 else f"c{one}" for one in few],
        few[:, None],
    ):
        np.testing.assert_array_equal(method(random_state=0).fit(X, labels).transform(X), expected)
    np.testing.assert_array_equal(
        method(random_state=0).fit(X, y[::-1], constraints=constraints).transform(X), expected
    )


def test_of_many_labels_some_pairs_are_drawn(iris, monkeypatch):
    X, y, _ = iris
    drawn = []
    original = PairwiseConstraints.sample

    def sample(*arguments, **settings):
        drawn.append(original(*arguments, **settings))
        return drawn[-1]

    monkeypatch.setattr(supervision, "MOST_PAIRS", 500)
    monkeypatch.setattr(PairwiseConstraints, "sample", sample)
    z = PCCA(random_state=0).fit(X, y).transform(X)
    assert [len(one) for one in drawn] == [500]
    everything = PairwiseConstraints.from_labels(y)
    assert loss_of(z, everything) < 1.1 * PCCA(random_state=0).fit(X, constraints=everything).objective_


# As a transformer


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_bits(iris, method):
    X, _, constraints = iris
    one, other = (method(n_init=3, random_state=4).fit(X, constraints=constraints) for _ in range(2))
    np.testing.assert_array_equal(one.transform(X), other.transform(X))
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(one.transform(X), again.transform(X))
    np.testing.assert_array_equal(one.transform(X), copy.deepcopy(one).transform(X))


@pytest.mark.parametrize("method", METHODS)
def test_more_starts_are_never_worse(iris, method):
    X, _, constraints = iris
    losses = [method(n_init=n, random_state=0).fit(X, constraints=constraints).objective_ for n in (1, 4)]
    assert losses[1] <= losses[0]


@pytest.mark.parametrize("method", METHODS)
def test_frames_go_in_and_out(iris, method):
    X, _, constraints = iris
    names = ["a", "b", "c", "d"]
    frame = pd.DataFrame(X, columns=names, index=[f"flower {i}" for i in range(150)])
    expected = method(2, random_state=0).fit(X, constraints=constraints).transform(X)
    model = method(2, random_state=0).fit(frame, constraints=constraints)
    assert model.feature_names_in_.tolist() == names
    columns = [f"{method.__name__.lower()}{k}" for k in range(2)]
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
@pytest.mark.parametrize("method", [*METHODS, lambda **settings: KernelPCCA(kernel="linear", **settings)])
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
    ids=["zeros", "ones", "duplicates", "a constant column", "one attribute", "far away"],
)
def test_awkward_data_give_finite_features(X, method):
    for constraints in (PairwiseConstraints([(0, 1)], [(1, 8)]), PairwiseConstraints([], [(1, 2), (3, 8)])):
        model = method(n_components=2, random_state=0).fit(X, constraints=constraints)
        z = model.transform(X)
        assert z.shape == (10, 2)
        assert np.isfinite(z).all()
        assert model.objective_ <= loss_at_zero(constraints) + 1e-9


# Errors and reports


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components must be a whole number of at least 1, got 0"),
        ({"beta": 0}, "beta must be a number above 0, got 0"),
        ({"n_init": 0}, "n_init must be a whole number of at least 1, got 0"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1, got 0"),
        ({"tol": -1}, "tol must be a number at least 0, got -1"),
    ],
)
@pytest.mark.parametrize("method", METHODS)
def test_wrong_parameters_are_named_with_what_is_allowed(iris, method, settings, message):
    with pytest.raises(ValueError, match=message):
        method(**settings).fit(iris[0], constraints=iris[2])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "round"}, r"kernel must be one of \['linear', .* got 'round'"),
        ({"gamma": 0}, "gamma must be a number above 0, got 0"),
        ({"degree": -1}, "degree must be a number above 0, got -1"),
        ({"coef0": "none"}, "coef0 must be a number"),
        ({"kernel": "precomputed"}, r"X must be square when kernel='precomputed', got shape \(150, 4\)"),
    ],
)
def test_wrong_kernels_are_named_with_what_is_allowed(iris, settings, message):
    with pytest.raises(ValueError, match=message):
        KernelPCCA(**settings).fit(iris[0], constraints=iris[2])


@pytest.mark.parametrize("method", METHODS)
def test_what_is_known_must_be_given_and_say_something(iris, method):
    X, y, _ = iris
    with pytest.raises(ValueError, match=r"requires y .* so are constraints; write fit\(X, constraints="):
        method().fit(X)
    with pytest.raises(ValueError, match="at least one cannot-link"):
        method().fit(X, constraints=PairwiseConstraints([(0, 1)]))
    with pytest.raises(ValueError, match="at least one cannot-link"):
        method().fit(X, np.zeros(150))
    with pytest.raises(ValueError, match=r"cannot_link has the pair \(0, 150\), but there are 150 samples"):
        method().fit(X, constraints=PairwiseConstraints([], [(0, 150)]))
    with pytest.raises(TypeError, match=r"must be PairwiseConstraints, got list; write PairwiseConstraints\("):
        method().fit(X, constraints=[(0, 1)])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        method().fit(X, y[:-1])
    with pytest.raises(NotFittedError):
        method().transform(X)


@pytest.mark.parametrize("method", METHODS)
def test_progress_is_reported_when_asked_for(iris, method, capsys):
    model = method(verbose=1, random_state=0).fit(iris[0], constraints=iris[2])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith(f"{method.__name__} iteration    1   objective ")


@pytest.mark.parametrize("method", METHODS)
def test_too_few_iterations_are_reported(iris, method):
    with pytest.warns(ConvergenceWarning, match="after max_iter=2 iterations; raise max_iter or tol") as caught:
        model = method(max_iter=2, random_state=0).fit(iris[0], constraints=iris[2])
    assert not model.converged_
    assert model.n_iter_ == 2
    assert caught[0].filename == __file__


def test_an_interrupted_fit_keeps_the_state_so_far(iris, monkeypatch):
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


# What rounding says


@pytest.mark.parametrize(
    ("X", "pairs"),
    [
        (np.full((6, 2), 0.1), PairwiseConstraints([(0, 1)], [(2, 3), (4, 5)])),
        (np.tile([[1.764, 0.400, 0.979]], (60, 1)), PairwiseConstraints([(0, 1)], [(2, 50), (4, 5)])),
        (np.array([[1.7, 0.4, 0.9], [5.2, 0.2, -0.1]]), PairwiseConstraints([], [(0, 1)])),
        (np.random.RandomState(0).normal(size=(3, 3)), PairwiseConstraints([(0, 1), (1, 2)], [(0, 2)])),
    ],
    ids=["one place", "one place of many", "one pair", "contradictions"],
)
@pytest.mark.parametrize(
    "method", [PCCA(random_state=0), KernelPCCA(2, random_state=0)], ids=["PCCA", "KernelPCCA"]
)
def test_directions_in_which_no_pair_differs_are_not_made_of_rounding(X, pairs, method):
    features = method.fit(X, constraints=pairs).transform(X + 1.0)
    assert np.abs(features).max() < 1e3


@pytest.mark.parametrize("method", [KernelPCCA, KernelFDA])
def test_a_kernel_that_overflows_is_named(method):
    X = np.random.RandomState(0).normal(size=(20, 2)) * 1e110
    with (
        np.errstate(over="ignore"),
        pytest.raises(ValueError, match="kernel='poly' gives values that are not finite; scale X"),
    ):
        method(kernel="poly").fit(X, np.repeat([0, 1], 10))
