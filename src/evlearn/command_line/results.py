"""Output: labels and masses in a CSV file, a Parquet file or on the screen, and progress messages on stderr."""

import csv
import io
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from evlearn.export.models import archive_of, check_archive
from evlearn.partition import SURE_LEVEL, CredalPartition
from evlearn.partition.verdict import distinct_sets
from evlearn.utils.cells import escape_formula
from evlearn.utils.files import atomic_write, is_inside, same_file
from evlearn.utils.progress import TerminalLine, live_text, watching
from evlearn.utils.typing import BoolArray
from evlearn.utils.urls import import_pyarrow

_SECONDS_IN_LOG = 1.0


class Writer(Protocol):
    """Writer of the partitions of consecutive samples."""

    def write(self, names: list[str], partition: CredalPartition | None, is_predicted: BoolArray) -> None:
        """Write rows; those that are not in `is_predicted` have no masses."""


@dataclass(frozen=True)
class ResultFormat:
    """Format of results: the level of the verdict, and the notation of sets."""

    level: float = SURE_LEVEL
    plain: bool = True

    def columns(
        self, names: list[str], partition: CredalPartition | None, is_predicted: BoolArray
    ) -> dict[str, Any]:
        """Return the columns of the results, with None for rows without masses."""
        columns: dict[str, Any] = {"sample": names}
        if partition is None:
            return columns | {"assignment": np.full(len(names), UNKNOWN, dtype=object)}
        partition_columns = partition.to_columns(self.level)
        if self.plain:
            partition_columns = _plain_columns(partition_columns, partition, self.level)
        if is_predicted.all():
            return columns | partition_columns
        for name, values in partition_columns.items():
            columns[name] = np.full(len(names), UNKNOWN if name == "assignment" else None, dtype=object)
            columns[name][is_predicted] = values
        return columns


#: Assignment of rows that the model does not accept.
UNKNOWN = "unknown"


def _plain_columns(columns: dict[str, Any], partition: CredalPartition, level: float) -> dict[str, Any]:
    """Return the columns in plain notation: mass_0_1 for the masses of {0,1}, and 0|1 for torn samples."""
    sets, frame = partition.focal_sets, partition.focal_sets.frame
    plain = {name: columns[name] for name in ("cluster", "assignment", "doubt", "outlier_score")}
    plain["assignment"] = _plain_assignments(partition.verdict(level).candidates, frame)
    for k, members in enumerate(sets.membership):
        set_name = "none" if not members.any() else "any" if members.all() else "_".join(_members(members, frame))
        name = f"mass_{set_name}"
        plain[name if name not in plain else f"{name}_{k}"] = partition.masses[:, k]
    return plain


def _plain_assignments(candidates: BoolArray, frame: Sequence[str]) -> Any:
    sets, positions = distinct_sets(candidates)
    texts = [
        "outlier"
        if not members.any()
        else "any"
        if members.all() and len(members) > 1
        else "|".join(_members(members, frame))
        for members in sets
    ]
    return np.array(texts, dtype=object)[positions]


def _members(members: BoolArray, frame: Sequence[str]) -> list[str]:
    return [name for name, is_member in zip(frame, members, strict=True) if is_member]


class CsvWriter:
    """Writer of rows as CSV, with a header."""

    def __init__(self, file: Any, form: ResultFormat, *, keep_formulas: bool = False) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self._keep = keep_formulas
        self._form = form
        self._header: list[str] = []

    def write(self, names: list[str], partition: CredalPartition | None, is_predicted: BoolArray) -> None:
        """Write rows."""
        columns = self._form.columns(names, partition, is_predicted)
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
            else [escape_formula(cell) if isinstance(cell, str) else cell for cell in cells]
        )


