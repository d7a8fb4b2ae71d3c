"""What has been answered about pairs of samples, what follows from it, and the file that keeps it."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evlearn.active.asking import read_lines, write_lines
from evlearn.constraints import PairwiseConstraints
from evlearn.constraints.pairs import contains, keys_of_pairs

_MOST_OBJECTS = 2**31  # pairs of larger numbers have no key
_HEADER = ["first", "second", "answer"]
_WORDS = {True: "same", False: "different", None: "unknown"}


class Query(NamedTuple):
    """A question: whether two samples are in the same cluster.

    Attributes
    ----------
    first : int
        The sample in doubt.
    second : int
        The sample it is compared with, one that stands for a cluster.
    cluster : int
        The cluster that the second sample stands for.
    why : str
        Why this is asked, in words.
    """

    first: int
    second: int
    cluster: int
    why: str


class Answer(NamedTuple):
    """What was said about a pair of samples.

    Attributes
    ----------
    first : int
        The sample in doubt.
    second : int
        The sample it was compared with.
    same : bool or None
        Whether the two are in the same cluster; None if nobody knows.
    inferred : bool, default=False
        Whether it was concluded, because there is no other cluster left, and not said.
    """

    first: int
    second: int
    same: bool | None
    inferred: bool = False


class Answers:
    """Answers in the order they came, never in contradiction, and all that follows from them."""

    def __init__(self, constraints: PairwiseConstraints) -> None:
        self.given = constraints
        self.history: list[Answer] = []
        self._take(constraints)

    def _take(self, constraints: PairwiseConstraints) -> None:
        implied = constraints.closure()
        self._same, self._different = keys_of_pairs(implied.must_link), keys_of_pairs(implied.cannot_link)
        self.constraints, self.implied = constraints, implied

    def relation(self, first: int, second: int) -> bool | None:
        """Whether two samples are in the same cluster, if that follows from the answers; else None."""
        key = keys_of_pairs(np.array([[first, second]]))
        if first == second or contains(self._same, key)[0]:
            return True
        return False if contains(self._different, key)[0] else None

    def is_settled(self, first: int, second: int) -> bool:
        """Whether asking about a pair is of no use: the answer follows from others, or nobody knows it."""
        return self.relation(first, second) is not None or any(
            _is_about(one, first, second) for one in self.history
        )

    def add(self, answer: Answer) -> None:
        """Take an answer, or raise a ValueError that names the chain that it contradicts and change nothing."""
        self._take(self.constraints + _constraint(answer))
        self.history.append(answer)

    def forget(self, first: int, second: int) -> None:
        """Drop the answer about a pair, and all that was inferred, perhaps from it."""
        kept = [one for one in self.history if not (one.inferred or _is_about(one, first, second))]
        if not any(_is_about(one, first, second) for one in self.history):
            raise ValueError(f"there is no answer about the pair ({first}, {second}) to forget.")
        self.history = kept
        self._take(sum((_constraint(one) for one in kept), self.given))


def _is_about(answer: Answer, first: int, second: int) -> bool:
    return {answer.first, answer.second} == {first, second}


def _constraint(answer: Answer) -> PairwiseConstraints:
    pair = [answer[:2]]
    if answer.same is None:
        return PairwiseConstraints()
    return PairwiseConstraints(must_link=pair) if answer.same else PairwiseConstraints(cannot_link=pair)


def write_answers(path: str | os.PathLike[str], history: list[Answer]) -> None:
    """Write answers to a file, whole or not at all."""
    said = [one for one in history if not one.inferred]
    write_lines(path, _HEADER, [[str(one.first), str(one.second), _WORDS[one.same]] for one in said])


def read_answers(path: str | os.PathLike[str]) -> list[Answer]:
    """Read answers from a file."""
    path, lines = read_lines(path, _HEADER)
    return [_read_line(path, number, line) for number, line in enumerate(lines, start=2)]


def _read_line(path: Path, number: int, line: list[str]) -> Answer:
    said = {word: same for same, word in _WORDS.items()}
    try:
        first, second, word = line
        answer = Answer(int(first), int(second), said[word])
        if not 0 <= min(answer[:2]) <= max(answer[:2]) < _MOST_OBJECTS:
            raise ValueError
        return answer
    except (ValueError, KeyError):
        raise ValueError(
            f"line {number} of {path} should be two numbers of samples, and one of {list(said)}, "
            f"got {','.join(line)[:80]!r}."
        ) from None
