"""Where the masses and labels of a command go: a CSV file, a Parquet file, or the screen."""

import csv
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from evlearn.model_files import archive_of, check_archive
from evlearn.partition import SURE_LEVEL, CredalPartition
from evlearn.partition.verdict import distinct
from evlearn.utils.files import is_inside, replacing, same_file
from evlearn.utils.places import need_pyarrow
from evlearn.utils.spreadsheets import harmless
from evlearn.utils.typing import BoolArray


class Writer(Protocol):
    """Takes partitions of some samples after another."""

    def write(self, names: list[str], partition: CredalPartition | None, known: BoolArray) -> None:
        """Add rows: those that are known have masses, and of the others there is nothing to say."""


@dataclass(frozen=True)
class Form:
    """How results are written: from which belief on a row is sure, and whether sets are in plain letters."""

    level: float = SURE_LEVEL
    plain: bool = True

    def columns(self, names: list[str], partition: CredalPartition | None, known: BoolArray) -> dict[str, Any]:
        """The columns of a table of results, with None where nothing is known."""
        found: dict[str, Any] = {"sample": names}
        if partition is None:
            return found | {"assignment": np.full(len(names), UNKNOWN, dtype=object)}
        told = partition.to_columns(self.level)
        if self.plain:
            told = _plain_columns(told, partition, self.level)
        if known.all():
            return found | told
        for name, column in told.items():
            found[name] = np.full(len(names), UNKNOWN if name == "assignment" else None, dtype=object)
            found[name][known] = column
        return found


#: What is said of a row that the model cannot judge.
UNKNOWN = "unknown"


def _plain_columns(columns: dict[str, Any], partition: CredalPartition, level: float) -> dict[str, Any]:
    """The same with names that spreadsheets and databases take: mass_0_1 for {0,1}, and 0|1 for torn samples."""
    sets, frame = partition.focal_sets, partition.focal_sets.frame
    found = {name: columns[name] for name in ("cluster", "assignment", "doubt", "outlier_score")}
    found["assignment"] = _plain_assignments(partition.verdict(level).candidates, frame)
    for k, members in enumerate(sets.membership):
        named = "none" if not members.any() else "any" if members.all() else "_".join(_members(members, frame))
        name = f"mass_{named}"
        found[name if name not in found else f"{name}_{k}"] = partition.masses[:, k]
    return found


def _plain_assignments(candidates: BoolArray, frame: Sequence[str]) -> Any:
    sets, places = distinct(candidates)
    words = [
        "outlier" if not one.any() else "any" if one.all() and len(one) > 1 else "|".join(_members(one, frame))
        for one in sets
    ]
    return np.array(words, dtype=object)[places]


def _members(members: BoolArray, frame: Sequence[str]) -> list[str]:
    return [name for name, inside in zip(frame, members, strict=True) if inside]


class CsvWriter:
    """Rows as CSV, with a line of names first."""

    def __init__(self, file: Any, form: Form, *, keep_formulas: bool = False) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self._keep = keep_formulas
        self._form = form
        self._header: list[str] = []

    def write(self, names: list[str], partition: CredalPartition | None, known: BoolArray) -> None:
        """Add rows."""
        columns = self._form.columns(names, partition, known)
        if not self._header:
            self._header = list(columns)
            self._writer.writerow(self._header)
        cells = [self._cells(columns.get(name, [None] * len(names))) for name in self._header]
        self._writer.writerows(zip(*cells, strict=True))

    def _cells(self, column: Any) -> list[Any]:
        cells = column if isinstance(column, list) else list(column.tolist())
        may_be_text = isinstance(column, list) or column.dtype.kind == "O"
        return (
            cells
            if self._keep or not may_be_text
            else [harmless(one) if isinstance(one, str) else one for one in cells]
        )


class ParquetWriter:
    """Rows as one Parquet file."""

    def __init__(self, file: Any, form: Form) -> None:
        self._file = file
        self._form = form
        self._writer: Any = None

    def write(self, names: list[str], partition: CredalPartition | None, known: BoolArray) -> None:
        """Add rows."""
        pyarrow = need_pyarrow()
        if self._writer is None:
            # Of rows that are known, so that columns have a type.
            some = names if partition is None else names[: len(partition)]
            schema = pyarrow.table(self._form.columns(some, partition, known[known])).schema
            # Masses hardly repeat: looking for those that do would take most of the time.
            words = [field.name for field in schema if not pyarrow.types.is_floating(field.type)]
            self._writer = pyarrow.parquet.ParquetWriter(self._file, schema, use_dictionary=words)
        columns, schema = self._form.columns(names, partition, known), self._writer.schema
        nothing = [None] * len(names)
        arrays = [
            pyarrow.array(columns.get(field.name, nothing), type=field.type, from_pandas=True) for field in schema
        ]
        self._writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))

    def close(self) -> None:
        """Write the end of the file."""
        if self._writer is not None:
            self._writer.close()


class Nowhere:
    """Takes rows and keeps none."""

    def write(self, names: list[str], partition: CredalPartition | None, known: BoolArray) -> None:
        """Do nothing."""


@contextmanager
def open_writer(path: str | None, form: Form, *, screen: bool, keep_formulas: bool = False) -> Iterator[Writer]:
    """A writer to a file, which has its name when it is complete."""
    if path is None:
        yield CsvWriter(sys.stdout, form, keep_formulas=keep_formulas) if screen else Nowhere()
    elif Path(path).suffix.lower() in (".parquet", ".pq"):
        need_pyarrow()
        with replacing(path) as file:
            parquet = ParquetWriter(file, form)
            try:
                yield parquet
            finally:
                parquet.close()
    else:
        with replacing(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
            yield CsvWriter(text, form, keep_formulas=keep_formulas)
            text.flush()
            text.detach()


def check_output(option: str, path: str | None, endings: tuple[str, ...]) -> None:
    """Raise if a file cannot be written; before hours of work, and not after them."""
    if path is None:
        return
    if Path(path).suffix.lower() not in endings:
        raise ValueError(f"{option} must name a file that ends in {' or '.join(endings)}, got {path!r}.")
    if not Path(path).absolute().parent.is_dir():
        raise FileNotFoundError(f"{option}: the folder of {path!r} does not exist; make it first.")
    if Path(path).is_dir():
        raise IsADirectoryError(f"{option}: {path!r} is a folder; choose another name.")
    if Path(path).suffix.lower() in (".parquet", ".pq"):
        need_pyarrow()


def check_distinct(inputs: Mapping[str, str | None], outputs: Mapping[str, str | None]) -> None:
    """Raise if a result would replace an input, another result or the arrays of another model.

    Parameters
    ----------
    inputs, outputs : mapping of str to str or None
        The path of each file by its option; None if the option is absent.
    """
    readings = {option: path for option, path in inputs.items() if path is not None}
    writings = {option: path for option, path in outputs.items() if path is not None}
    if (saved := readings.get("the saved model", "")).endswith(".json"):
        readings["the file with the arrays of the saved model"] = str(archive_of(saved))
    if "--model" in writings:
        check_archive(writings["--model"])
        writings["the file with the arrays of --model"] = str(archive_of(writings["--model"]))
    for (first, path), (second, other) in combinations([*readings.items(), *writings.items()], 2):
        if same_file(path, other):
            raise ValueError(
                f"{first} and {second} are the same file, {other!r}; choose another name for {second}."
            )
        if second in writings and is_inside(other, path):
            raise ValueError(
                f"{second} {other!r} is inside {path!r}, the folder of {first}; "
                f"choose another folder for {second}."
            )