class ParquetWriter:
    """Writer of rows to a Parquet file."""

    def __init__(self, file: Any, form: ResultFormat) -> None:
        self._file = file
        self._form = form
        self._writer: Any = None

    def write(self, names: list[str], partition: CredalPartition | None, is_predicted: BoolArray) -> None:
        """Write rows."""
        pyarrow = import_pyarrow()
        if self._writer is None:
            # Types of the columns are inferred from rows with masses.
            sample_names = names if partition is None else names[: len(partition)]
            schema = pyarrow.table(self._form.columns(sample_names, partition, is_predicted[is_predicted])).schema
            # Masses are hardly ever equal, and dictionary encoding would need most of the time.
            text_columns = [field.name for field in schema if not pyarrow.types.is_floating(field.type)]
            self._writer = pyarrow.parquet.ParquetWriter(self._file, schema, use_dictionary=text_columns)
        columns, schema = self._form.columns(names, partition, is_predicted), self._writer.schema
        missing_values = [None] * len(names)
        arrays = [
            pyarrow.array(columns.get(field.name, missing_values), type=field.type, from_pandas=True)
            for field in schema
        ]
        self._writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))

    def close(self) -> None:
        """Write the footer of the file."""
        if self._writer is not None:
            self._writer.close()


class NullWriter:
    """Writer that discards rows."""

    def write(self, names: list[str], partition: CredalPartition | None, is_predicted: BoolArray) -> None:
        """Do nothing."""


@contextmanager
def open_writer(
    path: str | None, form: ResultFormat, *, screen: bool, keep_formulas: bool = False
) -> Iterator[Writer]:
    """Provide a writer; the file is replaced atomically."""
    if path is None:
        yield CsvWriter(sys.stdout, form, keep_formulas=keep_formulas) if screen else NullWriter()
    elif Path(path).suffix.lower() in (".parquet", ".pq"):
        import_pyarrow()
        with atomic_write(path) as file:
            parquet = ParquetWriter(file, form)
            try:
                yield parquet
            finally:
                parquet.close()
    else:
        with atomic_write(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
            yield CsvWriter(text, form, keep_formulas=keep_formulas)
            text.flush()
            text.detach()


def check_output(option: str, path: str | None, endings: tuple[str, ...]) -> None:
    """Raise an error if a file cannot be written, before the data are read."""
    if path is None:
        return
    if Path(path).suffix.lower() not in endings:
        raise ValueError(f"{option} must be a file name that ends in {' or '.join(endings)}, got {path!r}.")
    if not Path(path).absolute().parent.is_dir():
        raise FileNotFoundError(f"{option}: the folder of {path!r} does not exist; create it first.")
    if Path(path).is_dir():
        raise IsADirectoryError(f"{option}: {path!r} is a folder; choose another name.")
    if Path(path).suffix.lower() in (".parquet", ".pq"):
        import_pyarrow()


def check_distinct(inputs: Mapping[str, str | None], outputs: Mapping[str, str | None]) -> None:
    """Raise an error if a result would replace an input, another result or the arrays of another model.

    Parameters
    ----------
    inputs, outputs : mapping of str to str or None
        Path of each file by its option; None if the option is absent.
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


class Progress:
    """Progress messages on stderr."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._line = TerminalLine("stderr")
        self._last_time = float("-inf")

    def log(self, message: str) -> None:
        """Print a permanent line."""
        if not self._quiet:
            self.clear()
            print(message, file=sys.stderr, flush=True)

    def show(self, message: str) -> None:
        """Print a line that the next line overwrites; without a terminal, print at most one line per second."""
        if self._quiet:
            return
        if self._line.is_live:
            self._line.show(message)
        elif time.monotonic() - self._last_time >= _SECONDS_IN_LOG:
            self._last_time = time.monotonic()
            self.log(message)

    @contextmanager
    def watch_fit(self) -> Iterator[None]:
        """Show the progress of fits."""
        with watching(lambda progress: self.show(live_text(progress) if self._line.is_live else str(progress))):
            yield
        self.clear()

    def clear(self) -> None:
        """Clear the temporary line."""
        self._line.clear()
