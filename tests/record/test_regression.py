"""The small set of cases against regressions: every case is found, and each kind of figure is a number."""

import subprocess
import sys

import pytest

from benchmarks.regression import __main__ as regression
from benchmarks.regression import limits


def test_every_method_has_its_time_its_memory_and_its_objective():
    found = regression.cases()
    for method in ("ECM", "CCM", "BPEC", "CECM", "RECM", "ECMdd", "EVCLUS", "EKNNClus", "BootClus"):
        for figure in ("time_fit", "peakmem_fit", "track_objective"):
            assert f"cluster.Fits {method}: {figure}" in found


@pytest.mark.parametrize("figure", ["time_fit", "peakmem_fit", "track_objective"])
def test_each_kind_of_figure_is_a_number(figure):
    kind, name, values = regression.cases()[f"cluster.Fits ECMdd: {figure}"]
    case = kind()
    case.setup(*values)
    assert regression.measure(name, getattr(case, name), values) > 0


@pytest.mark.parametrize(
    "case",
    [
        "limits.ECMIteration: track_over_lloyd",
        "limits.EVCLUSSweep: track_over_gather",
        "limits.LandmarkPass: track_over_products",
        "limits.NNEVCLUSEpoch: track_over_torch",
        "cluster.Fits BootClus: time_fit",
        "cluster.Fits EKNNClus: time_fit",
        "together.Fits CredalEnsemble: time_fit",
        "together.Fits ConformalClusterer: time_fit",
        "storage.Models ECM: time_load",
        "storage.Models ECM: time_predict_one_row",
    ],
)
def test_what_speed_is_promised_for_is_among_the_cases(case):
    assert case in regression.cases()


def test_a_ratio_is_that_of_the_medians_of_two_loops():
    ours, bare = iter([6.0, 8.0, 90.0, 7.0, 1.0]), iter([2.0, 2.0, 2.0, 50.0, -3.0])
    assert limits.ratio(lambda: next(ours), lambda: next(bare)) == 3.5


def test_a_case_that_a_version_does_not_know_is_left_out(monkeypatch, capsys):
    class Newer:
        def setup(self):
            from evlearn.cluster import Missing  # noqa: F401

    class Known:
        def track_one(self):
            return 1.0

        def setup(self):
            pass

    known = {"newer": (Newer, "time_fit", ()), "known": (Known, "track_one", ())}
    monkeypatch.setattr(regression, "cases", lambda: known)
    monkeypatch.setattr("sys.stdin", ['"newer"\n', '"known"\n'])
    regression.serve()
    assert capsys.readouterr().out.splitlines() == ['["newer", "known"]', "null", "1.0"]


@pytest.mark.long
@pytest.mark.skipif(not (regression.ROOT / ".git").exists(), reason="this is no clone")
def test_two_commits_are_compared_by_one_command():
    words = [sys.executable, "-m", "benchmarks.regression", "--commits", "HEAD", "HEAD", "--rounds", "1"]
    said = subprocess.run(
        [*words, "--case", "storage.Models ECM"], cwd=regression.ROOT, capture_output=True, text=True
    )
    assert said.returncode == 0, said.stderr
    _, *lines = said.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        now, before, ratio = map(float, line.split()[-3:])
        assert ratio == pytest.approx(now / before, rel=0.01)
