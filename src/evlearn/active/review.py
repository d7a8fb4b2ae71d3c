"""Which samples a person should look at, in which order, and what is made of the answers."""

import json
import os
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import ArrayLike

from evlearn import belief
from evlearn.constraints import PairwiseConstraints
from evlearn.partition import CredalPartition
from evlearn.utils.files import check_folder, replacing
from evlearn.utils.stored_values import explaining, read_json
from evlearn.utils.typing import BoolArray, EstimatorLike, FloatArray, IntArray
from evlearn.utils.validation import check_integer, check_real

_NONE = "none of these"
_SHOWN = 30  # features in the text of a task
_HOW = "Export the project from Label Studio as JSON."


def review(result: CredalPartition | EstimatorLike, budget: int | float | None = None) -> "Review":
    """The samples that a person should look at, those that are most likely wrong first.

    Parameters
    ----------
    result : CredalPartition or fitted estimator
        What was found. An estimator must have `credal_partition_`.
    budget : int, float or None, default=None
        How many samples a person can look at, or which share of all, below 1. None means all that are torn or
        outliers.

    Returns
    -------
    Review
        The samples, in order, with the errors that are expected before and after.

    Examples
    --------
    >>> from evlearn import CredalPartition
    >>> from evlearn.active import review
    >>> partition = CredalPartition.from_fuzzy([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    >>> found = review(partition, budget=1)
    >>> found.samples
    array([1])
    >>> print(f"{found.expected_errors:.1f} to {found.expected_errors_left:.1f}")
    0.8 to 0.3
    """
    partition = getattr(result, "credal_partition_", result)
    if not isinstance(partition, CredalPartition):
        raise TypeError(
            f"result must be a CredalPartition or a fitted estimator with credal_partition_, got "
            f"{type(result).__name__}."
        )
    risks = _risks(partition)
    order = np.lexsort((np.arange(len(risks)), -risks))[: _size(partition, budget)]
    return Review(
        samples=order,
        risks=risks[order],
        partition=partition[order],
        n_samples=len(risks),
        expected_errors=float(risks.sum()),
    )


def _risks(partition: CredalPartition) -> FloatArray:
    """How probable it is that a sample is not in its most plausible cluster, by pignistic probabilities."""
    labels = partition.to_hard()
    outside = np.asarray(partition.masses[:, 0], dtype=np.float64)
    right = belief.pignistic(partition.masses, partition.focal_sets)[np.arange(len(labels)), labels]
    return np.clip(1 - (1 - outside) * np.where(outside < 1, right, 0), 0, 1)


def _size(partition: CredalPartition, budget: int | float | None) -> int:
    if budget is None:
        return int((~partition.verdict().sure).sum())
    if isinstance(budget, (float, np.floating)):
        check_real("budget", budget, 0, 1, open_low=True)
        return int(np.ceil(budget * partition.n_samples))
    check_integer("budget", budget, 1)
    return int(min(budget, partition.n_samples))


