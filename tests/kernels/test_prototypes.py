"""Passes over rows compared with a NumPy implementation."""

from types import SimpleNamespace

import numpy as np
import pytest

from evlearn.belief import FocalSets
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
from evlearn.cluster.set_costs import SetCosts
from evlearn.kernels import prototypes as kernel

# A tile has 64 rows.
SIZES = [1, 3, 63, 64, 65, 127, 200]
BETAS = [1.1, 1.5, 2.0, 3.0]
PRECISIONS = {np.float64: 1e-12, np.float32: 1e-4}


def random_family(random, n_clusters):
    """Return all single clusters and random other sets."""
    others = random.random((random.integers(0, 7), n_clusters)) < 0.5
    return FocalSets.from_membership(np.vstack([np.eye(n_clusters, dtype=bool), others]))


def lists_of(table):
    """Return the start of each row in a list of columns, and this list of the columns of all ones."""
    begin = np.concatenate([[0], np.cumsum(table.sum(axis=1))]).astype(np.int32)
    return begin, np.nonzero(table)[1].astype(np.int32)


def random_problem(seed, n, d, c, beta, dtype=np.float64):
    random = np.random.default_rng(seed)
    table = random_family(random, c).membership[1:]
    prototypes = random.standard_normal((c, d))
    squares = ((prototypes[:, None, :] - prototypes) ** 2).sum(axis=2)
    # Costs above 0: at most the mean squared distance of the prototypes to their barycenter is subtracted.
    size = table.sum(axis=1)
    spread = random.uniform(0.2, 2, size=len(table))
    offsets = spread * 0.9 * np.einsum("jk,kl,jl->j", table, squares, table) / (2 * size)
    center = 5 * random.standard_normal(d)
    return SimpleNamespace(
        X=(4 * random.standard_normal((n, d)) + center).astype(dtype),
        weights=random.uniform(0, 3, size=n).astype(dtype),
        center=center.astype(dtype),
        scale=0.25,
        V=prototypes.astype(dtype),
        p=spread.astype(dtype),
        q=offsets.astype(dtype),
        empty=random.uniform(0.5, 4),
        beta=beta,
        lists=(*lists_of(table), *lists_of(table.T)),
        table=table.astype(float),
    )


def arguments(case):
    return case.center, case.scale, case.V, case.p, case.q, case.empty, case.beta, *case.lists


def collect(case, weights, rows=slice(None)):
    c, f = case.table.shape[::-1]
    powers, sums = np.zeros(f + 1), np.zeros((c, case.X.shape[1]))
    cost = kernel.collect(case.X[rows], weights, *arguments(case), powers, sums)
    return cost, powers, sums


def assign(case):
    out = np.full((len(case.X), len(case.table) + 1), np.nan, dtype=case.X.dtype)
    kernel.assign(case.X, *arguments(case), out)
    return out


def reference_results(case):
    """Return masses, the cost of each row, and the terms of the sums of `collect`."""
    coordinates = (case.X.astype(float) - case.center.astype(float)) * case.scale
    squares = ((coordinates[:, None, :] - case.V.astype(float)) ** 2).sum(axis=2)
    costs = np.hstack([np.full((len(coordinates), 1), case.empty), case.p * (squares @ case.table.T) - case.q])
    relative = costs ** (-1 / (case.beta - 1))
    masses = relative / relative.sum(axis=1, keepdims=True)
    powers = masses**case.beta
    shares = powers[:, 1:] @ (case.table * case.p.astype(float)[:, None])
    return masses, (powers * costs).sum(axis=1), powers, np.einsum("nk,nd->nkd", shares, coordinates)


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("n", SIZES)
def test_masses_and_sums_equal_their_twin(n, beta, dtype):
    for seed in range(6):
        random = np.random.default_rng([n, seed])
        case = random_problem([n, seed], n, random.integers(1, 8), random.integers(1, 6), beta, dtype)
        masses, costs, powers, sums = reference_results(case)
        close = {"rtol": PRECISIONS[dtype], "atol": PRECISIONS[dtype]}
        result = assign(case)
        assert result.dtype == dtype
        np.testing.assert_allclose(result, masses, **close)
        for weights in (None, case.weights):
            times = np.ones(n) if weights is None else weights.astype(float)
            cost, our_powers, our_sums = collect(case, weights)
            assert cost == pytest.approx(times @ costs, rel=PRECISIONS[dtype])
            np.testing.assert_allclose(our_powers, times @ powers, **close)
            np.testing.assert_allclose(our_sums, np.einsum("n,nkd->kd", times, sums), **close)


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize(("d", "c"), [(1, 1), (1, 7), (2, 1), (9, 1), (17, 3), (3, 30), (40, 12)])
def test_any_number_of_features_and_clusters_is_supported(d, c, dtype):
    case = random_problem([d, c], 70, d, c, 2.0, dtype)
    masses, costs, powers, sums = reference_results(case)
    close = {"rtol": PRECISIONS[dtype], "atol": PRECISIONS[dtype]}
    np.testing.assert_allclose(assign(case), masses, **close)
    cost, our_powers, our_sums = collect(case, None)
    assert cost == pytest.approx(costs.sum(), rel=PRECISIONS[dtype])
    np.testing.assert_allclose(our_powers, powers.sum(axis=0), **close)
    np.testing.assert_allclose(our_sums, sums.sum(axis=0), **close)


