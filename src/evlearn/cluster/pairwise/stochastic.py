r"""Stochastic solver of EVCLUS: block sweeps with new random partners, which store no distances.

In sweep t, a random block of samples is compared with random partners P. The programs of all samples i of the
block have the same matrix,

.. math::

   \min_m\ \tfrac12m^T(Q+\tau_tI)m-\Big(\tfrac1pCM_P^T\delta_{iP}+\tau_tm_i\Big)^Tm,\qquad Q=\tfrac1pCM_P^TM_PC .

The proximal weight :math:`\tau_t` is 0 at first and then grows, so that the noise of the draws averages out.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.dissimilarities import distances_between
from evlearn.cluster.pairwise.exact import start_masses
from evlearn.cluster.pairwise.irqp import SweepResult
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.cluster.pairwise.partners import DEFAULT_PARTNERS, ring_distances
from evlearn.cluster.pairwise.problem import Problem, Solution
from evlearn.kernels.simplex_qp import solve_many
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import Report, Trace, descend
from evlearn.utils.typing import FloatArray, IntArray

#: Number of sweeps without a proximal weight.
_FREE_SWEEPS = 10
#: Number of sweeps in each average that the stopping criterion compares.
_WINDOW = 5
#: Ratio of the number of blocks to the number of those that estimate the objective of the start.
_BLOCKS_PER_ESTIMATE = 10
#: Maximum number of sweeps, and minimum tolerance, because the noise of the draws never vanishes.
MAX_SWEEPS, _MIN_TOL = 50, 1e-3


def solve(problem: Problem) -> Solution:
    """Return the masses after sweeps with new random partners."""
    problem.refuse_constraints("stochastic")
    settings, data, random = problem.settings, problem.data, problem.random
    if problem.has_two_steps:
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
    return Solution(trace, problem.focal_sets, scale.transform)


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
    """Sweep over random blocks until the average objective of a few sweeps converges."""
    M: FloatArray = np.array(masses, dtype=np.float64)
    C = focal_sets.conflict_matrix
    history: list[float] = []

    def compare(blocks: Iterable[tuple[IntArray, IntArray]], proximity: float | None) -> float:
        squares = residuals = 0.0
        for rows, partners in blocks:
            if metric == "precomputed":
                delta = transform(X[np.ix_(rows, partners)].astype(np.float64))
            else:
                delta = transform(distances_between(X[rows], X[partners], metric))
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
    return end.with_state(SweepResult(M, end.objective))


def _draw_blocks(
    n_samples: int, block_size: int, n_partners: int, random: np.random.RandomState
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield random blocks of all samples, and random partners of each block."""
    order = random.permutation(n_samples)
    for block in row_blocks(n_samples, block_size):
        rows = order[block]
        positions = random.randint(max(n_samples - len(rows), 1), size=n_partners)
        yield rows, order[positions + len(rows) * (positions >= block.start)]  # samples outside the block


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
