"""Conformity scores of classes, p-values from calibration samples with crisp or soft labels, and row hashes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evlearn.classify.labels import Labels
from evlearn.preprocessing.reading import split_columns
from evlearn.storage import fields
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_shape

#: Differences of scores that may be rounding errors.
_ROUNDING = 1e-12
_TINY = np.finfo(np.float64).tiny


def lac_scores(support: FloatArray) -> FloatArray:
    """Return minus the logarithm of the support of each class, in the same order as 1 - support."""
    return np.asarray(-np.log(np.maximum(support, _TINY)))


def aps_scores(support: FloatArray, uniform: FloatArray) -> FloatArray:
    """Return the total support of better classes, plus a random share of the support of each class.

    Missing support, such as mass on the empty set, counts as support of other classes.
    """
    order = np.argsort(-support, axis=1, kind="stable")
    descending = np.take_along_axis(support, order, axis=1)
    totals = np.cumsum(descending, axis=1)
    is_less = np.diff(descending, axis=1, prepend=np.inf) < -_ROUNDING
    # Of classes with equal support, none is better.
    first = np.maximum.accumulate(np.where(is_less, np.arange(support.shape[1]), 0), axis=1)
    better = np.take_along_axis(totals - descending, first, axis=1)
    sums = better + uniform[:, None] * descending + np.maximum(1 - totals[:, -1:], 0)
    scores = np.empty_like(sums)
    np.put_along_axis(scores, order, sums, axis=1)
    return np.asarray(scores)


@fields.stored
@dataclass(frozen=True)
class ClassScores:
    """Reference scores of calibration samples with their weights, in groups.

    There is 1 group for all classes, or a group for each class. With crisp labels all weights are 1. The entries
    of a group are in ascending order of scores.

    Attributes
    ----------
    groups : ndarray of int of shape (n_entries,)
        Group of each entry, in ascending order.
    values : ndarray of shape (n_entries,)
        Scores.
    possible, certain : ndarray of shape (n_entries,)
        Plausibility and belief that the sample is in the group with this score.
    n_groups : int
        Number of groups.
    """

    groups: fields.Indices
    values: fields.Vector
    possible: fields.NonnegativeVector
    certain: fields.NonnegativeVector
    n_groups: fields.PositiveCount

    def __post_init__(self) -> None:
        """Check the order of the entries."""
        for name in ("values", "possible", "certain"):
            check_shape(name, getattr(self, name), (len(self.groups),))
        steps = np.diff(self.groups)
        if (steps < 0).any() or (np.diff(self.values)[steps == 0] < 0).any():
            raise ValueError("its scores must be in ascending order in each group")
        if len(self.groups) and self.groups[-1] >= self.n_groups:
            raise ValueError(f"its groups must be below {self.n_groups}")

    @classmethod
    def of(cls, scores: FloatArray, labels: Labels, *, per_class: bool) -> "ClassScores":
        """Return the reference scores of samples, of shape (n_samples, n_classes), with their labels."""
        if per_class:
            possible, certain = labels.plausibilities(), beliefs(labels)
            groups = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
            return cls._sorted(groups.ravel(), scores.ravel(), possible.ravel(), certain.ravel(), scores.shape[1])
        if labels.codes is not None:
            values, weights = scores[np.arange(len(scores)), labels.codes], np.ones(len(scores))
            return cls._sorted(np.zeros(len(values), dtype=np.intp), values, weights, weights, 1)
        assert labels.partition is not None
        masses, members = labels.partition.masses, labels.partition.focal_sets.membership
        # The largest score in each focal set: any of its classes may be the label.
        worst = np.column_stack([scores[:, row].max(axis=1, initial=-np.inf) for row in members])
        samples, sets = np.nonzero(masses)
        weights = np.asarray(masses[samples, sets], dtype=np.float64)
        return cls._sorted(np.zeros(len(weights), dtype=np.intp), worst[samples, sets], weights, weights, 1)

    @classmethod
    def _sorted(
        cls, groups: IntArray, values: FloatArray, possible: FloatArray, certain: FloatArray, n_groups: int
    ) -> "ClassScores":
        entries = np.flatnonzero(possible > 0)
        entries = entries[np.lexsort([values[entries], groups[entries]])]
        return cls(groups[entries], values[entries], possible[entries], certain[entries], n_groups)

    def p_values(self, scores: FloatArray) -> FloatArray:
        """Return the share of calibration samples with at least each score, counting the new sample."""
        results = np.empty_like(scores)
        ends = np.searchsorted(self.groups, np.arange(self.n_groups + 1))
        for group in range(self.n_groups):
            entries = slice(ends[group], ends[group + 1])
            columns = slice(None) if self.n_groups == 1 else slice(group, group + 1)
            larger, smaller = _cumulated(self.possible[entries])[-1], _cumulated(self.certain[entries])
            larger = larger - _cumulated(self.possible[entries])
            places = np.searchsorted(self.values[entries], scores[:, columns] - _ROUNDING)
            results[:, columns] = (1 + larger[places]) / (1 + larger[places] + smaller[places])
        return results


def beliefs(labels: Labels) -> FloatArray:
    """Return the belief in each single class, of shape (n_samples, n_classes)."""
    if labels.partition is None:
        return labels.plausibilities()
    masses, sets = labels.partition.masses, labels.partition.focal_sets
    positions = sets.singleton_positions
    return np.where(positions >= 0, masses[:, positions], 0)


def row_uniforms(X: Any, seed: int) -> FloatArray:
    """Return a number between 0 and 1 for each row, a hash of its values and the seed.

    Equal rows have equal numbers, in any order, container and batch.
    """
    columns = [_bits(np.asarray(column)) for _, column in split_columns(X)[0]]
    state = np.full(len(columns[0]), seed, dtype=np.uint64)
    for bits in columns:
        state = _mix(state ^ bits)
    return np.asarray((state >> np.uint64(11)) * 2.0**-53)


def row_order(X: Any, codes: IntArray) -> IntArray:
    """Return the lexicographic order of rows, equal rows by their codes; it does not depend on the order in X."""
    columns = [np.asarray(column) for _, column in split_columns(X)[0]]
    ranks = [
        np.unique(values if values.dtype.kind in "biufM" else values.astype(str), return_inverse=True)[1]
        for values in columns
    ]
    return np.lexsort([codes, *ranks])


def _cumulated(weights: FloatArray) -> FloatArray:
    """Return cumulative sums, from 0 to the total."""
    return np.concatenate([[0.0], np.cumsum(weights)])


def _bits(values: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Return 64 bits for each value, equal for equal values."""
    if values.dtype.kind in "biuf":
        numbers = values.astype(np.float64) + 0.0  # -0.0 equals 0.0
        numbers[np.isnan(numbers)] = np.nan
        return numbers.view(np.uint64)
    texts, positions = np.unique(values.astype(str), return_inverse=True)
    sums: npt.NDArray[np.uint64] = np.zeros(len(texts), dtype=np.uint64)
    letters = texts.view(np.uint32).reshape(len(texts), -1).astype(np.uint64)
    for column in letters.T:
        sums = np.where(column > 0, _mix(sums ^ column), sums)  # padding, which depends on the batch, is 0
    return sums[positions.ravel()]


def _mix(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the bits after a step of the generator SplitMix64 of Steele et al. (2014)."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
