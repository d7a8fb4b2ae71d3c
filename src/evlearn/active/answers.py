"""Queries and answers about pairs of samples and about classes: order, implications, and files."""

import csv
import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from evlearn.classify import Annotations
from evlearn.classify.answer_tables import split_answer
from evlearn.constraints import PairwiseConstraints
from evlearn.constraints.pairs import contains, keys_of_pairs
from evlearn.partition import CredalPartition
from evlearn.utils.files import atomic_write, check_folder
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_integer, check_real

_MAX_SAMPLES = 2**31  # pairs of larger numbers have no key
_PAIR_HEADER = ["first", "second", "answer"]
_WORDS = {True: "same", False: "different", None: "unknown"}
_LABEL_HEADER = ["sample", "answer", "confidence"]
_SEPARATOR = "|"


class PairQuery(NamedTuple):
    """Question whether 2 samples are in the same cluster.

    Attributes
    ----------
    first : int
        Sample in doubt.
    second : int
        Sample to compare it with, the representative of a cluster.
    cluster : int
        Cluster that the second sample represents.
    reason : str
        Reason for the question, as plain text.
    """

    first: int
    second: int
    cluster: int
    reason: str


class PairAnswer(NamedTuple):
    """Answer about a pair of samples.

    Attributes
    ----------
    first : int
        Sample in doubt.
    second : int
        Sample that it was compared with.
    same_cluster : bool or None
        Whether both are in the same cluster; None if unknown.
    inferred : bool, default=False
        Whether the answer was inferred, because no other cluster is possible.
    """

    first: int
    second: int
    same_cluster: bool | None
    inferred: bool = False


class Answers:
    """Consistent answers in chronological order, with their implications."""

    def __init__(self, constraints: PairwiseConstraints) -> None:
        self.initial = constraints
        self.history: list[PairAnswer] = []
        self._set_constraints(constraints)

    def _set_constraints(self, constraints: PairwiseConstraints) -> None:
        implied = constraints.closure()
        self._same, self._different = keys_of_pairs(implied.must_link), keys_of_pairs(implied.cannot_link)
        self.constraints, self.implied = constraints, implied

    def relation(self, first: int, second: int) -> bool | None:
        """Return whether 2 samples are in the same cluster, or None if the answers do not imply it."""
        key = keys_of_pairs(np.array([[first, second]]))
        if first == second or contains(self._same, key)[0]:
            return True
        return False if contains(self._different, key)[0] else None

    def is_resolved(self, first: int, second: int) -> bool:
        """Return True if a pair needs no question: its answer is implied by others, or was "unknown"."""
        return self.relation(first, second) is not None or any(
            _is_about(entry, first, second) for entry in self.history
        )

    def add(self, answer: PairAnswer) -> None:
        """Add an answer; if it contradicts others, raise a ValueError with the chain of answers instead."""
        self._set_constraints(self.constraints + _constraint(answer))
        self.history.append(answer)

    def forget(self, first: int, second: int) -> None:
        """Remove the answer about a pair, and all inferred answers, which may depend on it."""
        history = [entry for entry in self.history if not (entry.inferred or _is_about(entry, first, second))]
        if not any(_is_about(entry, first, second) for entry in self.history):
            raise ValueError(f"there is no answer about the pair ({first}, {second}) to forget.")
        self.history = history
        self._set_constraints(sum((_constraint(entry) for entry in history), self.initial))


def _is_about(answer: PairAnswer, first: int, second: int) -> bool:
    return {answer.first, answer.second} == {first, second}


def _constraint(answer: PairAnswer) -> PairwiseConstraints:
    pair = [answer[:2]]
    if answer.same_cluster is None:
        return PairwiseConstraints()
    return PairwiseConstraints(must_link=pair) if answer.same_cluster else PairwiseConstraints(cannot_link=pair)


def write_answers(path: str | os.PathLike[str], history: list[PairAnswer]) -> None:
    """Write answers to a file, atomically."""
    answers = [answer for answer in history if not answer.inferred]
    lines = [[str(answer.first), str(answer.second), _WORDS[answer.same_cluster]] for answer in answers]
    write_lines(path, _PAIR_HEADER, lines)