@pytest.mark.parametrize("beta", BETAS)
def test_sums_over_parts_equal_the_total(beta):
    case = random_problem(0, 150, 3, 4, beta)
    cost, powers, sums = collect(case, case.weights)
    added_powers, added_sums, added_cost = np.zeros_like(powers), np.zeros_like(sums), 0.0
    for rows in (slice(0, 1), slice(1, 80), slice(80, 80), slice(80, 150)):
        added_cost += kernel.collect(case.X[rows], case.weights[rows], *arguments(case), added_powers, added_sums)
    assert added_cost == pytest.approx(cost, rel=1e-13)
    np.testing.assert_allclose(added_powers, powers, rtol=1e-13)
    np.testing.assert_allclose(added_sums, sums, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_the_masses_of_a_row_do_not_depend_on_other_rows(dtype):
    for beta in BETAS:
        case = random_problem(1, 90, 3, 4, beta, dtype)
        whole = assign(case)
        for row in (0, 5, 63, 64, 89):
            single_row = SimpleNamespace(**(vars(case) | {"X": case.X[row : row + 1]}))
            np.testing.assert_array_equal(assign(single_row)[0], whole[row])


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("beta", BETAS)
def test_empty_data_have_no_masses_and_no_sums(beta, dtype):
    case = random_problem(2, 0, 3, 4, beta, dtype)
    assert assign(case).shape == (0, len(case.table) + 1)
    for weights in (None, case.weights):
        cost, powers, sums = collect(case, weights)
        assert cost == 0
        assert not powers.any()
        assert not sums.any()


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("beta", BETAS)
def test_rows_without_weight_do_not_contribute(beta, dtype):
    case = random_problem(3, 130, 2, 3, beta, dtype)
    weights = (np.arange(130) % 3 == 0).astype(dtype)
    is_weighted = weights > 0
    for got, expected in zip(collect(case, weights), collect(case, None, is_weighted), strict=True):
        np.testing.assert_allclose(got, expected, rtol=PRECISIONS[dtype], atol=PRECISIONS[dtype])


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("beta", BETAS)
def test_sets_without_cost_share_the_mass_equally(beta, dtype):
    # Clusters at -1, 0 and 1: the middle prototype is the barycenter of the outer ones, and of all three.
    table = FocalSets.full(3).membership[1:]
    V = np.array([[-1.0], [0], [1]])
    size = table.sum(axis=1)
    centers = (table @ V / size[:, None])[:, 0]
    offsets = (table * (V[:, 0] - centers[:, None]) ** 2).sum(axis=1)
    case = SimpleNamespace(
        X=np.array([[0.0], [-1], [0.5], [3]], dtype=dtype),
        center=np.zeros(1, dtype=dtype),
        scale=1.0,
        V=V.astype(dtype),
        p=np.ones(7, dtype=dtype),
        q=offsets.astype(dtype),
        empty=4.0,
        beta=beta,
        lists=(*lists_of(table), *lists_of(table.T)),
        table=table.astype(float),
    )
    masses = assign(case)
    places = {0.0: [(1,), (0, 2), (0, 1, 2)], -1.0: [(0,)], 0.5: [(1, 2)]}
    for row, place in enumerate(case.X[:3, 0]):
        expected = np.array(
            [tuple(np.flatnonzero(members)) in places[float(place)] for members in table], dtype=float
        )
        np.testing.assert_allclose(
            masses[row, 1:], expected / expected.sum(), rtol=4 * np.finfo(dtype).eps, atol=1e-14
        )
        assert masses[row, 0] == pytest.approx(0, abs=1e-14)
    cost, _, sums = collect(case, None)
    assert cost == pytest.approx(collect(case, None, slice(3, 4))[0], rel=1e-6)
    assert np.isfinite(sums).all()


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("beta", BETAS)
def test_a_cost_that_is_a_rounding_error_counts_as_zero(beta, dtype):
    # As above, but with coordinates whose squares are rounded: the difference of 2 equal sums is then rarely 0.
    table = FocalSets.full(3).membership[1:]
    for seed in range(20):
        outer = np.random.default_rng(seed).uniform(0.1, 1, size=3).astype(dtype)
        V = np.stack([-outer, np.zeros(3, dtype=dtype), outer])
        centers = table @ V.astype(float) / table.sum(axis=1)[:, None]
        offsets = (table * ((V.astype(float) - centers[:, None]) ** 2).sum(axis=2)).sum(axis=1)
        case = SimpleNamespace(
            X=np.zeros((1, 3), dtype=dtype),
            center=np.zeros(3, dtype=dtype),
            scale=1.0,
            V=V,
            p=np.ones(7, dtype=dtype),
            q=offsets.astype(dtype),
            empty=4.0,
            beta=beta,
            lists=(*lists_of(table), *lists_of(table.T)),
            table=table.astype(float),
        )
        shares = [tuple(np.flatnonzero(members)) in [(1,), (0, 2), (0, 1, 2)] for members in table]
        np.testing.assert_allclose(assign(case)[0, 1:], np.array(shares) / 3, rtol=0, atol=1e-5)


# Matrix products for many clusters and features


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("beta", [1.1, 1.7, 2.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_products_and_differences_have_equal_results(monkeypatch, dtype, beta, weighted):
    random = np.random.default_rng(0)
    centers = random.normal(size=(11, 40))
    X = (centers[random.integers(11, size=150)] + 0.3 * random.normal(size=(150, 40))).astype(dtype)
    X[:3] = centers[:3]  # on a prototype, where products have only rounding errors
    X[3] = centers[4:6].mean(axis=0)
    weights = random.uniform(size=150) if weighted else None
    coordinates = Coordinates.of(X)
    costs = SetCosts.ecm(FocalSets.pairs(11), alpha=1.0, beta=beta, delta=5.0)
    model = EuclideanModel(costs, coordinates, coordinates.transform(X[:11].astype(np.float64)))
    masses, statistics = model.assign(X), model.collect(X, weights)
    monkeypatch.setattr("evlearn.cluster.centroids.model._MIN_PRODUCT_SIZE", 1)
    close = {"rtol": 1e-4, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(model.assign(X), masses, **close)
    repeated = model.collect(X, weights)
    assert repeated.cost == pytest.approx(statistics.cost, rel=close["rtol"])
    np.testing.assert_allclose(repeated.powers, statistics.powers, **close)
    np.testing.assert_allclose(repeated.sums, statistics.sums, **close)
    assert (masses[:3].argmax(axis=1) == np.arange(1, 4)).all()


@pytest.mark.parametrize("value", [1e8, 1e30, np.inf])
def test_far_rows_use_differences(monkeypatch, value):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 40))
    coordinates = Coordinates.of(X)
    costs = SetCosts.ecm(FocalSets.simple(3), alpha=1.0, beta=2.0, delta=5.0)
    model = EuclideanModel(costs, coordinates, coordinates.transform(X[:3]))
    X[7] = value
    expected = model.assign(X)
    monkeypatch.setattr("evlearn.cluster.centroids.model._MIN_PRODUCT_SIZE", 1)
    np.testing.assert_array_equal(model.assign(X), expected)
    assert expected[7, 0] == 1


def test_spreads_of_sets_are_those_of_their_members(monkeypatch):
    monkeypatch.setattr("evlearn.cluster.set_costs._NUMBERS", 20)
    prototypes = np.random.default_rng(0).normal(size=(5, 3))
    costs = SetCosts.ecm(FocalSets.full(5), alpha=1.0, beta=2.0, delta=1.0)
    expected = [prototypes[list(members)].var(axis=0).sum() for members in list(costs.focal_sets)[1:]]
    np.testing.assert_allclose(costs.spreads(prototypes), expected, atol=1e-15)


@pytest.mark.parametrize("n_iterations", [1, 3, 100])
@pytest.mark.parametrize(("n", "d", "c"), [(5, 1, 1), (64, 3, 4), (300, 8, 5)])
def test_iterations_of_k_means_are_those_of_models(n, d, c, n_iterations):
    random = np.random.default_rng(n)
    X, weights, start = random.normal(size=(n, d)), random.uniform(0.5, 2, n), random.normal(size=(c, d))
    start[-1] += 1e3 * (c > 1)  # an empty cluster
    beta, tol = 1.001, 1e-4
    prototypes, powers = start.copy(), np.empty(c + 1)
    cost = kernel.lloyd(X, weights, prototypes, beta, n_iterations, tol, powers)
    costs = SetCosts.ecm(FocalSets.singletons(c), alpha=1.0, beta=beta, delta=np.inf)
    expected, before = start, np.inf
    for _ in range(n_iterations):
        statistics = EuclideanModel(costs, Coordinates(np.zeros(d), 1.0), expected).collect(X, weights)
        if before - statistics.cost <= tol * statistics.cost:
            break
        sizes = statistics.powers[1:, None]
        expected = np.where(sizes > 0, statistics.sums / np.where(sizes > 0, sizes, 1), expected)
        before = statistics.cost
    assert cost == statistics.cost
    np.testing.assert_array_equal(prototypes, expected)
    np.testing.assert_array_equal(powers, statistics.powers)
