r"""Prototypes with a metric for each cluster, as in Gustafson and Kessel's fuzzy clustering.

The squared distance to the barycentre of a set is :math:`(x-\bar v_j)^T\bar S_j(x-\bar v_j)` with
:math:`\bar S_j` the mean of the metrics of its clusters, each of determinant one. Sums of rows by set and sums of
outer products by cluster are enough to move prototypes and metrics: an iteration is one pass over the data.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evlearn.cluster.centroids.model import Coordinates, EuclideanModel, PrototypeModel, Statistics
from evlearn.cluster.set_costs import SetCosts, masses_of_costs, powers_of, solve_positive, total_cost
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_shape

_BLOCK_ROWS = 4096  # of products that should stay in cache
_FLATTEST = 1e-12  # eigenvalue of a scatter whose mean eigenvalue is one


@dataclass(frozen=True)
class AdaptiveModel(PrototypeModel):
    r"""Prototypes and metrics; the costs are those of ECM.

    Attributes
    ----------
    costs : SetCosts
        What the sets of clusters cost.
    coordinates : Coordinates
        Where the prototypes live.
    prototypes : ndarray of shape (n_clusters, n_features)
        The prototypes, in these coordinates.
    metrics : ndarray of shape (n_clusters, n_features, n_features)
        The metrics of the clusters.
    reg_covar : float
        How much of a round metric is mixed into each.
    fixed : bool, default=False
        Whether the prototypes stay where they are, and only the metrics move.
    """

    metrics: FloatArray
    reg_covar: float
    fixed: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shape("metrics", self.metrics, (len(self.prototypes), self.n_features, self.n_features))

    def _assign(self, rows: FloatArray) -> FloatArray:
        out = np.empty((len(rows), len(self.costs.focal_sets)), dtype=rows.dtype)
        for block in row_blocks(len(rows), _BLOCK_ROWS):
            costs = self.costs_of(rows[block])
            costs[:, 0] = self._final_empty_cost
            out[block] = masses_of_costs(costs, self.costs.beta)
        return out

    def collect(self, rows: FloatArray, weights: Any = None) -> Statistics:
        """The statistics of rows, without keeping their masses."""
        total = self.gather(rows[:0], np.empty((0, len(self.costs.focal_sets))))
        for block in row_blocks(len(rows), _BLOCK_ROWS):
            costs = self.costs_of(rows[block])
            masses = masses_of_costs(costs, self.costs.beta)
            total += self._sum(rows[block], masses, costs, None if weights is None else weights[block])
        return total

    def gather(self, rows: FloatArray, masses: FloatArray, weights: Any = None) -> Statistics:
        """The statistics of rows whose masses are given."""
        return self._sum(rows, masses, self.costs_of(rows), weights)

    def costs_of(self, rows: FloatArray) -> FloatArray:
        """The cost of every set at rows, in squared units of the model; zero where it is lost in rounding."""
        inside = self.coordinates.enter(rows)
        shares, images, constants = self._of_sets
        squares = np.stack([np.einsum("nd,nd->n", inside @ one, inside) for one in self.metrics], axis=1)
        whole = squares @ shares + constants
        left = whole - 2 * (inside @ images.T)
        left[left <= 16 * np.finfo(np.float64).eps * whole] = 0
        # gain is |A|^alpha.
        empty = np.full((len(rows), 1), self.empty_cost)
        return np.hstack([empty, left * self.costs.gain])

    def solve(self, statistics: Statistics) -> "AdaptiveModel":
        """The model with the prototypes, and then the metrics, that are best for the statistics."""
        prototypes = self.prototypes if self.fixed else self._move(statistics)
        return replace(self, prototypes=prototypes, metrics=self._turn(statistics, prototypes))

    @property
    def set_metrics(self) -> FloatArray:
        """The metric of each nonempty set: the mean of those of its clusters."""
        return np.asarray(
            np.einsum("jk,kde->jde", self.costs.membership, self.metrics) / self.costs.size[:, None, None]
        )

    @cached_property
    def _of_sets(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What costs take from sets: shares of clusters, barycentres in their metrics, and their squared norms."""
        centres = self.costs.barycentres(self.prototypes)
        images = np.einsum("jde,je->jd", self.set_metrics, centres)
        shares = (self.costs.membership / self.costs.size[:, None]).T
        return shares, images, np.einsum("jd,jd->j", images, centres)

    def _squares(self, rows: FloatArray) -> FloatArray:
        """Squared distances to the prototypes, each in the metric of its cluster, in units of the model."""
        apart = self.coordinates.enter(rows)[:, None, :] - self.prototypes
        return np.asarray(np.maximum(np.einsum("nkd,kde,nke->nk", apart, self.metrics, apart, optimize=True), 0))

    def _sum(self, rows: FloatArray, masses: FloatArray, costs: FloatArray, weights: Any) -> Statistics:
        inside = self.coordinates.enter(rows)
        powers = powers_of(np.asarray(masses, dtype=np.float64), self.costs.beta, weights)
        shares = powers[:, 1:] @ (self.costs.membership * self.costs.spread[:, None])
        scatter = np.stack([(inside * share[:, None]).T @ inside for share in shares.T])
        cost = total_cost(powers, costs) / self.coordinates.scale**2
        return Statistics(cost, powers.sum(axis=0), powers[:, 1:].T @ inside, scatter)

    def _move(self, statistics: Statistics) -> FloatArray:
        """V-step: all prototypes at once, for the metrics tie their coordinates together."""
        c, d = self.prototypes.shape
        F, metrics = self.costs.membership, self.set_metrics
        weights = statistics.powers[1:] * self.costs.gain / self.costs.size**2
        matrix = np.einsum("jl,jk,jde->ldke", F * weights[:, None], F, metrics, optimize=True).reshape(
            c * d, c * d
        )
        images = np.einsum("jde,je->jd", metrics, statistics.sums)
        right = ((F * self.costs.spread[:, None]).T @ images).reshape(c * d, 1)
        before = self.prototypes.reshape(c * d, 1)
        return np.asarray((before + solve_positive(matrix, right - matrix @ before)).reshape(c, d))

    def _turn(self, statistics: Statistics, prototypes: FloatArray) -> FloatArray:
        """S-step: each metric is the inverse of its cluster's scatter, brought to determinant one."""
        assert statistics.scatter is not None
        centres = self.costs.barycentres(prototypes)
        factors = self.costs.membership * self.costs.spread[:, None]
        crossed = np.einsum("jk,jd,je->kde", factors, statistics.sums, centres)
        squared = np.einsum("jk,jd,je->kde", factors * statistics.powers[1:, None], centres, centres)
        scatters = statistics.scatter - crossed - crossed.transpose(0, 2, 1) + squared
        return np.stack([_metric(one, self.reg_covar) for one in scatters])


