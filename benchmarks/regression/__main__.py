"""Two versions side by side, or one beside figures that were kept.

``python -m benchmarks.regression --commits A B`` builds two commits, A before and B after a change, and asks two
processes in turn, one of each. Builds are kept in ``build/regression``, and need what an editable install needs.
``python -m benchmarks.regression PYTHON`` does the same with the version that is at work here and that of the
interpreter PYTHON, in whose environment another one is installed. The cases are those of this checkout; one that a
version does not know is left out. Who goes first changes from round to round, and the ratio is that of the fastest
rounds: on a shared machine the slower ones measure the neighbours. ``--keep FILE`` writes the figures of this
version to a file, which can be given in place of PYTHON. Times are CPU seconds, memory is megabytes that NumPy and
Python allocate, and what is tracked (objectives, ratios to bare loops) is what it is. It takes a few minutes.
"""

import argparse
import importlib
import io
import json
import os
import pkgutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import tracemalloc
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILDS = ROOT / "build" / "regression"
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
    """Answer questions: the name of a case in, its figure out, or null where the version has no such thing."""
    known, ready, case = cases(), None, None
    print(json.dumps(list(known)), flush=True)
    for line in sys.stdin:
        kind, name, values = known[json.loads(line)]
        try:
            if ready != (kind, values):
                tear_down(case, ready)
                ready, case = (kind, values), kind()
                case.setup(*values)
            figure = measure(name, getattr(case, name), values)
        except (ImportError, AttributeError, TypeError) as error:
            print(f"{line.strip()}: {error}", file=sys.stderr)
            ready, case, figure = None, None, None
        print(json.dumps(figure), flush=True)
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

    def __init__(self, python, *options, places=None):
        words = [python, *options, "-m", __spec__.parent, "--serve"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        environment = os.environ | ({"PYTHONPATH": os.pathsep.join(places)} if places else {})
        self._process = subprocess.Popen(words, cwd=ROOT, text=True, env=environment, **pipes)
        self.names = json.loads(self._process.stdout.readline())

    @classmethod
    def of_commit(cls, commit):
        """A commit, with the packages of this environment but without the version that is installed in it."""
        packages = dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
        # Without site (-S), an editable install is not seen.
        return cls(sys.executable, "-S", places=[str(built(commit)), *packages])

    def ask(self, case):
        """The figure of a case, or None."""
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

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


def built(commit):
    """The folder in which a commit is installed; it is built if it is not there yet."""
    full = git("rev-parse", "--verify", f"{commit}^{{commit}}").decode().strip()
    folder = BUILDS / full
    if not folder.exists():
        BUILDS.mkdir(parents=True, exist_ok=True)
        print(f"building {commit} in build/regression", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(dir=BUILDS) as made:
            source, installed = Path(made, "source"), Path(made, "installed")
            with tarfile.open(fileobj=io.BytesIO(git("archive", full))) as files:
                files.extractall(source, filter="data")
            words = ["pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", installed, source]
            subprocess.run([sys.executable, "-m", *words], check=True)
            installed.rename(folder)
    return folder


def git(*words):
    """What git says about this checkout."""
    return subprocess.run(["git", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


def compare(now, other, chosen, rounds):
    """Print and give the figures of one version, beside those of the other one."""
    found = {}
    for name in (name for name in now.names if chosen in name):
        figures = {now: [], other: []}
        for number in range(rounds if ": time_" in name else 1):
            for version in (now, other) if number % 2 else (other, now):
                figures[version].append(version.ask(name) if version else None)
        ours, theirs = (min((one for one in of if one is not None), default=None) for of in figures.values())
        told = f"{ours / theirs:9.3f}" if ours is not None and theirs else ""
        print(f"{name:66}{written(ours)}{written(theirs) if other else ''}{told}", flush=True)
        if ours is not None:
            found[name] = ours
    return found


def written(figure):
    """A figure in its column."""
    return f"{'-':>12}" if figure is None else f"{figure:12.5g}"


def main():
    parser = argparse.ArgumentParser(
        f"python -m {__spec__.parent}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", nargs="?", type=Path, help="an interpreter that has another version, or a file")
    parser.add_argument("--case", default="", help="only cases whose name has this text in it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write the figures of this version to a file")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--commits", nargs=2, metavar=("A", "B"), help="compare two commits: before and after")
    given = parser.parse_args()
    if given.serve:
        serve()
        return
    if given.commits:
        other, now = map(Version.of_commit, given.commits)
    else:
        now = Version(sys.executable)
        other = given.other and (Kept(given.other) if given.other.suffix == ".json" else Version(str(given.other)))
    heads = given.commits[::-1] if given.commits else ("now", "before")
    print(f"{'':66}{heads[0]:>12}" + (f"{heads[1]:>12}{'ratio':>9}" if other else ""), flush=True)
    found = compare(now, other, given.case, given.rounds)
    for version in filter(None, (now, other)):
        version.close()
    if given.keep:
        given.keep.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
