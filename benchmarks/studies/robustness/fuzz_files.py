"""Mutated files of every kind that the library reads: models, partitions, checkpoints.

Each mutant is read, and used if it was accepted, by a process of its own batch, so that a signal is noticed and
known to which file it belongs. A file must be refused by a ValueError that names it, or be accepted and used; it
must take no memory beyond ten times its size and 100 MB, and start no thread and no process.

    python -m benchmarks.studies.robustness.fuzz_files --write

Results go to ``benchmarks/results/fuzz_files.json``; with ``--kinds``, those of other kinds in it are kept. Under
AddressSanitizer the same command runs with a library that was built for it: ``make sanitize``.
"""

import json
import mmap
import os
import resource
import struct
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.common import command_line, record
from benchmarks.studies.robustness.fuzz_subjects import make_subject, names, seed_of

MEGABYTE = 1 << 20
ROOM = 100 * MEGABYTE
BATCH = 500
SLOW_SECONDS = 5.0
#: Words of Python and NumPy that say nothing about a file.
INTERNAL = ("object has no attribute", "unsupported operand", "not subscriptable", "positional argument", "unpack")
SANITIZED = "libasan" in Path("/proc/self/maps").read_text()


def run(name, n_cases, seed=0):
    """What became of all mutants of a kind of file."""
    subject = make_subject(name)
    counts, failures = Counter(), []
    worst = {"memory_mb": 0.0, "seconds": 0.0}
    start = 0
    while start < n_cases:
        stop = min(start + BATCH, n_cases)
        outcome = _in_child(subject, name, seed, start, stop)
        counts.update(outcome["counts"])
        failures += outcome["failures"]
        worst = {key: max(value, outcome["worst"][key]) for key, value in worst.items()}
        start = outcome["next"]
    return {
        "cases": n_cases,
        "file_bytes": len(subject.content),
        "refused": counts["refused"],
        "loaded": counts["loaded"],
        "refused_in_use": counts["refused in use"],
        "not_finite_in_use": counts["not finite in use"],
        "signals": counts["signal"],
        "other_failures": len([one for one in failures if one["what"] != "signal"]),
        "worst_memory_mb": round(worst["memory_mb"], 1),
        "worst_seconds": round(worst["seconds"], 3),
        "failures": failures[:20],
    }


# Batches in a process of their own


def _in_child(subject, name, seed, start, stop):
    """The outcome of a batch; if the process is killed, that of the cases before, and the number of the next."""
    shared = mmap.mmap(-1, 8)
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        status = 1
        try:
            outcome = _batch(subject, name, seed, start, stop, shared)
            with os.fdopen(send, "wb") as pipe:
                pipe.write(json.dumps(outcome).encode())
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    if status == 0:
        return json.loads(told)
    number = struct.unpack("<q", shared[:8])[0]
    before = {"counts": {}, "failures": [], "worst": {"memory_mb": 0.0, "seconds": 0.0}}
    if number > start:
        before = _in_child(subject, name, seed, start, number)
    counts = Counter(before["counts"])
    counts["signal"] += 1
    how = f"status {status}, signal {os.WTERMSIG(status) if os.WIFSIGNALED(status) else None}"
    failures = [*before["failures"], {"kind": name, "case": number, "what": "signal", "message": how}]
    return {"counts": counts, "failures": failures, "worst": before["worst"], "next": number + 1}


