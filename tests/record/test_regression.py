"""Tests of the regression benchmarks: all cases are found, and each kind of figure is a number."""

import subprocess
import sys

import pytest

from benchmarks.regression import __main__ as regression
from benchmarks.regression import limits, ratios


def test_every_method_has_its_time_its_memory_and_its_objective():
    cases = regression.cases()
    for method in ("ECM", "CCM", "BPEC", "CECM", "RECM", "ECMdd", "EVCLUS", "EKNNClus", "BootClus"):
        for figure in ("time_fit", "peakmem_fit", "track_objective"):
            assert f"cluster.Fits {method}: {figure}" in cases


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
        "ratios.SmallFit 1000: track_over_kmeans",
        "ratios.Forest: track_fit_over_random_forest",
        "ratios.Forest: track_masses_over_probabilities",
        "ratios.Predictions: track_over_kmeans",
        "ratios.FirstFit: track_over_kmeans",
        "cluster.Fits BootClus: time_fit",
        "cluster.Fits EKNNClus: time_fit",
        "together.Fits CredalEnsemble: time_fit",
        "together.Fits ConformalClusterer: time_fit",
        "storage.Models ECM: time_load",
        "storage.Models ECM: time_predict_one_row",
    ],
)
def test_methods_with_speed_targets_are_among_the_cases(case):
    assert case in regression.cases()


def test_a_ratio_is_based_on_the_medians_of_two_loops():
    method_times, bare_times = iter([6.0, 8.0, 90.0, 7.0, 1.0]), iter([2.0, 2.0, 2.0, 50.0, -3.0])
    assert limits.ratio(lambda: next(method_times), lambda: next(bare_times)) == 3.5


def test_a_case_that_a_version_does_not_support_is_skipped(monkeypatch, capsys):
    class Newer:
        def setup(self):
            from evlearn.cluster import Missing  # noqa: F401

    class Supported:
        def track_one(self):
            return 1.0

        def setup(self):
            pass

    registry = {"newer": (Newer, "time_fit", ()), "known": (Supported, "track_one", ())}
    monkeypatch.setattr(regression, "cases", lambda: registry)
    monkeypatch.setattr("sys.stdin", ['"newer"\n', '"known"\n'])
    regression.serve()
    assert capsys.readouterr().out.splitlines() == ['["newer", "known"]', "null", "1.0"]


@pytest.mark.long
@pytest.mark.skipif(not (regression.ROOT / ".git").exists(), reason="this is not a clone")
def test_two_commits_are_compared_by_one_command():
    words = [sys.executable, "-m", "benchmarks.regression", "--commits", "HEAD", "HEAD", "--rounds", "1"]
    process = subprocess.run(
        [*words, "--case", "storage.Models ECM"], cwd=regression.ROOT, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    _, *lines = process.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        new, before, ratio = map(float, line.split()[-3:])
        assert ratio == pytest.approx(new / before, rel=0.01)


@pytest.mark.timing
def test_a_forest_costs_little_more_than_a_random_forest():
    case = ratios.Forest()
    case.setup()
    assert case.track_fit_over_random_forest() < 3
    assert case.track_masses_over_probabilities() < 4


@pytest.mark.timing
@pytest.mark.parametrize(("size", "bound"), [("150", 7), ("1000", 9), ("10000", 6)])
def test_a_small_fit_costs_a_few_times_k_means(size, bound):
    case = ratios.SmallFit()
    case.setup(size)
    assert case.track_over_kmeans(size) < bound
