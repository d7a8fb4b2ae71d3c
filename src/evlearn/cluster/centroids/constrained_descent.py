r"""Alternation of CECM between masses and prototypes, with constraints between samples.

Samples without constraints have the masses of ECM, which are not stored. The masses of the others depend on each
other, and are stored between iterations.

With the full weight, constraints fix the masses of their samples long before the prototypes have converged.
Therefore a descent starts with a small weight, at which distances still have an influence, and increases it in
steps of a few iterations each.

Given the masses of its partners, the best mass function of a sample solves

.. math:: \min_m\ \sum_qh_qm_q^2+u_qm_q\quad\text{subject to}\quad\mathbf 1^Tm=1,\ m\ge0 ,

where h contains the costs of the sets and u the slopes of the penalty. A sweep solves this for all samples in
turn, which never increases the objective. Samples without a constraint between them do not depend on each other
and are solved together.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

import numpy as np
from scipy.sparse import csr_array

from evlearn.belief import FocalSets
from evlearn.cluster.centroids.adaptive import Model
from evlearn.cluster.centroids.model import Coordinates, Statistics
from evlearn.cluster.set_costs import SetCosts
from evlearn.constraints import PairwiseConstraints
from evlearn.constraints.pairwise import Penalty
from evlearn.utils.convergence import Report, Trace, descend
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import EXTREME_RATIO, distance_ratios

_FIRST_WEIGHT = 0.1  # initial weight, in units of the model, in which squared distances are about 1
_WEIGHT_FACTOR = 10**0.5
_ITERATIONS_PER_WEIGHT = 5
_WEIGHT_TOL = 1e-2
PENALTIES = ("plausibility", "symmetric")
_FLAT = 1e-200  # costs up to this value count as zero: the set gets the mass that the others leave
_STEEP = 1e200  # costs from this value on leave no mass; larger ones could overflow
_TIE = 1e-14  # relative difference of slopes that count as equal
_MAX_SWEEPS = 50
_SWEEP_TOL = 1e-8


def best_rows(costs: FloatArray, slopes: FloatArray) -> FloatArray:
    r"""Return the masses that minimize :math:`\sum_qh_qm_q^2+u_qm_q` in each row; free sets share equally."""
    # A set has the mass w (level - u) if that is positive, and the masses sum to 1. The level for the k sets with
    # the smallest u is too high for every k except the right one, so the smallest of these levels is the solution.
    widths = 0.5 / np.maximum(costs, _FLAT)
    slopes = slopes - slopes.min(axis=1, keepdims=True)
    order = np.argsort(slopes, axis=1, kind="stable")
    ordered = np.take_along_axis(widths, order, axis=1)
    sums = 1 + np.cumsum(ordered * np.take_along_axis(slopes, order, axis=1), axis=1)
    level = (sums / np.cumsum(ordered, axis=1)).min(axis=1, keepdims=True)
    # Solve again relative to the slope of the widest set, because that slope and the level may agree in all
    # digits.
    widths = np.where(slopes <= level * (1 + _TIE), widths, 0)
    slopes = slopes - np.take_along_axis(slopes, widths.argmax(axis=1)[:, None], axis=1)
    slopes[np.abs(slopes) <= _TIE * level] = 0
    level = (1 + (widths * slopes).sum(axis=1, keepdims=True)) / widths.sum(axis=1, keepdims=True)
    masses = np.maximum(widths * (level - slopes), 0)
    return np.asarray(masses / masses.sum(axis=1, keepdims=True))


def penalty_forms(kind: str, focal_sets: FocalSets) -> FloatArray:
    """Return the bilinear forms of must-link and cannot-link, between 0 (satisfied) and 1 (violated)."""
    different_clusters = 1.0 - focal_sets.emptiness_matrix - focal_sets.same_singleton_matrix
    same_cluster = 1.0 - focal_sets.conflict_matrix
    if kind == "symmetric":
        different_clusters = (different_clusters + 1 - same_cluster) / 2
        same_cluster = 1 - different_clusters
    return np.stack([different_clusters, same_cluster])


@dataclass(frozen=True)
class ConstrainedRows:
    """Samples with constraints, and the penalty that couples their masses.

    Attributes
    ----------
    samples : ndarray of int
        Samples with a constraint, in the order of the rows of masses. They are sorted by their features, so that
        their order in the data does not matter.
    penalty : Penalty
        Penalty of violated constraints, with these samples renumbered.
    groups : list of (ndarray of int, csr_array, csr_array)
        Rows without a constraint between them, with their must-links and cannot-links to all rows.
    """

    samples: IntArray
    penalty: Penalty
    groups: list[tuple[IntArray, csr_array, csr_array]]

    @classmethod
    def of(
        cls,
        constraints: PairwiseConstraints,
        data: FloatArray,
        focal_sets: FocalSets,
        *,
        kind: str,
        weight: float,
    ) -> "ConstrainedRows":
        """Return the rows of constraints."""
        samples = np.unique(np.concatenate([constraints.must_link, constraints.cannot_link]))
        samples = samples[np.lexsort(data[samples].T)]
        numbers = np.empty(len(data), dtype=np.intp)
        numbers[samples] = np.arange(len(samples))
        renumbered = PairwiseConstraints(numbers[constraints.must_link], numbers[constraints.cannot_link])
        penalty = Penalty(renumbered, weight, penalty_forms(kind, focal_sets))
        indptr, indices, kinds = penalty.constraints.neighbors(len(samples))
        shape = (len(samples), len(samples))
        must = csr_array((1.0 - kinds, indices, indptr), shape=shape)
        cannot = csr_array((kinds.astype(np.float64), indices, indptr), shape=shape)
        groups = [(rows, must[rows], cannot[rows]) for rows in independent_groups(indptr, indices)]
        return cls(samples, penalty, groups)

    def descend(self, masses: FloatArray, costs: FloatArray) -> FloatArray:
        """Sweep over the rows until a sweep lowers their objective by less than 1e-8 of it, at most 50 times."""
        masses, costs = masses.astype(np.float64), np.minimum(costs, _STEEP)
        objective = float((costs * masses**2).sum()) + self.penalty.value(masses)
        for _ in range(_MAX_SWEEPS):
            decrease = self._sweep(masses, costs)
            objective -= decrease
            if decrease <= _SWEEP_TOL * objective:
                break
        return masses

    def _sweep(self, masses: FloatArray, costs: FloatArray) -> float:
        """Solve all rows once, in place, and return the decrease of their objective."""
        decrease = 0.0
        must_form, cannot_form = self.penalty.weight * self.penalty.forms
        for rows, must, cannot in self.groups:
            slopes = (must @ masses) @ must_form + (cannot @ masses) @ cannot_form
            before, row_costs = masses[rows], costs[rows]
            after = best_rows(row_costs, slopes)
            gain = ((before - after) * (row_costs * (before + after) + slopes)).sum(axis=1)
            # Rounding may make a row worse that was already optimal; such a row is not changed.
            masses[rows] = np.where(gain[:, None] > 0, after, before)
            decrease += float(gain[gain > 0].sum())
        return decrease


def independent_groups(indptr: IntArray, indices: IntArray) -> list[IntArray]:
    """Return groups of rows without partners in the same group, by greedy coloring."""
    starts, partners = indptr.tolist(), indices.tolist()
    colors: list[int] = []
    for row in range(len(starts) - 1):
        used_colors = {colors[partner] for partner in partners[starts[row] : starts[row + 1]] if partner < row}
        colors.append(next(color for color in count() if color not in used_colors))
    numbers = np.array(colors, dtype=np.intp)
    return [np.flatnonzero(numbers == color) for color in range(max(colors, default=-1) + 1)]


@dataclass(frozen=True)
class State:
    """Model, the best masses for it, and its objective.

    Attributes
    ----------
    model : EuclideanModel or AdaptiveModel
        Prototypes.
    samples : ndarray of int of shape (n_constrained,)
        Indices of the samples with constraints.
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
    samples: IntArray
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
        return State(model, self.rows.samples, masses, statistics, self.share * statistics.cost + penalty, penalty)

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
