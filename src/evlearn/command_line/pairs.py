"""Constraints in a file: two rows in a line, and whether they belong together."""

import csv
from collections import Counter
from pathlib import Path

from evlearn.constraints import PairwiseConstraints

_TOGETHER = {"must", "must-link", "must_link", "same", "together", "1", "+"}
_APART = {"cannot", "cannot-link", "cannot_link", "different", "apart", "0", "-1", "-"}


def read_constraints(path: str, names: list[str]) -> PairwiseConstraints:
    """The constraints of a CSV file, whose rows are called as in the table, or by their numbers from 0."""
    place = {name: k for k, name in enumerate(names)}
    twice = {name for name, times in Counter(names).items() if times > 1}
    pairs: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    for line, cells in _lines(Path(path)):
        together = _word(path, line, cells)
        if together is None:
            continue  # a line of names
        for name in cells[:2]:
            if name not in place or name in twice:
                why = "which several rows have" if name in twice else "which no row has"
                raise ValueError(f"{path}, line {line}: {name!r} is a name {why}.")
        pairs[together].append((place[cells[0]], place[cells[1]]))
    return PairwiseConstraints(pairs[True], pairs[False])


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    if not path.exists():
        raise FileNotFoundError(f"--constraints: there is no file {str(path)!r}.")
    with path.open(newline="", encoding="utf-8-sig") as file:
        text = file.read()
    found = max("\t;,", key=text.partition("\n")[0].count)
    reader = csv.reader(text.splitlines(), delimiter=found)
    return [(reader.line_num, [cell.strip() for cell in row]) for row in reader if row]


def _word(path: str, line: int, cells: list[str]) -> bool | None:
    """Whether two rows belong together; None for a line of names."""
    word = cells[2].lower() if len(cells) == 3 else ""
    if word in _TOGETHER or word in _APART:
        return word in _TOGETHER
    if line == 1 and len(cells) == 3:
        return None
    raise ValueError(
        f"{path}, line {line}: two rows and the word must or cannot are needed, got {', '.join(cells)!r}."
    )
