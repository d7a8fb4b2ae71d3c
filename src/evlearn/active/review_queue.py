"""Review queue: samples for a person to check, in order of risk, and the answers."""

import json
import os
from dataclasses import dataclass
from itertools import chain, count
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from evlearn.classify import LabelIssues
from evlearn.constraints import PairwiseConstraints
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import fitted_partition, n_rows_of, partition_for, split_pipeline
from evlearn.preprocessing.reading import split_columns
from evlearn.storage.codec import describe_errors, read_json
from evlearn.utils.files import atomic_write, check_folder
from evlearn.utils.typing import BoolArray, EstimatorLike, FloatArray, IntArray, TableLike
from evlearn.utils.validation import read_budget

_OUTLIER_CHOICE = "none of these"
_MAX_COLUMNS = 30  # in the text of a task
_REMEDY = "Export the project from Label Studio as JSON."


def review_queue(
    result: CredalPartition | LabelIssues | EstimatorLike,
    budget: int | float | None = None,
    *,
    X: TableLike | None = None,
) -> "ReviewQueue":
    """Return the samples that a person should check, in decreasing order of risk.

    The order is by risk, not by doubt: outliers, whose doubt may be 0, have a large risk.

    Parameters
    ----------
    result : CredalPartition, LabelIssues or fitted estimator
        Partition, clusterer or classifier, or a pipeline that ends in one; or the result of
        `evlearn.classify.find_label_issues`, whose order and scores are used.
    budget : int, float or None, default=None
        Number of samples to check or, as a float, their share of all samples. None means all samples that are torn
        or outliers, or all label issues.
    X : array-like or table with a row for each sample, default=None
        Samples to predict. They are required if the estimator has no `credal_partition_`, such as classifiers and
        scikit-learn's clusterers, or to review other samples than those of the fit. The index of a pandas frame
        contains the names of the samples.

    Returns
    -------
    ReviewQueue
        Samples in order, with the expected numbers of errors before and after the review.

    Examples
    --------
    >>> from evlearn import CredalPartition
    >>> from evlearn.active import review_queue
    >>> partition = CredalPartition.from_fuzzy([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    >>> todo = review_queue(partition, budget=1)
    >>> todo.samples
    array([1])
    >>> print(f"{todo.expected_errors:.1f} to {todo.expected_errors_left:.1f}")
    0.8 to 0.3
    """
    if isinstance(result, LabelIssues):
        return _queue_of_issues(result, budget)
    partition = _partition_of(result, X)
    risk = partition.risks()
    n_reviewed = read_budget(budget, len(risk), int((~partition.verdict().sure).sum()))
    order = np.lexsort((np.arange(len(risk)), -risk))[:n_reviewed]
    return ReviewQueue(
        samples=order,
        risks=risk[order],
        partition=partition[order],
        n_samples=len(risk),
        expected_errors=float(risk.sum()),
    )


def _queue_of_issues(issues: LabelIssues, budget: int | float | None) -> "ReviewQueue":
    chosen = slice(read_budget(budget, issues.n_samples, len(issues)))
    return ReviewQueue(
        samples=issues.samples[chosen],
        risks=issues.scores[chosen],
        partition=issues.partition[chosen],
        n_samples=issues.n_samples,
        expected_errors=issues.expected_errors,
        labels=issues.labels[chosen],
    )


def _partition_of(result: Any, X: Any) -> CredalPartition:
    """Return the partition of a result, or its prediction for X."""
    if X is not None:
        return partition_for(result, X)
    if isinstance(result, CredalPartition):
        return result
    if not hasattr(split_pipeline(result)[1], "credal_partition_"):
        raise TypeError(
            "result must be a CredalPartition or a fitted estimator with credal_partition_, got "
            f"{type(result).__name__}; fit it first, or pass the samples as X."
        )
    return fitted_partition(result)


