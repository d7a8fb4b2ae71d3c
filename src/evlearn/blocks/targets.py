"""Targets of results of many rows: memory, a NumPy file, or a folder of Parquet files."""

import math
import os
import shutil
import tempfile
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from evlearn.blocks.scratch import MappedFile, Scratch
from evlearn.utils.files import check_folder, make_temporary, move_into_place, remove, unlock
from evlearn.utils.sparse_rows import SparseRows
from evlearn.utils.urls import RemotePath, import_pyarrow, is_url, to_path

_LOCK = threading.Lock()
#: Columns of Parquet files for sparse masses: positions of focal sets, and the masses on them.
SPARSE_COLUMNS = ("sets", "masses")


class Target(ABC):
    """Matrix to be filled block by block, by one process or several."""

    in_memory = False

    @abstractmethod
    def write_rows(self, start: int, values: Any, keys: Any = None) -> None:
        """Write rows from `start` on; Parquet files also contain a table of keys."""

    @abstractmethod
    def finish(self) -> Any:
        """Complete the result and return it."""

    @abstractmethod
    def abandon(self) -> None:
        """Remove the partial result."""


class MemoryTarget(Target):
    """Array in memory. If tasks run in other processes, these fill a temporary file instead."""

    in_memory = True

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self._array: Any = np.empty(shape, dtype)
        self._file: MappedFile | None = None
        self._scratch: Scratch | None = None

    def write_rows(self, start: int, values: Any, keys: Any = None) -> None:
        """Write rows from `start` on."""
        if self._file is not None:
            self._file.write(start, values)
        else:
            self._array[start : start + len(values)] = values

    def finish(self) -> Any:
        """Return the array."""
        if self._file is not None:
            self._array[...] = self._file.read_rows(0, len(self._array)).reshape(self._array.shape)
        self.abandon()
        return self._array

    def abandon(self) -> None:
        """Remove the temporary file, if there is one."""
        if self._scratch is not None:
            self._scratch.close()

    def __getstate__(self) -> dict[str, Any]:
        with _LOCK:
            if self._file is None:
                self._scratch = Scratch(None)
                self._file = _allocate(self._scratch.path, self._array.dtype, self._array.shape)
        return {"_array": None, "_file": self._file, "_scratch": None}


class SparseTarget(Target):
    """Rows in memory that are mostly 0. Tasks in other processes write them to files in a temporary folder."""

    in_memory = True

    def __init__(self) -> None:
        self._parts: dict[int, SparseRows] = {}
        self._folder: str | None = None
        self._finalizer: Any = None

    def write_rows(self, start: int, values: Any, keys: Any = None) -> None:
        """Write rows from `start` on."""
        if len(values) == 0:
            return
        if self._folder is None:
            self._parts[start] = values
            return
        arrays = {name: getattr(values, name) for name in ("starts", "columns", "values")}
        temporary = Path(self._folder, f".{start}.{os.getpid()}.npz")
        np.savez(temporary, n_columns=values.n_columns, **arrays)
        temporary.replace(Path(self._folder, f"{start}.npz"))

    def finish(self) -> SparseRows:
        """Return the rows."""
        for path in [] if self._folder is None else Path(self._folder).glob("[0-9]*.npz"):
            with np.load(path, allow_pickle=False) as arrays:
                lists = arrays["starts"], arrays["columns"], arrays["values"]
                self._parts[int(path.stem)] = SparseRows(*lists, n_columns=int(arrays["n_columns"]))
        self.abandon()
        return SparseRows.concatenate([self._parts[start] for start in sorted(self._parts)])

    def abandon(self) -> None:
        """Remove the temporary folder, if there is one."""
        if self._finalizer is not None:
            self._finalizer()

    def __getstate__(self) -> dict[str, Any]:
        with _LOCK:
            if self._folder is None:
                self._folder = tempfile.mkdtemp(prefix=".evlearn-")
                self._finalizer = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return {"_parts": {}, "_folder": self._folder, "_finalizer": None}


class NpyTarget(Target):
    """NumPy file, which is read back as a memory map. It is renamed to its final path when it is complete."""

    def __init__(self, path: str | os.PathLike[str], shape: tuple[int, ...], dtype: Any) -> None:
        self._path = check_folder(path)
        self._temporary = make_temporary(self._path)
        try:
            array = np.lib.format.open_memmap(self._temporary, mode="w+", dtype=dtype, shape=shape)
        except BaseException:
            self.abandon()
            raise
        self._file = MappedFile(self._temporary, array.dtype.str, _matrix(shape), array.offset)

    def write_rows(self, start: int, values: Any, keys: Any = None) -> None:
        """Write rows from `start` on."""
        self._file.write(start, values)

    def finish(self) -> Any:
        """Rename the file to its final path, and return it as a memory map."""
        _check_new(self._path)  # another process may have written it in the meantime
        move_into_place(self._temporary, self._path)
        return np.load(self._path, mmap_mode="r")

    def abandon(self) -> None:
        """Remove the partial result."""
        remove(self._temporary)


class ParquetTarget(Target):
    """Folder of Parquet files, one for each block. It is renamed to its final path when it is complete."""

    def __init__(self, path: str | os.PathLike[str], columns: Sequence[str]) -> None:
        self._path = check_folder(path)
        self._columns = list(columns)
        self._temporary = make_temporary(self._path, folder=True)

    def write_rows(self, start: int, values: Any, keys: Any = None) -> None:
        """Write rows from `start` on."""
        if len(values) == 0:  # the block that follows has the same file name
            return
        # If an engine runs a task again because a worker died, the task replaces the same file.
        name = f"part-{start:012d}.parquet"
        temporary = Path(self._temporary, f".{name}.{os.getpid()}")
        _write_table(_table(self._columns, values, keys), temporary)
        temporary.replace(Path(self._temporary, name))

    def finish(self) -> Any:
        """Rename the folder to its final path, and return the path."""
        _check_new(self._path)
        unlock(self._temporary)
        os.rename(self._temporary, self._path)
        return self._path

    def abandon(self) -> None:
        """Remove the partial result."""
        remove(self._temporary)


