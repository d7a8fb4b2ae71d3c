"""Costs of sets of clusters, and the masses of minimum cost, for all methods with prototypes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from evlearn.belief import FocalSets
from evlearn.partition.tracking import renumbered_sets, renumbered_table
from evlearn.storage import fields
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_shape

#: Maximum ratio of a cost to the squared distance. Such a set gets no mass in any case, and nothing overflows.
DEAREST = 1e20
_MAX_COST = 10 * DEAREST  # with rounding errors
#: Relative residual and maximum number of iterations of conjugate gradients.
_SOLUTION_TOL, _MAX_GRADIENTS = 1e-12, 500
#: Number of coordinates of prototypes per block.
_NUMBERS = 1 << 18


@fields.stored
@dataclass(frozen=True)
class SetCosts:
    r"""Costs of sets of clusters: the numbers :math:`p_j` and :math:`g_j`, the empty set, and :math:`\beta`.

    Attributes
    ----------
    focal_sets : FocalSets
        Sets that may carry mass.
    spread : ndarray of shape (n_focal_sets - 1,)
        Factor p of the sum of squared distances to the prototypes of a set.
    gain : ndarray of shape (n_focal_sets - 1,)
        Factor g of the mean squared distance of these prototypes to their barycenter.
    empty : float
        Cost of the empty set, in squared units of the data.
    beta : float
        Exponent of the masses.
    """

    focal_sets: FocalSets
    spread: Annotated[FloatArray, fields.array(1, low=0, high=_MAX_COST)]
    gain: Annotated[FloatArray, fields.array(1, low=0, high=_MAX_COST)]
    empty: fields.NonnegativeExtendedNumber
    beta: Annotated[float, fields.number(1, above=True)]

    def __post_init__(self) -> None:
        # Compiled code reads these arrays without bounds checks.
        check_shape("spread", self.spread, (len(self.focal_sets) - 1,))
        check_shape("gain", self.gain, (len(self.focal_sets) - 1,))

    @classmethod
    def ecm(cls, focal_sets: FocalSets, *, alpha: float, beta: float, delta: float) -> "SetCosts":
        r"""Return the costs :math:`|A|^\alpha\|x-\bar v_A\|^2`, and :math:`\delta^2` for the empty set."""
        size = focal_sets.sizes[1:].astype(np.float64)
        alphas = np.minimum(alpha, np.log(DEAREST) / np.log(np.maximum(size, 2)))
        return cls(focal_sets, size ** (alphas - 1), size**alphas, delta * delta, beta)

    @classmethod
    def ccm(cls, focal_sets: FocalSets, *, gamma: float, beta: float, delta: float) -> "SetCosts":
        r"""Return the costs :math:`(\sum_{k\in A}\|x-v_k\|^2+\gamma\|x-\bar v_A\|^2)/(|A|+\gamma)`."""
        size = focal_sets.sizes[1:].astype(np.float64)
        # The barycenter of a single cluster is its prototype, so its cost is the squared distance for any gamma.
        return cls(focal_sets, (1 + gamma / size) / (size + gamma), gamma / (size + gamma), delta * delta, beta)

    def renumber(self, numbers: IntArray, frame: int | Sequence[str]) -> "SetCosts":
        """Return the costs on a frame in which cluster k has the number ``numbers[k]``; -1 omits it."""
        focal_sets = renumbered_sets(self.focal_sets, numbers, frame)
        order = np.argsort(renumbered_positions(self.focal_sets, focal_sets, numbers)[1:])
        return SetCosts(focal_sets, self.spread[order], self.gain[order], self.empty, self.beta)

    @cached_property
    def membership(self) -> FloatArray:
        """Nonempty sets as rows of zeros and ones."""
        return self.focal_sets.membership[1:].astype(np.float64)

    @cached_property
    def size(self) -> FloatArray:
        """Number of clusters in each nonempty set."""
        return np.asarray(self.membership.sum(axis=1))

    @cached_property
    def lists(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Members of each set and sets of each cluster, in CSR form."""
        begin, members = self.focal_sets.lists
        sets = np.repeat(np.arange(len(begin) - 2), np.diff(begin)[1:])
        order = np.argsort(members, kind="stable")
        first = np.searchsorted(members[order], np.arange(self.focal_sets.frame_size + 1))
        return tuple(numbers.astype(np.int32) for numbers in (begin[1:], members, first, sets[order]))  # type: ignore[return-value]

    @cached_property
    def _larger_sets(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Numbers, sizes, members, and places of the first members of the sets of several clusters."""
        begin, members = self.lists[:2]
        sizes = np.diff(begin)
        is_larger = sizes > 1
        ends = np.append(0, np.cumsum(sizes[is_larger]))
        return np.flatnonzero(is_larger), sizes[is_larger], members[np.repeat(is_larger, sizes)], ends

    @cached_property
    def _arrays(self) -> dict[Any, Any]:
        return {}

    def kernel_arguments(self, dtype: Any) -> tuple[Any, ...]:
        """Return p, beta and the lists in the types of the kernel, computed once for many models."""
        if dtype not in self._arrays:
            self._arrays[dtype] = self.spread.astype(dtype), float(self.beta), *self.lists
        arguments: tuple[Any, ...] = self._arrays[dtype]
        return arguments

    def barycenters(self, prototypes: FloatArray) -> FloatArray:
        """Return the mean of the prototypes of each set."""
        return np.asarray(self.membership @ prototypes / self.size[:, None])

    def spreads(self, prototypes: FloatArray) -> FloatArray:
        """Return the mean squared distance of the prototypes of each set to their barycenter."""
        spreads, (larger_sets, all_sizes, members, ends) = np.zeros(len(self.spread)), self._larger_sets
        blocks = np.flatnonzero(np.diff(ends[1:] * prototypes.shape[1] // _NUMBERS)) + 1
        for start, stop in pairwise([0, *blocks, len(larger_sets)] if len(larger_sets) else []):
            sizes, first = all_sizes[start:stop], ends[start:stop] - ends[start]
            points = prototypes[members[ends[start] : ends[stop]]]
            centers = np.add.reduceat(points, first) / sizes[:, None]
            squares = ((points - np.repeat(centers, sizes, axis=0)) ** 2).sum(axis=1)
            spreads[larger_sets[start:stop]] = np.add.reduceat(squares, first) / sizes
        return spreads


def renumbered_positions(old: FocalSets, new: FocalSets, numbers: IntArray) -> IntArray:
    """Return the position of each old set among the sets with the new numbers of the clusters."""
    return new.positions(renumbered_table(old, numbers, new.frame_size))


def masses_of_costs(costs: FloatArray, beta: float) -> FloatArray:
    r"""Return the masses that minimize :math:`\sum_jm_j^\beta s_j`; sets without cost share the mass equally."""
    minimum = costs.min(axis=1, keepdims=True)
    free = minimum[:, 0] <= 0
    with np.errstate(divide="ignore", invalid="ignore"):
        masses = (minimum / costs) ** (1 / (beta - 1))
    masses[free] = costs[free] <= 0
    masses /= masses.sum(axis=1, keepdims=True)
    return np.asarray(masses)


def total_cost(powers: FloatArray, costs: FloatArray) -> float:
    """Return the sum of the costs times the powers of masses; an infinite cost of the empty set is ignored."""
    first = 1 if np.isinf(costs[:1, 0]).any() else 0
    return float((powers[:, first:] * costs[:, first:]).sum())


def solve_positive(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a symmetric system; if it is singular, return the least-squares solution of minimum norm."""
    # Equations are scaled first, because those of clusters with little mass are small.
    size = np.sqrt(np.clip(np.diag(matrix), np.finfo(np.float64).tiny, None))
    scaled, right = matrix / np.outer(size, size), (right.T / size).T
    try:
        lower = np.linalg.cholesky(scaled)
        solution = np.linalg.solve(lower.T, np.linalg.solve(lower, right))
    except np.linalg.LinAlgError:
        solution = np.linalg.lstsq(scaled, right, rcond=None)[0]
    return np.asarray((solution.T / size).T)


def solve_sparse(matrix: Any, right: FloatArray) -> FloatArray:
    """Solve a symmetric sparse system for several right sides by conjugate gradients.

    Equations of clusters without mass, whose diagonal is 0, have the solution 0.
    """
    diagonal = matrix.diagonal()
    inverse = np.divide(1, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)[:, None]
    solution, residual = np.zeros_like(right), np.where(inverse > 0, right, 0)
    direction = scaled = inverse * residual
    product = (residual * scaled).sum(axis=0)
    tolerance = _SOLUTION_TOL**2 * product
    for _ in range(_MAX_GRADIENTS):
        if (product <= tolerance).all():
            break
        image = matrix @ direction
        curvature = (direction * image).sum(axis=0)
        step = np.divide(product, curvature, out=np.zeros_like(product), where=curvature > 0)
        solution, residual = solution + step * direction, residual - step * image
        scaled = inverse * residual
        before, product = product, (residual * scaled).sum(axis=0)
        direction = scaled + np.divide(product, before, out=np.zeros_like(product), where=before > 0) * direction
    return np.asarray(solution)


def powers_of(masses: FloatArray, beta: float, weights: Any) -> FloatArray:
    """Return powers of masses, multiplied by the weights of the samples."""
    powers = masses * masses if beta == 2 else masses**beta
    return np.asarray(powers if weights is None else powers * np.asarray(weights, dtype=np.float64)[:, None])