@dataclass(frozen=True)
class ReviewQueue:
    """Samples for a person to check, in order, and methods to read the answers; created by `review_queue`.

    Attributes
    ----------
    samples : ndarray of int of shape (n_reviewed,)
        Numbers of the samples, in order of review.
    risks : ndarray of shape (n_reviewed,)
        Probabilities that the most plausible clusters of these samples are wrong, by their masses; for label
        issues, their scores.
    partition : CredalPartition
        Mass functions of these samples, in the same order.
    n_samples : int
        Number of all samples.
    expected_errors : float
        Expected number of samples in a wrong cluster: the sum of all risks.
    labels : tuple of str or None, default=None
        For label issues, the given class of each sample.
    """

    samples: IntArray
    risks: FloatArray
    partition: CredalPartition
    n_samples: int
    expected_errors: float
    labels: tuple[str, ...] | None = None

    @property
    def expected_errors_left(self) -> float:
        """Expected number of errors after the correction of these samples."""
        return self.expected_errors - float(self.risks.sum())

    def to_frame(self, X: TableLike | None = None) -> Any:
        """Return the samples as a table.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, dict of columns, array-like or None, default=None
            All samples, in the order of the partition, whose columns are added. Rows are matched by position, not
            by the index. A column with the name of another column, such as "cluster", is renamed to "cluster_X";
            if X has a column of that name, too, with the next free number, "cluster_X2".

        Returns
        -------
        pandas.DataFrame
            A row for each sample, with its number, its label, if there is one, its most plausible cluster,
            its candidate clusters, its risk, its doubt between clusters, its outlier score, which is the mass on
            the empty set, and its row of X.
            The index contains the names of the samples. If the partition has no names, it is the index of X, if X
            is a pandas table, and a range otherwise.
        """
        import pandas as pd

        names = self.partition.cluster_names
        columns = {
            "sample": self.samples,
            **({} if self.labels is None else {"label": list(self.labels)}),
            "cluster": [names[label] for label in self.partition.to_hard()],
            "candidates": self.partition.verdict().labels(names),
            "risk": self.risks,
            "doubt": self.partition.doubt(),
            "outlier_score": self.partition.mass_table[:, 0],
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
        rows.columns = _rename_columns(list(rows.columns), frame.columns)
        return pd.concat([frame, rows], axis=1)

    def to_label_studio(self, path: str | os.PathLike[str], X: TableLike | None = None) -> None:
        """Write the samples as tasks of Label Studio, with predictions.

        Parameters
        ----------
        path : str or path
            JSON file to import into Label Studio. `label_studio_config` returns the interface of the project.
        X : pandas, polars or pyarrow table, dict of columns, array-like or None, default=None
            All samples, in the order of the partition, whose columns are shown in the tasks.
        """
        table = None if X is None else self._rows(X)
        best = self.partition.to_hard()
        tasks = [self._task(position, best[position], table) for position in range(len(best))]
        with atomic_write(path) as file:
            file.write(json.dumps(tasks, indent=1).encode())

    def label_studio_config(self) -> str:
        """Return the labeling interface of a project in Label Studio.

        Returns
        -------
        str
            XML with the text of a sample, and a choice of one cluster, several clusters, or none of them.
        """
        choices = "".join(f"\n    <Choice value={quoteattr(name)}/>" for name in self._choices)
        return (
            '<View>\n  <Text name="sample" value="$text"/>\n'
            f'  <Choices name="cluster" toName="sample" choice="multiple">{choices}\n  </Choices>\n</View>\n'
        )

    def read_label_studio(self, path: str | os.PathLike[str]) -> "ReviewAnswers":
        """Read answers from a JSON export of Label Studio.

        Parameters
        ----------
        path : str or path
            JSON file.

        Returns
        -------
        ReviewAnswers
            Last annotation of each task. Tasks that were skipped, or have no choice, are unanswered.
        """
        path = check_folder(path)
        candidates = np.ones((self.n_samples, self.partition.n_clusters), dtype=bool)
        is_answered = np.zeros(self.n_samples, dtype=bool)
        samples = set(self.samples.tolist())
        with describe_errors(path.name, "an export", _REMEDY):
            for task in read_json(path.read_bytes()):
                sample, choices = task["data"]["sample"], _last_choices(task["annotations"])
                if sample not in samples or isinstance(sample, bool):
                    raise ValueError(f"sample {sample!r} is not in this review queue")
                if choices:
                    candidates[sample] = self._to_membership(choices)
                    is_answered[sample] = True
        return ReviewAnswers(candidates, is_answered, self.partition.cluster_names)

    @property
    def _choices(self) -> tuple[str, ...]:
        names = self.partition.cluster_names
        if _OUTLIER_CHOICE in names:
            raise ValueError(
                f"the cluster name {_OUTLIER_CHOICE!r} is reserved for outliers; rename this cluster."
            )
        return (*names, _OUTLIER_CHOICE)

    def _to_membership(self, choices: list[str]) -> BoolArray:
        unknown = sorted(set(choices) - set(self._choices))
        if unknown or (_OUTLIER_CHOICE in choices and len(choices) > 1):
            raise ValueError(f"{choices!r} are not clusters, or clusters together with {_OUTLIER_CHOICE!r}")
        return np.isin(self.partition.cluster_names, choices)

    def _rows(self, X: Any) -> Any:
        """Return the rows of the samples, in their order, as a new pandas frame."""
        if n_rows_of(X) != self.n_samples:
            raise ValueError(
                f"X has {n_rows_of(X)} rows, but there are {self.n_samples} samples; pass all of them."
            )
        import pandas as pd

        if hasattr(X, "iloc"):
            return pd.DataFrame(X).iloc[self.samples].copy()
        if issparse(X):
            return pd.DataFrame(X.tocsr()[self.samples].toarray())
        columns, is_named = split_columns(X)
        frame = pd.concat([_take_cells(column, self.samples) for _, column in columns], axis=1)
        frame.columns = [name for name, _ in columns] if is_named else range(len(columns))
        return frame

    def _task(self, position: int, best: int, table: Any) -> dict[str, Any]:
        names = self.partition.sample_names
        name = str(self.samples[position]) if names is None else names[position]
        columns = [] if table is None else table.columns[:_MAX_COLUMNS]
        label = [] if self.labels is None else [f"label: {self.labels[position]}"]
        lines = [
            f"{column}: {table.iat[position, k]}" for k, column in enumerate(columns)
        ]  # iat preserves the types of cells
        cluster = self.partition.cluster_names[best]
        value = {"from_name": "cluster", "to_name": "sample", "type": "choices", "value": {"choices": [cluster]}}
        return {
            "data": {"sample": int(self.samples[position]), "text": "\n".join([f"sample {name}", *label, *lines])},
            "predictions": [{"score": round(1 - float(self.risks[position]), 4), "result": [value]}],
        }


def _take_cells(column: Any, samples: IntArray) -> Any:
    """Return cells of a column of any library as a pandas series."""
    import pandas as pd

    cells = column.take(samples) if hasattr(column, "to_pylist") else column[samples]
    return pd.Series(cells.to_pylist() if hasattr(cells, "to_pylist") else np.asarray(cells))


def _rename_columns(names: list[Any], reserved: Any) -> list[Any]:
    """Return names of columns, with a suffix if they are reserved."""
    occupied = {*names, *reserved}
    renamed = []
    for name in names:
        suffixes = chain([""], map(str, count(2)))
        new = (
            next(f"{name}_X{k}" for k in suffixes if f"{name}_X{k}" not in occupied) if name in reserved else name
        )
        occupied.add(new)
        renamed.append(new)
    return renamed


def _last_choices(annotations: list[dict[str, Any]]) -> list[str]:
    """Return the choices of the last annotation that was not skipped."""
    results = [annotation["result"] for annotation in annotations if not annotation.get("was_canceled")]
    return [name for part in results[-1] for name in part["value"]["choices"]] if results else []


@dataclass(frozen=True)
class ReviewAnswers:
    """Answers of people about samples: one cluster, several clusters, or none.

    Attributes
    ----------
    candidates : ndarray of bool of shape (n_samples, n_clusters)
        True for possible clusters: all of them for samples without an answer, none for outliers.
    is_answered : ndarray of bool of shape (n_samples,)
        True for samples with an answer.
    cluster_names : tuple of str
        Names of the clusters.
    """

    candidates: BoolArray
    is_answered: BoolArray
    cluster_names: tuple[str, ...]

    @classmethod
    def of(cls, labels: ArrayLike, cluster_names: tuple[str, ...]) -> "ReviewAnswers":
        """Create answers from cluster numbers.

        Parameters
        ----------
        labels : array-like of int of shape (n_samples,)
            Cluster of each sample; -1 without an answer.
        cluster_names : tuple of str
            Names of the clusters.

        Returns
        -------
        ReviewAnswers
            Answers.
        """
        numbers = np.asarray(labels)
        unknown = numbers[~np.isin(numbers, np.arange(-1, len(cluster_names)))]
        if len(unknown):
            raise ValueError(
                f"labels must be numbers of the {len(cluster_names)} clusters, or -1, got {unknown[0]}."
            )
        is_answered = numbers >= 0
        candidates = (numbers[:, None] == np.arange(len(cluster_names))) | ~is_answered[:, None]
        return cls(candidates, is_answered, cluster_names)

    @property
    def labels(self) -> IntArray:
        """Cluster of each sample with an answer of one cluster, and -1 for all others."""
        single = self.is_answered & (self.candidates.sum(axis=1) == 1)
        return np.where(single, self.candidates.argmax(axis=1), -1)

    def constraints(self) -> PairwiseConstraints:
        """Return pairs of samples with the same or different answers, for clusterers that accept constraints.

        Returns
        -------
        PairwiseConstraints
            Must-links and cannot-links between all samples with an answer of one cluster.
        """
        return PairwiseConstraints.from_labels(self.labels, unlabeled=-1)

    def to_partition(self) -> CredalPartition:
        """Convert the answers to mass functions, for classifiers that accept soft labels.

        Returns
        -------
        CredalPartition
            Masses of 1 on the answers, on the set of all clusters without an answer, and on the empty set for
            outliers.
        """
        return CredalPartition.from_rough(self.candidates, cluster_names=self.cluster_names)

    def applied_to(self, partition: CredalPartition) -> CredalPartition:
        """Return a partition with the masses of answered samples replaced by the answers.

        Parameters
        ----------
        partition : CredalPartition
            Result that was reviewed.

        Returns
        -------
        CredalPartition
            Partition in which samples with an answer have all mass on it.
        """
        answers = np.unique(self.candidates[self.is_answered], axis=0)
        sets = partition.focal_sets.with_sets(np.flatnonzero(row).tolist() for row in answers)
        masses: FloatArray = np.zeros((partition.n_samples, len(sets)), dtype=partition.masses.dtype)
        masses[:, sets.positions(partition.focal_sets.membership)] = partition.masses
        masses[self.is_answered] = 0
        positions = sets.positions(self.candidates[self.is_answered])
        masses[np.flatnonzero(self.is_answered), positions] = 1
        return CredalPartition(masses, sets, partition.sample_index, validate=False)
