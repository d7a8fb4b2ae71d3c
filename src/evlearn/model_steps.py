"""A pipeline as its scaler and its last step: what can be written for engines that have no Python."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from evlearn.utils.typing import FloatArray


class Affine(NamedTuple):
    """What a scaler does to features: ``(x - shift) / size``.

    Attributes
    ----------
    shift, size : ndarray of shape (n_features,)
        What is subtracted, and what is divided by.
    """

    shift: FloatArray
    size: FloatArray


def scaler_and_last(estimator: Any, function: str) -> tuple[Affine | None, Any]:
    """The scaler before the last step, if there is one, and the last step; `function` refuses anything else."""
    estimator = getattr(estimator, "best_estimator_", estimator)  # of a search over parameters
    check_is_fitted(estimator)
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    steps = [step for step in steps if step is not None and not (isinstance(step, str) and step == "passthrough")]
    *before, last = steps
    if len(before) > 1 or not all(isinstance(one, StandardScaler) for one in before):
        raise ValueError(
            f"{function} writes a StandardScaler before the last step and nothing else, got "
            f"{', '.join(type(one).__name__ for one in before)}; put what these make into a table of its own, and "
            "give the last step alone."
        )
    if getattr(last, "_lacks_evidence", False):
        raise ValueError(
            f"{function} needs a fit with evidence, and this {type(last).__name__} was fitted to at most as many "
            "samples as clusters; use fewer clusters or more samples."
        )
    return (_affine(before[0]) if before else None), last


def _affine(scaler: StandardScaler) -> Affine:
    n_features = scaler.n_features_in_
    shift = scaler.mean_ if scaler.with_mean else np.zeros(n_features)
    size = scaler.scale_ if scaler.with_std else np.ones(n_features)
    return Affine(shift, size)


__all__ = ["Affine", "scaler_and_last"]
