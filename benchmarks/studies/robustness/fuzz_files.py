"""Fuzzing of all kinds of files that the library reads: models, partitions, checkpoints.

Each mutant is loaded, and used if it is accepted, in a separate process per batch, so that a signal can be
attributed to a file. A file must be rejected by a ValueError that contains its name, or be accepted and usable; it
may use at most 10 times its size and 100 MB of memory, and must not start a thread or a process.

    python -m benchmarks.studies.robustness.fuzz_files --write

Results are written to ``benchmarks/results/fuzz_files.json``; with ``--kinds``, those of other kinds are kept. The
same command runs under AddressSanitizer with a library that was built for it: ``make sanitize``.
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
#: Words in internal errors of Python and NumPy.
INTERNAL = ("object has no attribute", "unsupported operand", "not subscriptable", "positional argument", "unpack")
SANITIZED = "libasan" in Path("/proc/self/maps").read_text()


def run(name, n_cases, seed=0):
    """Return the outcomes of all mutants of a kind of file."""
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
        "other_failures": len([failure for failure in failures if failure["what"] != "signal"]),
        "worst_memory_mb": round(worst["memory_mb"], 1),
        "worst_seconds": round(worst["seconds"], 3),
        "failures": failures[:20],
    }


# Batches in a separate process


def _in_child(subject, name, seed, start, stop):
    """Return the outcome of a batch; after a signal, that of the previous cases and the number of the next."""
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
        output = pipe.read()
    _, status = os.waitpid(child, 0)
    if status == 0:
        return json.loads(output)
    number = struct.unpack("<q", shared[:8])[0]
    previous = {"counts": {}, "failures": [], "worst": {"memory_mb": 0.0, "seconds": 0.0}}
    if number > start:
        previous = _in_child(subject, name, seed, start, number)
    counts = Counter(previous["counts"])
    counts["signal"] += 1
    description = f"status {status}, signal {os.WTERMSIG(status) if os.WIFSIGNALED(status) else None}"
    failures = [*previous["failures"], {"kind": name, "case": number, "what": "signal", "message": description}]
    return {"counts": counts, "failures": failures, "worst": previous["worst"], "next": number + 1}


def _batch(subject, name, seed, start, stop, shared):
    events = _watch_threads()
    counts, failures, worst = Counter(), [], {"memory_mb": 0.0, "seconds": 0.0}
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        for number in range(start, stop):
            shared[:8] = struct.pack("<q", number)
            content = subject.mutate(number, np.random.default_rng([*seed_of(name, seed), number]))
            path = Path(folder) / f"file{subject.suffix}"
            path.write_bytes(content)
            begin = time.perf_counter()
            outcome, message, peak = _attempt(subject.use, path, len(content))
            counts[outcome] += 1
            seconds = time.perf_counter() - begin
            worst = {
                "memory_mb": max(worst["memory_mb"], peak / MEGABYTE),
                "seconds": max(worst["seconds"], seconds),
            }
            fault = (
                outcome if outcome not in ("refused", "loaded", "refused in use", "not finite in use") else None
            )
            fault = "too much memory" if peak > 10 * len(content) + ROOM else fault
            fault = "a thread or process was started" if events else fault
            fault = "slow" if seconds > SLOW_SECONDS and not SANITIZED else fault
            if fault:
                failures.append(
                    {"kind": name, "case": number, "what": fault, "message": f"{message} {events}"[:500]}
                )
                events.clear()
    return {"counts": counts, "failures": failures, "worst": worst, "next": stop}


def _attempt(use, path, size):
    """Return the outcome of a file, the message, and the peak memory."""
    initial = _reset_peak()
    try:
        with _MemoryLimit(10 * size + ROOM):
            check = use(path)
    except ValueError as error:
        message = str(error)
        if "Out of bounds on buffer access" in str(error.__cause__):  # raised by kernels that check bounds
            return "out of bounds", message, _peak() - initial
        is_vague = (
            f"{path.stem}." not in message
            or any(word in message for word in INTERNAL)
            or "more memory than there is" in message
        )
        return ("vague refusal" if is_vague else "refused"), message, _peak() - initial
    except Exception as error:
        return "wrong error", _describe(error), _peak() - initial
    peak = _peak() - initial
    try:
        with np.errstate(all="ignore"):
            return ("loaded" if check() else "not finite in use"), "", peak
    except ValueError as error:
        return "refused in use", str(error), peak
    except Exception as error:
        return "wrong error in use", _describe(error), peak


def _describe(error):
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"


class _MemoryLimit:
    """Limit of the address space to the current size plus a number of bytes; disabled under a sanitizer."""

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


def _reset_peak():
    """Reset the peak of memory and return the current usage."""
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak():
    status = Path("/proc/self/status").read_text()
    return int(status[status.index("VmHWM:") + 6 :].split(None, 1)[0]) * 1024


def _watch_threads():
    """Return a list that records all threads and processes started from now on."""
    events = []

    def recorder(function, kind):
        def record_and_call(*arguments, **options):
            events.append(kind)
            return function(*arguments, **options)

        return record_and_call

    threading.Thread.start = recorder(threading.Thread.start, "thread")
    os.fork = recorder(os.fork, "process")
    os.posix_spawn = recorder(os.posix_spawn, "process")
    return events


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="number of mutants of each kind of file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", help="kinds of files (default: all)")
    parser.add_argument("--write", action="store_true", help="write the results to the record")
    options = parser.parse_args()
    results = {}
    for name in options.kinds or names():
        begin = time.perf_counter()
        results[name] = run(name, options.cases, options.seed)
        counts = {key: value for key, value in results[name].items() if key != "failures"}
        print(f"{name:<32} {time.perf_counter() - begin:6.1f} s  {counts}", flush=True)
        for failure in results[name]["failures"]:
            print("   ", failure, flush=True)
    print("all", total(results))
    if options.write:
        former = record.load_if_recorded("fuzz_files") if options.kinds else {}
        kinds = former.get("kinds", {}) | results
        facts = {"seed": options.seed, "all": total(kinds), "kinds": kinds}
        record.write("fuzz_files", facts, ["torch"], former=former)
    return 1 if total(results)["signals"] or total(results)["other_failures"] else 0


def total(results):
    """Return the outcomes over all kinds, and the largest peak memory of a file."""
    keys = ("cases", "refused", "loaded", "refused_in_use", "not_finite_in_use", "signals", "other_failures")
    counts = {key: sum(result[key] for result in results.values()) for key in keys}
    return counts | {"worst_memory_mb": max(result["worst_memory_mb"] for result in results.values())}


if __name__ == "__main__":
    raise SystemExit(main())
