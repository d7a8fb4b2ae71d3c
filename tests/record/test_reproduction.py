"""Tests of the committed comparison with published numbers, and of a short version."""

import importlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.common import record
from benchmarks.common.cells import agrees, chance_tolerance, evidence
from benchmarks.studies.reproduction import bootclus as reproduction_bootclus
from benchmarks.studies.reproduction import coverage
from benchmarks.studies.reproduction import kcevclus as reproduction_kcevclus
from benchmarks.studies.reproduction import slides as reproduction_slides
from benchmarks.studies.reproduction.study import PARTS

pytestmark = pytest.mark.slow
FILES = {"diabetes": "diabetes_mclust", "cells_in_blood": "gvhd_pos"}


@pytest.fixture(scope="module")
def committed():
    """Return all committed cells, by table, row and column."""
    result = [entry for part in PARTS for entry in record.load(f"reproduction_{part}")["cells"]]
    return {(entry["table"], entry["row"], entry["column"]): entry for entry in result}


def assert_as_committed(cells, committed):
    """Check that numbers equal the committed ones, exactly or within random variation."""
    assert cells
    for entry in cells:
        recorded = committed[entry["table"], entry["row"], entry["column"]]
        tolerance = chance_tolerance(recorded, entry["runs"])
        assert abs(entry["ours"] - recorded["ours"]) <= tolerance, (entry, recorded)


def test_92_percent_of_the_informative_cells_agree_and_the_others_are_explained(committed):
    full = [entry for entry in committed.values() if evidence(entry) == "full"]
    assert len(full) > 600
    assert np.mean([agrees(entry) for entry in full]) >= 0.92
    unexplained = [entry for entry in committed.values() if not entry["within"] and not entry["cause"]]
    assert not unexplained, unexplained[:3]


def test_every_cell_contains_its_settings(committed):
    assert not [key for key, entry in committed.items() if not entry["settings"]]


def test_agreeing_cells_are_within_tolerance_or_better_than_published(committed):
    for entry in committed.values():
        above = entry["ours"] - entry["published"]
        if entry["tolerance"] is not None and abs(above) <= entry["tolerance"]:
            assert entry["within"], entry
        if entry["within"]:
            assert above <= (entry["tolerance"] or 0) + 1e-6, entry


@pytest.mark.parametrize("number", [2, 3])
def test_constraints_help_as_recorded(committed, number):
    cells = reproduction_kcevclus.table(number, reproduction_kcevclus.load_small(), 3, quick=True)
    assert_as_committed(cells, committed)


def test_sampled_distances_and_expanded_constraints_have_the_recorded_effect(committed):
    data = reproduction_kcevclus.load_large()
    assert len(data) >= 3
    recorded = record.load("reproduction_kcevclus")
    points = [
        *((entry["data"], entry["by_constraints"][-2]) for entry in recorded["figures"].values()),
        *((name, points[2]) for name, points in recorded["expansion"].items()),
    ]
    for name, point in ((name, point) for name, point in points if name in data):
        xi, quantile, k = reproduction_kcevclus.LARGE[name]
        parameters = point["constraints"], xi, quantile, k
        result = reproduction_kcevclus.quartiles(data[name], parameters, 3, n_neighbors=point.get("K", 0))
        for quantity in ("ari", "nonspecificity"):
            low, middle, high = point[quantity]
            assert abs(result[quantity][1] - middle) <= 2 * (high - low) + 0.02, (name, point)


@pytest.mark.parametrize(
    ("number", "model", "models"),
    [
        *((number, model, model) for number, model in coverage.TRUE.items()),
        *((number, "Auto", "auto") for number in coverage.TRUE),
    ],
)
def test_intervals_cover_the_truth_as_often_as_recorded(committed, number, model, models):
    rows = [row for seed in range(4) for row in coverage.measure(number, seed, 200, {model: models})]
    for level in coverage.LEVELS:
        for kind in ("CI", "BelPl"):
            covered = [row[4] for row in rows if row[1] == level and row[3] == kind]
            recorded = committed[f"Bootclus, Table {1 + number}", f"{level:.2f}, {kind}", f"{model}: coverage"]
            tolerance = chance_tolerance(recorded, len(covered), 0.02)
            assert abs(np.mean(covered) - recorded["ours"]) <= tolerance


@pytest.mark.parametrize("part", ["example", "irises", "diabetes", "cells_in_blood"])
def test_the_bootclus_paper_is_reproduced_as_recorded(committed, part, needs):
    if part in FILES:
        needs(FILES[part])
    study = getattr(reproduction_bootclus, part)
    assert_as_committed(study() if part == "example" else study(1), committed)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # from some networks
def test_the_lectures_are_reproduced_as_recorded(committed):
    assert_as_committed(reproduction_slides.study(quick=True)["cells"], committed)


def test_the_page_includes_all_generated_parts(committed, monkeypatch):
    docs = Path(__file__).parents[2] / "docs"
    monkeypatch.syspath_prepend(docs)
    pages = importlib.import_module("record_pages")
    parts = importlib.import_module("record_pages.reproduction").parts(pages.read_results)
    page = (docs / "record" / "reproduction.rst").read_text()
    assert set(re.findall(r"generated/reproduction_(\w+)\.", page)) == set(parts)
    full = sum(evidence(entry) == "full" for entry in committed.values())
    assert f" {full}\n" in parts["counts"]


def test_results_contain_their_origin():
    for part in PARTS:
        result = record.load(f"reproduction_{part}")
        assert result["command"].split()[:3] == ["python", "-m", "benchmarks.studies.reproduction"]
        assert result["versions"]["evidential-learn"]
        assert json.dumps(result["without_data"])


@pytest.mark.parametrize("part", ["kcevclus", "slides"])
def test_cells_without_data_files_agree_without_the_reference_folder(
    committed, part, monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv("EVLEARN_REFERENCE", str(tmp_path))
    monkeypatch.setattr("benchmarks.common.cells.MISSING_DATA", [])
    if part == "kcevclus":
        cells = reproduction_kcevclus.table(2, reproduction_kcevclus.load_small(), 3, quick=True)
        assert {entry["dataset"] for entry in cells} == {"Iris", "Banana_200"}
        missing_file = "glass_uci.csv"
    else:
        cells = reproduction_slides.study(quick=True)["cells"]
        missing_file = "ionosphere_evclass.csv"
    assert_as_committed(cells, committed)
    assert f"left out: {missing_file} is not in the reference folder" in capsys.readouterr().out


MISSED = {
    "EVCLUS": "the default scale is worse than the 0.9-quantile on Wine and Seeds: 0.660 instead of 0.668",
    "NN-EV-bp": "the default scale is that of EVCLUS, and S4 has 0.53 instead of 0.64: 0.728 instead of 0.735",
}
METHODS = ["NN-EV", "ECM", "ECM-bp", "CCM", "CCM-bp", "sECMdd", "wECMdd", "BPEC", "Bootclus"]


@pytest.mark.parametrize(
    "method",
    [
        *METHODS,
        *(
            pytest.param(name, marks=pytest.mark.xfail(reason=reason, strict=True))
            for name, reason in MISSED.items()
        ),
    ],
)
def test_the_mean_agreement_of_defaults_is_at_most_003_below_the_published_one(method):
    cells = [cell for cell in record.load("reproduction_defaults")["table_3"] if cell["column"] == method]
    differences = [cell["ours"] - cell["published"] for cell in cells]
    assert np.mean(differences) >= -0.03