@dataclass(frozen=True)
class Review:
    """Samples for a person to look at, in order, and where the answers come back; made by `review`.

    Attributes
    ----------
    samples : ndarray of int of shape (n_reviewed,)
        The numbers of the samples, in the order in which to look at them.
    risks : ndarray of shape (n_reviewed,)
        How probable it is that the most plausible cluster of each is wrong, by its masses.
    partition : CredalPartition
        What is known about these samples, in the same order.
    n_samples : int
        How many samples there are in all.
    expected_errors : float
        How many of all samples are expected to be in a wrong cluster: the sum of all risks.
    """

    samples: IntArray
    risks: FloatArray
    partition: CredalPartition
    n_samples: int
    expected_errors: float

    @property
    def expected_errors_left(self) -> float:
        """How many errors are expected once a person has put these samples right."""
        return self.expected_errors - float(self.risks.sum())

    def to_frame(self, X: ArrayLike | None = None) -> Any:
        """The samples as a table for a person.

        Parameters
        ----------
        X : pandas.DataFrame, array-like or None, default=None
            All samples, whose columns are shown too.

        Returns
        -------
        pandas.DataFrame
            A row for each sample, with its number, its most plausible cluster, the clusters that it may be in,
            and its risk.
        """
        import pandas as pd

        names = self.partition.cluster_names
        columns = {
            "sample": self.samples,
            "cluster": [names[one] for one in self.partition.to_hard()],
            "candidates": self.partition.verdict().labels(names),
            "risk": self.risks,
        }
        index = self.partition.sample_index
        frame = pd.DataFrame(columns, index=None if index is None else pd.Index(index))
        if X is None:
            return frame
        shown = self._rows(X)
        shown.index = frame.index
        return frame.join(shown)

    def to_label_studio(self, path: str | os.PathLike[str], X: ArrayLike | None = None) -> None:
        """Write the samples as tasks of Label Studio, each with what is known about it as a prediction.

        Parameters
        ----------
        path : str or path
            The JSON file, to be imported there. `label_studio_config` gives the interface for the project.
        X : pandas.DataFrame, array-like or None, default=None
            All samples, whose columns a person wants to see.
        """
        table = None if X is None else self._rows(X)
        best = self.partition.to_hard()
        tasks = [self._task(place, best[place], table) for place in range(len(best))]
        with replacing(path) as file:
            file.write(json.dumps(tasks, indent=1).encode())

    def label_studio_config(self) -> str:
        """The labeling interface of a project in Label Studio.

        Returns
        -------
        str
            XML: the text of a sample, and a choice of clusters, one or several, or none of them.
        """
        choices = "".join(f"\n    <Choice value={quoteattr(name)}/>" for name in self._choices)
        return (
            '<View>\n  <Text name="sample" value="$text"/>\n'
            f'  <Choices name="cluster" toName="sample" choice="multiple">{choices}\n  </Choices>\n</View>\n'
        )

    def read_label_studio(self, path: str | os.PathLike[str]) -> "ReviewAnswers":
        """What people said, from a JSON export of Label Studio.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        ReviewAnswers
            The last annotation of each task. Tasks that were skipped, or have no choice, are unanswered.
        """
        path = check_folder(path)
        candidates = np.ones((self.n_samples, self.partition.n_clusters), dtype=bool)
        answered = np.zeros(self.n_samples, dtype=bool)
        asked = set(self.samples.tolist())
        with explaining(path.name, "an export", _HOW):
            for task in read_json(path.read_bytes()):
                sample, chosen = task["data"]["sample"], _chosen(task["annotations"])
                if sample not in asked or isinstance(sample, bool):
                    raise ValueError(f"sample {sample!r} is not among those of this review")
                if chosen:
                    candidates[sample] = self._as_set(chosen)
                    answered[sample] = True
        return ReviewAnswers(candidates, answered, self.partition.cluster_names)

    @property
    def _choices(self) -> tuple[str, ...]:
        names = self.partition.cluster_names
        if _NONE in names:
            raise ValueError(
                f"a cluster is called {_NONE!r}, which is what a person says of an outlier; rename it."
            )
        return (*names, _NONE)

    def _as_set(self, chosen: list[str]) -> BoolArray:
        unknown = sorted(set(chosen) - set(self._choices))
        if unknown or (_NONE in chosen and len(chosen) > 1):
            raise ValueError(f"{chosen!r} are not clusters, or one of them is {_NONE!r}")
        return np.isin(self.partition.cluster_names, chosen)

    def _rows(self, X: Any) -> Any:
        if len(X) != self.n_samples:
            raise ValueError(f"X has {len(X)} rows, but there are {self.n_samples} samples; give all of them.")
        import pandas as pd

        return pd.DataFrame(X).iloc[self.samples]

    def _task(self, place: int, best: int, table: Any) -> dict[str, Any]:
        names = self.partition.sample_names
        name = str(self.samples[place]) if names is None else names[place]
        lines = [] if table is None else [f"{key}: {value}" for key, value in table.iloc[place].items()][:_SHOWN]
        cluster = self.partition.cluster_names[best]
        value = {"from_name": "cluster", "to_name": "sample", "type": "choices", "value": {"choices": [cluster]}}
        return {
            "data": {"sample": int(self.samples[place]), "text": "\n".join([f"sample {name}", *lines])},
            "predictions": [{"score": round(1 - float(self.risks[place]), 4), "result": [value]}],
        }


