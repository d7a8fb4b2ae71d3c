"""The alternation that all prototype methods share: a pass over the rows, and better prototypes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

from evlearn.blocks import Rows
from evlearn.cluster.centroids.adaptive import AdaptiveModel
from evlearn.cluster.centroids.model import EuclideanModel

Model = EuclideanModel | AdaptiveModel


@dataclass
class Descent:
    """The state of a descent.

    Attributes
    ----------
    model : EuclideanModel or AdaptiveModel
        The prototypes.
    history : list of float
        The objective before the first and after each iteration, as far as it is known.
    before : EuclideanModel, AdaptiveModel or None
        The prototypes that the last known objective belongs to, while the descent is under way.
    converged : bool
        Whether the last iteration changed less than asked for.
    interrupted : bool
        Whether the user stopped it.
    """

    model: Model
    history: list[float] = field(default_factory=list)
    before: Model | None = None
    converged: bool = False
    interrupted: bool = False

    @property
    def objective(self) -> float:
        """The objective at the prototypes."""
        return self.history[-1] if self.history else float("inf")


def descend(
    rows: Rows,
    state: Descent,
    weights: Any,
    *,
    tol: float,
    max_iter: int,
    n_jobs: int | None,
    watch: Callable[[Descent], None],
) -> Descent:
    """Alternate between masses and prototypes until the objective settles.

    Parameters
    ----------
    rows : Rows
        The data.
    state : Descent
        Where to start, or to go on.
    weights : object or None
        The weights of the rows, aligned with them.
    tol : float
        The share of the objective that an iteration must gain for another to follow.
    max_iter : int
        The largest number of iterations.
    n_jobs : int or None
        How many workers.
    watch : callable
        Called with the state after every iteration.

    Returns
    -------
    Descent
        The state at the end.
    """
    model, history = state.model, list(state.history)
    before = state.before or model
    try:
        while True:
            statistics = collect(rows, model, weights, n_jobs)
            history.append(statistics.cost)
            if len(history) > 1 and history[-2] - history[-1] <= tol * history[-2]:
                if history[-1] > history[-2]:  # rounding, or a regularised metric: the last step is taken back
                    model = before
                    history[-1] = history[-2]
                return Descent(model, history, converged=True)
            if len(history) > max_iter:
                return Descent(model, history)
            before, model = model, model.solve(statistics)
            watch(Descent(model, history, before))
    except KeyboardInterrupt:
        return Descent(before, history, interrupted=True)


def collect(rows: Rows, model: Model, weights: Any, n_jobs: int | None) -> Any:
    """The statistics of all rows, added up in the order of the blocks.

    Parameters
    ----------
    rows : Rows
        The data.
    model : EuclideanModel or AdaptiveModel
        The prototypes.
    weights : object or None
        The weights of the rows, aligned with them.
    n_jobs : int or None
        How many workers.

    Returns
    -------
    Statistics
        The sums.
    """
    return reduce(add, rows.map(model.collect, weights, n_jobs=n_jobs))
