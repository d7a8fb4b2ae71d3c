"""Partitions of any kind, read as credal ones: labels, probabilities, or mass functions."""

from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from evlearn.partition.credal_partition import CredalPartition


def as_credal(partition: CredalPartition | ArrayLike, name: str = "partition") -> CredalPartition:
    """The credal partition that labels or probabilities stand for.

    Parameters
    ----------
    partition : CredalPartition or array-like
        A credal partition, which is returned; labels of shape (n_samples,), where -1 beside 0 means noise, as
        scikit-learn's clusterers write it; or probabilities of shape (n_samples, n_clusters).
    name : str, default="partition"
        What to call it in an error.

    Returns
    -------
    CredalPartition
        The partition.

    Examples
    --------
    >>> from evlearn.partition import as_credal
    >>> as_credal([0, 0, 1, -1]).outliers()
    array([False, False, False,  True])
    """
    if isinstance(partition, CredalPartition):
        return partition
    values = np.asarray(partition)
    if values.ndim == 1:
        return CredalPartition.from_hard(values, noise_label=-1 if _marks_noise(values) else None)
    if values.ndim == 2:
        return CredalPartition.from_fuzzy(values)
    raise ValueError(
        f"{name} must be a CredalPartition, labels of shape (n_samples,) or probabilities of shape (n_samples, "
        f"n_clusters), got shape {values.shape}."
    )


def _marks_noise(labels: npt.NDArray[Any]) -> bool:
    """Whether -1 stands for noise: beside 0, 1, ... it does, and in the classes -1 and 1 it does not."""
    return bool(np.issubdtype(labels.dtype, np.integer) and (labels == -1).any() and (labels == 0).any())


__all__ = ["as_credal"]
