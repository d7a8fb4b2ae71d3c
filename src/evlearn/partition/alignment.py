"""Matching of cluster numbers between two partitions."""

from collections.abc import Sequence

import numpy as np

from evlearn.partition.credal_partition import CredalPartition
from evlearn.utils.typing import FloatArray


def align_clusters(partition: CredalPartition, reference: CredalPartition) -> CredalPartition:
    """Renumber the clusters of a partition to match those of a reference partition.

    Parameters
    ----------
    partition : CredalPartition
        Partition whose clusters are renumbered.
    reference : CredalPartition
        Partition of the same samples, in the same order. Its number of clusters may differ.

    Returns
    -------
    CredalPartition
        The same mass functions; clusters without a counterpart come last. If the reference has more clusters, the
        clusters are in the order of their counterparts and numbered consecutively from 0.

    Notes
    -----
    The order maximizes the sum of products of plausibilities over samples and clusters.

    Examples
    --------
    >>> from evlearn.partition import CredalPartition, align_clusters
    >>> reference = CredalPartition.from_hard([0, 0, 1, 1])
    >>> partition = CredalPartition.from_hard([1, 1, 0, 0])
    >>> align_clusters(partition, reference).to_hard()
    array([0, 0, 1, 1])
    """
    if partition.n_samples != reference.n_samples:
        raise ValueError(
            f"there are {partition.n_samples} and {reference.n_samples} samples; both partitions must "
            "have the same samples."
        )
    check_sample_names([partition, reference])
    # A local import, because it takes longer than the rest of `import evlearn`.
    from scipy.optimize import linear_sum_assignment

    shared = _plausibilities(reference).T @ _plausibilities(partition)
    reference_numbers, numbers = linear_sum_assignment(shared, maximize=True)
    order = [int(number) for _, number in sorted(zip(reference_numbers, numbers, strict=True))]
    order += [k for k in range(partition.n_clusters) if k not in order]
    return partition.permute_clusters(order)


def check_sample_names(partitions: Sequence[CredalPartition]) -> None:
    """Raise a ValueError if the sample names of two partitions differ or are in another order."""
    partitions_with_names = [partition for partition in partitions if partition.sample_index is not None]
    for partition in partitions_with_names[1:]:
        if (
            partition.sample_index is partitions_with_names[0].sample_index
            or partition.sample_names == partitions_with_names[0].sample_names
        ):
            continue
        raise ValueError(
            "the sample_names of the partitions differ or are in another order; select the same samples from all "
            "partitions, in the same order."
        )


def _plausibilities(partition: CredalPartition) -> FloatArray:
    return partition.to_possibilistic().astype(np.float64, copy=False)
