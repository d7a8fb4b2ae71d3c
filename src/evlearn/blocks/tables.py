"""Tables by the names of their columns: which are features, which say who a sample is, which one has weights."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evlearn.blocks.scratch import Scratch
from evlearn.utils.places import need_pyarrow

#: Rows that are read at a time, and from which it is told whether a column only numbers the samples.
BATCH_ROWS = 1 << 16
_FEWEST_ROWS = 100
NAME_THEM = "name the features: open_rows(X, columns=[...])"


@dataclass(frozen=True)
class Choice:
    """What the user says about columns.

    Attributes
    ----------
    columns : tuple of str or None
        The features; None means all that is not the key or the weight.
    key : tuple of str
        What says who a sample is.
    weight : str or None
        What says how much a sample counts.
    """

    columns: tuple[str, ...] | None = None
    key: tuple[str, ...] = ()
    weight: str | None = None

    def __bool__(self) -> bool:
        return self != Choice()

    @property
    def others(self) -> tuple[str, ...]:
        """The columns that are no features."""
        return self.key if self.weight is None else (*self.key, self.weight)


def make_choice(columns: Any, key: Any, weight: Any) -> Choice:
    """What the user says about columns, checked."""
    if weight is not None and not isinstance(weight, str):
        raise ValueError(f"weight must be the name of a column or None, got {weight!r}.")
    choice = Choice(
        None if columns is None else _names("columns", columns),
        () if key is None else _names("key", [key] if isinstance(key, str) else key),
        weight,
    )
    used = [*(choice.columns or ()), *choice.others]
    for name in used:
        if used.count(name) > 1:
            raise ValueError(
                f"column {name!r} is named twice in columns, key and weight; a column has one meaning."
            )
    return choice


def _names(parameter: str, given: Any) -> tuple[str, ...]:
    names = () if isinstance(given, str) else tuple(given)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{parameter} must be a list of names of columns, got {given!r}.")
    return names


@dataclass(frozen=True)
class Layout:
    """How the rows of a table become numbers.

    Attributes
    ----------
    columns : tuple of str
        The columns with features, in their order.
    widths : tuple of int
        How many features there are in each: 0 for plain numbers, and else the length of its lists.
    dtype : dtype
        Single or double precision.
    choice : Choice
        What the user says about columns.
    """

    columns: tuple[str, ...]
    widths: tuple[int, ...]
    dtype: np.dtype[Any]
    choice: Choice

    @classmethod
    def of(cls, schemas: Sequence[tuple[str, Any]], choice: Choice, first: Callable[[list[str]], Any]) -> "Layout":
        """The layout of tables, each with a name for errors and a schema of Arrow.

        ``first`` gives some of the first rows, of the columns that are asked for.
        """
        columns = _features(*schemas[0], choice)
        for where, schema in schemas[1:]:
            others = _features(where, schema, choice)
            if set(others) != set(columns):
                raise ValueError(
                    f"the Parquet files have different columns: {columns} in {schemas[0][0]}, and {others} in "
                    f"{where}; write files with the same columns, or {NAME_THEM}."
                )
        kinds = [[_stored(schema.field(name).type) for _, schema in schemas] for name in columns]
        for name, own in zip(columns, kinds, strict=True):
            for (where, _), kind in zip(schemas[1:], own[1:], strict=True):
                _check_width(name, (schemas[0][0], _width_of(own[0])), (where, _width_of(kind)))
        single = all(str(_number(kind)) in ("float", "halffloat") for one in kinds for kind in one)
        if choice.columns is None:
            _refuse_ids([name for name, one in zip(columns, kinds, strict=True) if all(map(_counts, one))], first)
        widths = [_width(name, one[0], first) for name, one in zip(columns, kinds, strict=True)]
        return cls(tuple(columns), tuple(widths), np.dtype(np.float32 if single else np.float64), choice)

    def check(self, schema: Any, where: str) -> None:
        """Raise unless a table has these features and no others, all with numbers in them."""
        columns = _features(where, schema, replace(self.choice, columns=self.columns))
        if self.choice.columns is None:
            others = _features(where, schema, self.choice)
            if len(others) > len(columns):
                raise ValueError(
                    f"{where} has the columns {others}, and the rows before it had {list(columns)}; give all "
                    f"chunks the same columns, or {NAME_THEM}."
                )
        for name, width in zip(self.columns, self.widths, strict=True):
            kind = _stored(schema.field(name).type)
            _check_width(name, ("the rows before it", width), (where, _width_of(kind)))

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return sum(max(width, 1) for width in self.widths)

    @property
    def feature_names(self) -> Any:
        """The names of the columns, with a number for each part of a list."""
        names = []
        for name, width in zip(self.columns, self.widths, strict=True):
            names += [f"{name}[{k}]" for k in range(width)] if width else [name]
        return np.array(names, dtype=object)

    def numbers(self, batch: Any, where: str, start: int) -> Any:
        """The features of some rows, which begin at row `start` of what `where` names."""
        rows = np.empty((batch.num_rows, self.n_features), dtype=self.dtype)
        k = 0
        for name, width in zip(self.columns, self.widths, strict=True):
            own = rows[:, k : k + max(width, 1)]
            with np.errstate(over="ignore", invalid="ignore"):
                own[...] = _cells(batch.column(name), name, width, where, start)
                # A sum is not finite if one of its terms is not.
                total = own.sum(dtype=np.float64)
            if not np.isfinite(total):
                _refuse(~np.isfinite(own).all(axis=1), name, "missing or infinite values", where, start)
            k += own.shape[1]
        return rows

    def weights(self, batch: Any, where: str, start: int) -> Any:
        """The weights of some rows, as a column."""
        name = str(self.choice.weight)
        values = _cells(batch.column(name), name, 0, where, start)
        bad = ~np.isfinite(values[:, 0]) | (values[:, 0] < 0)
        _refuse(bad, name, "weights that are missing, infinite or negative", where, start)
        return values


def key_schema(schemas: Sequence[tuple[str, Any]], names: Sequence[str]) -> Any:
    """Return the schema of key columns, with types that hold the values of all tables.

    Parameters
    ----------
    schemas : sequence of (str, pyarrow schema)
        A name for errors and the schema of each table.
    names : sequence of str
        The key columns.

    Returns
    -------
    pyarrow schema
        The key columns. Dictionaries are replaced by the type of their values: a file of Arrow has one dictionary
        for a column, and engines make one for each part.
    """
    pyarrow = need_pyarrow()
    fields = []
    for name in names:
        kind: Any = None
        for where, schema in schemas:
            own = _plain(schema.field(name).type)
            try:
                both = [pyarrow.schema([(name, one)]) for one in (own if kind is None else kind, own)]
                kind = pyarrow.unify_schemas(both, promote_options="permissive").field(name).type
            except pyarrow.ArrowException as error:
                raise ValueError(
                    f"the key column {name!r} holds {own} in {where} and {kind} in {schemas[0][0]}; convert the "
                    "column to one type."
                ) from error
        fields.append((name, kind))
    return pyarrow.schema(fields)


def cast_keys(batch: Any, schema: Any, where: str) -> Any:
    """Return the key columns of a batch as a table of this schema."""
    pyarrow = need_pyarrow()
    columns = []
    for field in schema:
        try:
            columns.append(batch.column(field.name).cast(field.type))
        except pyarrow.ArrowException as error:
            raise ValueError(
                f"the key column {field.name!r} of {where} cannot be converted to {field.type}, the type of the "
                f"other rows ({error}); convert the column to one type."
            ) from error
    return pyarrow.table(columns, schema=schema)


def sample_names(keys: Any) -> list[str]:
    """Return the cells of a table with 1 key column as text."""
    return [str(one) for one in keys.column(0).to_pylist()]


class Keys:
    """Columns that identify the samples, in a temporary file that all workers read by name.

    Parameters
    ----------
    schema : pyarrow schema
        The columns, as `key_schema` returns them.
    folder : str, path or None
        Where the file is made.
    """

    def __init__(self, schema: Any, folder: str | os.PathLike[str] | None) -> None:
        self._schema, self._folder = schema, folder
        self._scratch: Scratch | None = None
        self._writer: Any = None
        self._begin()

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._schema.names)

    def add(self, batch: Any, where: str = "X") -> None:
        """Write the keys of the following rows; `where` names them in errors."""
        before = f"the {self._starts[-1]} rows before it"
        schema = key_schema([(before, self._schema), (where, batch.schema)], self._schema.names)
        if schema != self._schema:
            self._widen(schema)
        for part in cast_keys(batch, schema, where).combine_chunks().to_batches():
            self._writer.write_batch(part)
            self._starts.append(self._starts[-1] + len(part))

    def _begin(self) -> None:
        self._scratch = Scratch(self._folder)
        self._path = self._scratch.path
        self._writer = need_pyarrow().ipc.new_file(self._path, self._schema)
        self._starts = [0]

    def _widen(self, schema: Any) -> None:
        """Write the keys so far once more, with types that hold the following ones as well."""
        self.finish()
        known, scratch = self.read(0, self._starts[-1]), self._scratch
        self._schema = schema
        self._begin()
        for part in known.to_batches():
            self.add(part, "the first rows of X")
        assert scratch is not None
        scratch.close()

    def finish(self) -> "Keys":
        """Say that all keys are there."""
        self._writer.close()
        self._writer = None
        return self

    def read(self, start: int, stop: int) -> Any:
        """The keys of some rows, as a table of Arrow."""
        pyarrow = need_pyarrow()
        first, last = np.searchsorted(self._starts, [start, stop], side="right") - 1
        with pyarrow.memory_map(self._path) as source:
            reader = pyarrow.ipc.open_file(source)
            parts = [reader.get_batch(k) for k in range(first, min(last + 1, reader.num_record_batches))]
        return pyarrow.Table.from_batches(parts, self._schema).slice(start - self._starts[first], stop - start)

    def names(self) -> list[str] | None:
        """Return the names of all samples, or None if there is more than one key column."""
        return sample_names(self.read(0, self._starts[-1])) if len(self._schema) == 1 else None

    def close(self) -> None:
        """Remove the file."""
        if self._writer is not None:
            self.finish()
        if self._scratch is not None:
            self._scratch.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_scratch": None}


def refuse_ids(names: Sequence[Any], rows: Any) -> None:
    """Raise if a column numbers the samples instead of measuring them, judged by some of the first rows."""
    if len(rows) < _FEWEST_ROWS:
        return
    for name, values in zip(names, np.asarray(rows).T, strict=True):
        if (values == np.round(values)).all() and len(np.unique(values)) == len(values):
            raise ValueError(
                f"column {name!r} holds whole numbers that are all different, as those that only name the samples "
                f"are. If it names them, say open_rows(X, key={name!r}); if it is a feature, {NAME_THEM}."
            )


def _refuse_ids(names: list[str], first: Callable[[list[str]], Any]) -> None:
    if names:
        table = first(names)
        cells = [_cells(table.column(name), name, 0, "", 0) for name in names]
        refuse_ids(names, np.hstack(cells))


def _features(where: str, schema: Any, choice: Choice) -> list[str]:
    """The columns of a table that are features: those that were named, or all but the index of a pandas frame."""
    for name in (*(choice.columns or ()), *choice.others):
        found = schema.names.count(name)
        if found != 1:
            many = "no column" if found == 0 else f"{found} columns"
            raise ValueError(f"{where} has {many} {name!r}; its columns are {schema.names}.")
    index = [one for one in (schema.pandas_metadata or {}).get("index_columns", []) if isinstance(one, str)]
    rest = [name for name in schema.names if name not in index and name not in choice.others]
    names = rest if choice.columns is None else list(choice.columns)
    if not names:
        raise ValueError(f"{where} has no columns.")
    for name in [*names, *([] if choice.weight is None else [choice.weight])]:
        kind = schema.field(name).type
        if not _is_number(_number(kind)) or (name == choice.weight and _is_list(_stored(kind))):
            raise ValueError(f"column {name!r} holds {kind} in {where}, and not numbers; {NAME_THEM}.")
    return names


def _plain(kind: Any) -> Any:
    """Return the type of the values of a column, whatever their encoding: plain, dictionary or run-end."""
    types = need_pyarrow().types
    encoded = types.is_dictionary(kind) or types.is_run_end_encoded(kind)
    return _plain(kind.value_type) if encoded else kind


def _stored(kind: Any) -> Any:
    """Return the type in which the values of a column are stored: tensors, as Ray has them, are lists."""
    kind = _plain(kind)
    return _stored(kind.storage_type) if isinstance(kind, need_pyarrow().BaseExtensionType) else kind


def _is_list_view(kind: Any) -> bool:
    types = need_pyarrow().types
    tests = [getattr(types, name, None) for name in ("is_list_view", "is_large_list_view")]  # of pyarrow 16
    return any(test is not None and test(kind) for test in tests)


def _is_list(kind: Any) -> bool:
    types = need_pyarrow().types
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
    """Raise if a column has numbers in one table and lists in another, or lists of another length."""
    (where, width), (elsewhere, width_there) = first, other
    # Lists without a fixed size are compared row by row when they are read.
    if (width == 0) != (width_there == 0) or (width and width_there and width != width_there):
        contents = [_contents(one) for one in (width, width_there)]
        raise ValueError(
            f"column {name!r} holds {contents[1]} in {elsewhere}, and {contents[0]} in {where}; give it one form."
        )


def _contents(width: int | None) -> str:
    return "lists" if width is None else f"lists of {width} numbers" if width else "single numbers"


def _is_number(kind: Any) -> bool:
    types = need_pyarrow().types
    return any(test(kind) for test in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal))


def _counts(kind: Any) -> bool:
    types = need_pyarrow().types
    return bool(types.is_integer(kind) or types.is_decimal(kind))


def _width(name: str, kind: Any, first: Callable[[list[str]], Any]) -> int:
    width = _width_of(kind)
    if width is not None:
        return width
    lists = _decoded(first([name]).column(name).slice(0, 1))
    lengths = need_pyarrow().compute.list_value_length(lists).to_pylist()
    if not lengths or not lengths[0]:
        raise ValueError(
            f"column {name!r} begins with a list that is missing or empty; fill or drop such rows first."
        )
    return int(lengths[0])


def _decoded(column: Any) -> Any:
    """Return a column as one array of the type in which its values are stored."""
    pyarrow = need_pyarrow()
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks()
    if pyarrow.types.is_run_end_encoded(column.type):
        column = pyarrow.compute.run_end_decode(column)
    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.storage if isinstance(column, pyarrow.ExtensionArray) else column


def _cells(column: Any, name: str, width: int, where: str, start: int) -> Any:
    """The numbers of a column in double or their own precision: a row for each, NaN where they are missing."""
    pyarrow = need_pyarrow()
    column = _decoded(column)
    n_rows = len(column)
    if width:
        lengths = np.asarray(pyarrow.compute.list_value_length(column).fill_null(0))
        _refuse(lengths != width, name, f"lists of other lengths than {width}", where, start)
        column = column.flatten()
    if pyarrow.types.is_decimal(column.type):
        column = column.cast(pyarrow.float64())
    # Booleans with missing values are objects.
    return np.asarray(column).astype(np.float64, copy=False).reshape(n_rows, max(width, 1))


def _refuse(bad: Any, name: str, what: str, where: str, start: int) -> None:
    if bad.any():
        raise ValueError(
            f"column {name!r} has {what}: the first in row {start + int(bad.argmax())} of {where}, counted from "
            "0; fill or drop these rows first."
        )
