import pickle
from functools import partial

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
from evlearn.datasets import make_core_and_ring
from evlearn.metric_learning import FDA, LocalFDA
from evlearn.metric_learning.directions import class_scatter
from evlearn.metric_learning.fda import local_scatter

RBF = partial(FDA, kernel="rbf")
LINEAR = [FDA, LocalFDA]
METHODS = [*LINEAR, pytest.param(RBF, id="RBF")]


@parametrize_with_checks([FDA(), LocalFDA(), *(FDA(kernel=kernel) for kernel in ("rbf", "linear", "precomputed"))])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def correlation(first, second):
    return abs(np.corrcoef(first, second)[0, 1])


# Properties


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
    between_scatter, within_scatter = class_scatter(model.transform(X), y)
    np.testing.assert_allclose(within_scatter, np.eye(2), rtol=0, atol=1e-10)
    np.testing.assert_allclose(between_scatter, np.diag(model.ratios_), rtol=0, atol=1e-9)
    assert model.ratios_[0] > model.ratios_[1] > 0


@given(st.integers(0, 2**31))
def test_scatter_between_and_within_add_up_to_that_of_all(seed):
    random = np.random.default_rng(seed)
    X, y = random.standard_normal((40, 3)), np.arange(40) % 3
    np.testing.assert_allclose(sum(class_scatter(X, y)), np.cov(X.T, bias=True), rtol=0, atol=1e-12)


@given(st.integers(0, 2**31), st.integers(1, 9))
@pytest.mark.slow
def test_local_scatter_agrees_with_its_definition(seed, n_neighbors):
    random = np.random.default_rng(seed)
    X, y = random.standard_normal((15, 2)), np.arange(15) % 3
    D = pairwise_distances(X)
    scales = np.sort(D, axis=1)[:, n_neighbors]
    A = np.exp(-(D**2) / np.outer(scales, scales))
    between_scatter, within_scatter = np.zeros((2, 2)), np.zeros((2, 2))
    for i in range(15):
        for j in range(15):
            outer, is_same_class = np.outer(X[i] - X[j], X[i] - X[j]) / 2, y[i] == y[j]
            count = (y == y[i]).sum()
            within_scatter += (A[i, j] / count if is_same_class else 0) * outer
            between_scatter += (A[i, j] * (1 / 15 - 1 / count) if is_same_class else 1 / 15) * outer
    result = local_scatter(X, y, n_neighbors)
    np.testing.assert_allclose(result[0], between_scatter / 15, rtol=0, atol=1e-10)
    np.testing.assert_allclose(result[1], within_scatter / 15, rtol=0, atol=1e-10)


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


@given(st.integers(0, 2**31), st.sampled_from([*LINEAR, RBF]))
@pytest.mark.slow
def test_translations_and_rotations_do_not_change_distances(seed, method):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    random = np.random.default_rng(seed)
    shifted = X @ np.linalg.qr(random.standard_normal((4, 4)))[0] + random.uniform(-10, 10, size=4)
    before = pairwise_distances(method().fit(X, y).transform(X))
    after = pairwise_distances(method().fit(shifted, y).transform(shifted))
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-5 * before.max())


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100])
@pytest.mark.parametrize("method", LINEAR)
def test_the_unit_of_the_data_does_not_matter(iris, method, scale):
    X, y = iris
    before, after = method().fit(X, y).transform(X), method().fit(scale * X, y).transform(scale * X)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-6 * np.abs(before).max())


@given(st.integers(0, 2**31), st.sampled_from([*LINEAR, RBF]))
@pytest.mark.slow
def test_the_order_of_samples_and_the_names_of_classes_do_not_matter(seed, method):
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
    linear, kernel = FDA(reg=0).fit(X, y), FDA(kernel="linear", reg=0).fit(X, y)
    np.testing.assert_allclose(kernel.ratios_, linear.ratios_, rtol=1e-6)
    distances = [pairwise_distances(model.transform(X)) for model in (linear, kernel)]
    np.testing.assert_allclose(distances[1], distances[0], rtol=0, atol=1e-6 * distances[0].max())
    np.testing.assert_allclose(kernel.transform(X).mean(axis=0), 0, rtol=0, atol=1e-8)


def test_a_precomputed_kernel_gives_the_same_features(iris):
    X, y = iris
    K = rbf_kernel(X, gamma=0.3)
    labels = np.where(np.arange(150) % 3 == 0, y, -1)
    expected = RBF(gamma=0.3).fit(X, labels).transform(X)
    model = FDA(kernel="precomputed").fit(K, labels)
    np.testing.assert_allclose(model.transform(K), expected, rtol=0, atol=1e-6)
    assert model.support_.tolist() == list(range(0, 150, 3))


@pytest.mark.parametrize("method", LINEAR)
@pytest.mark.parametrize("reg", [0.1, 1e-6])
def test_more_features_than_samples_give_the_same_distances(iris, method, reg):
    X, y = iris
    wide = np.linalg.qr(np.random.default_rng(0).standard_normal((400, 4)))[0]
    model = method(reg=reg * 400 / 4).fit(X @ wide.T, y)  # the mean variance is that of 400 features
    assert model.components_.shape == (2, 400)
    before = pairwise_distances(method(reg=reg).fit(X, y).transform(X))
    after = pairwise_distances(model.transform(X @ wide.T))
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-6 * before.max())


# Applications


