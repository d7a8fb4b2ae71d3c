"""The alternation that all prototype methods share: a pass over the rows, and better prototypes."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from evlearn.blocks import Rows
from evlearn.cluster.centroids.adaptive import AdaptiveModel
from evlearn.cluster.centroids.model import EuclideanModel, Statistics
from evlearn.utils.convergence import Trace

Model = EuclideanModel | AdaptiveModel


class Point(NamedTuple):
    """Prototypes, and what all rows tell about better ones."""

    model: Model
    statistics: Statistics


@dataclass(frozen=True)
class Alternation:
    """One iteration over some rows, for `evlearn.utils.convergence.descend`.

    Attributes
    ----------
    rows : Rows
        The data.
    weights : object or None
        The weights of the rows, aligned with them.
    tol : float
        The share of the objective that an iteration must gain for another to follow.
    n_jobs : int or None, default=None
        How many workers.
    """

    rows: Rows
    weights: Any
    tol: float
    n_jobs: int | None = None

    def trace(self, model: Model, history: list[float] | None = None) -> Trace[Point]:
        """Where a descent begins, or goes on after the iterations of a history."""
        statistics = self.collect(model)
        return Trace(Point(model, statistics), history or [statistics.cost])

    def step(self, point: Point) -> tuple[Point, float, bool]:
        """The prototypes that are best for the masses, and the masses that are best for these."""
        before = point.statistics.cost
        model = point.model.solve(point.statistics)
        statistics = self.collect(model)
        if statistics.cost > before:  # rounding, or a regularised metric: the step is taken back
            return point, before, True
        return Point(model, statistics), statistics.cost, before - statistics.cost <= self.tol * before

    def collect(self, model: Model) -> Statistics:
        """The statistics of all rows, added up in the order of the blocks."""
        told: Statistics = self.rows.add(model.collect, self.weights, n_jobs=self.n_jobs)
        return told
