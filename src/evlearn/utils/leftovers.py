"""Locks of temporary files, and removal of those that killed processes have left.

A process that is killed removes nothing. Therefore each process locks its temporary files, the system releases the
locks when the process ends, and the next process that creates a temporary file there removes unlocked ones.
"""

import os
import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

try:
    _fcntl: Any = import_module("fcntl")
except ImportError:  # on Windows, which neither removes open files nor opens folders
    _fcntl = None

_LOCKS: dict[str, int] = {}


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
