"""What sets of clusters cost a sample, and the masses that cost least: shared by all methods with prototypes."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evlearn.belief import FocalSets
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_shape

#: No set costs more than this many times its squared distance: it gets no mass anyway, and nothing overflows.
DEAREST = 1e20
#: How many numbers of prototypes are copied at a time.
_NUMBERS = 1 << 18


@dataclass(frozen=True)
class SetCosts:
    r"""What the sets of clusters cost: the numbers :math:`p_j` and :math:`g_j`, the empty set, and :math:`\beta`.

    Attributes
    ----------
    focal_sets : FocalSets
        The sets that may carry mass.
    spread : ndarray of shape (n_focal_sets - 1,)
        The factor p of the sum of squared distances to the prototypes of a set.
    gain : ndarray of shape (n_focal_sets - 1,)
        The factor g of the mean squared distance of these prototypes to their barycentre.
    empty : float
        The cost of the empty set, in squared units of the data.
    beta : float
        The exponent of the masses.
    """

    focal_sets: FocalSets
    spread: FloatArray
    gain: FloatArray
    empty: float
    beta: float

    def __post_init__(self) -> None:
        # Compiled code reads these without looking.
        check_shape("spread", self.spread, (len(self.focal_sets) - 1,))
        check_shape("gain", self.gain, (len(self.focal_sets) - 1,))

    @classmethod
    def ecm(cls, focal_sets: FocalSets, *, alpha: float, beta: float, delta: float) -> "SetCosts":
        r"""Costs :math:`|A|^\alpha\|x-\bar v_A\|^2`, and :math:`\delta^2` for the empty set."""
        size = focal_sets.sizes[1:].astype(np.float64)
        alphas = np.minimum(alpha, np.log(DEAREST) / np.log(np.maximum(size, 2)))
        return cls(focal_sets, size ** (alphas - 1), size**alphas, delta * delta, beta)

    @classmethod
    def ccm(cls, focal_sets: FocalSets, *, gamma: float, beta: float, delta: float) -> "SetCosts":
        r"""Costs :math:`(\sum_{k\in A}\|x-v_k\|^2+\gamma\|x-\bar v_A\|^2)/(|A|+\gamma)`."""
        size = focal_sets.sizes[1:].astype(np.float64)
        # A single cluster is its own barycentre: its cost is the squared distance, whatever gamma is.
        return cls(focal_sets, (1 + gamma / size) / (size + gamma), gamma / (size + gamma), delta * delta, beta)

    @cached_property
    def membership(self) -> FloatArray:
        """The nonempty sets as rows of zeros and ones."""
        return self.focal_sets.membership[1:].astype(np.float64)

    @cached_property
    def size(self) -> FloatArray:
        """The number of clusters in each nonempty set."""
        return np.asarray(self.membership.sum(axis=1))

    @cached_property
    def lists(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """The members of each set and the sets of each cluster, in CSR form."""
        table = self.focal_sets.membership[1:]
        return (*_lists(table), *_lists(table.T))

    def barycentres(self, prototypes: FloatArray) -> FloatArray:
        """The mean of the prototypes of each set."""
        return np.asarray(self.membership @ prototypes / self.size[:, None])

    def spreads(self, prototypes: FloatArray) -> FloatArray:
        """The mean squared distance of the prototypes of each set to their barycentre."""
        begin, members = self.lists[:2]
        found = np.zeros(len(begin) - 1)
        several = np.flatnonzero(np.diff(begin) > 1)
        blocks = np.cumsum(np.diff(begin)[several]) * prototypes.shape[1] // _NUMBERS
        for sets in np.split(several, np.flatnonzero(np.diff(blocks)) + 1) if len(several) else []:
            sizes = np.diff(begin)[sets]
            first = np.cumsum(sizes) - sizes
            those = prototypes[members[np.arange(sizes.sum()) + np.repeat(begin[sets] - first, sizes)]]
            centres = np.add.reduceat(those, first) / sizes[:, None]
            squares = ((those - np.repeat(centres, sizes, axis=0)) ** 2).sum(axis=1)
            found[sets] = np.add.reduceat(squares, first) / sizes
        return found


def masses_of_costs(costs: FloatArray, beta: float) -> FloatArray:
    r"""The masses that minimise :math:`\sum_jm_j^\beta s_j`; sets that cost nothing share the mass equally."""
    least = costs.min(axis=1, keepdims=True)
    free = least[:, 0] <= 0
    with np.errstate(divide="ignore", invalid="ignore"):
        masses = (least / costs) ** (1 / (beta - 1))
    masses[free] = costs[free] <= 0
    masses /= masses.sum(axis=1, keepdims=True)
    return np.asarray(masses)


def total_cost(powers: FloatArray, costs: FloatArray) -> float:
    """The sum of the costs, weighted with the powers of the masses; what has no mass may cost anything."""
    first = 1 if np.isinf(costs[:1, 0]).any() else 0
    return float((powers[:, first:] * costs[:, first:]).sum())


def solve_positive(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a symmetric system that may be singular: least squares, and the smallest solution, where it is."""
    # Equations of very different sizes (a cluster that holds almost nothing) are first brought to one size.
    size = np.sqrt(np.clip(np.diag(matrix), np.finfo(np.float64).tiny, None))
    scaled, right = matrix / np.outer(size, size), (right.T / size).T
    try:
        lower = np.linalg.cholesky(scaled)
        solution = np.linalg.solve(lower.T, np.linalg.solve(lower, right))
    except np.linalg.LinAlgError:
        solution = np.linalg.lstsq(scaled, right, rcond=None)[0]
    return np.asarray((solution.T / size).T)


def powers_of(masses: FloatArray, beta: float, weights: Any) -> FloatArray:
    """Masses, raised to a power and weighted."""
    powers = masses * masses if beta == 2 else masses**beta
    return np.asarray(powers if weights is None else powers * np.asarray(weights, dtype=np.float64)[:, None])


def _lists(table: Any) -> tuple[IntArray, IntArray]:
    begin = np.concatenate([[0], np.cumsum(table.sum(axis=1))])
    return begin.astype(np.int32), np.nonzero(table)[1].astype(np.int32)
