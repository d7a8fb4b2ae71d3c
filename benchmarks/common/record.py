"""Record of results: one JSON file per study, with command, date, commit, digest of sources, machine and versions.

Studies write with `write`, tests read with `load`. ``docs/record_pages`` generates the pages of the documentation
from these files.
"""

import datetime
import json
import os
import platform
import shlex
import sys
from importlib import metadata
from pathlib import Path

from benchmarks.common import sources

RESULTS = Path(__file__).parents[1] / "results"
CORE = ("evidential-learn", "numpy", "scipy", "scikit-learn")


def machine():
    """Return the processor, cores, memory and system; details are available on Linux only."""
    facts = {"processor": platform.machine(), "cores": os.cpu_count(), "system": platform.system()}
    information, memory = Path("/proc/cpuinfo"), Path("/proc/meminfo")
    if information.exists():
        lines = [line for line in information.read_text().splitlines() if line.startswith("model name")]
        facts["processor"] = lines[0].split(":")[1].strip() if lines else facts["processor"]
    if memory.exists():
        facts["memory_gb"] = round(int(memory.read_text().split()[1]) * 1024 / 1e9, 1)
    return facts


def versions(*packages):
    """Return the versions of Python, of the library and its dependencies, and of other packages of the study."""
    numbers = {"python": platform.python_version()}
    for name in (*CORE, *packages):
        try:
            numbers[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            numbers[name] = None
    return numbers


def program():
    """Return the name of the program: a module of the benchmarks, or a test."""
    spec = sys.modules["__main__"].__spec__
    return f"python -m {spec.name.removesuffix('.__main__')}" if spec else Path(sys.argv[0]).name


def command():
    """Return the command line without the folders of this machine."""
    words = ["FOLDER" if Path(word).is_absolute() else word for word in sys.argv[1:]]
    return f"{program()} {shlex.join(words)}".strip()


def origin(module=None):
    """Return the module of a study, by default that of the program, and the digest of its source files."""
    if module is None:
        spec = sys.modules["__main__"].__spec__
        module = spec.name if spec else None
    if module is None or sources.path_of(module) is None:  # a test, or an interactive session
        return None
    return {"module": module, "digest": sources.digest(module)}


def write(name, results, packages=(), module=None, former=None, *, complete=True):
    """Write the results; `name` starts with reproduction, peers, answers, case, scale, robustness or mutants.

    `module` is the module of the study, by default that of the program. The digest of the code that it uses
    shows later whether it has changed (``python -m benchmarks.stale``). `former` are the recorded results
    if only some of their parts were repeated; their digest is kept, because the results are as old as their
    oldest part. Results that are not `complete` have no digest, so that they count as older.
    """
    facts = {
        "command": command(),
        "date": datetime.date.today().isoformat(),
        "commit": sources.commit(),
        "sources": origin(module) if complete else None,
        "machine": machine(),
        "versions": versions(*packages),
    }
    if former:
        facts["sources"] = former.get("sources")
    partial = RESULTS / f".{name}.json"
    partial.write_text(json.dumps(facts | results, indent=1, allow_nan=False) + "\n")
    partial.rename(RESULTS / f"{name}.json")


def load(name):
    """Return the results of a study."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def load_if_recorded(name):
    """Return the results of a study, or an empty dictionary if there are none."""
    return load(name) if (RESULTS / f"{name}.json").exists() else {}