def _batch(subject, name, seed, start, stop, shared):
    started = _watch_threads()
    counts, failures, worst = Counter(), [], {"memory_mb": 0.0, "seconds": 0.0}
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        for number in range(start, stop):
            shared[:8] = struct.pack("<q", number)
            content = subject.mutate(number, np.random.default_rng([*seed_of(name, seed), number]))
            path = Path(folder) / f"file{subject.suffix}"
            path.write_bytes(content)
            began = time.perf_counter()
            what, message, peak = _attempt(subject.use, path, len(content))
            counts[what] += 1
            seconds = time.perf_counter() - began
            worst = {
                "memory_mb": max(worst["memory_mb"], peak / MEGABYTE),
                "seconds": max(worst["seconds"], seconds),
            }
            wrong = what if what not in ("refused", "loaded", "refused in use", "not finite in use") else None
            wrong = "too much memory" if peak > 10 * len(content) + ROOM else wrong
            wrong = "a thread or process was started" if started else wrong
            wrong = "slow" if seconds > SLOW_SECONDS and not SANITIZED else wrong
            if wrong:
                failures.append(
                    {"kind": name, "case": number, "what": wrong, "message": f"{message} {started}"[:500]}
                )
                started.clear()
    return {"counts": counts, "failures": failures, "worst": worst, "next": stop}


def _attempt(use, path, size):
    """What became of a file, what was said, and the most memory that it took."""
    before = _rest()
    try:
        with _Limited(10 * size + ROOM):
            ask = use(path)
    except ValueError as error:
        said = str(error)
        if "Out of bounds on buffer access" in str(error.__cause__):  # said by kernels that were built to look
            return "out of bounds", said, _peak() - before
        vague = (
            f"{path.stem}." not in said
            or any(one in said for one in INTERNAL)
            or "more memory than there is" in said
        )
        return ("vague refusal" if vague else "refused"), said, _peak() - before
    except Exception as error:
        return "wrong error", _told(error), _peak() - before
    peak = _peak() - before
    try:
        with np.errstate(all="ignore"):
            return ("loaded" if ask() else "not finite in use"), "", peak
    except ValueError as error:
        return "refused in use", str(error), peak
    except Exception as error:
        return "wrong error in use", _told(error), peak


def _told(error):
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"


class _Limited:
    """No more address space than now and so many bytes; not under a sanitizer, which takes terabytes."""

    def __init__(self, n_bytes):
        self._bytes = n_bytes

    def __enter__(self):
        if not SANITIZED:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            limit = pages * mmap.PAGESIZE + self._bytes
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))

    def __exit__(self, *reason):
        if not SANITIZED:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _rest():
    """Forget the peak of memory so far, and say what is in use."""
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak():
    status = Path("/proc/self/status").read_text()
    return int(status[status.index("VmHWM:") + 6 :].split(None, 1)[0]) * 1024


def _watch_threads():
    """A list that tells of every thread and process that is started from now on."""
    started = []

    def noting(plain, what):
        def note(*arguments, **options):
            started.append(what)
            return plain(*arguments, **options)

        return note

    threading.Thread.start = noting(threading.Thread.start, "thread")
    os.fork = noting(os.fork, "process")
    os.posix_spawn = noting(os.posix_spawn, "process")
    return started


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="mutants of every kind of file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", help="some kinds of files; all if not given")
    parser.add_argument("--write", action="store_true", help="write the results to the record")
    options = parser.parse_args()
    results = {}
    for name in options.kinds or names():
        began = time.perf_counter()
        results[name] = run(name, options.cases, options.seed)
        told = {key: value for key, value in results[name].items() if key != "failures"}
        print(f"{name:<32} {time.perf_counter() - began:6.1f} s  {told}", flush=True)
        for failure in results[name]["failures"]:
            print("   ", failure, flush=True)
    print("all", total(results))
    if options.write:
        kinds = (record.read("fuzz_files")["kinds"] if options.kinds else {}) | results
        record.write("fuzz_files", {"seed": options.seed, "all": total(kinds), "kinds": kinds}, packages=["torch"])
    return 1 if total(results)["signals"] or total(results)["other_failures"] else 0


def total(results):
    """The outcomes of all kinds together, and the most memory that one file took."""
    counted = ("cases", "refused", "loaded", "refused_in_use", "not_finite_in_use", "signals", "other_failures")
    found = {key: sum(one[key] for one in results.values()) for key in counted}
    return found | {"worst_memory_mb": max(one["worst_memory_mb"] for one in results.values())}


if __name__ == "__main__":
    raise SystemExit(main())
