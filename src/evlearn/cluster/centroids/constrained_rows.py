r"""Masses of samples with constraints, for given prototypes: the cost of a sample depends on its partners.

Given the masses of its partners, the best mass function of a sample solves

.. math:: \min_m\ \sum_qh_qm_q^2+u_qm_q\quad\text{subject to}\quad\mathbf 1^Tm=1,\ m\ge0 ,

where h contains the costs of the sets and u the slopes of the penalty. A sweep solves this for all samples in
turn, which never increases the objective. Samples without a constraint between them do not depend on each other
and are solved together.
"""

from dataclasses import dataclass
from itertools import count

import numpy as np
from scipy.sparse import csr_array

from evlearn.belief import FocalSets
from evlearn.constraints import PairwiseConstraints
from evlearn.constraints.pairwise import Penalty
from evlearn.utils.typing import FloatArray, IntArray

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
