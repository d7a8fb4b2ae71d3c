"""What a fit of prototypes has done so far, as plain arrays for a checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.centroids.adaptive import AdaptiveModel
from evlearn.cluster.centroids.alternation import Model
from evlearn.cluster.centroids.model import FARTHEST, Coordinates
from evlearn.cluster.centroids.scales import Chosen
from evlearn.utils.stored_values import Check, array, check_keys, check_length, quadratic_forms
from evlearn.utils.typing import FloatArray

#: From focal sets, coordinates, chosen parameters, prototypes and metrics to a model.
MakeModel = Callable[..., Model]


class Ended(NamedTuple):
    """Where a descent ended, or had come to when a checkpoint was written."""

    model: Model
    history: list[float]
    converged: bool = False


@dataclass
class FitState:
    """What a fit has done so far.

    Attributes
    ----------
    coordinates : Coordinates
        Where the models live.
    chosen : Chosen
        The parameters that the data may decide on.
    focal_sets : FocalSets
        The sets of the first descents.
    starts : ndarray of shape (n_init, n_clusters, n_features)
        The prototypes that each descent starts from, as the user knows them.
    stage : int, default=0
        Which descent is under way: that from a start, or, after the last of them, that with chosen pairs.
    current : Ended or None, default=None
        Where it is.
    best : Ended or None, default=None
        The best of those that ended.
    sight : Sight or None, default=None
        A sample of the rows; not part of a checkpoint.
    reference : ndarray of shape (n_clusters, n_features) or None, default=None
        The solution of k-means, if prototypes start there; not part of a checkpoint.
    """

    coordinates: Coordinates
    chosen: Chosen
    focal_sets: FocalSets
    starts: FloatArray
    stage: int = 0
    current: Ended | None = None
    best: Ended | None = None
    sight: Any = None
    reference: FloatArray | None = None

    def to_arrays(self) -> dict[str, Any]:
        """The state as plain arrays."""
        arrays: dict[str, Any] = {
            "centre": self.coordinates.centre,
            "scale": float(self.coordinates.scale),
            **{name: float(value) for name, value in self.chosen._asdict().items()},
            "sets": self.focal_sets.membership,
            "starts": self.starts,
            "stage": np.int64(self.stage),
        }
        for name, state in (("current", self.current), ("best", self.best)):
            if state is not None:
                arrays[f"{name}_history"] = np.array(state.history)
                arrays[f"{name}_converged"] = np.bool_(state.converged)
                arrays |= _model_arrays(f"{name}_model", state.model)
        return arrays

    @classmethod
    def from_arrays(
        cls, make_model: MakeModel, n_clusters: int | None, n_features: int, arrays: dict[str, Any]
    ) -> "FitState":
        """The inverse of `to_arrays`; raises if the arrays cannot be those of a fit."""
        check_keys("the state", arrays, _ALWAYS, _SOMETIMES)
        for name, values in arrays.items():
            (_ALWAYS.get(name) or _SOMETIMES[name])(name, values)
        starts, stage = arrays["starts"], int(arrays["stage"])
        if n_clusters is None:
            n_clusters = starts.shape[1]
        check_length("centre", arrays["centre"], (n_features,))
        check_length("starts", starts, (max(len(starts), 1), n_clusters, n_features))
        coordinates = Coordinates(arrays["centre"], float(arrays["scale"]))
        numbers = {name: float(arrays[name]) for name in Chosen._fields}
        chosen = Chosen(**numbers)._replace(cloud=bool(numbers["cloud"]))  # type: ignore[arg-type]
        sets = _sets_of(arrays["sets"], n_clusters, "sets")
        make_one = partial(make_model, coordinates=coordinates, chosen=chosen)
        make = partial(_ended_of, arrays, partial(_model_of, arrays, make_one, n_clusters))
        state = cls(coordinates, chosen, sets, starts, stage, make("current"), make("best"))
        if not 0 <= stage <= len(starts) or (stage > 0 and state.best is None):
            raise ValueError(f"stage is {stage}, which is not one of this fit")
        return state


_SETS = array(2, "ub")
#: What each array must be.
_ALWAYS: dict[str, Check] = {
    "centre": array(1),
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
_OF_A_MODEL: dict[str, Check] = {
    "prototypes": array(2, low=-FARTHEST, high=FARTHEST),
    "sets": _SETS,
    "metrics": quadratic_forms,
}
_SOMETIMES: dict[str, Check] = {
    f"{one}_{name}": check
    for one in ("current", "best")
    for name, check in {
        "history": array(1, finite=False),
        "converged": array(0, "b"),
        **{f"model_{field}": check for field, check in _OF_A_MODEL.items()},
    }.items()
}


def _ended_of(arrays: dict[str, Any], make: Callable[[str], Model | None], name: str) -> Ended | None:
    found = make(f"{name}_model")
    if found is None:
        return None
    history = arrays[f"{name}_history"]
    check_length("history", history, (max(len(history), 1),))
    return Ended(found, history.tolist(), bool(arrays[f"{name}_converged"]))


def _model_of(
    arrays: dict[str, Any], make_model: Callable[..., Model], n_clusters: int, name: str
) -> Model | None:
    if f"{name}_prototypes" not in arrays:
        return None
    sets = _sets_of(arrays[f"{name}_sets"], n_clusters, f"{name}_sets")
    metrics = arrays.get(f"{name}_metrics")
    return make_model(sets, prototypes=arrays[f"{name}_prototypes"], metrics=metrics)


def _sets_of(table: Any, n_clusters: int, name: str) -> FocalSets:
    sets = FocalSets.from_membership(table)
    if sets.frame_size != n_clusters or not np.array_equal(sets.membership, table):
        raise ValueError(f"{name} are not the sets of {n_clusters} clusters, in order")
    return sets


def _model_arrays(name: str, model: Model) -> dict[str, Any]:
    arrays = {f"{name}_prototypes": model.prototypes, f"{name}_sets": model.costs.focal_sets.membership}
    if isinstance(model, AdaptiveModel):
        arrays[f"{name}_metrics"] = model.metrics
    return arrays
