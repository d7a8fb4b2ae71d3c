"""Explanation of a clustering: profiles of clusters, and reasons for torn samples and outliers."""

import importlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from evlearn.explain.columns import Column
from evlearn.explain.profiles import ClusterProfile
from evlearn.explain.reasons import SampleExplanation, explain_outliers, explain_torn_samples, sample_name
from evlearn.partition import CredalPartition, Verdict
from evlearn.utils.validation import check_choice

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
        return {
            "sample": [sample.sample for sample in samples],
            "position": [sample.position for sample in samples],
            "verdict": ["torn" if sample.clusters else "outlier" for sample in samples],
            "candidates": [" or ".join(sample.clusters) for sample in samples],
            "doubt": [sample.doubt for sample in samples],
            "outlier_score": [float(self.partition.masses[sample.position, 0]) for sample in samples],
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
