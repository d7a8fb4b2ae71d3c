"""Answers of several annotators about the classes of samples, combined to mass functions.

`answer_tables.py` reads the answers, and `confusions.py` estimates the confusion matrices of annotators.
"""

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from evlearn.belief import FocalSets
from evlearn.classify import answer_tables as tables
from evlearn.classify.confusions import AnswerContours, ConfusionModel, default_model, fit_confusions
from evlearn.classify.weights_of_evidence import masses_of_logs
from evlearn.partition import CredalPartition
from evlearn.partition.credal_partition import of_classes
from evlearn.utils.typing import FloatArray, IntArray, TableLike
from evlearn.utils.validation import check_choice, check_integer, check_real

_RULES = ("confusions", "dempster", "average")
_TINY, _ROUNDING = 1e-300, 1e-6
#: With more classes than this, classes of small plausibility share their mean, so that there are few sets.
_MAX_CLASSES, _SMALL_PLAUSIBILITY = 10, 0.05


class Annotations:
    """Answers of annotators about the classes of samples, as soft labels for classifiers.

    The table is long or wide. A long table has a row for each answer, with the columns sample, annotator (if there
    are several), answer, and optionally confidence. Any other table is wide, with a row for each sample and a
    column for each annotator. The names of cleanlab and crowd-kit for the columns of a long table, task, annotator
    or worker, and label, are recognized, too.

    An answer is a class, or several classes of which one is right: a list, tuple or set, or text such as "cat|dog"
    or '["cat", "dog"]' (JSON, for names that contain "|"). A dict, or JSON such as '{"cat": 0.7, "dog": 0.2}',
    contains a confidence for each class or set of classes. An empty cell means no answer.

    Each annotator is a single source: equal answers of an annotator about a sample count once, and different
    answers are averaged.

    Parameters
    ----------
    table : data frame or dict of columns
        Answers; a pandas, polars or pyarrow frame.
    classes : sequence, default=None
        Classes, in order. None means the classes in the table, sorted.
    sample : str, default="sample"
        Name of the column of samples. It is optional in a wide table; without it, samples are identified by the
        index of a pandas frame, or by numbers.
    annotator : str, default="annotator"
        Name of the column of annotators. Without it, all answers are from the same annotator.
    answer : str, default="answer"
        Name of the column of answers. A table with this column is long.
    confidence : str, data frame or dict of columns, default="confidence"
        Confidences from 0 to 1: for a long table, the name of an optional column; for a wide table, another table
        with the same columns. Missing confidences are 1.
    separator : str, default="|"
        Separator of classes in text.
    unknown : sequence of str, default=()
        Answers that mean "don't know", such as "unsure". Like empty cells, they contain no information.

    Attributes
    ----------
    classes : tuple
        Classes.
    samples : sequence
        Samples, in order of appearance.
    annotators : tuple
        Annotators.

    See Also
    --------
    evlearn.CredalPartition : Mass functions, which classifiers accept as soft labels.
    evlearn.active.ActiveLabeling : Active choice of the samples to label.

    References
    ----------
    Dawid and Skene (1979) for confusion matrices; Denœux (2013) for uncertain answers.

    - Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates
      using the EM algorithm, Journal of the Royal Statistical Society: Series C 28,
      doi:10.2307/2346806.
    - Denœux (2013), Maximum likelihood estimation from uncertain data in the belief
      function framework, IEEE Transactions on Knowledge and Data Engineering 25,
      doi:10.1109/TKDE.2011.201.

    Examples
    --------
    >>> from evlearn.classify import Annotations
    >>> table = {
    ...     "sample": ["a", "a", "b", "b", "c"],
    ...     "annotator": ["Eve", "Bob", "Eve", "Bob", "Eve"],
    ...     "answer": ["cat", "cat", "dog", "cat|dog", None],
    ...     "confidence": [0.9, 0.6, 0.8, 1, None],
    ... }
    >>> labels = Annotations(table).to_partition()
    >>> labels.focal_sets.labels
    ('∅', '{cat}', '{dog}', 'Ω')
    >>> labels.to_possibilistic().round(2)
    array([[1.  , 0.21],
           [0.43, 1.  ],
           [1.  , 1.  ]])
    """

    def __init__(
        self,
        table: TableLike | Mapping[str, Sequence[object]],
        *,
        classes: Sequence[str] | Sequence[int] | None = None,
        sample: str = "sample",
        annotator: str = "annotator",
        answer: str = "answer",
        confidence: str | TableLike | Mapping[str, Sequence[object]] = "confidence",
        separator: str = "|",
        unknown: Sequence[str] = (),
    ) -> None:
        columns = tables.columns_of(table)
        names = tables.names_of_columns(columns, (sample, annotator, answer))
        rows = tables.read_rows(columns, names, confidence)
        answers = [tables.as_masses(cell, separator, unknown) for cell in rows.answers]
        class_names = [name for masses in answers for names_of_set, _ in masses for name in names_of_set]
        self.classes = tuple(tables.as_sorted(class_names)) if classes is None else tuple(classes)
        self._check_classes(class_names)
        self.samples = _names_of(table, names[0], columns, rows.samples)
        self.annotators = tuple(tables.as_sorted(rows.annotators))
        self._evidence = tables.make_evidence(
            rows,
            answers,
            {name: k for k, name in enumerate(self.annotators)},
            {name: k for k, name in enumerate(self.classes)},
        )

    def with_annotator(
        self, name: str, predictions: ArrayLike | CredalPartition, *, samples: ArrayLike | None = None
    ) -> "Annotations":
        """Add the predictions of a classifier as another annotator.

        The predictions must not be made for samples on which the classifier was trained: use
        `~sklearn.model_selection.cross_val_predict` or out-of-bag predictions.

        Parameters
        ----------
        name : str
            Name of the new annotator.
        predictions : array-like of shape (n_samples, n_classes) or CredalPartition
            Probabilities of the classes, in the order of `classes`, or mass functions. A row of NaN contains no
            prediction.
        samples : array-like, default=None
            Samples of the predictions. None means all samples of the table, in order.

        Returns
        -------
        Annotations
            Answers of all annotators.
        """
        if name in self.annotators:
            raise ValueError(f"name must differ from those of the annotators, got {name!r}.")
        rows = self._positions(self.samples if samples is None else samples)
        if (rows < 0).any() or len(set(rows.tolist())) < len(rows):
            raise ValueError("samples must be different samples of the table.")
        masses, sets = self._read_predictions(predictions, len(rows))
        is_valid = ~np.isnan(masses).any(axis=1)
        other = copy.copy(self)
        other.__dict__.pop("_model", None)
        other.annotators = (*self.annotators, name)
        other._evidence = self._evidence.append(
            rows[is_valid], len(self.annotators), sets.membership, masses[is_valid]
        )
        return other

    def confusions(self) -> dict[Any, FloatArray]:
        """Estimate the confusion matrix of each annotator from the agreement with others.

        Returns
        -------
        dict from annotator to ndarray of shape (n_classes, n_classes)
            Probabilities of the answers (columns) about samples of each class (rows). A matrix with few answers is
            close to the mean of all annotators. Without samples that several annotators have in common, nothing
            can be estimated, and 80 % of all answers are assumed to be right.
        """
        return dict(zip(self.annotators, self._model.matrices.copy(), strict=True))

    def dependence(self) -> float:
        """Estimate the dependence between annotators, who may copy from each other or make the same errors.

        Returns
        -------
        float
            Dependence d from 0 to 1: n answers about a sample count as n / (1 + (n - 1) d) independent answers. It
            is selected by the likelihood of each answer given the others, plus 0.1, because errors that annotators
            have in common cannot be seen in their answers.
        """
        return self._model.dependence

    def to_partition(
        self,
        *,
        rule: Literal["confusions", "dempster", "average"] = "confusions",
        reliabilities: Mapping[Any, float] | None = None,
        samples: ArrayLike | None = None,
    ) -> CredalPartition:
        """Combine the answers about each sample to a mass function.

        Parameters
        ----------
        rule : {"confusions", "dempster", "average"}, default="confusions"
            Combination of the answers about a sample. "confusions" discounts each answer by the confusion matrix
            of its annotator, and all answers by the dependence between annotators; the plausibilities of classes
            are proportional to their probabilities. If no sample has answers of several annotators, it is the same
            as "dempster". "dempster" and "average" estimate nothing: Dempster's rule assumes independent
            annotators, whose agreement increases the belief; the average does not.
        reliabilities : dict from annotator to float, default=None
            Reliabilities of the annotators, from 0 to 1, for the rules "dempster" and "average". None means 1.
        samples : array-like, default=None
            Samples of the result, in order, such as the index of X. Samples without an answer have all mass on the
            set of all classes. None means all samples of the table.

        Returns
        -------
        CredalPartition
            Mass functions of the samples, for use as y in the fit of a classifier.
        """
        check_choice("rule", rule, _RULES)
        if rule == "confusions" and reliabilities is not None:
            raise ValueError('reliabilities must be None for the rule "confusions", which estimates them.')
        if rule == "confusions" and self._has_common_samples():
            return self._make_partition(*self._consonant_masses(), samples)
        weights = self._evidence.masses * self._trust(reliabilities)[self._source_annotators]
        answers = np.unique(self._evidence.sets, axis=0)
        sets = FocalSets.from_membership(np.vstack([answers, np.eye(len(self.classes), dtype=bool)]), self._frame)
        sets = sets.with_omega().closure("intersection")
        masses = (self._average if rule == "average" else self._combine)(weights, sets)
        return self._make_partition(masses, sets, samples)

    def next_queries(
        self, n_queries: int = 10, *, annotators: Sequence[object] | None = None
    ) -> dict[str, list[Any]]:
        """Recommend the samples that need another answer, and the annotator to ask about each of them.

        The samples have the largest expected errors of their most probable class. The annotator is one without an
        answer about the sample, whose answer is expected to add the most information.

        Parameters
        ----------
        n_queries : int, default=10
            Maximum number of samples.
        annotators : sequence, default=None
            Annotators who are available. None means all with an unanswered sample.

        Returns
        -------
        dict of lists
            Columns of a table: "sample", "annotator", "error" (the expected error now), and "information" (that
            of the answer, in bits).
        """
        check_integer("n_queries", n_queries, 0)
        missing = [name for name in annotators or () if name not in self.annotators]
        if missing:
            raise ValueError(f"annotators must be among {list(self.annotators)}, got {missing[0]!r}.")
        is_open = np.ones((len(self.samples), len(self.annotators)), dtype=bool)
        is_open[self._evidence.samples, self._evidence.annotators] = False
        if annotators is not None:
            is_open &= np.array([name in annotators for name in self.annotators])
        errors = 1 - self._model.probabilities.max(axis=1)
        order = np.argsort(-errors, kind="stable")
        queries: dict[str, list[Any]] = {"sample": [], "annotator": [], "error": [], "information": []}
        for sample in order[is_open[order].any(axis=1)][:n_queries]:
            gains = np.where(is_open[sample], self._model.gains(sample), -1)
            best = int(gains.argmax())
            entry = (self.samples[sample], self.annotators[best], float(errors[sample]), float(gains[best]))
            for column, value in zip(queries.values(), entry, strict=True):
                column.append(value)
        return queries

    def __repr__(self) -> str:
        return (
            f"Annotations({len(self._evidence.samples)} answers of {len(self.annotators)} annotators about "
            f"{len(self.samples)} samples, {len(self.classes)} classes)"
        )

    def _check_classes(self, names: list[Any]) -> None:
        if len(self.classes) < 2:
            raise ValueError(
                f"the answers contain {len(self.classes)} class; pass classes=[...] if there are other classes."
            )
        unknown = [name for name in names if name not in set(self.classes)]
        if unknown:
            raise ValueError(
                f"an answer is {unknown[0]!r}, which is not one of the classes {list(self.classes)}; pass "
                f"unknown=[{unknown[0]!r}] if it means that the class is unknown."
            )

    def _read_predictions(self, predictions: Any, n_rows: int) -> tuple[FloatArray, FocalSets]:
        """Return the masses of predictions, without mass on the empty set."""
        if isinstance(predictions, CredalPartition):
            names = predictions.focal_sets.names
            if predictions.focal_sets.frame_size != len(self.classes) or (
                names is not None and list(names) != [str(name) for name in self.classes]
            ):
                raise ValueError(f"predictions must have the classes {list(self.classes)}, got {names}.")
            masses, sets = np.array(predictions.masses, dtype=np.float64), predictions.focal_sets
            masses[:, ~sets.membership.any(axis=1)] = 0
        else:
            masses = np.asarray(predictions, dtype=np.float64)
            sets = FocalSets.from_membership(np.eye(len(self.classes), dtype=bool), self._frame)
            if masses.ndim != 2 or masses.shape[1] != len(self.classes):
                raise ValueError(f"predictions must have {len(self.classes)} columns, got shape {masses.shape}.")
            masses = np.column_stack([np.zeros((len(masses), len(sets) - len(self.classes))), masses])
            if not np.nanmin(masses, initial=0) >= 0 or np.nanmax(np.abs(masses.sum(axis=1) - 1)) > _ROUNDING:
                raise ValueError("predictions must be probabilities with the sum 1 in each row, or NaN.")
        if len(masses) != n_rows:
            raise ValueError(f"predictions must have a row for each of {n_rows} samples, got {len(masses)}.")
        return masses, sets

    @property
    def _frame(self) -> Any:
        is_numbered = self.classes == tuple(range(len(self.classes)))
        return len(self.classes) if is_numbered else [str(name) for name in self.classes]

    @property
    def _source_annotators(self) -> IntArray:
        return self._evidence.annotators[self._evidence.sources]

    def _has_common_samples(self) -> bool:
        """Return True if a sample has answers of several annotators."""
        return len(np.unique(self._evidence.samples)) < len(self._evidence.samples)

    @cached_property
    def _model(self) -> ConfusionModel:
        evidence, contours = self._evidence, self._evidence.contours()
        is_informative = contours.min(axis=1, initial=1) < 1
        answers = AnswerContours(
            evidence.samples[is_informative],
            evidence.annotators[is_informative],
            contours[is_informative],
            len(self.samples),
            len(self.annotators),
        )
        return fit_confusions(answers) if self._has_common_samples() else default_model(answers)

    def _consonant_masses(self) -> tuple[FloatArray, FocalSets]:
        """Return masses on nested sets, with plausibilities proportional to the probabilities of classes."""
        plausibilities = self._model.probabilities / self._model.probabilities.max(axis=1, keepdims=True)
        if len(self.classes) > _MAX_CLASSES:
            is_small = plausibilities < _SMALL_PLAUSIBILITY
            sums = np.where(is_small, plausibilities, 0).sum(axis=1, keepdims=True)
            means = sums / np.maximum(is_small.sum(axis=1, keepdims=True), 1)
            plausibilities = np.where(is_small, means, plausibilities)
        has_answer = np.zeros(len(self.samples), dtype=bool)
        has_answer[self._evidence.samples[self._evidence.contours().min(axis=1, initial=1) < 1]] = True
        plausibilities[~has_answer] = 1
        names = None if isinstance(self._frame, int) else self._frame
        partition = CredalPartition.from_possibilistic(plausibilities, cluster_names=names)
        sets = partition.focal_sets.with_omega()
        masses: FloatArray = np.zeros((len(plausibilities), len(sets)))
        masses[:, sets.positions(partition.focal_sets.membership)] = partition.masses
        return masses, sets

    def _trust(self, reliabilities: Mapping[Any, float] | None) -> FloatArray:
        if reliabilities is None:
            return np.ones(len(self.annotators))
        missing = [annotator for annotator in self.annotators if annotator not in reliabilities]
        if missing:
            raise ValueError(f"reliabilities must contain all annotators, but {missing[0]!r} is missing.")
        for annotator in self.annotators:
            check_real(f"reliabilities[{annotator!r}]", reliabilities[annotator], 0, 1)
        return np.array([float(reliabilities[annotator]) for annotator in self.annotators])

    def _combine(self, weights: FloatArray, sets: FocalSets) -> FloatArray:
        """Combine answers by Dempster's rule: multiply commonalities, without mass on the empty set."""
        evidence = self._evidence
        is_subset = sets.subset_matrix().T  # whether B is a subset of A, for each answer A and set B
        is_superset = is_subset[sets.positions(evidence.sets)] if len(weights) else np.empty((0, len(sets)))
        excluded: FloatArray = np.zeros((len(evidence.samples), len(sets)))
        np.add.at(excluded, evidence.sources, weights[:, None] * (1 - is_superset))
        logs: FloatArray = np.zeros((len(self.samples), len(sets)))
        np.add.at(logs, evidence.samples, np.log(np.maximum(1 - excluded, _TINY)))
        return masses_of_logs(logs[:, 1:], sets)

    def _average(self, weights: FloatArray, sets: FocalSets) -> FloatArray:
        evidence = self._evidence
        masses: FloatArray = np.zeros((len(self.samples), len(sets)))
        np.add.at(masses, (evidence.samples[evidence.sources], sets.positions(evidence.sets)), weights)
        masses /= np.maximum(np.bincount(evidence.samples, minlength=len(masses)), 1)[:, None]
        masses[:, -1] += 1 - masses.sum(axis=1)
        return masses

    def _positions(self, index: Any) -> IntArray:
        """Return the numbers of samples in the table; -1 for others."""
        positions = {sample: k for k, sample in enumerate(self.samples)}
        return np.array([positions.get(sample, -1) for sample in index], dtype=np.intp)

    def _make_partition(self, masses: FloatArray, sets: FocalSets, index: Any) -> CredalPartition:
        if index is None:
            numbered = list(self.samples) == list(range(len(self.samples)))
            return of_classes(CredalPartition(masses, sets, None if numbered else self.samples, validate=False))
        rows = self._positions(index)
        if len(self.samples) and (rows < 0).all():
            raise ValueError("samples contains no sample of the table; use the same names in both.")
        selection: FloatArray = np.zeros((len(rows), len(sets)))
        selection[:, -1] = 1
        selection[rows >= 0] = masses[rows[rows >= 0]]
        return of_classes(CredalPartition(selection, sets, index, validate=False))


def _names_of(table: Any, sample: str, columns: dict[str, Any], samples: list[Any]) -> Any:
    """Return the samples, as an index if the table is a pandas frame."""
    if not hasattr(table, "iloc"):
        return samples
    return table.set_index(sample).index.unique() if sample in columns else table.index
