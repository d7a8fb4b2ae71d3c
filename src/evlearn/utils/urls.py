"""Files and folders at URLs, such as a bucket of an object store, by pyarrow or fsspec."""

import os
import re
from copy import copy
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

_URL = re.compile("[A-Za-z][A-Za-z0-9+.-]+://")


def is_url(path: Any) -> bool:
    """Return True if a path is a URL."""
    return isinstance(path, (str, os.PathLike)) and _URL.match(os.fspath(path)) is not None


class RemotePath:
    """File or folder at a URL.

    Parameters
    ----------
    url : str or path
        URL of the file or folder.

    Attributes
    ----------
    filesystem : pyarrow filesystem
        File system that contains it.
    path : str
        Path in the file system.
    """

    def __init__(self, url: str | os.PathLike[str]) -> None:
        self.url = os.fspath(url)
        pyarrow = import_pyarrow()
        try:
            self.filesystem, self.path = pyarrow.fs.FileSystem.from_uri(self.url)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
            try:
                other, self.path = import_module("fsspec").core.url_to_fs(self.url)
            except (ImportError, ValueError) as reason:
                raise ValueError(f"{self.url!r} is a URL that cannot be opened: {error}; {reason}.") from reason
            self.filesystem = pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(other))

    @property
    def name(self) -> str:
        """Last part of the path."""
        return PurePosixPath(self.path).name

    @property
    def suffix(self) -> str:
        """Suffix of the name."""
        return PurePosixPath(self.path).suffix

    def with_suffix(self, suffix: str) -> "RemotePath":
        """Return the path with another suffix."""
        other = copy(self)
        other.path = str(PurePosixPath(self.path).with_suffix(suffix))
        return other

    def exists(self) -> bool:
        """Return True if the file or folder exists."""
        return bool(self._kind != import_pyarrow().fs.FileType.NotFound)

    def is_file(self) -> bool:
        """Return True if the file exists."""
        return bool(self._kind == import_pyarrow().fs.FileType.File)

    def open(self, mode: str = "rb") -> Any:
        """Open the file for reading, the only supported mode."""
        return self.filesystem.open_input_file(self.path)

    def read_bytes(self) -> bytes:
        """Return the content of the file."""
        if not self.exists():
            raise FileNotFoundError(f"there is no {self.url}.")
        with self.open() as file:
            return bytes(file.read())

    def write_bytes(self, content: bytes, name: str = "") -> None:
        """Write a complete file, or a file of the folder: an object store shows it once it is closed."""
        path = f"{self.path.rstrip('/')}/{name}" if name else self.path
        self.filesystem.create_dir(path.rpartition("/")[0], recursive=True)
        with self.filesystem.open_output_stream(path) as file:
            file.write(content)

    def unlink(self, *, missing_ok: bool = True) -> None:
        """Remove the file, or the folder with its content."""
        kinds, kind = import_pyarrow().fs.FileType, self._kind
        if kind == kinds.Directory:
            self.filesystem.delete_dir(self.path)
        elif kind == kinds.File:
            self.filesystem.delete_file(self.path)

    @property
    def _kind(self) -> Any:
        return self.filesystem.get_file_info(self.path).type


def to_path(path: str | os.PathLike[str] | RemotePath) -> Path | RemotePath:
    """Return a path, or a remote path for a URL; both have the same methods for reading and removing."""
    if isinstance(path, RemotePath):
        return path
    return RemotePath(path) if is_url(path) else Path(path)


def import_pyarrow() -> Any:
    """Import pyarrow, or raise an error with the installation command."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.dataset
        import pyarrow.fs
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            "Parquet files, URLs and columns by name need pyarrow; install it with: "
            "pip install 'evidential-learn[distributed]'."
        ) from error
    return pyarrow
