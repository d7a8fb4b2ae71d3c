"""Tests of the study of tables: correctness of its computations, and statements of the guide."""

import importlib
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.common import record
from benchmarks.studies.answers import tables

#: Scores of other methods to compare with.
TO_BEAT = (
    pytest.param("HouseVotes84", 0.58, marks=pytest.mark.xfail(strict=True, reason="0.571")),
    ("Soybean", 0.48),
    ("Zoo", 0.87),
    ("mushroom", 0.49),
)


def test_peers_get_standardized_numbers_and_a_category_for_missing_values():
    X = pd.DataFrame({"age": [20.0, 40, np.nan, 60], "plan": ["a", None, "b", "a"]})
    numbers, categories = tables.split_columns(X)
    np.testing.assert_allclose(numbers["age"], [-1, 0, 0, 1])
    assert categories["plan"].tolist() == ["a", "missing", "b", "a"]


@pytest.mark.parametrize(("name", "figure"), TO_BEAT)
def test_the_record_is_as_good_as_other_methods(name, figure):
    results = record.load(tables.NAME)["tables"][name]
    assert round(max(results[method] for method in tables.pipelines(2, 0)), 2) >= figure


def test_penguins_are_clustered_as_on_record():
    results, recorded = tables.indices("penguins", n_seeds=1, with_peers=False), record.load(tables.NAME)["tables"]
    for method in tables.pipelines(3, 0):
        assert abs(results[method] - recorded["penguins"][method]) < 0.05, method


def test_the_page_includes_all_generated_parts(monkeypatch):
    docs = Path(__file__).parents[2] / "docs"
    monkeypatch.syspath_prepend(docs)
    pages = importlib.import_module("record_pages")
    parts = importlib.import_module("record_pages.raw_tables").parts(pages.read_results)
    page = (docs / "record" / "raw_tables.rst").read_text()
    assert set(re.findall(r"generated/raw_tables_(\w+)\.", page)) == set(parts)
