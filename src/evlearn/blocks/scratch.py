"""Matrices in temporary files that every process can open by name."""

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
from evlearn.utils.files import lock, remove, remove_leftovers, unlock

#: File names of temporary files: the identity of the content, if known, and a random part.
_NAME = re.compile(r"\.evlearn-(?:([0-9a-f]{16})-)?[0-9a-f]{16}\.rows")


@dataclass(frozen=True)
class MappedFile:
    """Matrix in a file, in row-major order.

    Attributes
    ----------
    path : str
        Path of the file.
    dtype : str
        Type of the numbers.
    shape : tuple of int
        Numbers of rows and columns.
    offset : int, default=0
        Number of bytes before the first row.
    """

    path: str
    dtype: str
    shape: tuple[int, int]
    offset: int = 0

    def read_rows(self, start: int, stop: int) -> Any:
        """Return the rows from `start` to `stop`, mapped during the lifetime of the result."""
        # A separate map for each block, so that pages of earlier blocks do not stay in the memory of a worker.
        shape = (stop - start, self.shape[1])
        if 0 in shape:
            return np.empty(shape, self.dtype)
        offset = self.offset + start * self._row_bytes
        return np.memmap(self.path, dtype=self.dtype, mode="r", offset=offset, shape=shape)

    def write(self, start: int, rows: Any) -> None:
        """Write rows from row `start` on."""
        # Without a map: a full disk is an exception here, but would kill the process there.
        with open(self.path, "r+b") as file:
            file.seek(self.offset + start * self._row_bytes)
            file.write(np.ascontiguousarray(rows, dtype=self.dtype).data)

    @property
    def _row_bytes(self) -> int:
        return self.shape[1] * np.dtype(self.dtype).itemsize


class Scratch:
    """Temporary file, removed with its owner; leftovers of killed owners are removed when the next one is created.

    Parameters
    ----------
    folder : str, path or None
        Folder of the file; None for the system's folder for temporary files.
    n_bytes : int, default=0
        Size of the file, if it is known.
    identity : str, default=""
        Digest of the content, if it is known. If a killed process has left a complete file with this digest, it is
        reused, and `is_complete` is true.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, n_bytes: int = 0, identity: str = "") -> None:
        if folder is not None and not Path(folder).is_dir():
            raise FileNotFoundError(f"folder {str(folder)!r} does not exist; create it first.")
        self._folder, self._n_bytes = os.path.abspath(folder or tempfile.gettempdir()), n_bytes
        leftover = self._find_leftover(identity) if identity else None
        self.is_complete = leftover is not None
        remove_leftovers(self._folder, _NAME)
        if leftover is None:
            check_room(self._folder, n_bytes)
        self.path = leftover or _make(self._folder, identity)
        self._finalizer = weakref.finalize(self, _remove, self.path, os.getpid())

    @contextmanager
    def filling(self) -> Iterator[None]:
        """Mark the file as complete at the end of the context, and explain errors of a full disk."""
        with explain_full_disk(self._folder):
            yield
            if self._n_bytes:
                # One byte more than the rows need, which marks the file as complete.
                os.truncate(self.path, self._n_bytes + 1)
        self.is_complete = True

    def close(self) -> None:
        """Remove the file."""
        self._finalizer()

    def _find_leftover(self, identity: str) -> str | None:
        """Return the complete file that a killed process has left for this content, or None."""
        for name in os.listdir(self._folder):
            match = _NAME.fullmatch(name)
            if match is None or match[1] != identity:
                continue
            path = os.path.join(self._folder, name)
            if lock(path, strict=True):
                if os.path.getsize(path) == self._n_bytes + 1:
                    return path
                unlock(path)
        return None


def check_room(folder: str | os.PathLike[str], n_bytes: int) -> None:
    """Raise if a disk has too little space, before a file is written."""
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        reason = f"{n_bytes / 1e9:.3g} GB are needed, and {free / 1e9:.3g} GB are free"
        raise OSError(errno.ENOSPC, _full_disk_message(folder, reason))


@contextmanager
def explain_full_disk(folder: str) -> Iterator[None]:
    """Add the folder and a remedy to errors of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOSPC or folder in str(error):
            raise
        raise OSError(errno.ENOSPC, _full_disk_message(folder, "it is full")) from error


def _full_disk_message(folder: str | os.PathLike[str], reason: str) -> str:
    return (
        f"the folder {os.fspath(folder)} has no space for a temporary copy of X ({reason}). Free some space, or "
        "choose another folder: open_dataset(X, folder=...)"
    )


def spill(array: Any, folder: str | os.PathLike[str] | None) -> tuple[Scratch, MappedFile]:
    """Write a matrix in memory to a temporary file.

    Returns
    -------
    Scratch
        Temporary file.
    MappedFile
        Matrix in the file.
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
        if lock(path):  # another process may have removed an unlocked file
            return path


def _remove(path: str, owner: int) -> None:
    # A forked process inherits the finalizer, but does not own the file.
    if os.getpid() == owner:
        remove(path)
