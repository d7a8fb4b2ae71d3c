"""Every result says by which command, when, on what and with what it was made."""

import datetime
import importlib
import re

import pytest

from benchmarks.common import record, reference

NAMES = sorted(path.stem for path in record.RESULTS.glob("*.json"))


@pytest.mark.parametrize("name", NAMES)
def test_a_result_says_where_it_comes_from(name):
    found = record.read(name)
    assert found["command"].startswith("python ")
    assert datetime.date.fromisoformat(found["date"])
    assert found["machine"] == "not recorded" or found["machine"]["processor"]
    assert found["versions"]["evidential-learn"]


@pytest.mark.parametrize(
    "page", ["answers", "classifiers", "coverage", "peers", "reproduction", "robustness", "scale", "unclean"]
)
def test_a_page_begins_with_a_short_verdict_with_figures(page, monkeypatch):
    monkeypatch.syspath_prepend(reference.ROOT / "docs")
    pages = importlib.import_module("record_pages")
    verdict = importlib.import_module(f"record_pages.{page}").parts(pages.read)["verdict"]
    lines = [line for line in verdict.splitlines() if line.startswith("   * ")]
    assert verdict.startswith(".. admonition:: In short")
    assert 3 <= len(lines) <= 10
    assert sum(bool(re.search(r"\d", line)) for line in lines) >= 3
    text = (reference.ROOT / "docs" / "record" / f"{page}.rst").read_text()
    before, _, _ = text.partition(f".. include:: generated/{page}_verdict.inc")
    assert len(before) < 500  # a title and what the page asks
    assert "---" not in before
    assert ".. include" not in before


def test_what_is_written_has_the_facts_and_is_read_again(monkeypatch, tmp_path):
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    record.write("tried", {"number": 1}, packages=["no-such-package"])
    found = record.read("tried")
    assert set(found) == {"command", "date", "machine", "versions", "number"}
    assert found["versions"]["no-such-package"] is None
    assert [path.name for path in tmp_path.iterdir()] == ["tried.json"]


def test_the_folder_of_references_is_the_one_that_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("EVLEARN_REFERENCE", str(tmp_path))
    assert reference.folder() == tmp_path
    monkeypatch.delenv("EVLEARN_REFERENCE")
    assert reference.folder() == reference.ROOT.parent / "shared"
