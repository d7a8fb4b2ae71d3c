"""Matrices in files that every process can open by name."""

import errno
import os
import re
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evlearn.utils.chunks import row_blocks
from evlearn.utils.leftovers import hold, let_go, remove, sweep

#: Names of temporary files: the identity of the content, if it is known, and a random part.
_NAME = re.compile(r"\.evlearn-(?:([0-9a-f]{16})-)?[0-9a-f]{16}\.rows")


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
    """A temporary file that goes when its owner does, or when the next is made after its owner was killed.

    Parameters
    ----------
    folder : str, path or None
        Where the file is; None means the system's folder for temporary files.
    n_bytes : int, default=0
        How large it will be, if that is known.
    identity : str, default=""
        What it will hold, if that is known. Who is to make a file that a killed process has made already takes
        that one, and finds `whole` true.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, n_bytes: int = 0, identity: str = "") -> None:
        if folder is not None and not Path(folder).is_dir():
            raise FileNotFoundError(f"folder {str(folder)!r} does not exist; make it first.")
        self._folder, self._n_bytes = os.path.abspath(folder or tempfile.gettempdir()), n_bytes
        left = self._left(identity) if identity else None
        self.whole = left is not None
        sweep(self._folder, _NAME)
        if left is None:
            check_room(self._folder, n_bytes)
        self.path = left or _make(self._folder, identity)
        self._finalizer = weakref.finalize(self, _remove, self.path, os.getpid())

    @contextmanager
    def filling(self) -> Iterator[None]:
        """While the file is written: a disk that is full is an error that says so; and then it is whole."""
        with telling(self._folder):
            yield
            if self._n_bytes:
                # One byte more than the rows have, which no file has that is not whole.
                os.truncate(self.path, self._n_bytes + 1)
        self.whole = True

    def close(self) -> None:
        """Remove the file now."""
        self._finalizer()

    def _left(self, identity: str) -> str | None:
        """Return the complete file that a killed process has left for this content, or None."""
        for name in os.listdir(self._folder):
            match = _NAME.fullmatch(name)
            if match is None or match[1] != identity:
                continue
            path = os.path.join(self._folder, name)
            if hold(path, surely=True):
                if os.path.getsize(path) == self._n_bytes + 1:
                    return path
                let_go(path)
        return None


def check_room(folder: str | os.PathLike[str], n_bytes: int) -> None:
    """Raise unless a disk has so much room: before it is written, and not after hours."""
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        how = f"{n_bytes / 1e9:.3g} GB are needed, and {free / 1e9:.3g} GB are free"
        raise OSError(errno.ENOSPC, _no_room(folder, how))


@contextmanager
def telling(folder: str) -> Iterator[None]:
    """Let a disk that is full be an error that names the folder, and says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOSPC or folder in str(error):
            raise
        raise OSError(errno.ENOSPC, _no_room(folder, "it is full")) from error


def _no_room(folder: str | os.PathLike[str], how: str) -> str:
    return (
        f"the folder {os.fspath(folder)} has no room for a temporary copy of X ({how}). Make room, or name "
        "another folder: open_rows(X, folder=...)"
    )


def spill(array: Any, folder: str | os.PathLike[str] | None) -> tuple[Scratch, MappedFile]:
    """Write a matrix in memory to a temporary file.

    Returns
    -------
    Scratch
        The temporary file.
    MappedFile
        The matrix in it.
    """
    scratch = Scratch(folder, array.nbytes)
    with scratch.filling(), open(scratch.path, "wb") as file:
        for block in row_blocks(len(array)):
            file.write(np.ascontiguousarray(array[block]).data)
    return scratch, MappedFile(scratch.path, array.dtype.str, array.shape)


def _make(folder: str, identity: str) -> str:
    while True:
        name = f".evlearn-{identity}{'-' if identity else ''}{secrets.token_hex(8)}.rows"
        path = os.path.join(folder, name)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        if hold(path):  # or somebody has swept it already
            return path


def _remove(path: str, owner: int) -> None:
    # A process that was forked inherits the finalizer, but not the file.
    if os.getpid() == owner:
        remove(path)
