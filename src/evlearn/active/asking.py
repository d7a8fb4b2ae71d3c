"""What all learners that ask have in common: the questions, one after the other, and the file of the answers."""

import csv
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from evlearn.utils.files import check_folder, replacing
from evlearn.utils.validation import check_integer


class StopAsking(Exception):  # noqa: N818  (not an error, as StopIteration is none)
    """Raised by an oracle that has had enough; all answers so far are kept.

    Parameters
    ----------
    reason : str, default=""
        Why, for the code that catches it.
    """

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)


def put_questions(learner: Any, put: Callable[[Any], Any], n_queries: int, verbose: bool) -> None:
    """Ask, until there is nothing left to ask, or whoever answers has had enough."""
    check_integer("n_queries", n_queries, 0)
    for _ in range(n_queries):
        query = learner.ask()
        if query is None:
            break
        if verbose:
            print(query.why)
        try:
            said = put(query)
        except (StopAsking, KeyboardInterrupt):
            break
        learner.answer(query, said)


def write_lines(path: str | os.PathLike[str], header: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Write a table of text, whole or not at all."""
    with replacing(path) as file:
        file.write("".join(",".join(map(_quoted, line)) + "\n" for line in [header, *lines]).encode())


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',"\r\n') else cell


def read_lines(path: str | os.PathLike[str], header: Sequence[str]) -> tuple[Path, list[list[str]]]:
    """Read what `write_lines` wrote; nothing if there is no file."""
    path = check_folder(path)
    if not path.exists():
        return path, []
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            first, *lines = list(csv.reader(file)) or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is not a file of answers, which has short lines of text: {error}.") from error
    if first != list(header):
        raise ValueError(f"{path} is not a file of answers: its first line should be {','.join(header)}.")
    return path, lines
