"""Comparison of several partitions of the same samples: a table of indices and pairwise similarities."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import adjusted_rand_score

from evlearn.metrics.pairwise import (
    consistency_index,
    credal_rand_index,
    nonspecificity_index,
)
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import as_credal
from evlearn.utils.typing import BoolArray, FloatArray, RandomSeed
from evlearn.utils.validation import check_integer

_MAX_SAMPLES_FOR_ALL_PAIRS = 2000
_N_SAMPLED_PAIRS = 200_000
_ROUNDING = 1e-9


@dataclass(frozen=True)
class PartitionComparison:
    """Result of `compare_partitions`. Prints as a table.

    Attributes
    ----------
    names : tuple of str
        Names of the partitions.
    similarity : ndarray of shape (n_partitions, n_partitions)
        Credal Rand index of each pair of partitions: 1 if their mass functions are equal for all pairs of samples.
    nonspecificity : ndarray of shape (n_partitions,)
        Nonspecificity index of each partition: the mean mass that pairs of samples leave undecided.
    consistency : ndarray of shape (n_partitions,) or None
        Consistency index of each partition with the reference; None without a reference.
    adjusted_rand : ndarray of shape (n_partitions,) or None
        Adjusted Rand index of the most plausible clusters with the reference; None without a reference.
    n_clusters : tuple of int
        Number of clusters of each partition.
    """

    names: tuple[str, ...]
    similarity: FloatArray
    nonspecificity: FloatArray
    consistency: FloatArray | None
    adjusted_rand: FloatArray | None
    n_clusters: tuple[int, ...]

    def dominated(self) -> BoolArray:
        """Return True for partitions that are dominated by another partition.

        Returns
        -------
        ndarray of bool of shape (n_partitions,)
            True if another partition is at least as consistent and as specific, and better in one of both.
        """
        if self.consistency is None:
            raise ValueError("there is no consistency without a reference; pass reference to compare_partitions.")
        return dominated(self.nonspecificity, self.consistency)

    def map(self) -> FloatArray:
        """Return coordinates of the partitions in the plane, by classical multidimensional scaling.

        Returns
        -------
        ndarray of shape (n_partitions, 2)
            Coordinates. Distances approximate 1 minus the similarities; the first axis explains most of them.
        """
        squares = np.square(1 - self.similarity)
        centering = np.eye(len(squares)) - 1 / len(squares)
        values, vectors = np.linalg.eigh(-0.5 * centering @ squares @ centering)
        coordinates = np.zeros((len(squares), 2))
        n_axes = min(2, len(squares))
        coordinates[:, :n_axes] = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :n_axes]
        # Axes have an arbitrary sign: the largest absolute coordinate becomes positive.
        outermost = coordinates[np.abs(coordinates).argmax(axis=0), [0, 1]]
        return np.asarray(coordinates * np.where(outermost < 0, -1, 1))

    def to_columns(self) -> dict[str, Any]:
        """Return the table as named columns, for any table library.

        Returns
        -------
        dict of str to list
            Columns by name, for example for ``pandas.DataFrame``.
        """
        columns: dict[str, Any] = {"partition": list(self.names), "clusters": list(self.n_clusters)}
        if self.adjusted_rand is not None and self.consistency is not None:
            columns["ARI"] = self.adjusted_rand.tolist()
            columns["consistency"] = self.consistency.tolist()
        columns["nonspecificity"] = self.nonspecificity.tolist()
        if self.consistency is not None:
            columns["dominated"] = self.dominated().tolist()
        return columns

    def __str__(self) -> str:
        """Return the table as text."""
        columns = self.to_columns()
        cells = [[name, *(_format_cell(value) for value in values)] for name, values in columns.items()]
        widths = [max(map(len, column)) for column in cells]
        rows = zip(*cells, strict=True)
        aligned = (
            "  ".join(
                cell.ljust(width) if number == 0 else cell.rjust(width)
                for number, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        )
        return "\n".join(aligned)

    __repr__ = __str__


def compare_partitions(
    partitions: Mapping[str, Any],
    reference: CredalPartition | ArrayLike | None = None,
    *,
    distance: Literal["jousselme", "belief"] = "jousselme",
    n_pairs: int | None = None,
    random_state: RandomSeed = None,
) -> PartitionComparison:
    """Compare partitions of the same samples with each other, and with a reference.

    Parameters
    ----------
    partitions : dict of str to CredalPartition or array-like
        Partitions by name: credal partitions, labels (-1 means noise if 0 occurs too) or probabilities.
    reference : CredalPartition, array-like or None, default=None
        Reference for the consistency and the adjusted Rand index, such as the true classes.
    distance : {"jousselme", "belief"}, default="jousselme"
        Distance of the credal Rand index.
    n_pairs : int or None, default=None
        Number of pairs of samples to draw for the similarities. None means all pairs for up to 2,000 samples, and
        200,000 pairs for more samples.
    random_state : int, RandomState instance or None, default=None
        Seed of the drawn pairs. Pass an int for reproducible results.

    Returns
    -------
    PartitionComparison
        Table and similarities.

    See Also
    --------
    evlearn.plotting.ComparisonDisplay : Map of the similarities, or plot of consistency and nonspecificity.

    Examples
    --------
    >>> from evlearn.metrics import compare_partitions
    >>> from evlearn.partition import CredalPartition
    >>> torn = CredalPartition.from_rough([[1, 0], [1, 1], [0, 1], [0, 1]])
    >>> compare_partitions(
    ...     {"right": [0, 0, 1, 1], "wrong": [0, 1, 1, 1], "torn": torn}, [0, 0, 1, 1]
    ... )
    partition  clusters   ARI  consistency  nonspecificity  dominated
    right             2  1.00         1.00            0.00      False
    wrong             2  0.00         0.50            0.00       True
    torn              2  1.00         1.00            0.50       True
    """
    if not isinstance(partitions, Mapping) or len(partitions) == 0:
        raise ValueError(
            "partitions must be a dictionary of partitions by name, such as {'ECM': model.credal_partition_}, got "
            f"{type(partitions).__name__}{'' if partitions else ' without entries'}."
        )
    if n_pairs is not None:
        check_integer("n_pairs", n_pairs, 2)
    names = tuple(str(name) for name in partitions)
    credal_partitions = [as_credal(value, f"partitions[{name!r}]") for name, value in partitions.items()]
    reference_partition = None if reference is None else as_credal(reference, "reference")
    _check_same_samples(names, credal_partitions, reference_partition)
    return PartitionComparison(
        names,
        _similarities(credal_partitions, distance, n_pairs, random_state),
        np.array([nonspecificity_index(partition) for partition in credal_partitions]),
        None
        if reference_partition is None
        else np.array([consistency_index(partition, reference_partition) for partition in credal_partitions]),
        None
        if reference_partition is None
        else np.array(
            [
                adjusted_rand_score(reference_partition.to_hard(), partition.to_hard())
                for partition in credal_partitions
            ]
        ),
        tuple(partition.n_clusters for partition in credal_partitions),
    )


def dominated(nonspecificities: FloatArray, consistencies: FloatArray) -> BoolArray:
    """Return True for partitions that are dominated by another partition, beyond rounding."""
    nonspecificity_gains = nonspecificities[:, None] - nonspecificities  # row: dominated partition
    consistency_gains = consistencies - consistencies[:, None]
    is_not_worse = (nonspecificity_gains >= -_ROUNDING) & (consistency_gains >= -_ROUNDING)
    is_better = (nonspecificity_gains > _ROUNDING) | (consistency_gains > _ROUNDING)
    return np.asarray((is_not_worse & is_better).any(axis=1))


def _similarities(
    partitions: list[CredalPartition],
    distance: Literal["jousselme", "belief"],
    n_pairs: int | None,
    random_state: RandomSeed,
) -> FloatArray:
    n_samples = partitions[0].n_samples
    n_sampled = _N_SAMPLED_PAIRS if n_pairs is None and n_samples > _MAX_SAMPLES_FOR_ALL_PAIRS else n_pairs
    similarity = np.eye(len(partitions))
    for i, first in enumerate(partitions):
        for j, second in enumerate(partitions[:i]):
            similarity[i, j] = similarity[j, i] = credal_rand_index(
                first, second, distance=distance, n_pairs=n_sampled, random_state=random_state
            )
    return similarity


def _check_same_samples(
    names: tuple[str, ...], partitions: list[CredalPartition], reference: CredalPartition | None
) -> None:
    sizes = dict(zip(names, (partition.n_samples for partition in partitions), strict=True))
    if reference is not None:
        sizes["reference"] = reference.n_samples
    if len(set(sizes.values())) > 1:
        raise ValueError(f"all partitions must have the same samples, got numbers of samples {sizes}.")


def _format_cell(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)
