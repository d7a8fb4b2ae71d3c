r"""The masses of samples in constraints: prototypes are given, and what a sample costs depends on its partners.

Given the masses of its partners, the best mass function of a sample solves

.. math:: \min_m\ \sum_qh_qm_q^2+u_qm_q\quad\text{subject to}\quad\mathbf 1^Tm=1,\ m\ge0 ,

where h holds the costs of the sets and u what the constraints say. A sweep solves this for all samples in turn,
which never increases the whole. Samples without a constraint among them do not see each other: they are solved at
once.
"""

from dataclasses import dataclass
from itertools import count

import numpy as np
from scipy.sparse import csr_array

from evlearn.belief import FocalSets
from evlearn.constraints import PairwiseConstraints
from evlearn.constraints.penalty import Penalty
from evlearn.utils.typing import FloatArray, IntArray

PENALTIES = ("plausibility", "symmetric")

_FLAT = 1e-200  # a cost this small is none: the set takes what the others leave
_STEEP = 1e200  # a cost this large leaves no mass, and can be computed with
_TIE = 1e-14  # slopes this near to each other, relative to the level, are the same
_SWEEPS = 50
_ENOUGH = 1e-8


def best_rows(costs: FloatArray, slopes: FloatArray) -> FloatArray:
    r"""The masses that minimise :math:`\sum_qh_qm_q^2+u_qm_q` in each row; free sets share equally."""
    # A set has the mass w (level - u) where that is positive, and the masses sum to one. The level that suits the
    # k sets of smallest u is too high for every k but the right one, so the smallest of these levels is it.
    widths = 0.5 / np.maximum(costs, _FLAT)
    slopes = slopes - slopes.min(axis=1, keepdims=True)
    order = np.argsort(slopes, axis=1, kind="stable")
    ordered = np.take_along_axis(widths, order, axis=1)
    sums = 1 + np.cumsum(ordered * np.take_along_axis(slopes, order, axis=1), axis=1)
    level = (sums / np.cumsum(ordered, axis=1)).min(axis=1, keepdims=True)
    # Once more, counted from the widest set in use: its slope and the level may agree in all their digits.
    widths = np.where(slopes <= level * (1 + _TIE), widths, 0)
    slopes = slopes - np.take_along_axis(slopes, widths.argmax(axis=1)[:, None], axis=1)
    slopes[np.abs(slopes) <= _TIE * level] = 0
    level = (1 + (widths * slopes).sum(axis=1, keepdims=True)) / widths.sum(axis=1, keepdims=True)
    masses = np.maximum(widths * (level - slopes), 0)
    return np.asarray(masses / masses.sum(axis=1, keepdims=True))


def penalty_forms(kind: str, focal_sets: FocalSets) -> FloatArray:
    r"""The bilinear forms of must-link and cannot-link, between 0 (met for sure) and 1 (violated for sure)."""
    different = 1.0 - focal_sets.emptiness_matrix - focal_sets.same_singleton_matrix
    same = 1.0 - focal_sets.conflict_matrix
    if kind == "symmetric":
        different = (different + 1 - same) / 2
        same = 1 - different
    return np.stack([different, same])


@dataclass(frozen=True)
class ConstrainedRows:
    """The samples in constraints, and what they owe each other.

    Attributes
    ----------
    samples : ndarray of int
        The samples with a constraint; rows of masses are theirs. Sorted by their features, so that their order
        in the data does not matter.
    penalty : Penalty
        What unmet constraints cost, with these samples renumbered.
    groups : list of (ndarray of int, csr_array, csr_array)
        Rows without a constraint among them, with their must-links and cannot-links to all rows.
    """

    objects: IntArray
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
        """The rows of some constraints."""
        objects = np.unique(np.concatenate([constraints.must_link, constraints.cannot_link]))
        objects = objects[np.lexsort(data[objects].T)]
        numbers = np.empty(len(data), dtype=np.intp)
        numbers[objects] = np.arange(len(objects))
        renumbered = PairwiseConstraints(numbers[constraints.must_link], numbers[constraints.cannot_link])
        penalty = Penalty(renumbered, weight, penalty_forms(kind, focal_sets))
        indptr, indices, kinds = penalty.constraints.neighbours(len(objects))
        shape = (len(objects), len(objects))
        must = csr_array((1.0 - kinds, indices, indptr), shape=shape)
        cannot = csr_array((kinds.astype(np.float64), indices, indptr), shape=shape)
        groups = [(rows, must[rows], cannot[rows]) for rows in independent_groups(indptr, indices)]
        return cls(objects, penalty, groups)

    def descend(self, masses: FloatArray, costs: FloatArray) -> FloatArray:
        """Sweep over the rows until a sweep lowers their objective by less than 1e-8 of it, at most 50 times."""
        masses, costs = masses.astype(np.float64), np.minimum(costs, _STEEP)
        objective = float((costs * masses**2).sum()) + self.penalty.value(masses)
        for _ in range(_SWEEPS):
            lowered = self._sweep(masses, costs)
            objective -= lowered
            if lowered <= _ENOUGH * objective:
                break
        return masses

    def _sweep(self, masses: FloatArray, costs: FloatArray) -> float:
        """Solve all rows once, in place. Returns by how much their objective fell."""
        lowered = 0.0
        must_form, cannot_form = self.penalty.weight * self.penalty.forms
        for rows, must, cannot in self.groups:
            slopes = (must @ masses) @ must_form + (cannot @ masses) @ cannot_form
            before, own = masses[rows], costs[rows]
            after = best_rows(own, slopes)
            gain = ((before - after) * (own * (before + after) + slopes)).sum(axis=1)
            # Rounding may make a row that was best already a little worse: it stays as it was.
            masses[rows] = np.where(gain[:, None] > 0, after, before)
            lowered += float(gain[gain > 0].sum())
        return lowered


def independent_groups(indptr: IntArray, indices: IntArray) -> list[IntArray]:
    """Groups of rows, none of which is the partner of another of its group: a greedy colouring."""
    begin, partners = indptr.tolist(), indices.tolist()
    colours: list[int] = []
    for row in range(len(begin) - 1):
        taken = {colours[one] for one in partners[begin[row] : begin[row + 1]] if one < row}
        colours.append(next(colour for colour in count() if colour not in taken))
    numbers = np.array(colours, dtype=np.intp)
    return [np.flatnonzero(numbers == colour) for colour in range(max(colours, default=-1) + 1)]
