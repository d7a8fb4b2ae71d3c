"""The row solver: optimality gap, enumeration, and comparison with another solver."""

from itertools import combinations

import numpy as np
import pytest
from evlearn.kernels.simplex_qp import solve_many, solve_shared
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls


def objective(Q, u, m):
    return 0.5 * np.einsum("...i,...ij,...j->...", m, Q, m) + (u * m).sum(axis=-1)


def gap(Q, u, m):
    """Return an upper bound of the distance of the objective to its minimum, by convexity."""
    gradient = np.einsum("...ij,...j->...i", Q, m) + u
    return (gradient * m).sum(axis=-1) - gradient.min(axis=-1)


def problems(f, n_problems, rank, random, *, kind="data"):
    """Return problems as in sweeps (u in the range of Q), or with any u, which has slopes where Q is flat."""
    rows = random.dirichlet(np.full(f, 0.4), size=(n_problems, rank))
    Q = np.einsum("npi,npj->nij", rows, rows)
    u = -np.einsum("npi,np->ni", rows, random.random((n_problems, rank)))
    if kind == "slope":
        u += 0.3 * random.standard_normal(u.shape)
    return Q, u


def solve(Q, u, start):
    m = start.copy()
    assert solve_many(Q, u, m) == 0
    assert (m >= 0).all()
    np.testing.assert_allclose(m.sum(axis=1), 1, rtol=0, atol=1e-14)
    return m


@pytest.mark.parametrize("kind", ["data", "slope"])
@pytest.mark.parametrize(("f", "rank"), [(1, 1), (2, 1), (4, 2), (6, 3), (6, 100), (12, 5), (17, 30), (40, 20)])
def test_all_solutions_meet_the_stopping_criterion(f, rank, kind):
    random = np.random.default_rng(f * rank)
    Q, u = problems(f, 500, rank, random, kind=kind)
    m = solve(Q, u, random.dirichlet(np.ones(f), size=500))
    size = np.maximum(np.abs(Q).max(axis=(1, 2)), np.abs(u).max(axis=1))
    assert (gap(Q, u, m) <= 2e-12 * size).all()


