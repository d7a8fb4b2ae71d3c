r"""What several people said about the classes of samples, as one mass function for each sample.

The answer A, given with confidence c by a person whom one trusts to the degree r, is the mass rc on A and 1 - rc
on all classes. How far people can be trusted is found by expectation and maximisation, in the manner of Dawid and
Skene (1979): with the probability r a person looks, and with c what was seen settles the matter; then the answer
is any set of its size that holds the class, and otherwise any set of its size at all.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evlearn.belief import FocalSets
from evlearn.classify.commonalities import masses_of_logs
from evlearn.partition import CredalPartition
from evlearn.partition.credal_partition import of_classes
from evlearn.preprocessing.reading import split_columns
from evlearn.utils.typing import BoolArray, FloatArray, IntArray, TableLike
from evlearn.utils.validation import check_choice, check_real

#: Before anything is known about them, people are right as often as in so many answers out of so many.
_RIGHT, _OUT_OF = 4.0, 5.0
_MOST_STEPS, _ENOUGH = 200, 1e-6
_LEAST = 1e-300


class Annotations:
    """Answers of one or several people about the classes of samples, for classifiers that learn from them.

    The table is long or wide. A long one has a row for each answer, with the columns sample, annotator (if there
    are several) and answer, and perhaps confidence. Any other table is wide: a row for each sample and a column
    for each annotator. An answer is a class, or several classes of which one is right: a list, tuple or set, or
    text such as "cat|dog" or '["cat", "dog"]' (JSON, for names with "|" in them). An empty cell is no answer.

    An annotator is one source, however often the answer about a sample is repeated: equal answers of an annotator
    about a sample count once, and if they differ, the mass function of the annotator is the average of theirs.

    Parameters
    ----------
    table : data frame or dict of columns
        The answers; a pandas, polars or pyarrow frame.
    classes : sequence, default=None
        The classes, in order. None means those that occur, sorted.
    sample : str, default="sample"
        The name of the column of samples. A wide table may have one too; without it, samples have the index of a
        pandas frame, or are numbered.
    annotator : str, default="annotator"
        The name of the column of annotators. Without it, all answers are those of one.
    answer : str, default="answer"
        The name of the column of answers, by which a long table is known.
    confidence : str, data frame or dict of columns, default="confidence"
        How sure people were, from 0 to 1: in a long table the name of a column, which need not be there, and
        beside a wide one another table with the same columns. Where it is missing, they were sure.
    separator : str, default="|"
        What stands between classes in text.

    Attributes
    ----------
    classes : tuple
        The classes.
    samples : sequence
        The samples, in the order in which they appear.
    annotators : tuple
        The people.

    See Also
    --------
    evlearn.CredalPartition : What classifiers take instead of labels.
    evlearn.active.ActiveLabelling : Which sample to ask about next.

    References
    ----------
    How far people can be trusted is found in the manner of Dawid and Skene (1979).

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
        said = [_as_classes(one, separator) for one in rows.answers]
        self.classes = tuple(_sorted(c for one in said for c in one)) if classes is None else tuple(classes)
        if len(self.classes) < 2:
            raise ValueError(
                f"the answers name {len(self.classes)} class; give classes=[...] if there are others nobody named."
            )
        numbers = {one: k for k, one in enumerate(self.classes)}
        self.samples = _names_of(table, sample, columns, rows.samples)
        self.annotators = tuple(_sorted(set(rows.annotators)))
        people = {one: k for k, one in enumerate(self.annotators)}
        unknown = [one for answer in said for one in answer if one not in numbers]
        if unknown:
            raise ValueError(f"an answer is {unknown[0]!r}, which is not one of the classes {list(self.classes)}.")
        # Each different answer of a person about a sample, once.
        answers = list(
            dict.fromkeys(
                (rows.numbers[k], people[rows.annotators[k]], _as_confidence(rows.confidences[k]), frozenset(one))
                for k, one in enumerate(said)
                if one
            )
        )
        pairs: IntArray = np.array([answer[:2] for answer in answers], dtype=np.intp).reshape(-1, 2)
        self._samples, self._annotators = pairs.T
        self._confidences: FloatArray = np.array([answer[2] for answer in answers], dtype=np.float64)
        self._sets: BoolArray = np.zeros((len(answers), len(self.classes)), dtype=bool)
        for row, (_, _, _, named) in zip(self._sets, answers, strict=True):
            row[[numbers[one] for one in named]] = True
        # Those of a person about a sample are one source, which they share equally.
        _, sources, sizes = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
        self._sources: IntArray = sources.reshape(-1)  # NumPy 2.0 has another shape
        self._shares: FloatArray = 1 / sizes[self._sources]

    def reliabilities(self) -> dict[Any, float]:
        """How far each person can be trusted, learned from how well their answers agree with those of others.

        Returns
        -------
        dict from annotator to float
            From 0, an answer says nothing, to 1, it holds the class as surely as its confidence says. About people
            who answered alone, nothing can be learned: they get 0.8, and those of few answers something near it.
        """
        found = np.full(len(self.annotators), _RIGHT / _OUT_OF)
        for _ in range(_MOST_STEPS):
            before, found = found, self._step(found)
            if np.abs(found - before).max(initial=0) < _ENOUGH:
                break
        return dict(zip(self.annotators, found.tolist(), strict=True))

    def to_partition(
        self,
        *,
        rule: Literal["dempster", "average"] = "dempster",
        reliabilities: Mapping[Any, float] | Literal["learned"] | None = "learned",
        samples: ArrayLike | None = None,
    ) -> CredalPartition:
        """What all people together say about each sample.

        Parameters
        ----------
        rule : {"dempster", "average"}, default="dempster"
            How answers about the same sample are combined. Dempster's rule treats people as independent: those who
            agree are believed more than one alone. Use "average" if they copied from each other; it does not.
        reliabilities : "learned", dict from annotator to float, or None, default="learned"
            How far each person can be trusted, from 0 to 1: as `reliabilities` finds it where people answered
            about the same samples; as given; or None, wholly.
        samples : array-like, default=None
            The samples that are wanted, in order, such as the index of X. Those nobody spoke about may belong to
            any class. None means all samples of the table.

        Returns
        -------
        CredalPartition
            A mass function for each sample, to be given to the fit of a classifier instead of y.
        """
        check_choice("rule", rule, ("dempster", "average"))
        trusted = self._confidences * self._trust(reliabilities)[self._annotators]
        names = None if self.classes == tuple(range(len(self.classes))) else [str(one) for one in self.classes]
        frame = len(self.classes) if names is None else names
        said = np.unique(self._sets, axis=0)
        sets = FocalSets.from_membership(np.vstack([said, np.eye(len(self.classes), dtype=bool)]), frame)
        sets = sets.with_omega().closure("intersection")
        masses = (self._combined if rule == "dempster" else self._averaged)(trusted, sets)
        return self._named(masses, sets, samples)

    def __repr__(self) -> str:
        return (
            f"Annotations({len(self._samples)} answers of {len(self.annotators)} annotators about "
            f"{len(self.samples)} samples, {len(self.classes)} classes)"
        )

    def _step(self, trust: FloatArray) -> FloatArray:
        """One step of expectation and maximisation."""
        looked = (self._confidences * trust[self._annotators])[:, None]
        known = looked * self._sets * (len(self.classes) / self._sets.sum(axis=1, keepdims=True))
        likelihoods = known + 1 - looked
        logs: FloatArray = np.zeros((len(self.samples), len(self.classes)))
        np.add.at(logs, self._samples, self._shares[:, None] * np.log(np.maximum(likelihoods, _LEAST)))
        probabilities = np.exp(logs - logs.max(axis=1, keepdims=True))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        settled = (probabilities[self._samples] * known / np.maximum(likelihoods, _LEAST)).sum(axis=1)
        of_person, sure = trust[self._annotators], self._confidences
        not_settled = of_person * (1 - sure) / np.maximum(1 - of_person * sure, _LEAST)
        right = self._shares * (settled + (1 - settled) * not_settled)
        n_right, n_answers = (np.bincount(self._annotators, of, len(trust)) for of in (right, self._shares))
        return np.asarray((n_right + _RIGHT) / (n_answers + _OUT_OF))

    def _trust(self, reliabilities: Any) -> FloatArray:
        alone = len(np.unique(self._samples)) == self._sources.max(initial=-1) + 1
        if reliabilities is None or (alone and isinstance(reliabilities, str)):
            return np.ones(len(self.annotators))
        if isinstance(reliabilities, str):
            check_choice("reliabilities", reliabilities, ("learned",))
            reliabilities = self.reliabilities()
        missing = [one for one in self.annotators if one not in reliabilities]
        if missing:
            raise ValueError(
                f"reliabilities must have a number for each annotator, and has none for {missing[0]!r}."
            )
        for one in self.annotators:
            check_real(f"reliabilities[{one!r}]", reliabilities[one], 0, 1)
        return np.array([float(reliabilities[one]) for one in self.annotators])

    def _combined(self, trusted: FloatArray, sets: FocalSets) -> FloatArray:
        """By Dempster's rule: commonalities are multiplied, and conflict is given up."""
        inside = sets.subset_matrix().T  # B in A for each answer A and set B
        of_answers = inside[sets.positions(self._sets)] if len(trusted) else np.empty((0, len(sets)))
        samples: IntArray = np.zeros(self._sources.max(initial=-1) + 1, dtype=np.intp)
        samples[self._sources] = self._samples
        excluded: FloatArray = np.zeros((len(samples), len(sets)))
        np.add.at(excluded, self._sources, (self._shares * trusted)[:, None] * (1 - of_answers))
        logs: FloatArray = np.zeros((len(self.samples), len(sets)))
        np.add.at(logs, samples, np.log(np.maximum(1 - excluded, _LEAST)))
        return masses_of_logs(logs[:, 1:], sets)

    def _averaged(self, trusted: FloatArray, sets: FocalSets) -> FloatArray:
        masses: FloatArray = np.zeros((len(self.samples), len(sets)))
        np.add.at(masses, (self._samples, sets.positions(self._sets)), self._shares * trusted)
        n_people = np.bincount(self._samples, self._shares, len(masses))
        masses /= np.maximum(n_people, 1)[:, None]
        masses[:, -1] += 1 - masses.sum(axis=1)
        return masses

    def _named(self, masses: FloatArray, sets: FocalSets, wanted: Any) -> CredalPartition:
        if wanted is None:
            numbered = list(self.samples) == list(range(len(self.samples)))
            return of_classes(CredalPartition(masses, sets, None if numbered else self.samples, validate=False))
        places = {one: k for k, one in enumerate(self.samples)}
        chosen = np.array([places.get(one, -1) for one in wanted], dtype=np.intp)
        if places and (chosen < 0).all():
            raise ValueError("samples has none of the samples of the table; are they called the same in both?")
        of_wanted: FloatArray = np.zeros((len(chosen), len(sets)))
        of_wanted[:, -1] = 1
        of_wanted[chosen >= 0] = masses[chosen[chosen >= 0]]
        return of_classes(CredalPartition(of_wanted, sets, wanted, validate=False))


