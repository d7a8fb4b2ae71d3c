"""Comparison of 2 versions, or of one version with recorded figures.

``python -m benchmarks.regression --commits A B`` builds 2 commits, A before and B after a change, and runs the
cases in alternation in 2 processes, one per commit. Builds are cached in ``build/regression`` and require the
packages of an editable install. ``python -m benchmarks.regression PYTHON`` compares the current version with the
one that is installed in the environment of the interpreter PYTHON. The cases are those of this checkout; cases
that a version does not support are skipped. The order alternates from round to round, and the ratio is that of the
fastest rounds, because slower ones are disturbed by other processes. ``--keep FILE`` writes the figures of this
version to a file, which can replace PYTHON. Times are CPU seconds, memory is megabytes that NumPy and Python
allocate, and tracked values (objectives, ratios to bare loops) have no unit. It takes a few minutes.
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
MIN_SECONDS = 0.05  # minimum CPU seconds of a round; short cases are called several times


def cases():
    """Return the measured cases: name -> (class, name of the method, parameters)."""
    package, results = __spec__.parent, {}
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if module.name == "__main__":
            continue
        loaded = importlib.import_module(f"{package}.{module.name}")
        for kind in vars(loaded).values():
            if isinstance(kind, type) and kind.__module__ == loaded.__name__:
                names = [name for name in dir(kind) if name.startswith(KINDS)]
                for values in [(value,) for value in kind.params] if hasattr(kind, "params") else [()]:
                    prefix = " ".join([f"{module.name}.{kind.__name__}", *values])
                    results |= {f"{prefix}: {name}": (kind, name, values) for name in names}
    return results


def serve():
    """Read names of cases and print their figures, or null for a case that the version does not support."""
    registry, ready, case = cases(), None, None
    print(json.dumps(list(registry)), flush=True)
    for line in sys.stdin:
        kind, name, values = registry[json.loads(line)]
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
    """Undo the setup of a case."""
    if hasattr(case, "teardown"):
        case.teardown(*ready[1])


def measure(name, call, values):
    """Return CPU seconds, megabytes or the tracked value."""
    if name.startswith("track_"):
        return call(*values)
    if name.startswith("peakmem_"):
        tracemalloc.start()
        call(*values)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        return peak
    start, calls = time.process_time(), 0
    while calls == 0 or time.process_time() - start < MIN_SECONDS:
        call(*values)
        calls += 1
    return (time.process_time() - start) / calls


class Version:
    """Process of one version, which measures cases on request."""

    def __init__(self, python, *options, places=None):
        words = [python, *options, "-m", __spec__.parent, "--serve"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        environment = os.environ | ({"PYTHONPATH": os.pathsep.join(places)} if places else {})
        self._process = subprocess.Popen(words, cwd=ROOT, text=True, env=environment, **pipes)
        self.names = json.loads(self._process.stdout.readline())

    @classmethod
    def of_commit(cls, commit):
        """Start a commit, with the packages of this environment except for the library."""
        packages = dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
        # Without site (-S), an editable install is invisible.
        return cls(sys.executable, "-S", places=[str(built(commit)), *packages])

    def ask(self, case):
        """Return the figure of a case, or None."""
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        """End the process."""
        self._process.stdin.close()
        self._process.wait()


class RecordedFigures:
    """Figures from a file."""

    def __init__(self, path):
        self._figures = json.loads(path.read_text())

    def ask(self, case):
        """Return the figure of a case, or None."""
        return self._figures.get(case)

    def close(self):
        """Do nothing; no process is open."""


def built(commit):
    """Return the folder with a build of a commit; build it first if necessary."""
    full = git("rev-parse", "--verify", f"{commit}^{{commit}}").decode().strip()
    folder = BUILDS / full
    if not folder.exists():
        BUILDS.mkdir(parents=True, exist_ok=True)
        print(f"building {commit} in build/regression", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(dir=BUILDS) as work_folder:
            source, installed = Path(work_folder, "source"), Path(work_folder, "installed")
            with tarfile.open(fileobj=io.BytesIO(git("archive", full))) as files:
                files.extractall(source, filter="data")
            words = ["pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", installed, source]
            subprocess.run([sys.executable, "-m", *words], check=True)
            installed.rename(folder)
    return folder


def git(*words):
    """Return the output of a git command in this checkout."""
    return subprocess.run(["git", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


def compare(current, other, chosen, rounds):
    """Print and return the figures of one version, beside those of another."""
    results = {}
    for name in (name for name in current.names if chosen in name):
        figures = {current: [], other: []}
        for number in range(rounds if ": time_" in name else 1):
            for version in (current, other) if number % 2 else (other, current):
                figures[version].append(version.ask(name) if version else None)
        value, reference = (
            min((figure for figure in values if figure is not None), default=None) for values in figures.values()
        )
        ratio = f"{value / reference:9.3f}" if value is not None and reference else ""
        print(f"{name:66}{format_figure(value)}{format_figure(reference) if other else ''}{ratio}", flush=True)
        if value is not None:
            results[name] = value
    return results


def format_figure(figure):
    """Format a figure for its column."""
    return f"{'-':>12}" if figure is None else f"{figure:12.5g}"


def main():
    parser = argparse.ArgumentParser(
        f"python -m {__spec__.parent}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "other", nargs="?", type=Path, help="an interpreter with another version, or a file of figures"
    )
    parser.add_argument("--case", default="", help="only cases whose names contain this text")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write the figures of this version to a file")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--commits", nargs=2, metavar=("A", "B"), help="compare two commits: before and after")
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
        return
    if arguments.commits:
        other, current = map(Version.of_commit, arguments.commits)
    else:
        current = Version(sys.executable)
        other = arguments.other and (
            RecordedFigures(arguments.other)
            if arguments.other.suffix == ".json"
            else Version(str(arguments.other))
        )
    heads = arguments.commits[::-1] if arguments.commits else ("now", "before")
    print(f"{'':66}{heads[0]:>12}" + (f"{heads[1]:>12}{'ratio':>9}" if other else ""), flush=True)
    results = compare(current, other, arguments.case, arguments.rounds)
    for version in filter(None, (current, other)):
        version.close()
    if arguments.keep:
        arguments.keep.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
