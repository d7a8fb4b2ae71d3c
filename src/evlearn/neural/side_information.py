"""What is known about some samples: labels and constraints, or guides that stand in for labels."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor

from evlearn.cluster import EVCLUS, delta_bel
from evlearn.constraints import PairwiseConstraints
from evlearn.constraints.labels import label_codes
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

_FEWEST = 10  # labels or constraints that a mini-batch should see


@dataclass(frozen=True)
class Known:
    """What is known about some samples.

    Attributes
    ----------
    labelled : ndarray of int of shape (n_labelled,)
        The numbers of samples with a label.
    clusters : ndarray of int of shape (n_labelled,)
        Their clusters.
    pairs : ndarray of int of shape (n_pairs, 2)
        Pairs of samples with a constraint.
    must : ndarray of bool of shape (n_pairs,)
        Whether they must be in one cluster; else they cannot.
    """

    labelled: IntArray
    clusters: IntArray
    pairs: IntArray
    must: BoolArray

    @cached_property
    def objects(self) -> IntArray:
        """All samples that something is known of, in the order in which `split` wants their masses."""
        return np.concatenate([self.labelled, self.pairs[:, 0], self.pairs[:, 1]])

    def split(self, masses: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Masses of `objects` as those of labelled samples, and of both samples of each pair.

        Returns
        -------
        labelled, first, second : Tensor
            The masses.
        """
        start, stop = len(self.labelled), len(self.labelled) + len(self.pairs)
        return masses[:start], masses[start:stop], masses[stop:]

    def parts(self, n_parts: int, random: np.random.RandomState) -> list["Known"]:
        """What each of several mini-batches is told: a part, or all of it if parts would be small."""
        if len(self.labelled) + len(self.pairs) == 0:
            return [self] * n_parts
        some_labels = _split(len(self.labelled), n_parts, random)
        some_pairs = _split(len(self.pairs), n_parts, random)
        return [
            Known(self.labelled[a], self.clusters[a], self.pairs[b], self.must[b])
            for a, b in zip(some_labels, some_pairs, strict=True)
        ]


def _split(n: int, n_parts: int, random: np.random.RandomState) -> list[IntArray]:
    if n < _FEWEST * n_parts:
        return [np.arange(n)] * n_parts
    return list(np.array_split(random.permutation(n), n_parts))


def read_known(labels: Any, constraints: PairwiseConstraints | None, n_samples: int, n_clusters: int) -> Known:
    """What a user knows."""
    codes = np.empty(0, dtype=np.intp) if labels is None else label_codes(labels, -1, "labels")
    if labels is not None and len(codes) != n_samples:
        raise ValueError(f"labels has {len(codes)} entries for {n_samples} samples.")
    if codes.max(initial=-1) >= n_clusters:
        raise ValueError(f"labels has {codes.max() + 1} classes, and n_clusters is {n_clusters}.")
    labelled = np.flatnonzero(codes >= 0)
    none = np.empty((0, 2), dtype=np.intp)
    must = none if constraints is None else constraints.must_link
    cannot = none if constraints is None else constraints.cannot_link
    pairs = np.concatenate([must, cannot]).astype(np.intp)
    return Known(labelled, codes[labelled].astype(np.int64), pairs, np.arange(len(pairs)) < len(must))


def find_guides(sample: FloatArray, n_clusters: int, kind: str, **settings: Any) -> IntArray:
    """One sample for each cluster."""
    if kind == "peaks":
        return delta_bel(sample, metric=settings["metric"]).peaks(n_peaks=n_clusters)
    fitted = EVCLUS(n_clusters, **settings).fit(sample)
    return np.asarray(fitted.credal_partition_.to_possibilistic().argmax(axis=0))
