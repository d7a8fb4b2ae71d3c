r"""Answers of several annotators about the classes of samples, combined to mass functions.

The answer A of an annotator with reliability r and confidence c has mass rc on A and 1 - rc on all classes.
Reliabilities are estimated by an EM algorithm, similar to Dawid and Skene (1979): with probability rc, an answer
is informative, and any set of its size that contains the class is equally likely; otherwise all sets of its size
are.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evlearn.belief import FocalSets
from evlearn.classify.weights_of_evidence import masses_of_logs
from evlearn.partition import CredalPartition
from evlearn.partition.credal_partition import of_classes
from evlearn.preprocessing.reading import split_columns
from evlearn.utils.typing import BoolArray, FloatArray, IntArray, TableLike
from evlearn.utils.validation import check_choice, check_real

#: Prior of reliabilities: numbers of informative answers and of all answers.
_PRIOR_INFORMATIVE, _PRIOR_ANSWERS = 4.0, 5.0
_MAX_STEPS, _TOLERANCE = 200, 1e-6
_TINY = 1e-300


class Annotations:
    """Answers of annotators about the classes of samples, as soft labels for classifiers.

    The table is long or wide. A long table has a row for each answer, with the columns sample, annotator (if there
    are several), answer, and optionally confidence. Any other table is wide, with a row for each sample and a
    column for each annotator. An answer is a class, or several classes of which one is right: a list, tuple or
    set, or text such as "cat|dog" or '["cat", "dog"]' (JSON, for names that contain "|"). An empty cell means no
    answer.

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
    Dawid and Skene (1979) for a similar estimate of reliabilities.

    Examples
    --------
    >>> from evlearn.classify import Annotations
    >>> table = {
    ...     "sample": ["a", "a", "b", "b", "c"],
    ...     "annotator": ["Eve", "Bob", "Eve", "Bob", "Eve"],
    ...     "answer": ["cat", "cat", "dog", "cat|dog", None],
    ...     "confidence": [0.9, 0.6, 0.8, 1, None],
    ... }
    >>> labels = Annotations(table).to_partition(reliabilities=None)
    >>> labels.focal_sets.labels
    ('∅', '{cat}', '{dog}', 'Ω')
    >>> labels.masses.round(2)
    array([[0.  , 0.96, 0.  , 0.04],
           [0.  , 0.  , 0.8 , 0.2 ],
           [0.  , 0.  , 0.  , 1.  ]])
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
    ) -> None:
        columns = _columns(table)
        long = answer in columns
        rows = (_read_long if long else _read_wide)(columns, (sample, annotator, answer), confidence)
        answer_classes = [_as_classes(cell, separator) for cell in rows.answers]
        self.classes = (
            tuple(_sorted(c for names in answer_classes for c in names)) if classes is None else tuple(classes)
        )
        if len(self.classes) < 2:
            raise ValueError(
                f"the answers contain {len(self.classes)} class; pass classes=[...] if there are other classes."
            )
        numbers = {name: k for k, name in enumerate(self.classes)}
        self.samples = _names_of(table, sample, columns, rows.samples)
        self.annotators = tuple(_sorted(set(rows.annotators)))
        annotator_numbers = {name: k for k, name in enumerate(self.annotators)}
        unknown = [name for names in answer_classes for name in names if name not in numbers]
        if unknown:
            raise ValueError(f"an answer is {unknown[0]!r}, which is not one of the classes {list(self.classes)}.")
        # Repeated answers of an annotator about a sample count once.
        answers = list(
            dict.fromkeys(
                (
                    rows.numbers[k],
                    annotator_numbers[rows.annotators[k]],
                    _as_confidence(rows.confidences[k]),
                    frozenset(names),
                )
                for k, names in enumerate(answer_classes)
                if names
            )
        )
        pairs: IntArray = np.array([answer[:2] for answer in answers], dtype=np.intp).reshape(-1, 2)
        self._samples, self._annotators = pairs.T
        self._confidences: FloatArray = np.array([answer[2] for answer in answers], dtype=np.float64)
        self._sets: BoolArray = np.zeros((len(answers), len(self.classes)), dtype=bool)
        for row, (_, _, _, names) in zip(self._sets, answers, strict=True):
            row[[numbers[name] for name in names]] = True
        # All answers of an annotator about a sample share the weight of one source.
        _, sources, sizes = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
        self._sources: IntArray = sources.reshape(-1)  # NumPy 2.0 returns another shape
        self._shares: FloatArray = 1 / sizes[self._sources]

    def reliabilities(self) -> dict[Any, float]:
        """Estimate the reliability of each annotator from the agreement with others.

        Returns
        -------
        dict from annotator to float
            Reliabilities from 0, for uninformative answers, to 1, for answers that are as certain as their
            confidence. The prior of 0.8 applies to annotators without common samples; few answers change it
            little.
        """
        trust = np.full(len(self.annotators), _PRIOR_INFORMATIVE / _PRIOR_ANSWERS)
        for _ in range(_MAX_STEPS):
            previous, trust = trust, self._step(trust)
            if np.abs(trust - previous).max(initial=0) < _TOLERANCE:
                break
        return dict(zip(self.annotators, trust.tolist(), strict=True))

    def to_partition(
        self,
        *,
        rule: Literal["dempster", "average"] = "dempster",
        reliabilities: Mapping[Any, float] | Literal["learned"] | None = "learned",
        samples: ArrayLike | None = None,
    ) -> CredalPartition:
        """Combine the answers about each sample to a mass function.

        Parameters
        ----------
        rule : {"dempster", "average"}, default="dempster"
            Combination of the answers about a sample. Dempster's rule assumes independent annotators: their
            agreement increases the belief. "average" does not, and is appropriate if annotators copied from each
            other.
        reliabilities : "learned", dict from annotator to float, or None, default="learned"
            Reliabilities of the annotators, from 0 to 1: "learned" by `reliabilities` if annotators have common
            samples, a dict of values, or None for reliabilities of 1.
        samples : array-like, default=None
            Samples of the result, in order, such as the index of X. Samples without an answer have all mass on the
            set of all classes. None means all samples of the table.

        Returns
        -------
        CredalPartition
            Mass functions of the samples, for use as y in the fit of a classifier.
        """
        check_choice("rule", rule, ("dempster", "average"))
        weights = self._confidences * self._trust(reliabilities)[self._annotators]
        names = None if self.classes == tuple(range(len(self.classes))) else [str(name) for name in self.classes]
        frame = len(self.classes) if names is None else names
        answers = np.unique(self._sets, axis=0)
        sets = FocalSets.from_membership(np.vstack([answers, np.eye(len(self.classes), dtype=bool)]), frame)
        sets = sets.with_omega().closure("intersection")
        masses = (self._combine if rule == "dempster" else self._average)(weights, sets)
        return self._make_partition(masses, sets, samples)

    def __repr__(self) -> str:
        return (
            f"Annotations({len(self._samples)} answers of {len(self.annotators)} annotators about "
            f"{len(self.samples)} samples, {len(self.classes)} classes)"
        )

    def _step(self, trust: FloatArray) -> FloatArray:
        """Update reliabilities by a step of the EM algorithm."""
        attention = (self._confidences * trust[self._annotators])[:, None]
        informative = attention * self._sets * (len(self.classes) / self._sets.sum(axis=1, keepdims=True))
        likelihoods = informative + 1 - attention
        logs: FloatArray = np.zeros((len(self.samples), len(self.classes)))
        np.add.at(logs, self._samples, self._shares[:, None] * np.log(np.maximum(likelihoods, _TINY)))
        probabilities = np.exp(logs - logs.max(axis=1, keepdims=True))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        informed = (probabilities[self._samples] * informative / np.maximum(likelihoods, _TINY)).sum(axis=1)
        trust_of_answers, confidences = trust[self._annotators], self._confidences
        uninformed = trust_of_answers * (1 - confidences) / np.maximum(1 - trust_of_answers * confidences, _TINY)
        n_correct = self._shares * (informed + (1 - informed) * uninformed)
        sums, n_answers = (
            np.bincount(self._annotators, values, len(trust)) for values in (n_correct, self._shares)
        )
        return np.asarray((sums + _PRIOR_INFORMATIVE) / (n_answers + _PRIOR_ANSWERS))

    def _trust(self, reliabilities: Any) -> FloatArray:
        is_unrepeated = len(np.unique(self._samples)) == self._sources.max(initial=-1) + 1
        if reliabilities is None or (is_unrepeated and isinstance(reliabilities, str)):
            return np.ones(len(self.annotators))
        if isinstance(reliabilities, str):
            check_choice("reliabilities", reliabilities, ("learned",))
            reliabilities = self.reliabilities()
        missing = [annotator for annotator in self.annotators if annotator not in reliabilities]
        if missing:
            raise ValueError(f"reliabilities must contain all annotators, but {missing[0]!r} is missing.")
        for annotator in self.annotators:
            check_real(f"reliabilities[{annotator!r}]", reliabilities[annotator], 0, 1)
        return np.array([float(reliabilities[annotator]) for annotator in self.annotators])

    def _combine(self, weights: FloatArray, sets: FocalSets) -> FloatArray:
        """Combine answers by Dempster's rule: multiply commonalities, without mass on the empty set."""
        is_subset = sets.subset_matrix().T  # whether B is a subset of A, for each answer A and set B
        is_superset = is_subset[sets.positions(self._sets)] if len(weights) else np.empty((0, len(sets)))
        samples: IntArray = np.zeros(self._sources.max(initial=-1) + 1, dtype=np.intp)
        samples[self._sources] = self._samples
        excluded: FloatArray = np.zeros((len(samples), len(sets)))
        np.add.at(excluded, self._sources, (self._shares * weights)[:, None] * (1 - is_superset))
        logs: FloatArray = np.zeros((len(self.samples), len(sets)))
        np.add.at(logs, samples, np.log(np.maximum(1 - excluded, _TINY)))
        return masses_of_logs(logs[:, 1:], sets)

    def _average(self, weights: FloatArray, sets: FocalSets) -> FloatArray:
        masses: FloatArray = np.zeros((len(self.samples), len(sets)))
        np.add.at(masses, (self._samples, sets.positions(self._sets)), self._shares * weights)
        n_people = np.bincount(self._samples, self._shares, len(masses))
        masses /= np.maximum(n_people, 1)[:, None]
        masses[:, -1] += 1 - masses.sum(axis=1)
        return masses

    def _make_partition(self, masses: FloatArray, sets: FocalSets, index: Any) -> CredalPartition:
        if index is None:
            numbered = list(self.samples) == list(range(len(self.samples)))
            return of_classes(CredalPartition(masses, sets, None if numbered else self.samples, validate=False))
        positions = {sample: k for k, sample in enumerate(self.samples)}
        rows = np.array([positions.get(sample, -1) for sample in index], dtype=np.intp)
        if positions and (rows < 0).all():
            raise ValueError("samples contains no sample of the table; use the same names in both.")
        selection: FloatArray = np.zeros((len(rows), len(sets)))
        selection[:, -1] = 1
        selection[rows >= 0] = masses[rows[rows >= 0]]
        return of_classes(CredalPartition(selection, sets, index, validate=False))


