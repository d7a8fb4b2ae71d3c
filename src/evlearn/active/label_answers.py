"""Answers about the classes of samples, and their file format."""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from evlearn.active.asking import read_lines, write_lines
from evlearn.classify import Annotations
from evlearn.classify.annotations import split_answer
from evlearn.partition import CredalPartition
from evlearn.utils.validation import check_real

_HEADER = ["sample", "answer", "confidence"]
_SEPARATOR = "|"


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
    partition = Annotations(table, classes=classes).to_partition(reliabilities=None, samples=samples)
    return CredalPartition(partition.masses, partition.focal_sets, validate=False)


def write_label_answers(path: str | os.PathLike[str], history: list[LabelAnswer]) -> None:
    """Write answers atomically to a file that `Annotations` can read, too.

    Classes are separated by "|", or written as a JSON list if the name of a class does not permit that.
    """
    lines = [[str(answer.sample), _as_cell(answer.classes), repr(answer.confidence)] for answer in history]
    write_lines(path, _HEADER, lines)


def read_label_answers(path: str | os.PathLike[str], classes: tuple[Any, ...]) -> list[LabelAnswer]:
    """Read answers from a file."""
    path, lines = read_lines(path, _HEADER)
    return [_read_line(path, number, line, classes) for number, line in enumerate(lines, start=2)]


def _as_cell(classes: tuple[Any, ...]) -> str:
    names = [str(name) for name in classes]
    return _SEPARATOR.join(names) if all(map(_is_plain, names)) else json.dumps(names)


def _is_plain(name: str) -> bool:
    """Return True if the name of a class can be written between separators, and does not look like a list."""
    return bool(name) and name == name.strip() and name.isprintable() and _SEPARATOR not in name and name[0] != "["


def _read_line(path: Path, number: int, line: list[str], classes: tuple[Any, ...]) -> LabelAnswer:
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
