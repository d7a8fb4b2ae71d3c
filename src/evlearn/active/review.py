"""Which samples a person should look at, in which order, and what is made of the answers."""

import json
import os
from dataclasses import dataclass
from itertools import chain, count
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from evlearn.constraints import PairwiseConstraints
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import fitted_partition, n_rows_of, partition_for, split_pipeline
from evlearn.partition.verdict import risks
from evlearn.preprocessing.reading import split_columns
from evlearn.utils.files import check_folder, replacing
from evlearn.utils.stored_values import explaining, read_json
from evlearn.utils.typing import BoolArray, EstimatorLike, FloatArray, IntArray, TableLike
from evlearn.utils.validation import check_integer, check_real

_NONE = "none of these"
_SHOWN = 30  # features in the text of a task
_HOW = "Export the project from Label Studio as JSON."


def review(
    result: CredalPartition | EstimatorLike, budget: int | float | None = None, *, X: TableLike | None = None
) -> "Review":
    """Return the samples that a person should look at, those that are most likely wrong first.

    Samples are ordered by risk, not by doubt: outliers, whose doubt may be 0, have a large risk.

    Parameters
    ----------
    result : CredalPartition or fitted estimator
        The partition, the clusterer or classifier, or a pipeline that ends in one.
    budget : int, float or None, default=None
        The number of samples that a person can look at, or, below 1, their share of all samples. None means all
        samples that are torn or outliers.
    X : array-like or table with a row for each sample, default=None
        The samples that the estimator is applied to. They are needed if it has no `credal_partition_`, as
        classifiers and scikit-learn's clusterers, or if other samples than those of the fit are reviewed. The
        index of a pandas frame gives the names of the samples.

    Returns
    -------
    Review
        The samples, in order, with the numbers of errors to be expected before and after.

    Examples
    --------
    >>> from evlearn import CredalPartition
    >>> from evlearn.active import review
    >>> partition = CredalPartition.from_fuzzy([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    >>> todo = review(partition, budget=1)
    >>> todo.samples
    array([1])
    >>> print(f"{todo.expected_errors:.1f} to {todo.expected_errors_left:.1f}")
    0.8 to 0.3
    """
    partition = _reviewed(result, X)
    risk = risks(partition.masses, partition.focal_sets)
    order = np.lexsort((np.arange(len(risk)), -risk))[: _size(partition, budget)]
    return Review(
        samples=order,
        risks=risk[order],
        partition=partition[order],
        n_samples=len(risk),
        expected_errors=float(risk.sum()),
    )


