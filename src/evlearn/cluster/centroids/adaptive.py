r"""Prototypes with one metric per cluster, as in the Gustafson-Kessel algorithm for fuzzy clustering.

The squared distance to the barycenter of a set is :math:`(x-\bar v_j)^T\bar S_j(x-\bar v_j)`, where :math:`\bar
S_j` is the mean of the metrics of its clusters, each with determinant 1. Weighted sums of rows for each set and
sums of outer products for each cluster suffice to update prototypes and metrics, so an iteration reads the data
once.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, TypeAlias

import numpy as np

from evlearn.cluster.centroids.model import Coordinates, EuclideanModel, PrototypeModel, Statistics
from evlearn.cluster.set_costs import SetCosts, masses_of_costs, powers_of, solve_positive, total_cost
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.parameters import Specification
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_choice, check_real, check_shape

_BLOCK_ROWS = 4096  # rows per block, so that the products stay in the cache
_FLATTEST = 1e-12  # smallest eigenvalue of a scatter matrix with mean eigenvalue 1


@fields.stored
@dataclass
class AdaptiveMetric(Specification):
    """Metrics of determinant 1, one for each cluster: a value of the parameter `metric`.

    ``metric="adaptive"`` is equivalent to ``AdaptiveMetric()``.

    Parameters
    ----------
    reg_covar : float, default=1e-6
        Share of the Euclidean metric in each metric, from 0 to 1. Use a larger value for many features and few
        samples.

    Examples
    --------
    >>> from evlearn.cluster import ECM, AdaptiveMetric
    >>> from evlearn.datasets import load_butterfly
    >>> metric = AdaptiveMetric(reg_covar=0.01)
    >>> model = ECM(2, metric=metric, random_state=0).fit(load_butterfly().data)
    >>> model.metrics_.shape
    (2, 2, 2)
    """

    reg_covar: float = 1e-6

    def __post_init__(self) -> None:
        check_real("reg_covar", self.reg_covar, 0, 1)


def check_metric(metric: Any) -> None:
    """Check the parameter `metric` of clusterers with prototypes."""
    if not isinstance(metric, AdaptiveMetric):
        check_choice("metric", metric, ("euclidean", "adaptive"))


@fields.stored
@dataclass(frozen=True)
class AdaptiveModel(PrototypeModel):
    """Model with a metric for each cluster; the costs are those of ECM.

    Attributes
    ----------
    costs : SetCosts
        Costs of the focal sets.
    coordinates : Coordinates
        Coordinates of the prototypes.
    prototypes : ndarray of shape (n_clusters, n_features)
        Prototypes in these coordinates.
    metrics : ndarray of shape (n_clusters, n_features, n_features)
        Metrics of the clusters.
    reg_covar : float
        Share of the Euclidean metric in each metric.
    fixed : bool, default=False
        Whether the prototypes are fixed and only the metrics change.
    """

    metrics: Annotated[FloatArray, fields.quadratic_forms]
    reg_covar: fields.NonnegativeNumber
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
        """Return the statistics of rows without storing their masses."""
        total = self.statistics_of(rows[:0], np.empty((0, len(self.costs.focal_sets))))
        for block in row_blocks(len(rows), _BLOCK_ROWS):
            costs = self.costs_of(rows[block])
            masses = masses_of_costs(costs, self.costs.beta)
            total += self._sum(rows[block], masses, costs, None if weights is None else weights[block])
        return total

    def statistics_of(self, rows: FloatArray, masses: FloatArray, weights: Any = None) -> Statistics:
        """Return the statistics of rows with given masses."""
        return self._sum(rows, masses, self.costs_of(rows), weights)

    def costs_of(self, rows: FloatArray) -> FloatArray:
        """Return the cost of each set for each row, in squared units of the model."""
        points = self.coordinates.transform(rows)
        shares, images, constants = self._set_terms
        squared_norms = np.stack(
            [np.einsum("nd,nd->n", points @ metric, points) for metric in self.metrics], axis=1
        )
        total = squared_norms @ shares + constants
        differences = total - 2 * (points @ images.T)
        differences[differences <= 16 * np.finfo(np.float64).eps * total] = 0
        empty = np.full((len(rows), 1), self.empty_cost)
        return np.hstack([empty, differences * self.costs.gain])

    def solve(self, statistics: Statistics) -> "AdaptiveModel":
        """Return the model with the best prototypes for the statistics, then the best metrics for these."""
        prototypes = self.prototypes if self.fixed else self._solve_prototypes(statistics)
        return replace(self, prototypes=prototypes, metrics=self._solve_metrics(statistics, prototypes))

    def _cluster_arrays(self, clusters: IntArray) -> dict[str, Any]:
        return {"metrics": self.metrics[clusters]}

    @property
    def set_metrics(self) -> FloatArray:
        """Metric of each nonempty set: the mean of the metrics of its clusters."""
        return np.asarray(
            np.einsum("jk,kde->jde", self.costs.membership, self.metrics) / self.costs.size[:, None, None]
        )

    @cached_property
    def _set_terms(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Cluster shares of sets, barycenters multiplied by their metrics, and their squared norms."""
        centers = self.costs.barycenters(self.prototypes)
        images = np.einsum("jde,je->jd", self.set_metrics, centers)
        shares = (self.costs.membership / self.costs.size[:, None]).T
        return shares, images, np.einsum("jd,jd->j", images, centers)

    def _squares(self, rows: FloatArray) -> FloatArray:
        """Return squared distances to the prototypes, in the metrics of their clusters and units of the model."""
        differences = self.coordinates.transform(rows)[:, None, :] - self.prototypes
        return np.asarray(
            np.maximum(np.einsum("nkd,kde,nke->nk", differences, self.metrics, differences, optimize=True), 0)
        )

    def _sum(self, rows: FloatArray, masses: FloatArray, costs: FloatArray, weights: Any) -> Statistics:
        points = self.coordinates.transform(rows)
        powers = powers_of(np.asarray(masses, dtype=np.float64), self.costs.beta, weights)
        shares = powers[:, 1:] @ (self.costs.membership * self.costs.spread[:, None])
        scatter = np.stack([(points * share[:, None]).T @ points for share in shares.T])
        cost = total_cost(powers, costs) / self.coordinates.scale**2
        return Statistics(cost, powers.sum(axis=0), powers[:, 1:].T @ points, scatter)

    def _solve_prototypes(self, statistics: Statistics) -> FloatArray:
        """Update the prototypes (V-step), all together because the metrics couple their coordinates."""
        c, d = self.prototypes.shape
        F, metrics = self.costs.membership, self.set_metrics
        weights = statistics.powers[1:] * self.costs.gain / self.costs.size**2
        matrix = np.einsum("jl,jk,jde->ldke", F * weights[:, None], F, metrics, optimize=True).reshape(
            c * d, c * d
        )
        images = np.einsum("jde,je->jd", metrics, statistics.sums)
        right_side = ((F * self.costs.spread[:, None]).T @ images).reshape(c * d, 1)
        before = self.prototypes.reshape(c * d, 1)
        return np.asarray((before + solve_positive(matrix, right_side - matrix @ before)).reshape(c, d))

    def _solve_metrics(self, statistics: Statistics, prototypes: FloatArray) -> FloatArray:
        """Update the metrics (S-step): inverse scatter matrices of the clusters, scaled to determinant 1."""
        assert statistics.scatter is not None
        centers = self.costs.barycenters(prototypes)
        factors = self.costs.membership * self.costs.spread[:, None]
        cross_products = np.einsum("jk,jd,je->kde", factors, statistics.sums, centers)
        squares = np.einsum("jk,jd,je->kde", factors * statistics.powers[1:, None], centers, centers)
        scatters = statistics.scatter - cross_products - cross_products.transpose(0, 2, 1) + squares
        return np.stack([_metric(scatter, self.reg_covar) for scatter in scatters])


