"""From whatever holds rows to `Rows`."""

import os
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from evlearn.blocks.cluster import Cluster
from evlearn.blocks.dask_rows import chunks_of, is_dask, open_dask
from evlearn.blocks.parquet import copy_files, is_paths, list_files
from evlearn.blocks.parts import PartRows
from evlearn.blocks.rows import ArrayRows, Rows, as_numbers, check_finite
from evlearn.blocks.scratch import MappedFile, Scratch
from evlearn.blocks.streams import is_stream, open_stream, open_table
from evlearn.blocks.tables import Choice, make_choice, refuse_ids
from evlearn.utils.progress import Count
from evlearn.utils.typing import DataLike
from evlearn.utils.validation import check_integer, column_names, refuse_containers


def open_rows(
    X: DataLike,
    *,
    columns: Sequence[str] | None = None,
    key: str | Sequence[str] | None = None,
    weight: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    block_rows: int | None = None,
) -> Rows:
    """Open data of any kind, and any size, to be read in blocks.

    Estimators do this by themselves. Do it yourself to say what the columns of a table mean, to use data that had
    to be copied several times, or to say where the copy goes; close them, or use ``with``, to remove it. Missing
    values are refused: for estimators that turn them into doubt, give the array or frame itself to ``fit``.

    Parameters
    ----------
    X : array-like, path, dask collection or iterable of arrays
        Rows: an array, a memory map, a pandas or polars frame; the path or URL of a Parquet file or of a folder of
        them, a pattern such as ``"table/*.parquet"``, or a list of such; a Dask array or DataFrame; a stream of
        Arrow (a relation of DuckDB, a polars lazy frame, a dataset or reader of pyarrow); or something that
        gives array after array, or table after table, each with some of the rows. The first of these determines
        the precision: single if it is in single precision.
    columns : list of str or None, default=None
        The columns that are features; None means all but `key` and `weight`. A column of lists, all of one length,
        is as many features.
    key : str, list of str or None, default=None
        The columns that say who a sample is. They are no features. Masses in Parquet files begin with them, and
        masses in memory have a single one as the names of the samples.
    weight : str or None, default=None
        The column that says how much a sample counts, for methods whose ``fit`` takes ``sample_weight``.
    folder : str, path or None, default=None
        Where Parquet files and iterables are copied to, as a memory map; workers on other machines must be able to
        see it. None means the system's folder for temporary files; and while a client of Dask is active, each of
        its workers keeps parts of Parquet files on its own disk.
    n_jobs : int or None, default=None
        How many workers read Parquet files.
    block_rows : int or None, default=None
        How many rows a task has; None leaves it to the size of the data. Large blocks cost an engine less, small
        ones spread better over many workers. The partitions of a Dask collection are its blocks.

    Returns
    -------
    Rows
        The rows.

    Examples
    --------
    >>> import numpy as np
    >>> from evlearn.blocks import open_rows
    >>> with open_rows(np.eye(3) for _ in range(4)) as rows:
    ...     print(
    ...         rows.n_rows,
    ...         rows.n_features,
    ...         list(rows.map(lambda block, weights: block.shape)),
    ...     )
    12 3 [(12, 3)]
    """
    choice = make_choice(columns, key, weight)
    refuse_containers(X)
    if isinstance(X, Rows):
        if choice:
            raise ValueError("X has been opened already; say columns, key and weight where it is opened first.")
        return X
    if block_rows is not None:
        check_integer("block_rows", block_rows, 1)
    if is_paths(X):
        files, cluster = list_files(X, choice), Cluster.active()
        if cluster is not None and folder is None:
            return PartRows(files, cluster, block_rows)
        return copy_files(files, folder, n_jobs, block_rows)
    if is_dask(X):
        cluster = Cluster.active()
        if cluster is not None:
            return open_dask(X, choice, cluster)
        X = chunks_of(X, choice)
    if is_stream(X):
        return open_stream(X, choice, folder, block_rows)
    if is_chunks(X):
        X, are_tables = _looked_at(X)
        if are_tables:
            return open_stream(X, choice, folder, block_rows)
    if choice:
        return (open_stream if is_chunks(X) else open_table)(X, choice, folder, block_rows)
    if is_chunks(X):
        return _open_chunks(X, folder, block_rows)
    array = as_numbers(X)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"X must have rows and columns, got an array of shape {array.shape}.")
    check_finite(array)
    names = column_names(X)
    return ArrayRows(
        array,
        feature_names=None if names is None else np.array([str(name) for name in names], dtype=object),
        folder=folder,
        block_rows=block_rows,
    )


def open_once(X: DataLike, n_jobs: int | None) -> Rows:
    """Open data for a single pass: Parquet files are read as it goes, and not copied."""
    return PartRows(list_files(X, Choice()), Cluster.active()) if is_paths(X) else open_rows(X, n_jobs=n_jobs)


def is_elsewhere(X: Any) -> bool:
    """Whether X is not simply an array or a frame in memory."""
    return isinstance(X, Rows) or is_paths(X) or is_dask(X) or is_stream(X) or is_chunks(X)


def is_chunks(X: Any) -> bool:
    """Return True if X consists of several arrays or tables, each with some of the rows."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and (_is_table(X[0]) or _n_dimensions(X[0]) == 2)
    arrays = ("__array__", "__dataframe__", "__arrow_c_stream__", "shape", "toarray")
    return (
        isinstance(X, Iterable) and not isinstance(X, (dict, set)) and not any(hasattr(X, one) for one in arrays)
    )


def _n_dimensions(X: Any) -> int:
    """Return the number of dimensions of an array or a table; polars and pyarrow have no `ndim`."""
    shape = getattr(X, "shape", ())
    return len(shape) if isinstance(shape, tuple) else 0


def _looked_at(chunks: Any) -> tuple[Any, bool]:
    """Return the same chunks, and whether they are tables whose columns are found by name.

    These are batches of Ray, and tables and record batches of Arrow.
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


def _open_chunks(chunks: Any, folder: str | os.PathLike[str] | None, block_rows: int | None) -> ArrayRows:
    """Copy chunk after chunk to a temporary file; the first decides on the precision, and on the columns."""
    scratch = Scratch(folder)
    n_rows, width, names = 0, None, None
    copied = Count("copy", "rows")
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
                    refuse_ids(names or [], block[:, : len(names or [])])
                    width = block.shape[1]
                    dtype = np.dtype(np.float32 if block.dtype == np.float32 else np.float64)
                # In the precision of the file, in which large numbers may be infinite.
                with np.errstate(over="ignore"):
                    block = np.ascontiguousarray(block, dtype=dtype)
                check_finite(block)
                file.write(block.data)
                n_rows += len(block)
                copied.reach(n_rows)
        if width is None:
            raise ValueError("X gave no rows. An iterator can be read only once: give a fresh one, or a list.")
        copied.end()
    except BaseException:
        scratch.close()
        raise
    file_of_rows = MappedFile(scratch.path, dtype.str, (n_rows, width))
    # As scikit-learn does: numbers of columns are no names.
    named = names is not None and all(isinstance(name, str) for name in names)
    return ArrayRows(
        file_of_rows,
        feature_names=np.array(names, dtype=object) if named else None,
        scratch=scratch,
        block_rows=block_rows,
    )


def _same_names(known: list[Any] | None, names: list[Any] | None, n_rows: int) -> list[Any] | None:
    if known is not None and names is not None and names != known:
        raise ValueError(
            f"the chunks of X must have the same columns in the same order: {known} at first, and {names} after "
            f"{n_rows} rows."
        )
    return names if known is None else known
