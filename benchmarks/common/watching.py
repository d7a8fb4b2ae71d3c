"""Time and memory of a process and all its children, and a hard limit on their memory."""

import os
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

_INTERVAL = 0.2  # seconds


class Watch:
    """Laps of elapsed and CPU time, and the peak memory, of this process and all its descendants.

    The first lap starts at `since` (a result of `clock_times`), or when the context is entered. Memory counts
    pages shared by several processes once (Pss). It includes pages of mapped files, which the kernel can reclaim;
    private memory excludes them.
    """

    def __init__(self, since=None):
        self._since = since

    def __enter__(self):
        self.laps, self.peak, self.peak_private = {}, 0, 0
        self._stop = threading.Event()
        self._last = self._since or clock_times()
        self._thread = threading.Thread(target=self._sample_memory, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._stop.set()
        self._thread.join()

    def lap(self, name):
        """Record the time since the last lap."""
        end = clock_times()
        wall, cpu = (stop - start for stop, start in zip(end, self._last, strict=True))
        self.laps[name] = {"wall": round(wall, 3), "cpu": round(cpu, 3)}
        self._last = end

    def _sample_memory(self):
        while not self._stop.wait(_INTERVAL):
            total, private = memory_bytes()
            self.peak, self.peak_private = max(self.peak, total), max(self.peak_private, private)


def clock_times():
    """Return elapsed and CPU seconds, from which a lap can start."""
    return time.perf_counter(), cpu_seconds()


def family():
    """Return this process and all its descendants."""
    process = psutil.Process()
    return [process, *process.children(recursive=True)]


_CPU_SECONDS = {}


def cpu_seconds():
    """Return the CPU seconds of this process and all its descendants, including those that have ended."""
    for member in family():
        with suppress(psutil.Error):
            _CPU_SECONDS[member.pid] = sum(member.cpu_times()[:2])
    return sum(_CPU_SECONDS.values())


def memory_bytes():
    """Return the memory of this process and all its descendants, in total and without pages of files."""
    total = private = 0
    for member in family():
        try:
            lines = Path(f"/proc/{member.pid}/smaps_rollup").read_text().splitlines()[1:]
        except OSError:  # the process has ended
            continue
        sizes = {name: int(value.split()[0]) * 1024 for name, value in (line.split(":", 1) for line in lines)}
        total += sizes["Pss"]
        private += sizes["Pss_Anon"] + sizes["Pss_Shmem"]
    return total, private


@contextmanager
def limited(limit):
    """Create a control group whose processes may use `limit` bytes of memory, including cached files.

    Yield a function that adds the calling process to the group, or None without the permission to create one.
    """
    group = _make_group(limit) if limit else None
    if group is None:
        yield None
        return
    try:
        yield lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        _remove(group)


def _remove(group):
    for _ in range(100):  # the last processes of a run may still be ending
        try:
            group.rmdir()
            return
        except OSError:
            time.sleep(0.1)


def _make_group(limit):
    for root, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = Path(root, f"evlearn-{os.getpid()}")
        if Path(root, "cgroup.procs").exists():
            try:
                group.mkdir()
                (group / name).write_text(str(limit))
                return group
            except OSError:
                continue
    return None
