"""Tiers of the tests: the limit on the CPU time of fast tests, slow cells, and groups."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[1]


def load_conftest():
    specification = importlib.util.spec_from_file_location("root_conftest", ROOT / "conftest.py")
    conftest = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(conftest)
    return conftest


def run_call(monkeypatch, *, seconds, marker=None, new_module=None):
    """Run the hook of the root conftest.py around a test that uses so many seconds, with a limit of 0.5."""
    conftest = load_conftest()
    clock = iter([10.0, 10.0 + seconds])
    modules = {"sys": None}
    monkeypatch.setattr(conftest, "CPU_LIMIT", 0.5)
    monkeypatch.setattr(conftest, "_cpu_seconds", lambda: next(clock))
    monkeypatch.setattr(conftest, "sys", SimpleNamespace(modules=modules))
    item = SimpleNamespace(user_properties=[], get_closest_marker=lambda name: name == marker)
    hook = conftest.pytest_runtest_call(item)
    next(hook)
    modules.update({new_module: None} if new_module else {})
    with pytest.raises(StopIteration):
        hook.send(None)
    assert item.user_properties == [("cpu_seconds", seconds)]


def test_a_fast_test_above_the_limit_fails_with_the_remedy(monkeypatch):
    with pytest.raises(pytest.fail.Exception, match=r"used 0\.75 s of CPU.*may use 0\.5 s.*pytest\.mark\.slow"):
        run_call(monkeypatch, seconds=0.75)


@pytest.mark.parametrize(
    "options",
    [{"seconds": 0.25}, {"seconds": 0.75, "marker": "slow"}, {"seconds": 0.75, "new_module": "torch"}],
)
def test_quick_tests_slow_tests_and_first_imports_pass(monkeypatch, options):
    run_call(monkeypatch, **options)


def test_garbage_collection_does_not_count(monkeypatch):
    conftest = load_conftest()
    clock = iter([3.0, 3.75])
    monkeypatch.setattr(conftest, "time", SimpleNamespace(process_time=lambda: next(clock)))
    monkeypatch.setattr(conftest, "os", SimpleNamespace(times=lambda: (10.0, 1.0, 0.5, 0.25, 99.0)))
    assert conftest._cpu_seconds() == 11.75
    for phase in ("start", "stop"):
        conftest.COLLECTIONS(phase, {})
    assert conftest._cpu_seconds() == 11.0


@pytest.mark.slow_cells("2", "4")
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_cells_are_marked_by_their_ids(request, number):
    assert bool(request.node.get_closest_marker("slow")) == (number in (2, 4))


@pytest.mark.xdist_group("one process")
def test_groups_are_known_to_the_scheduler(request):
    has_groups = getattr(request.config.option, "loadgroup", False)  # make test, but not pytest in one process
    assert request.node.nodeid.endswith("@one process") == has_groups
