"""Tables in CSV and Parquet files as chunks of rows, random samples of the rows, and files of constraints.

A chunk contains columns of numbers or text, and names of samples.
"""

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evlearn.belief.notation import format_name
from evlearn.blocks.parquet import open_dataset
from evlearn.command_line.dialect import Dialect, Record, detect, has_byte_order_mark, has_letter
from evlearn.constraints import PairwiseConstraints
from evlearn.partition import CredalPartition
from evlearn.partition.credal_partition import concatenation, with_problems
from evlearn.preprocessing.reading import RawColumn, as_numbers, common_order
from evlearn.utils.cells import NumberFormat, is_missing_text
from evlearn.utils.typing import BoolArray, FloatArray

#: Type of a column of a CSV file: numbers with NaN for missing cells; text with None for missing cells; text and
#: numbers with None for missing cells; or unconverted cells.
CellType = Literal["number", "text", "code", "raw"]

_CHUNK_ROWS = 50_000
_SAMPLE_ROWS = 1000
_MIN_ROWS = 3  # minimum for the detection of a header of numbers
_USE_HEADER, _USE_NO_HEADER = (
    "if line 1 contains their names, use --header.",
    "if it is a sample, use --no-header.",
)
_PARQUET_NUMBERS = ("int", "uint", "float", "double", "halffloat")  # names of types in Parquet
_MUST_LINK_WORDS = {"must", "must-link", "must_link", "same", "together", "1", "+"}
_CANNOT_LINK_WORDS = {"cannot", "cannot-link", "cannot_link", "different", "apart", "0", "-1", "-"}


class NotNumbersError(ValueError):
    """Error for columns of numbers with cells that are not numbers.

    Attributes
    ----------
    cells : dict from str to (int or None, str)
        Line, if available, and text of the first such cell, by column.
    """

    def __init__(self, file: str, cells: Mapping[str, tuple[int | None, str]]) -> None:
        column, (line, cell) = next(iter(cells.items()))
        super().__init__(
            f"{file}{'' if line is None else f', line {line}'}: {cell!r} in column {column!r} is not a number. "
            "Correct it, or exclude the column with --without."
        )
        self.cells = cells


class Chunk(NamedTuple):
    """Consecutive rows of a table.

    Attributes
    ----------
    names : list of str
        Names of the samples: the cells of a column, or the numbers of the rows from 0.
    columns : dict of ndarray
        Selected columns: numbers, with NaN for missing cells, or text, with None for missing cells.
    """

    names: list[str]
    columns: dict[str, NDArray[Any]]

    @property
    def values(self) -> FloatArray:
        """Columns of numbers as a 2-dimensional array."""
        parts = [
            column if column.dtype.kind == "f" else as_numbers(RawColumn(name, column))
            for name, column in self.columns.items()
        ]
        return np.column_stack(parts)

    @property
    def complete(self) -> BoolArray:
        """True for rows without missing values and infinite numbers."""
        is_complete = np.ones(len(self.names), dtype=bool)
        for column in self.columns.values():
            if column.dtype.kind == "f":
                is_complete &= np.isfinite(column)
            elif column.dtype.kind in "OMm":
                is_complete &= [cell is not None and cell == cell for cell in column]
        return is_complete

    def take(self, rows: Any) -> "Chunk":
        """Return rows, selected by a mask or by numbers."""
        positions = np.arange(len(self.names))[rows]
        columns = {name: column[positions] for name, column in self.columns.items()}
        return Chunk([self.names[k] for k in positions], columns)

    @classmethod
    def concatenate(cls, parts: Sequence["Chunk"]) -> "Chunk":
        """Return the rows of all parts."""
        if len(parts) == 1:
            return parts[0]
        names = [name for part in parts for name in part.names]
        return cls(names, {key: np.concatenate([part.columns[key] for part in parts]) for key in parts[0].columns})


