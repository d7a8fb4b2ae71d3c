"""Landmark solver of EVCLUS: a fit to all pairs of landmarks, from which the masses of other samples follow."""

import numpy as np

from evlearn.cluster.pairwise.exact import START_CANDIDATES, sweep, with_pairs, with_restarts
from evlearn.cluster.pairwise.irqp import SweepResult, best_start, rows_against
from evlearn.cluster.pairwise.pair_graph import AllPairs
from evlearn.cluster.pairwise.problem import Problem, Solution
from evlearn.cluster.pairwise.scales import targets_of
from evlearn.utils.convergence import Trace
from evlearn.utils.typing import FloatArray


def solve(problem: Problem) -> Solution:
    """Return the masses of the landmarks, which are the data of the problem."""
    problem.refuse_constraints("landmark")
    focal_sets, random, size = problem.focal_sets, problem.random, len(problem.data)
    distances = problem.square(np.arange(size))
    off_diagonal = ~np.eye(size, dtype=bool)
    scale = problem.scale_of(distances[off_diagonal], problem.ordinary_pairs(off_diagonal))
    pairs = AllPairs(targets_of(distances, scale.transform))
    n_candidates = START_CANDIDATES * problem.settings.n_init

    def draw_start() -> FloatArray:
        rows = np.flatnonzero(problem.ordinary)
        masses = best_start(pairs.delta[np.ix_(rows, rows)], focal_sets, random, n_candidates=n_candidates)
        start = rows_against(pairs.delta[:, rows], masses, focal_sets.conflict_matrix[None])
        start[rows] = masses
        return start

    def fit() -> Trace[SweepResult]:
        start = problem.crisp_start() if scale.from_clusters else draw_start()
        return sweep(problem, pairs, start, focal_sets, 0.0, random)

    solution = Solution(with_restarts(fit(), fit, focal_sets), focal_sets, scale.transform, pairs)
    return with_pairs(problem, solution) if problem.has_two_steps else solution
