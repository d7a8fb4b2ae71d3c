"""Where results of many rows go: memory, a NumPy file, or a folder of Parquet files."""

import os
import shutil
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evlearn.blocks.scratch import MappedFile, Scratch
from evlearn.utils.files import check_folder, make_temporary, take_name

_LOCK = threading.Lock()


class Target(ABC):
    """A matrix to be filled block by block, by one process or several."""

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

    def __init__(self, shape: tuple[int, int], dtype: Any) -> None:
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
            self._array[...] = self._file.read(0, len(self._array))
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
    """A NumPy file, which is read back as a memory map. It has its name only once it is whole."""

    def __init__(self, path: str | os.PathLike[str], shape: tuple[int, int], dtype: Any) -> None:
        self._path = check_folder(path)
        self._temporary = make_temporary(self._path)
        try:
            array = np.lib.format.open_memmap(self._temporary, mode="w+", dtype=dtype, shape=shape)
        except BaseException:
            self.abandon()
            raise
        self._file = MappedFile(self._temporary, array.dtype.str, shape, array.offset)

    def put(self, start: int, values: Any, keys: Any = None) -> None:
        """Write some rows."""
        self._file.write(start, values)

    def finish(self) -> Any:
        """Say that all rows are there."""
        take_name(self._temporary, self._path)
        return np.load(self._path, mmap_mode="r")

    def abandon(self) -> None:
        """Remove what has been written."""
        Path(self._temporary).unlink(missing_ok=True)


class ParquetTarget(Target):
    """A folder of Parquet files, one for each block. It has its name only once it is whole."""

    def __init__(self, path: str | os.PathLike[str], columns: Sequence[str]) -> None:
        self._path = check_folder(path)
        if self._path.exists():
            raise FileExistsError(f"{self._path.name} exists already; remove it or choose another name.")
        self._columns = list(columns)
        self._temporary = make_temporary(self._path, folder=True)

    def put(self, start: int, values: Any, keys: Any = None) -> None:
        """Write some rows."""
        if len(values) == 0:  # a file of its name may be that of the rows that follow
            return
        pyarrow = need_pyarrow()
        columns = [*([] if keys is None else keys.columns), *np.ascontiguousarray(values.T)]
        names = [*([] if keys is None else keys.column_names), *self._columns]
        table = pyarrow.table(columns, names=names)
        # A task that an engine runs twice, because a worker died, writes the same file twice.
        name = f"part-{start:012d}.parquet"
        temporary = Path(self._temporary, f".{name}.{os.getpid()}")
        # Numbers that hardly repeat: looking for those that do would take most of the time, and more room.
        pyarrow.parquet.write_table(table, temporary, use_dictionary=False)
        temporary.replace(Path(self._temporary, name))

    def finish(self) -> Path:
        """Say that all rows are there."""
        os.rename(self._temporary, self._path)
        return self._path

    def abandon(self) -> None:
        """Remove what has been written."""
        shutil.rmtree(self._temporary, ignore_errors=True)


def make_target(
    out: str | os.PathLike[str] | None, shape: tuple[int, int], dtype: Any, columns: Sequence[str]
) -> Target:
    """The target that the parameter `out` of a prediction stands for."""
    if out is None:
        return MemoryTarget(shape, dtype)
    check_out(out)
    if Path(out).suffix == ".npy":
        return NpyTarget(out, shape, dtype)
    need_pyarrow()
    return ParquetTarget(out, columns)


def check_out(out: Any, name: str = "out") -> None:
    """Raise unless `out` is None or the name of a file that results can go to; before a fit, and not after it."""
    if out is None:
        return
    if not isinstance(out, (str, os.PathLike)) or Path(out).suffix not in (".npy", ".parquet"):
        raise ValueError(f"{name} must be None or a path that ends in .npy or .parquet, got {out!r}.")
    if "://" in os.fspath(out):
        raise ValueError(f"{name} must be a path, and {out!r} is a URL; write to a folder and copy it there.")
    path = Path(out).absolute()
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{name}: the folder of {path} does not exist; make it first.")
    if path.suffix == ".parquet" and path.exists():
        raise FileExistsError(f"{name}: {path.name} exists already; remove it or choose another name.")
    if path.is_dir():
        raise IsADirectoryError(f"{name}: {path.name} is a folder; choose another name.")
    if path.suffix == ".parquet":
        need_pyarrow()


def need_pyarrow() -> Any:
    """pyarrow, or an error that says how to install it."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.dataset
        import pyarrow.fs
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            "Parquet files and columns by name need pyarrow; install it with: "
            "pip install 'evidential-learn[distributed]'."
        ) from error
    return pyarrow


def _sized(path: str, dtype: Any, shape: tuple[int, int]) -> MappedFile:
    file = MappedFile(path, np.dtype(dtype).str, shape)
    os.truncate(path, shape[0] * shape[1] * np.dtype(dtype).itemsize)
    return file
