"""Any clusterer as a source of mass functions: ours, and those of scikit-learn."""

from typing import Any

import numpy as np

from evlearn.partition import CredalPartition
from evlearn.partition.estimators import split_pipeline
from evlearn.utils.typing import FloatArray


def fitted_partition(clusterer: Any, X: Any) -> CredalPartition:
    """What a fitted clusterer says about the objects that it was fitted to."""
    before, last = split_pipeline(clusterer)
    if last is not clusterer:
        return fitted_partition(last, X if before is None else before.transform(X))
    if hasattr(clusterer, "credal_partition_"):
        found: CredalPartition = clusterer.credal_partition_
        return found
    if hasattr(clusterer, "predict_mass") or hasattr(clusterer, "predict_proba"):
        return predicted_partition(clusterer, X)
    if hasattr(clusterer, "labels_"):
        memberships = _memberships(clusterer.labels_, clusterer.labels_)
        if memberships.shape[1] == 0:
            raise ValueError(
                f"{clusterer!r} takes all objects for noise; change its parameters, or leave it out of the "
                "ensemble."
            )
        return CredalPartition.from_fuzzy(memberships)
    raise ValueError(
        f"{clusterer!r} is no clusterer: after its fit it has neither labels_ nor predict_proba nor predict_mass."
    )


def predicted_partition(clusterer: Any, X: Any) -> CredalPartition:
    """What a fitted clusterer says about new objects."""
    before, last = split_pipeline(clusterer)
    if last is not clusterer:
        return predicted_partition(last, X if before is None else before.transform(X))
    if hasattr(clusterer, "predict_mass"):
        found: CredalPartition = clusterer.predict_mass(X)
        return found
    if hasattr(clusterer, "predict_proba"):
        return CredalPartition.from_fuzzy(clusterer.predict_proba(X))
    if hasattr(clusterer, "predict"):
        return CredalPartition.from_fuzzy(_memberships(clusterer.predict(X), clusterer.labels_))
    raise ValueError(f"{clusterer!r} cannot predict clusters of new objects; leave it out of the ensemble.")


def _memberships(labels: Any, fitted_labels: Any) -> FloatArray:
    """One where an object has a label, and nothing for -1, which scikit-learn's clusterers give to noise."""
    classes = np.unique(fitted_labels)
    return np.asarray(np.asarray(labels)[:, None] == classes[classes != -1], dtype=np.float64)


__all__ = ["fitted_partition", "predicted_partition"]
