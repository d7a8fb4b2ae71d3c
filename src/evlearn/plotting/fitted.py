"""What a fitted estimator hands to a picture."""

from typing import Any

from evlearn.partition import CredalPartition


def fitted_partition(estimator: Any) -> CredalPartition:
    """The partition of the data that an estimator was fitted on.

    Parameters
    ----------
    estimator : fitted estimator of evlearn
        Has a ``credal_partition_``.

    Returns
    -------
    CredalPartition
        The partition.
    """
    fitted = getattr(estimator, "credal_partition_", None)
    if not isinstance(fitted, CredalPartition):
        raise ValueError(
            f"estimator must be fitted and have a credal_partition_, got {estimator!r}; "
            "call its fit first, or use from_partition."
        )
    return fitted
