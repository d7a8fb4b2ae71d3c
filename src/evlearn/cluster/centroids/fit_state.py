"""State of a prototype fit, stored as plain arrays in checkpoints."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.centroids.adaptive import AdaptiveModel
from evlearn.cluster.centroids.alternation import Model
from evlearn.cluster.centroids.model import FARTHEST, Coordinates
from evlearn.cluster.centroids.scales import ResolvedParameters
from evlearn.storage.fields import Check, array, check_keys, check_length, quadratic_forms
from evlearn.utils.typing import FloatArray

#: Function from focal sets, coordinates, parameters, prototypes and metrics to a model.
MakeModel = Callable[..., Model]


class StoredDescent(NamedTuple):
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
    current : StoredDescent or None, default=None
        State of the current descent.
    best : StoredDescent or None, default=None
        Best of the previous descents.
    summary : DataSummary or None, default=None
        Sample of the rows; not part of a checkpoint.
    reference : ndarray of shape (n_clusters, n_features) or None, default=None
        Solution of k-means, if prototypes start there; not part of a checkpoint.
    """

    coordinates: Coordinates
    parameters: ResolvedParameters
    focal_sets: FocalSets
    starts: FloatArray
    stage: int = 0
    current: StoredDescent | None = None
    best: StoredDescent | None = None
    summary: Any = None
    reference: FloatArray | None = None

    def to_arrays(self) -> dict[str, Any]:
        """Return the state as plain arrays."""
        arrays: dict[str, Any] = {
            "center": self.coordinates.center,
            "scale": float(self.coordinates.scale),
            **{name: float(value) for name, value in self.parameters._asdict().items()},
            "sets": self.focal_sets.membership,
            "starts": self.starts,
            "stage": np.int64(self.stage),
        }
        for name, descent in (("current", self.current), ("best", self.best)):
            if descent is not None:
                arrays[f"{name}_history"] = np.array(descent.history)
                arrays[f"{name}_converged"] = np.bool_(descent.converged)
                arrays |= _model_arrays(f"{name}_model", descent.model)
        return arrays

    @classmethod
    def from_arrays(
        cls, make_model: MakeModel, n_clusters: int | None, n_features: int, arrays: dict[str, Any]
    ) -> "FitState":
        """Restore a state from plain arrays, and raise ValueError if they are not those of a fit."""
        check_keys("the state", arrays, _REQUIRED, _OPTIONAL)
        for name, values in arrays.items():
            (_REQUIRED.get(name) or _OPTIONAL[name])(name, values)
        starts, stage = arrays["starts"], int(arrays["stage"])
        if n_clusters is None:
            n_clusters = starts.shape[1]
        check_length("center", arrays["center"], (n_features,))
        check_length("starts", starts, (max(len(starts), 1), n_clusters, n_features))
        coordinates = Coordinates(arrays["center"], float(arrays["scale"]))
        scalars = {name: float(arrays[name]) for name in ResolvedParameters._fields}
        parameters = ResolvedParameters(**scalars)._replace(cloud=bool(scalars["cloud"]))  # type: ignore[arg-type]
        sets = _load_sets(arrays["sets"], n_clusters, "sets")
        make = partial(make_model, coordinates=coordinates, parameters=parameters)
        load = partial(_load_descent, arrays, partial(_load_model, arrays, make, n_clusters))
        state = cls(coordinates, parameters, sets, starts, stage, load("current"), load("best"))
        if not 0 <= stage <= len(starts) or (stage > 0 and state.best is None):
            raise ValueError(f"stage is {stage}, which is not a stage of this fit")
        return state


_SETS = array(2, "ub")
#: Checks of the arrays.
_REQUIRED: dict[str, Check] = {
    "center": array(1),
    "scale": array(0, low=1e-154, high=1e154),
    "delta": array(0, low=0, finite=False),
    "beta": array(0, low=1),
    "alpha": array(0, low=0),
    "width": array(0, low=0),
    "cloud": array(0, low=0, high=1),
    "sets": _SETS,
    "starts": array(3),
    "stage": array(0, "i"),
}
_MODEL_CHECKS: dict[str, Check] = {
    "prototypes": array(2, low=-FARTHEST, high=FARTHEST),
    "sets": _SETS,
    "metrics": quadratic_forms,
}
_OPTIONAL: dict[str, Check] = {
    f"{stage}_{name}": check
    for stage in ("current", "best")
    for name, check in {
        "history": array(1, finite=False),
        "converged": array(0, "b"),
        **{f"model_{field}": check for field, check in _MODEL_CHECKS.items()},
    }.items()
}


def _load_descent(arrays: dict[str, Any], make: Callable[[str], Model | None], name: str) -> StoredDescent | None:
    model = make(f"{name}_model")
    if model is None:
        return None
    history = arrays[f"{name}_history"]
    check_length("history", history, (max(len(history), 1),))
    return StoredDescent(model, history.tolist(), bool(arrays[f"{name}_converged"]))


def _load_model(
    arrays: dict[str, Any], make_model: Callable[..., Model], n_clusters: int, name: str
) -> Model | None:
    if f"{name}_prototypes" not in arrays:
        return None
    sets = _load_sets(arrays[f"{name}_sets"], n_clusters, f"{name}_sets")
    metrics = arrays.get(f"{name}_metrics")
    return make_model(sets, prototypes=arrays[f"{name}_prototypes"], metrics=metrics)


def _load_sets(table: Any, n_clusters: int, name: str) -> FocalSets:
    sets = FocalSets.from_membership(table)
    if sets.frame_size != n_clusters or not np.array_equal(sets.membership, table):
        raise ValueError(f"{name} are not sorted sets of {n_clusters} clusters")
    return sets


def _model_arrays(name: str, model: Model) -> dict[str, Any]:
    arrays = {f"{name}_prototypes": model.prototypes, f"{name}_sets": model.costs.focal_sets.membership}
    if isinstance(model, AdaptiveModel):
        arrays[f"{name}_metrics"] = model.metrics
    return arrays
