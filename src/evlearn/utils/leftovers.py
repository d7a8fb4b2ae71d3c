"""Temporary files that outlive their process: who still holds one, and which may go.

A process that is killed removes nothing. So each locks its temporary files, the system ends the lock with the
process, and whoever makes the next temporary file there removes those that nobody holds.
"""

import os
import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

try:
    _fcntl: Any = import_module("fcntl")
except ImportError:  # on Windows, where an open file cannot be removed, and no folder be opened
    _fcntl = None

_HELD: dict[str, int] = {}


class _NoLocksError(Exception):
    """Where the file is, there are no locks."""


def hold(path: str, *, surely: bool = False) -> bool:
    """Lock a file or folder for as long as this process lives; False if another holds it, or has removed it.

    Some disks know no locks. There everybody holds what is theirs, and nobody knows what is not.
    """
    try:
        handle = _locked(path)
    except _NoLocksError:
        return not surely
    if handle is None:
        return False
    _HELD[path] = handle
    return True


def let_go(path: str) -> None:
    """Give up a lock."""
    handle = _HELD.pop(path, None)
    if handle is not None:
        os.close(handle)


def remove(path: str) -> None:
    """Remove a temporary file or folder of this process."""
    let_go(path)
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        Path(path).unlink(missing_ok=True)


def sweep(folder: str | os.PathLike[str], pattern: re.Pattern[str]) -> None:
    """Remove the temporary files and folders that processes of this user have left and that nobody holds.

    Parameters
    ----------
    folder : str or path
        The folder to clean up.
    pattern : re.Pattern
        The names of our temporary files. It must match the whole name and must be specific: a user's file with
        such a name would be removed.
    """
    with os.scandir(os.path.abspath(folder)) as entries:
        paths = [entry.path for entry in entries if pattern.fullmatch(entry.name) and _is_own(entry)]
    for path in paths:
        if path not in _HELD and hold(path, surely=True):
            try:
                remove(path)
            except OSError:
                let_go(path)  # somebody else's, or in use


def _is_own(entry: os.DirEntry[str]) -> bool:
    """Return True if an entry of a folder belongs to this user and is not a link, which we never make."""
    try:
        owner = entry.stat(follow_symlinks=False).st_uid
    except FileNotFoundError:  # removed meanwhile
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
