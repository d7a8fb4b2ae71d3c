r"""The alternation of CECM: masses for prototypes, prototypes for masses, with constraints between samples.

Samples without constraints have the masses of ECM, of which none are kept. The masses of the others hang together,
and are kept from iteration to iteration.

At full weight, constraints freeze the masses of their samples long before the prototypes are where they belong.
So a descent climbs a ladder of weights first, from one at which distances still have a say, with a few iterations
on each step.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from evlearn.cluster.centroids.alternation import Model
from evlearn.cluster.centroids.constrained_rows import ConstrainedRows
from evlearn.cluster.centroids.model import Coordinates, Statistics
from evlearn.cluster.set_costs import SetCosts
from evlearn.constraints import PairwiseConstraints
from evlearn.utils.convergence import Report, Trace, descend
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import REMOTE, remoteness

_FIRST_STEP = 0.1  # in units of the model, in which squared distances are about one
_NEXT_STEP = 10**0.5
_STEP_ITERATIONS = 5
_STEP_TOL = 1e-2


@dataclass(frozen=True)
class State:
    """A model, the best masses for it, and what they are worth.

    Attributes
    ----------
    model : EuclideanModel or AdaptiveModel
        The prototypes.
    masses : ndarray of shape (n_bound, n_focal_sets)
        The masses of the samples in constraints.
    statistics : Statistics
        What all samples tell about better prototypes.
    objective : float
        The objective.
    penalty : float
        The part of it that is due to constraints.
    """

    model: Model
    masses: FloatArray
    statistics: Statistics
    objective: float
    penalty: float


@dataclass(frozen=True)
class Problem:
    """What is given: samples, the constraints on some of them, and what sets of clusters cost.

    The objective is `share` times the sum of that of ECM and of the penalty.

    Attributes
    ----------
    free, bound : ndarray of shape (n, n_features)
        The samples without and with constraints, as the user has them.
    rows : ConstrainedRows
        The constraints, with a penalty in squared units of the model.
    coordinates : Coordinates
        Where models live.
    size : float
        The spread of the data in these coordinates.
    share : float
        The factor of the sum.
    """

    free: FloatArray
    bound: FloatArray
    rows: ConstrainedRows
    coordinates: Coordinates
    size: float
    share: float

    @classmethod
    def of(
        cls,
        data: FloatArray,
        constraints: PairwiseConstraints,
        costs: SetCosts,
        coordinates: Coordinates,
        *,
        xi: float,
        kind: str,
    ) -> "Problem":
        """The problem of CECM."""
        share = (1 - xi) / (len(data) * len(costs.focal_sets))
        weight = xi / (share * len(constraints)) * coordinates.scale**2 if len(constraints) else 0.0
        rows = ConstrainedRows.of(constraints, data, costs.focal_sets, kind=kind, weight=weight)
        free = np.delete(data, rows.objects, axis=0) if len(rows.objects) else data
        bound = data[rows.objects].astype(np.float64, copy=False)
        inside = coordinates.enter(data[remoteness(data) <= REMOTE])
        size = float(np.sqrt((inside**2).sum(axis=1).mean()))
        return cls(free, bound, rows, coordinates, size, share)

    def state(self, model: Model, masses: FloatArray) -> State:
        """The best masses for a model."""
        masses = self.rows.descend(masses, model.costs_of(self.bound))
        statistics = model.gather(self.bound, masses)
        if len(self.free):
            statistics = statistics + model.collect(self.free)
        penalty = self.share * self.rows.penalty.value(masses) / self.coordinates.scale**2
        return State(model, masses, statistics, self.share * statistics.cost + penalty, penalty)

    def trace(self, model: Model, masses: FloatArray) -> Trace[State]:
        """Where a descent begins."""
        state = self.state(model, masses)
        return Trace(state, [state.objective])

    def step(self, state: State, *, tol: float) -> tuple[State, float, bool]:
        """One iteration; it settles when no prototype moves by more than `tol` times the spread of the data."""
        after = self.state(state.model.solve(state.statistics), state.masses)
        way = after.model.prototypes - state.model.prototypes
        moved = float(np.sqrt((way**2).sum(axis=1).max())) / (self.size or 1.0)
        return after, after.objective, moved <= tol

    def ladder(self) -> Iterator["Problem"]:
        """The same problem with smaller weights of the constraints, growing."""
        penalty, weight = self.rows.penalty, _FIRST_STEP
        while weight < penalty.weight:
            yield replace(self, rows=replace(self.rows, penalty=replace(penalty, weight=weight)))
            weight *= _NEXT_STEP


def descend_constrained(
    problem: Problem,
    model: Model,
    masses: FloatArray | None = None,
    *,
    tol: float,
    max_iter: int,
    report: Report | None = None,
) -> Trace[State]:
    """Climb the ladder of weights, then alternate between masses and prototypes until the prototypes stay.

    Where masses of the samples in constraints are given, prototypes are where they belong, and there is no ladder.
    """
    rungs = list(problem.ladder()) if masses is None else []

    def climb(place: tuple[Model, FloatArray]) -> tuple[tuple[Model, FloatArray], float, bool]:
        easier = rungs.pop(0)
        step = partial(easier.step, tol=_STEP_TOL)
        end = descend(step, easier.trace(*place), max_iter=_STEP_ITERATIONS)
        return (end.state.model, end.state.masses), end.objective, end.interrupted

    start = Trace((model, model.assign(problem.bound) if masses is None else masses), [np.inf])
    climbed = descend(climb, start, max_iter=len(rungs))
    # Computed anew: what is known may be worth less on the ladder, where constraints count for less.
    trace = problem.trace(*climbed.state)
    if climbed.interrupted or climbed.converged:
        return replace(trace, interrupted=True)
    return descend(partial(problem.step, tol=tol), trace, max_iter=max_iter, report=report)
