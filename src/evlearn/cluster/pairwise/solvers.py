"""Solvers of EVCLUS: sweeps over fixed pairs, a fit of landmarks, and stochastic sweeps with new partners."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.dissimilarities import distances_between
from evlearn.cluster.focal_families import given_masses, has_two_steps, pairs_after_fit, random_masses
from evlearn.cluster.pairwise.irqp import (
    Pairs,
    SweepResult,
    best_start,
    labels_of,
    normalization,
    rows_against,
    sweep_masses,
)
from evlearn.cluster.pairwise.landmarks import LandmarkModel
from evlearn.cluster.pairwise.pair_graph import DEFAULT_PARTNERS, AllPairs, Transform, ring_distances
from evlearn.cluster.pairwise.problem import Problem, Solution
from evlearn.cluster.pairwise.scales import Scale, targets_of
from evlearn.constraints.pairwise import Penalty
from evlearn.kernels.simplex_qp import solve_many
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import Report, Trace, best_descent, descend
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_choice

#: Number of starts that are compared by short descents.
START_CANDIDATES = 10
#: Maximum number of restarts if clusters are missing.
_MAX_RESTARTS = 3
#: Share of the average cluster size below which a cluster is missing.
_MISSING_SHARE = 0.05
#: Number of sweeps without a proximal weight.
_FREE_SWEEPS = 10
#: Number of sweeps in each average that the stopping criterion compares.
_WINDOW = 5
#: Ratio of the number of blocks to the number of those that estimate the objective of the start.
_BLOCKS_PER_ESTIMATE = 10
#: Maximum number of sweeps, and minimum tolerance, because the noise of the draws never vanishes.
MAX_SWEEPS, _MIN_TOL = 50, 1e-3


def solve_exactly(problem: Problem) -> Solution:
    """Return the best masses of several starts for fixed pairs."""
    settings, random = problem.settings, problem.random
    pairs, scale = problem.make_pairs()

    def fit(seed: int) -> Trace[SweepResult]:
        seeded = np.random.RandomState(seed)
        start = start_masses(problem, scale, seeded)
        trace = Trace(SweepResult(start, np.inf, problem.focal_sets), [np.inf])
        for weight in problem.schedule:
            if not trace.interrupted:
                trace = sweep(problem, pairs, trace.state.masses, problem.focal_sets, weight, seeded)
        return trace

    upper = np.iinfo(np.int32).max
    seeds = random.randint(upper, size=settings.n_init)
    draw_seed = partial(random.randint, np.iinfo(np.int32).max) if isinstance(settings.init, str) else None
    return _best_solution(problem, pairs, scale, fit, seeds, draw_seed)


def solve_by_landmarks(problem: Problem) -> Solution:
    """Return the masses of the landmarks, which are the data of the problem."""
    problem.refuse_constraints("landmark")
    focal_sets, random, size = problem.focal_sets, problem.random, len(problem.data)
    distances = problem.square(np.arange(size))
    off_diagonal = ~np.eye(size, dtype=bool)
    scale = problem.scale_of(distances[off_diagonal], problem.ordinary_pairs(off_diagonal))
    pairs = AllPairs(targets_of(distances, scale.transform))
    n_candidates = START_CANDIDATES * problem.settings.n_init

    def draw_start() -> FloatArray:
        rows = np.flatnonzero(problem.crisp.ordinary)
        masses = best_start(pairs.delta[np.ix_(rows, rows)], focal_sets, random, n_candidates=n_candidates)
        start = rows_against(pairs.delta[:, rows], masses, focal_sets.conflict_matrix[None])
        start[rows] = masses
        return start

    def fit(_: int) -> Trace[SweepResult]:
        start = problem.crisp_start() if scale.from_clusters else draw_start()
        return sweep(problem, pairs, start, focal_sets, 0.0, random)

    return _best_solution(problem, pairs, scale, fit, [0], lambda: 0)


def _best_solution(
    problem: Problem,
    pairs: Pairs,
    scale: Scale,
    fit: Callable[[int], Trace[SweepResult]],
    seeds: Sequence[int],
    draw_seed: Callable[[], int] | None,
) -> Solution:
    """Return the best of several starts, with restarts if clusters are missing, and with pairs of neighbors.

    Without `draw_seed`, there are no restarts.
    """

    def refine(trace: Trace[SweepResult]) -> Trace[SweepResult]:
        if draw_seed is not None:
            trace = with_restarts(trace, lambda: fit(draw_seed()), problem.focal_sets)
        has_pairs = has_two_steps(problem.settings.focal_sets)
        return with_pairs(problem, pairs, trace) if has_pairs and not trace.interrupted else trace

    n_jobs = problem.settings.n_jobs if len(seeds) > 1 else 1
    return Solution(best_descent(fit, seeds, refine=refine, n_jobs=n_jobs), scale.transform, pairs)


def sweep(
    problem: Problem,
    pairs: Pairs,
    masses: FloatArray,
    focal_sets: FocalSets,
    weight: float,
    random: np.random.RandomState,
) -> Trace[SweepResult]:
    """Descend from a start, with a given weight of the constraints."""
    settings, constraints = problem.settings, problem.constraints
    return sweep_masses(
        pairs,
        masses,
        focal_sets,
        eta=normalization(pairs, settings.loss),
        tol=settings.tol,
        stopping=settings._switches["stopping"],
        max_iter=settings.max_iter,
        penalty=Penalty.of(constraints, weight, focal_sets) if constraints is not None and weight > 0 else None,
        random=random if settings._switches["shuffle"] else None,
        report=problem.report,
    )


def with_pairs(problem: Problem, pairs: Pairs, best: Trace[SweepResult]) -> Trace[SweepResult]:
    """Continue the descent from the best masses, with the pairs of neighboring clusters."""
    neighbors = pairs_after_fit(problem.settings.focal_sets, best.state.masses, best.state.focal_sets)
    weight = 0.0 if problem.constraints is None else problem.settings.constraint_weight
    return sweep(problem, pairs, neighbors.masses, neighbors.focal_sets, weight, problem.random)


def start_masses(problem: Problem, scale: Scale, random: np.random.RandomState) -> FloatArray:
    """Return the masses of a start."""
    settings, data, focal_sets = problem.settings, problem.data, problem.focal_sets
    if not isinstance(settings.init, str):
        return given_masses(settings.init, len(data), focal_sets)
    check_choice("init", settings.init, ("auto", "random"))
    if settings.init == "random":
        return random_masses(len(data), len(focal_sets), random)
    if scale.from_clusters:
        return problem.crisp_start()
    transform, size = scale.transform, problem.start_size
    is_complete = len(data) <= size and bool(problem.crisp.ordinary.all())
    chosen = np.arange(len(data)) if is_complete else np.sort(problem.draw_ordinary(random, size))
    delta = targets_of(problem.square(chosen), transform)
    masses = best_start(delta, focal_sets, random, n_candidates=START_CANDIDATES)
    if is_complete:
        return masses
    landmarks = None if problem.precomputed else data[chosen]
    model = LandmarkModel(chosen, landmarks, masses, focal_sets, transform, settings.metric)
    return model.assign(data).astype(np.float64, copy=False)


def with_restarts(
    trace: Trace[SweepResult], fit: Callable[[], Trace[SweepResult]], focal_sets: FocalSets
) -> Trace[SweepResult]:
    """Return the trace, or that of another start if clusters are missing."""
    for _ in range(_MAX_RESTARTS):
        n_missing = _count_missing(trace, focal_sets)
        if trace.interrupted or n_missing == 0:
            break
        other = fit()
        has_more_clusters = _count_missing(other, focal_sets) < n_missing
        best = other if has_more_clusters and other.objective <= trace.objective else trace
        trace = replace(best, interrupted=other.interrupted)
    return trace


def _count_missing(trace: Trace[SweepResult], focal_sets: FocalSets) -> int:
    """Return the number of clusters that are missing."""
    labels = labels_of(trace.state.masses, focal_sets)
    sizes = np.bincount(labels, minlength=focal_sets.frame_size)
    return int((sizes < _MISSING_SHARE * len(labels) / focal_sets.frame_size).sum())


def solve_stochastically(problem: Problem) -> Solution:
    """Return the masses after sweeps with new random partners."""
    problem.refuse_constraints("stochastic")
    settings, data, random = problem.settings, problem.data, problem.random
    if has_two_steps(settings.focal_sets):
        raise ValueError(
            "focal_sets='neighbor_pairs' needs solver='exact' or 'landmark', got solver='stochastic'."
        )
    if settings._switches["stopping"] != "last":
        raise ValueError("stopping='average' needs solver='exact' or 'landmark', got solver='stochastic'.")
    n_rings = min(20, 100_000 // len(data) + 1)
    rings = [ring_distances(data, problem.draw_ring(random, 100_000), settings.metric) for _ in range(n_rings)]
    scale = problem.scale_of(np.concatenate(rings))
    trace = descend_stochastic(
        data,
        start_masses(problem, scale, random),
        problem.focal_sets,
        scale.transform,
        settings.metric,
        n_partners=problem.n_partners or min(DEFAULT_PARTNERS, len(data)),
        block_size=min(256, max(1, len(data) // 4)),
        tol=max(settings.tol, _MIN_TOL),
        max_iter=min(settings.max_iter, MAX_SWEEPS),
        random=random,
        report=problem.report,
    )
    return Solution(trace, scale.transform)


def descend_stochastic(
    X: FloatArray,
    masses: FloatArray,
    focal_sets: FocalSets,
    transform: Transform,
    metric: Any,
    *,
    n_partners: int,
    block_size: int,
    tol: float,
    max_iter: int,
    random: np.random.RandomState,
    report: Report | None = None,
) -> Trace[SweepResult]:
    r"""Sweep over random blocks until the average objective of a few sweeps converges.

    In sweep t, a random block of samples is compared with random partners P. The programs of all samples i of the
    block have the same matrix,

    .. math::

       \min_m\ \tfrac12m^T(Q+\tau_tI)m-\Big(\tfrac1pCM_P^T\delta_{iP}+\tau_tm_i\Big)^Tm,
       \qquad Q=\tfrac1pCM_P^TM_PC .

    The proximal weight :math:`\tau_t` is 0 at first and then grows, so that the noise of the draws averages out.
    """
    M: FloatArray = np.array(masses, dtype=np.float64)
    C = focal_sets.conflict_matrix
    history: list[float] = []

    def compare(blocks: Iterable[tuple[IntArray, IntArray]], proximity: float | None) -> float:
        squares = residuals = 0.0
        for rows, partners in blocks:
            delta = transform(_distances_of_block(X, rows, partners, metric))
            Y = M[partners] @ C
            differences = M[rows] @ Y.T - delta
            residuals += float(np.vdot(differences, differences))
            squares += float(np.vdot(delta, delta))
            if proximity is not None:
                _update_block(M, rows, Y, delta, proximity)
        return residuals / squares if squares > 0 else 0.0

    def step(M: FloatArray) -> tuple[FloatArray, float, bool]:
        proximity = max(len(history) - _FREE_SWEEPS, 0) / 20
        history.append(compare(_draw_blocks(len(M), block_size, n_partners, random), proximity))
        return M, history[-1], _has_converged(history, tol)

    # A separate generator, so that the draws of the sweeps do not depend on this estimate.
    blocks = _draw_blocks(len(M), block_size, n_partners, np.random.RandomState(0))
    start = compare(islice(blocks, max(1, len(M) // block_size // _BLOCKS_PER_ESTIMATE)), None)
    end = descend(step, Trace(M, [start]), max_iter=max_iter, report=report)
    return end.with_state(SweepResult(M, end.objective, focal_sets))


def _draw_blocks(
    n_samples: int, block_size: int, n_partners: int, random: np.random.RandomState
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield random blocks of all samples, and random partners of each block."""
    order = random.permutation(n_samples)
    for block in row_blocks(n_samples, block_size):
        rows = order[block]
        positions = random.randint(max(n_samples - len(rows), 1), size=n_partners)
        yield rows, order[positions + len(rows) * (positions >= block.start)]  # samples outside the block


def _distances_of_block(X: FloatArray, rows: IntArray, partners: IntArray, metric: Any) -> FloatArray:
    if metric == "precomputed":
        return X[np.ix_(rows, partners)].astype(np.float64)
    return distances_between(X[rows], X[partners], metric)


def _update_block(M: FloatArray, rows: Any, Y: FloatArray, delta: FloatArray, proximity: float) -> None:
    Q = Y.T @ Y / len(Y)
    tau = proximity * float(np.trace(Q)) / len(Q)
    start = M[rows]
    linear = -(delta @ Y) / len(Y) - tau * start
    solve_many((Q + tau * np.eye(len(Q)))[None], linear, start)
    M[rows] = start


def _has_converged(history: list[float], tol: float) -> bool:
    """Return True if the last sweeps did not lower the average objective of the sweeps before them."""
    if len(history) < _FREE_SWEEPS + 2 * _WINDOW:
        return False
    last, previous = np.mean(history[-_WINDOW:]), np.mean(history[-2 * _WINDOW : -_WINDOW])
    return bool(abs(previous - last) <= tol * previous)
