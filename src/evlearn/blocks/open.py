"""Conversion of all supported forms of data to `RowDataset`."""

import os
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from evlearn.blocks.dask_dataset import Cluster, chunks_of, is_dask, open_dask
from evlearn.blocks.dataset import ArrayDataset, RowDataset, as_numbers, check_finite
from evlearn.blocks.parquet import PartDataset, copy_files, is_paths, list_files
from evlearn.blocks.scratch import MappedFile, Scratch
from evlearn.blocks.streams import is_stream, open_stream, open_table
from evlearn.blocks.tables import Choice, check_no_ids, make_choice
from evlearn.utils.progress import Count
from evlearn.utils.typing import DataLike
from evlearn.utils.validation import check_integer, check_not_container, column_names


def open_dataset(
    X: DataLike,
    *,
    columns: Sequence[str] | None = None,
    key: str | Sequence[str] | None = None,
    weight: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    block_rows: int | None = None,
) -> RowDataset:
    """Open data of any kind, and any size, to be read in blocks.

    Estimators do this automatically. Call it to choose the columns of a table, to reuse data that must be copied,
    or to choose the folder of the copy; close the dataset, or use ``with``, to remove the copy. Missing values are
    rejected: for estimators that accept them, pass the array or frame itself to ``fit``.

    Parameters
    ----------
    X : array-like, path, dask collection or iterable of arrays
        Rows: an array, a memory map, a pandas or polars frame; the path or URL of a Parquet file or of a folder of
        them, a pattern such as ``"table/*.parquet"``, or a list of these; a Dask array or DataFrame; an Arrow
        stream (a DuckDB relation, a polars lazy frame, a pyarrow dataset or reader); or an iterable of arrays or
        tables, each with a part of the rows. The precision is single if the data, or the first of these parts, are
        in single precision.
    columns : list of str or None, default=None
        Feature columns; None means all columns except `key` and `weight`. A column of lists of equal length is as
        many features.
    key : str, list of str or None, default=None
        Columns that identify the samples. They are not features. They are the first columns of masses in Parquet
        files; for masses in memory, a single key column contains the names of the samples.
    weight : str or None, default=None
        Column of sample weights, for methods whose ``fit`` has a parameter ``sample_weight``.
    folder : str, path or None, default=None
        Folder to which Parquet files and iterables are copied, as a memory map; workers on other machines need
        access to it. None means the system's folder for temporary files; if a Dask client is active, each of its
        workers stores parts of Parquet files on its own disk instead.
    n_jobs : int or None, default=None
        Number of workers that read Parquet files.
    block_rows : int or None, default=None
        Number of rows per task; if None, it depends on the size of the data. Large blocks reduce the overhead of
        an engine; small ones are distributed better over many workers. The partitions of a Dask collection are its
        blocks.

    Returns
    -------
    RowDataset
        Opened rows.

    Examples
    --------
    >>> import numpy as np
    >>> from evlearn import open_dataset
    >>> with open_dataset(np.eye(3) for _ in range(4)) as rows:
    ...     print(
    ...         rows.n_rows,
    ...         rows.n_features,
    ...         list(rows.map(lambda block, weights: block.shape)),
    ...     )
    12 3 [(12, 3)]
    """
    choice = make_choice(columns, key, weight)
    check_not_container(X)
    if isinstance(X, RowDataset):
        if choice:
            raise ValueError("X is already open; pass columns, key and weight to the first open_dataset call.")
        return X
    if block_rows is not None:
        check_integer("block_rows", block_rows, 1)
    if is_paths(X):
        files, cluster = list_files(X, choice), Cluster.active()
        if cluster is not None and folder is None:
            return PartDataset(files, cluster, block_rows)
        return copy_files(files, folder, n_jobs, block_rows)
    if is_dask(X):
        cluster = Cluster.active()
        if cluster is not None:
            return open_dask(X, choice, cluster)
        X = chunks_of(X, choice)
    if is_stream(X):
        return open_stream(X, choice, folder, block_rows)
    if is_chunks(X):
        X, are_tables = _peek(X)
        if are_tables:
            return open_stream(X, choice, folder, block_rows)
    if choice:
        return (open_stream if is_chunks(X) else open_table)(X, choice, folder, block_rows)
    return (_open_chunks if is_chunks(X) else _open_array)(X, folder, block_rows)


