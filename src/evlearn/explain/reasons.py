"""Why samples are torn between clusters, or belong to none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evlearn.explain import plain
from evlearn.explain.columns import Column
from evlearn.explain.profiles import cluster_texts
from evlearn.partition import CredalPartition, Verdict
from evlearn.utils.typing import FloatArray, IntArray

_MOST_REASONS = 2
_MOST_GAPS = 3
_LEAST_EVIDENCE = 0.5  # a logarithm of likelihoods: three to two
_UNUSUAL = 3.0
_ROWS_AT_A_TIME = 1 << 13


@dataclass(frozen=True)
class SampleExplanation:
    """Why a sample is torn between clusters, or belongs to none.

    Attributes
    ----------
    sample : str
        Its name, or number.
    position : int
        Its position in the table.
    clusters : tuple of str
        The clusters that it may be in; none for an outlier.
    doubt : float
        The doubt about the most plausible of them, from 0 to 1.
    reasons : dict from str to tuple of str
        For each of these clusters, the values that speak for it. For an outlier there is one entry, "unusual",
        with the values that are far from all clusters.
    sentences : tuple of str
        The verdict, what speaks for which cluster or is unusual, and which values are missing.
    """

    sample: str
    position: int
    clusters: tuple[str, ...]
    doubt: float
    reasons: dict[str, tuple[str, ...]]
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """All sentences."""
        return " ".join(self.sentences)

    def __str__(self) -> str:
        return f"{self.sample}: {self.text}"


def torn_samples(
    partition: CredalPartition, verdict: Verdict, columns: Sequence[Column]
) -> Iterator[SampleExplanation]:
    """Why samples are torn, those in the greatest doubt first."""
    doubt, names = partition.doubt(), cluster_texts(partition)
    torn = np.flatnonzero(verdict.torn)
    for rows in _some(torn[np.argsort(-doubt[torn], kind="stable")]):
        scores = [column.scores(rows) for column in columns]
        for k, row in enumerate(rows.tolist()):
            candidates = np.flatnonzero(verdict.candidates[row])
            own = np.array([one[k, candidates] for one in scores]).reshape(len(columns), len(candidates))
            # What speaks for a cluster, beside what speaks for the others on average.
            evidence = own - (own.sum(axis=1, keepdims=True) - own) / (len(candidates) - 1)
            among = [names[c] for c in candidates]
            reasons = {
                name: tuple(columns[j].told_with(row, candidates, among) for j in _strongest(evidence[:, c]))
                for c, name in enumerate(among)
            }
            told = (f"May be in {plain.listed(among, 'or')}.", *_told(reasons), *_gaps(columns, row))
            name = sample_name(partition, row)
            yield SampleExplanation(name, row, tuple(among), float(doubt[row]), reasons, told)


def outlying_samples(
    partition: CredalPartition, verdict: Verdict, columns: Sequence[Column]
) -> Iterator[SampleExplanation]:
    """Why outliers belong to no cluster, those that are surest to belong to none first."""
    doubt = partition.doubt()
    outliers = np.flatnonzero(verdict.outlier)
    for rows in _some(outliers[np.argsort(-partition.masses[outliers, 0], kind="stable")]):
        far = np.array([column.unusual(rows) for column in columns]).reshape(len(columns), len(rows))
        for k, row in enumerate(rows.tolist()):
            unusual = tuple(columns[j].told_unusual(row) for j in _strongest(far[:, k], _UNUSUAL))
            told = ("Fits no cluster.", *_told_unusual(unusual, bool(columns)), *_gaps(columns, row))
            name = sample_name(partition, row)
            yield SampleExplanation(name, row, (), float(doubt[row]), {"unusual": unusual}, told)


def sample_name(partition: CredalPartition, position: int) -> str:
    """The name of a sample, or its number."""
    index = partition.sample_index
    return plain.one_line(position if index is None else index[position])


def _some(rows: IntArray) -> Iterator[IntArray]:
    """Samples in groups, because what all columns say of all samples is a lot."""
    for start in range(0, len(rows), _ROWS_AT_A_TIME):
        yield rows[start : start + _ROWS_AT_A_TIME]


def _strongest(values: FloatArray, least: float = _LEAST_EVIDENCE) -> list[int]:
    order = np.argsort(-values, kind="stable")[:_MOST_REASONS]
    return [int(k) for k in order if values[k] >= least]


def _told(reasons: dict[str, tuple[str, ...]]) -> list[str]:
    speaking = [f"For {name}: {plain.listed(told)}." for name, told in reasons.items() if told]
    silent = [name for name, told in reasons.items() if not told]
    if not speaking:
        return ["No value speaks clearly for one of them."]
    return speaking + ([f"No value speaks clearly for {plain.listed(silent, 'or')}."] if silent else [])


def _told_unusual(unusual: Sequence[str], has_columns: bool) -> list[str]:
    if unusual:
        return [f"Unusual: {plain.listed(unusual)}."]
    return ["No single value is unusual, but they rarely go together."] if has_columns else []


def _gaps(columns: Sequence[Column], row: int) -> list[str]:
    names = [column.name for column in columns if column.missing[row]]
    more = [f"{len(names) - _MOST_GAPS} more"] if len(names) > _MOST_GAPS else []
    return [f"Missing: {plain.listed(names[:_MOST_GAPS] + more)}."] if names else []