class _Rows(NamedTuple):
    """Answers, one in a row, whatever the form of the table; `numbers` are places in `samples`."""

    samples: list[Any]
    numbers: list[int]
    annotators: list[Any]
    answers: list[Any]
    confidences: list[Any]


def _read_long(columns: dict[str, Any], names_of_columns: tuple[str, str, str], confidence: Any) -> _Rows:
    sample, annotator, answer = names_of_columns
    if sample not in columns:
        raise ValueError(f"a table with a column {answer!r} needs a column {sample!r}; it has {list(columns)}.")
    if not isinstance(confidence, str):
        raise ValueError("confidence must be the name of a column, in a table with a row for each answer.")
    answers, of_rows = _as_list(columns[answer]), [_plain(one) for one in _as_list(columns[sample])]
    if any(_is_missing(one) for one in of_rows):
        raise ValueError(f"the column {sample!r} has empty cells; each answer must be about a sample.")
    people = [_plain(one) for one in _as_list(columns[annotator])] if annotator in columns else [""] * len(answers)
    sure = _as_list(columns[confidence]) if confidence in columns else [None] * len(answers)
    names = list(dict.fromkeys(of_rows))
    places = {one: k for k, one in enumerate(names)}
    return _Rows(names, [places[one] for one in of_rows], people, answers, sure)


