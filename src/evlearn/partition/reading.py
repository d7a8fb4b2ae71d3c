"""Conversion of labels, probabilities and mass functions to credal partitions."""

from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from evlearn.partition.credal_partition import CredalPartition


def as_credal(partition: CredalPartition | ArrayLike, name: str = "partition") -> CredalPartition:
    """Convert labels or probabilities to a credal partition.

    Parameters
    ----------
    partition : CredalPartition or array-like
        Credal partition, which is returned; labels of shape (n_samples,), where -1 means noise if 0 occurs too, as
        in scikit-learn's clusterers; or probabilities of shape (n_samples, n_clusters).
    name : str, default="partition"
        Name of the argument in error messages.

    Returns
    -------
    CredalPartition
        Credal partition.

    Examples
    --------
    >>> from evlearn.partition.reading import as_credal
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
    """Return True if -1 means noise: if 0 occurs too, unlike in the classes -1 and 1."""
    return bool(np.issubdtype(labels.dtype, np.integer) and (labels == -1).any() and (labels == 0).any())
