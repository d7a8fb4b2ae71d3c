"""Rows of tables whose columns are chosen by name: in memory, or batch after batch in a stream of Arrow."""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from evlearn.blocks.rows import ArrayRows
from evlearn.blocks.scratch import MappedFile, Scratch
from evlearn.blocks.tables import BATCH_ROWS, Choice, Keys, Layout, key_schema
from evlearn.utils.places import need_pyarrow
from evlearn.utils.progress import Count


def is_stream(X: Any) -> bool:
    """Whether X gives batches of Arrow, and is not itself a frame in memory."""
    # The last three of polars, of datasets of Arrow and of those of Ray; frames of Spark have the first.
    streams = ("__arrow_c_stream__", "collect_batches", "to_batches", "map_batches")
    frames = ("__array__", "__dataframe__", "__dask_graph__")
    return any(hasattr(X, one) for one in streams) and not any(hasattr(X, one) for one in frames)


def open_stream(
    X: Any, choice: Choice, folder: str | os.PathLike[str] | None, block_rows: int | None = None
) -> ArrayRows:
    """Copy batch after batch to temporary files."""
    made: list[Any] = []
    layout: Layout | None = None
    keys: Keys | None = None
    n_rows, copied = 0, Count("copy", "rows")
    try:
        made.append(scratch := Scratch(folder))
        made.append(second := Scratch(folder))
        with ExitStack() as stack:
            stack.enter_context(scratch.filling())
            file = stack.enter_context(open(scratch.path, "wb"))
            column = stack.enter_context(open(second.path, "wb"))
            for batch in _batches(_with_columns(X, choice)):
                if batch.num_rows == 0:
                    continue
                where = f"the chunk of X after {n_rows} rows"
                if layout is None:
                    layout = Layout.of([("X", batch.schema)], choice, batch.select)
                    if choice.key:
                        made.append(keys := Keys(key_schema([("X", batch.schema)], choice.key), folder))
                else:
                    layout.check(batch.schema, where)
                file.write(layout.numbers(batch, "X", n_rows).data)
                if choice.weight is not None:
                    column.write(np.ascontiguousarray(layout.weights(batch, "X", n_rows), dtype="<f8").data)
                if keys is not None:
                    keys.add(batch, where)
                n_rows += batch.num_rows
                copied.reach(n_rows)
        if layout is None:
            raise ValueError("X gave no rows. An iterator can be read only once: give a fresh one, or a list.")
        copied.end()
        if keys is not None:
            keys.finish()
    except BaseException:
        for one in made:
            one.close()
        raise
    weights = ArrayRows(MappedFile(second.path, "<f8", (n_rows, 1)), scratch=second)
    if choice.weight is None:
        weights.close()
    rows = MappedFile(scratch.path, layout.dtype.str, (n_rows, layout.n_features))
    return ArrayRows(
        rows,
        feature_names=layout.feature_names,
        scratch=scratch,
        keys=keys,
        weights=None if choice.weight is None else weights,
        block_rows=block_rows,
    )


def open_table(
    X: Any, choice: Choice, folder: str | os.PathLike[str] | None, block_rows: int | None = None
) -> ArrayRows:
    """Rows of a frame in memory, which stay there."""
    table = as_table(X)
    layout = Layout.of([("X", table.schema)], choice, table.select)
    weights = keys = None
    numbers = layout.numbers(table, "X", 0)
    if choice.weight is not None:
        weights = ArrayRows(layout.weights(table, "X", 0), folder=folder)
    if choice.key:
        keys = Keys(key_schema([("X", table.schema)], choice.key), folder)
        keys.add(table)
        keys.finish()
    return ArrayRows(
        numbers,
        feature_names=layout.feature_names,
        folder=folder,
        keys=keys,
        weights=weights,
        block_rows=block_rows,
    )


def _with_columns(X: Any, choice: Choice) -> Any:
    """Return a Spark frame with the chosen columns only: others may be large, or of types that cannot be sent."""
    wanted = [*(choice.columns or ()), *choice.others]
    if choice.columns is None or not hasattr(X, "sparkSession") or not set(wanted) <= set(X.columns):
        return X
    quoted = [name.replace("`", "``") for name in wanted]
    return X.select(*[f"`{name}`" for name in quoted])


def _reader(X: Any) -> Any:
    """Return a reader of the batches of a stream."""
    try:
        return need_pyarrow().RecordBatchReader.from_stream(X)
    except AssertionError as error:  # of Spark 4
        raise ValueError(
            f"{type(X).__name__} cannot be sent as Arrow: a column has a type, such as a timestamp, for which "
            "Spark has no Arrow type. Cast it to text or numbers, or leave it out: open_rows(X, columns=[...])."
        ) from error


def _batches(X: Any) -> Iterator[Any]:
    """Tables of Arrow, each with some of the rows."""
    if hasattr(X, "__arrow_c_stream__"):
        # Spark cannot send columns whose names have dots, so they travel under others.
        names = list(X.columns) if hasattr(X, "sparkSession") else None
        for batch in _reader(X if names is None else X.toDF(*(f"c{k}" for k in range(len(names))))):
            yield as_table(batch) if names is None else as_table(batch).rename_columns(names)
        return
    if hasattr(X, "collect_batches"):
        X = X.collect_batches(chunk_size=BATCH_ROWS)
    elif hasattr(X, "to_batches"):
        X = X.to_batches()
    elif hasattr(X, "iter_batches"):
        X = X.iter_batches(batch_size=BATCH_ROWS, batch_format="pyarrow")
    chunks: Iterable[Any] = X
    for chunk in chunks:
        yield from _batches(chunk) if is_stream(chunk) else [as_table(chunk)]


def as_table(X: Any) -> Any:
    """A frame of any kind as a table of Arrow."""
    pyarrow = need_pyarrow()
    if isinstance(X, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([X])
    if hasattr(X, "iloc"):  # of pandas, whose index is no column
        return pyarrow.Table.from_pandas(X, preserve_index=False)
    if isinstance(X, dict) or hasattr(X, "__arrow_c_stream__"):
        return pyarrow.table(X)
    raise ValueError(
        f"columns, key and weight are names of columns, and {type(X).__name__} has no names; give a frame of "
        "pandas, polars or pyarrow, or Parquet files."
    )