class _Rows(NamedTuple):
    """Answers of a table in long form; `numbers` are positions in `samples`."""

    samples: list[Any]
    numbers: list[int]
    annotators: list[Any]
    answers: list[Any]
    confidences: list[Any]


def _read_long(columns: dict[str, Any], names_of_columns: tuple[str, str, str], confidence: Any) -> _Rows:
    sample, annotator, answer = names_of_columns
    if sample not in columns:
        raise ValueError(f"a table with a column {answer!r} must have a column {sample!r}, got {list(columns)}.")
    if not isinstance(confidence, str):
        raise ValueError("confidence must be the name of a column if the table has a row for each answer.")
    answers, row_samples = _as_list(columns[answer]), [_plain(cell) for cell in _as_list(columns[sample])]
    if any(_is_missing(cell) for cell in row_samples):
        raise ValueError(f"the column {sample!r} has empty cells; each answer must have a sample.")
    annotators = (
        [_plain(cell) for cell in _as_list(columns[annotator])] if annotator in columns else [""] * len(answers)
    )
    confidences = _as_list(columns[confidence]) if confidence in columns else [None] * len(answers)
    names = list(dict.fromkeys(row_samples))
    positions = {name: k for k, name in enumerate(names)}
    return _Rows(names, [positions[name] for name in row_samples], annotators, answers, confidences)