def read_answers(path: str | os.PathLike[str]) -> list[PairAnswer]:
    """Read answers from a file."""
    path, lines = read_lines(path, _PAIR_HEADER)
    return [_parse_pair_line(path, number, line) for number, line in enumerate(lines, start=2)]


def _parse_pair_line(path: Path, number: int, line: list[str]) -> PairAnswer:
    answers = {word: relation for relation, word in _WORDS.items()}
    try:
        first, second, word = line
        answer = PairAnswer(int(first), int(second), answers[word])
        if not 0 <= min(answer[:2]) <= max(answer[:2]) < _MAX_SAMPLES:
            raise ValueError
        return answer
    except (ValueError, KeyError):
        raise ValueError(
            f"line {number} of {path} must contain 2 sample numbers and one of {list(answers)}, "
            f"got {','.join(line)[:80]!r}."
        ) from None


class LabelQuery(NamedTuple):
    """Question about the class of a sample.

    Attributes
    ----------
    sample : int
        Sample in doubt.
    candidates : tuple
        Classes, the most plausible first.
    reason : str
        Reason for the question, as plain text.
    """

    sample: int
    candidates: tuple[Any, ...]
    reason: str


class LabelAnswer(NamedTuple):
    """Answer about a sample.

    Attributes
    ----------
    sample : int
        Sample.
    classes : tuple
        Class, or several classes of which one is right; empty if unknown.
    confidence : float, default=1.0
        Confidence in the answer, from 0 to 1.
    """

    sample: int
    classes: tuple[Any, ...]
    confidence: float = 1.0


#: Reply of an oracle: a class, several classes, an answer with a confidence, or None.
LabelReply: TypeAlias = str | int | Sequence[str] | Sequence[int] | LabelAnswer | None


def as_answer(sample: int, reply: Any, classes: tuple[Any, ...], confidence: float = 1.0) -> LabelAnswer:
    """Convert a reply of an oracle to an answer."""
    if isinstance(reply, LabelAnswer):
        reply, confidence = reply.classes, reply.confidence
    check_real("confidence", confidence, 0, 1)
    is_sequence = isinstance(reply, Iterable) and not isinstance(reply, str)
    names = [] if reply is None else list(reply) if is_sequence else [reply]
    unknown = [name for name in names if name not in classes]
    if unknown:
        raise ValueError(
            f"the answer {unknown[0]!r} is not one of the classes {list(classes)}; give a class, a list of "
            "classes, or None if unknown."
        )
    return LabelAnswer(sample, tuple(name for name in classes if name in names), float(confidence))


def labels_of(answers: list[LabelAnswer], classes: tuple[Any, ...], samples: Any) -> CredalPartition:
    """Return the mass functions of samples that follow from answers."""
    entries = [entry for entry in answers if entry.classes]
    table: dict[str, list[Any]] = {
        "sample": [entry.sample for entry in entries],
        "answer": [entry.classes for entry in entries],
        "confidence": [entry.confidence for entry in entries],
    }
    partition = Annotations(table, classes=classes).to_partition(rule="dempster", samples=samples)
    return CredalPartition(partition.masses, partition.focal_sets, validate=False)


def write_label_answers(path: str | os.PathLike[str], history: list[LabelAnswer]) -> None:
    """Write answers atomically to a file that `Annotations` can read, too.

    Classes are separated by "|", or written as a JSON list if the name of a class does not permit that.
    """
    lines = [[str(answer.sample), _as_cell(answer.classes), repr(answer.confidence)] for answer in history]
    write_lines(path, _LABEL_HEADER, lines)


def read_label_answers(path: str | os.PathLike[str], classes: tuple[Any, ...]) -> list[LabelAnswer]:
    """Read answers from a file."""
    path, lines = read_lines(path, _LABEL_HEADER)
    return [_parse_label_line(path, number, line, classes) for number, line in enumerate(lines, start=2)]


def _as_cell(classes: tuple[Any, ...]) -> str:
    names = [str(name) for name in classes]
    return _SEPARATOR.join(names) if all(map(_is_plain, names)) else json.dumps(names)


def _is_plain(name: str) -> bool:
    """Return True if the name of a class can be written between separators, and does not look like a list."""
    return bool(name) and name == name.strip() and name.isprintable() and _SEPARATOR not in name and name[0] != "["


