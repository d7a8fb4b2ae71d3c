"""What a fitted estimator, or a pipeline that ends in one, hands to a picture."""

from typing import Any

from evlearn.partition import CredalPartition
from evlearn.partition.estimators import split_pipeline


def fitted_partition(estimator: Any) -> CredalPartition:
    """The partition of the data that an estimator was fitted on."""
    fitted = getattr(split_pipeline(estimator)[1], "credal_partition_", None)
    if not isinstance(fitted, CredalPartition):
        raise ValueError(
            f"estimator must be fitted and have a credal_partition_, got {estimator!r}; "
            "call its fit first, or use from_partition."
        )
    return fitted


def predicts_masses(estimator: Any) -> bool:
    """Whether an estimator says masses of new objects."""
    return hasattr(split_pipeline(estimator)[1], "predict_mass")
