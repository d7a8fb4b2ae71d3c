"""Tests that the numbers in README and on the front page agree with the results."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pages():
    sys.path[:0] = [str(ROOT / "docs")]
    import record_pages
    from record_pages import landing

    yield record_pages, landing
    sys.path.remove(str(ROOT / "docs"))


def test_readme_has_the_numbers_of_the_results(pages):
    record_pages, landing = pages
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for text in landing.markdown(record_pages.read_results):
        assert text in readme, f"README.md must have:\n{text}"


def test_the_front_page_shows_six_sets_and_sure_labels_are_better_than_torn_ones_on_each(pages):
    record_pages, landing = pages
    sets = landing.chosen(record_pages.read_results("answers"))
    assert list(sets) == list(landing.NAMES)
    for entry in sets.values():  # as stated on the page
        assert entry[landing.METHOD]["sure_error"] < entry[landing.METHOD]["torn_error"]


def test_the_front_page_includes_all_generated_parts(pages):
    record_pages, landing = pages
    page = (ROOT / "docs" / "index.rst").read_text(encoding="utf-8")
    for name in landing.parts(record_pages.read_results):
        assert f".. include:: record/generated/landing_{name}.inc" in page
