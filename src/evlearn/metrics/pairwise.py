r"""Comparing partitions through pairs of samples: consistency, nonspecificity and the credal Rand index.

Nonspecificity and consistency are sums over pairs of bilinear forms, and such sums do not need the pairs.
With :math:`s=\sum_im_i` and symmetric :math:`X`,

.. math:: \sum_{i<j}m_i^TXm_j=\tfrac12\Big(s^TXs-\sum_im_i^TXm_i\Big)

and with :math:`T=\sum_im_im_i'^T`,

.. math::

   \sum_{i<j}(m_i^TXm_j)(m_i'^TYm'_j)
   =\tfrac12\Big(\langle XTY,T\rangle-\sum_i(m_i^TXm_i)(m_i'^TYm'_i)\Big).

So both take one pass over the samples. The credal Rand index averages a distance, which does not split like that;
it visits all pairs, in tiles that stay in cache, or a sample of them.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from evlearn.partition import CredalPartition
from evlearn.partition.alignment import refuse_other_names
from evlearn.partition.conversions import read_labels
from evlearn.partition.relational import PairMasses, masses_of_block, masses_of_pairs, pair_forms
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, RandomSeed

_TILE = 512


class SampledIndex(NamedTuple):
    """An index estimated from a sample of pairs.

    Attributes
    ----------
    value : float
        The estimate.
    standard_error : float
        Its standard error.
    """

    value: float
    standard_error: float


def nonspecificity_index(partition: CredalPartition | npt.ArrayLike) -> float:
    r"""The average mass that pairs of samples leave undecided.

    .. math:: NS=\frac{1}{N_p}\sum_{i<j}[m_{ij}(\emptyset)+m_{ij}(\Theta)]

    Parameters
    ----------
    partition : CredalPartition or array-like of labels
        The partition.

    Returns
    -------
    float
        From 0 (it is known of every pair whether it is in one cluster) to 1 (it is known of none).

    Examples
    --------
    >>> from evlearn.metrics import nonspecificity_index
    >>> nonspecificity_index([0, 0, 1, 1])
    0.0
    """
    read = _read(partition, "partition")
    _require_pairs(read)
    total = np.zeros(len(read.focal_sets))
    gram = np.zeros((len(total), len(total)))
    for block in row_blocks(read.n_samples):
        masses = _rows(read, block)
        total += masses.sum(axis=0)
        gram += masses.T @ masses
    empty, _, _, unknown = pair_forms(read.focal_sets, total)
    form = empty + unknown
    return float((total @ form @ total - (form * gram).sum()) / _ordered_pairs(read))


def consistency_index(first: CredalPartition | npt.ArrayLike, second: CredalPartition | npt.ArrayLike) -> float:
    r"""One minus the average conflict between what two partitions say about pairs of samples.

    .. math:: CI=1-\frac{1}{N_p}\sum_{i<j}\kappa(m_{ij},m'_{ij})

    Between hard partitions it is the Rand index. A partition that says nothing is consistent with everything, so
    look at `nonspecificity_index` too: better means more consistent and less nonspecific.

    Parameters
    ----------
    first, second : CredalPartition or array-like of labels
        The partitions of the same samples, in the same order. Labels, such as the true classes, become a hard
        partition, in which -1 is a label like any other; for noise use `evlearn.CredalPartition.from_hard`.

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
    # Labels are taken as they are: as a partition they would need a column for each class.
    if isinstance(first, CredalPartition) and not isinstance(second, CredalPartition):
        return _consistency_with_labels(first, _read_labels(second, "second"))
    if isinstance(second, CredalPartition) and not isinstance(first, CredalPartition):
        return _consistency_with_labels(second, _read_labels(first, "first"))
    return _consistency_of_two(*_read_both(first, second))


def _consistency_of_two(one: CredalPartition, other: CredalPartition) -> float:
    total, total_ = np.zeros(len(one.focal_sets)), np.zeros(len(other.focal_sets))
    cross = np.zeros((len(total), len(total_)))
    conflict_with_itself = 0.0
    for block in row_blocks(one.n_samples):
        masses, masses_ = _rows(one, block), _rows(other, block)
        total += masses.sum(axis=0)
        total_ += masses_.sum(axis=0)
        cross += masses.T @ masses_
        itself = masses_of_pairs(masses, masses, one.focal_sets)
        itself_ = masses_of_pairs(masses_, masses_, other.focal_sets)
        conflict_with_itself += float(_conflict(itself, itself_).sum())
    empty, same, different, _ = pair_forms(one.focal_sets, total)
    empty_, same_, different_, _ = pair_forms(other.focal_sets, total_)
    conflict = (
        total @ empty @ total
        + total_ @ empty_ @ total_
        - _inner(empty, cross, empty_)
        + _inner(same, cross, different_)
        + _inner(different, cross, same_)
    )
    return float(1 - (conflict - conflict_with_itself) / _ordered_pairs(one))


def _consistency_with_labels(partition: CredalPartition, labels: npt.NDArray[Any]) -> float:
    """Class by class, so that many classes cost no more than few."""
    _require_same_samples(partition.n_samples, len(labels))
    _require_pairs(partition)
    classes, codes = np.unique(labels, return_inverse=True)
    width = len(partition.focal_sets)
    by_class = np.zeros((len(classes), width))
    gram = np.zeros((width, width))
    for block in row_blocks(partition.n_samples):
        masses = _rows(partition, block)
        for column in range(width):
            by_class[:, column] += np.bincount(codes[block], weights=masses[:, column], minlength=len(classes))
        gram += masses.T @ masses
    total = by_class.sum(axis=0)
    empty, same, different, _ = pair_forms(partition.focal_sets, total)
    # A pair of one class conflicts with "different", a pair of two classes with "same"; either with the empty set.
    within = different - same
    conflict = total @ (empty + same) @ total + ((by_class @ within) * by_class).sum()
    conflict_with_itself = ((empty + different) * gram).sum()
    return float(1 - (conflict - conflict_with_itself) / _ordered_pairs(partition))


def credal_rand_index(
    first: CredalPartition | npt.ArrayLike,
    second: CredalPartition | npt.ArrayLike,
    *,
    distance: Literal["jousselme", "belief"] = "jousselme",
) -> float:
    r"""How similar two partitions are: the Rand index, extended to credal partitions.

    .. math:: \rho_S=1-\frac{1}{N_p}\sum_{i<j}d(m_{ij},m'_{ij})

    All pairs of samples are visited, in little memory. One minus the index is a metric.

    Parameters
    ----------
    first, second : CredalPartition or array-like of labels
        The partitions of the same samples, in the same order. Labels become a hard partition.
    distance : {"jousselme", "belief"}, default="jousselme"
        The distance between pairwise mass functions.

    Returns
    -------
    float
        From 0 to 1; 1 only if both partitions say the same about every pair.

    See Also
    --------
    sampled_credal_rand_index : The same from a sample of pairs, for many samples.

    Examples
    --------
    >>> from evlearn.metrics import credal_rand_index
    >>> round(credal_rand_index([0, 0, 1, 1], [0, 0, 0, 1]), 3)
    0.5
    """
    one, other = _read_both(first, second)
    measure = _distance(distance)
    total = 0.0
    for rows in row_blocks(one.n_samples, _TILE):
        for columns in row_blocks(one.n_samples, _TILE):
            if columns.start >= rows.start:
                pairs, pairs_ = (
                    masses_of_block(_rows(side, rows), _rows(side, columns), side.focal_sets)
                    for side in (one, other)
                )
                apart = measure(pairs, pairs_)
                total += float(np.triu(apart, k=1).sum() if rows == columns else apart.sum())
    return 1 - 2 * total / _ordered_pairs(one)


def sampled_credal_rand_index(
    first: CredalPartition | npt.ArrayLike,
    second: CredalPartition | npt.ArrayLike,
    *,
    n_pairs: int = 1_000_000,
    distance: Literal["jousselme", "belief"] = "jousselme",
    random_state: RandomSeed = None,
) -> SampledIndex:
    """The credal Rand index estimated from pairs drawn at random, with its standard error.

    Parameters
    ----------
    first, second : CredalPartition or array-like of labels
        The partitions of the same samples, in the same order. Labels become a hard partition.
    n_pairs : int, default=1000000
        How many pairs to draw, with replacement.
    distance : {"jousselme", "belief"}, default="jousselme"
        The distance between pairwise mass functions.
    random_state : int, RandomState instance or None, default=None
        The seed, for results that can be repeated.

    Returns
    -------
    SampledIndex
        ``value`` and ``standard_error``.
    """
    one, other = _read_both(first, second)
    if n_pairs < 2:
        raise ValueError(f"n_pairs must be at least 2, got {n_pairs}.")
    measure = _distance(distance)
    random = check_random_state(random_state)
    total = squares = 0.0
    for block in row_blocks(n_pairs):
        size = block.stop - block.start
        left = random.randint(one.n_samples, size=size)
        right = random.randint(one.n_samples - 1, size=size)
        right += right >= left
        pairs = np.column_stack([left, right])
        apart = measure(one.relational(pairs), other.relational(pairs)).astype(np.float64)
        total += float(apart.sum())
        squares += float((apart**2).sum())
    mean = total / n_pairs
    variance = max(squares / n_pairs - mean**2, 0) * n_pairs / (n_pairs - 1)
    return SampledIndex(1 - mean, float(np.sqrt(variance / n_pairs)))


def _jousselme(one: PairMasses, other: PairMasses) -> FloatArray:
    # Jaccard weights on the frame {s, not s}: 1 on the diagonal, 1/2 between a singleton and the frame.
    empty, same, different, unknown = (a - b for a, b in zip(one, other, strict=True))
    squared = empty**2
    squared += same * (same + unknown)
    squared += different * (different + unknown)
    squared += unknown**2
    squared /= 2
    return np.sqrt(np.maximum(squared, 0, out=squared), out=squared)


def _belief(one: PairMasses, other: PairMasses) -> FloatArray:
    # The belief of the whole frame is one minus the mass of the empty set.
    parts = (np.abs(a - b) for a, b in zip(one[:3], other[:3], strict=True))
    return np.asarray(sum(parts)) / 2


def _distance(name: str) -> Callable[[PairMasses, PairMasses], FloatArray]:
    known = {"jousselme": _jousselme, "belief": _belief}
    if name not in known:
        raise ValueError(f"distance must be one of {list(known)}, got {name!r}.")
    return known[name]


def _conflict(one: PairMasses, other: PairMasses) -> FloatArray:
    return (
        one.empty + other.empty - one.empty * other.empty + one.same * other.different + one.different * other.same
    )


def _inner(form: FloatArray, cross: FloatArray, other_form: FloatArray) -> float:
    return float(((form @ cross @ other_form) * cross).sum())


def _rows(partition: CredalPartition, block: slice) -> FloatArray:
    """Some rows, in double precision whatever they are stored in."""
    return np.asarray(partition.masses[block], dtype=np.float64)


def _ordered_pairs(partition: CredalPartition) -> float:
    return float(partition.n_samples) * (partition.n_samples - 1)


def _read(partition: CredalPartition | npt.ArrayLike, name: str) -> CredalPartition:
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


def _read_both(
    first: CredalPartition | npt.ArrayLike, second: CredalPartition | npt.ArrayLike
) -> tuple[CredalPartition, CredalPartition]:
    one, other = _read(first, "first"), _read(second, "second")
    _require_same_samples(one.n_samples, other.n_samples)
    refuse_other_names([one, other])
    _require_pairs(one)
    return one, other


def _require_same_samples(first: int, second: int) -> None:
    if first != second:
        raise ValueError(f"there are {first} and {second} samples; both must describe the same samples.")


def _require_pairs(partition: CredalPartition) -> None:
    if partition.n_samples < 2:
        raise ValueError("a partition of one sample has no pairs to compare; at least two samples are needed.")
