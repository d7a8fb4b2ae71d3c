"""What clusters are, in words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evlearn.explain import plain
from evlearn.explain.columns import Column, Difference
from evlearn.explain.weighted import least_effects
from evlearn.partition import CredalPartition, Verdict
from evlearn.utils.typing import FloatArray, IntArray


@dataclass(frozen=True)
class ClusterProfile:
    """What a cluster is, in words.

    Attributes
    ----------
    name : str
        Its name, or "cluster" and its number.
    n_sure : int
        How many samples are sure to be in it.
    n_possible : int
        How many samples may be in it: the sure ones, and the torn ones.
    differences : tuple of Difference
        What sets it apart from the other clusters, the strongest first.
    typical : tuple of int
        Positions of the sure samples that have most of what is typical of the cluster.
    border : tuple of int
        Positions of the samples in the greatest doubt for which no cluster is more plausible than this.
    """

    name: str
    n_sure: int
    n_possible: int
    differences: tuple[Difference, ...]
    typical: tuple[int, ...]
    border: tuple[int, ...]

    @property
    def sentences(self) -> list[str]:
        """What sets it apart, a sentence for each feature; or that nothing does."""
        return [one.text for one in self.differences] or ["No column sets this cluster apart."]


def profiles(
    partition: CredalPartition,
    verdict: Verdict,
    columns: Sequence[Column],
    weights: FloatArray,
    n_features: int,
    n_samples: int,
) -> tuple[ClusterProfile, ...]:
    """A profile of each cluster."""
    doubt, labels, least = partition.doubt(), partition.to_hard(), least_effects(weights)
    found = []
    for k, name in enumerate(cluster_texts(partition)):
        possible = verdict.candidates[:, k]
        sure = np.flatnonzero(possible & verdict.sure)
        border = np.flatnonzero((labels == k) & ~verdict.outlier & (doubt > 0))
        told = [one for column in columns for one in column.differences(k) if one.effect >= least[k]]
        profile = ClusterProfile(
            name=name,
            n_sure=len(sure),
            n_possible=int(possible.sum()),
            differences=tuple(sorted(told, key=lambda one: -one.effect)[:n_features]),
            typical=_first(sure, _distances(columns, sure, k), doubt[sure], n_samples),
            border=_first(border, -doubt[border], np.zeros(len(border)), n_samples),
        )
        found.append(profile)
    return tuple(found)


def cluster_texts(partition: CredalPartition) -> list[str]:
    """The names of clusters as they stand in sentences: those that the user gave, or "cluster" and a number."""
    named = partition.focal_sets.names is not None
    texts = [plain.one_line(name) if named else f"cluster {name}" for name in partition.cluster_names]
    # Shortened names may be the same; then their numbers tell them apart.
    return texts if len(set(texts)) == len(texts) else [f"{text} ({k})" for k, text in enumerate(texts)]


def _distances(columns: Sequence[Column], rows: IntArray, cluster: int) -> FloatArray:
    """How far samples are from what is typical of a cluster."""
    total = np.zeros(len(rows))
    for column in columns:
        own, missing = column.scores(rows)[:, cluster], column.missing[rows]
        # Who has a gap is no example of what is typical.
        total -= np.where(missing, own.min(initial=0), own)
    return np.round(total, 9)  # equal is equal, in whatever order it was added up


def _first(rows: IntArray, values: FloatArray, then: FloatArray, limit: int) -> tuple[int, ...]:
    return tuple(int(row) for row in rows[np.lexsort([then, values])][:limit])
