"""Tests that each result contains the command, the date, the machine and the versions."""

import datetime
import importlib
import re

import pytest

from benchmarks.common import record, reference

NAMES = sorted(path.stem for path in record.RESULTS.glob("*.json"))


@pytest.mark.parametrize("name", NAMES)
def test_a_result_contains_its_origin(name):
    results = record.load(name)
    assert results["command"].startswith("python ")
    assert datetime.date.fromisoformat(results["date"])
    assert results["machine"] == "not recorded" or results["machine"]["processor"]
    assert results["versions"]["evidential-learn"]


def test_results_with_parts_that_were_not_repeated_keep_their_digest(monkeypatch, tmp_path):
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    module = "benchmarks.studies.peers.ecm"
    assert record.load_if_recorded("one") == {}
    record.write("one", {"parts": {"a": 1, "b": 2}}, module=module)
    recorded = record.load_if_recorded("one")
    former = {"module": module, "digest": "0"}
    record.write("one", {"parts": recorded["parts"] | {"a": 3}}, module=module, former={"sources": former})
    assert record.load("one")["sources"] == former
    record.write("one", {"parts": {"a": 3, "b": 4}}, module=module, former={})
    assert record.load("one")["sources"] == recorded["sources"]
    record.write("one", {"parts": {"a": 3}}, module=module, complete=False)
    assert record.load("one")["sources"] is None


@pytest.mark.parametrize(
    "page",
    [
        "answers",
        "classifiers",
        "coverage",
        "n_clusters",
        "one_call",
        "peers",
        "reproduction",
        "robustness",
        "scale",
        "unclean",
    ],
)
@pytest.mark.slow_cells("unclean")
def test_a_page_starts_with_a_short_verdict_with_numbers(page, monkeypatch):
    monkeypatch.syspath_prepend(reference.ROOT / "docs")
    pages = importlib.import_module("record_pages")
    verdict = importlib.import_module(f"record_pages.{page}").parts(pages.read_results)["verdict"]
    lines = [line for line in verdict.splitlines() if line.startswith("   * ")]
    assert verdict.startswith(".. admonition:: In short")
    assert 3 <= len(lines) <= 10
    assert sum(bool(re.search(r"\d", line)) for line in lines) >= 3
    text = (reference.ROOT / "docs" / "record" / f"{page}.rst").read_text()
    introduction, _, _ = text.partition(f".. include:: generated/{page}_verdict.inc")
    assert len(introduction) < 500  # a title and a question
    assert "---" not in introduction
    assert ".. include" not in introduction


def test_written_results_contain_their_origin_and_can_be_loaded(monkeypatch, tmp_path):
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    record.write("tried", {"number": 1}, packages=["no-such-package"])
    results = record.load("tried")
    assert set(results) == {"command", "date", "commit", "sources", "machine", "versions", "number"}
    assert results["versions"]["no-such-package"] is None
    assert [path.name for path in tmp_path.iterdir()] == ["tried.json"]


def test_the_reference_folder_can_be_set(monkeypatch, tmp_path):
    monkeypatch.setenv("EVLEARN_REFERENCE", str(tmp_path))
    assert reference.folder() == tmp_path
    monkeypatch.delenv("EVLEARN_REFERENCE")
    assert reference.folder() == reference.ROOT.parent / "shared"
