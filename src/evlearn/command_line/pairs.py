"""Constraints in a file: two rows in a line, and whether they belong together."""

import os
from collections import Counter
from itertools import chain
from pathlib import Path

from evlearn.command_line.dialect import Dialect, Record, detect, has_byte_order_mark
from evlearn.constraints import PairwiseConstraints

_TOGETHER = {"must", "must-link", "must_link", "same", "together", "1", "+"}
_APART = {"cannot", "cannot-link", "cannot_link", "different", "apart", "0", "-1", "-"}


def read_constraints(
    path: str | os.PathLike[str], names: list[str], *, delimiter: str | None = None, encoding: str | None = None
) -> PairwiseConstraints:
    """Return the constraints in a CSV file.

    Parameters
    ----------
    path : str or path
        The file. Each line has 2 names of rows and a word such as "must" or "cannot". A header is skipped.
    names : list of str
        The names of the rows, or their numbers from 0.
    delimiter : str or None, default=None
        The delimiter of the data, which is used if that of the file cannot be detected.
    encoding : str or None, default=None
        The encoding of the data, which is used unless the file has a byte order mark. None is UTF-8.
    """
    names = [name.strip() for name in names]
    place = {name: k for k, name in enumerate(names)}
    twice = {name for name, times in Counter(names).items() if times > 1}
    pairs: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    for line, cells in _rows(Path(path), delimiter, encoding):
        together = _meaning(cells)
        if together is None:
            raise ValueError(
                f"{path}, line {line}: two rows and the word must or cannot are needed, got {', '.join(cells)!r}."
            )
        for name in cells[:2]:
            if name not in place or name in twice:
                why = "which several rows have" if name in twice else "which no row has"
                raise ValueError(f"{path}, line {line}: {name!r} is a name {why}.")
        pairs[together].append((place[cells[0]], place[cells[1]]))
    return PairwiseConstraints(pairs[True], pairs[False])


def _rows(path: Path, delimiter: str | None, encoding: str | None) -> list[Record]:
    """Return the lines without a header."""
    if not path.exists():
        raise FileNotFoundError(f"--constraints: there is no file {str(path)!r}.")
    if not path.is_file():
        raise ValueError(f"--constraints: {str(path)!r} is not a regular file; save the constraints in one first.")
    dialect = _detect(path, delimiter, None if has_byte_order_mark(path) else encoding)
    records = ((line, [cell.strip() for cell in cells]) for line, cells in dialect.records())
    first = next(records)
    has_header = len(first[1]) == 3 and _meaning(first[1]) is None
    dialect.check_titles(header=has_header)
    return list(records if has_header else chain([first], records))


def _detect(path: Path, delimiter: str | None, encoding: str | None) -> Dialect:
    try:
        return detect(path, encoding=encoding)
    except ValueError:
        if delimiter is None:
            raise
        return detect(path, delimiter=delimiter, encoding=encoding)


def _meaning(cells: list[str]) -> bool | None:
    """Return True if 2 rows belong together, False if they do not, and None if the line is no constraint."""
    word = cells[2].lower() if len(cells) == 3 else ""
    return word in _TOGETHER if word in _TOGETHER | _APART else None