def _read_wide(columns: dict[str, Any], names_of_columns: tuple[str, str, str], confidence: Any) -> _Rows:
    sample = names_of_columns[0]
    annotators = [name for name in columns if name != sample]
    if not annotators:
        raise ValueError("the table must have a column of answers.")
    answers = [_as_list(columns[name]) for name in annotators]
    n_samples = len(answers[0])
    names = _as_list(columns[sample]) if sample in columns else list(range(n_samples))
    if len(set(names)) < n_samples:
        raise ValueError("a table with a column for each annotator must have a single row for each sample.")
    confidences = [[None] * n_samples for _ in annotators]
    if not isinstance(confidence, str):
        confidence_columns = _columns(confidence)
        absent = [name for name in annotators if name not in confidence_columns]
        if absent:
            raise ValueError(f"confidence must have the columns of the table, but {absent[0]!r} is missing.")
        confidences = [_as_list(confidence_columns[name]) for name in annotators]
        if any(len(column) != n_samples for column in confidences):
            raise ValueError(f"confidence must have {n_samples} rows, like the table.")
    return _Rows(
        names,
        list(range(n_samples)) * len(annotators),
        [name for name in annotators for _ in range(n_samples)],
        [cell for column in answers for cell in column],
        [cell for column in confidences for cell in column],
    )