def by_enumeration(Q, u):
    """Return the smallest objective over all supports, from the feasible solutions of linear systems."""
    f, best = len(u), np.inf
    for size in range(1, f + 1):
        for support in combinations(range(f), size):
            P = list(support)
            system = np.block([[Q[np.ix_(P, P)], np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
            solution = np.linalg.lstsq(system, np.r_[-u[P], 1.0], rcond=None)[0][:size]
            if (solution >= -1e-12).all() and abs(solution.sum() - 1) < 1e-9:
                m = np.zeros(f)
                m[P] = np.maximum(solution, 0) / np.maximum(solution, 0).sum()
                best = min(best, objective(Q, u, m))
    return best


@pytest.mark.parametrize("kind", ["data", "slope"])
@pytest.mark.parametrize("rank", [1, 3, 20])
def test_no_support_of_few_sets_gives_less(rank, kind):
    random = np.random.default_rng(rank)
    Q, u = problems(5, 60, rank, random, kind=kind)
    m = solve(Q, u, random.dirichlet(np.ones(5), size=60))
    for k in range(60):
        assert objective(Q[k], u[k], m[k]) <= by_enumeration(Q[k], u[k]) + 1e-12


@given(st.integers(1, 8), st.integers(1, 10), st.integers(0, 2**31), st.sampled_from(["data", "slope"]))
def test_a_warm_start_never_ends_higher_and_the_end_does_not_depend_on_it(f, rank, seed, kind):
    random = np.random.default_rng(seed)
    Q, u = problems(f, 3, rank, random, kind=kind)
    starts = [random.dirichlet(np.ones(f), size=3), np.eye(f)[random.integers(f, size=3)], np.zeros((3, f))]
    ends = [solve(Q, u, start) for start in starts]
    for start, end in zip(starts[:2], ends, strict=False):
        assert (objective(Q, u, end) <= objective(Q, u, start) + 1e-12).all()
    for end in ends[1:]:
        np.testing.assert_allclose(objective(Q, u, end), objective(Q, u, ends[0]), rtol=0, atol=1e-11)


def test_the_solution_does_not_depend_on_the_scale_of_the_problem():
    random = np.random.default_rng(0)
    Q, u = problems(6, 200, 10, random)
    start = random.dirichlet(np.ones(6), size=200)
    plain = solve(Q, u, start)
    for scale in (1e-12, 1e-6, 1e9):
        np.testing.assert_allclose(solve(scale * Q, scale * u, start), plain, rtol=0, atol=1e-8)


def test_a_flat_problem_keeps_a_valid_start_and_a_linear_one_goes_to_the_best_corner():
    start = np.array([[0.2, 0.3, 0.5]])
    np.testing.assert_allclose(solve(np.zeros((1, 3, 3)), np.zeros((1, 3)), start), start)
    linear = solve(np.zeros((1, 3, 3)), np.array([[1.0, -2.0, 0.5]]), start)
    np.testing.assert_array_equal(linear, [[0, 1, 0]])


@pytest.mark.parametrize("slope", [1e-4, 1e-8, 1e-10])
def test_a_corner_is_left_for_the_smallest_gain_that_is_not_rounding(slope):
    # Along (1 - t, t) the objective is t^2 - slope t and a constant, least at t = slope / 2.
    m = solve(np.eye(2)[None], np.array([[-1.0, -slope]]), np.array([[1.0, 0.0]]))
    assert m[0, 1] == pytest.approx(slope / 2, rel=1e-4)


def test_a_shared_matrix_gives_the_same_as_one_for_each_problem():
    random = np.random.default_rng(1)
    Q, _ = problems(6, 1, 30, random)
    u = -random.random((50, 6))
    start = np.zeros((50, 6))
    np.testing.assert_array_equal(solve(Q, u, start), solve(np.repeat(Q, 50, axis=0), u, start))


@pytest.mark.parametrize("f", [1, 4, 8, 9])
def test_tables_of_faces_give_the_solutions_of_the_active_set_method_and_no_row_depends_on_others(f):
    random = np.random.default_rng(f)
    rows = random.dirichlet(np.full(f, 0.4), size=200)
    Q, u = rows.T @ rows, -random.random((300, 200)) @ rows + 5 * random.standard_normal((300, f))
    m, expected, reversed_m = np.full_like(u, 7), np.zeros_like(u), np.zeros_like(u)
    assert solve_shared(Q, u, m) == 0
    assert solve_many(Q[None], u, expected) == 0
    np.testing.assert_allclose(m, expected, rtol=0, atol=1e-12)
    solve_shared(Q, u[::-1].copy(), reversed_m)
    np.testing.assert_array_equal(reversed_m[::-1], m)


def test_a_face_without_curvature_is_left_to_the_active_set_method():
    random = np.random.default_rng(0)
    rows = random.dirichlet(np.ones(3), size=50)[:, [0, 1, 2, 2]]
    Q, u = rows.T @ rows, -random.random((40, 50)) @ rows
    m = np.zeros_like(u)
    assert solve_shared(Q, u, m) == 0
    assert (gap(np.broadcast_to(Q, (40, 4, 4)), u, m) <= 2e-12 * np.abs(u).max()).all()


def test_incompatible_shapes_raise_an_error():
    with pytest.raises(ValueError, match="compatible shapes"):
        solve_many(np.zeros((1, 3, 3)), np.zeros((4, 3)), np.zeros((4, 2)))


@pytest.mark.slow
def test_many_problems_meet_the_stopping_criterion():
    random = np.random.default_rng(2)
    for f, rank, n_problems in ((4, 3, 20_000), (6, 30, 40_000), (6, 4, 20_000), (12, 40, 20_000)):
        Q, u = problems(f, n_problems, rank, random, kind="data" if rank > 4 else "slope")
        m = solve(Q, u, random.dirichlet(np.ones(f), size=n_problems))
        assert gap(Q, u, m).max() < 1e-12


@pytest.mark.slow
def test_nonnegative_least_squares_finds_nothing_better():
    random = np.random.default_rng(3)
    for _ in range(2000):
        A, b = random.random((8, 5)), random.random(8)
        # The constraint on the sum as an additional row of large weight.
        weight = 1e4
        point = nnls(np.vstack([A, weight * np.ones(5)]), np.r_[b, weight])[0]
        m = solve((A.T @ A)[None], -(A.T @ b)[None], np.full((1, 5), 0.2))[0]
        point /= point.sum()
        assert np.sum((A @ m - b) ** 2) <= np.sum((A @ point - b) ** 2) + 1e-12
