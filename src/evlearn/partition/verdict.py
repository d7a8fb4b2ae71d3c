"""One rule that says of each sample: sure of a cluster, torn between some, or an outlier."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.belief.notation import label
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import check_real

#: What share of its belief a sample must give to one cluster to be called sure.
SURE_LEVEL = 0.6
#: From this mass on the empty set on, a sample is an outlier: more speaks against all clusters than for any.
OUTLIER_MASS = 0.5
# More than single precision rounds, so that masses which sum to one reach a level of one, and ties are ties.
_ROUNDING = 1e-6
_BLOCK_NUMBERS = 1 << 17


@dataclass(frozen=True)
class Verdict:
    """What a partition says of each sample, by one rule: sure, torn or an outlier.

    A sample is an outlier if at least half of its mass is on the empty set. Of all others, the candidates are the
    most plausible clusters, as few as it takes for their set to have a belief of `level`, where belief is what the
    masses say without the empty set. A sample with one candidate is sure, and one with several is torn between
    them. A cluster that is as plausible as a candidate is a candidate too, so that the numbers of the clusters
    decide nothing.

    Attributes
    ----------
    candidates : ndarray of bool of shape (n_samples, n_clusters)
        The clusters that each sample may belong to; none for outliers.
    level : float
        The belief that candidates have together.
    """

    candidates: BoolArray
    level: float

    @property
    def sure(self) -> BoolArray:
        """Whether there is one candidate."""
        return np.asarray(self.candidates.sum(axis=1) == 1)

    @property
    def torn(self) -> BoolArray:
        """Whether there are several candidates."""
        return np.asarray(self.candidates.sum(axis=1) > 1)

    @property
    def outlier(self) -> BoolArray:
        """Whether there is none."""
        return np.asarray(~self.candidates.any(axis=1))

    def labels(self, names: tuple[str, ...] | None = None) -> npt.NDArray[Any]:
        """The candidates as text: ``{0}``, ``{0,2}``, ``Ω`` for all clusters, or ``outlier``.

        Parameters
        ----------
        names : tuple of str or None, default=None
            The names of the clusters.

        Returns
        -------
        ndarray of str of shape (n_samples,)
            The texts, as samples.
        """
        found = np.full(len(self.candidates), "outlier", dtype=object)
        sure, torn = self.sure, self.torn
        best, n_clusters = self.candidates[sure].argmax(axis=1), self.candidates.shape[1]
        of_single = np.empty(n_clusters, dtype=object)
        for k in np.flatnonzero(np.bincount(best, minlength=n_clusters)):  # of many clusters, those that occur
            of_single[k] = label(np.arange(n_clusters) == k, names)
        found[sure] = of_single[best]
        sets, places = distinct(self.candidates[torn])
        found[torn] = np.array([label(one, names) for one in sets], dtype=object)[places]
        return found


def judge(masses: FloatArray, focal_sets: FocalSets, level: float) -> Verdict:
    """The verdict on each sample."""
    check_real("level", level, 0, 1, open_low=True)
    candidates = np.zeros((len(masses), focal_sets.frame_size), dtype=bool)
    members_by_size = cache(partial(_members_by_size, focal_sets))  # most rows do not need it
    for block in row_blocks(len(masses), max(1, _BLOCK_NUMBERS // len(focal_sets))):
        candidates[block] = _candidates(masses[block], focal_sets, members_by_size, float(level))
    return Verdict(candidates, float(level))


def doubts(masses: FloatArray, focal_sets: FocalSets) -> FloatArray:
    """One minus the belief of the most plausible cluster, for each sample."""
    result = np.empty(len(masses))
    for block in row_blocks(len(masses), max(1, _BLOCK_NUMBERS // len(focal_sets))):
        best = belief.contour(masses[block], focal_sets).argmax(axis=1)
        some = np.asarray(masses[block], dtype=np.float64)
        known = some[:, 1:].sum(axis=1)
        rest = known - _belief_of(some, focal_sets, best)
        result[block] = np.where(known > 0, rest / np.where(known > 0, known, 1), 1)
    return np.clip(result, 0, 1)


def risks(masses: FloatArray, focal_sets: FocalSets) -> FloatArray:
    """Return the probability that each sample is not in its most plausible cluster; 1 if all mass is empty.

    Probabilities are pignistic, and mass on the empty set counts as an error. So outliers have a large risk, even
    if their doubt is 0.
    """
    result = np.empty(len(masses))
    for block in row_blocks(len(masses), max(1, _BLOCK_NUMBERS // len(focal_sets))):
        best = belief.contour(masses[block], focal_sets).argmax(axis=1)
        outside = np.asarray(masses[block, 0], dtype=np.float64)
        right = belief.pignistic(masses[block], focal_sets)[np.arange(len(best)), best]
        result[block] = 1 - (1 - outside) * np.where(outside < 1, right, 0)
    return np.clip(result, 0, 1)


def level_for(doubt: FloatArray, share: float) -> float:
    """The level at which about a share of the samples is torn."""
    check_real("share", share, 0, 1)
    if not len(doubt):
        return SURE_LEVEL
    n_torn = int(share * len(doubt) + 1e-9)
    beliefs = np.sort(1 - doubt)
    return float(np.clip(beliefs[n_torn], _ROUNDING, 1)) if n_torn < len(doubt) else 1.0


def distinct(candidates: BoolArray) -> tuple[BoolArray, IntArray]:
    """The different sets among many, smaller ones first, in the order of focal sets.

    Returns
    -------
    sets : ndarray of bool of shape (n_sets, n_clusters)
        Each of them once.
    places : ndarray of int of shape (n_samples,)
        Which of them each sample has.
    """
    # As whole numbers of 64 bits, which are sorted much faster than rows.
    bits = np.packbits(candidates, axis=1)
    words = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : bits.shape[1]] = bits
    keys = words.view(">u8").astype(np.uint64)
    if keys.shape[1] == 1:
        _, first, places = np.unique(keys[:, 0], return_index=True, return_inverse=True)
    else:
        _, first, places = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    sets = candidates[first]
    order = np.lexsort([-np.arange(len(sets)), sets.sum(axis=1)])
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    return sets[order], position[places.ravel()]


def _members_by_size(focal_sets: FocalSets) -> list[tuple[slice, IntArray]]:
    """For each size, where its sets are, which are ordered by size, and a row of members for each set."""
    found = []
    for size in np.unique(focal_sets.sizes[1:]):
        same = np.flatnonzero(focal_sets.sizes == size)
        members = np.nonzero(focal_sets.membership[same])[1].reshape(len(same), size)
        found.append((slice(same[0], same[-1] + 1), members))
    return found


def _candidates(
    masses: FloatArray,
    focal_sets: FocalSets,
    members_by_size: Callable[[], list[tuple[slice, IntArray]]],
    level: float,
) -> BoolArray:
    found = np.zeros((len(masses), focal_sets.frame_size), dtype=bool)
    inside = np.flatnonzero(masses[:, 0] < OUTLIER_MASS)
    plausibilities = belief.contour(masses[inside], focal_sets)
    masses = masses[inside].astype(np.float64, copy=False)
    needed = masses[:, 1:].sum(axis=1) * level * (1 - _ROUNDING)
    best = plausibilities.argmax(axis=1)
    found[inside] = plausibilities >= plausibilities.max(axis=1, keepdims=True) * (1 - _ROUNDING)
    open_ = np.flatnonzero(_belief_of(masses, focal_sets, best) < needed)
    if focal_sets.sizes[-1] == focal_sets.frame_size:
        # What is on all clusters together is lacking to any fewer: no need to try them.
        lacking = masses[open_, 1:-1].sum(axis=1) < needed[open_]
        found[inside[open_[lacking]]] = True
        open_ = open_[~lacking]
    if len(open_):
        found[inside[open_]] = _several(masses[open_], plausibilities[open_], needed[open_], members_by_size())
    return found


def _several(
    masses: FloatArray,
    plausibilities: FloatArray,
    needed: FloatArray,
    members_by_size: list[tuple[slice, IntArray]],
) -> BoolArray:
    """The most plausible clusters, as few as have the belief that is needed together, and their equals."""
    n_rows, n_clusters = plausibilities.shape
    order = np.argsort(-plausibilities, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(n_clusters)[None, :], axis=1)
    # A set is within the first k clusters if its least plausible member is.
    last = np.zeros(masses.shape, dtype=np.intp)
    for positions, members in members_by_size:
        of_size = last[:, positions]
        for one in members.T:
            np.maximum(of_size, rank[:, one], out=of_size)
    last += n_clusters * np.arange(n_rows)[:, None]
    gained = np.bincount(last[:, 1:].ravel(), masses[:, 1:].ravel(), minlength=n_rows * n_clusters)
    enough = gained.reshape(n_rows, n_clusters).cumsum(axis=1) >= needed[:, None]
    n_needed = np.where(enough.any(axis=1), enough.argmax(axis=1), n_clusters - 1)
    rows = np.arange(n_rows)
    least = plausibilities[rows, order[rows, n_needed]]
    return np.asarray(plausibilities >= least[:, None] * (1 - _ROUNDING))


def _belief_of(masses: FloatArray, focal_sets: FocalSets, clusters: IntArray) -> FloatArray:
    positions = focal_sets.singleton_positions[clusters]
    return np.where(positions >= 0, masses[np.arange(len(masses)), positions], 0)