def _names_of(table: Any, sample: str, columns: dict[str, Any], samples: list[Any]) -> Any:
    """Return the samples, as an index if the table is a pandas frame."""
    if not hasattr(table, "iloc"):
        return samples
    return table.set_index(sample).index.unique() if sample in columns else table.index


def _columns(table: Any) -> dict[str, Any]:
    # Lists of lists cannot be converted to arrays.
    return (
        {str(name): column for name, column in table.items()}
        if isinstance(table, dict)
        else dict(split_columns(table)[0])
    )


def _as_list(column: Any) -> list[Any]:
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, name):
            return list(getattr(column, name)())
    return list(column)


def split_answer(text: str, separator: str) -> list[Any]:
    """Return the classes in a text: a JSON list, or names with separators."""
    if text.strip().startswith("["):
        with suppress(ValueError):
            names = json.loads(text)
            if all(isinstance(name, (str, int)) for name in names):
                return list(names)
    return [part.strip() for part in text.split(separator) if part.strip()]


def _as_classes(answer: Any, separator: str) -> list[Any]:
    """Return the classes of an answer; an empty list without an answer."""
    if isinstance(answer, str):
        return split_answer(answer, separator)
    if isinstance(answer, Iterable):
        return [_plain(name) for name in answer]
    return [] if _is_missing(answer) else [_plain(answer)]


def _as_confidence(value: Any) -> float:
    if _is_missing(value):
        return 1.0
    check_real("confidence", value, 0, 1)
    return float(value)


def _is_missing(value: object) -> bool:
    # NaN differs from itself; comparisons with NA of pandas return NA.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _plain(value: object) -> Any:
    """Convert whole numbers to int: a column with missing values contains 1.0 instead of 1."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _sorted(values: Iterable[Any]) -> list[Any]:
    distinct = set(values)
    try:
        return sorted(distinct)
    except TypeError:
        return sorted(distinct, key=str)
