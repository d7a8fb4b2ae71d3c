"""Sweeps of EVCLUS compared with a NumPy implementation."""

import numpy as np
import pytest
from evlearn.kernels.evclus import gather_graph, residuals_graph, sweep_all_pairs, sweep_graph
from evlearn.kernels.simplex_qp import solve_many

from evlearn.belief import FocalSets
from evlearn.constraints import PairwiseConstraints
from evlearn.constraints.pairwise import Penalty

FAMILIES = [FocalSets.full(1), FocalSets.full(2), FocalSets.simple(3), FocalSets.simple(4), FocalSets.simple(5)]
FAMILIES += [FocalSets.full(3), FocalSets.pairs(4), FocalSets.simple(15), FocalSets.simple(40)]


def numpy_sweep(M, C, partners, targets, order, forms=None, constraints=(), weight=0.0):
    """Return the masses after one sweep, row by row, in NumPy."""
    M = M.copy()
    for i in order:
        Y = M[partners[i]] @ C
        u = -(Y.T @ targets[i])
        for a, b, kind in constraints:
            if i in (a, b):
                u = u + weight * (forms[kind] @ M[b if i == a else a])
        row = M[i : i + 1].copy()
        solve_many((Y.T @ Y)[None], u[None], row)
        before, after = (0.5 * m @ Y.T @ Y @ m + u @ m for m in (M[i], row[0]))
        if after < before:
            M[i] = row[0]
    return M


def no_constraints(n, f):
    empty = np.zeros(0, dtype=np.intp)
    return np.zeros(n + 1, dtype=np.intp), empty, np.zeros(0, dtype=np.uint8), np.zeros((2, f, f)), 0.0


def sampled(focal_sets, dtype, n_partners):
    random = np.random.default_rng(len(focal_sets) + n_partners)
    n, f = n_partners + 5, len(focal_sets)
    C = np.ascontiguousarray(focal_sets.conflict_matrix)
    M = random.dirichlet(np.full(f, 0.5), size=n)
    partners = np.array([random.choice(np.delete(np.arange(n), i), n_partners, replace=False) for i in range(n)])
    partners = partners.reshape(n, n_partners).astype(np.int32)
    targets = random.random((n, n_partners)).astype(dtype)
    order = random.permutation(n).astype(np.int32)
    indptr = np.arange(n + 1, dtype=np.intp) * n_partners
    return M, C, partners, targets, order, (indptr, partners.reshape(-1), targets.reshape(-1))


@pytest.mark.parametrize("focal_sets", FAMILIES, ids=lambda family: f"f{len(family)}")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_additional", [1, 7, 40])
def test_a_sampled_sweep_equals_its_twin_where_the_minimum_is_unique(focal_sets, dtype, n_additional):
    n_partners = 2 * len(focal_sets) + n_additional
    M, C, partners, targets, order, graph = sampled(focal_sets, dtype, n_partners)
    masses, Y = M.copy(), np.ascontiguousarray(M @ C)
    sweep_graph(masses, Y, C, *graph, order, *no_constraints(*M.shape))
    np.testing.assert_allclose(
        masses, numpy_sweep(M, C, partners, targets.astype(float), order), rtol=0, atol=1e-8
    )
    np.testing.assert_allclose(Y, masses @ C, rtol=0, atol=1e-14)
    residuals = np.einsum("ij,ikj->ik", masses, Y[partners]) - targets
    assert residuals_graph(masses, Y, *graph) == pytest.approx((residuals**2).sum(), rel=1e-6, abs=1e-12)
    assert np.isfinite(gather_graph(Y, *graph, order))


