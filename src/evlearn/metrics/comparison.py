"""Many partitions of the same samples side by side: a table, and the similarities between all of them."""

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
    sampled_credal_rand_index,
)
from evlearn.partition import CredalPartition, as_credal
from evlearn.utils.typing import BoolArray, FloatArray, RandomSeed
from evlearn.utils.validation import check_integer

_ALL_PAIRS_UP_TO = 2000
_SAMPLED_PAIRS = 200_000
_ROUNDING = 1e-9


@dataclass(frozen=True)
class PartitionComparison:
    """What `compare_partitions` found.

    Attributes
    ----------
    names : tuple of str
        The names of the partitions.
    similarity : ndarray of shape (n_partitions, n_partitions)
        The credal Rand index of each pair of partitions: 1 if they say the same about all pairs of samples.
    nonspecificity : ndarray of shape (n_partitions,)
        The share of pairs of samples about which each of them says nothing.
    consistency : ndarray of shape (n_partitions,) or None
        How far each of them does not contradict the reference; None without a reference.
    adjusted_rand : ndarray of shape (n_partitions,) or None
        The adjusted Rand index of the most plausible clusters with the reference; None without a reference.
    n_clusters : tuple of int
        The number of clusters of each.
    """

    names: tuple[str, ...]
    similarity: FloatArray
    nonspecificity: FloatArray
    consistency: FloatArray | None
    adjusted_rand: FloatArray | None
    n_clusters: tuple[int, ...]

    def dominated(self) -> BoolArray:
        """Which partitions are worse than another one in every respect.

        Returns
        -------
        ndarray of bool of shape (n_partitions,)
            Whether another is at least as consistent and as specific, and better in one of the two.
        """
        if self.consistency is None:
            raise ValueError("without a reference there is no consistency; give reference to compare_partitions.")
        return dominated(self.nonspecificity, self.consistency)

    def map(self) -> FloatArray:
        """Places in the plane whose distances are nearly the dissimilarities of the partitions.

        Returns
        -------
        ndarray of shape (n_partitions, 2)
            Classical multidimensional scaling of one minus the similarities: the first axis shows the most.
        """
        squares = np.square(1 - self.similarity)
        centring = np.eye(len(squares)) - 1 / len(squares)
        values, vectors = np.linalg.eigh(-0.5 * centring @ squares @ centring)
        places = np.zeros((len(squares), 2))
        kept = min(2, len(squares))
        places[:, :kept] = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :kept]
        # The sign of an axis is arbitrary: the partition that is farthest out is on the right, and above.
        outermost = places[np.abs(places).argmax(axis=0), [0, 1]]
        return np.asarray(places * np.where(outermost < 0, -1, 1))

    def to_columns(self) -> dict[str, Any]:
        """The table as columns, for any kind of frame.

        Returns
        -------
        dict of str to list
            The columns by name, for instance for ``pandas.DataFrame``.
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
        """The table as text."""
        columns = self.to_columns()
        cells = [[name, *(_text(value) for value in values)] for name, values in columns.items()]
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
        The partitions by name: credal ones, labels, or probabilities; see `as_credal`.
    reference : CredalPartition, array-like or None, default=None
        What they are held against, such as the true classes.
    distance : {"jousselme", "belief"}, default="jousselme"
        The distance behind the credal Rand index.
    n_pairs : int or None, default=None
        How many pairs of samples to draw for the similarities. None means all pairs of up to 2000 samples, and
        200,000 beyond.
    random_state : int, RandomState instance or None, default=None
        The seed, for results that can be repeated.

    Returns
    -------
    PartitionComparison
        The table and the similarities.

    See Also
    --------
    evlearn.plotting.PartitionMapDisplay : The similarities as a map.
    evlearn.plotting.DominanceDisplay : Consistency against nonspecificity.

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
    members = [as_credal(one, f"partitions[{name!r}]") for name, one in partitions.items()]
    truth = None if reference is None else as_credal(reference, "reference")
    _require_same_samples(names, members, truth)
    return PartitionComparison(
        names,
        _similarities(members, distance, n_pairs, random_state),
        np.array([nonspecificity_index(one) for one in members]),
        None if truth is None else np.array([consistency_index(one, truth) for one in members]),
        None
        if truth is None
        else np.array([adjusted_rand_score(truth.to_hard(), one.to_hard()) for one in members]),
        tuple(one.n_clusters for one in members),
    )


def dominated(nonspecificities: FloatArray, consistencies: FloatArray) -> BoolArray:
    """Whether another partition is at least as good in both respects, and better in one, beyond rounding."""
    less_open = nonspecificities[:, None] - nonspecificities  # row: the one that may be dominated
    more_consistent = consistencies - consistencies[:, None]
    not_worse = (less_open >= -_ROUNDING) & (more_consistent >= -_ROUNDING)
    better = (less_open > _ROUNDING) | (more_consistent > _ROUNDING)
    return np.asarray((not_worse & better).any(axis=1))


def _similarities(
    members: list[CredalPartition],
    distance: Literal["jousselme", "belief"],
    n_pairs: int | None,
    random_state: RandomSeed,
) -> FloatArray:
    n_samples = members[0].n_samples
    sampled = _SAMPLED_PAIRS if n_pairs is None and n_samples > _ALL_PAIRS_UP_TO else n_pairs
    similarity = np.eye(len(members))
    for i, one in enumerate(members):
        for j, other in enumerate(members[:i]):
            if sampled is None:
                value = credal_rand_index(one, other, distance=distance)
            else:
                value = sampled_credal_rand_index(
                    one, other, distance=distance, n_pairs=sampled, random_state=random_state
                ).value
            similarity[i, j] = similarity[j, i] = value
    return similarity


def _require_same_samples(
    names: tuple[str, ...], members: list[CredalPartition], truth: CredalPartition | None
) -> None:
    sizes = dict(zip(names, (one.n_samples for one in members), strict=True))
    if truth is not None:
        sizes["reference"] = truth.n_samples
    if len(set(sizes.values())) > 1:
        raise ValueError(f"all partitions must describe the same samples, got {sizes}.")


def _text(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


__all__ = ["PartitionComparison", "compare_partitions", "dominated"]