def _chosen(annotations: list[dict[str, Any]]) -> list[str]:
    """The choices of the last annotation that was not skipped."""
    said = [one["result"] for one in annotations if not one.get("was_cancelled")]
    found: list[str] = [name for part in said[-1] for name in part["value"]["choices"]] if said else []
    return found


@dataclass(frozen=True)
class ReviewAnswers:
    """What people said about samples: one cluster, several, or none.

    Attributes
    ----------
    candidates : ndarray of bool of shape (n_samples, n_clusters)
        Which clusters are possible: all of them for samples without an answer, none for outliers.
    answered : ndarray of bool of shape (n_samples,)
        Whether there is an answer.
    cluster_names : tuple of str
        The names of the clusters.
    """

    candidates: BoolArray
    answered: BoolArray
    cluster_names: tuple[str, ...]

    @classmethod
    def of(cls, labels: ArrayLike, cluster_names: tuple[str, ...]) -> "ReviewAnswers":
        """Answers that are cluster numbers.

        Parameters
        ----------
        labels : array-like of int of shape (n_samples,)
            The cluster of each sample, -1 where nobody was asked.
        cluster_names : tuple of str
            The names of the clusters.

        Returns
        -------
        ReviewAnswers
            The answers.
        """
        given = np.asarray(labels)
        answered = given >= 0
        candidates = (given[:, None] == np.arange(len(cluster_names))) | ~answered[:, None]
        return cls(candidates, answered, cluster_names)

    @property
    def labels(self) -> IntArray:
        """The cluster of each sample with an answer of one cluster, and -1 for all others."""
        single = self.answered & (self.candidates.sum(axis=1) == 1)
        return np.where(single, self.candidates.argmax(axis=1), -1)

    def constraints(self) -> PairwiseConstraints:
        """Pairs of samples with the same answer or with different ones, for clusterers that take constraints.

        Returns
        -------
        PairwiseConstraints
            Must-links and cannot-links between all samples with an answer of one cluster.
        """
        return PairwiseConstraints.from_labels(self.labels, unlabelled=-1)

    def to_partition(self) -> CredalPartition:
        """What is known from the answers alone, for classifiers that take doubtful labels.

        Returns
        -------
        CredalPartition
            All mass of a sample on the set that was said, on all clusters without an answer, and on the empty set
            for outliers.
        """
        return CredalPartition.from_rough(self.candidates, cluster_names=self.cluster_names)

    def applied_to(self, partition: CredalPartition) -> CredalPartition:
        """The same result, with what people said instead of what was computed.

        Parameters
        ----------
        partition : CredalPartition
            The result that was reviewed.

        Returns
        -------
        CredalPartition
            Samples with an answer have all their mass on it.
        """
        said = np.unique(self.candidates[self.answered], axis=0)
        sets = partition.focal_sets.with_sets(np.flatnonzero(row).tolist() for row in said)
        masses: FloatArray = np.zeros((partition.n_samples, len(sets)), dtype=partition.masses.dtype)
        masses[:, sets.positions(partition.focal_sets.membership)] = partition.masses
        masses[self.answered] = 0
        places = sets.positions(self.candidates[self.answered])
        masses[np.flatnonzero(self.answered), places] = 1
        return CredalPartition(masses, sets, partition.sample_index, validate=False)
