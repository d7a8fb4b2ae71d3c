"""Rows of tables with columns chosen by name: in memory, or in batches of an Arrow stream."""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from evlearn.blocks.dataset import ArrayDataset
from evlearn.blocks.scratch import MappedFile, Scratch
from evlearn.blocks.tables import BATCH_ROWS, Choice, Keys, Layout, key_schema
from evlearn.utils.progress import Count
from evlearn.utils.urls import import_pyarrow


def is_stream(X: Any) -> bool:
    """Return True if X yields Arrow batches, and is not a frame in memory."""
    # The last three are methods of polars, of Arrow datasets and of Ray datasets; Spark frames have the first.
    streams = ("__arrow_c_stream__", "collect_batches", "to_batches", "map_batches")
    frames = ("__array__", "__dataframe__", "__dask_graph__")
    return any(hasattr(X, name) for name in streams) and not any(hasattr(X, name) for name in frames)


def open_stream(
    X: Any, choice: Choice, folder: str | os.PathLike[str] | None, block_rows: int | None = None
) -> ArrayDataset:
    """Copy batches to temporary files."""
    resources: list[Any] = []
    layout: Layout | None = None
    keys: Keys | None = None
    n_rows, progress = 0, Count("copy", "rows")
    try:
        resources.append(scratch := Scratch(folder))
        resources.append(second := Scratch(folder))
        with ExitStack() as stack:
            stack.enter_context(scratch.filling())
            file = stack.enter_context(open(scratch.path, "wb"))
            column = stack.enter_context(open(second.path, "wb"))
            for batch in _batches(_with_columns(X, choice)):
                if batch.num_rows == 0:
                    continue
                place = f"the chunk of X after {n_rows} rows"
                if layout is None:
                    layout = Layout.of([("X", batch.schema)], choice, batch.select)
                    if choice.key:
                        resources.append(keys := Keys(key_schema([("X", batch.schema)], choice.key), folder))
                else:
                    layout.check(batch.schema, place)
                file.write(layout.numbers(batch, "X", n_rows).data)
                if choice.weight is not None:
                    column.write(np.ascontiguousarray(layout.weights(batch, "X", n_rows), dtype="<f8").data)
                if keys is not None:
                    keys.add(batch, place)
                n_rows += batch.num_rows
                progress.set_done(n_rows)
        if layout is None:
            raise ValueError("X gave no rows. An iterator can be read only once: pass a new one, or a list.")
        progress.end()
        if keys is not None:
            keys.finish()
    except BaseException:
        for resource in resources:
            resource.close()
        raise
    weights = ArrayDataset(MappedFile(second.path, "<f8", (n_rows, 1)), scratch=second)
    if choice.weight is None:
        weights.close()
    rows = MappedFile(scratch.path, layout.dtype.str, (n_rows, layout.n_features))
    return ArrayDataset(
        rows,
        feature_names=layout.feature_names,
        scratch=scratch,
        keys=keys,
        weights=None if choice.weight is None else weights,
        block_rows=block_rows,
    )


def open_table(
    X: Any, choice: Choice, folder: str | os.PathLike[str] | None, block_rows: int | None = None
) -> ArrayDataset:
    """Open the rows of a frame in memory, without a copy to a file."""
    table = as_table(X)
    layout = Layout.of([("X", table.schema)], choice, table.select)
    weights = keys = None
    numbers = layout.numbers(table, "X", 0)
    if choice.weight is not None:
        weights = ArrayDataset(layout.weights(table, "X", 0), folder=folder)
    if choice.key:
        keys = Keys(key_schema([("X", table.schema)], choice.key), folder)
        keys.add(table)
        keys.finish()
    return ArrayDataset(
        numbers,
        feature_names=layout.feature_names,
        folder=folder,
        keys=keys,
        weights=weights,
        block_rows=block_rows,
    )


def _with_columns(X: Any, choice: Choice) -> Any:
    """Select the columns of a Spark frame, because others may be large or have unsupported types."""
    names = [*(choice.columns or ()), *choice.others]
    if choice.columns is None or not hasattr(X, "sparkSession") or not set(names) <= set(X.columns):
        return X
    quoted = [name.replace("`", "``") for name in names]
    return X.select(*[f"`{name}`" for name in quoted])


def _reader(X: Any) -> Any:
    """Return a reader of the batches of a stream."""
    try:
        return import_pyarrow().RecordBatchReader.from_stream(X)
    except AssertionError as error:  # raised by Spark 4
        raise ValueError(
            f"{type(X).__name__} cannot be sent as Arrow: a column has a type, such as a timestamp, for which "
            "Spark has no Arrow type. Cast it to text or numbers, or exclude it: open_dataset(X, columns=[...])."
        ) from error


def _batches(X: Any) -> Iterator[Any]:
    """Yield batches of the rows as Arrow tables."""
    if hasattr(X, "__arrow_c_stream__"):
        # Spark cannot send columns with dots in their names, so they are renamed temporarily.
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
    """Convert a frame of any kind to an Arrow table."""
    pyarrow = import_pyarrow()
    if isinstance(X, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([X])
    if hasattr(X, "iloc"):  # pandas, whose index is not a column
        return pyarrow.Table.from_pandas(X, preserve_index=False)
    if isinstance(X, dict) or hasattr(X, "__arrow_c_stream__"):
        return pyarrow.table(X)
    raise ValueError(
        f"columns, key and weight are names of columns, and {type(X).__name__} has no names; pass a pandas, "
        "polars or pyarrow frame, or Parquet files."
    )
