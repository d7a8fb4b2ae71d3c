"""The case studies: short versions run, pages agree with the results, and the code that they show works."""

import importlib
import re
import textwrap
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks.common import record
from benchmarks.studies.cases import decisions
from benchmarks.studies.cases.decisions import CASES

DOCS = Path(__file__).parents[2] / "docs"
#: What makes a short version of each case.
SHORT = {
    "biopsies": {"seeds": 2, "chosen": ("k-means", "CCM")},
    "cells": {
        "repeats": 1,
        "chosen": ("logistic regression", "evidential forest"),
        "left_out": ["CD19+ B"],
    },
    "credit": {"repeats": 1, "chosen": ("logistic regression", "evidential forest"), "most": 600},
    "brain": {"resolution": 4, "chosen": ("Gaussian mixture", "SECM")},
    "languages": {"seeds": 2, "chosen": ("spectral", "EVCLUS")},
    "sensors": {"orders": 1, "chosen": ("logistic regression", "evidential forest"), "arriving": 2},
}


@pytest.fixture
def need():
    """Skip a case whose packages are missing, by the name of the first."""

    def check(name, *more):
        for package in (*CASES[name], *more):
            if find_spec(package) is None:  # the data are enough: its own needs may be missing
                pytest.skip(f"{package} is not installed")

    return check


@pytest.fixture
def made(monkeypatch):
    """What the pages include."""
    monkeypatch.syspath_prepend(DOCS)
    pages = importlib.import_module("record_pages")
    return importlib.import_module("record_pages.cases").parts(pages.read)


def test_intervals_hold_the_mean_and_become_points_for_one_value():
    found = decisions.interval([1.0, 2.0, 3.0])
    assert found == {"mean": 2.0, "low": -0.4841, "high": 4.4841}
    assert decisions.interval([1.5]) == {"mean": 1.5, "low": 1.5, "high": 1.5}


def test_somebody_looks_at_the_largest_doubts():
    assert decisions.looked_at([0.1, 0.9, 0.5, 0.5], 0.5).tolist() == [False, True, True, False]


def test_acts_cost_least_on_average():
    losses = np.array([[5.0, 0, 0.5], [0, 1, 0.5]])
    assert decisions.acts_of_probabilities(np.array([[0.05, 0.95], [0.2, 0.8], [0.9, 0.1]]), losses).tolist() == [
        0,
        2,
        1,
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_a_short_version_gives_figures_of_the_same_kind(name, need):
    need(name)
    found = importlib.import_module(f"benchmarks.studies.cases.{name}").study(**SHORT[name])
    known = record.read(f"case_{name}")
    assert found["costs"] == known["costs"]
    for one, figures in leaves(found["methods"]):
        if one in dict(leaves(known["methods"])):
            assert set(figures) == set(dict(leaves(known["methods"]))[one])
    assert all(np.isfinite(each["mean"]) for _, figures in leaves(found["methods"]) for each in figures.values())


def leaves(methods, before=()):
    """Methods and their figures, in however many parts."""
    for name, each in methods.items():
        if all("mean" in one for one in each.values()):
            yield (*before, name), each
        else:
            yield from leaves(each, (*before, name))


def test_somebody_who_looks_at_more_leaves_fewer_errors():
    for curve in record.read("case_biopsies")["curves"].values():
        assert (np.diff(curve) <= 0).all()


@pytest.mark.parametrize("name", CASES)
def test_a_page_includes_what_is_made_of_the_results(name, made):
    page = (DOCS / "case_studies" / f"{name}.rst").read_text()
    included = re.findall(r"generated/cases_(\w+)\.(inc|svg)", page)
    assert {one for one, _ in included} == {one for one in made if one.startswith(f"{name}_")}
    for one, kind in included:
        assert isinstance(made[one], str) == (kind == "inc")


def test_the_overview_names_every_case(made):
    page = (DOCS / "case_studies" / "index.rst").read_text()
    for name in CASES:
        assert f"\n   {name}\n" in page
        assert f"<{name}>`" in made["outcomes"]


def blocks_of(name, language):
    """Return the blocks of a page that have this language."""
    page = (DOCS / "case_studies" / f"{name}.rst").read_text()
    found = re.findall(rf"^\.\. code-block:: {language}\n\n((?:   .*\n|\n)+)", page, flags=re.MULTILINE)
    return [textwrap.dedent(block) for block in found]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [name if name == "biopsies" else pytest.param(name, marks=pytest.mark.slow) for name in CASES]
)
def test_the_code_of_a_page_prints_what_the_page_shows(name, need, capsys):
    need(name, *(["anndata"] if name == "cells" else []))
    (code,), (expected,) = blocks_of(name, "python"), blocks_of(name, "text")
    exec(compile(code, f"{name}.rst", "exec"), {})
    assert capsys.readouterr().out.split() == expected.split()


