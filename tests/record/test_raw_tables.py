"""The study of tables as they are: what it computes is right, and the record keeps what the guide says."""

import importlib
import re
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.common import record
from benchmarks.studies.answers import tables

#: Figures that others had: the issue of tables names them.
TO_BEAT = {"HouseVotes84": 0.58, "Soybean": 0.48, "Zoo": 0.87, "mushroom": 0.49}


def test_peers_get_standardised_numbers_and_a_category_for_gaps():
    X = pd.DataFrame({"age": [20.0, 40, np.nan, 60], "plan": ["a", None, "b", "a"]})
    numbers, categories = tables.as_peers_take_it(X)
    np.testing.assert_allclose(numbers["age"], [-1, 0, 0, 1])
    assert categories["plan"].tolist() == ["a", "missing", "b", "a"]


def test_the_record_is_as_good_as_the_figures_of_others():
    found = record.read(tables.NAME)["tables"]
    for name, figure in TO_BEAT.items():
        assert round(max(found[name][method] for method in tables.ours(2, 0)), 2) >= figure, name


def test_penguins_are_clustered_as_on_record():
    found, known = tables.indices("penguins", n_seeds=1, with_peers=False), record.read(tables.NAME)["tables"]
    for method in tables.ours(3, 0):
        assert abs(found[method] - known["penguins"][method]) < 0.05, method


def test_the_page_includes_what_is_made_of_the_results(monkeypatch):
    docs = Path(__file__).parents[2] / "docs"
    monkeypatch.syspath_prepend(docs)
    pages = importlib.import_module("record_pages")
    made = importlib.import_module("record_pages.raw_tables").parts(pages.read)
    page = (docs / "record" / "raw_tables.rst").read_text()
    assert set(re.findall(r"generated/raw_tables_(\w+)\.", page)) == set(made)