@pytest.mark.parametrize("seed", range(5))
def test_fifty_labels_separate_the_circles(seed):
    X, y = make_core_and_ring(500, random_state=seed)
    chosen = np.random.default_rng(seed).choice(500, size=50, replace=False)
    labels = np.full(500, -1)
    labels[chosen] = y[chosen]
    z = RBF(gamma=0.3).fit(X, labels).transform(X)[:, 0]
    core, ring = z[y == 0], z[y == 1]
    assert max(core.min(), ring.min()) > min(core.max(), ring.max())
    assert adjusted_rand_score(y, ECM(2, random_state=0).fit(z[:, None]).labels_) > 0.9


def test_local_fda_separates_a_class_of_two_groups_from_a_class_between_them():
    random = np.random.default_rng(0)
    X = random.standard_normal((150, 2)) * [0.3, 3.0]
    X[:50, 0] -= 4
    X[100:, 0] += 4
    y = np.repeat([0, 1, 0], 50)
    z = {method: method().fit(X, y).transform(X) for method in LINEAR}
    scores = {method: KNeighborsClassifier(5).fit(z[method], y).score(z[method], y) for method in LINEAR}
    assert scores[LocalFDA] == 1
    assert scores[FDA] < 0.9


def test_local_fda_can_return_as_many_features_as_there_are_original_ones(iris):
    X, y = iris
    model = LocalFDA(4).fit(X, y)
    assert model.transform(X).shape == (150, 4)
    assert (np.diff(model.ratios_) <= 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_unlabeled_samples_are_not_used_in_the_fit(method):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    labeled = np.arange(len(X)) % 4 == 0
    expected = method().fit(X[labeled], y[labeled]).transform(X)
    for labels in (
        np.where(labeled, y, -1),
        np.where(labeled, y, np.nan),
        np.where(labeled, y.astype(str), None),
    ):
        np.testing.assert_allclose(method().fit(X, labels).transform(X), expected, rtol=0, atol=1e-10)
    frame_labels = pd.Series(np.where(labeled, y, np.nan))
    np.testing.assert_allclose(method().fit(X, frame_labels).transform(X), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_clusterers_in_pipelines_use_the_features(method):
    X, y = load_wine(return_X_y=True)
    labels = np.where(np.arange(len(X)) % 5 == 0, y, -1)
    model = make_pipeline(StandardScaler(), method(), ECM(3, random_state=0)).fit(X, labels)
    assert adjusted_rand_score(y, model[-1].labels_) > 0.7
    np.testing.assert_array_equal(model.predict(X), model[-1].labels_)


# As a transformer


@pytest.mark.parametrize("method", METHODS)
def test_frames_are_accepted_and_returned(iris, method):
    X, y = iris
    names = ["a", "b", "c", "d"]
    frame = pd.DataFrame(X, columns=names, index=[f"flower {i}" for i in range(150)])
    expected = method().fit(X, y).transform(X)
    model = method().fit(frame, pd.Series(y, index=frame.index))
    assert model.feature_names_in_.tolist() == names
    columns = [f"{type(model).__name__.lower()}{k}" for k in range(2)]
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
def test_repeated_fits_give_identical_results(iris, method):
    X, y = iris
    first, second = method().fit(X, y), method().fit(X, y)
    np.testing.assert_array_equal(first.transform(X), second.transform(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(first)).transform(X), first.transform(X))


@pytest.mark.parametrize("method", [*METHODS, partial(FDA, kernel="linear")])
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
    ids=["zeros", "ones", "duplicates", "a constant column", "a single feature", "large offset", "wide"],
)
def test_degenerate_data_give_finite_features(X, method):
    z = method().fit(X, np.arange(12) % 2).transform(X)
    assert z.shape == (12, 1)
    assert np.isfinite(z).all()


# Errors


@pytest.mark.parametrize("method", METHODS)
def test_labels_are_required_and_checked(iris, method):
    X, y = iris
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        method().fit(X)
    with pytest.raises(ValueError, match=r"at least 2 classes, got 1 class\(es\) among 150 labeled"):
        method().fit(X, np.ones(150))
    with pytest.raises(ValueError, match=r"got 0 class\(es\) among 0 labeled of n_samples=150"):
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
        (RBF(3), "n_components must be at most 2, because there are 3 classes"),
        (LocalFDA(5), "at most 4, because there are 150 labeled samples and 4 features; got 5"),
        (FDA(0), "n_components must be a whole number of at least 1, got 0"),
        (FDA(reg=-1), "reg must be 'auto' or a number at least 0, got -1"),
        (LocalFDA(n_neighbors=0), "n_neighbors must be a whole number of at least 1, got 0"),
        (FDA(kernel="round"), r"kernel must be one of \['linear', .* got 'round'"),
        (RBF(gamma=-1), "gamma must be a number above 0, got -1"),
        (FDA(kernel="precomputed"), r"X must be square when kernel='precomputed', got shape \(150, 4\)"),
    ],
)
def test_messages_for_invalid_parameters_contain_the_allowed_values(iris, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*iris)


def test_without_regularization_a_direction_without_spread_within_classes_is_the_best():
    # The second feature is the class itself: it varies between classes, and not within them.
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = np.column_stack([random.standard_normal(40), y, random.standard_normal(40)])
    weights = FDA(reg=0).fit(X, y).components_[0]
    assert np.abs(weights[1]) > 1e3 * np.abs(weights[[0, 2]]).max()
