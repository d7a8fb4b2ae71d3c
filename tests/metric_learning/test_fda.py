import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import subspace_angles
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from evlearn.cluster import ECM
from evlearn.datasets import make_circles
from evlearn.metric_learning import FDA, KernelFDA, LocalFDA
from evlearn.metric_learning.directions import class_scatter
from evlearn.metric_learning.local_fda import local_scatter

METHODS = [FDA, LocalFDA, KernelFDA]
LINEAR = [FDA, LocalFDA]


@parametrize_with_checks(
    [FDA(), LocalFDA(), KernelFDA(), KernelFDA(kernel="linear"), KernelFDA(kernel="precomputed")]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def correlation(one, other):
    return abs(np.corrcoef(one, other)[0, 1])


# Laws


@given(st.integers(0, 2**31), st.integers(2, 4), st.integers(1, 6))
def test_fda_spans_the_directions_of_linear_discriminant_analysis(seed, n_classes, n_features):
    random = np.random.default_rng(seed)
    y = np.arange(60) % n_classes
    mixing = np.eye(n_features) + 0.3 * random.standard_normal((n_features, n_features))
    X = (
        random.standard_normal((60, n_features)) + 2 * random.standard_normal((n_classes, n_features))[y]
    ) @ mixing
    model = FDA(reg=0).fit(X, y)
    other = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    scalings = other.scalings_[:, : len(model.components_)]
    assert subspace_angles(model.components_.T, scalings).max() < 1e-5
    for k, feature in enumerate(model.transform(X).T):
        assert correlation(feature, X @ scalings[:, k]) > 1 - 1e-6


def test_features_have_unit_variance_within_classes_and_are_uncorrelated(iris):
    X, y = iris
    model = FDA(reg=0).fit(X, y)
    between, within = class_scatter(model.transform(X), y)
    np.testing.assert_allclose(within, np.eye(2), rtol=0, atol=1e-10)
    np.testing.assert_allclose(between, np.diag(model.ratios_), rtol=0, atol=1e-9)
    assert model.ratios_[0] > model.ratios_[1] > 0


@given(st.integers(0, 2**31))
def test_scatter_between_and_within_add_up_to_that_of_all(seed):
    random = np.random.default_rng(seed)
    X, y = random.standard_normal((40, 3)), np.arange(40) % 3
    np.testing.assert_allclose(sum(class_scatter(X, y)), np.cov(X.T, bias=True), rtol=0, atol=1e-12)


@given(st.integers(0, 2**31), st.integers(1, 9))
def test_local_scatter_is_that_of_its_definition(seed, n_neighbors):
    random = np.random.default_rng(seed)
    X, y = random.standard_normal((15, 2)), np.arange(15) % 3
    D = pairwise_distances(X)
    scales = np.sort(D, axis=1)[:, n_neighbors]
    A = np.exp(-(D**2) / np.outer(scales, scales))
    between, within = np.zeros((2, 2)), np.zeros((2, 2))
    for i in range(15):
        for j in range(15):
            outer, same, count = np.outer(X[i] - X[j], X[i] - X[j]) / 2, y[i] == y[j], (y == y[i]).sum()
            within += (A[i, j] / count if same else 0) * outer
            between += (A[i, j] * (1 / 15 - 1 / count) if same else 1 / 15) * outer
    ours = local_scatter(X, y, n_neighbors)
    np.testing.assert_allclose(ours[0], between / 15, rtol=0, atol=1e-10)
    np.testing.assert_allclose(ours[1], within / 15, rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", LINEAR)
def test_transforming_is_linear(iris, method):
    X, y = iris
    model = method().fit(X, y)
    np.testing.assert_allclose(
        model.transform(2 * X[:50] - 3 * X[50:100]),
        2 * model.transform(X[:50]) - 3 * model.transform(X[50:100]),
        rtol=0,
        atol=1e-10,
    )


@given(st.integers(0, 2**31), st.sampled_from(METHODS))
def test_moved_and_rotated_data_have_the_same_distances(seed, method):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    random = np.random.default_rng(seed)
    moved = X @ np.linalg.qr(random.standard_normal((4, 4)))[0] + random.uniform(-10, 10, size=4)
    before = pairwise_distances(method().fit(X, y).transform(X))
    after = pairwise_distances(method().fit(moved, y).transform(moved))
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-5 * before.max())


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100])
@pytest.mark.parametrize("method", LINEAR)
def test_the_unit_of_the_data_does_not_matter(iris, method, scale):
    X, y = iris
    before, after = method().fit(X, y).transform(X), method().fit(scale * X, y).transform(scale * X)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-6 * np.abs(before).max())


