"""EVCLUS over given pairs, all or some: starts, their sweeps, and other starts where clusters are missing."""

from collections.abc import Callable
from functools import partial

import numpy as np
from joblib import Parallel, delayed

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.cluster.focal_families import neighbor_pairs, random_masses
from evlearn.cluster.pairwise.irqp import (
    Pairs,
    Swept,
    best_start,
    labels_of,
    normalisation,
    sweep_masses,
)
from evlearn.cluster.pairwise.landmarks import LandmarkModel
from evlearn.cluster.pairwise.problem import Problem, Solution
from evlearn.cluster.pairwise.scales import Scale, targets_of
from evlearn.constraints.penalty import Penalty
from evlearn.partition import CredalPartition
from evlearn.utils.convergence import Trace
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_choice

START_CANDIDATES = 10
# Other starts where clusters are missing: those with less than a twentieth of their share of the samples.
_RESTARTS = 3
_NEXT_TO_NONE = 0.05


def solve(problem: Problem) -> Solution:
    """The best masses of several starts for pairs that stay the same."""
    settings, random = problem.settings, problem.random
    pairs, scale = problem.pose()

    def go(seed: int) -> Trace[Swept]:
        own = np.random.RandomState(seed)
        start = start_masses(problem, scale, own)
        trace = Trace(Swept(start, np.inf), [np.inf])
        for xi in problem.schedule:
            if not trace.interrupted:
                trace = sweep(problem, pairs, trace.state.masses, problem.focal_sets, xi, own)
        return trace

    seeds = random.randint(np.iinfo(np.int32).max, size=settings.n_init)
    traces = Parallel(n_jobs=settings.n_jobs, prefer="threads")(delayed(go)(seed) for seed in seeds)
    trace = min(traces, key=lambda one: one.objective)
    if isinstance(settings.init, str):
        again = partial(random.randint, np.iinfo(np.int32).max)
        trace = with_restarts(trace, lambda: go(again()), problem.focal_sets)
    solution = Solution(trace, problem.focal_sets, scale.transform, pairs)
    return with_pairs(problem, solution) if problem.in_two_steps else solution


def sweep(
    problem: Problem,
    pairs: Pairs,
    masses: FloatArray,
    focal_sets: FocalSets,
    xi: float,
    random: np.random.RandomState,
) -> Trace[Swept]:
    """The descent from one start, with one weight of the constraints."""
    settings, constraints = problem.settings, problem.constraints
    return sweep_masses(
        pairs,
        masses,
        focal_sets,
        eta=normalisation(pairs, settings.loss),
        tol=settings.tol,
        stopping=settings.stopping,
        max_iter=settings.max_iter,
        penalty=Penalty.of(constraints, xi, focal_sets) if constraints is not None and xi > 0 else None,
        random=random if settings.shuffle else None,
        report=problem.report,
    )


def with_pairs(problem: Problem, found: Solution) -> Solution:
    """Add the pairs of neighbouring clusters, and descend from where the first fit ended."""
    assert found.pairs is not None
    partition = CredalPartition(found.masses, found.focal_sets, validate=False)
    near = neighbor_pairs(partition, n_neighbors=problem.settings.n_pair_neighbors)
    xi = 0.0 if problem.constraints is None else problem.settings.xi
    trace = sweep(problem, found.pairs, near.masses, near.focal_sets, xi, problem.random)
    return Solution(trace, near.focal_sets, found.transform, found.pairs)


def start_masses(problem: Problem, scale: Scale, random: np.random.RandomState) -> FloatArray:
    """Return masses to start from."""
    settings, data, focal_sets = problem.settings, problem.data, problem.focal_sets
    if not isinstance(settings.init, str):
        masses = belief.check_masses(settings.init, focal_sets, name="init")
        if masses.shape != (len(data), len(focal_sets)):
            raise ValueError(f"init must have shape {(len(data), len(focal_sets))}, got {masses.shape}.")
        return masses
    check_choice("init", settings.init, ("auto", "random"))
    if settings.init == "random":
        return random_masses(len(data), len(focal_sets), random)
    if scale.from_clusters:
        return problem.crisp_start()
    transform, size = scale.transform, problem.start_size
    everyone = len(data) <= size and bool(problem.ordinary.all())
    chosen = np.arange(len(data)) if everyone else np.sort(problem.draw_ordinary(random, size))
    delta = targets_of(problem.square(chosen), transform)
    known = best_start(delta, focal_sets, random, n_candidates=START_CANDIDATES)
    if everyone:
        return known
    landmarks = None if problem.precomputed else data[chosen]
    model = LandmarkModel(chosen, landmarks, known, focal_sets, transform, settings.metric)
    return model.assign(data).astype(np.float64, copy=False)


def with_restarts(trace: Trace[Swept], go: Callable[[], Trace[Swept]], focal_sets: FocalSets) -> Trace[Swept]:
    """An end with all its clusters, if a few other starts have one."""
    for _ in range(_RESTARTS):
        if not _lacks_clusters(trace, focal_sets):
            break
        trace = _better(trace, go(), focal_sets)
    return trace


def _lacks_clusters(trace: Trace[Swept], focal_sets: FocalSets) -> bool:
    """Whether another start may help: an end that the user did not want, with clusters of next to no samples."""
    return not trace.interrupted and _count_missing(trace, focal_sets) > 0


def _better(trace: Trace[Swept], other: Trace[Swept], focal_sets: FocalSets) -> Trace[Swept]:
    """Another end, if it has more clusters and fits no worse: where there are no more, nothing should change."""
    more = _count_missing(other, focal_sets) < _count_missing(trace, focal_sets)
    return other if more and other.objective <= trace.objective else trace


def _count_missing(trace: Trace[Swept], focal_sets: FocalSets) -> int:
    """How many clusters have next to no samples."""
    labels = labels_of(trace.state.masses, focal_sets)
    sizes = np.bincount(labels, minlength=focal_sets.frame_size)
    return int((sizes < _NEXT_TO_NONE * len(labels) / focal_sets.frame_size).sum())
