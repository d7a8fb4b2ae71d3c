"""Alternation between masses and prototypes, one pass over the rows per iteration."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from evlearn.blocks import RowDataset
from evlearn.cluster.centroids.adaptive import AdaptiveModel
from evlearn.cluster.centroids.model import EuclideanModel, Statistics
from evlearn.utils.convergence import Trace

Model = EuclideanModel | AdaptiveModel


class Iterate(NamedTuple):
    """Model and the statistics of all rows for it."""

    model: Model
    statistics: Statistics


@dataclass(frozen=True)
class Alternation:
    """Iterations over a dataset, for `evlearn.utils.convergence.descend`.

    Attributes
    ----------
    rows : RowDataset
        Data.
    weights : object or None
        Weights of the rows, aligned with them.
    tol : float
        Relative decrease of the objective at or below which the descent has converged.
    n_jobs : int or None, default=None
        Number of workers.
    """

    rows: RowDataset
    weights: Any
    tol: float
    n_jobs: int | None = None

    def trace(self, model: Model, history: list[float] | None = None) -> Trace[Iterate]:
        """Return the initial trace of a descent, or the trace after the iterations of a history."""
        statistics = self.collect(model)
        return Trace(Iterate(model, statistics), history or [statistics.cost])

    def step(self, iterate: Iterate) -> tuple[Iterate, float, bool]:
        """Return the best prototypes for the masses, with the statistics of the best masses for these."""
        before = iterate.statistics.cost
        model = iterate.model.solve(iterate.statistics)
        statistics = self.collect(model)
        if statistics.cost > before:  # rounding errors or a regularized metric: the step is rejected
            return iterate, before, True
        return Iterate(model, statistics), statistics.cost, before - statistics.cost <= self.tol * before

    def collect(self, model: Model) -> Statistics:
        """Return the statistics of all rows, summed in the order of the blocks."""
        statistics: Statistics = self.rows.add(model.collect, self.weights, n_jobs=self.n_jobs)
        return statistics
