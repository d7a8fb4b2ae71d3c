"""Side information about samples: labels and constraints, or guides that replace labels."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor

from evlearn.cluster import EVCLUS, belief_peaks
from evlearn.constraints import PairwiseConstraints
from evlearn.constraints.pairs import label_codes
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

#: Minimum number of labels, and of constraints, of a mini-batch that does not use all of them.
_MIN_PER_BATCH = 10


@dataclass(frozen=True)
class SideInformation:
    """Labels and constraints of samples.

    Attributes
    ----------
    labeled : ndarray of int of shape (n_labeled,)
        Indices of samples with a label.
    clusters : ndarray of int of shape (n_labeled,)
        Their clusters.
    pairs : ndarray of int of shape (n_pairs, 2)
        Pairs of samples with a constraint.
    is_must_link : ndarray of bool of shape (n_pairs,)
        True for must-links, False for cannot-links.
    """

    labeled: IntArray
    clusters: IntArray
    pairs: IntArray
    is_must_link: BoolArray

    @cached_property
    def samples(self) -> IntArray:
        """Samples with labels or constraints, in the order of `split_masses`."""
        return np.concatenate([self.labeled, self.pairs[:, 0], self.pairs[:, 1]])

    def split_masses(self, masses: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Split the masses of `samples` into those of labeled samples, and of both samples of each pair.

        Returns
        -------
        labeled, first, second : Tensor
            Masses.
        """
        start, stop = len(self.labeled), len(self.labeled) + len(self.pairs)
        return masses[:start], masses[start:stop], masses[stop:]

    def divide(self, n_parts: int, random: np.random.RandomState) -> list["SideInformation"]:
        """Divide the side information among mini-batches; each uses all of it if parts would be small."""
        if len(self.labeled) + len(self.pairs) == 0:
            return [self] * n_parts
        label_parts = _divide_indices(len(self.labeled), n_parts, random)
        pair_parts = _divide_indices(len(self.pairs), n_parts, random)
        return [
            SideInformation(self.labeled[a], self.clusters[a], self.pairs[b], self.is_must_link[b])
            for a, b in zip(label_parts, pair_parts, strict=True)
        ]


def _divide_indices(n: int, n_parts: int, random: np.random.RandomState) -> list[IntArray]:
    if n < _MIN_PER_BATCH * n_parts:
        return [np.arange(n)] * n_parts
    return list(np.array_split(random.permutation(n), n_parts))


def read_side_information(
    labels: Any, constraints: PairwiseConstraints | None, n_samples: int, n_clusters: int
) -> SideInformation:
    """Return the side information of the parameters of a fit."""
    codes = np.empty(0, dtype=np.intp) if labels is None else label_codes(labels, -1, "labels")
    if labels is not None and len(codes) != n_samples:
        raise ValueError(f"labels has {len(codes)} entries for {n_samples} samples.")
    if codes.max(initial=-1) >= n_clusters:
        raise ValueError(f"labels has {codes.max() + 1} classes, but n_clusters={n_clusters}; raise n_clusters.")
    labeled = np.flatnonzero(codes >= 0)
    no_pairs = np.empty((0, 2), dtype=np.intp)
    must = no_pairs if constraints is None else constraints.must_link
    cannot = no_pairs if constraints is None else constraints.cannot_link
    pairs = np.concatenate([must, cannot]).astype(np.intp)
    return SideInformation(labeled, codes[labeled].astype(np.int64), pairs, np.arange(len(pairs)) < len(must))


def find_guides(sample: FloatArray, n_clusters: int, kind: str, **settings: Any) -> IntArray:
    """Return the index of one sample for each cluster."""
    if kind == "peaks":
        return belief_peaks(sample, metric=settings["metric"]).peaks(n_peaks=n_clusters)
    fitted = EVCLUS(n_clusters, **settings).fit(sample)
    return np.asarray(fitted.credal_partition_.to_possibilistic().argmax(axis=0))
