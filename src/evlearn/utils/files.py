"""Files that are written completely or not at all, and locks of temporary files.

A process that is killed removes nothing. Therefore each process locks its temporary files, the system releases the
locks when the process ends, and the next process that creates a temporary file there removes unlocked ones.
"""

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import IO, Any, overload
from urllib.parse import urlsplit

from evlearn.utils.urls import RemotePath, is_url, to_path

try:
    _fcntl: Any = import_module("fcntl")
except ImportError:  # on Windows, which neither removes open files nor opens folders
    _fcntl = None

_LOCKS: dict[str, int] = {}


@contextmanager
def atomic_write(path: str | os.PathLike[str] | RemotePath) -> Iterator[IO[bytes]]:
    """Open a file for writing; when it is complete, it replaces an older file of this name."""
    path = check_folder(path)
    if isinstance(path, RemotePath):
        content = BytesIO()
        yield content
        path.write_bytes(content.getvalue())
        return
    with name_file_in_errors(path):
        temporary = make_temporary(path)
        try:
            with open(temporary, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            move_into_place(temporary, path)
        except BaseException:
            remove(temporary)
            raise


def remove_leftovers_of(path: Path) -> None:
    """Remove temporary files of this path that killed processes have left."""
    remove_leftovers(path.parent, re.compile(rf"\.{re.escape(path.name)}\.evlearn-[0-9a-f]{{16}}"))


def make_temporary(path: Path, *, folder: bool = False) -> str:
    """Create an empty temporary file, or folder, beside its final path.

    It has the permissions of the older file, or the default permissions of new files of this user. It is locked
    until it is renamed or removed. Leftovers of killed processes are removed first.
    """
    remove_leftovers_of(path)
    while True:
        temporary = str(path.with_name(f".{path.name}.evlearn-{secrets.token_hex(8)}"))
        try:
            if folder:
                os.mkdir(temporary)
            else:
                # The system subtracts the user's mask from the mode. Reading the mask would require changing it.
                mode = 0o666 if _mode(path) is None else 0o600
                os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        except FileExistsError:
            continue
        if lock(temporary) or folder:  # another process may have removed an unlocked file
            return temporary


def move_into_place(temporary: str, path: Path) -> None:
    """Rename a complete file to its final path, with the permissions of an older file there."""
    mode = _mode(path)
    if mode is not None:
        os.chmod(temporary, mode)
    unlock(temporary)
    os.replace(temporary, path)


def _mode(path: Path) -> int | None:
    """Return the permissions of a file, or None if there is none."""
    try:
        return stat.S_IMODE(path.stat().st_mode) & 0o777
    except OSError:
        return None


@contextmanager
def name_file_in_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the name of the file to errors of the system, such as a full disk."""
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError as error:
        described = type(error)(f"{path} could not be written: {error}")
        described.errno = error.errno
        raise described from error


@overload
def check_folder(path: str | os.PathLike[str]) -> Path: ...
@overload
def check_folder(path: str | os.PathLike[str] | RemotePath) -> Path | RemotePath: ...
def check_folder(path: str | os.PathLike[str] | RemotePath) -> Path | RemotePath:
    """Return the absolute path of a file to write, and raise if its folder does not exist. URLs need no folder."""
    path = to_path(path)
    if isinstance(path, RemotePath):
        return path
    path = path.absolute()
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder of {path} does not exist; create it first.")
    return path


def same_file(first: str | os.PathLike[str] | RemotePath, second: str | os.PathLike[str] | RemotePath) -> bool:
    """Return True if 2 paths or URLs denote the same file or folder.

    Symbolic and hard links are resolved. Neither path needs to exist: paths of new files
    are compared after links in their folders have been resolved. URLs other than ``file://`` are compared as text.
    """
    left, right = _local(first), _local(second)
    if is_url(left) or is_url(right):
        return left.rstrip("/") == right.rstrip("/")
    try:
        return os.path.samefile(left, right)
    except OSError:  # at least one of them does not exist
        return os.path.normcase(os.path.realpath(left)) == os.path.normcase(os.path.realpath(right))


def is_inside(path: str | os.PathLike[str] | RemotePath, folder: str | os.PathLike[str] | RemotePath) -> bool:
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


def _local(path: str | os.PathLike[str] | RemotePath) -> str:
    """Return a path as text, and a ``file://`` URL as the path that it denotes."""
    text = path.url if isinstance(path, RemotePath) else os.fspath(path)
    if not text.lower().startswith("file://"):
        return text
    from urllib.request import url2pathname  # loads a client for HTTP

    return url2pathname(urlsplit(text).path)


class _NoLocksError(Exception):
    """The file system does not support locks."""


def lock(path: str, *, strict: bool = False) -> bool:
    """Lock a file or folder until this process ends; return False if another process locked or removed it.

    On file systems without locks, a process can lock its own files, and returns False if `strict` is True.
    """
    try:
        handle = _locked(path)
    except _NoLocksError:
        return not strict
    if handle is None:
        return False
    _LOCKS[path] = handle
    return True


def unlock(path: str) -> None:
    """Release a lock."""
    handle = _LOCKS.pop(path, None)
    if handle is not None:
        os.close(handle)


def remove(path: str) -> None:
    """Remove a temporary file or folder of this process."""
    unlock(path)
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        Path(path).unlink(missing_ok=True)


def remove_leftovers(folder: str | os.PathLike[str], pattern: re.Pattern[str]) -> None:
    """Remove unlocked temporary files and folders that processes of this user have left.

    Parameters
    ----------
    folder : str or path
        Folder to clean up.
    pattern : re.Pattern
        Pattern of the names of temporary files. It must match the whole name and must be specific: a user's file
        with such a name would be removed.
    """
    with os.scandir(os.path.abspath(folder)) as entries:
        paths = [entry.path for entry in entries if pattern.fullmatch(entry.name) and _is_own(entry)]
    for path in paths:
        if path not in _LOCKS and lock(path, strict=True):
            try:
                remove(path)
            except OSError:
                unlock(path)  # not ours, or in use


def _is_own(entry: os.DirEntry[str]) -> bool:
    """Return True if an entry of a folder belongs to this user and is not a link."""
    try:
        owner = entry.stat(follow_symlinks=False).st_uid
    except FileNotFoundError:  # removed in the meantime
        return False
    return not entry.is_symlink() and (not hasattr(os, "geteuid") or owner == os.geteuid())


def _locked(path: str) -> int | None:
    if _fcntl is None and os.path.isdir(path):
        return None
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        if _fcntl is not None:
            _fcntl.flock(handle, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), os.stat(path)):
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError as error:
        os.close(handle)
        raise _NoLocksError from error
    os.close(handle)
    return None