def _reviewed(result: Any, X: Any) -> CredalPartition:
    """Return the partition that a result holds, or that it makes of X."""
    if X is not None:
        return partition_for(result, X)
    if isinstance(result, CredalPartition):
        return result
    if not hasattr(split_pipeline(result)[1], "credal_partition_"):
        raise TypeError(
            "result must be a CredalPartition or a fitted estimator with credal_partition_, got "
            f"{type(result).__name__}; fit it first, or give the samples as X."
        )
    return fitted_partition(result)


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

    def to_frame(self, X: TableLike | None = None) -> Any:
        """Return the samples as a table for a person.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, dict of columns, array-like or None, default=None
            All samples, in the order of the partition, whose columns are shown too. Rows are matched by position,
            whatever the index. A column with the name of another column, such as "cluster", is shown as
            "cluster_X"; if X has a column of that name too, with the next free number, "cluster_X2".

        Returns
        -------
        pandas.DataFrame
            A row for each sample, with its number, its most plausible cluster, the clusters that it may be in,
            its risk, its doubt between clusters, its outlier score, which is the mass on the empty set, and its
            row of X. The index has the names of the samples; if the partition has none, it is
            that of X, if X is a pandas table, and else that of rows.
        """
        import pandas as pd

        names = self.partition.cluster_names
        columns = {
            "sample": self.samples,
            "cluster": [names[label] for label in self.partition.to_hard()],
            "candidates": self.partition.verdict().labels(names),
            "risk": self.risks,
            "doubt": self.partition.doubt(),
            "outlier_score": self.partition.masses[:, 0],
        }
        index = self.partition.sample_index
        frame = pd.DataFrame(columns, index=None if index is None else pd.Index(index))
        if X is None:
            return frame
        rows = self._rows(X)
        if index is None and hasattr(X, "iloc"):
            frame.index = rows.index
        rows.index = frame.index
        if not rows.columns.isin(frame.columns).any():
            return pd.concat([frame, rows], axis=1)
        rows.columns = _renamed(list(rows.columns), frame.columns)
        return pd.concat([frame, rows], axis=1)

    def to_label_studio(self, path: str | os.PathLike[str], X: TableLike | None = None) -> None:
        """Write the samples as tasks of Label Studio, each with what is known about it as a prediction.

        Parameters
        ----------
        path : str or path
            The JSON file, to be imported there. `label_studio_config` gives the interface for the project.
        X : pandas, polars or pyarrow table, dict of columns, array-like or None, default=None
            All samples, in the order of the partition, whose columns a person wants to see.
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
        """Return the rows of the samples, in their order, as a new pandas frame."""
        if n_rows_of(X) != self.n_samples:
            raise ValueError(
                f"X has {n_rows_of(X)} rows, but there are {self.n_samples} samples; give all of them."
            )
        import pandas as pd

        if hasattr(X, "iloc"):
            return pd.DataFrame(X).iloc[self.samples].copy()
        if issparse(X):
            return pd.DataFrame(X.tocsr()[self.samples].toarray())
        columns, named = split_columns(X)
        frame = pd.concat([_taken(column, self.samples) for _, column in columns], axis=1)
        frame.columns = [name for name, _ in columns] if named else range(len(columns))
        return frame

    def _task(self, place: int, best: int, table: Any) -> dict[str, Any]:
        names = self.partition.sample_names
        name = str(self.samples[place]) if names is None else names[place]
        shown = [] if table is None else table.columns[:_SHOWN]
        lines = [
            f"{column}: {table.iat[place, k]}" for k, column in enumerate(shown)
        ]  # cells, with their own types
        cluster = self.partition.cluster_names[best]
        value = {"from_name": "cluster", "to_name": "sample", "type": "choices", "value": {"choices": [cluster]}}
        return {
            "data": {"sample": int(self.samples[place]), "text": "\n".join([f"sample {name}", *lines])},
            "predictions": [{"score": round(1 - float(self.risks[place]), 4), "result": [value]}],
        }


def _taken(column: Any, samples: IntArray) -> Any:
    """Return some cells of a column of any library as a pandas series."""
    import pandas as pd

    cells = column.take(samples) if hasattr(column, "to_pylist") else column[samples]
    return pd.Series(cells.to_pylist() if hasattr(cells, "to_pylist") else np.asarray(cells))


def _renamed(names: list[Any], taken: Any) -> list[Any]:
    """Return the names of columns, with a suffix where they are taken."""
    used = {*names, *taken}
    renamed = []
    for name in names:
        suffixes = chain([""], map(str, count(2)))
        new = next(f"{name}_X{k}" for k in suffixes if f"{name}_X{k}" not in used) if name in taken else name
        used.add(new)
        renamed.append(new)
    return renamed


def _chosen(annotations: list[dict[str, Any]]) -> list[str]:
    """Return the choices of the last annotation that was not skipped."""
    results = [annotation["result"] for annotation in annotations if not annotation.get("was_cancelled")]
    return [name for part in results[-1] for name in part["value"]["choices"]] if results else []


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
        numbers = np.asarray(labels)
        unknown = numbers[~np.isin(numbers, np.arange(-1, len(cluster_names)))]
        if len(unknown):
            raise ValueError(
                f"labels must be the numbers of the {len(cluster_names)} clusters, or -1, got {unknown[0]}."
            )
        answered = numbers >= 0
        candidates = (numbers[:, None] == np.arange(len(cluster_names))) | ~answered[:, None]
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