class UrlTarget(Target):
    """Folder of Parquet files in an object store, which cannot rename; it is complete once it has ``_SUCCESS``."""

    def __init__(self, url: str | os.PathLike[str], columns: Sequence[str]) -> None:
        self._url, self._columns = os.fspath(url), list(columns)

    def write_rows(self, start: int, values: Any, keys: Any = None) -> None:
        """Write rows from `start` on."""
        if len(values) == 0:
            return
        content = BytesIO()
        _write_table(_table(self._columns, values, keys), content)
        RemotePath(self._url).write_bytes(content.getvalue(), f"part-{start:012d}.parquet")

    def finish(self) -> Any:
        """Mark the folder as complete, and return its URL."""
        RemotePath(self._url).write_bytes(b"", "_SUCCESS")
        return self._url

    def abandon(self) -> None:
        """Remove the partial result."""
        RemotePath(self._url).unlink()


def make_target(
    out: str | os.PathLike[str] | None,
    n_rows: int,
    columns: Any,
    dtype: Any,
    key_names: Sequence[str] = (),
    *,
    is_sparse: bool = False,
) -> Target:
    """Return the target for the parameter `out` of a prediction.

    Parameters
    ----------
    out : str, path or None
        Path of a file or folder; None for memory.
    n_rows : int
        Number of rows.
    columns : sequence of str or None
        Names of the columns, or None for a single column of cluster numbers.
    dtype : dtype
        Type of the numbers.
    key_names : sequence of str, default=()
        Names of the columns that identify the samples, which are the first columns of Parquet files.
    is_sparse : bool, default=False
        Whether results are `SparseRows`. Parquet files contain lists of names of columns, and of values.
    """
    shape = (n_rows,) if columns is None else (n_rows, len(columns))
    if out is None:
        return SparseTarget() if is_sparse else MemoryTarget(shape, dtype)
    check_out(out)
    names = ["cluster"] if columns is None else list(SPARSE_COLUMNS) if is_sparse else list(columns)
    if to_path(out).suffix == ".parquet":
        check_key_names([name for name in key_names if name in names])
    if is_url(out):
        return UrlTarget(out, names)
    return NpyTarget(out, shape, dtype) if Path(out).suffix == ".npy" else ParquetTarget(out, names)


def check_key_names(names: Sequence[str]) -> None:
    """Raise if key columns have the names of result columns, because such Parquet files cannot be read."""
    if names:
        raise ValueError(
            f"key={names[0]!r} is the name of a column of the result, and Parquet files need different names; "
            "rename the key column of X, or write to a file that ends in .npy, which has no keys."
        )


def _table(columns: list[str], values: Any, keys: Any) -> Any:
    if isinstance(values, SparseRows):
        return _table_of_lists(columns, values, keys)
    if values.dtype.names is not None:
        result_columns = [np.ascontiguousarray(values[name]) for name in columns]
    else:
        result_columns = list(np.ascontiguousarray(np.atleast_2d(values.T)))
    names = [*([] if keys is None else keys.column_names), *columns]
    return import_pyarrow().table([*([] if keys is None else keys.columns), *result_columns], names=names)


def _table_of_lists(columns: list[str], values: SparseRows, keys: Any) -> Any:
    pyarrow = import_pyarrow()
    lists = [pyarrow.ListArray.from_arrays(values.starts, items) for items in (values.columns, values.values)]
    names = [*([] if keys is None else keys.column_names), *columns]
    return pyarrow.table([*([] if keys is None else keys.columns), *lists], names=names)


def _write_table(table: Any, file: Any) -> None:
    # Without a dictionary: values hardly repeat, so that building one would be slow and would increase the size.
    import_pyarrow().parquet.write_table(table, file, use_dictionary=False)


def check_out(out: Any, name: str = "out") -> None:
    """Raise unless `out` is None or the path of a new file; called before a fit, not after it.

    Existing files are never replaced: they may be the input data, or another result.
    """
    if out is None:
        return
    if not isinstance(out, (str, os.PathLike)) or to_path(out).suffix not in (".npy", ".parquet"):
        raise ValueError(f"{name} must be None or a path that ends in .npy or .parquet, got {out!r}.")
    if is_url(out):
        if to_path(out).suffix != ".parquet":
            raise ValueError(
                f"{name}={out!r} is a URL, which supports only Parquet files; use a path that ends in .parquet."
            )
        _check_new(to_path(out), name)
        return
    path = Path(out).absolute()
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{name}: the folder of {path} does not exist; create it first.")
    _check_new(path, name)
    if path.suffix == ".parquet":
        import_pyarrow()


def _check_new(path: Path | RemotePath, name: str = "out") -> None:
    """Raise if a file, folder or link with this path exists."""
    if path.exists() if isinstance(path, RemotePath) else os.path.lexists(path):
        location = path.url if isinstance(path, RemotePath) else path
        raise FileExistsError(
            f"{name}: {location} exists already and is not replaced; delete it or choose another name."
        )


def _allocate(path: str, dtype: Any, shape: tuple[int, ...]) -> MappedFile:
    file = MappedFile(path, np.dtype(dtype).str, _matrix(shape))
    os.truncate(path, math.prod(shape) * np.dtype(dtype).itemsize)
    return file


def _matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    return (shape[0], shape[1] if len(shape) > 1 else 1)