def _read_wide(columns: dict[str, Any], names_of_columns: tuple[str, str, str], confidence: Any) -> _Rows:
    sample = names_of_columns[0]
    people = [one for one in columns if one != sample]
    if not people:
        raise ValueError("the table has no column of answers.")
    by_person = [_as_list(columns[one]) for one in people]
    n_samples = len(by_person[0])
    names = _as_list(columns[sample]) if sample in columns else list(range(n_samples))
    if len(set(names)) < n_samples:
        raise ValueError("a table with a column for each annotator must have one row for each sample.")
    sure = [[None] * n_samples for _ in people]
    if not isinstance(confidence, str):
        given = _columns(confidence)
        absent = [one for one in people if one not in given]
        if absent:
            raise ValueError(f"confidence must have the columns of the table, and has no {absent[0]!r}.")
        sure = [_as_list(given[one]) for one in people]
        if any(len(one) != n_samples for one in sure):
            raise ValueError(f"confidence must have {n_samples} rows, as the table has.")
    return _Rows(
        names,
        list(range(n_samples)) * len(people),
        [one for one in people for _ in range(n_samples)],
        [one for column in by_person for one in column],
        [one for column in sure for one in column],
    )


def _names_of(table: Any, sample: str, columns: dict[str, Any], found: list[Any]) -> Any:
    """The samples, as an index of pandas where the table is one of pandas."""
    if not hasattr(table, "iloc"):
        return found
    return table.set_index(sample).index.unique() if sample in columns else table.index


