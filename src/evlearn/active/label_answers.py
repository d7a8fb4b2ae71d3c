"""What has been answered about the classes of samples, and the file that keeps it."""

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
_BETWEEN = "|"


class LabelQuery(NamedTuple):
    """A question: which class a sample belongs to.

    Attributes
    ----------
    sample : int
        The sample in doubt.
    candidates : tuple
        The classes, the most plausible first.
    why : str
        Why this is asked, in words.
    """

    sample: int
    candidates: tuple[Any, ...]
    why: str


class LabelAnswer(NamedTuple):
    """What was said about a sample.

    Attributes
    ----------
    sample : int
        The sample.
    classes : tuple
        The class, or several of which one is right; none if nobody knows.
    confidence : float, default=1.0
        How sure this is, from 0 to 1.
    """

    sample: int
    classes: tuple[Any, ...]
    confidence: float = 1.0


#: A class, several, an answer with a confidence, or nothing.
Said: TypeAlias = str | int | Sequence[str] | Sequence[int] | LabelAnswer | None


def as_answer(sample: int, said: Any, classes: tuple[Any, ...], confidence: float = 1.0) -> LabelAnswer:
    """What an oracle said, in any of its forms."""
    if isinstance(said, LabelAnswer):
        said, confidence = said.classes, said.confidence
    check_real("confidence", confidence, 0, 1)
    several = isinstance(said, Iterable) and not isinstance(said, str)
    named = [] if said is None else list(said) if several else [said]
    unknown = [one for one in named if one not in classes]
    if unknown:
        raise ValueError(
            f"the answer {unknown[0]!r} is not one of the classes {list(classes)}; give a class, several in a "
            "list, or None if nobody knows."
        )
    return LabelAnswer(sample, tuple(one for one in classes if one in named), float(confidence))


def labels_of(answers: list[LabelAnswer], classes: tuple[Any, ...], samples: Any) -> CredalPartition:
    """The mass functions that follow from answers, for these samples."""
    told = [one for one in answers if one.classes]
    table: dict[str, list[Any]] = {
        "sample": [one.sample for one in told],
        "answer": [one.classes for one in told],
        "confidence": [one.confidence for one in told],
    }
    found = Annotations(table, classes=classes).to_partition(reliabilities=None, samples=samples)
    return CredalPartition(found.masses, found.focal_sets, validate=False)


def write_label_answers(path: str | os.PathLike[str], history: list[LabelAnswer]) -> None:
    """Write answers to a file that `Annotations` can read too, whole or not at all.

    Classes are written with "|" between them, or as a JSON list if the name of one of them does not allow that.
    """
    lines = [[str(one.sample), _as_cell(one.classes), repr(one.confidence)] for one in history]
    write_lines(path, _HEADER, lines)


def read_label_answers(path: str | os.PathLike[str], classes: tuple[Any, ...]) -> list[LabelAnswer]:
    """Read answers from a file."""
    path, lines = read_lines(path, _HEADER)
    return [_read_line(path, number, line, classes) for number, line in enumerate(lines, start=2)]


def _as_cell(classes: tuple[Any, ...]) -> str:
    names = [str(one) for one in classes]
    return _BETWEEN.join(names) if all(map(_is_plain, names)) else json.dumps(names)


def _is_plain(name: str) -> bool:
    """Return True if a name of a class can stand between separators, and cannot be taken for a list."""
    return bool(name) and name == name.strip() and name.isprintable() and _BETWEEN not in name and name[0] != "["


def _read_line(path: Path, number: int, line: list[str], classes: tuple[Any, ...]) -> LabelAnswer:
    known = {str(one): one for one in classes}
    try:
        sample, cell, confidence = line
        names = split_answer(cell, _BETWEEN)
        if not set(names) <= set(known) and cell in known:
            names = [cell]  # written before lists were, or by hand
        named = {known[str(name)] for name in names}
        answer = LabelAnswer(int(sample), tuple(one for one in classes if one in named), float(confidence))
        if answer.sample < 0 or not 0 <= answer.confidence <= 1:
            raise ValueError
        return answer
    except (ValueError, KeyError):
        raise ValueError(
            f"line {number} of {path} should be the number of a sample, classes of {list(known)} with "
            f"{_BETWEEN!r} between them or in a JSON list, and a confidence from 0 to 1, got "
            f"{','.join(line)[:80]!r}."
        ) from None
