"""Profiles of clusters, and reasons why samples are torn or outliers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evlearn.explain.columns import Column, Difference, minimum_effects
from evlearn.partition import CredalPartition, Verdict
from evlearn.utils.formatting import join_words, one_line
from evlearn.utils.typing import FloatArray, IntArray

_MAX_REASONS = 2
_MAX_MISSING = 3
_MIN_EVIDENCE = 0.5  # log-likelihood ratio; about 1.6 to 1
_MIN_DEVIATION = 3.0
_BLOCK_ROWS = 1 << 13


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
    texts = [one_line(name) if has_names else f"cluster {name}" for name in partition.cluster_names]
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


@dataclass(frozen=True)
class SampleExplanation:
    """Explanation of a torn sample or an outlier.

    Attributes
    ----------
    sample : str
        Name, or number.
    position : int
        Position in the table.
    clusters : tuple of str
        Candidate clusters; empty for an outlier.
    doubt : float
        Doubt about the most plausible cluster, from 0 to 1.
    reasons : dict from str to tuple of str
        For each candidate cluster, the values that support it. For an outlier, a single entry "unusual" with the
        values that are far from all clusters.
    sentences : tuple of str
        Verdict, supporting or unusual values, and missing values.
    """

    sample: str
    position: int
    clusters: tuple[str, ...]
    doubt: float
    reasons: dict[str, tuple[str, ...]]
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """All sentences as one text."""
        return " ".join(self.sentences)

    def __str__(self) -> str:
        return f"{self.sample}: {self.text}"


def explain_torn_samples(
    partition: CredalPartition, verdict: Verdict, columns: Sequence[Column]
) -> Iterator[SampleExplanation]:
    """Yield explanations of torn samples, in decreasing order of doubt."""
    doubt, names = partition.doubt(), cluster_labels(partition)
    torn = np.flatnonzero(verdict.torn)
    for rows in _blocks(torn[np.argsort(-doubt[torn], kind="stable")]):
        column_scores = [column.scores(rows) for column in columns]
        for k, row in enumerate(rows.tolist()):
            candidates = np.flatnonzero(verdict.candidates[row])
            scores = np.array([values[k, candidates] for values in column_scores]).reshape(
                len(columns), len(candidates)
            )
            # Score of a candidate, relative to the mean score of the other candidates.
            evidence = scores - (scores.sum(axis=1, keepdims=True) - scores) / (len(candidates) - 1)
            candidate_names = [names[c] for c in candidates]
            reasons = {
                name: tuple(
                    columns[j].compare_with_clusters(row, candidates, candidate_names)
                    for j in _strongest(evidence[:, c])
                )
                for c, name in enumerate(candidate_names)
            }
            sentences = (
                f"May be in {join_words(candidate_names, 'or')}.",
                *_evidence_sentences(reasons),
                *_missing_sentences(columns, row),
            )
            name = sample_name(partition, row)
            yield SampleExplanation(name, row, tuple(candidate_names), float(doubt[row]), reasons, sentences)


def explain_outliers(
    partition: CredalPartition, verdict: Verdict, columns: Sequence[Column]
) -> Iterator[SampleExplanation]:
    """Yield explanations of outliers, in decreasing order of the mass of the empty set."""
    doubt = partition.doubt()
    outliers = np.flatnonzero(verdict.outlier)
    for rows in _blocks(outliers[np.argsort(-partition.mass_table[:, 0][outliers], kind="stable")]):
        deviations = np.array([column.unusual(rows) for column in columns]).reshape(len(columns), len(rows))
        for k, row in enumerate(rows.tolist()):
            unusual = tuple(columns[j].compare_with_all(row) for j in _strongest(deviations[:, k], _MIN_DEVIATION))
            sentences = (
                "Fits no cluster.",
                *_unusual_sentences(unusual, bool(columns)),
                *_missing_sentences(columns, row),
            )
            name = sample_name(partition, row)
            yield SampleExplanation(name, row, (), float(doubt[row]), {"unusual": unusual}, sentences)


def sample_name(partition: CredalPartition, position: int) -> str:
    """Return the name of a sample, or its number."""
    index = partition.sample_index
    return one_line(position if index is None else index[position])


def _blocks(rows: IntArray) -> Iterator[IntArray]:
    """Yield blocks of rows, which bound the memory for the scores of all columns."""
    for start in range(0, len(rows), _BLOCK_ROWS):
        yield rows[start : start + _BLOCK_ROWS]


def _strongest(values: FloatArray, threshold: float = _MIN_EVIDENCE) -> list[int]:
    order = np.argsort(-values, kind="stable")[:_MAX_REASONS]
    return [int(k) for k in order if values[k] >= threshold]


def _evidence_sentences(reasons: dict[str, tuple[str, ...]]) -> list[str]:
    sentences = [f"For {name}: {join_words(comparisons)}." for name, comparisons in reasons.items() if comparisons]
    undecided = [name for name, comparisons in reasons.items() if not comparisons]
    if not sentences:
        return ["No value clearly favors one of them."]
    return sentences + ([f"No value clearly favors {join_words(undecided, 'or')}."] if undecided else [])


def _unusual_sentences(unusual: Sequence[str], has_columns: bool) -> list[str]:
    if unusual:
        return [f"Unusual: {join_words(unusual)}."]
    return ["No single value is unusual, but the combination is."] if has_columns else []


def _missing_sentences(columns: Sequence[Column], row: int) -> list[str]:
    names = [column.name for column in columns if column.missing[row]]
    rest = [f"{len(names) - _MAX_MISSING} more"] if len(names) > _MAX_MISSING else []
    return [f"Missing: {join_words([*names[:_MAX_MISSING], *rest])}."] if names else []
