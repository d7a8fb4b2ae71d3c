"""Where results of many rows go: memory, a NumPy file, or a folder of Parquet files."""

import math
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from evlearn.blocks.scratch import MappedFile, Scratch
from evlearn.utils.files import check_folder, make_temporary, take_name
from evlearn.utils.leftovers import let_go, remove
from evlearn.utils.places import Place, is_url, need_pyarrow, place_of

_LOCK = threading.Lock()


class Target(ABC):
    """A matrix to be filled block by block, by one process or several."""

    in_memory = False

    @abstractmethod
    def put(self, start: int, values: Any, keys: Any = None) -> None:
        """Write some rows; Parquet files also have a table of keys."""

    @abstractmethod
    def finish(self) -> Any:
        """Say that all rows are there."""

    @abstractmethod
    def abandon(self) -> None:
        """Remove what has been written; the matrix will not be finished."""


class MemoryTarget(Target):
    """An array in memory. Should tasks run in other processes, they fill a temporary file instead."""

    in_memory = True

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self._array: Any = np.empty(shape, dtype)
        self._file: MappedFile | None = None
        self._scratch: Scratch | None = None

    def put(self, start: int, values: Any, keys: Any = None) -> None:
        """Write some rows."""
        if self._file is not None:
            self._file.write(start, values)
        else:
            self._array[start : start + len(values)] = values

    def finish(self) -> Any:
        """Say that all rows are there."""
        if self._file is not None:
            self._array[...] = self._file.read(0, len(self._array)).reshape(self._array.shape)
        self.abandon()
        return self._array

    def abandon(self) -> None:
        """Remove the temporary file, where there is one."""
        if self._scratch is not None:
            self._scratch.close()

    def __getstate__(self) -> dict[str, Any]:
        with _LOCK:
            if self._file is None:
                self._scratch = Scratch(None)
                self._file = _sized(self._scratch.path, self._array.dtype, self._array.shape)
        return {"_array": None, "_file": self._file, "_scratch": None}


class NpyTarget(Target):
    """A NumPy file, which is read back as a memory map. It gets its name when it is complete."""

    def __init__(self, path: str | os.PathLike[str], shape: tuple[int, ...], dtype: Any) -> None:
        self._path = check_folder(path)
        self._temporary = make_temporary(self._path)
        try:
            array = np.lib.format.open_memmap(self._temporary, mode="w+", dtype=dtype, shape=shape)
        except BaseException:
            self.abandon()
            raise
        self._file = MappedFile(self._temporary, array.dtype.str, _matrix(shape), array.offset)

    def put(self, start: int, values: Any, keys: Any = None) -> None:
        """Write some rows."""
        self._file.write(start, values)

    def finish(self) -> Any:
        """Give the file its name and return it as a memory map."""
        _refuse_existing(self._path)  # another process may have written it meanwhile
        take_name(self._temporary, self._path)
        return np.load(self._path, mmap_mode="r")

    def abandon(self) -> None:
        """Remove what has been written."""
        remove(self._temporary)


class ParquetTarget(Target):
    """A folder of Parquet files, one for each block. It gets its name when it is complete."""

    def __init__(self, path: str | os.PathLike[str], columns: Sequence[str]) -> None:
        self._path = check_folder(path)
        self._columns = list(columns)
        self._temporary = make_temporary(self._path, folder=True)

    def put(self, start: int, values: Any, keys: Any = None) -> None:
        """Write some rows."""
        if len(values) == 0:  # a file of its name may be that of the rows that follow
            return
        # A task that an engine runs twice, because a worker died, writes the same file twice.
        name = f"part-{start:012d}.parquet"
        temporary = Path(self._temporary, f".{name}.{os.getpid()}")
        _write_table(_table(self._columns, values, keys), temporary)
        temporary.replace(Path(self._temporary, name))

    def finish(self) -> Any:
        """Give the folder its name and return its path."""
        _refuse_existing(self._path)
        let_go(self._temporary)
        os.rename(self._temporary, self._path)
        return self._path

    def abandon(self) -> None:
        """Remove what has been written."""
        remove(self._temporary)