def _open_array(X: Any, folder: str | os.PathLike[str] | None, block_rows: int | None) -> ArrayDataset:
    array = as_numbers(X)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"X must have rows and columns, got an array of shape {array.shape}.")
    check_finite(array)
    names = column_names(X)
    return ArrayDataset(
        array,
        feature_names=None if names is None else np.array([str(name) for name in names], dtype=object),
        folder=folder,
        block_rows=block_rows,
    )


def open_once(X: DataLike, n_jobs: int | None) -> RowDataset:
    """Open data for a single pass: Parquet files are read during the pass, and not copied."""
    return (
        PartDataset(list_files(X, Choice()), Cluster.active()) if is_paths(X) else open_dataset(X, n_jobs=n_jobs)
    )


def needs_blocks(X: Any) -> bool:
    """Return True if X is neither an array nor a frame in memory."""
    if isinstance(X, np.ndarray):
        return False
    return isinstance(X, RowDataset) or is_paths(X) or is_dask(X) or is_stream(X) or is_chunks(X)


def is_chunks(X: Any) -> bool:
    """Return True if X consists of several arrays or tables, each with some of the rows."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and (_is_table(X[0]) or _n_dimensions(X[0]) == 2)
    arrays = ("__array__", "__dataframe__", "__arrow_c_stream__", "shape", "toarray")
    return (
        isinstance(X, Iterable) and not isinstance(X, (dict, set)) and not any(hasattr(X, name) for name in arrays)
    )


def _n_dimensions(X: Any) -> int:
    """Return the number of dimensions of an array or a table; polars and pyarrow have no `ndim`."""
    shape = getattr(X, "shape", ())
    return len(shape) if isinstance(shape, tuple) else 0


def _peek(chunks: Any) -> tuple[Any, bool]:
    """Return the same chunks, and True if they are tables with columns by name.

    These are Ray batches, and Arrow tables and record batches.
    """
    if isinstance(chunks, (list, tuple)):
        return chunks, _is_table(chunks[0])
    following = iter(chunks)
    first = list(islice(following, 1))
    return chain(first, following), bool(first) and _is_table(first[0])


def _is_table(chunk: Any) -> bool:
    return (
        isinstance(chunk, dict) or is_stream(chunk) or hasattr(getattr(chunk, "schema", None), "pandas_metadata")
    )


def _open_chunks(chunks: Any, folder: str | os.PathLike[str] | None, block_rows: int | None) -> ArrayDataset:
    """Copy chunks to a temporary file; the first one determines the precision and the columns."""
    scratch = Scratch(folder)
    n_rows, width, names = 0, None, None
    progress = Count("copy", "rows")
    dtype: np.dtype[Any] = np.dtype(np.float64)
    try:
        with scratch.filling(), Path(scratch.path).open("wb") as file:
            for chunk in chunks:
                block = as_numbers(chunk)
                if block.ndim != 2 or (width is not None and block.shape[1] != width) or block.shape[1] == 0:
                    raise ValueError(
                        f"the chunks of X must be matrices of one width, got {block.shape} after {n_rows} rows."
                    )
                names = _same_names(names, column_names(chunk), n_rows)
                if width is None and len(block):
                    check_no_ids(names or [], block[:, : len(names or [])])
                    width = block.shape[1]
                    dtype = np.dtype(np.float32 if block.dtype == np.float32 else np.float64)
                # In the precision of the file, where large numbers may be infinite.
                with np.errstate(over="ignore"):
                    block = np.ascontiguousarray(block, dtype=dtype)
                check_finite(block)
                file.write(block.data)
                n_rows += len(block)
                progress.set_done(n_rows)
        if width is None:
            raise ValueError("X gave no rows. An iterator can be read only once: pass a new one, or a list.")
        progress.end()
    except BaseException:
        scratch.close()
        raise
    file_of_rows = MappedFile(scratch.path, dtype.str, (n_rows, width))
    # As in scikit-learn, numbers of columns are not names.
    has_names = names is not None and all(isinstance(name, str) for name in names)
    return ArrayDataset(
        file_of_rows,
        feature_names=np.array(names, dtype=object) if has_names else None,
        scratch=scratch,
        block_rows=block_rows,
    )


def _same_names(first_names: list[Any] | None, names: list[Any] | None, n_rows: int) -> list[Any] | None:
    if first_names is not None and names is not None and names != first_names:
        raise ValueError(
            f"the chunks of X must have the same columns in the same order: {first_names} at first, and {names} "
            f"after {n_rows} rows."
        )
    return names if first_names is None else first_names
