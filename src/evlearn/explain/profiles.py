"""Profiles of clusters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evlearn.explain import plain
from evlearn.explain.columns import Column, Difference
from evlearn.explain.weighted import minimum_effects
from evlearn.partition import CredalPartition, Verdict
from evlearn.utils.typing import FloatArray, IntArray


@dataclass(frozen=True)
class ClusterProfile:
    """Description of a cluster.

    Attributes
    ----------
    name : str
        Name, or "cluster" and the number.
    n_sure : int
        Number of samples that are sure of this cluster.
    n_possible : int
        Number of samples with this cluster as a candidate, sure or torn.
    differences : tuple of Difference
        Differences from the other samples, in decreasing order of their effects.
    typical : tuple of int
        Positions of the sure samples that are closest to the typical values of the cluster.
    border : tuple of int
        Positions of the most doubtful samples for which this is the most plausible cluster.
    """

    name: str
    n_sure: int
    n_possible: int
    differences: tuple[Difference, ...]
    typical: tuple[int, ...]
    border: tuple[int, ...]

    @property
    def sentences(self) -> list[str]:
        """Differences as sentences, or a sentence that there are none."""
        return [difference.text for difference in self.differences] or ["No feature distinguishes this cluster."]


def profiles(
    partition: CredalPartition,
    verdict: Verdict,
    columns: Sequence[Column],
    weights: FloatArray,
    n_features: int,
    n_samples: int,
) -> tuple[ClusterProfile, ...]:
    """Return the profile of each cluster."""
    doubt, labels, thresholds = partition.doubt(), partition.to_hard(), minimum_effects(weights)
    results = []
    for k, name in enumerate(cluster_labels(partition)):
        possible = verdict.candidates[:, k]
        sure = np.flatnonzero(possible & verdict.sure)
        border = np.flatnonzero((labels == k) & ~verdict.outlier & (doubt > 0))
        differences = [
            difference
            for column in columns
            for difference in column.differences(k)
            if difference.effect >= thresholds[k]
        ]
        profile = ClusterProfile(
            name=name,
            n_sure=len(sure),
            n_possible=int(possible.sum()),
            differences=tuple(sorted(differences, key=lambda difference: -difference.effect)[:n_features]),
            typical=_first_rows(sure, _distances(columns, sure, k), doubt[sure], n_samples),
            border=_first_rows(border, -doubt[border], np.zeros(len(border)), n_samples),
        )
        results.append(profile)
    return tuple(results)


def cluster_labels(partition: CredalPartition) -> list[str]:
    """Return names of clusters for sentences: those of the user, or "cluster" and a number."""
    has_names = partition.focal_sets.names is not None
    texts = [plain.one_line(name) if has_names else f"cluster {name}" for name in partition.cluster_names]
    # Shortened names may coincide; numbers make them unique.
    return texts if len(set(texts)) == len(texts) else [f"{text} ({k})" for k, text in enumerate(texts)]


def _distances(columns: Sequence[Column], rows: IntArray, cluster: int) -> FloatArray:
    """Return the distances of samples from the typical values of a cluster."""
    total = np.zeros(len(rows))
    for column in columns:
        scores, missing = column.scores(rows)[:, cluster], column.missing[rows]
        # A sample with missing values is not a typical example.
        total -= np.where(missing, scores.min(initial=0), scores)
    return np.round(total, 9)  # makes ties independent of the order of summation


def _first_rows(rows: IntArray, values: FloatArray, ties: FloatArray, limit: int) -> tuple[int, ...]:
    return tuple(int(row) for row in rows[np.lexsort([ties, values])][:limit])
