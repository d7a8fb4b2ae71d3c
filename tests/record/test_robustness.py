"""Tests that hostile input never results in unhelpful errors, invalid numbers or hanging calls."""

import importlib.util
import inspect
import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.common import record
from benchmarks.studies.robustness import fuzz as robustness_fuzz
from benchmarks.studies.robustness import inputs
from benchmarks.studies.robustness import study as robustness
from benchmarks.studies.robustness import trials as robustness_trials
from benchmarks.studies.robustness.grid import (
    FAILURES,
    PACKAGES,
    Subject,
    cells,
    evaluate,
    run,
    run_monitored,
    subjects,
)
from evlearn.cluster import BPEC, CCM, ECM, EVCLUS
from evlearn.neural import NNEVCLUS

RANKS = {"ok": 0, "warned": 1, "refused": 2}

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
    pytest.mark.xdist_group("hostile input"),  # outcomes are computed once
]


@pytest.fixture(scope="module")
def outcomes():
    """Return outcomes of every ninth cell, with different inputs for each estimator; the study runs all cells."""
    return dict(run_monitored(itertools.islice(cells(parameters=False), 0, None, 9)))


@pytest.fixture(scope="module")
def committed():
    return record.load("robustness")


@pytest.mark.slow
def test_no_hostile_input_results_in_a_failure(outcomes):
    failures = {cell: outcome for cell, outcome in outcomes.items() if outcome[0] in FAILURES}
    assert not failures


@pytest.mark.slow
def test_no_outcome_is_worse_than_recorded(outcomes, committed):
    worse = []
    for (name, stage, input_name), (outcome, message) in outcomes.items():
        if name not in committed["estimators"] or input_name not in committed[stage]:
            continue
        letter = committed[stage][input_name][committed["estimators"].index(name)]
        if letter != "-" and RANKS[outcome] > RANKS[committed["letters"][letter]]:
            worse.append((name, stage, input_name, outcome, message))
    assert not worse


def test_every_estimator_and_input_is_in_the_record(committed):
    assert committed["estimators"] == list(subjects())
    assert list(committed["fit"]) == robustness.all_inputs()
    assert list(committed["new data"]) == [*inputs.NEW, *inputs.HEADERS]


@pytest.mark.parametrize("name", ["ECM", "EVCLUS", "EvidentialKNNClassifier", "FusionClassifier"])
@pytest.mark.slow_cells("FusionClassifier")
def test_frames_with_wrong_headers_are_rejected(name):
    registry, fitted = subjects(), {}
    for header in inputs.HEADERS:
        assert run(registry, fitted, name, "new data", header)[0] == "refused", header


def test_the_record_contains_no_failure(committed):
    assert not set(committed["counts"]) & set(FAILURES)
    assert [trial["outcome"] for trial in committed["trials"]] == ["ok"] * len(robustness_trials.TRIALS)
    assert not committed["fuzzing"]["failures"]


def test_no_public_estimator_is_missing():
    for package in PACKAGES:
        module = importlib.import_module(f"evlearn.{package}")
        public = [name for name in module.__all__ if hasattr(getattr(module, name), "fit")]
        assert public
        assert set(public) <= set(subjects())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ECM", "EVCLUS", "RECM", "EvidentialRBFClassifier", "PCCA"])
def test_hostile_parameters_are_rejected_or_harmless(name):
    registry, fitted = subjects(), {}
    for cell in cells([name]):
        if cell[1] == "parameters":
            assert run(registry, fitted, *cell)[0] not in FAILURES, cell


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ECM", "EVCLUS", "EvidentialNeuralClassifier", "FDA"])
def test_random_inputs_end_well(name):
    outcomes, failures = robustness_fuzz.fuzz(subjects()[name], 0, 20)
    assert not failures
    assert sum(outcomes.values()) == 20


@pytest.mark.slow
@pytest.mark.parametrize("trial", [robustness_trials.damaged_files, robustness_trials.existing_targets])
def test_a_trial_ends_well(trial):
    assert trial()


class Bad:
    """Estimator without predictions; its faults are defined by the tests."""

    def __init__(self):
        pass

    def fit(self, X, y=None):
        pass


@pytest.mark.parametrize(
    ("work", "outcome"),
    [
        (lambda: [][1], "bad error"),
        (lambda: int("a"), "bad error"),
        (lambda: "masses gave NaN", "bad numbers"),
        (lambda: "other labels", "other result"),
        (lambda: __import__("numpy").array([1.0]) / 0 is None, "NumPy warning"),
        (lambda: None, "ok"),
    ],
)
def test_faults_are_classified(work, outcome):
    subject = Subject(Bad, {})
    assert "fit" in dict(inspect.getmembers(Bad))
    result = evaluate(lambda: work() or None, subject)
    assert result[0] == outcome


@pytest.mark.parametrize("scale", [1e160, 1e300])
@pytest.mark.parametrize(
    "estimator",
    [ECM(2), CCM(2), BPEC(2), EVCLUS(2, solver="landmark"), NNEVCLUS(2, solver="rmsprop")],
    ids=lambda estimator: type(estimator).__name__,
)
def test_values_with_invalid_squares_are_rejected_in_files_too(tmp_path, estimator, scale):
    X = np.random.default_rng(0).normal(size=(200, 2)) * scale
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), tmp_path / "data.parquet")
    with pytest.raises(ValueError, match=r"X has values .* rescale X|X has values .* squares"):
        estimator.fit(tmp_path / "data.parquet")
