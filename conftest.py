"""Settings of pytest that pyproject.toml cannot hold, and the limit on the CPU time of fast tests."""

import gc
import os
import sys
import time

import pytest

#: Seconds of CPU that a fast test may use, set by `make test` and `make test-all`; by default there is no limit.
CPU_LIMIT = float(os.environ.get("EVLEARN_CPU_LIMIT") or "inf")
#: Markers of tests without a limit.
SLOW_MARKERS = ("slow", "long", "timing", "integration")
#: Pages of the guide that need a package, which is not a dependency.
PAGES_WITH_PACKAGE = {"single_cell.rst": "scanpy"}
#: Public names whose examples use more CPU than a fast test may.
SLOW_EXAMPLES = {
    *("ActiveClustering", "ActiveLabeling", "ClusterNumberDisplay", "FusionClassifier", "NNEVCLUS"),
    *("PartitionPanelsDisplay", "UnseenClassDetector", "report"),
}


@pytest.fixture(autouse=True)
def files_of_pages_go_elsewhere(request, monkeypatch):
    if package := PAGES_WITH_PACKAGE.get(request.path.name):
        pytest.importorskip(package, reason=f"{package} is not installed")
    # What a page of the guide writes does not stay in the project.
    if request.path.suffix == ".rst":
        monkeypatch.chdir(request.getfixturevalue("tmp_path"))


def pytest_configure(config):
    gc.callbacks.append(COLLECTIONS)
    # Many laws are tested on data without clusters; other tests check the warning. The filter is not in
    # pyproject.toml, because it would import evlearn before coverage is measured.
    config.addinivalue_line("filterwarnings", "ignore::evlearn.exceptions.CollapseWarning")


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their markers
def pytest_collection_modifyitems(items):
    # Examples cannot have a marker. Most pages are long.
    for item in items:
        is_page = item.path.suffix == ".rst" and item.path.name != "install.rst"
        if is_page or (isinstance(item, pytest.DoctestItem) and item.name.rpartition(".")[2] in SLOW_EXAMPLES):
            item.add_marker("slow")
        if item.path.name in PAGES_WITH_PACKAGE:
            item.add_marker("integration")
            item.add_marker(pytest.mark.filterwarnings("ignore"))  # of other packages


class CollectionTimer:
    """CPU time of Python's garbage collection, whose cost depends on the tests before."""

    def __init__(self):
        self.seconds = self._start = 0.0

    def __call__(self, phase, info):
        """Add the time of a collection; called by Python before and after it."""
        if phase == "start":
            self._start = time.process_time()
        else:
            self.seconds += time.process_time() - self._start


COLLECTIONS = CollectionTimer()


def _cpu_seconds():
    """Return the CPU time of this process and of its finished children (without children on Windows)."""
    return sum(os.times()[:4]) - COLLECTIONS.seconds


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail a fast test that uses more CPU than allowed; without fixtures, first imports and garbage collection."""
    start, n_modules = _cpu_seconds(), len(sys.modules)
    result = yield
    seconds = _cpu_seconds() - start
    item.user_properties.append(("cpu_seconds", round(seconds, 3)))  # for --junitxml
    is_fast = not any(item.get_closest_marker(name) for name in SLOW_MARKERS)
    if is_fast and seconds > CPU_LIMIT and len(sys.modules) == n_modules:
        pytest.fail(
            f"The test used {seconds:.2f} s of CPU, but a fast test may use {CPU_LIMIT:g} s. Make it faster, or "
            "mark it with @pytest.mark.slow; on a slow machine set CPU_LIMIT (CONTRIBUTING.md, Tests).",
            pytrace=False,
        )
    return result
