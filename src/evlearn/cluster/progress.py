"""What a fit of prototypes has done so far, as plain arrays for a checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from evlearn.belief import FocalSets
from evlearn.belief.types import FloatArray
from evlearn.cluster.adaptive import AdaptiveModel
from evlearn.cluster.descent import Descent, Model
from evlearn.cluster.prototypes import Coordinates

MakeModel = Callable[[FocalSets, Coordinates, float, FloatArray, Any], Model]


@dataclass
class Progress:
    """What a fit has done so far.

    Attributes
    ----------
    coordinates : Coordinates
        Where the models live.
    delta : float
        The distance to the empty set.
    starts : ndarray of shape (n_init, n_clusters, n_features)
        The prototypes that each descent starts from, as the user knows them.
    stage : int, default=0
        Which descent is under way: that from a start, or, after the last of them, that with chosen pairs.
    current : Descent or None, default=None
        Where it is.
    best : Descent or None, default=None
        The best of those that ended.
    """

    coordinates: Coordinates
    delta: float
    starts: FloatArray
    stage: int = 0
    current: Descent | None = None
    best: Descent | None = None

    def to_arrays(self) -> dict[str, Any]:
        """The progress as plain arrays.

        Returns
        -------
        dict of str to array-like
            For a checkpoint.
        """
        arrays: dict[str, Any] = {
            "centre": self.coordinates.centre,
            "scale": self.coordinates.scale,
            "delta": self.delta,
            "starts": self.starts,
            "stage": self.stage,
        }
        for name, state in (("current", self.current), ("best", self.best)):
            if state is not None:
                arrays[f"{name}_history"] = np.array(state.history)
                arrays[f"{name}_flags"] = np.array([state.converged, state.interrupted])
                arrays |= _model_arrays(f"{name}_model", state.model)
                if state.before is not None:
                    arrays |= _model_arrays(f"{name}_before", state.before)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], make_model: MakeModel) -> "Progress":
        """The inverse of `to_arrays`.

        Parameters
        ----------
        arrays : dict of str to ndarray
            From a checkpoint.
        make_model : callable
            From focal sets, coordinates, delta, prototypes and metrics to a model.

        Returns
        -------
        Progress
            The progress.
        """
        coordinates = Coordinates(arrays["centre"], float(arrays["scale"]))
        progress = cls(coordinates, float(arrays["delta"]), arrays["starts"], int(arrays["stage"]))

        def model(name: str) -> Model | None:
            if f"{name}_prototypes" not in arrays:
                return None
            sets = FocalSets.from_membership(arrays[f"{name}_sets"])
            metrics = arrays.get(f"{name}_metrics")
            return make_model(sets, coordinates, progress.delta, arrays[f"{name}_prototypes"], metrics)

        def descent(name: str) -> Descent | None:
            found = model(f"{name}_model")
            if found is None:
                return None
            converged, interrupted = (bool(flag) for flag in arrays[f"{name}_flags"])
            history = arrays[f"{name}_history"].tolist()
            return Descent(found, history, model(f"{name}_before"), converged, interrupted)

        progress.current, progress.best = descent("current"), descent("best")
        return progress


def _model_arrays(name: str, model: Model) -> dict[str, Any]:
    arrays = {f"{name}_prototypes": model.prototypes, f"{name}_sets": model.costs.focal_sets.membership}
    if isinstance(model, AdaptiveModel):
        arrays[f"{name}_metrics"] = model.metrics
    return arrays
