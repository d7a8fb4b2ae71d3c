"""Tables of answers: long and wide forms, cells with one or more classes, and the evidence that they contain."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evlearn.preprocessing.reading import split_columns
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import check_real

#: Names of columns in other libraries, for columns with default names.
_OTHER_NAMES = {"sample": "task", "annotator": "worker", "answer": "label"}
_ROUNDING = 1e-6

#: Masses on sets of classes, as pairs; the rest is on the set of all classes.
Masses = tuple[tuple[frozenset[Any], float], ...]


class Rows(NamedTuple):
    """Answers of a table in long form; `numbers` are positions in `samples`."""

    samples: list[Any]
    numbers: list[int]
    annotators: list[Any]
    answers: list[Any]
    confidences: list[Any]


@dataclass(frozen=True)
class Evidence:
    """Masses of answers on sets of classes; all answers of an annotator about a sample are one source.

    Attributes
    ----------
    samples, annotators : ndarray of shape (n_sources,)
        Numbers of the sample and of the annotator of each source, sorted by annotator.
    sources : ndarray of shape (n_masses,)
        Source of each mass.
    sets : ndarray of bool of shape (n_masses, n_classes)
        Sets of classes.
    masses : ndarray of shape (n_masses,)
        Masses on these sets; the rest of a source is on the set of all classes.
    """

    samples: IntArray
    annotators: IntArray
    sources: IntArray
    sets: BoolArray
    masses: FloatArray

    def contours(self) -> FloatArray:
        """Return the plausibilities of the classes, of shape (n_sources, n_classes)."""
        excluded: FloatArray = np.zeros((len(self.samples), self.sets.shape[1]))
        np.add.at(excluded, self.sources, self.masses[:, None] * ~self.sets)
        return np.asarray(np.clip(1 - excluded, 0, 1))

    def append(self, samples: IntArray, annotator: int, sets: BoolArray, masses: FloatArray) -> "Evidence":
        """Return the evidence with that of another annotator: masses of samples (rows) on sets (columns)."""
        rows, columns = np.nonzero(masses > 0)
        return Evidence(
            np.concatenate([self.samples, samples]),
            np.concatenate([self.annotators, np.full(len(samples), annotator)]),
            np.concatenate([self.sources, rows + len(self.samples)]),
            np.concatenate([self.sets, sets[columns]]),
            np.concatenate([self.masses, masses[rows, columns]]),
        )


def read_rows(columns: dict[str, Any], names: tuple[str, str, str], confidence: Any) -> Rows:
    """Return the answers of a long table, which has a column of answers, or of a wide table."""
    return (_read_long if names[2] in columns else _read_wide)(columns, names, confidence)


def names_of_columns(columns: dict[str, Any], names: tuple[str, str, str]) -> tuple[str, str, str]:
    """Return the names of the columns of samples, annotators and answers, also those of other libraries."""

    def existing(name: str) -> str:
        other = _OTHER_NAMES.get(name, name)
        return other if name not in columns and other in columns else name

    sample, annotator, answer = map(existing, names)
    # Without a column of samples, "label" may be the name of an annotator.
    return sample, annotator, answer if sample in columns else names[2]


def make_evidence(
    rows: Rows, answers: Sequence[Masses], annotators: Mapping[Any, int], classes: Mapping[Any, int]
) -> Evidence:
    """Return the evidence of answers; equal answers of an annotator about a sample count once."""
    distinct = list(
        dict.fromkeys(
            (annotators[rows.annotators[k]], rows.numbers[k], _weighted(masses, as_confidence(confidence)))
            for k, (masses, confidence) in enumerate(zip(answers, rows.confidences, strict=True))
            if masses
        )
    )
    pairs: IntArray = np.array([entry[:2] for entry in distinct], dtype=np.intp).reshape(-1, 2)
    # All answers of an annotator about a sample share the weight of one source.
    pairs, sources, sizes = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    sources = sources.reshape(-1)  # NumPy 2.0 returns another shape
    entries = [
        (source, names, mass / sizes[source])
        for source, (_, _, masses) in zip(sources, distinct, strict=True)
        for names, mass in masses
    ]
    sets: BoolArray = np.zeros((len(entries), len(classes)), dtype=bool)
    for row, (_, names, _) in zip(sets, entries, strict=True):
        row[[classes[name] for name in names]] = True
    return Evidence(
        pairs[:, 1],
        pairs[:, 0],
        np.array([entry[0] for entry in entries], dtype=np.intp),
        sets,
        np.array([entry[2] for entry in entries], dtype=np.float64),
    )


def _weighted(masses: Masses, confidence: float) -> Masses:
    return tuple((names, mass * confidence) for names, mass in masses)


def _read_long(columns: dict[str, Any], names: tuple[str, str, str], confidence: Any) -> Rows:
    sample, annotator, answer = names
    if sample not in columns:
        raise ValueError(f"a table with a column {answer!r} must have a column {sample!r}, got {list(columns)}.")
    if not isinstance(confidence, str):
        raise ValueError("confidence must be the name of a column if the table has a row for each answer.")
    answers, row_samples = as_list(columns[answer]), [_plain(cell) for cell in as_list(columns[sample])]
    if any(is_missing(cell) for cell in row_samples):
        raise ValueError(f"the column {sample!r} has empty cells; each answer must have a sample.")
    annotators = (
        [_plain(cell) for cell in as_list(columns[annotator])] if annotator in columns else [""] * len(answers)
    )
    confidences = as_list(columns[confidence]) if confidence in columns else [None] * len(answers)
    samples = list(dict.fromkeys(row_samples))
    positions = {name: k for k, name in enumerate(samples)}
    return Rows(samples, [positions[name] for name in row_samples], annotators, answers, confidences)


def _read_wide(columns: dict[str, Any], names: tuple[str, str, str], confidence: Any) -> Rows:
    sample = names[0]
    annotators = [name for name in columns if name != sample]
    if not annotators:
        raise ValueError("the table must have a column of answers.")
    answers = [as_list(columns[name]) for name in annotators]
    n_samples = len(answers[0])
    samples = as_list(columns[sample]) if sample in columns else list(range(n_samples))
    if len(set(samples)) < n_samples:
        raise ValueError("a table with a column for each annotator must have a single row for each sample.")
    confidences = [[None] * n_samples for _ in annotators]
    if not isinstance(confidence, str):
        confidence_columns = columns_of(confidence)
        absent = [name for name in annotators if name not in confidence_columns]
        if absent:
            raise ValueError(f"confidence must have the columns of the table, but {absent[0]!r} is missing.")
        confidences = [as_list(confidence_columns[name]) for name in annotators]
        if any(len(column) != n_samples for column in confidences):
            raise ValueError(f"confidence must have {n_samples} rows, like the table.")
    return Rows(
        samples,
        list(range(n_samples)) * len(annotators),
        [name for name in annotators for _ in range(n_samples)],
        [cell for column in answers for cell in column],
        [cell for column in confidences for cell in column],
    )


def columns_of(table: Any) -> dict[str, Any]:
    """Return the columns of a table by name."""
    # Lists of lists cannot be converted to arrays.
    return (
        {str(name): column for name, column in table.items()}
        if isinstance(table, dict)
        else dict(split_columns(table)[0])
    )


def as_list(column: Any) -> list[Any]:
    """Return the cells of a column."""
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


def as_masses(answer: Any, separator: str, unknown: Iterable[str]) -> Masses:
    """Return the masses of an answer on sets of classes; nothing for an empty cell."""
    if isinstance(answer, str) and answer.strip().startswith("{"):
        with suppress(ValueError):
            answer = json.loads(answer)
    if isinstance(answer, Mapping):
        return _graded(answer, separator)
    names = _as_classes(answer, separator)
    return ((frozenset(names), 1.0),) if names and not (len(names) == 1 and names[0] in unknown) else ()


def _graded(answer: Mapping[Any, Any], separator: str) -> Masses:
    """Return the masses of an answer with a confidence for each class or set."""
    # Columns of structures in polars and pyarrow contain all keys, some without a value.
    confidences = {key: value for key, value in answer.items() if not is_missing(value)}
    for value in confidences.values():
        check_real("confidence", value, 0, 1)
    total = sum(confidences.values())
    if total > 1 + _ROUNDING:
        raise ValueError(
            f"the confidences in an answer must have a sum of at most 1, got {confidences!r}; normalize them."
        )
    scale = max(total, 1.0)
    masses = [
        (frozenset(_as_classes(key, separator)), float(value) / scale)
        for key, value in confidences.items()
        if value > 0
    ]
    return tuple(sorted(masses, key=lambda entry: sorted(map(str, entry[0]))))


def _as_classes(answer: Any, separator: str) -> list[Any]:
    """Return the classes of an answer; an empty list without an answer."""
    if isinstance(answer, str):
        return split_answer(answer, separator)
    if isinstance(answer, Iterable):
        return [_plain(name) for name in answer]
    return [] if is_missing(answer) else [_plain(answer)]


def as_confidence(value: Any) -> float:
    """Return a confidence; 1 if it is missing."""
    if is_missing(value):
        return 1.0
    check_real("confidence", value, 0, 1)
    return float(value)


def is_missing(value: object) -> bool:
    """Return True for an empty cell."""
    # NaN differs from itself; comparisons with NA of pandas return NA.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _plain(value: object) -> Any:
    """Convert whole numbers to int: a column with missing values contains 1.0 instead of 1."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_sorted(values: Iterable[Any]) -> list[Any]:
    """Return distinct values in order, as text if they cannot be compared."""
    distinct = set(values)
    try:
        return sorted(distinct)
    except TypeError:
        return sorted(distinct, key=str)
