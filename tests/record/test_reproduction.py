"""The committed comparison with published numbers, and a short version of it."""

import importlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.common import record
from benchmarks.common.cells import agrees, room_for_chance, worth
from benchmarks.studies.reproduction import bootclus as reproduction_bootclus
from benchmarks.studies.reproduction import coverage
from benchmarks.studies.reproduction import kcevclus as reproduction_kcevclus
from benchmarks.studies.reproduction import slides as reproduction_slides
from benchmarks.studies.reproduction.study import PARTS

pytestmark = pytest.mark.slow
FILES = {"diabetes": "diabetes_mclust", "cells_in_blood": "gvhd_pos"}


@pytest.fixture(scope="module")
def committed():
    """All committed cells, by table, row and column."""
    found = [one for part in PARTS for one in record.read(f"reproduction_{part}")["cells"]]
    return {(one["table"], one["row"], one["column"]): one for one in found}


def assert_as_committed(cells, committed):
    """Numbers are those of the committed file: exactly, or as far as chance allows."""
    assert cells
    for one in cells:
        before = committed[one["table"], one["row"], one["column"]]
        room = room_for_chance(before, one["runs"])
        assert abs(one["ours"] - before["ours"]) <= room, (one, before)


def test_of_the_cells_that_show_something_92_of_100_agree_and_the_others_are_explained(committed):
    full = [one for one in committed.values() if worth(one) == "full"]
    assert len(full) > 600
    assert np.mean([agrees(one) for one in full]) >= 0.92
    unexplained = [one for one in committed.values() if not one["within"] and not one["cause"]]
    assert not unexplained, unexplained[:3]


def test_every_cell_tells_the_settings_that_decide_it(committed):
    assert not [key for key, one in committed.items() if not one["settings"]]


def test_what_is_said_to_agree_is_within_tolerance_or_better_than_published(committed):
    for one in committed.values():
        above = one["ours"] - one["published"]
        if one["tolerance"] is not None and abs(above) <= one["tolerance"]:
            assert one["within"], one
        if one["within"]:
            assert above <= (one["tolerance"] or 0) + 1e-6, one


@pytest.mark.parametrize("number", [2, 3])
def test_constraints_help_as_much_as_before(committed, number):
    cells = reproduction_kcevclus.table(number, reproduction_kcevclus.load_small(), 3, quick=True)
    assert_as_committed(cells, committed)


def test_some_distances_are_enough_and_expanded_constraints_help_as_before(committed):
    data = reproduction_kcevclus.load_large()
    assert len(data) >= 3
    before = record.read("reproduction_kcevclus")
    points = [
        *((one["data"], one["by_constraints"][-2]) for one in before["figures"].values()),
        *((name, points[2]) for name, points in before["expansion"].items()),
    ]
    for name, point in ((name, point) for name, point in points if name in data):
        xi, quantile, k = reproduction_kcevclus.LARGE[name]
        asked = point["constraints"], xi, quantile, k
        found = reproduction_kcevclus.quartiles(data[name], asked, 3, n_neighbors=point.get("K", 0))
        for quantity in ("ari", "nonspecificity"):
            low, middle, high = point[quantity]
            assert abs(found[quantity][1] - middle) <= 2 * (high - low) + 0.02, (name, point)


@pytest.mark.parametrize(("number", "model"), coverage.TRUE.items())
def test_intervals_cover_the_truth_as_often_as_before(committed, number, model):
    rows = [row for seed in range(4) for row in coverage.measure(number, seed, 200, {model: model})]
    for level in coverage.LEVELS:
        for kind in ("CI", "BelPl"):
            inside = [row[4] for row in rows if row[1] == level and row[3] == kind]
            before = committed[f"Bootclus, Table {1 + number}", f"{level:.2f}, {kind}", f"{model}: coverage"]
            room = room_for_chance(before, len(inside), 0.02)
            assert abs(np.mean(inside) - before["ours"]) <= room


@pytest.mark.parametrize("part", ["example", "irises", "diabetes", "cells_in_blood"])
def test_the_bootclus_paper_comes_out_as_before(committed, part, needs):
    if part in FILES:
        needs(FILES[part])
    study = getattr(reproduction_bootclus, part)
    assert_as_committed(study() if part == "example" else study(1), committed)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of some networks
def test_the_lectures_come_out_as_before(committed):
    assert_as_committed(reproduction_slides.study(quick=True)["cells"], committed)


def test_the_page_includes_what_is_made_of_the_results(committed, monkeypatch):
    docs = Path(__file__).parents[2] / "docs"
    monkeypatch.syspath_prepend(docs)
    pages = importlib.import_module("record_pages")
    made = importlib.import_module("record_pages.reproduction").parts(pages.read)
    page = (docs / "record" / "reproduction.rst").read_text()
    assert set(re.findall(r"generated/reproduction_(\w+)\.", page)) == set(made)
    full = sum(worth(one) == "full" for one in committed.values())
    assert f" {full}\n" in made["counts"]


def test_results_say_where_they_come_from():
    for part in PARTS:
        found = record.read(f"reproduction_{part}")
        assert found["command"].split()[:3] == ["python", "-m", "benchmarks.studies.reproduction"]
        assert found["versions"]["evidential-learn"]
        assert json.dumps(found["without_data"])


@pytest.mark.parametrize("part", ["kcevclus", "slides"])
def test_without_any_folder_the_cells_that_need_none_are_run_and_agree(
    committed, part, monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv("EVLEARN_REFERENCE", str(tmp_path))
    monkeypatch.setattr("benchmarks.common.cells.LEFT_OUT", [])
    if part == "kcevclus":
        cells = reproduction_kcevclus.table(2, reproduction_kcevclus.load_small(), 3, quick=True)
        assert {one["dataset"] for one in cells} == {"Iris", "Banana_200"}
        missing = "glass_uci.csv"
    else:
        cells = reproduction_slides.study(quick=True)["cells"]
        missing = "ionosphere_evclass.csv"
    assert_as_committed(cells, committed)
    assert f"left out: {missing} is not in the folder of references" in capsys.readouterr().out
