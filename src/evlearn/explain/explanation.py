"""What is said about a clustering: its clusters, and the samples that a person should look at."""

import importlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from evlearn.explain.columns import Column
from evlearn.explain.profiles import ClusterProfile
from evlearn.explain.reasons import SampleExplanation, outlying_samples, sample_name, torn_samples
from evlearn.partition import CredalPartition, Verdict
from evlearn.utils.validation import check_choice

_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Explanation:
    """What the clusters of a table are, and why samples are torn or outliers; made by `explain_clusters`.

    It prints as text.

    Attributes
    ----------
    partition : CredalPartition
        What is known of each sample.
    verdict : Verdict
        Which samples are sure, torn or outliers.
    clusters : tuple of ClusterProfile
        What each cluster is.
    columns : tuple of object
        The columns of the table, as they were read.
    left_out : dict from str to str
        The columns that say nothing, and why.
    """

    partition: CredalPartition
    verdict: Verdict
    clusters: tuple[ClusterProfile, ...]
    columns: tuple[Column, ...]
    left_out: dict[str, str]

    @cached_property
    def torn(self) -> tuple[SampleExplanation, ...]:
        """Why each torn sample is torn, those in the greatest doubt first."""
        return tuple(torn_samples(self.partition, self.verdict, self.columns))

    @cached_property
    def outliers(self) -> tuple[SampleExplanation, ...]:
        """Why each outlier belongs to no cluster, those that are surest to belong to none first."""
        return tuple(outlying_samples(self.partition, self.verdict, self.columns))

    def sample_name(self, position: int) -> str:
        """The name of a sample, or its number as text.

        Parameters
        ----------
        position : int
            Its position in the table.

        Returns
        -------
        str
            The name, on one line.
        """
        return sample_name(self.partition, position)

    def to_frame(
        self, of: Literal["clusters", "samples"] = "clusters", *, library: Literal["pandas", "polars"] = "pandas"
    ) -> Any:
        """The explanation as a data frame.

        Parameters
        ----------
        of : {"clusters", "samples"}, default="clusters"
            A row for each difference of each cluster, or for each sample that is torn or an outlier.
        library : {"pandas", "polars"}, default="pandas"
            Which kind of frame; the library must be installed.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Of clusters: the attributes of `Difference`, beside the name of the cluster. Of samples: the name and
            the position, whether it is torn or an outlier, the clusters that it may be in, the doubt, the outlier
            score, and why.
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
        rows = [(profile.name, one) for profile in self.clusters for one in profile.differences]
        fields = ("feature", "kind", "value", "overall", "effect", "text")
        columns = {field: [getattr(one, field) for _, one in rows] for field in fields}
        return {"cluster": [name for name, _ in rows]} | columns

    def _samples(self) -> dict[str, list[Any]]:
        found = [*self.torn, *self.outliers]
        return {
            "sample": [one.sample for one in found],
            "position": [one.position for one in found],
            "verdict": ["torn" if one.clusters else "outlier" for one in found],
            "candidates": [" or ".join(one.clusters) for one in found],
            "doubt": [one.doubt for one in found],
            "outlier_score": [float(self.partition.masses[one.position, 0]) for one in found],
            "why": [one.text for one in found],
        }

    def __str__(self) -> str:
        lines = []
        for profile in self.clusters:
            more = profile.n_possible - profile.n_sure
            lines.append(f"{profile.name}: {profile.n_sure:,} sure, {more:,} more may be in it")
            lines += [f"  {sentence}" for sentence in profile.sentences]
            for word, chosen in (("typical", profile.typical), ("at the border", profile.border)):
                lines += [f"  {word}: {', '.join(map(self.sample_name, chosen))}"] if chosen else []
        for heading, found in (("Torn", self.torn), ("Outliers", self.outliers)):
            some = f", the first {_SHOWN}" if len(found) > _SHOWN else ""
            lines += [f"{heading}: {len(found):,}{some}"] if found else []
            lines += [f"  {one}" for one in found[:_SHOWN]]
        return "\n".join(lines)

    __repr__ = __str__
