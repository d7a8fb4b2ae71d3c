r"""Comparison of partitions by pairs of samples: consistency, nonspecificity and the credal Rand index.

Nonspecificity and consistency are sums of bilinear forms over pairs. They can be computed without the pairs.
With :math:`s=\sum_im_i` and symmetric :math:`X`,

.. math:: \sum_{i<j}m_i^TXm_j=\tfrac12\Big(s^TXs-\sum_im_i^TXm_i\Big)

and with :math:`T=\sum_im_im_i'^T`,

.. math::

   \sum_{i<j}(m_i^TXm_j)(m_i'^TYm'_j)
   =\tfrac12\Big(\langle XTY,T\rangle-\sum_i(m_i^TXm_i)(m_i'^TYm'_i)\Big).

So both need one pass over the samples. The credal Rand index is a mean of distances, which has no such form. It is
computed from all pairs, in tiles that fit into the cache, or from random pairs.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from evlearn.partition import CredalPartition
from evlearn.partition.alignment import check_sample_names
from evlearn.partition.conversions import read_labels
from evlearn.partition.relational import PairMasses, masses_of_block, masses_of_pairs, pair_forms
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, RandomSeed
from evlearn.utils.validation import check_integer

_TILE = 512


class SampledIndex(NamedTuple):
    """Index estimated from random pairs.

    Attributes
    ----------
    value : float
        Estimate of the index.
    standard_error : float
        Standard error of the estimate.
    """

    value: float
    standard_error: float


def nonspecificity_index(partition: CredalPartition | npt.ArrayLike) -> float:
    r"""Compute the mean mass that pairs of samples leave undecided.

    .. math:: NS=\frac{1}{N_p}\sum_{i<j}[m_{ij}(\emptyset)+m_{ij}(\Theta)]

    Parameters
    ----------
    partition : CredalPartition or array-like of labels
        Partition of at least 2 samples.

    Returns
    -------
    float
        From 0 (all pairs of samples are decided: same cluster or not) to 1 (no pair is decided).

    Examples
    --------
    >>> from evlearn.metrics import nonspecificity_index
    >>> nonspecificity_index([0, 0, 1, 1])
    0.0
    """
    credal_partition = _as_partition(partition, "partition")
    _check_has_pairs(credal_partition)
    total = np.zeros(len(credal_partition.focal_sets))
    gram = np.zeros((len(total), len(total)))
    for block in row_blocks(credal_partition.n_samples):
        masses = _mass_block(credal_partition, block)
        total += masses.sum(axis=0)
        gram += masses.T @ masses
    empty, _, _, unknown = pair_forms(credal_partition.focal_sets, total)
    form = empty + unknown
    return float((total @ form @ total - (form * gram).sum()) / _n_ordered_pairs(credal_partition))


def consistency_index(first: CredalPartition | npt.ArrayLike, second: CredalPartition | npt.ArrayLike) -> float:
    r"""Compute 1 minus the mean conflict between 2 partitions over pairs of samples.

    .. math:: CI=1-\frac{1}{N_p}\sum_{i<j}\kappa(m_{ij},m'_{ij})

    For hard partitions it is the Rand index. A vacuous partition is consistent with all others, so compare
    `nonspecificity_index`, too: a better partition is more consistent and less nonspecific.

    Parameters
    ----------
    first, second : CredalPartition or array-like of labels
        Partitions of the same samples, in the same order. Labels, such as the true classes, are converted to a
        hard partition, with -1 as an ordinary label; for noise use `evlearn.CredalPartition.from_hard`.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from evlearn.metrics import consistency_index
    >>> consistency_index([0, 0, 1, 1], ["a", "a", "b", "b"])
    1.0
    """
    # Labels are not converted, because their partition would have one column per class.
    if isinstance(first, CredalPartition) and not isinstance(second, CredalPartition):
        return _consistency_with_labels(first, _read_labels(second, "second"))
    if isinstance(second, CredalPartition) and not isinstance(first, CredalPartition):
        return _consistency_with_labels(second, _read_labels(first, "first"))
    return _consistency_of_partitions(*_as_partitions(first, second))


def _consistency_of_partitions(first: CredalPartition, second: CredalPartition) -> float:
    total, total_ = np.zeros(len(first.focal_sets)), np.zeros(len(second.focal_sets))
    cross = np.zeros((len(total), len(total_)))
    self_conflict = 0.0
    for block in row_blocks(first.n_samples):
        masses, masses_ = _mass_block(first, block), _mass_block(second, block)
        total += masses.sum(axis=0)
        total_ += masses_.sum(axis=0)
        cross += masses.T @ masses_
        self_pairs = masses_of_pairs(masses, masses, first.focal_sets)
        self_pairs_ = masses_of_pairs(masses_, masses_, second.focal_sets)
        self_conflict += float(_conflict(self_pairs, self_pairs_).sum())
    empty_form, same_form, different_form, _ = pair_forms(first.focal_sets, total)
    empty_form_, same_form_, different_form_, _ = pair_forms(second.focal_sets, total_)
    conflict = (
        total @ empty_form @ total
        + total_ @ empty_form_ @ total_
        - _inner_product(empty_form, cross, empty_form_)
        + _inner_product(same_form, cross, different_form_)
        + _inner_product(different_form, cross, same_form_)
    )
    return float(1 - (conflict - self_conflict) / _n_ordered_pairs(first))


def _consistency_with_labels(partition: CredalPartition, labels: npt.NDArray[Any]) -> float:
    """Compute the index from sums per class, so that the cost hardly depends on the number of classes."""
    _check_same_samples(partition.n_samples, len(labels))
    _check_has_pairs(partition)
    classes, codes = np.unique(labels, return_inverse=True)
    width = len(partition.focal_sets)
    by_class = np.zeros((len(classes), width))
    gram = np.zeros((width, width))
    for block in row_blocks(partition.n_samples):
        masses = _mass_block(partition, block)
        for column in range(width):
            by_class[:, column] += np.bincount(codes[block], weights=masses[:, column], minlength=len(classes))
        gram += masses.T @ masses
    total = by_class.sum(axis=0)
    empty_form, same_form, different_form, _ = pair_forms(partition.focal_sets, total)
    # Pairs of the same class conflict with "different", other pairs with "same", and all pairs with the empty set.
    class_form = different_form - same_form
    conflict = total @ (empty_form + same_form) @ total + ((by_class @ class_form) * by_class).sum()
    self_conflict = ((empty_form + different_form) * gram).sum()
    return float(1 - (conflict - self_conflict) / _n_ordered_pairs(partition))


def credal_rand_index(
    first: CredalPartition | npt.ArrayLike,
    second: CredalPartition | npt.ArrayLike,
    *,
    distance: Literal["jousselme", "belief"] = "jousselme",
    n_pairs: int | None = None,
    random_state: RandomSeed = None,
) -> float:
    r"""Compute the similarity of two partitions: the Rand index, extended to credal partitions.

    .. math:: \rho_S=1-\frac{1}{N_p}\sum_{i<j}d(m_{ij},m'_{ij})

    One minus the index is a metric. By default all pairs of samples are visited, in little memory.

    Parameters
    ----------
    first, second : CredalPartition or array-like of labels
        Partitions of the same samples, in the same order. Labels are converted to a hard partition.
    distance : {"jousselme", "belief"}, default="jousselme"
        Distance between the mass functions of pairs.
    n_pairs : int or None, default=None
        Number of pairs to draw with replacement, which is faster for many samples. None means all pairs.
    random_state : int, RandomState instance or None, default=None
        Seed of the drawn pairs. Pass an int for reproducible results.

    Returns
    -------
    float
        From 0 to 1; 1 only if both partitions have the same mass functions for all pairs.

    Examples
    --------
    >>> from evlearn.metrics import credal_rand_index
    >>> round(credal_rand_index([0, 0, 1, 1], [0, 0, 0, 1]), 3)
    0.5
    """
    if n_pairs is not None:
        check_integer("n_pairs", n_pairs, 2)
        return estimate_credal_rand_index(
            first, second, n_pairs=n_pairs, distance=distance, random_state=random_state
        ).value
    first_partition, second_partition = _as_partitions(first, second)
    measure = _distance_function(distance)
    total = 0.0
    for rows in row_blocks(first_partition.n_samples, _TILE):
        for columns in row_blocks(first_partition.n_samples, _TILE):
            if columns.start >= rows.start:
                pairs, pairs_ = (
                    masses_of_block(_mass_block(side, rows), _mass_block(side, columns), side.focal_sets)
                    for side in (first_partition, second_partition)
                )
                distances = measure(pairs, pairs_)
                total += float(np.triu(distances, k=1).sum() if rows == columns else distances.sum())
    return 1 - 2 * total / _n_ordered_pairs(first_partition)


def estimate_credal_rand_index(
    first: CredalPartition | npt.ArrayLike,
    second: CredalPartition | npt.ArrayLike,
    *,
    n_pairs: int,
    distance: Literal["jousselme", "belief"] = "jousselme",
    random_state: RandomSeed = None,
) -> SampledIndex:
    """Estimate `credal_rand_index` and its standard error from at least 2 random pairs."""
    first_partition, second_partition = _as_partitions(first, second)
    measure = _distance_function(distance)
    random = check_random_state(random_state)
    total = squares = 0.0
    for block in row_blocks(n_pairs):
        size = block.stop - block.start
        left = random.randint(first_partition.n_samples, size=size)
        right = random.randint(first_partition.n_samples - 1, size=size)
        right += right >= left
        pairs = np.column_stack([left, right])
        distances = measure(first_partition.relational(pairs), second_partition.relational(pairs)).astype(
            np.float64
        )
        total += float(distances.sum())
        squares += float((distances**2).sum())
    mean = total / n_pairs
    variance = max(squares / n_pairs - mean**2, 0) * n_pairs / (n_pairs - 1)
    return SampledIndex(1 - mean, float(np.sqrt(variance / n_pairs)))


def _jousselme_distance(first: PairMasses, second: PairMasses) -> FloatArray:
    # Jaccard weights on the frame {s, not s}: 1 on the diagonal, 1/2 between a singleton and the frame.
    d_empty, d_same, d_different, d_unknown = (a - b for a, b in zip(first, second, strict=True))
    squared = d_empty**2
    squared += d_same * (d_same + d_unknown)
    squared += d_different * (d_different + d_unknown)
    squared += d_unknown**2
    squared /= 2
    return np.sqrt(np.maximum(squared, 0, out=squared), out=squared)


def _belief_distance(first: PairMasses, second: PairMasses) -> FloatArray:
    # The belief of the frame is 1 minus the mass of the empty set.
    parts = (np.abs(a - b) for a, b in zip(first[:3], second[:3], strict=True))
    return np.asarray(sum(parts)) / 2


def _distance_function(name: str) -> Callable[[PairMasses, PairMasses], FloatArray]:
    distances = {"jousselme": _jousselme_distance, "belief": _belief_distance}
    if name not in distances:
        raise ValueError(f"distance must be one of {list(distances)}, got {name!r}.")
    return distances[name]


def _conflict(first: PairMasses, second: PairMasses) -> FloatArray:
    return (
        first.empty
        + second.empty
        - first.empty * second.empty
        + first.same_cluster * second.different
        + first.different * second.same_cluster
    )


def _inner_product(form: FloatArray, cross: FloatArray, other_form: FloatArray) -> float:
    return float(((form @ cross @ other_form) * cross).sum())


def _mass_block(partition: CredalPartition, block: slice) -> FloatArray:
    """Return rows of the masses as float64."""
    return np.asarray(partition.mass_table[block], dtype=np.float64)


def _n_ordered_pairs(partition: CredalPartition) -> float:
    return float(partition.n_samples) * (partition.n_samples - 1)


def _as_partition(partition: CredalPartition | npt.ArrayLike, name: str) -> CredalPartition:
    if isinstance(partition, CredalPartition):
        return partition
    return CredalPartition.from_hard(_read_labels(partition, name))


def _read_labels(labels: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    values = read_labels(labels, name)
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be a CredalPartition or one label for each sample, got shape {values.shape}; "
            "for memberships or probabilities use CredalPartition.from_fuzzy."
        )
    return values


def _as_partitions(
    first: CredalPartition | npt.ArrayLike, second: CredalPartition | npt.ArrayLike
) -> tuple[CredalPartition, CredalPartition]:
    first_partition, second_partition = _as_partition(first, "first"), _as_partition(second, "second")
    _check_same_samples(first_partition.n_samples, second_partition.n_samples)
    check_sample_names([first_partition, second_partition])
    _check_has_pairs(first_partition)
    return first_partition, second_partition


def _check_same_samples(first: int, second: int) -> None:
    if first != second:
        raise ValueError(f"there are {first} and {second} samples; both partitions must have the same samples.")


def _check_has_pairs(partition: CredalPartition) -> None:
    if partition.n_samples < 2:
        raise ValueError("a partition of one sample has no pairs to compare; at least 2 samples are required.")
