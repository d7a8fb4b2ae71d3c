"""Tables with columns by name: features, keys that identify the samples, and weights."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evlearn.blocks.scratch import Scratch
from evlearn.utils.urls import import_pyarrow

#: Rows per batch; the first batch is also used to detect id columns.
BATCH_ROWS = 1 << 16
_MIN_ROWS = 100
NAME_FEATURES = "name the features: open_dataset(X, columns=[...])"


@dataclass(frozen=True)
class Choice:
    """Choice of columns by the user.

    Attributes
    ----------
    columns : tuple of str or None
        Feature columns; None means all except the key and the weight.
    key : tuple of str
        Columns that identify the samples.
    weight : str or None
        Column of sample weights.
    """

    columns: tuple[str, ...] | None = None
    key: tuple[str, ...] = ()
    weight: str | None = None

    def __bool__(self) -> bool:
        return self != Choice()

    @property
    def others(self) -> tuple[str, ...]:
        """Columns that are not features."""
        return self.key if self.weight is None else (*self.key, self.weight)


def make_choice(columns: Any, key: Any, weight: Any) -> Choice:
    """Check the user's choice of columns and return it."""
    if weight is not None and not isinstance(weight, str):
        raise ValueError(f"weight must be the name of a column or None, got {weight!r}.")
    choice = Choice(
        None if columns is None else _names("columns", columns),
        () if key is None else _names("key", [key] if isinstance(key, str) else key),
        weight,
    )
    names = [*(choice.columns or ()), *choice.others]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"column {name!r} occurs twice in columns, key and weight; use it only once.")
    return choice


def _names(parameter: str, values: Any) -> tuple[str, ...]:
    names = () if isinstance(values, str) else tuple(values)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{parameter} must be a list of column names, got {values!r}.")
    return names


@dataclass(frozen=True)
class Layout:
    """Conversion of the rows of a table to numbers.

    Attributes
    ----------
    columns : tuple of str
        Feature columns, in order.
    widths : tuple of int
        Number of features of each column: 0 for plain numbers, and otherwise the length of its lists.
    dtype : dtype
        Single or double precision.
    choice : Choice
        Choice of columns by the user.
    """

    columns: tuple[str, ...]
    widths: tuple[int, ...]
    dtype: np.dtype[Any]
    choice: Choice

    @classmethod
    def of(cls, schemas: Sequence[tuple[str, Any]], choice: Choice, first: Callable[[list[str]], Any]) -> "Layout":
        """Return the layout of tables, each with a name for errors and an Arrow schema.

        ``first`` returns some of the first rows, with the requested columns.
        """
        columns = _features(*schemas[0], choice)
        for table, schema in schemas[1:]:
            others = _features(table, schema, choice)
            if set(others) != set(columns):
                raise ValueError(
                    f"the Parquet files have different columns: {columns} in {schemas[0][0]}, and {others} in "
                    f"{table}; write files with the same columns, or {NAME_FEATURES}."
                )
        kinds = [[_stored(schema.field(name).type) for _, schema in schemas] for name in columns]
        for name, column_kinds in zip(columns, kinds, strict=True):
            for (table, _), kind in zip(schemas[1:], column_kinds[1:], strict=True):
                _check_width(name, (schemas[0][0], _width_of(column_kinds[0])), (table, _width_of(kind)))
        single = all(str(_number(kind)) in ("float", "halffloat") for column in kinds for kind in column)
        if choice.columns is None:
            _check_no_id_columns(
                [name for name, column in zip(columns, kinds, strict=True) if all(map(_is_exact, column))], first
            )
        widths = [_width(name, column[0], first) for name, column in zip(columns, kinds, strict=True)]
        return cls(tuple(columns), tuple(widths), np.dtype(np.float32 if single else np.float64), choice)

    def check(self, schema: Any, table: str) -> None:
        """Raise unless a table has exactly these features, all of them numeric."""
        columns = _features(table, schema, replace(self.choice, columns=self.columns))
        if self.choice.columns is None:
            others = _features(table, schema, self.choice)
            if len(others) > len(columns):
                raise ValueError(
                    f"{table} has the columns {others}, and the rows before it had {list(columns)}; use the same "
                    f"columns in all chunks, or {NAME_FEATURES}."
                )
        for name, width in zip(self.columns, self.widths, strict=True):
            kind = _stored(schema.field(name).type)
            _check_width(name, ("the rows before it", width), (table, _width_of(kind)))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return sum(max(width, 1) for width in self.widths)

    @property
    def feature_names(self) -> Any:
        """Names of the features; an element of a list has the name of the column with its index."""
        names = []
        for name, width in zip(self.columns, self.widths, strict=True):
            names += [f"{name}[{k}]" for k in range(width)] if width else [name]
        return np.array(names, dtype=object)

    def numbers(self, batch: Any, table: str, start: int) -> Any:
        """Return the features of some rows, which begin at row `start` of the table with this name."""
        rows = np.empty((batch.num_rows, self.n_features), dtype=self.dtype)
        k = 0
        for name, width in zip(self.columns, self.widths, strict=True):
            values = rows[:, k : k + max(width, 1)]
            with np.errstate(over="ignore", invalid="ignore"):
                values[...] = _cells(batch.column(name), name, width, table, start)
                # The sum is not finite if any of its terms is not finite.
                total = values.sum(dtype=np.float64)
            if not np.isfinite(total):
                _raise_if_any(~np.isfinite(values).all(axis=1), name, "missing or infinite values", table, start)
            k += values.shape[1]
        return rows

    def weights(self, batch: Any, table: str, start: int) -> Any:
        """Return the weights of some rows, as a column."""
        name = str(self.choice.weight)
        values = _cells(batch.column(name), name, 0, table, start)
        is_invalid = ~np.isfinite(values[:, 0]) | (values[:, 0] < 0)
        _raise_if_any(is_invalid, name, "weights that are missing, infinite or negative", table, start)
        return values


