"""From whatever holds rows to `Rows`."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from evlearn.blocks.dask_rows import is_dask, open_dask
from evlearn.blocks.parquet import open_parquet
from evlearn.blocks.rows import ArrayRows, Rows, check_finite
from evlearn.blocks.scratch import MappedFile, Scratch


def open_rows(X: Any, *, folder: str | os.PathLike[str] | None = None, n_jobs: int | None = None) -> Rows:
    """Open data of any kind, and any size, to be read in blocks.

    Estimators do this by themselves. Do it yourself to use data that had to be copied several times, or to say
    where the copy goes; close them, or use ``with``, to remove it.

    Parameters
    ----------
    X : array-like, path, dask collection or iterable of arrays
        Rows: an array, a memory map, a pandas or polars frame; the path of a Parquet file or of a folder of
        them; a Dask array or DataFrame; or something that gives array after array, each with some of the rows.
    folder : str, path or None, default=None
        Where Parquet files and iterables are copied to, as a memory map; None means the system's folder for
        temporary files. Workers on other machines must be able to see it.
    n_jobs : int or None, default=None
        How many workers read Parquet files.

    Returns
    -------
    Rows
        The rows.

    Examples
    --------
    >>> import numpy as np
    >>> from evlearn.blocks import open_rows
    >>> with open_rows(np.eye(3) for _ in range(4)) as rows:
    ...     print(rows.n_rows, rows.n_features, rows.map(lambda block, weights: block.shape))
    12 3 [(12, 3)]
    """
    if isinstance(X, Rows):
        return X
    if isinstance(X, (str, os.PathLike)):
        return open_parquet(X, folder, n_jobs)
    if is_dask(X):
        return open_dask(X, folder)
    if is_chunks(X):
        return _open_chunks(X, folder)
    array = X if isinstance(X, np.ndarray) else np.asarray(X)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim != 2:
        raise ValueError(f"X must have rows and columns, got an array of {array.ndim} dimensions.")
    check_finite(array)
    names = np.array([str(name) for name in X.columns], dtype=object) if hasattr(X, "columns") else None
    return ArrayRows(array, feature_names=names, folder=folder)


def is_elsewhere(X: Any) -> bool:
    """Whether X is not simply an array or a frame in memory.

    Parameters
    ----------
    X : object
        What a user gave as X.

    Returns
    -------
    bool
        True for `Rows`, paths, Dask collections and iterables of arrays.
    """
    return isinstance(X, (Rows, str, os.PathLike)) or is_dask(X) or is_chunks(X)


def is_chunks(X: Any) -> bool:
    """Whether X gives array after array.

    Parameters
    ----------
    X : object
        What a user gave as X.

    Returns
    -------
    bool
        Whether it does. A list does if its first item is a matrix; else it is one matrix itself.
    """
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and getattr(X[0], "ndim", 0) == 2
    arrays = ("__array__", "__dataframe__", "__arrow_c_stream__", "shape", "toarray")
    return (
        isinstance(X, Iterable) and not isinstance(X, (dict, set)) and not any(hasattr(X, one) for one in arrays)
    )


def _open_chunks(chunks: Any, folder: str | os.PathLike[str] | None) -> ArrayRows:
    """Copy chunk after chunk to a temporary file; the first decides on the precision and on the origin."""
    scratch = Scratch(folder)
    n_rows, origin, dtype = 0, None, None
    try:
        with Path(scratch.path).open("wb") as file:
            for chunk in chunks:
                block = np.asarray(chunk)
                if block.ndim != 2 or (origin is not None and block.shape[1] != len(origin)):
                    raise ValueError(
                        f"the chunks of X must be matrices of one width, got {block.shape} after {n_rows} rows."
                    )
                check_finite(block)
                if origin is None and len(block):
                    dtype = np.dtype(np.float32 if block.dtype == np.float32 else np.float64)
                    origin = block.mean(axis=0, dtype=np.float64).astype(dtype).astype(np.float64)
                if len(block):
                    file.write(np.ascontiguousarray(block - origin, dtype=dtype).data)
                n_rows += len(block)
        if origin is None or dtype is None:
            raise ValueError("X gave no rows. An iterator can be read only once: give a fresh one, or a list.")
    except BaseException:
        scratch.close()
        raise
    return ArrayRows(MappedFile(scratch.path, dtype.str, (n_rows, len(origin))), origin=origin, scratch=scratch)