class UrlTarget(Target):
    """A folder of Parquet files in an object store, which knows no other names: whole once it has ``_SUCCESS``."""

    def __init__(self, url: str | os.PathLike[str], columns: Sequence[str]) -> None:
        self._url, self._columns = os.fspath(url), list(columns)

    def put(self, start: int, values: Any, keys: Any = None) -> None:
        """Write some rows."""
        if len(values) == 0:
            return
        content = BytesIO()
        _write_table(_table(self._columns, values, keys), content)
        Place(self._url).write_bytes(content.getvalue(), f"part-{start:012d}.parquet")

    def finish(self) -> Any:
        """Say that all rows are there."""
        Place(self._url).write_bytes(b"", "_SUCCESS")
        return self._url

    def abandon(self) -> None:
        """Remove what has been written."""
        Place(self._url).unlink()


def make_target(
    out: str | os.PathLike[str] | None, n_rows: int, columns: Any, dtype: Any, key_names: Sequence[str] = ()
) -> Target:
    """Return the target that the parameter `out` of a prediction denotes.

    Parameters
    ----------
    out : str, path or None
        None for memory, or the name of a file or folder.
    n_rows : int
        The number of rows.
    columns : sequence of str or None
        The names of the columns, or None for one column of cluster numbers.
    dtype : dtype
        The type of the numbers.
    key_names : sequence of str, default=()
        The names of the columns that identify the samples, which Parquet files begin with.
    """
    shape = (n_rows,) if columns is None else (n_rows, len(columns))
    if out is None:
        return MemoryTarget(shape, dtype)
    check_out(out)
    names = ["cluster"] if columns is None else list(columns)
    if place_of(out).suffix == ".parquet":
        refuse_key_names([name for name in key_names if name in names])
    if is_url(out):
        return UrlTarget(out, names)
    return NpyTarget(out, shape, dtype) if Path(out).suffix == ".npy" else ParquetTarget(out, names)


def refuse_key_names(names: Sequence[str]) -> None:
    """Raise if there are key columns with the names of result columns: such Parquet files cannot be read."""
    if names:
        raise ValueError(
            f"key={names[0]!r} is the name of a column of the result, and Parquet files need different names; "
            "rename the key column of X, or write to a file that ends in .npy, which has no keys."
        )


def _table(columns: list[str], values: Any, keys: Any) -> Any:
    own = np.ascontiguousarray(np.atleast_2d(values.T))
    names = [*([] if keys is None else keys.column_names), *columns]
    return need_pyarrow().table([*([] if keys is None else keys.columns), *own], names=names)


def _write_table(table: Any, where: Any) -> None:
    # Numbers that hardly repeat: looking for those that do would take most of the time, and more room.
    need_pyarrow().parquet.write_table(table, where, use_dictionary=False)


def check_out(out: Any, name: str = "out") -> None:
    """Raise unless `out` is None or the name of a new file for results; before a fit, and not after it.

    An existing file is never replaced: it may be the data that are read, or another result.
    """
    if out is None:
        return
    if not isinstance(out, (str, os.PathLike)) or place_of(out).suffix not in (".npy", ".parquet"):
        raise ValueError(f"{name} must be None or a path that ends in .npy or .parquet, got {out!r}.")
    if is_url(out):
        if place_of(out).suffix != ".parquet":
            raise ValueError(f"{name}={out!r} is a URL, where only Parquet files can go; let it end in .parquet.")
        _refuse_existing(place_of(out), name)
        return
    path = Path(out).absolute()
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{name}: the folder of {path} does not exist; make it first.")
    _refuse_existing(path, name)
    if path.suffix == ".parquet":
        need_pyarrow()


def _refuse_existing(path: Path | Place, name: str = "out") -> None:
    """Raise if there is a file, folder or link of this name."""
    if path.exists() if isinstance(path, Place) else os.path.lexists(path):
        shown = path.url if isinstance(path, Place) else path
        raise FileExistsError(
            f"{name}: {shown} exists already and is not replaced; delete it or choose another name."
        )


def _sized(path: str, dtype: Any, shape: tuple[int, ...]) -> MappedFile:
    file = MappedFile(path, np.dtype(dtype).str, _matrix(shape))
    os.truncate(path, math.prod(shape) * np.dtype(dtype).itemsize)
    return file


def _matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    return (shape[0], shape[1] if len(shape) > 1 else 1)
