"""Split of a pipeline into its scaler and its last step, for export to engines without Python."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from evlearn.utils.typing import FloatArray


class Affine(NamedTuple):
    """The transformation of a scaler: ``(x - shift) / size``.

    Attributes
    ----------
    shift, size : ndarray of shape (n_features,)
        Subtrahend and divisor of each feature.
    """

    shift: FloatArray
    size: FloatArray


def scaler_and_last(estimator: Any, function: str) -> tuple[Affine | None, Any]:
    """Return the scaler before the last step, or None, and the last step; `function` is named in errors."""
    estimator = getattr(estimator, "best_estimator_", estimator)  # a parameter search
    check_is_fitted(estimator)
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    steps = [step for step in steps if step is not None and not (isinstance(step, str) and step == "passthrough")]
    *before, last = steps
    if len(before) > 1 or not all(isinstance(step, StandardScaler) for step in before):
        raise ValueError(
            f"{function} supports only a StandardScaler before the last step, got "
            f"{', '.join(type(step).__name__ for step in before)}; write the transformed data to a table, and "
            "pass only the last step."
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
