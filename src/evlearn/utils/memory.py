"""How much memory there is."""

import os
import re
from pathlib import Path

_MACHINE, _CONTAINER = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def available_memory() -> int | None:
    """The bytes that a process can still take: those of the machine, or those of its container if these are fewer.

    Returns
    -------
    int or None
        The number of bytes; all that the machine has where it does not say how many are taken, and None where it
        says nothing.
    """
    said = [one for one in (_of_machine(), _of_container()) if one is not None]
    return min(said, default=None)


def _of_machine() -> int | None:
    available = re.search(r"^MemAvailable: *(\d+) kB", _text(_MACHINE), re.MULTILINE)
    if available:
        return 1024 * int(available[1])
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf, and some systems not these names
        return None


def _of_container() -> int | None:
    limit = _text(_CONTAINER / "memory.max").strip()
    # What is read from files is given up when memory is short.
    taken = re.search(r"^anon (\d+)", _text(_CONTAINER / "memory.stat"), re.MULTILINE)
    return max(int(limit) - int(taken[1]), 0) if limit.isdigit() and taken else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