@pytest.mark.parametrize("focal_sets", FAMILIES, ids=lambda family: f"f{len(family)}")
@pytest.mark.parametrize("all_pairs", [True, False])
def test_a_sweep_returns_the_costs_of_rows_after_their_updates(focal_sets, all_pairs):
    M, C, partners, targets, order, graph = sampled(focal_sets, np.float64, 9)
    Y = np.ascontiguousarray(M @ C)
    delta = np.random.default_rng(0).random((len(M), len(M)))
    np.fill_diagonal(delta, 0)

    def sweep(rows, objective=None):
        rows = np.asarray(rows, dtype=np.int32)
        if all_pairs:
            return sweep_all_pairs(M, Y, C, delta, rows, *no_constraints(*M.shape), objective)
        return sweep_graph(M, Y, C, *graph, rows, *no_constraints(*M.shape), objective)

    def cost(i):
        others = np.delete(np.arange(len(M)), i) if all_pairs else partners[i]
        expected = delta[i, others] if all_pairs else targets[i]
        return (((M[i] @ Y[others].T) - expected) ** 2).sum() / 2 - (expected**2).sum() / 2

    start, costs = M.copy(), 0.0
    for i in order:
        sweep([i])
        costs += cost(i)
    one_by_one = M.copy()
    M[:], Y[:] = start, start @ C
    objective = np.full(1, np.nan)
    sweep(order, objective)
    np.testing.assert_allclose(M, one_by_one, atol=1e-10)
    assert objective[0] == pytest.approx(costs, rel=1e-9)


@pytest.mark.parametrize("focal_sets", FAMILIES, ids=lambda family: f"f{len(family)}")
@pytest.mark.parametrize("n_partners", [0, 1, 2, 3, 5])
def test_a_row_with_few_partners_does_not_get_worse(focal_sets, n_partners):
    M, C, partners, targets, _, graph = sampled(focal_sets, np.float64, n_partners)
    for i in range(len(M)):
        updated, Y = M.copy(), np.ascontiguousarray(M @ C)
        sweep_graph(updated, Y, C, *graph, np.array([i], dtype=np.int32), *no_constraints(*M.shape))
        before, after = (((masses[i] @ Y[partners[i]].T - targets[i]) ** 2).sum() for masses in (M, updated))
        assert after <= before + 1e-12
        assert updated[i].min() >= 0
        assert updated[i].sum() == pytest.approx(1)
        np.testing.assert_array_equal(np.delete(updated, i, axis=0), np.delete(M, i, axis=0))


@pytest.mark.parametrize("focal_sets", FAMILIES, ids=lambda family: f"f{len(family)}")
def test_a_sweep_over_all_pairs_with_constraints_equals_its_twin_and_reports_its_change(focal_sets):
    random = np.random.default_rng(len(focal_sets))
    n, f = 10, len(focal_sets)
    C = np.ascontiguousarray(focal_sets.conflict_matrix)
    M = random.dirichlet(np.full(f, 0.5), size=n)
    delta = random.random((n, n))
    delta = (delta + delta.T) / 2
    np.fill_diagonal(delta, 0)
    constraints = PairwiseConstraints([(0, 1), (2, 5)], [(1, 7), (0, 9)])
    penalty = Penalty.of(constraints, 0.7, focal_sets)
    order = random.permutation(n).astype(np.int32)
    eta = 0.3
    updated, Y = M.copy(), np.ascontiguousarray(M @ C)
    change = sweep_all_pairs(updated, Y, C, delta, order, *penalty.kernel_terms(n, 2 * eta))
    partners = np.array([np.delete(np.arange(n), i) for i in range(n)])
    targets = np.take_along_axis(delta, partners, axis=1)
    pairs = [(0, 1, 0), (2, 5, 0), (1, 7, 1), (0, 9, 1)]
    expected = numpy_sweep(M, C, partners, targets, order, penalty.forms, pairs, penalty.weight / (2 * eta))
    np.testing.assert_allclose(updated, expected, rtol=0, atol=1e-8)

    def total(masses):
        residuals = np.triu(masses @ C @ masses.T - delta, k=1)
        return eta * (residuals**2).sum() + penalty.value(masses)

    assert 2 * eta * change == pytest.approx(total(updated) - total(M), abs=1e-12)


@pytest.mark.parametrize("focal_sets", FAMILIES[1:], ids=lambda family: f"f{len(family)}")
def test_a_row_that_cannot_be_made_better_stays_as_it_is_to_the_bit(focal_sets):
    M, C, _, _, order, graph = sampled(focal_sets, np.float64, 2 * len(focal_sets) + 7)
    Y = np.ascontiguousarray(M @ C)
    unchanged = 0
    for i in np.repeat(order, 6):
        before = M.copy()
        change = sweep_graph(M, Y, C, *graph, np.array([i], dtype=np.int32), *no_constraints(*M.shape))
        assert change <= 0
        if change == 0:
            unchanged += 1
            np.testing.assert_array_equal(M, before)
    assert unchanged > len(M)
