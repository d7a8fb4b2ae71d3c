"""Files that are whole or not there."""

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, overload
from urllib.parse import urlsplit
from urllib.request import url2pathname

from evlearn.utils.leftovers import hold, let_go, remove, sweep
from evlearn.utils.places import Place, is_url, place_of


@contextmanager
def replacing(path: str | os.PathLike[str] | Place) -> Iterator[IO[bytes]]:
    """Open a file to write; it takes its name, and the place of an older file, when it is complete."""
    path = check_folder(path)
    if isinstance(path, Place):
        content = BytesIO()
        yield content
        path.write_bytes(content.getvalue())
        return
    with naming(path):
        temporary = make_temporary(path)
        try:
            with open(temporary, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            take_name(temporary, path)
        except BaseException:
            remove(temporary)
            raise


def sweep_beside(path: Path) -> None:
    """Remove what killed processes have left of a file that should have taken this name."""
    sweep(path.parent, re.compile(rf"\.{re.escape(path.name)}\.evlearn-[0-9a-f]{{16}}"))


def make_temporary(path: Path, *, folder: bool = False) -> str:
    """Make an empty file, or folder, beside the one whose name and place it will take.

    It has the permissions of the older file, or else those that the system gives to new files of this user. It is
    held until it takes its name or is removed; what a killed process has left there goes first.
    """
    sweep_beside(path)
    while True:
        temporary = str(path.with_name(f".{path.name}.evlearn-{secrets.token_hex(8)}"))
        try:
            if folder:
                os.mkdir(temporary)
            else:
                # The system takes the user's mask from the mode. To read the mask, one would have to change it.
                mode = 0o666 if _mode(path) is None else 0o600
                os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        except FileExistsError:
            continue
        if hold(temporary) or folder:  # a file that is not there any more was swept by somebody
            return temporary


def take_name(temporary: str, path: Path) -> None:
    """Give a file that is whole its name, and the place and the permissions of an older file."""
    mode = _mode(path)
    if mode is not None:
        os.chmod(temporary, mode)
    let_go(temporary)
    os.replace(temporary, path)


def _mode(path: Path) -> int | None:
    """The permissions of a file; None if there is none."""
    try:
        return stat.S_IMODE(path.stat().st_mode) & 0o777
    except OSError:
        return None


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors of the system, such as a full disk, say which file could not be written."""
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError as error:
        told = type(error)(f"{path} could not be written: {error}")
        told.errno = error.errno
        raise told from error


@overload
def check_folder(path: str | os.PathLike[str]) -> Path: ...
@overload
def check_folder(path: str | os.PathLike[str] | Place) -> Path | Place: ...
def check_folder(path: str | os.PathLike[str] | Place) -> Path | Place:
    """The absolute path of a file to be written; raise if its folder does not exist. URLs need none."""
    path = place_of(path)
    if isinstance(path, Place):
        return path
    path = path.absolute()
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder of {path} does not exist; make it first.")
    return path


def same_file(first: str | os.PathLike[str] | Place, second: str | os.PathLike[str] | Place) -> bool:
    """Return True if 2 paths or URLs denote the same file or folder.

    Symbolic and hard links count as the file that they lead to. Neither path needs to exist: paths of new files
    are compared after links in their folders have been resolved. URLs other than ``file://`` are compared as text.
    """
    left, right = _local(first), _local(second)
    if is_url(left) or is_url(right):
        return left.rstrip("/") == right.rstrip("/")
    try:
        return os.path.samefile(left, right)
    except OSError:  # at least one of them does not exist
        return os.path.normcase(os.path.realpath(left)) == os.path.normcase(os.path.realpath(right))


def is_inside(path: str | os.PathLike[str] | Place, folder: str | os.PathLike[str] | Place) -> bool:
    """Return True if a path is below a folder, directly or through links."""
    inner, outer = _local(path), _local(folder)
    if is_url(inner) or is_url(outer):
        return inner.startswith(outer.rstrip("/") + "/")
    if not os.path.isdir(outer):
        return False
    parents = Path(os.path.realpath(inner)).parents
    if any(same_file(parent, outer) for parent in parents):
        return True
    # A hard link elsewhere to a file of the folder.
    return os.path.isfile(inner) and any(same_file(inner, file) for file in Path(outer).rglob("*"))


def _local(path: str | os.PathLike[str] | Place) -> str:
    """Return a path as text, and a ``file://`` URL as the path that it denotes."""
    text = path.url if isinstance(path, Place) else os.fspath(path)
    return url2pathname(urlsplit(text).path) if text.lower().startswith("file://") else text
