"""The same clusters under the same numbers: one partition numbered like another."""

from collections.abc import Sequence

import numpy as np

from evlearn.partition.credal_partition import CredalPartition
from evlearn.utils.typing import FloatArray


def align_clusters(partition: CredalPartition, reference: CredalPartition) -> CredalPartition:
    """Number the clusters of a partition like those of another that they share most samples with.

    Parameters
    ----------
    partition : CredalPartition
        The partition to be renumbered.
    reference : CredalPartition
        A partition of the same samples, in the same order. It may have more clusters or fewer.

    Returns
    -------
    CredalPartition
        The same mass functions; clusters without a counterpart come last. If the reference has more clusters, the
        clusters have the order of their counterparts, but are numbered from 0 without gaps.

    Notes
    -----
    The order maximises the sum of products of plausibilities over samples and clusters.

    Examples
    --------
    >>> from evlearn.partition import CredalPartition, align_clusters
    >>> one, other = (
    ...     CredalPartition.from_hard([0, 0, 1, 1]),
    ...     CredalPartition.from_hard([1, 1, 0, 0]),
    ... )
    >>> align_clusters(other, one).to_hard()
    array([0, 0, 1, 1])
    """
    if partition.n_samples != reference.n_samples:
        raise ValueError(
            f"there are {partition.n_samples} and {reference.n_samples} samples; both must describe the same."
        )
    refuse_other_names([partition, reference])
    # Imported here, because it takes longer than the rest of `import evlearn`.
    from scipy.optimize import linear_sum_assignment

    shared = _plausibilities(reference).T @ _plausibilities(partition)
    wanted, found = linear_sum_assignment(shared, maximize=True)
    order = [int(one) for _, one in sorted(zip(wanted, found, strict=True))]
    order += [k for k in range(partition.n_clusters) if k not in order]
    return partition.permute_clusters(order)


def refuse_other_names(partitions: Sequence[CredalPartition]) -> None:
    """Raise a ValueError if two partitions have names of samples, and these differ or are in another order."""
    named = [partition for partition in partitions if partition.sample_index is not None]
    for partition in named[1:]:
        if partition.sample_index is named[0].sample_index or partition.sample_names == named[0].sample_names:
            continue
        raise ValueError(
            "partitions are about different samples, or have them in another order, by their sample_names; choose "
            "the same rows of all partitions, in the same order."
        )


def _plausibilities(partition: CredalPartition) -> FloatArray:
    return partition.to_possibilistic().astype(np.float64, copy=False)


__all__ = ["align_clusters"]
