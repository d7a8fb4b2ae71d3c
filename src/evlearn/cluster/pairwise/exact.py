"""Exact solver of EVCLUS: sweeps over fixed pairs from several starts, and restarts if clusters are missing."""

from collections.abc import Callable
from functools import partial

import numpy as np
from joblib import Parallel, delayed

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.cluster.focal_families import n_pair_neighbors, neighbor_pairs, random_masses
from evlearn.cluster.pairwise.irqp import (
    Pairs,
    SweepResult,
    best_start,
    labels_of,
    normalization,
    sweep_masses,
)
from evlearn.cluster.pairwise.landmarks import LandmarkModel
from evlearn.cluster.pairwise.problem import Problem, Solution
from evlearn.cluster.pairwise.scales import Scale, targets_of
from evlearn.constraints.pairwise import Penalty
from evlearn.partition import CredalPartition
from evlearn.utils.convergence import Trace
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_choice

#: Number of starts that are compared by short descents.
START_CANDIDATES = 10
#: Maximum number of restarts if clusters are missing.
_MAX_RESTARTS = 3
#: Share of the average cluster size below which a cluster is missing.
_MISSING_SHARE = 0.05


def solve(problem: Problem) -> Solution:
    """Return the best masses of several starts for fixed pairs."""
    settings, random = problem.settings, problem.random
    pairs, scale = problem.make_pairs()

    def fit(seed: int) -> Trace[SweepResult]:
        seeded = np.random.RandomState(seed)
        start = start_masses(problem, scale, seeded)
        trace = Trace(SweepResult(start, np.inf), [np.inf])
        for weight in problem.schedule:
            if not trace.interrupted:
                trace = sweep(problem, pairs, trace.state.masses, problem.focal_sets, weight, seeded)
        return trace

    seeds = random.randint(np.iinfo(np.int32).max, size=settings.n_init)
    traces = Parallel(n_jobs=settings.n_jobs, prefer="threads")(delayed(fit)(seed) for seed in seeds)
    trace = min(traces, key=lambda trace: trace.objective)
    if isinstance(settings.init, str):
        draw_seed = partial(random.randint, np.iinfo(np.int32).max)
        trace = with_restarts(trace, lambda: fit(draw_seed()), problem.focal_sets)
    solution = Solution(trace, problem.focal_sets, scale.transform, pairs)
    return with_pairs(problem, solution) if problem.has_two_steps else solution


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


def with_pairs(problem: Problem, solution: Solution) -> Solution:
    """Add the pairs of neighboring clusters, and continue the descent from the masses of the first fit."""
    assert solution.pairs is not None
    partition = CredalPartition(solution.masses, solution.focal_sets, validate=False)
    neighbors = neighbor_pairs(partition, n_neighbors=n_pair_neighbors(problem.settings.focal_sets))
    weight = 0.0 if problem.constraints is None else problem.settings.constraint_weight
    trace = sweep(problem, solution.pairs, neighbors.masses, neighbors.focal_sets, weight, problem.random)
    return Solution(trace, neighbors.focal_sets, solution.transform, solution.pairs)


def start_masses(problem: Problem, scale: Scale, random: np.random.RandomState) -> FloatArray:
    """Return the masses of a start."""
    settings, data, focal_sets = problem.settings, problem.data, problem.focal_sets
    if not isinstance(settings.init, str):
        masses = belief.check_masses(settings.init, focal_sets, name="init")
        if masses.shape != (len(data), len(focal_sets)):
            raise ValueError(
                f"init must have shape {(len(data), len(focal_sets))}, with masses of each sample on each focal "
                f"set, got shape {masses.shape}."
            )
        return masses
    check_choice("init", settings.init, ("auto", "random"))
    if settings.init == "random":
        return random_masses(len(data), len(focal_sets), random)
    if scale.from_clusters:
        return problem.crisp_start()
    transform, size = scale.transform, problem.start_size
    is_complete = len(data) <= size and bool(problem.ordinary.all())
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
        if not _lacks_clusters(trace, focal_sets):
            break
        trace = _better(trace, fit(), focal_sets)
    return trace


def _lacks_clusters(trace: Trace[SweepResult], focal_sets: FocalSets) -> bool:
    """Return True if clusters are missing and the user did not interrupt the descent."""
    return not trace.interrupted and _count_missing(trace, focal_sets) > 0


def _better(trace: Trace[SweepResult], other: Trace[SweepResult], focal_sets: FocalSets) -> Trace[SweepResult]:
    """Return the other trace if it has more clusters and its objective is not larger."""
    has_more_clusters = _count_missing(other, focal_sets) < _count_missing(trace, focal_sets)
    return other if has_more_clusters and other.objective <= trace.objective else trace


def _count_missing(trace: Trace[SweepResult], focal_sets: FocalSets) -> int:
    """Return the number of clusters that are missing."""
    labels = labels_of(trace.state.masses, focal_sets)
    sizes = np.bincount(labels, minlength=focal_sets.frame_size)
    return int((sizes < _MISSING_SHARE * len(labels) / focal_sets.frame_size).sum())