def _parse_label_line(path: Path, number: int, line: list[str], classes: tuple[Any, ...]) -> LabelAnswer:
    class_of = {str(name): name for name in classes}
    try:
        sample, cell, confidence = line
        names = split_answer(cell, _SEPARATOR)
        if not set(names) <= set(class_of) and cell in class_of:
            names = [cell]  # written by hand or by older versions
        chosen = {class_of[str(name)] for name in names}
        answer = LabelAnswer(int(sample), tuple(name for name in classes if name in chosen), float(confidence))
        if answer.sample < 0 or not 0 <= answer.confidence <= 1:
            raise ValueError
        return answer
    except (ValueError, KeyError):
        raise ValueError(
            f"line {number} of {path} must contain a sample number, classes of {list(class_of)} separated by "
            f"{_SEPARATOR!r} or in a JSON list, and a confidence from 0 to 1, got "
            f"{','.join(line)[:80]!r}."
        ) from None


class StopQuerying(Exception):  # noqa: N818  (not an error, like StopIteration)
    """Exception raised by an oracle to stop the questions; previous answers are kept.

    Parameters
    ----------
    reason : str, default=""
        Reason, for the code that catches the exception.
    """

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)


def run_queries(learner: Any, oracle: Callable[[Any], Any], n_queries: int, verbose: bool) -> None:
    """Ask until there are no more questions, or the oracle stops."""
    check_integer("n_queries", n_queries, 0)
    for _ in range(n_queries):
        query = learner.ask()
        if query is None:
            break
        if verbose:
            print(query.reason)
        try:
            reply = oracle(query)
        except (StopQuerying, KeyboardInterrupt):
            break
        learner.answer(query, reply)


def write_lines(path: str | os.PathLike[str], header: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Write a table of text, atomically."""
    with atomic_write(path) as file:
        file.write("".join(",".join(map(_quoted, line)) + "\n" for line in [header, *lines]).encode())


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',"\r\n') else cell


def read_lines(path: str | os.PathLike[str], header: Sequence[str]) -> tuple[Path, list[list[str]]]:
    """Read a file of `write_lines`; return no lines if it does not exist."""
    path = check_folder(path)
    if not path.exists():
        return path, []
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            first, *lines = list(csv.reader(file)) or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(
            f"{path} is not a file of answers, which contains short lines of text: {error}."
        ) from error
    if first != list(header):
        raise ValueError(f"{path} is not a file of answers: its first line must be {','.join(header)}.")
    return path, lines


def doubt(partition: CredalPartition) -> FloatArray:
    """Return 1 minus the belief in the most plausible cluster, as in reports and tables."""
    return partition.doubt()


def nonspecificity(partition: CredalPartition) -> FloatArray:
    """Return the nonspecificity of each mass function."""
    return partition.nonspecificity(per_sample=True)


def entropy(partition: CredalPartition) -> FloatArray:
    """Return the entropy of the probabilities that are proportional to plausibilities, in bits."""
    probabilities = partition.to_fuzzy()
    return np.asarray(-(probabilities * np.log2(np.where(probabilities > 0, probabilities, 1))).sum(axis=1))


def margin(partition: CredalPartition) -> FloatArray:
    """Return minus the difference between the 2 largest plausibilities."""
    ordered = np.sort(partition.to_possibilistic(), axis=1)
    return np.asarray(ordered[:, -2] - ordered[:, -1]) if ordered.shape[1] > 1 else np.zeros(len(ordered))


#: Scores by name; "random" is constant.
STRATEGIES: dict[str, Callable[[CredalPartition], FloatArray]] = {
    "doubt": doubt,
    "nonspecificity": nonspecificity,
    "entropy": entropy,
    "margin": margin,
    "random": lambda partition: np.zeros(len(partition)),
}


def most_doubtful_first(strategy: str, partition: CredalPartition, random: np.random.RandomState) -> IntArray:
    """Return all samples, sorted by decreasing score; ties are sorted by entropy, then at random."""
    by_chance = random.permutation(len(partition))
    if strategy == "random":
        return by_chance
    return np.lexsort([by_chance, -entropy(partition), -STRATEGIES[strategy](partition)])
