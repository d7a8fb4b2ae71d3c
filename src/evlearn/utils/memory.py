"""Amount of available memory."""

import os
import re
from pathlib import Path

_MACHINE, _CONTAINER = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def available_memory() -> int | None:
    """Return the number of bytes that this process can still use, of the machine or of its container.

    Returns
    -------
    int or None
        Number of bytes; the total memory of the machine if the amount in use is unknown, and None if nothing is
        known.
    """
    sizes = [size for size in (_of_machine(), _of_container()) if size is not None]
    return min(sizes, default=None)


def _of_machine() -> int | None:
    available = re.search(r"^MemAvailable: *(\d+) kB", _text(_MACHINE), re.MULTILINE)
    if available:
        return 1024 * int(available[1])
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf; some systems lack these names
        return None


def _of_container() -> int | None:
    limit = _text(_CONTAINER / "memory.max").strip()
    # Pages of cached files are not counted, because the system frees them when memory is short.
    in_use = re.search(r"^anon (\d+)", _text(_CONTAINER / "memory.stat"), re.MULTILINE)
    return max(int(limit) - int(in_use[1]), 0) if limit.isdigit() and in_use else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
