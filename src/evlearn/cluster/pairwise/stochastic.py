r"""Block sweeps with fresh partners: no distance is stored, and memory grows with the samples only.

In sweep t a random block of samples meets random partners P; all rows of the block share one matrix,

.. math::

   \min_m\ \tfrac12m^T(Q+\tau_tI)m-\Big(\tfrac1pCM_P^T\delta_{iP}+\tau_tm_i\Big)^Tm,\qquad Q=\tfrac1pCM_P^TM_PC .

The proximal weight :math:`\tau_t` is zero at first and then grows, so that the noise of the draws averages out.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.dissimilarities import distances_between
from evlearn.cluster.pairwise.exact import start_masses
from evlearn.cluster.pairwise.irqp import Swept
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.cluster.pairwise.partners import MANY_OBJECTS_PARTNERS, ring_distances
from evlearn.cluster.pairwise.problem import Problem, Solution
from evlearn.kernels.simplex_qp import solve_many
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import Report, Trace, descend
from evlearn.utils.typing import FloatArray, IntArray

_FREE_SWEEPS = 10
_WINDOW = 5
_BLOCKS_PER_LOOK = 10
# Fresh draws never stop moving: the solver ends earlier, and at a change that stands out of the noise.
MOST_SWEEPS = 50
_LEAST_TOL = 1e-3


def solve(problem: Problem) -> Solution:
    """The masses that sweeps with fresh partners find."""
    problem.refuse_constraints("stochastic")
    settings, data, random = problem.settings, problem.data, problem.random
    if problem.in_two_steps:
        raise ValueError("focal_sets='neighbor_pairs' needs solver 'exact' or 'landmark', got 'stochastic'.")
    if settings.stopping != "last":
        raise ValueError("stopping='average' needs solver 'exact' or 'landmark', got 'stochastic'.")
    n_rings = min(20, 100_000 // len(data) + 1)
    rings = [ring_distances(data, problem.draw_ring(random, 100_000), settings.metric) for _ in range(n_rings)]
    scale = problem.scale_of(np.concatenate(rings))
    trace = descend_stochastic(
        data,
        start_masses(problem, scale, random),
        problem.focal_sets,
        scale.transform,
        settings.metric,
        n_partners=problem.n_partners or min(MANY_OBJECTS_PARTNERS, len(data)),
        block_size=min(256, max(1, len(data) // 4)),
        tol=max(settings.tol, _LEAST_TOL),
        max_iter=min(settings.max_iter, MOST_SWEEPS),
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
) -> Trace[Swept]:
    """Sweep over random blocks until the average residual of a few sweeps stays the same."""
    M: FloatArray = np.array(masses, dtype=np.float64)
    C = focal_sets.conflict_matrix
    past: list[float] = []

    def meet(blocks: Iterable[tuple[IntArray, IntArray]], proximity: float | None) -> float:
        squares = residuals = 0.0
        for rows, partners in blocks:
            if metric == "precomputed":
                delta = transform(X[np.ix_(rows, partners)].astype(np.float64))
            else:
                delta = transform(distances_between(X[rows], X[partners], metric))
            Y = M[partners] @ C
            apart = M[rows] @ Y.T - delta
            residuals += float(np.vdot(apart, apart))
            squares += float(np.vdot(delta, delta))
            if proximity is not None:
                _update_block(M, rows, Y, delta, proximity)
        return residuals / squares if squares > 0 else 0.0

    def step(M: FloatArray) -> tuple[FloatArray, float, bool]:
        proximity = max(len(past) - _FREE_SWEEPS, 0) / 20
        past.append(meet(_draw_blocks(len(M), block_size, n_partners, random), proximity))
        return M, past[-1], _settled(past, tol)

    # From a stream of its own: what sweeps draw does not depend on it.
    some = _draw_blocks(len(M), block_size, n_partners, np.random.RandomState(0))
    start = meet(islice(some, max(1, len(M) // block_size // _BLOCKS_PER_LOOK)), None)
    end = descend(step, Trace(M, [start]), max_iter=max_iter, report=report)
    return end.at(Swept(M, end.objective))


def _draw_blocks(
    n_samples: int, block_size: int, n_partners: int, random: np.random.RandomState
) -> Iterator[tuple[IntArray, IntArray]]:
    """All samples in random blocks, and random partners of each block."""
    order = random.permutation(n_samples)
    for block in row_blocks(n_samples, block_size):
        rows = order[block]
        places = random.randint(max(n_samples - len(rows), 1), size=n_partners)
        yield rows, order[places + len(rows) * (places >= block.start)]  # anyone outside the block


def _update_block(M: FloatArray, rows: Any, Y: FloatArray, delta: FloatArray, proximity: float) -> None:
    Q = Y.T @ Y / len(Y)
    tau = proximity * float(np.trace(Q)) / len(Q)
    start = M[rows]
    linear = -(delta @ Y) / len(Y) - tau * start
    solve_many((Q + tau * np.eye(len(Q)))[None], linear, start)
    M[rows] = start


def _settled(history: list[float], tol: float) -> bool:
    if len(history) < _FREE_SWEEPS + 2 * _WINDOW:
        return False
    now, before = np.mean(history[-_WINDOW:]), np.mean(history[-2 * _WINDOW : -_WINDOW])
    return bool(abs(before - now) <= tol * before)