def test_the_code_about_languages_prints_what_its_page_says():
    (printed,) = blocks_of("languages", "text")
    found = record.read("case_languages")["map"]
    n_sure = sum(len(one["candidates"]) == 1 for one in found)
    assert re.search(rf"^  sure +{n_sure} ", printed, flags=re.MULTILINE)
    for family in ("Romance", "Germanic", "Slavic", "Turkic"):
        members = [one for one in found if one["family"] == family]
        assert re.search(rf"^{family} \{{\d: {len(members)}\}}$", printed, flags=re.MULTILINE)
    shown = dict(re.findall(r"^(\w\w) +\d +(\S+)$", printed, flags=re.MULTILINE))
    assert len(shown) == 8
    for one in found:
        if one["language"] in shown:
            is_sure = len(shown[one["language"]]) == len("{0}")
            assert is_sure == (len(one["candidates"]) == 1), one["language"]


def mean(name, method, figure):
    return record.read(f"case_{name}")["methods"][method][figure]["mean"]


def is_open(one):
    """Whether an interval holds zero."""
    return one["low"] < 0 < one["high"]


@pytest.mark.parametrize("name", ["biopsies", "brain"])
def test_who_looks_at_a_tenth_removes_two_fifths_of_the_errors(name):
    for method in record.read(f"case_{name}")["methods"]:
        if method != "hdbscan":
            assert mean(name, method, "errors_left") <= 0.6 * mean(name, method, "errors"), method


def test_biopsies_are_what_the_page_says():
    found = record.read("case_biopsies")
    assert found["gains"]["Gaussian mixture"]["high"] < 0
    late = [place for place, share in enumerate(found["shares"]) if share >= 0.18]
    for method in ("CCM", "ECM", "CredalEnsemble", "fuzzy c-means"):
        assert all(found["curves"][method][one] < found["curves"]["Gaussian mixture"][one] for one in late)


def test_cells_are_what_the_page_says():
    found = record.read("case_cells")
    for method in found["methods"]:
        assert mean("cells", method, "wrong") < 0.5 * mean("cells", method, "always_a_type")
    assert all(found["gains"][one]["high"] < 0 for one in ("calibrated forest", "logistic regression"))
    by_type = found["found_by_type"]
    assert all(by_type[one]["unseen-class detector"] > 70 for one in ("CD19+ B", "CD56+ NK", "CD34+"))
    assert max(share for one in ("CD14+ Monocyte", "Dendritic") for share in by_type[one].values()) < 5
    assert all(is_open(one) for one in found["new_gains"].values())


def test_credit_is_what_the_page_says():
    found = record.read("case_credit")
    plain, removed = found["methods"]["as they are"], found["methods"]["30 % removed"]
    assert found["gains"]["as they are"]["logistic regression"]["high"] < 0
    assert max(one["cost"]["mean"] for name, one in plain.items() if name != "look at all") < 50
    assert removed["calibrated boosting"]["cost"]["high"] > 50
    assert abs(removed["calibrated boosting"]["look"]["mean"] - plain["calibrated boosting"]["look"]["mean"]) < 2
    neighbours = "evidential neighbours"
    assert (round(plain[neighbours]["look"]["mean"]), round(removed[neighbours]["look"]["mean"])) == (47, 71)
    rises = {
        name: removed[name]["cost"]["mean"] - plain[name]["cost"]["mean"]
        for name in plain
        if name != "look at all"
    }
    assert min(rises, key=rises.get) == neighbours
    of_neighbours = found["gains_of_neighbours"]["30 % removed"]
    assert all(is_open(of_neighbours[one]) for one in ("calibrated forest", "logistic regression"))


def test_the_brain_is_what_the_page_says():
    found = record.read("case_brain")
    assert min(found["methods"], key=lambda one: mean("brain", one, "errors")) == "SECM"
    assert max(found["methods"], key=lambda one: mean("brain", one, "mixed_found")) == "SECM"
    assert is_open(found["gains"]["Gaussian mixture, smoothed"])
    assert 30 < found["mixed"] < 33


def test_languages_are_what_the_page_says():
    found = record.read("case_languages")
    assert min(found["methods"], key=lambda one: mean("languages", one, "cost")) == "spectral"
    assert is_open(found["gains"]["hdbscan"])
    assert is_open(found["gains_of_recm"]["hdbscan"])
    clusters = {(one["family"], one["label"]) for one in found["map"] if one["family"] != "none"}
    assert len(clusters) == 4
    sure = [one for one in found["map"] if len(one["candidates"]) == 1]
    assert len(sure) == 40
    assert [one["language"] for one in sure if one["family"] == "none"] == ["br"]
    assert all(len(one["candidates"]) > 1 for one in found["map"] if one["language"] in ("en", "ro"))


def test_sensors_are_what_the_page_says():
    found = record.read("case_sensors")
    assert all(is_open(found["gains"][one]) for one in ("calibrated forest", "logistic regression"))
    assert mean("sensors", "calibrated forest", "looks") > 50
    assert mean("sensors", "evidential forest", "looks") < 30