def key_schema(schemas: Sequence[tuple[str, Any]], names: Sequence[str]) -> Any:
    """Return the schema of key columns, with types that hold the values of all tables.

    Parameters
    ----------
    schemas : sequence of (str, pyarrow schema)
        Name for errors and schema of each table.
    names : sequence of str
        Key columns.

    Returns
    -------
    pyarrow schema
        Schema of the key columns. Dictionaries are replaced by the type of their values: an Arrow file has one
        dictionary per column, and engines create one for each part.
    """
    pyarrow = import_pyarrow()
    fields = []
    for name in names:
        kind: Any = None
        for table, schema in schemas:
            column_kind = _plain(schema.field(name).type)
            try:
                pair = [
                    pyarrow.schema([(name, entry)])
                    for entry in (column_kind if kind is None else kind, column_kind)
                ]
                kind = pyarrow.unify_schemas(pair, promote_options="permissive").field(name).type
            except pyarrow.ArrowException as error:
                raise ValueError(
                    f"the key column {name!r} holds {column_kind} in {table} and {kind} in {schemas[0][0]}; "
                    "convert the column to one type."
                ) from error
        fields.append((name, kind))
    return pyarrow.schema(fields)


def cast_keys(batch: Any, schema: Any, table: str) -> Any:
    """Return the key columns of a batch as a table of this schema."""
    pyarrow = import_pyarrow()
    columns = []
    for field in schema:
        try:
            columns.append(batch.column(field.name).cast(field.type))
        except pyarrow.ArrowException as error:
            raise ValueError(
                f"the key column {field.name!r} of {table} cannot be converted to {field.type}, the type of the "
                f"other rows ({error}); convert the column to one type."
            ) from error
    return pyarrow.table(columns, schema=schema)


def sample_names(keys: Any) -> list[str]:
    """Return the cells of a table with a single key column as text."""
    return [str(cell) for cell in keys.column(0).to_pylist()]


