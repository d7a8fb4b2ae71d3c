"""Answers about pairs of samples, their implications, and their file format."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evlearn.active.asking import read_lines, write_lines
from evlearn.constraints import PairwiseConstraints
from evlearn.constraints.pairs import contains, keys_of_pairs

_MAX_SAMPLES = 2**31  # pairs of larger numbers have no key
_HEADER = ["first", "second", "answer"]
_WORDS = {True: "same", False: "different", None: "unknown"}


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
    write_lines(
        path, _HEADER, [[str(answer.first), str(answer.second), _WORDS[answer.same_cluster]] for answer in answers]
    )


def read_answers(path: str | os.PathLike[str]) -> list[PairAnswer]:
    """Read answers from a file."""
    path, lines = read_lines(path, _HEADER)
    return [_read_line(path, number, line) for number, line in enumerate(lines, start=2)]


def _read_line(path: Path, number: int, line: list[str]) -> PairAnswer:
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
