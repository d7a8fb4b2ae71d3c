"""Explanation of a clustering by the table of the user."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from evlearn.explain.columns import Column
from evlearn.explain.profiles import (
    ClusterProfile,
    SampleExplanation,
    explain_outliers,
    explain_torn_samples,
    profiles,
    sample_name,
)
from evlearn.explain.table import informative_columns
from evlearn.partition import SURE_LEVEL, CredalPartition, Verdict
from evlearn.partition.estimators import partition_for
from evlearn.utils.typing import EstimatorLike, FloatArray, TableLike
from evlearn.utils.validation import check_choice, check_integer

_MAX_PRINTED = 5


@dataclass(frozen=True, eq=False)
class Explanation:
    """Explanation of a clustering, as returned by `explain_clusters`.

    It prints as text.

    Attributes
    ----------
    partition : CredalPartition
        The explained partition.
    verdict : Verdict
        Sure, torn and outlying samples.
    clusters : tuple of ClusterProfile
        Profile of each cluster.
    columns : tuple of object
        Columns of the table, with their statistics.
    omitted_columns : dict from str to str
        Columns that are not used, with the reasons.
    """

    partition: CredalPartition
    verdict: Verdict
    clusters: tuple[ClusterProfile, ...]
    columns: tuple[Column, ...]
    omitted_columns: dict[str, str]

    @cached_property
    def torn(self) -> tuple[SampleExplanation, ...]:
        """Explanations of the torn samples, in decreasing order of doubt."""
        return tuple(explain_torn_samples(self.partition, self.verdict, self.columns))

    @cached_property
    def outliers(self) -> tuple[SampleExplanation, ...]:
        """Explanations of the outliers, in decreasing order of the mass of the empty set."""
        return tuple(explain_outliers(self.partition, self.verdict, self.columns))

    def sample_name(self, position: int) -> str:
        """Return the name of a sample, or its number as text.

        Parameters
        ----------
        position : int
            Position in the table.

        Returns
        -------
        str
            Name, on one line.
        """
        return sample_name(self.partition, position)

    def to_frame(
        self, of: Literal["clusters", "samples"] = "clusters", *, library: Literal["pandas", "polars"] = "pandas"
    ) -> Any:
        """Return the explanation as a data frame.

        Parameters
        ----------
        of : {"clusters", "samples"}, default="clusters"
            Content of the rows: differences of clusters, or torn samples and outliers.
        library : {"pandas", "polars"}, default="pandas"
            Library of the frame, which must be installed.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            For clusters, the name of the cluster and the attributes of `Difference`. For samples, the name,
            position, verdict, candidate clusters, doubt, outlier score, and reasons.
        """
        check_choice("of", of, ("clusters", "samples"))
        check_choice("library", library, ("pandas", "polars"))
        try:
            frames = importlib.import_module(library)
        except ImportError:
            raise ImportError(
                f"to_frame needs {library}; install it with `pip install {library}`, or print the explanation."
            ) from None
        return frames.DataFrame(self._differences() if of == "clusters" else self._samples())

    def _differences(self) -> dict[str, list[Any]]:
        rows = [(profile.name, difference) for profile in self.clusters for difference in profile.differences]
        fields = ("feature", "kind", "value", "overall", "effect", "text")
        columns = {field: [getattr(difference, field) for _, difference in rows] for field in fields}
        return {"cluster": [name for name, _ in rows]} | columns

    def _samples(self) -> dict[str, list[Any]]:
        samples = [*self.torn, *self.outliers]
        scores = self.partition.mass_table[:, 0]
        return {
            "sample": [sample.sample for sample in samples],
            "position": [sample.position for sample in samples],
            "verdict": ["torn" if sample.clusters else "outlier" for sample in samples],
            "candidates": [" or ".join(sample.clusters) for sample in samples],
            "doubt": [sample.doubt for sample in samples],
            "outlier_score": [float(scores[sample.position]) for sample in samples],
            "why": [sample.text for sample in samples],
        }

    def __str__(self) -> str:
        lines = []
        for profile in self.clusters:
            n_torn = profile.n_possible - profile.n_sure
            lines.append(f"{profile.name}: {profile.n_sure:,} sure, {n_torn:,} more possible")
            lines += [f"  {sentence}" for sentence in profile.sentences]
            for label, positions in (("typical", profile.typical), ("at the border", profile.border)):
                lines += [f"  {label}: {', '.join(map(self.sample_name, positions))}"] if positions else []
        for heading, samples in (("Torn", self.torn), ("Outliers", self.outliers)):
            note = f", the first {_MAX_PRINTED}" if len(samples) > _MAX_PRINTED else ""
            lines += [f"{heading}: {len(samples):,}{note}"] if samples else []
            lines += [f"  {sample}" for sample in samples[:_MAX_PRINTED]]
        return "\n".join(lines)

    __repr__ = __str__


def explain_clusters(
    clustering: CredalPartition | EstimatorLike,
    X: TableLike,
    *,
    cluster_names: Sequence[str] | None = None,
    level: float = SURE_LEVEL,
    n_features: int = 5,
    n_samples: int = 3,
) -> Explanation:
    """Describe each cluster and each doubtful sample in sentences.

    Samples are weighted by their degrees of membership, so outliers hardly count. Differences between a cluster
    and all other samples are ranked by an effect size without units, see `Difference`.

    Parameters
    ----------
    clustering : CredalPartition or fitted estimator
        A partition, an evlearn or scikit-learn clusterer, or a pipeline that ends in one.
    X : pandas, polars or pyarrow table, dict of columns, or array-like of shape (n_samples, n_columns)
        Samples in their original form: numbers, categories, flags, dates and missing values. For an estimator, the
        table that it accepts; for a partition, any table with a row for each of its samples.
    cluster_names : sequence of str or None, default=None
        Names of the clusters; None uses those of the partition, or "cluster" and a number.
    level : float, default=0.6
        A sample with at least this belief in one cluster is sure, see `evlearn.CredalPartition.verdict`.
    n_features : int, default=5
        Maximum number of differences per cluster.
    n_samples : int, default=3
        Maximum number of typical samples, and of border samples, per cluster.

    Returns
    -------
    Explanation
        Profiles of the clusters, and reasons for torn samples and outliers. Prints as text.

    See Also
    --------
    evlearn.report : The same as an HTML page, with plots.

    Examples
    --------
    >>> import numpy as np
    >>> from evlearn import CredalPartition
    >>> from evlearn.explain import explain_clusters
    >>> incomes = np.repeat([30_000, 52_000], 50) + np.tile(np.arange(-500, 500, 20), 2)
    >>> contracts = np.repeat(["monthly", "yearly"], 50)
    >>> table = np.array([incomes, contracts], dtype=object).T
    >>> partition = CredalPartition.from_hard(np.repeat(["Thrifty", "Loyal"], 50))
    >>> for profile in explain_clusters(partition, table).clusters:
    ...     print(profile.name, profile.sentences)
    Loyal ['feature 0: typically 52,000 (all: 41,000)',
           'feature 1: 100 % yearly (all: 50 %)']
    Thrifty ['feature 0: typically 30,000 (all: 41,000)',
             'feature 1: 100 % monthly (all: 50 %)']
    """
    check_integer("n_features", n_features, 1)
    check_integer("n_samples", n_samples, 0)
    partition = partition_for(clustering, X)
    if cluster_names is not None:
        partition = partition.rename(cluster_names=cluster_names)
    return explain_table(partition, X, level=level, n_features=n_features, n_samples=n_samples)


def explain_table(
    partition: CredalPartition,
    X: Any,
    names: Sequence[object] | None = None,
    *,
    level: float = SURE_LEVEL,
    n_features: int = 5,
    n_samples: int = 3,
) -> Explanation:
    """Explain a partition by a table; `names` replaces the names of its columns."""
    weights = _memberships(partition)
    columns, excluded = informative_columns(X, weights, names)
    verdict = partition.verdict(level)
    clusters = profiles(partition, verdict, columns, weights, n_features, n_samples)
    return Explanation(partition, verdict, clusters, tuple(columns), excluded)


def _memberships(partition: CredalPartition) -> FloatArray:
    """Return the weight of each sample in each cluster, without its mass on the empty set."""
    nonempty = 1 - np.asarray(partition.mass_table[:, 0], dtype=np.float64)[:, None]
    shares = np.asarray(partition.to_fuzzy("pignistic"), dtype=np.float64)
    return np.clip(np.where(nonempty > 0, nonempty * shares, 0), 0, 1)