class Keys:
    """Columns that identify the samples, in a temporary file that all workers can read.

    Parameters
    ----------
    schema : pyarrow schema
        Schema of the columns, as returned by `key_schema`.
    folder : str, path or None
        Folder of the file.
    """

    def __init__(self, schema: Any, folder: str | os.PathLike[str] | None) -> None:
        self._schema, self._folder = schema, folder
        self._scratch: Scratch | None = None
        self._writer: Any = None
        self._begin()

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._schema.names)

    def add(self, batch: Any, table: str = "X") -> None:
        """Write the keys of the next rows; `table` is their name in errors."""
        before = f"the {self._starts[-1]} rows before it"
        schema = key_schema([(before, self._schema), (table, batch.schema)], self._schema.names)
        if schema != self._schema:
            self._widen(schema)
        for part in cast_keys(batch, schema, table).combine_chunks().to_batches():
            self._writer.write_batch(part)
            self._starts.append(self._starts[-1] + len(part))

    def _begin(self) -> None:
        self._scratch = Scratch(self._folder)
        self._path = self._scratch.path
        self._writer = import_pyarrow().ipc.new_file(self._path, self._schema)
        self._starts = [0]

    def _widen(self, schema: Any) -> None:
        """Write the previous keys again, with types that hold the next ones as well."""
        self.finish()
        keys, scratch = self.read_rows(0, self._starts[-1]), self._scratch
        self._schema = schema
        self._begin()
        for part in keys.to_batches():
            self.add(part, "the first rows of X")
        assert scratch is not None
        scratch.close()

    def finish(self) -> "Keys":
        """Complete the file."""
        self._writer.close()
        self._writer = None
        return self

    def read_rows(self, start: int, stop: int) -> Any:
        """Return the keys of some rows, as an Arrow table."""
        pyarrow = import_pyarrow()
        first, last = np.searchsorted(self._starts, [start, stop], side="right") - 1
        with pyarrow.memory_map(self._path) as source:
            reader = pyarrow.ipc.open_file(source)
            parts = [reader.get_batch(k) for k in range(first, min(last + 1, reader.num_record_batches))]
        return pyarrow.Table.from_batches(parts, self._schema).slice(start - self._starts[first], stop - start)

    def names(self) -> list[str] | None:
        """Return the names of all samples, or None if there is more than one key column."""
        return sample_names(self.read_rows(0, self._starts[-1])) if len(self._schema) == 1 else None

    def close(self) -> None:
        """Remove the file."""
        if self._writer is not None:
            self.finish()
        if self._scratch is not None:
            self._scratch.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_scratch": None}


def check_no_ids(names: Sequence[Any], rows: Any) -> None:
    """Raise if a column contains ids of the samples instead of a feature, according to some of the first rows."""
    if len(rows) < _MIN_ROWS:
        return
    for name, values in zip(names, np.asarray(rows).T, strict=True):
        if (values == np.round(values)).all() and len(np.unique(values)) == len(values):
            raise ValueError(
                f"column {name!r} holds whole numbers that are all different, as ids of samples are. "
                f"If they are ids, use open_dataset(X, key={name!r}); if the column is a feature, {NAME_FEATURES}."
            )


def _check_no_id_columns(names: list[str], first: Callable[[list[str]], Any]) -> None:
    if names:
        table = first(names)
        cells = [_cells(table.column(name), name, 0, "", 0) for name in names]
        check_no_ids(names, np.hstack(cells))


def _features(table: str, schema: Any, choice: Choice) -> list[str]:
    """Return the feature columns of a table: the chosen ones, or all but the index of a pandas frame."""
    for name in (*(choice.columns or ()), *choice.others):
        count = schema.names.count(name)
        if count != 1:
            problem = "no column" if count == 0 else f"{count} columns"
            raise ValueError(f"{table} has {problem} {name!r}; its columns are {schema.names}.")
    index = [entry for entry in (schema.pandas_metadata or {}).get("index_columns", []) if isinstance(entry, str)]
    rest = [name for name in schema.names if name not in index and name not in choice.others]
    names = rest if choice.columns is None else list(choice.columns)
    if not names:
        raise ValueError(f"{table} has no columns.")
    for name in [*names, *([] if choice.weight is None else [choice.weight])]:
        kind = schema.field(name).type
        if not _is_number(_number(kind)) or (name == choice.weight and _is_list(_stored(kind))):
            raise ValueError(f"column {name!r} holds {kind} in {table}, and not numbers; {NAME_FEATURES}.")
    return names


