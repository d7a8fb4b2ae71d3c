"""Constraints in a file: each line has 2 rows, and a word that means must-link or cannot-link."""

import os
from collections import Counter
from itertools import chain
from pathlib import Path

from evlearn.command_line.dialect import Dialect, Record, detect, has_byte_order_mark
from evlearn.constraints import PairwiseConstraints

_MUST_LINK_WORDS = {"must", "must-link", "must_link", "same", "together", "1", "+"}
_CANNOT_LINK_WORDS = {"cannot", "cannot-link", "cannot_link", "different", "apart", "0", "-1", "-"}


def read_constraints(
    path: str | os.PathLike[str], names: list[str], *, delimiter: str | None = None, encoding: str | None = None
) -> PairwiseConstraints:
    """Return the constraints in a CSV file.

    Parameters
    ----------
    path : str or path
        File. Each line has the names of 2 rows and a word such as "must" or "cannot". A header is skipped.
    names : list of str
        Names of the rows, or their numbers from 0.
    delimiter : str or None, default=None
        Delimiter of the data, which is used if that of the file cannot be detected.
    encoding : str or None, default=None
        Encoding of the data, which is used unless the file has a byte order mark. None means UTF-8.
    """
    names = [name.strip() for name in names]
    position = {name: k for k, name in enumerate(names)}
    duplicates = {name for name, times in Counter(names).items() if times > 1}
    pairs: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    for line, cells in _rows(Path(path), delimiter, encoding):
        is_must_link = _is_must_link(cells)
        if is_must_link is None:
            raise ValueError(
                f"{path}, line {line}: must have 2 rows and the word must or cannot, got {', '.join(cells)!r}."
            )
        for name in cells[:2]:
            if name not in position or name in duplicates:
                problem = "the name of several rows" if name in duplicates else "not the name of a row"
                raise ValueError(f"{path}, line {line}: {name!r} is {problem}.")
        pairs[is_must_link].append((position[cells[0]], position[cells[1]]))
    return PairwiseConstraints(pairs[True], pairs[False])


def _rows(path: Path, delimiter: str | None, encoding: str | None) -> list[Record]:
    """Return the lines without a header."""
    if not path.exists():
        raise FileNotFoundError(f"--constraints: the file {str(path)!r} does not exist.")
    if not path.is_file():
        raise ValueError(f"--constraints: {str(path)!r} is not a regular file; save the constraints in one first.")
    dialect = _detect(path, delimiter, None if has_byte_order_mark(path) else encoding)
    records = ((line, [cell.strip() for cell in cells]) for line, cells in dialect.records())
    first = next(records)
    has_header = len(first[1]) == 3 and _is_must_link(first[1]) is None
    dialect.check_titles(header=has_header)
    return list(records if has_header else chain([first], records))


def _detect(path: Path, delimiter: str | None, encoding: str | None) -> Dialect:
    try:
        return detect(path, encoding=encoding)
    except ValueError:
        if delimiter is None:
            raise
        return detect(path, delimiter=delimiter, encoding=encoding)


def _is_must_link(cells: list[str]) -> bool | None:
    """Return True for must-link, False for cannot-link, and None if the line is not a constraint."""
    word = cells[2].lower() if len(cells) == 3 else ""
    return word in _MUST_LINK_WORDS if word in _MUST_LINK_WORDS | _CANNOT_LINK_WORDS else None
