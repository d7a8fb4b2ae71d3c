"""Places that URLs name, such as a bucket of an object store: by pyarrow, or by fsspec, which knows more kinds."""

import os
import re
from importlib import import_module
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

    def exists(self) -> bool:
        """Whether there is something."""
        return bool(self.filesystem.get_file_info(self.path).type != need_pyarrow().fs.FileType.NotFound)

    def read(self) -> bytes:
        """All bytes of a file."""
        with self.filesystem.open_input_stream(self.path) as file:
            return bytes(file.read())

    def write(self, content: bytes, name: str = "") -> None:
        """Write a file, or one of a folder, as a whole: an object store shows it once it is closed."""
        path = f"{self.path.rstrip('/')}/{name}" if name else self.path
        self.filesystem.create_dir(path.rpartition("/")[0], recursive=True)
        with self.filesystem.open_output_stream(path) as file:
            file.write(content)

    def remove(self) -> None:
        """Remove a file, or a folder with all that is in it."""
        kinds, found = need_pyarrow().fs.FileType, self.filesystem.get_file_info(self.path).type
        if found == kinds.Directory:
            self.filesystem.delete_dir(self.path)
        elif found == kinds.File:
            self.filesystem.delete_file(self.path)


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
