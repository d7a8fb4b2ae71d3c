"""EVCLUS over all pairs of a few samples; those that are left follow from these, row by row."""

import numpy as np

from evlearn.cluster.pairwise.exact import START_CANDIDATES, sweep, with_pairs, with_restarts
from evlearn.cluster.pairwise.irqp import Swept, best_start
from evlearn.cluster.pairwise.pair_graph import AllPairs
from evlearn.cluster.pairwise.problem import Problem, Solution, targets_of
from evlearn.utils.convergence import Trace


def solve(problem: Problem) -> Solution:
    """The masses of landmarks, which are the data of the problem."""
    problem.refuse_constraints("landmark")
    focal_sets, random, size = problem.focal_sets, problem.random, len(problem.data)
    distances = problem.square(np.arange(size))
    transform = problem.transform_of(distances[~np.eye(size, dtype=bool)])
    pairs = AllPairs(targets_of(distances, transform))

    def go() -> Trace[Swept]:
        n_candidates = START_CANDIDATES * problem.settings.n_init
        start = best_start(pairs.delta, focal_sets, random, n_candidates=n_candidates)
        return sweep(problem, pairs, start, focal_sets, 0.0, random)

    solution = Solution(with_restarts(go(), go, focal_sets), focal_sets, transform, pairs)
    return with_pairs(problem, solution) if problem.in_two_steps else solution
