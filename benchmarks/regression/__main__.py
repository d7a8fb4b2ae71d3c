"""One version beside another one, or beside figures that were kept.

``python -m benchmarks.regression PYTHON`` asks two processes in turn, one of this version and one of the
interpreter PYTHON, in whose environment the other version is installed. The cases are those of this checkout. Who
goes first changes from round to round, and the ratio is that of the fastest rounds: on a shared machine the slower
ones measure the neighbours. ``--keep FILE`` writes the figures of this version to a file, which can be given in
place of PYTHON. Times are CPU seconds, memory is megabytes that NumPy and Python allocate, and an objective is
what it is. It takes a minute or two.
"""

import argparse
import importlib
import json
import pkgutil
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("time_", "peakmem_", "track_")
LEAST = 0.05  # CPU seconds of a round: short cases are called many times


def cases():
    """What is measured: name -> (class, name of the method, parameters)."""
    package, found = __spec__.parent, {}
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if module.name == "__main__":
            continue
        loaded = importlib.import_module(f"{package}.{module.name}")
        for one in vars(loaded).values():
            if isinstance(one, type) and one.__module__ == loaded.__name__:
                names = [name for name in dir(one) if name.startswith(KINDS)]
                for values in [(value,) for value in one.params] if hasattr(one, "params") else [()]:
                    told = " ".join([f"{module.name}.{one.__name__}", *values])
                    found |= {f"{told}: {name}": (one, name, values) for name in names}
    return found


def serve():
    """Answer questions: a line with the name of a case in, its figure out."""
    known, ready, case = cases(), None, None
    print(json.dumps(list(known)), flush=True)
    for line in sys.stdin:
        kind, name, values = known[json.loads(line)]
        if ready != (kind, values):
            tear_down(case, ready)
            ready, case = (kind, values), kind()
            case.setup(*values)
        print(measure(name, getattr(case, name), values), flush=True)
    tear_down(case, ready)


def tear_down(case, ready):
    """Remove what the setup of a case has made."""
    if hasattr(case, "teardown"):
        case.teardown(*ready[1])


def measure(name, call, values):
    """CPU seconds, megabytes or what is tracked."""
    if name.startswith("track_"):
        return call(*values)
    if name.startswith("peakmem_"):
        tracemalloc.start()
        call(*values)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        return peak
    start, calls = time.process_time(), 0
    while calls == 0 or time.process_time() - start < LEAST:
        call(*values)
        calls += 1
    return (time.process_time() - start) / calls


class Version:
    """A process of one version, which is asked for figures."""

    def __init__(self, python):
        words = [python, "-m", __spec__.parent, "--serve"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(words, cwd=ROOT, text=True, **pipes)
        self.names = json.loads(self._process.stdout.readline())

    def ask(self, case):
        """The figure of a case."""
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self):
        """End the process."""
        self._process.stdin.close()
        self._process.wait()


class Kept:
    """Figures of a file."""

    def __init__(self, path):
        self._figures = json.loads(path.read_text())

    def ask(self, case):
        """The figure of a case, or None."""
        return self._figures.get(case)

    def close(self):
        """Nothing is open."""


def compare(other, chosen, rounds):
    """Print and give the figures of this version, beside those of the other one."""
    now, found = Version(sys.executable), {}
    for name in (name for name in now.names if chosen in name):
        figures = {now: [], other: []}
        for number in range(rounds if ": time_" in name else 1):
            for version in (now, other) if number % 2 else (other, now):
                figures[version].append(version.ask(name) if version else None)
        found[name] = min(figures[now])
        known = [one for one in figures[other] if one is not None]
        before = f"{min(known):12.5g}{found[name] / min(known):9.3f}" if known else ""
        print(f"{name:66}{found[name]:12.5g}{before}", flush=True)
    now.close()
    return found


def main():
    parser = argparse.ArgumentParser(
        f"python -m {__spec__.parent}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", nargs="?", type=Path, help="an interpreter that has another version, or a file")
    parser.add_argument("--case", default="", help="only cases whose name has this text in it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write the figures of this version to a file")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
        return
    other = given.other and (Kept(given.other) if given.other.suffix == ".json" else Version(str(given.other)))
    print(f"{'':66}{'now':>12}" + (f"{'before':>12}{'ratio':>9}" if other else ""))
    found = compare(other, given.case, given.rounds)
    if other:
        other.close()
    if given.keep:
        given.keep.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
