"""State of a prototype fit, stored as plain arrays in checkpoints."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.centroids.adaptive import AdaptiveModel, Model
from evlearn.cluster.centroids.model import FARTHEST, Coordinates
from evlearn.cluster.centroids.scales import ResolvedParameters
from evlearn.storage import fields
from evlearn.storage.codec import from_arrays, to_arrays
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_shape

#: Function from focal sets, coordinates, parameters, prototypes and metrics to a model.
MakeModel = Callable[..., Model]


class Descent(NamedTuple):
    """State of a descent, at its end or at a checkpoint."""

    model: Model
    history: list[float]
    converged: bool = False


@dataclass
class FitState:
    """State of a fit.

    Attributes
    ----------
    coordinates : Coordinates
        Coordinates of models.
    parameters : ResolvedParameters
        Parameters, given or derived from the data.
    focal_sets : FocalSets
        Focal sets of the descents from starts.
    starts : ndarray of shape (n_init, n_clusters, n_features)
        Initial prototypes of each descent, in the coordinates of the data.
    stage : int, default=0
        Index of the current descent: those from the starts and, after these, the descent with selected pairs.
    current : Descent or None, default=None
        State of the current descent.
    best : Descent or None, default=None
        Best of the previous descents.
    summary : DataSummary or None, default=None
        Sample of the rows; not part of a checkpoint.
    ordinary : DataSummary or None, default=None
        `summary` without gross errors; not part of a checkpoint.
    reference : ndarray of shape (n_clusters, n_features) or None, default=None
        Solution of k-means, if prototypes start there; not part of a checkpoint.
    """

    coordinates: Coordinates
    parameters: ResolvedParameters
    focal_sets: FocalSets
    starts: FloatArray
    stage: int = 0
    current: Descent | None = None
    best: Descent | None = None
    summary: Any = None
    ordinary: Any = None
    reference: FloatArray | None = None

    def to_arrays(self) -> dict[str, Any]:
        """Return the state as plain arrays."""
        numbers: dict[str, Any] = {name: float(value) for name, value in self.parameters._asdict().items()}
        return to_arrays(
            _StoredState(
                center=self.coordinates.center,
                scale=float(self.coordinates.scale),
                sets=self.focal_sets,
                starts=self.starts,
                stage=np.int64(self.stage),
                current=_stored_descent(self.current),
                best=_stored_descent(self.best),
                **numbers,
            )
        )

    @classmethod
    def from_arrays(
        cls, make_model: MakeModel, n_clusters: int | None, n_features: int, arrays: dict[str, Any]
    ) -> "FitState":
        """Restore a state from plain arrays, and raise ValueError if they are not those of a fit."""
        stored = from_arrays(_StoredState, arrays)
        starts, stage = stored.starts, int(stored.stage)
        n_clusters = starts.shape[1] if n_clusters is None else n_clusters
        check_shape("center", stored.center, (n_features,))
        check_shape("starts", starts, (max(len(starts), 1), n_clusters, n_features))
        coordinates = Coordinates(stored.center, float(stored.scale))
        parameters = ResolvedParameters(
            float(stored.delta),
            float(stored.beta),
            float(stored.alpha),
            float(stored.width),
            bool(stored.cloud),
        )
        _check_sets(stored.sets, n_clusters)
        make = partial(make_model, coordinates=coordinates, parameters=parameters)
        current, best = (_load_descent(item, make, n_clusters) for item in (stored.current, stored.best))
        if not 0 <= stage <= len(starts) or (stage > 0 and best is None):
            raise ValueError(f"stage is {stage}, which is not a stage of this fit")
        return cls(coordinates, parameters, stored.sets, starts, stage, current, best)


@fields.stored
class _StoredModel(NamedTuple):
    """Arrays of a model, which its costs and coordinates complete."""

    prototypes: Annotated[FloatArray, fields.array(2, low=-FARTHEST, high=FARTHEST)]
    sets: FocalSets
    metrics: Annotated[FloatArray, fields.quadratic_forms] | None = None


@fields.stored
class _StoredDescent(NamedTuple):
    """Arrays of a descent."""

    model: _StoredModel
    history: fields.ExtendedVector
    converged: Annotated[Any, fields.array(0, "b")]


@fields.stored
class _StoredState(NamedTuple):
    """Arrays of a state; numbers are arrays without dimensions."""

    center: fields.Vector
    scale: Annotated[Any, fields.array(0, low=1e-154, high=1e154)]
    delta: Annotated[Any, fields.array(0, low=0, finite=False)]
    beta: Annotated[Any, fields.array(0, low=1)]
    alpha: Annotated[Any, fields.array(0, low=0)]
    width: Annotated[Any, fields.array(0, low=0)]
    cloud: Annotated[Any, fields.array(0, low=0, high=1)]
    sets: FocalSets
    starts: Annotated[FloatArray, fields.array(3)]
    stage: Annotated[Any, fields.array(0, "i")]
    current: _StoredDescent | None = None
    best: _StoredDescent | None = None


def _stored_descent(descent: Descent | None) -> _StoredDescent | None:
    if descent is None:
        return None
    model = descent.model
    metrics = model.metrics if isinstance(model, AdaptiveModel) else None
    arrays = _StoredModel(model.prototypes, model.costs.focal_sets, metrics)
    return _StoredDescent(arrays, np.array(descent.history), np.bool_(descent.converged))


def _load_descent(
    stored: _StoredDescent | None, make_model: Callable[..., Model], n_clusters: int
) -> Descent | None:
    if stored is None:
        return None
    prototypes, sets, metrics = stored.model
    _check_sets(sets, n_clusters)
    check_shape("history", stored.history, (max(len(stored.history), 1),))
    model = make_model(sets, prototypes=prototypes, metrics=metrics)
    return Descent(model, stored.history.tolist(), bool(stored.converged))


def _check_sets(sets: FocalSets, n_clusters: int) -> None:
    if sets.frame_size != n_clusters:
        raise ValueError(f"sets must be sets of {n_clusters} clusters, got {sets.frame_size}")