@given(st.integers(0, 2**31), st.sampled_from(METHODS))
def test_the_order_of_objects_and_the_names_of_classes_do_not_matter(seed, method):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    random = np.random.default_rng(seed)
    order = random.permutation(150)
    names = random.permutation(3)
    before = pairwise_distances(method().fit(X, y).transform(X))
    after = pairwise_distances(method().fit(X[order], names[y[order]]).transform(X))
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-6 * before.max())


def test_a_linear_kernel_gives_the_features_of_fda(iris):
    X, y = iris
    linear, kernel = FDA(reg=0).fit(X, y), KernelFDA(kernel="linear", reg=0).fit(X, y)
    np.testing.assert_allclose(kernel.ratios_, linear.ratios_, rtol=1e-6)
    distances = [pairwise_distances(model.transform(X)) for model in (linear, kernel)]
    np.testing.assert_allclose(distances[1], distances[0], rtol=0, atol=1e-6 * distances[0].max())
    np.testing.assert_allclose(kernel.transform(X).mean(axis=0), 0, rtol=0, atol=1e-8)


def test_a_precomputed_kernel_gives_the_same_features(iris):
    X, y = iris
    K = rbf_kernel(X, gamma=0.3)
    few = np.where(np.arange(150) % 3 == 0, y, -1)
    one = KernelFDA(gamma=0.3).fit(X, few)
    other = KernelFDA(kernel="precomputed").fit(K, few)
    np.testing.assert_allclose(other.transform(K), one.transform(X), rtol=0, atol=1e-6)
    assert other.support_.tolist() == list(range(0, 150, 3))


@pytest.mark.parametrize("method", LINEAR)
@pytest.mark.parametrize("reg", [0.1, 1e-6])
def test_more_attributes_than_objects_are_no_other_problem(iris, method, reg):
    X, y = iris
    wide = np.linalg.qr(np.random.default_rng(0).standard_normal((400, 4)))[0]
    model = method(reg=reg * 400 / 4).fit(X @ wide.T, y)  # the mean variance is that of 400 attributes
    assert model.components_.shape == (2, 400)
    before = pairwise_distances(method(reg=reg).fit(X, y).transform(X))
    after = pairwise_distances(model.transform(X @ wide.T))
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-6 * before.max())


# What they are for


@pytest.mark.parametrize("seed", range(5))
def test_fifty_labels_separate_the_circles(seed):
    X, y = make_circles(500, random_state=seed)
    chosen = np.random.default_rng(seed).choice(500, size=50, replace=False)
    labels = np.full(500, -1)
    labels[chosen] = y[chosen]
    z = KernelFDA(gamma=0.3).fit(X, labels).transform(X)[:, 0]
    one, other = z[y == 0], z[y == 1]
    assert max(one.min(), other.min()) > min(one.max(), other.max())
    assert adjusted_rand_score(y, ECM(2, random_state=0).fit(z[:, None]).labels_) > 0.9


def test_local_fda_keeps_a_class_of_two_groups_apart_from_the_one_between():
    random = np.random.default_rng(0)
    X = random.standard_normal((150, 2)) * [0.3, 3.0]
    X[:50, 0] -= 4
    X[100:, 0] += 4
    y = np.repeat([0, 1, 0], 50)
    z = {method: method().fit(X, y).transform(X) for method in LINEAR}
    scores = {method: KNeighborsClassifier(5).fit(z[method], y).score(z[method], y) for method in LINEAR}
    assert scores[LocalFDA] == 1
    assert scores[FDA] < 0.9


