"""Matrices in files that every process can open by name."""

import os
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evlearn.utils.chunks import row_blocks


@dataclass(frozen=True)
class MappedFile:
    """A matrix in a file, row after row.

    Attributes
    ----------
    path : str
        The file.
    dtype : str
        The type of its numbers.
    shape : tuple of int
        Rows and columns.
    offset : int, default=0
        The bytes before the first row.
    """

    path: str
    dtype: str
    shape: tuple[int, int]
    offset: int = 0

    def read(self, start: int, stop: int) -> Any:
        """Rows from `start` to `stop`, mapped for as long as the result lives."""
        # A map of its own for each block: what has been read does not stay in the memory of a worker.
        shape = (stop - start, self.shape[1])
        if 0 in shape:
            return np.empty(shape, self.dtype)
        where = self.offset + start * self._row_bytes
        return np.memmap(self.path, dtype=self.dtype, mode="r", offset=where, shape=shape)

    def write(self, start: int, rows: Any) -> None:
        """Write rows at their place."""
        # Written and not mapped: a full disk is an error here, and would be the end of the process there.
        with open(self.path, "r+b") as file:
            file.seek(self.offset + start * self._row_bytes)
            file.write(np.ascontiguousarray(rows, dtype=self.dtype).data)

    @property
    def _row_bytes(self) -> int:
        return self.shape[1] * np.dtype(self.dtype).itemsize


class Scratch:
    """A temporary file that goes when its owner does."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        if folder is not None and not Path(folder).is_dir():
            raise FileNotFoundError(f"folder {str(folder)!r} does not exist; make it first.")
        handle, self.path = tempfile.mkstemp(prefix="evlearn-", suffix=".rows", dir=folder)
        os.close(handle)
        self._finalizer = weakref.finalize(self, _remove, self.path, os.getpid())

    def close(self) -> None:
        """Remove the file now."""
        self._finalizer()


def spill(array: Any, folder: str | os.PathLike[str] | None) -> tuple[Scratch, MappedFile]:
    """Write a matrix in memory to a temporary file.

    Returns
    -------
    Scratch
        The temporary file.
    MappedFile
        The matrix in it.
    """
    scratch = Scratch(folder)
    with open(scratch.path, "wb") as file:
        for block in row_blocks(len(array)):
            file.write(np.ascontiguousarray(array[block]).data)
    return scratch, MappedFile(scratch.path, array.dtype.str, array.shape)


def _remove(path: str, owner: int) -> None:
    # A process that was forked inherits the finalizer, but not the file.
    if os.getpid() == owner:
        Path(path).unlink(missing_ok=True)
