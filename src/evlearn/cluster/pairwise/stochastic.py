r"""Block sweeps with fresh partners: no distance is stored, and memory grows with the objects only.

In sweep t a random block of objects meets random partners P; all rows of the block share one matrix,

.. math::

   \min_m\ \tfrac12m^T(Q+\tau_tI)m-\Big(\tfrac1pCM_P^T\delta_{iP}+\tau_tm_i\Big)^Tm,\qquad Q=\tfrac1pCM_P^TM_PC .

The proximal weight :math:`\tau_t` is zero at first and then grows, so that the noise of the draws averages out.
"""

from typing import Any

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.dissimilarities import distances_between
from evlearn.cluster.pairwise.irqp import Descent, Report
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.kernels.simplex_qp import solve_many
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray

_FREE_SWEEPS = 10
_WINDOW = 5


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
) -> Descent:
    """Sweep over random blocks until the average residual of a few sweeps stays the same.

    Parameters
    ----------
    X : ndarray
        Attribute vectors, or a square matrix if `metric` is "precomputed".
    masses : ndarray of shape (n_objects, n_focal_sets)
        The start.
    focal_sets : FocalSets
        What the columns stand for.
    transform : Transform
        From dissimilarities to target conflicts.
    metric : str or callable
        The dissimilarity.
    n_partners : int
        Partners of a block.
    block_size : int
        Objects of a block.
    tol : float
        The relative change of the average residual that ends the descent.
    max_iter : int
        The largest number of sweeps.
    random : RandomState
        Draws blocks and partners.
    report : callable or None, default=None
        Called after each sweep with its number and the objective.

    Returns
    -------
    Descent
        The masses; the objective is the stress of the pairs as they were met, before each update.
    """
    M: FloatArray = np.array(masses, dtype=np.float64)
    C = focal_sets.conflict_matrix
    state = Descent(M, np.inf)
    try:
        while len(state.history) < max_iter and not state.converged:
            proximity = max(len(state.history) - _FREE_SWEEPS, 0) / 20
            squares = residuals = 0.0
            order = random.permutation(len(M))
            for block in row_blocks(len(M), block_size):
                rows = order[block]
                places = random.randint(max(len(M) - len(rows), 1), size=n_partners)
                partners = order[places + len(rows) * (places >= block.start)]  # anyone outside the block
                if metric == "precomputed":
                    delta = transform(X[np.ix_(rows, partners)].astype(np.float64))
                else:
                    delta = transform(distances_between(X[rows], X[partners], metric))
                Y = M[partners] @ C
                apart = M[rows] @ Y.T - delta
                residuals += float(np.vdot(apart, apart))
                squares += float(np.vdot(delta, delta))
                _update_block(M, rows, Y, delta, proximity)
            state.objective = state.stress = residuals / squares if squares > 0 else 0.0
            state.history.append(state.objective)
            state.converged = _settled(state.history, tol)
            if report:
                report(len(state.history), state.objective)
    except KeyboardInterrupt:
        state.interrupted = True
    return state


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
