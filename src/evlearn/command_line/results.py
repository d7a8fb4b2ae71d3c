"""Where the masses and labels of a command go: a CSV file, a Parquet file, or the screen."""

import csv
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from evlearn.blocks.targets import need_pyarrow
from evlearn.partition import SURE_LEVEL, CredalPartition
from evlearn.utils.files import replacing
from evlearn.utils.spreadsheets import harmless


class Writer(Protocol):
    """Takes partitions of some samples after another."""

    def write(self, names: list[str], partition: CredalPartition) -> None:
        """Add rows."""


class CsvWriter:
    """Rows as CSV, with a line of names first."""

    def __init__(self, file: Any, *, keep_formulas: bool = False, level: float = SURE_LEVEL) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self._keep = keep_formulas
        self._level = level
        self._begun = False

    def write(self, names: list[str], partition: CredalPartition) -> None:
        """Add rows."""
        columns = {"sample": names} | partition.to_columns(self._level)
        if not self._begun:
            self._writer.writerow(columns)
            self._begun = True
        plain = (column if isinstance(column, list) else column.tolist() for column in columns.values())
        safe = (
            column if self._keep or not _is_text(column) else [harmless(one) for one in column] for column in plain
        )
        self._writer.writerows(zip(*safe, strict=True))


class ParquetWriter:
    """Rows as one Parquet file."""

    def __init__(self, file: Any, *, level: float = SURE_LEVEL) -> None:
        self._file = file
        self._level = level
        self._writer: Any = None

    def write(self, names: list[str], partition: CredalPartition) -> None:
        """Add rows."""
        pyarrow = need_pyarrow()
        table = pyarrow.table({"sample": names} | partition.to_columns(self._level))
        if self._writer is None:
            # Masses hardly repeat: looking for those that do would take most of the time.
            words = [field.name for field in table.schema if not pyarrow.types.is_floating(field.type)]
            self._writer = pyarrow.parquet.ParquetWriter(self._file, table.schema, use_dictionary=words)
        self._writer.write_table(table)

    def close(self) -> None:
        """Write the end of the file."""
        if self._writer is not None:
            self._writer.close()


class Nowhere:
    """Takes rows and keeps none."""

    def write(self, names: list[str], partition: CredalPartition) -> None:
        """Do nothing."""


@contextmanager
def open_writer(
    path: str | None, *, screen: bool, keep_formulas: bool = False, level: float = SURE_LEVEL
) -> Iterator[Writer]:
    """A writer to a file, which has its name only once it is whole."""
    if path is None:
        yield CsvWriter(sys.stdout, keep_formulas=keep_formulas, level=level) if screen else Nowhere()
    elif Path(path).suffix.lower() in (".parquet", ".pq"):
        need_pyarrow()
        with replacing(path) as file:
            parquet = ParquetWriter(file, level=level)
            try:
                yield parquet
            finally:
                parquet.close()
    else:
        with replacing(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
            yield CsvWriter(text, keep_formulas=keep_formulas, level=level)
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


def _is_text(column: list[Any]) -> bool:
    return bool(column) and isinstance(column[0], str)