def test_local_fda_may_have_as_many_features_as_attributes(iris):
    X, y = iris
    model = LocalFDA(4).fit(X, y)
    assert model.transform(X).shape == (150, 4)
    assert (np.diff(model.ratios_) <= 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_objects_without_a_label_are_ignored_in_the_fit(method):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    known = np.arange(len(X)) % 4 == 0
    expected = method().fit(X[known], y[known]).transform(X)
    for labels in (np.where(known, y, -1), np.where(known, y, np.nan), np.where(known, y.astype(str), None)):
        np.testing.assert_allclose(method().fit(X, labels).transform(X), expected, rtol=0, atol=1e-10)
    frame_labels = pd.Series(np.where(known, y, np.nan))
    np.testing.assert_allclose(method().fit(X, frame_labels).transform(X), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_a_clusterer_profits_in_a_pipeline(method):
    X, y = load_wine(return_X_y=True)
    few = np.where(np.arange(len(X)) % 5 == 0, y, -1)
    model = make_pipeline(StandardScaler(), method(), ECM(3, random_state=0)).fit(X, few)
    assert adjusted_rand_score(y, model[-1].labels_) > 0.7
    np.testing.assert_array_equal(model.predict(X), model[-1].labels_)


# As a transformer


@pytest.mark.parametrize("method", METHODS)
def test_frames_go_in_and_out(iris, method):
    X, y = iris
    names = ["a", "b", "c", "d"]
    frame = pd.DataFrame(X, columns=names, index=[f"flower {i}" for i in range(150)])
    expected = method().fit(X, y).transform(X)
    model = method().fit(frame, pd.Series(y, index=frame.index))
    assert model.feature_names_in_.tolist() == names
    columns = [f"{method.__name__.lower()}{k}" for k in range(2)]
    assert model.get_feature_names_out().tolist() == columns
    out = model.set_output(transform="pandas").transform(frame)
    assert out.columns.tolist() == columns
    assert out.index.tolist() == frame.index.tolist()
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-10)
    table = pl.DataFrame(X, schema=names)
    out = method().set_output(transform="polars").fit(table, pl.Series(y)).transform(table)
    assert out.columns == columns
    np.testing.assert_allclose(out.to_numpy(), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_data_give_the_same_bits(iris, method):
    X, y = iris
    one, other = method().fit(X, y), method().fit(X, y)
    np.testing.assert_array_equal(one.transform(X), other.transform(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).transform(X), one.transform(X))


@pytest.mark.parametrize("method", [*METHODS, lambda: KernelFDA(kernel="linear")])
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((12, 2)),
        np.ones((12, 2)),
        np.tile([[0.0, 0.0], [5.0, 5.0]], (6, 1)),
        np.column_stack([np.arange(12.0), np.ones(12)]),
        np.arange(12.0)[:, None],
        1e6 + np.random.default_rng(0).standard_normal((12, 2)),
        np.random.default_rng(0).standard_normal((12, 40)),
    ],
    ids=["zeros", "ones", "duplicates", "a constant column", "one attribute", "far away", "wide"],
)
def test_awkward_data_give_finite_features(X, method):
    z = method().fit(X, np.arange(12) % 2).transform(X)
    assert z.shape == (12, 1)
    assert np.isfinite(z).all()


# Errors


@pytest.mark.parametrize("method", METHODS)
def test_labels_are_needed_and_checked(iris, method):
    X, y = iris
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        method().fit(X)
    with pytest.raises(ValueError, match=r"at least two classes, got 1 class\(es\) among 150 labelled"):
        method().fit(X, np.ones(150))
    with pytest.raises(ValueError, match=r"got 0 class\(es\) among 0 labelled of n_samples=150"):
        method().fit(X, np.full(150, -1))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        method().fit(X, y[:-1])
    with pytest.raises(ValueError, match=r"y must be one label for each sample, got an array of shape \(150, 2\)"):
        method().fit(X, np.ones((150, 2)))
    with pytest.raises(NotFittedError):
        method().transform(X)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (FDA(3), "n_components must be at most 2, because there are 3 classes and 4 features; got 3"),
        (KernelFDA(3), "n_components must be at most 2, because there are 3 classes"),
        (LocalFDA(5), "at most 4, because there are 150 labelled samples and 4 features; got 5"),
        (FDA(0), "n_components must be a whole number of at least 1, got 0"),
        (FDA(reg=-1), "reg must be a number at least 0, got -1"),
        (LocalFDA(n_neighbors=0), "n_neighbors must be a whole number of at least 1, got 0"),
        (KernelFDA(kernel="round"), r"kernel must be one of \['linear', .* got 'round'"),
        (KernelFDA(gamma=-1), "gamma must be a number above 0, got -1"),
        (KernelFDA(kernel="precomputed"), r"X must be square when kernel='precomputed', got shape \(150, 4\)"),
    ],
)
def test_wrong_parameters_are_named_with_what_is_allowed(iris, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*iris)


def test_without_regularisation_a_direction_without_spread_within_classes_is_the_best():
    # The second attribute is the class itself: apart between classes, and nothing within them.
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = np.column_stack([random.standard_normal(40), y, random.standard_normal(40)])
    found = FDA(reg=0).fit(X, y).components_[0]
    assert np.abs(found[1]) > 1e3 * np.abs(found[[0, 2]]).max()
