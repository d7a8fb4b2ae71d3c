"""Time and memory of a process and all its children, watched while they work; and a hard limit to their memory."""

import os
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

_EVERY = 0.2  # seconds


class Watch:
    """Laps of elapsed and CPU time, and the peak of memory, of this process and all below it.

    The first lap begins at `since`, which `now` has given, or else where the watch is entered. Memory counts pages
    of several processes once (Pss). Pages of mapped files are in it, although the kernel takes them back when it
    needs them; private memory is without them.
    """

    def __init__(self, since=None):
        self._since = since

    def __enter__(self):
        self.laps, self.peak, self.peak_private = {}, 0, 0
        self._stop = threading.Event()
        self._last = self._since or now()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._stop.set()
        self._thread.join()

    def lap(self, name):
        """What has passed since the last lap."""
        ended = now()
        wall, cpu = (after - before for after, before in zip(ended, self._last, strict=True))
        self.laps[name] = {"wall": round(wall, 3), "cpu": round(cpu, 3)}
        self._last = ended

    def _look(self):
        while not self._stop.wait(_EVERY):
            total, private = memory_bytes()
            self.peak, self.peak_private = max(self.peak, total), max(self.peak_private, private)


def now():
    """Elapsed and CPU seconds, from which a lap can begin."""
    return time.perf_counter(), cpu_seconds()


def family():
    """The process that asks, and all below it."""
    own = psutil.Process()
    return [own, *own.children(recursive=True)]


_SEEN = {}


def cpu_seconds():
    """CPU seconds of this process and of all below it, also of those that have ended since the last look."""
    for member in family():
        with suppress(psutil.Error):
            _SEEN[member.pid] = sum(member.cpu_times()[:2])
    return sum(_SEEN.values())


def memory_bytes():
    """Memory of this process and all below it, and the part of it that is no page of a file."""
    total = private = 0
    for member in family():
        try:
            lines = Path(f"/proc/{member.pid}/smaps_rollup").read_text().splitlines()[1:]
        except OSError:  # it has ended
            continue
        sizes = {name: int(value.split()[0]) * 1024 for name, value in (line.split(":", 1) for line in lines)}
        total += sizes["Pss"]
        private += sizes["Pss_Anon"] + sizes["Pss_Shmem"]
    return total, private


@contextmanager
def limited(limit):
    """A control group whose processes, with the files they cache, are held to `limit` bytes by the kernel.

    Gives a function that a process calls to enter it, or None where the right to make such a group is missing.
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
