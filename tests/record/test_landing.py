"""Tests that the numbers in README, on the front page and on the page of CCM agree with the results."""

import re
import sys
from pathlib import Path

import pytest

from benchmarks.common import record

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SITE = "https://evidential-learn.github.io/"
FILES = "https://raw.githubusercontent.com/evidential-learn/evidential-learn/main/"
SOURCES = "https://github.com/evidential-learn/evidential-learn/blob/main/"
GENERATED = ("reference/index", "gallery/index")  # pages without a source at this path, or written by Sphinx


@pytest.fixture(scope="module")
def pages():
    sys.path[:0] = [str(DOCS)]
    import record_pages
    from record_pages import ccm, landing

    yield record_pages.read_results, landing, ccm
    sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def readme():
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_has_the_numbers_of_the_results(pages, readme):
    read_results, landing, _ = pages
    for text in landing.markdown(read_results):
        assert text in readme, f"README.md must have:\n{text}"


def test_the_picture_of_readme_shows_the_current_results(pages):
    image = pytest.importorskip("PIL.Image")
    read_results, landing, _ = pages
    with image.open(DOCS / "_static" / "doubt.png") as picture:
        description = picture.text["Description"]
    assert description == landing.alternative_text(landing.read_doubt(read_results)), "run python -m record_pages"


def test_readme_is_short_and_its_links_are_absolute_and_lead_to_pages_and_files(readme):
    assert len(readme.splitlines()) <= 90
    links = re.findall(r"\]\(([^)\s]+)\)", readme)
    assert len(links) >= 10
    for link in links:
        page = link.removeprefix(SITE)
        if page != link:
            page = page.removesuffix(".html")
            exists = page in GENERATED or any((DOCS / f"{page}.{suffix}").is_file() for suffix in ("rst", "md"))
        else:
            exists = (ROOT / link.removeprefix(FILES).removeprefix(SOURCES)).is_file()
        assert exists, link


def test_the_front_page_includes_all_generated_parts(pages):
    read_results, landing, _ = pages
    page = (DOCS / "index.rst").read_text(encoding="utf-8")
    for name, part in landing.parts(read_results).items():
        line = f"include:: record/generated/landing_{name}.inc"
        if not isinstance(part, str):
            line = f"image:: record/generated/landing_{name}.svg"
        assert f".. {line}" in page


def test_the_figure_shows_all_methods_on_the_same_data(pages):
    read_results, landing, _ = pages
    doubt = landing.read_doubt(read_results)
    assert len(doubt["all"]) == 142  # as stated in the title of the figure of deciles
    families = {entry["families"] for entry in landing.scores(doubt).values()}
    assert len(families) == 1


def test_the_answers_on_the_front_page_hold(pages):
    read_results, landing, _ = pages
    doubt = landing.read_doubt(read_results)
    for method in ("CCM", "CredalEnsemble"):
        for other in ("Gaussian mixture", "hdbscan"):
            assert landing.difference(doubt["with errors"], method, other, "aurc_normalized")["high"] < 0
    # The ratio of distances of k-means ranks nearly as well.
    assert abs(landing.difference(doubt["with errors"], "CCM", "k-means", "aurc_normalized")["mean"]) < 0.05
    assert landing.difference(doubt["all"], "CredalEnsemble", "k-means", "ari")["low"] > 0


def test_the_page_of_ccm_shows_six_sets_and_sure_labels_are_better_than_torn_ones_on_each(pages):
    read_results, _, ccm = pages
    sets = ccm.chosen(read_results("answers"))
    assert list(sets) == list(ccm.NAMES)
    for entry in sets.values():  # as stated on the page
        assert entry[ccm.METHOD]["sure_error"] < entry[ccm.METHOD]["torn_error"]
    page = (DOCS / "guide" / "ccm.rst").read_text(encoding="utf-8")
    for name in ccm.parts(read_results):
        assert f".. include:: /record/generated/ccm_{name}.inc" in page


def test_errors_by_decile_are_those_of_the_same_fits():
    errors = {
        (name, entry["data"], entry["method"]): entry["error"]
        for name, part in record.load("answers_one_call")["lists"].items()
        for entry in part["entries"]
        if "error" in entry
    }
    entries = record.load("answers_deciles")["entries"]
    differences = [
        abs(entry["error"] - errors[entry["list"], entry["data"], entry["method"]])
        for entry in entries
        if (entry["list"], entry["data"], entry["method"]) in errors and "error" in entry
    ]
    assert len(differences) == len(entries) == 5 * 142
    assert sum(difference > 1e-4 for difference in differences) <= 0.02 * len(differences)


def test_errors_increase_with_doubt():
    summary = record.load("answers_deciles")["summary"]
    for method in ("CCM", "CredalEnsemble"):
        first, last = summary[method][0], summary[method][-1]
        assert last["mean"] > 2 * first["mean"]
    # The mixture is wrong more often than CCM in its least doubtful half, as on the front page.
    for part in range(5):
        assert summary["Gaussian mixture"][part]["mean"] > summary["CCM"][part]["mean"]