def _plain(kind: Any) -> Any:
    """Return the type of the values of a column for any encoding: plain, dictionary or run-end."""
    types = import_pyarrow().types
    encoded = types.is_dictionary(kind) or types.is_run_end_encoded(kind)
    return _plain(kind.value_type) if encoded else kind


def _stored(kind: Any) -> Any:
    """Return the type in which the values of a column are stored; Ray tensors are stored as lists."""
    kind = _plain(kind)
    return _stored(kind.storage_type) if isinstance(kind, import_pyarrow().BaseExtensionType) else kind


def _is_list_view(kind: Any) -> bool:
    types = import_pyarrow().types
    tests = [getattr(types, name, None) for name in ("is_list_view", "is_large_list_view")]  # pyarrow >= 16
    return any(test is not None and test(kind) for test in tests)


def _is_list(kind: Any) -> bool:
    types = import_pyarrow().types
    tests = (types.is_list, types.is_large_list, types.is_fixed_size_list, _is_list_view)
    return any(test(kind) for test in tests)


def _number(kind: Any) -> Any:
    """Return the type of the numbers of a column, or of its lists."""
    kind = _stored(kind)
    return kind.value_type if _is_list(kind) else kind


def _width_of(kind: Any) -> int | None:
    """Return 0 for plain numbers, the length of lists of a fixed size, and None for other lists."""
    if not _is_list(kind):
        return 0
    return int(kind.list_size) if hasattr(kind, "list_size") else None


def _check_width(name: str, first: tuple[str, int | None], other: tuple[str, int | None]) -> None:
    """Raise if a column has numbers in one table and lists in another, or lists of different lengths."""
    (table, width), (other_table, other_width) = first, other
    # Lists without a fixed size are compared row by row when they are read.
    if (width == 0) != (other_width == 0) or (width and other_width and width != other_width):
        contents = [_contents(length) for length in (width, other_width)]
        raise ValueError(
            f"column {name!r} holds {contents[1]} in {other_table}, and {contents[0]} in {table}; use the same "
            "form in both."
        )


def _contents(width: int | None) -> str:
    return "lists" if width is None else f"lists of {width} numbers" if width else "single numbers"


def _is_number(kind: Any) -> bool:
    types = import_pyarrow().types
    return any(test(kind) for test in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal))


def _is_exact(kind: Any) -> bool:
    types = import_pyarrow().types
    return bool(types.is_integer(kind) or types.is_decimal(kind))


def _width(name: str, kind: Any, first: Callable[[list[str]], Any]) -> int:
    width = _width_of(kind)
    if width is not None:
        return width
    lists = _decoded(first([name]).column(name).slice(0, 1))
    lengths = import_pyarrow().compute.list_value_length(lists).to_pylist()
    if not lengths or not lengths[0]:
        raise ValueError(
            f"column {name!r} begins with a list that is missing or empty; fill or drop such rows first."
        )
    return int(lengths[0])


def _decoded(column: Any) -> Any:
    """Return a column as one array of the type in which its values are stored."""
    pyarrow = import_pyarrow()
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks()
    if pyarrow.types.is_run_end_encoded(column.type):
        column = pyarrow.compute.run_end_decode(column)
    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.storage if isinstance(column, pyarrow.ExtensionArray) else column


def _cells(column: Any, name: str, width: int, table: str, start: int) -> Any:
    """Return the numbers of a column in their floating-point type: a row for each cell, NaN if it is missing."""
    pyarrow = import_pyarrow()
    column = _decoded(column)
    n_rows = len(column)
    if width:
        lengths = np.asarray(pyarrow.compute.list_value_length(column).fill_null(0))
        _raise_if_any(lengths != width, name, f"lists of other lengths than {width}", table, start)
        column = column.flatten()
    if pyarrow.types.is_decimal(column.type):
        column = column.cast(pyarrow.float64())
    # Booleans with missing values are an object array.
    return np.asarray(column).astype(np.float64, copy=False).reshape(n_rows, max(width, 1))


def _raise_if_any(is_invalid: Any, name: str, problem: str, table: str, start: int) -> None:
    if is_invalid.any():
        raise ValueError(
            f"column {name!r} has {problem}: the first in row {start + int(is_invalid.argmax())} of {table}, "
            "counted from 0; fill or drop these rows first."
        )
