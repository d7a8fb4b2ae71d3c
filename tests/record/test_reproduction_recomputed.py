"""Tests of cells that are computed again from the code under their tables."""

import pytest

from benchmarks.common import record
from benchmarks.studies.reproduction import recomputed, study

KEYS = ("table", "row", "column")


def test_the_draw_is_fixed_and_has_no_repetitions():
    cells = recomputed.draw(30, 0)
    keys = [tuple(cell[key] for key in KEYS) for cell in cells]
    assert len(set(keys)) == 30
    assert keys == [tuple(cell[key] for key in KEYS) for cell in recomputed.draw(30, 0)]


def test_nearly_all_cells_with_settings_can_be_drawn():
    cells = [cell for part in study.PARTS for cell in record.load(f"reproduction_{part}")["cells"]]
    with_code = [cell for cell in cells if recomputed.settings.code_of(cell) and cell["tolerance"] is not None]
    assert sum(cell["table"] in recomputed.TABLES for cell in with_code) / len(with_code) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    "table", ["NN-EVCLUS, Table 1", "NN-EVCLUS, Figure 7", "Bootclus, Table 7", "Bootclus, Table 9"]
)
def test_a_recomputed_cell_equals_the_record(table, needs):
    if table.endswith("9"):
        needs("diabetes_mclust")
    cell = next(cell for cell in recomputed.candidates() if cell["table"] == table)
    entry = recomputed.compare(cell, 1)
    assert entry["agrees"], entry


@pytest.mark.slow
def test_a_wrong_number_does_not_agree():
    cell = next(cell for cell in recomputed.candidates() if cell["table"] == "NN-EVCLUS, Table 1")
    assert not recomputed.compare(cell | {"ours": cell["ours"] + 0.01}, 1)["agrees"]


@pytest.mark.long
def test_30_drawn_cells_equal_the_record():
    entries = [recomputed.compare(cell, 10) for cell in recomputed.draw(30, 0)]
    assert not [entry for entry in entries if not entry["agrees"]]


def test_the_recorded_cells_agree():
    results = record.load(recomputed.NAME)
    assert len(results["cells"]) == 30
    assert all(entry["agrees"] for entry in results["cells"])
