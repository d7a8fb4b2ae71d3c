"""The neighbor search and the loss of scales compared with NumPy implementations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evlearn.kernels import neighbor_loss, neighbors
from evlearn.neighbors import BoxTree, _Others, find_neighbors


def by_sorting(data, rows, n_neighbors, *, others):
    squares = ((rows[:, None] - data) ** 2).sum(axis=2)
    if others:
        np.fill_diagonal(squares, np.inf)
    order = np.argsort(squares, axis=1, kind="stable")[:, :n_neighbors]
    return order, np.take_along_axis(squares, order, axis=1)


@given(
    st.integers(0, 10_000),
    st.integers(2, 300),
    st.integers(1, 9),
    st.sampled_from([1, 2, 5, 40, 120]),
    st.booleans(),
)
def test_neighbors_are_those_that_sorting_all_distances_finds(seed, n, d, k, whole):
    random = np.random.default_rng(seed)
    data, rows = random.normal(size=(n, d)), random.normal(size=(37, d)) * 2
    if whole:  # many ties, which are resolved by index; squares of integers are exact
        data, rows = np.rint(data), np.rint(rows)
    tree = BoxTree.of(data)
    for result, expected in [
        (tree.nearest_others(min(k, n - 1)), by_sorting(data, data, min(k, n - 1), others=True)),
        (tree.nearest_of(rows, min(k, n)), by_sorting(data, rows, min(k, n), others=False)),
    ]:
        np.testing.assert_array_equal(result[0], expected[0])
        np.testing.assert_allclose(result[1], expected[1], rtol=1e-12)


@pytest.mark.parametrize("n_rows", [1, 2, neighbors.LEAF, neighbors.LEAF + 1])
@pytest.mark.parametrize("d", [1, 4, 13])
def test_few_rows_have_the_neighbors_that_many_rows_have(n_rows, d):
    random = np.random.default_rng(d)
    data, rows = random.normal(size=(200, d)), random.normal(size=(100, d)) * 2
    tree = BoxTree.of(data)
    for result, expected in zip(tree.nearest_of(rows[:n_rows], 5), tree.nearest_of(rows, 5), strict=True):
        np.testing.assert_array_equal(result, expected[:n_rows])


def test_threads_find_the_same_neighbors():
    data = np.random.default_rng(0).normal(size=(5000, 6))
    tree = BoxTree.of(data)
    for first, second in zip(tree.nearest_others(7, n_jobs=1), tree.nearest_others(7, n_jobs=2), strict=True):
        np.testing.assert_array_equal(first, second)


def test_coincident_samples_do_not_make_the_search_slow_or_wrong():
    data = np.zeros((20_000, 3))
    indices, squares = BoxTree.of(data).nearest_others(3)
    np.testing.assert_array_equal(indices[:4], [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])
    assert (indices[4:] == [0, 1, 2]).all()
    assert (squares == 0).all()


def test_a_large_offset_costs_no_digits():
    random = np.random.default_rng(1)
    data = random.integers(-100, 100, size=(400, 4)) / 128.0  # sums with the offset are exact
    original, shifted = BoxTree.of(data), BoxTree.of(data + 2.0**20)
    for first, second in zip(original.nearest_others(6), shifted.nearest_others(6), strict=True):
        np.testing.assert_array_equal(first, second)


UNWEIGHTED = (np.empty((0, 0)), np.empty(0))


def loss_in_numpy(classes, squares, gamma, alpha, share, targets, counts, importance):
    supports = alpha * np.exp(-(gamma**2)[classes] * squares)
    evidence = -counts * np.log1p(-supports)
    weights = np.stack([(evidence * (classes == k)).sum(axis=1) for k in range(len(gamma))], axis=1)
    powers = np.exp(weights)
    outputs = (powers - 1 + share) / (powers.sum(axis=1, keepdims=True) - len(gamma) + 1)
    return 0.5 * (importance[:, None] * (outputs - targets) ** 2).sum()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("share", [0, 0.25, 1])
@pytest.mark.parametrize("n_neighbors", [1, 4, 150])
def test_the_loss_and_its_gradient(share, n_neighbors, weighted):
    random = np.random.default_rng(n_neighbors)
    classes = random.integers(4, size=(30, n_neighbors)).astype(np.int32)
    squares = random.exponential(size=classes.shape)
    gamma, targets = random.uniform(0.5, 2, size=4), np.eye(4)[random.integers(4, size=30)]
    counts = random.uniform(0.5, 2, size=classes.shape) if weighted else np.ones(classes.shape)
    importance = random.uniform(0.5, 2, size=30) if weighted else np.ones(30)
    sample_weights = (counts, importance) if weighted else UNWEIGHTED
    gradient = np.zeros(4)
    value = neighbor_loss.loss(
        classes, squares, gamma, 0.95, share, targets, *sample_weights, gradient, np.empty((4, 4))
    )

    def expected(scales):
        return loss_in_numpy(classes, squares, scales, 0.95, share, targets, counts, importance)

    assert value == pytest.approx(expected(gamma), rel=1e-12)
    steps = 1e-6 * np.eye(4)
    slopes = [(expected(gamma + step) - expected(gamma - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-7)


def test_many_near_neighbors_do_not_overflow():
    classes, squares = np.zeros((1, 1000), dtype=np.int32), np.zeros((1, 1000))
    gradient = np.zeros(2)
    value = neighbor_loss.loss(
        classes, squares, np.ones(2), 0.95, 0.5, np.array([[1.0, 0]]), *UNWEIGHTED, gradient, np.empty((4, 2))
    )
    assert value == pytest.approx(0, abs=1e-30)
    assert np.isfinite(gradient).all()


@given(st.integers(0, 10_000), st.integers(2, 400), st.integers(1, 6), st.integers(1, 60), st.booleans())
def test_all_samples_have_the_neighbors_that_the_tree_finds_for_a_few(seed, n, d, k, whole):
    data = np.random.default_rng(seed).normal(size=(n, d))
    data = np.rint(2 * data) if whole else data
    k = min(k, n - 1)
    neighbors = find_neighbors(data, k, metric="euclidean", n_jobs=None, keep=True)
    indices, distances = _Others(data, k, "euclidean", None)(np.arange(n))
    result, order = np.argsort(neighbors.indices, axis=1), np.argsort(indices, axis=1)
    for values, expected in [(neighbors.indices, indices), (neighbors.distances, distances)]:
        np.testing.assert_array_equal(
            np.take_along_axis(values, result, axis=1), np.take_along_axis(expected, order, axis=1)
        )