def make_model(
    metric: str,
    costs: SetCosts,
    coordinates: Coordinates,
    prototypes: FloatArray,
    *,
    metrics: FloatArray | None = None,
    reg_covar: float,
    fixed: bool = False,
) -> EuclideanModel | AdaptiveModel:
    """The model that the parameter `metric` of an estimator stands for."""
    if metric == "euclidean":
        return EuclideanModel(costs, coordinates, prototypes, fixed)
    if metrics is None:
        metrics = round_metrics(prototypes)
    return AdaptiveModel(costs, coordinates, prototypes, metrics, float(reg_covar), fixed)


def round_metrics(prototypes: FloatArray) -> FloatArray:
    """Euclidean metrics to start from."""
    return np.stack([np.eye(prototypes.shape[1])] * len(prototypes))


def _metric(scatter: FloatArray, reg_covar: float) -> FloatArray:
    d = len(scatter)
    mean = float(np.trace(scatter)) / d
    if not mean > 0:
        return np.eye(d)
    # Eigenvalues, because those of a flat cluster may come out below zero, and no inverse would tell.
    sizes, axes = np.linalg.eigh((scatter + scatter.T) / (2 * mean))
    sizes = np.maximum((1 - reg_covar) * np.maximum(sizes, 0) + reg_covar, _FLATTEST)
    return np.asarray((axes * (np.exp(np.log(sizes).mean()) / sizes)) @ axes.T)
