"""Files that are whole or not there."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file to write; it takes its name, and the place of an older file, only once it is whole.

    Parameters
    ----------
    path : str or path
        The file.

    Yields
    ------
    file
        A temporary file beside it.
    """
    path = check_folder(path)
    with naming(path):
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o666 & ~umask())
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors of the system, such as a full disk, say which file could not be written.

    Parameters
    ----------
    path : str or path
        The file, as the user knows it.
    """
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError as error:
        told = type(error)(f"{path} could not be written: {error}")
        told.errno = error.errno
        raise told from error


def check_folder(path: str | os.PathLike[str]) -> Path:
    """The absolute path of a file to be written; raise if its folder does not exist.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    Path
        Its absolute path.
    """
    path = Path(path).absolute()
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder of {path} does not exist; make it first.")
    return path


def umask() -> int:
    """The permissions that the user takes from new files.

    Returns
    -------
    int
        The mask.
    """
    current = os.umask(0)
    os.umask(current)
    return current