def _columns(table: Any) -> dict[str, Any]:
    # Lists of lists are no arrays.
    return (
        {str(name): one for name, one in table.items()}
        if isinstance(table, dict)
        else dict(split_columns(table)[0])
    )


def _as_list(column: Any) -> list[Any]:
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, name):
            return list(getattr(column, name)())
    return list(column)


def split_answer(text: str, separator: str) -> list[Any]:
    """Return the classes that a text names: a JSON list, or names with a separator between them."""
    if text.strip().startswith("["):
        with suppress(ValueError):
            names = json.loads(text)
            if all(isinstance(name, (str, int)) for name in names):
                return list(names)
    return [part.strip() for part in text.split(separator) if part.strip()]


def _as_classes(answer: Any, separator: str) -> list[Any]:
    """The classes of one answer; none if there is no answer."""
    if isinstance(answer, str):
        return split_answer(answer, separator)
    if isinstance(answer, Iterable):
        return [_plain(one) for one in answer]
    return [] if _is_missing(answer) else [_plain(answer)]


def _as_confidence(value: Any) -> float:
    if _is_missing(value):
        return 1.0
    check_real("confidence", value, 0, 1)
    return float(value)


def _is_missing(value: Any) -> bool:
    # NaN is not equal to itself, and pandas' NA is neither equal nor unequal to anything.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _plain(value: Any) -> Any:
    """Numbers of any kind as whole numbers where they are: a column with gaps holds 1.0 for 1."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _sorted(values: Iterable[Any]) -> list[Any]:
    found = set(values)
    try:
        return sorted(found)
    except TypeError:
        return sorted(found, key=str)


__all__ = ["Annotations"]
