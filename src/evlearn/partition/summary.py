"""Text summary of a credal partition."""

import html
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evlearn.belief import FocalSets
from evlearn.belief.notation import FRAME_LABEL, format_name, format_set
from evlearn.partition.verdict import Verdict, distinct_sets
from evlearn.utils.formatting import format_count, format_large_share, format_level, join_first
from evlearn.utils.typing import IntArray

_MAX_GROUPS = 8
#: Share of the samples, without outliers, above which a cluster contains nearly all of them.
NEARLY_ALL = 0.95
#: Minimum mean number of samples per cluster for a warning about cluster sizes.
_MIN_MEAN_SIZE = 10
#: Advice if one cluster contains nearly all samples.
ADVICE_ON_SIZES = (
    "If this is unexpected, check the data for wrong or extreme values: correct or remove them, or take "
    "logarithms of skewed features, and fit again."
)


@dataclass(frozen=True)
class PartitionSummary:
    """Numbers of samples that are sure, torn between clusters, or outliers. Summaries of parts can be added.

    The counts are those of `CredalPartition.verdict`. The text begins with a warning for each of the `problems`.

    Attributes
    ----------
    n_samples : int
        Number of samples.
    n_clusters : int
        Number of clusters.
    sure : dict from str to int
        Number of samples that are sure to belong to each cluster.
    torn : dict from str to int
        Number of samples that are torn between the clusters of each set; the most frequent sets first.
    n_outliers : int
        Number of samples that belong to no cluster.
    nonspecificity : float
        From 0 (all mass on single clusters) to 1 (all mass on the set of all clusters).
    level : float
        Belief in one cluster from which a sample is sure.
    noun : {"cluster", "class"}, default="cluster"
        Noun in the text; "class" for classifiers.
    fit_problems : tuple of str, default=()
        Sentences that describe problems of the fit, see `CredalPartition.problems`.
    is_subset : bool, default=False
        True if the samples were selected from a larger partition. Cluster sizes are then not checked.
    """

    n_samples: int
    n_clusters: int
    sure: dict[str, int]
    torn: dict[str, int]
    n_outliers: int
    nonspecificity: float
    level: float
    noun: Literal["cluster", "class"] = "cluster"
    fit_problems: tuple[str, ...] = ()
    is_subset: bool = False

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences that describe problems: one cluster contains nearly all samples, or problems of the fit."""
        if self.is_subset or self.noun == "class":
            return self.fit_problems
        sizes, n_inside = list(self.sure.values()), self.n_samples - self.n_outliers
        largest = dominant_cluster(sizes, n_inside)
        if largest is None:
            return self.fit_problems
        share = f"{sizes[largest]:,} of {n_inside:,} samples ({format_large_share(sizes[largest] / n_inside)})"
        outliers = ", not counting outliers" if self.n_outliers else ""
        name = format_name(list(self.sure)[largest])
        fact = f"Cluster {name} contains {share}{outliers}."
        return (f"{fact} {ADVICE_ON_SIZES}", *self.fit_problems)

    @property
    def n_sure(self) -> int:
        """Number of sure samples."""
        return sum(self.sure.values())

    @property
    def n_torn(self) -> int:
        """Number of samples that are torn between clusters."""
        return sum(self.torn.values())

    def __add__(self, other: "PartitionSummary") -> "PartitionSummary":
        if self.sure.keys() != other.sure.keys():
            raise ValueError("summaries can be added only if they have the same clusters.")
        if self.level != other.level:
            raise ValueError(
                f"summaries can be added only if they have the same level, got {self.level} and {other.level}."
            )
        torn = Counter(self.torn) + Counter(other.torn)
        n_samples = self.n_samples + other.n_samples
        vague = self.n_samples * self.nonspecificity + other.n_samples * other.nonspecificity
        return PartitionSummary(
            n_samples=n_samples,
            n_clusters=self.n_clusters,
            sure={name: count + other.sure[name] for name, count in self.sure.items()},
            torn=dict(torn.most_common()),
            n_outliers=self.n_outliers + other.n_outliers,
            nonspecificity=vague / n_samples,
            level=self.level,
            noun=self.noun,
            fit_problems=tuple(dict.fromkeys((*self.fit_problems, *other.fit_problems))),
            is_subset=self.is_subset and other.is_subset,
        )

    def _size(self) -> str:
        return f"{format_count(self.n_samples, 'sample')}, {format_count(self.n_clusters, self.noun)}"

    def _rows(self) -> list[tuple[str, int, str]]:
        return [
            ("sure", self.n_sure, _listing({f"{format_name(name)}:": count for name, count in self.sure.items()})),
            ("torn", self.n_torn, _listing({f"{self._set(name)}:": count for name, count in self.torn.items()})),
            ("outliers", self.n_outliers, ""),
        ]

    def _set(self, label: str) -> str:
        return f"{label} (any {self.noun})" if label == FRAME_LABEL else label

    def _rule(self) -> str:
        return f"sure: a belief of {format_level(self.level)} or more in one {self.noun}"

    def __str__(self) -> str:
        lines = [*(f"Warning: {problem}" for problem in self.problems), self._size()]
        for name, count, detail in self._rows():
            share = f"({100 * count / self.n_samples:.1f} %)"
            lines.append(f"  {name:<9}{count:>9} {share:>10}   {detail}".rstrip())
        lines.append(f"  {self._rule()}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = []
        for name, count, detail in self._rows():
            percent = 100 * count / self.n_samples
            bar = (
                f'<div style="background:#0072b2;height:0.7em;width:{percent:.1f}%;min-width:1px" '
                f'title="{percent:.1f} %"></div>'
            )
            cells = "".join(
                f'<td style="text-align:left">{cell}</td>'
                for cell in (name, f"{count} ({percent:.1f}&nbsp;%)", html.escape(detail))
            )
            rows.append(f'<tr>{cells}<td style="width:10em">{bar}</td></tr>')
        problems = "".join(f"<p><strong>Warning:</strong> {html.escape(problem)}</p>" for problem in self.problems)
        return f"<div>{problems}<strong>{self._size()}</strong><table>{''.join(rows)}</table>{self._rule()}</div>"


@dataclass
class VerdictCounts:
    """Numbers of samples by verdict.

    Attributes
    ----------
    sure : ndarray of int of shape (n_clusters,)
        Number of sure samples of each cluster.
    torn : dict from tuple of int to int
        Number of torn samples for each set of candidates.
    n_outliers : int
        Number of outliers.
    """

    sure: IntArray
    torn: dict[tuple[int, ...], int]
    n_outliers: int

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.sure.sum()) + sum(self.torn.values()) + self.n_outliers

    def add(self, other: "VerdictCounts", clusters: IntArray) -> "VerdictCounts":
        """Return the sum with counts for some of the clusters."""
        sure, torn = self.sure.copy(), dict(self.torn)
        sure[clusters] += other.sure
        for members, count in other.torn.items():
            key = tuple(clusters[list(members)].tolist())
            torn[key] = torn.get(key, 0) + count
        return VerdictCounts(sure, torn, self.n_outliers + other.n_outliers)


def count_verdicts(verdict: Verdict) -> VerdictCounts:
    """Count the samples by their candidates."""
    candidates = verdict.candidates
    sets, places = distinct_sets(candidates[verdict.torn])
    counts = np.bincount(places, minlength=len(sets)).tolist()
    torn = {tuple(np.flatnonzero(members).tolist()): count for members, count in zip(sets, counts, strict=True)}
    return VerdictCounts(candidates[verdict.sure].sum(axis=0), torn, int(verdict.outlier.sum()))


def summarize(
    counts: VerdictCounts,
    focal_sets: FocalSets,
    nonspecificity: float,
    noun: Literal["cluster", "class"],
    level: float,
) -> PartitionSummary:
    """Return the summary of verdicts; the most frequent sets first, and equally frequent ones in their order."""
    elements = np.arange(focal_sets.frame_size)
    by_count = sorted(counts.torn, key=lambda members: (-counts.torn[members], len(members), members))
    return PartitionSummary(
        n_samples=counts.n_samples,
        n_clusters=focal_sets.frame_size,
        sure={name: int(count) for name, count in zip(focal_sets.frame, counts.sure, strict=True)},
        torn={
            format_set(np.isin(elements, members), focal_sets.names): counts.torn[members] for members in by_count
        },
        n_outliers=counts.n_outliers,
        nonspecificity=nonspecificity,
        level=level,
        noun=noun,
    )


def dominant_cluster(sizes: Sequence[int] | IntArray, n_samples: int) -> int | None:
    """Return the number of the cluster that contains nearly all samples, or None.

    Return None also for a single cluster, and for fewer than 10 samples per cluster on average.
    """
    if len(sizes) < 2 or n_samples < _MIN_MEAN_SIZE * len(sizes):
        return None
    largest = int(np.argmax(sizes))
    return largest if sizes[largest] > NEARLY_ALL * n_samples else None


def _listing(counts: dict[str, int]) -> str:
    return join_first([f"{name} {count}" for name, count in counts.items()], _MAX_GROUPS)
