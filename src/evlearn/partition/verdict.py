"""Verdicts: each sample is sure, torn between clusters, or an outlier."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.belief.notation import format_set
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import check_real

#: Default belief in one cluster from which a sample is sure.
SURE_LEVEL = 0.6
#: Mass of the empty set from which a sample is an outlier.
OUTLIER_MASS = 0.5
# Tolerance above the rounding errors of float32, so that masses with sum 1 reach a level of 1, and ties are
# detected.
_ROUNDING = 1e-6
_BLOCK_NUMBERS = 1 << 17


@dataclass(frozen=True)
class Verdict:
    """Verdict on each sample: sure, torn or an outlier.

    A sample is an outlier if at least half of its mass is on the empty set. The candidates of any other sample are
    the smallest number of most plausible clusters whose set has a belief of `level`, after normalization of its
    masses. A sample with one candidate is sure, and a sample with several candidates is torn between them.
    Clusters as plausible as a candidate are candidates too, so that the result does not depend on the order of the
    clusters.

    Attributes
    ----------
    candidates : ndarray of bool of shape (n_samples, n_clusters)
        True for the clusters that each sample may belong to; an outlier has none.
    level : float
        Belief that the candidates of a sample have together.
    """

    candidates: BoolArray
    level: float

    @property
    def sure(self) -> BoolArray:
        """True for samples with one candidate."""
        return np.asarray(self.candidates.sum(axis=1) == 1)

    @property
    def torn(self) -> BoolArray:
        """True for samples with several candidates."""
        return np.asarray(self.candidates.sum(axis=1) > 1)

    @property
    def outlier(self) -> BoolArray:
        """True for samples without candidates."""
        return np.asarray(~self.candidates.any(axis=1))

    def labels(self, names: tuple[str, ...] | None = None) -> npt.NDArray[Any]:
        """Return the candidates as text: ``{0}``, ``{0,2}``, ``Ω`` for all clusters, or ``outlier``.

        Parameters
        ----------
        names : tuple of str or None, default=None
            Names of the clusters.

        Returns
        -------
        ndarray of str of shape (n_samples,)
            Candidates of each sample, as an array of dtype object.
        """
        if len(self.candidates) == 1:  # in fewer steps, for predictions of single rows
            members = self.candidates[0]
            return np.array([format_set(members, names) if members.any() else "outlier"], dtype=object)
        texts = np.full(len(self.candidates), "outlier", dtype=object)
        sure, torn = self.sure, self.torn
        clusters, n_clusters = self.candidates[sure].argmax(axis=1), self.candidates.shape[1]
        single_texts = np.empty(n_clusters, dtype=object)
        for k in np.flatnonzero(np.bincount(clusters, minlength=n_clusters)):  # only clusters that occur
            single_texts[k] = format_set(np.arange(n_clusters) == k, names)
        texts[sure] = single_texts[clusters]
        sets, positions = distinct_sets(self.candidates[torn])
        texts[torn] = np.array([format_set(members, names) for members in sets], dtype=object)[positions]
        return texts


def judge(masses: FloatArray, focal_sets: FocalSets, level: float) -> Verdict:
    """Return the verdict on each sample."""
    check_real("level", level, 0, 1, open_low=True)
    candidates = np.zeros((len(masses), focal_sets.frame_size), dtype=bool)
    for block in row_blocks(len(masses), max(1, _BLOCK_NUMBERS // len(focal_sets))):
        candidates[block] = _candidates(masses[block], focal_sets, float(level))
    return Verdict(candidates, float(level))


def doubts(masses: FloatArray, focal_sets: FocalSets) -> FloatArray:
    """Return 1 minus the belief of the most plausible cluster, for each sample."""
    result = np.ones(len(masses))
    for block in row_blocks(len(masses), max(1, _BLOCK_NUMBERS // len(focal_sets))):
        best = belief.contour(masses[block], focal_sets).argmax(axis=1)
        block_masses = np.asarray(masses[block], dtype=np.float64)
        supports = block_masses[:, 1:].sum(axis=1)
        remainders = supports - _singleton_beliefs(block_masses, focal_sets, best)
        np.divide(remainders, supports, out=result[block], where=supports > 0)
    return np.minimum(np.maximum(result, 0, out=result), 1, out=result)


def risks(masses: FloatArray, focal_sets: FocalSets) -> FloatArray:
    """Return the pignistic probability that each sample is not in its most plausible cluster.

    Mass on the empty set counts as an error, so that outliers have a large risk, even if their doubt is 0.
    """
    result = np.empty(len(masses))
    for block in row_blocks(len(masses), max(1, _BLOCK_NUMBERS // len(focal_sets))):
        best = belief.contour(masses[block], focal_sets).argmax(axis=1)
        outside = np.asarray(masses[block, 0], dtype=np.float64)
        right = belief.pignistic(masses[block], focal_sets)[np.arange(len(best)), best]
        result[block] = 1 - (1 - outside) * np.where(outside < 1, right, 0)
    return np.clip(result, 0, 1)


def level_of_share(doubt: FloatArray, share: float) -> float:
    """Return the level at which about the given share of the samples is torn."""
    check_real("share", share, 0, 1)
    if not len(doubt):
        return SURE_LEVEL
    n_torn = int(share * len(doubt) + 1e-9)
    beliefs = np.sort(1 - doubt)
    return float(np.clip(beliefs[n_torn], _ROUNDING, 1)) if n_torn < len(doubt) else 1.0


def distinct_sets(candidates: BoolArray) -> tuple[BoolArray, IntArray]:
    """Return the distinct sets, in the order of focal sets, and their positions.

    Returns
    -------
    sets : ndarray of bool of shape (n_sets, n_clusters)
        Distinct sets.
    positions : ndarray of int of shape (n_samples,)
        Position of the set of each sample.
    """
    # Sets are packed into 64-bit integers, which are sorted much faster than rows.
    bits = np.packbits(candidates, axis=1)
    words = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : bits.shape[1]] = bits
    keys = words.view(">u8").astype(np.uint64)
    if keys.shape[1] == 1:
        _, first, positions = np.unique(keys[:, 0], return_index=True, return_inverse=True)
    else:
        _, first, positions = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    sets = candidates[first]
    order = np.lexsort([-np.arange(len(sets)), sets.sum(axis=1)])
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return sets[order], ranks[positions.ravel()]


def _candidates(masses: FloatArray, focal_sets: FocalSets, level: float) -> BoolArray:
    if masses[:, 0].max() < OUTLIER_MASS:
        return _candidates_of_inliers(masses, focal_sets, level)
    is_inlier = masses[:, 0] < OUTLIER_MASS
    candidates = np.zeros((len(masses), focal_sets.frame_size), dtype=bool)
    if is_inlier.any():
        candidates[is_inlier] = _candidates_of_inliers(masses[is_inlier], focal_sets, level)
    return candidates


def _candidates_of_inliers(masses: FloatArray, focal_sets: FocalSets, level: float) -> BoolArray:
    plausibilities = belief.contour(masses, focal_sets)
    masses = masses.astype(np.float64, copy=False)
    required = masses[:, 1:].sum(axis=1) * level * (1 - _ROUNDING)
    best = plausibilities.argmax(axis=1)
    candidates: BoolArray = plausibilities >= plausibilities.max(axis=1, keepdims=True) * (1 - _ROUNDING)
    is_unsure = _singleton_beliefs(masses, focal_sets, best) < required
    if is_unsure.any():
        candidates[is_unsure] = _candidates_of_unsure(
            masses[is_unsure], plausibilities[is_unsure], required[is_unsure], focal_sets
        )
    return candidates


def _candidates_of_unsure(
    masses: FloatArray, plausibilities: FloatArray, required: FloatArray, focal_sets: FocalSets
) -> BoolArray:
    candidates = np.ones(plausibilities.shape, dtype=bool)
    is_open = np.ones(len(masses), dtype=bool)
    if focal_sets.has_omega:
        # If the mass of Ω is needed to reach the level, all clusters are candidates.
        is_open = ~(masses[:, 1:-1].sum(axis=1) < required)
    if is_open.any():
        candidates[is_open] = _smallest_sufficient_sets(
            masses[is_open], plausibilities[is_open], required[is_open], focal_sets._members_by_size
        )
    return candidates


def _smallest_sufficient_sets(
    masses: FloatArray,
    plausibilities: FloatArray,
    required: FloatArray,
    members_by_size: list[tuple[slice, IntArray]],
) -> BoolArray:
    """Return the smallest sets of most plausible clusters with the required belief, with all ties."""
    n_rows, n_clusters = plausibilities.shape
    order = np.argsort(-plausibilities, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(n_clusters)[None, :], axis=1)
    # A set is contained in the k most plausible clusters if its least plausible member is among them.
    last = np.zeros(masses.shape, dtype=np.intp)
    for positions, members in members_by_size:
        of_size = last[:, positions]
        for column in members.T:
            np.maximum(of_size, rank[:, column], out=of_size)
    last += n_clusters * np.arange(n_rows)[:, None]
    gained = np.bincount(last[:, 1:].ravel(), masses[:, 1:].ravel(), minlength=n_rows * n_clusters)
    is_sufficient = gained.reshape(n_rows, n_clusters).cumsum(axis=1) >= required[:, None]
    n_required = np.where(is_sufficient.any(axis=1), is_sufficient.argmax(axis=1), n_clusters - 1)
    rows = np.arange(n_rows)
    smallest = plausibilities[rows, order[rows, n_required]]
    return np.asarray(plausibilities >= smallest[:, None] * (1 - _ROUNDING))


def _singleton_beliefs(masses: FloatArray, focal_sets: FocalSets, clusters: IntArray) -> FloatArray:
    positions = focal_sets.singleton_positions[clusters]
    return np.where(positions >= 0, masses[np.arange(len(masses)), positions], 0.0)
