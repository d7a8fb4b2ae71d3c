"""Places that URLs name, such as a bucket of an object store: by pyarrow, or by fsspec, which knows more kinds."""

import os
import re
from copy import copy
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

_URL = re.compile("[A-Za-z][A-Za-z0-9+.-]+://")


def is_url(path: Any) -> bool:
    """Whether a path is a URL."""
    return isinstance(path, (str, os.PathLike)) and _URL.match(os.fspath(path)) is not None


class Place:
    """A file or folder that a URL names.

    Parameters
    ----------
    url : str or path
        The URL.

    Attributes
    ----------
    filesystem : pyarrow filesystem
        Where it is.
    path : str
        Its path there.
    """

    def __init__(self, url: str | os.PathLike[str]) -> None:
        self.url = os.fspath(url)
        pyarrow = need_pyarrow()
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
        """The last part of its path."""
        return PurePosixPath(self.path).name

    @property
    def suffix(self) -> str:
        """How its name ends."""
        return PurePosixPath(self.path).suffix

    def with_suffix(self, suffix: str) -> "Place":
        """The same place with another ending of the name."""
        other = copy(self)
        other.path = str(PurePosixPath(self.path).with_suffix(suffix))
        return other

    def exists(self) -> bool:
        """Whether there is something."""
        return bool(self._kind != need_pyarrow().fs.FileType.NotFound)

    def is_file(self) -> bool:
        """Whether there is a file."""
        return bool(self._kind == need_pyarrow().fs.FileType.File)

    def open(self, mode: str = "rb") -> Any:
        """Open the file to read, which is the only mode."""
        return self.filesystem.open_input_file(self.path)

    def read_bytes(self) -> bytes:
        """All bytes of the file."""
        if not self.exists():
            raise FileNotFoundError(f"there is no {self.url}.")
        with self.open() as file:
            return bytes(file.read())

    def write_bytes(self, content: bytes, name: str = "") -> None:
        """Write a file, or one of a folder, as a whole: an object store shows it once it is closed."""
        path = f"{self.path.rstrip('/')}/{name}" if name else self.path
        self.filesystem.create_dir(path.rpartition("/")[0], recursive=True)
        with self.filesystem.open_output_stream(path) as file:
            file.write(content)

    def unlink(self, *, missing_ok: bool = True) -> None:
        """Remove the file, or the folder with all that is in it."""
        kinds, found = need_pyarrow().fs.FileType, self._kind
        if found == kinds.Directory:
            self.filesystem.delete_dir(self.path)
        elif found == kinds.File:
            self.filesystem.delete_file(self.path)

    @property
    def _kind(self) -> Any:
        return self.filesystem.get_file_info(self.path).type


def place_of(path: str | os.PathLike[str] | Place) -> Path | Place:
    """A path, or the place of a URL; both are read and removed by the same names."""
    if isinstance(path, Place):
        return path
    return Place(path) if is_url(path) else Path(path)


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
            "Parquet files, URLs and columns by name need pyarrow; install it with: "
            "pip install 'evidential-learn[distributed]'."
        ) from error
    return pyarrow
