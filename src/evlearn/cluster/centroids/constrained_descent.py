"""Alternation of CECM between masses and prototypes, with constraints between samples.

Samples without constraints have the masses of ECM, which are not stored. The masses of the others depend on each
other, and are stored between iterations.

With the full weight, constraints fix the masses of their samples long before the prototypes have converged.
Therefore a descent starts with a small weight, at which distances still have an influence, and increases it in
steps of a few iterations each.
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
from evlearn.utils.validation import EXTREME_RATIO, distance_ratios

_FIRST_WEIGHT = 0.1  # initial weight, in units of the model, in which squared distances are about 1
_WEIGHT_FACTOR = 10**0.5
_ITERATIONS_PER_WEIGHT = 5
_WEIGHT_TOL = 1e-2


@dataclass(frozen=True)
class State:
    """Model, the best masses for it, and its objective.

    Attributes
    ----------
    model : EuclideanModel or AdaptiveModel
        Prototypes.
    masses : ndarray of shape (n_constrained, n_focal_sets)
        Masses of the samples with constraints.
    statistics : Statistics
        Statistics of all samples, which determine better prototypes.
    objective : float
        Objective.
    penalty : float
        Part of the objective that is due to constraints.
    """

    model: Model
    masses: FloatArray
    statistics: Statistics
    objective: float
    penalty: float


@dataclass(frozen=True)
class Problem:
    """Samples, constraints on some of them, and costs of the focal sets.

    The objective is `share` times the sum of the objective of ECM and of the penalty.

    Attributes
    ----------
    unconstrained, constrained : ndarray of shape (n, n_features)
        Samples without and with constraints, in the coordinates of the data.
    rows : ConstrainedRows
        Constraints, with a penalty in squared units of the model.
    coordinates : Coordinates
        Coordinates of models.
    size : float
        Spread of the data in these coordinates.
    share : float
        Factor of the sum.
    """

    unconstrained: FloatArray
    constrained: FloatArray
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
        constraint_weight: float,
        kind: str,
    ) -> "Problem":
        """Return the problem of CECM."""
        share = (1 - constraint_weight) / (len(data) * len(costs.focal_sets))
        weight = constraint_weight / (share * len(constraints)) * coordinates.scale**2 if len(constraints) else 0.0
        rows = ConstrainedRows.of(constraints, data, costs.focal_sets, kind=kind, weight=weight)
        unconstrained = np.delete(data, rows.samples, axis=0) if len(rows.samples) else data
        constrained = data[rows.samples].astype(np.float64, copy=False)
        points = coordinates.transform(data[distance_ratios(data) <= EXTREME_RATIO])
        size = float(np.sqrt((points**2).sum(axis=1).mean()))
        return cls(unconstrained, constrained, rows, coordinates, size, share)

    def state(self, model: Model, masses: FloatArray) -> State:
        """Return the state with the best masses for a model."""
        masses = self.rows.descend(masses, model.costs_of(self.constrained))
        statistics = model.statistics_of(self.constrained, masses)
        if len(self.unconstrained):
            statistics = statistics + model.collect(self.unconstrained)
        penalty = self.share * self.rows.penalty.value(masses) / self.coordinates.scale**2
        return State(model, masses, statistics, self.share * statistics.cost + penalty, penalty)

    def trace(self, model: Model, masses: FloatArray) -> Trace[State]:
        """Return the initial trace of a descent."""
        state = self.state(model, masses)
        return Trace(state, [state.objective])

    def step(self, state: State, *, tol: float) -> tuple[State, float, bool]:
        """Do an iteration; it has converged if no prototype moves by more than `tol` times the data spread."""
        after = self.state(state.model.solve(state.statistics), state.masses)
        steps = after.model.prototypes - state.model.prototypes
        largest_step = float(np.sqrt((steps**2).sum(axis=1).max())) / (self.size or 1.0)
        return after, after.objective, largest_step <= tol

    def weight_schedule(self) -> Iterator["Problem"]:
        """Yield the same problem with increasing weights of the constraints, below the full weight."""
        penalty, weight = self.rows.penalty, _FIRST_WEIGHT
        while weight < penalty.weight:
            yield replace(self, rows=replace(self.rows, penalty=replace(penalty, weight=weight)))
            weight *= _WEIGHT_FACTOR


def descend_constrained(
    problem: Problem,
    model: Model,
    masses: FloatArray | None = None,
    *,
    tol: float,
    max_iter: int,
    report: Report | None = None,
) -> Trace[State]:
    """Alternate between masses and prototypes until convergence, first with smaller weights of the constraints.

    If masses of the samples with constraints are given, the prototypes are good, and smaller weights are skipped.
    """
    easier_problems = list(problem.weight_schedule()) if masses is None else []

    def solve_next(model_and_masses: tuple[Model, FloatArray]) -> tuple[tuple[Model, FloatArray], float, bool]:
        easier = easier_problems.pop(0)
        step = partial(easier.step, tol=_WEIGHT_TOL)
        end = descend(step, easier.trace(*model_and_masses), max_iter=_ITERATIONS_PER_WEIGHT)
        return (end.state.model, end.state.masses), end.objective, end.interrupted

    start = Trace((model, model.assign(problem.constrained) if masses is None else masses), [np.inf])
    warm_start = descend(solve_next, start, max_iter=len(easier_problems))
    # Compute the objective again: with the smaller weights of the schedule it is smaller.
    trace = problem.trace(*warm_start.state)
    if warm_start.interrupted or warm_start.converged:
        return replace(trace, interrupted=True)
    return descend(partial(problem.step, tol=tol), trace, max_iter=max_iter, report=report)