class Table(ABC):
    """A table in a file.

    Attributes
    ----------
    path : Path
        Path of the file.
    columns : list of str
        Names of all columns.
    numeric : list of bool
        True for columns of numbers.
    has_names : bool
        True if the file contains column names.
    remark : str
        Guesses about the format, with the options to change them; empty if there are none.
    """

    path: Path
    columns: list[str]
    numeric: list[bool]
    has_names = True
    remark = ""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._stamp = self._stamps()

    def check_unchanged(self) -> None:
        """Raise a ValueError if the file was changed since the table was opened; it is read several times."""
        if self._stamps() != self._stamp:
            raise ValueError(f"{self.path.name} was changed while it was read; run the command again.")

    def _stamps(self) -> list[tuple[str, int, int]]:
        files = sorted(self.path.rglob("*")) if self.path.is_dir() else [self.path]
        return [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files]

    def chunks(
        self, chosen: Sequence[str], names: str | None = None, types: Mapping[str, CellType] | None = None
    ) -> Iterator[Chunk]:
        """Yield the rows of the table in chunks.

        The columns of a CSV file have the given types in all chunks, or else the type "number" or "text",
        according to `numeric`. Columns of Parquet files have the types of the file.
        """
        feature_columns = [name for name in chosen if name != names]
        start = 0
        for columns, texts in self._read_chunks(feature_columns, names, types or {}):
            n_rows = len(texts) if texts is not None else len(next(iter(columns.values())))
            numbers = [str(number) for number in range(start, start + n_rows)] if texts is None else texts
            start += n_rows
            yield Chunk(numbers, columns)

    def with_orders(self, columns: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        """Return columns of the table, those with ordered categories as columns that declare the order.

        Parameters
        ----------
        columns : mapping of str to ndarray
            Columns of chunks, after all chunks have been read.
        """
        return dict(columns)

    @abstractmethod
    def _read_chunks(
        self, chosen: Sequence[str], names: str | None, types: Mapping[str, CellType]
    ) -> Iterator[tuple[dict[str, NDArray[Any]], list[str] | None]]:
        """Yield columns, with NaN or None for missing cells, and names, in chunks."""


class CsvTable(Table):
    """A CSV file. Parts of its format that the user has not set are detected from the first rows."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        header: bool | None = None,
        expected_names: Sequence[str] = (),
        **form: str | None,
    ) -> None:
        super().__init__(path)
        self._dialect = detect(self.path, **form)
        self._format = self._dialect.numbers
        records = list(islice(self._dialect.records(), _SAMPLE_ROWS))
        rows = [row for _, row in records]
        first, below = [cell.strip() for cell in rows[0]], rows[1:]
        if header is None and expected_names and set(expected_names) <= set(first):
            header = True
        self.has_names = self._has_header(first, below) if header is None else header
        self._dialect.check_titles(header=self.has_names)
        body = below if self.has_names else rows
        if not body:
            raise ValueError(f"{self.path.name} has a header and no rows.{_unless_sample(header)}")
        self.columns = first if self.has_names else [f"x{k}" for k in range(len(first))]
        duplicates = [name for name, times in Counter(self.columns).items() if times > 1]
        if duplicates:
            problem = (
                f"several columns with the name {duplicates[0]!r}"
                if duplicates[0]
                else "several columns without a name"
            )
            line_note = f" The names are in line {records[0][0]}."
            raise ValueError(f"{self.path.name} has {problem}; rename them.{line_note}{_unless_sample(header)}")
        self.numeric = [self._is_numeric(body, k) for k in range(len(first))]
        self.remark = "\n".join([*self._dialect.remarks, *([self.remark] if self.remark else [])])

    def _has_header(self, first: list[str], below: list[list[str]]) -> bool:
        """Return True if the first line is a header: text above numbers, or numbers such as years."""
        columns = [k for k in range(len(first)) if below and self._is_numeric(below, k)]
        preview = ", ".join(map(format_name, first[:5])) + (", ..." if len(first) > 5 else "")
        if not columns:
            return self._has_header_above_text(first, below, preview)
        numbers = [k for k in columns if self._is_number(first[k])]
        if any(k not in numbers and has_letter(first[k]) and not is_missing_text(first[k]) for k in columns):
            if numbers:
                self.remark = f"{self.path.name}: line 1 ({preview}) is a header; {_USE_NO_HEADER}"
            return True
        if len(numbers) == len(columns) and self._is_numeric_header(first, below, columns):
            reason = "because its numbers are evenly spaced"
            self.remark = f"{self.path.name}: line 1 ({preview}) is a header, {reason}; {_USE_NO_HEADER}"
            return True
        self.remark = f"{self.path.name}: line 1 is a sample, and columns are named x0, x1, ...; {_USE_HEADER}"
        return False

    def _has_header_above_text(self, first: list[str], below: list[list[str]], preview: str) -> bool:
        """Return True unless the first line contains only numbers, or a text that also occurs below it."""
        if all(self._is_number(cell) for cell in first):
            return False
        texts = [(k, cell) for k, cell in enumerate(first) if not is_missing_text(cell)]
        if any(row[k].strip() == cell for k, cell in texts for row in below):
            self.remark = f"{self.path.name}: line 1 is a sample, and columns are named x0, x1, ...; {_USE_HEADER}"
            return False
        if below:
            self.remark = f"{self.path.name}: line 1 ({preview}) is a header; {_USE_NO_HEADER}"
        return True

    def _is_numeric_header(self, first: list[str], below: list[list[str]], columns: list[int]) -> bool:
        """Return True for numbers such as years or wavelengths: evenly spaced, and unlike the rows below."""
        numbers = [float(number) for number in self._format.parse_all([first[k] for k in columns])[0]]
        rows = [[row[k] for k in columns] for row in below if len(row) == len(first)]
        table = np.array([self._format.parse_all(row)[0] for row in rows if all(map(self._is_number, row))])
        if (
            len(table) < _MIN_ROWS
            or not _is_evenly_spaced(numbers)
            or _is_majority([*map(_is_evenly_spaced, table.tolist())])
        ):
            return False
        return bool(((numbers < table.min(axis=0)) | (numbers > table.max(axis=0))).all())

    def _is_numeric(self, rows: list[list[str]], k: int) -> bool:
        """Return True if most cells are numbers; any other cell is then an error."""
        return _is_majority(
            [self._is_number(row[k]) for row in rows if len(row) > k and not is_missing_text(row[k])]
        )

    def _is_number(self, cell: str) -> bool:
        # Numbers in another format are not text. Their column is rejected when it is read.
        return self._dialect.is_number(cell)

    def _read_chunks(
        self, chosen: Sequence[str], names: str | None, types: Mapping[str, CellType]
    ) -> Iterator[tuple[dict[str, NDArray[Any]], list[str] | None]]:
        rows = self._dialect.records()
        if self.has_names:
            next(rows)
        positions = [self.columns.index(name) for name in chosen]
        name_position = None if names is None else self.columns.index(names)
        while chunk := list(islice(rows, _CHUNK_ROWS)):
            yield (
                self._columns(chunk, positions, types),
                None if name_position is None else [row[name_position] for _, row in chunk],
            )

    def _columns(
        self, chunk: list[tuple[int, list[str]]], positions: list[int], types: Mapping[str, CellType]
    ) -> dict[str, NDArray[Any]]:
        columns: dict[str, NDArray[Any]] = {}
        wrong: dict[str, tuple[int | None, str]] = {}
        for k in positions:
            name, cells = self.columns[k], [row[k] for _, row in chunk]
            kind = types.get(name, "number" if self.numeric[k] else "text")
            if kind == "number":
                self._dialect.check_numbers(k, name, cells, header=self.has_names)
                columns[name], place = self._format.parse_all(cells)
                if place is not None:
                    self._dialect.check_cell(name, cells[place], chunk[place][0])
                    wrong[name] = chunk[place][0], cells[place]
            else:
                columns[name] = np.empty(len(cells), dtype=object)
                columns[name][:] = cells if kind == "raw" else self._texts(cells, numbers=kind == "code")
        if wrong:
            raise NotNumbersError(self.path.name, wrong)
        return columns

    def _texts(self, cells: list[str], *, numbers: bool) -> list[Any]:
        """Return cells as text, with None for missing cells, and numbers converted if `numbers` is true."""
        texts: list[Any] = [None if is_missing_text(cell) else cell for cell in cells]
        if not numbers or self._format == NumberFormat():
            return texts
        parsed = (None if cell is None else self._format.parse(cell) for cell in texts)
        return [cell if number is None else number for cell, number in zip(texts, parsed, strict=True)]


class ParquetTable(Table):
    """A Parquet file, or a folder of Parquet files."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self._dataset = open_dataset(path)
        self.columns = list(self._dataset.schema.names)
        kinds = [str(kind) for kind in self._dataset.schema.types]
        self.numeric = [kind.startswith((*_PARQUET_NUMBERS, "bool")) for kind in kinds]
        self._orders: dict[str, list[list[Any]]] = {}

    def with_orders(self, columns: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        """Return columns of the table, those with ordered categories as columns that declare the order.

        Parameters
        ----------
        columns : mapping of str to ndarray
            Columns of chunks, after all chunks have been read.
        """
        import pyarrow

        declared: dict[str, Any] = dict(columns)
        for name in columns.keys() & self._orders.keys():
            order = common_order(self._orders[name])
            if order is not None:
                position = {category: place for place, category in enumerate(order)}
                codes = pyarrow.array([position.get(cell) for cell in columns[name]], pyarrow.int32())
                declared[name] = pyarrow.DictionaryArray.from_arrays(codes, pyarrow.array(order), ordered=True)
        return declared

    def _read_chunks(
        self, chosen: Sequence[str], names: str | None, types: Mapping[str, CellType]
    ) -> Iterator[tuple[dict[str, NDArray[Any]], list[str] | None]]:
        required = list(dict.fromkeys([*chosen, *([] if names is None else [names])]))
        for batch in self._dataset.to_batches(columns=required, batch_size=_CHUNK_ROWS):
            if len(batch):
                columns = {name: self._column(name, batch.column(name)) for name in chosen}
                yield columns, None if names is None else [str(name) for name in batch.column(names).to_pylist()]

    def _column(self, name: str, column: Any) -> NDArray[Any]:
        kind = str(column.type)
        if kind.startswith("dictionary"):
            orders = self._orders.setdefault(name, []) if column.type.ordered else []
            if (order := column.dictionary.to_pylist()) not in orders:
                orders.append(order)
            return np.array(column.to_pylist(), dtype=object)
        values = np.asarray(column.to_numpy(zero_copy_only=False))
        if kind.startswith(_PARQUET_NUMBERS):
            return values.astype(np.float32 if kind in ("float", "halffloat") else np.float64, copy=False)
        return values


def open_table(
    path: str | os.PathLike[str],
    *,
    header: bool | None = None,
    expected_names: Sequence[str] = (),
    **form: str | None,
) -> Table:
    """Open a table: a Parquet file or a CSV file with `form`, the parameters of `detect`."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"the file {str(path)!r} does not exist.")
    if path.is_dir() or path.suffix.lower() in (".parquet", ".pq"):
        return ParquetTable(path)
    if not path.is_file():
        raise ValueError(f"{str(path)!r} is not a regular file, but tables are read several times; save it first.")
    return CsvTable(path, header=header, expected_names=expected_names, **form)


def _unless_sample(header: bool | None) -> str:
    return " If that line is a sample, use --no-header." if header is None else ""


def _is_majority(flags: list[bool]) -> bool:
    return 2 * sum(flags) > len(flags)


def _is_evenly_spaced(numbers: list[float]) -> bool:
    steps = np.diff(numbers)
    if len(steps) == 1:  # 2 numbers are always evenly spaced
        return abs(float(steps[0])) == 1 and float(numbers[0]).is_integer()
    return len(steps) > 1 and steps[0] != 0 and np.allclose(steps, steps[0], rtol=1e-6, atol=0)


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


class Sample:
    """Random sample of up to `size` rows, with equal probabilities."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._random = np.random.RandomState(0)
        self._keys: FloatArray = np.empty(0)
        self._parts: list[tuple[Chunk, CredalPartition | None]] = []

    def add(self, chunk: Chunk, partition: CredalPartition | None = None) -> None:
        """Add rows to the stream, with their masses if available."""
        if not self._size or not chunk.names:
            return
        self._parts.append((chunk, partition))
        self._keys = np.append(self._keys, self._random.uniform(size=len(chunk.names)))
        if len(self._keys) > 2 * self._size:
            self._parts = [self.rows()]
            self._keys = self._keys[self._sample_positions()]

    def rows(self) -> tuple[Chunk, CredalPartition | None]:
        """Return the rows of the sample, in the order of the stream, and their masses."""
        positions = self._sample_positions()
        chunk = Chunk.concatenate([chunk for chunk, _ in self._parts]).take(positions)
        partitions = [partition for _, partition in self._parts if partition is not None]
        if not partitions:
            return chunk, None
        partition = concatenation(partitions, positions)
        return chunk, with_problems(partition, partitions[0].problems)

    def _sample_positions(self) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """Return the positions of the smallest keys."""
        return np.sort(np.argsort(self._keys, kind="stable")[: self._size])