#: Model of any method with prototypes.
Model: TypeAlias = EuclideanModel | AdaptiveModel


def make_model(
    metric: str | AdaptiveMetric,
    costs: SetCosts,
    coordinates: Coordinates,
    prototypes: FloatArray,
    *,
    metrics: FloatArray | None = None,
    fixed: bool = False,
) -> Model:
    """Return the model that the parameter `metric` of an estimator specifies."""
    if metric == "euclidean":
        return EuclideanModel(costs, coordinates, prototypes, fixed)
    reg_covar = (metric if isinstance(metric, AdaptiveMetric) else AdaptiveMetric()).reg_covar
    if metrics is None:
        metrics = euclidean_metrics(prototypes)
    return AdaptiveModel(costs, coordinates, prototypes, metrics, float(reg_covar), fixed)


def euclidean_metrics(prototypes: FloatArray) -> FloatArray:
    """Return Euclidean metrics as initial metrics."""
    return np.stack([np.eye(prototypes.shape[1])] * len(prototypes))


def _metric(scatter: FloatArray, reg_covar: float) -> FloatArray:
    d = len(scatter)
    mean = float(np.trace(scatter)) / d
    if not mean > 0:
        return np.eye(d)
    # Eigenvalues of flat clusters may be negative because of rounding, and np.linalg.inv would not report it.
    eigenvalues, axes = np.linalg.eigh((scatter + scatter.T) / (2 * mean))
    eigenvalues = np.maximum((1 - reg_covar) * np.maximum(eigenvalues, 0) + reg_covar, _FLATTEST)
    return np.asarray((axes * (np.exp(np.log(eigenvalues).mean()) / eigenvalues)) @ axes.T)
