"""Spellings of categories that are merged, distinguished, or reported."""

import numpy as np
import pandas as pd
import pytest

from evlearn.preprocessing import GowerDistances, TableEncoder
from evlearn.preprocessing.columns import is_misspelled

SHOPS = ["store"] * 60 + ["web"] * 40 + ["Store", "STORE", "store ", " Web", "my  shop", "My shop", "my shop"]


def fitted(cells, **parameters):
    return TableEncoder(**parameters).fit({"x": cells, "y": np.arange(len(cells)) % 7.0})


def test_categories_that_differ_in_case_and_whitespace_are_the_same():
    encoder = fitted(SHOPS)
    facts = encoder.columns_[0]
    assert facts["categories"] == ["My shop", "store", "web"]
    np.testing.assert_allclose(np.array(facts["frequencies"]) * len(SHOPS), [3, 63, 41])
    assert facts["merged"] == ["STORE", "Store", "Web", "my  shop", "my shop"]
    assert "other spellings merged: STORE, Store, Web, my  shop, my shop" in encoder.describe()
    new = ["store", "sTORE", "  Store", "web", "MY\tSHOP", "shop"]
    features = encoder.transform({"x": new, "y": np.zeros(6)})[:, :3]
    assert features.argmax(axis=1).tolist()[:5] == [1, 1, 1, 2, 0]
    assert (features[5] == 0).all()


@pytest.mark.parametrize("order", [1, -1])
def test_the_most_frequent_spelling_is_the_name_in_any_order(order):
    assert fitted(SHOPS[::order]).columns_[0]["categories"] == ["My shop", "store", "web"]


def test_dissimilarities_use_the_same_rule():
    distances = GowerDistances().fit_transform({"x": SHOPS})
    assert distances[0, SHOPS.index("STORE")] == 0
    assert distances[0, SHOPS.index(" Web")] == 1


def test_genotypes_are_different_categories_and_rare_spellings_of_short_names_are_not():
    facts = fitted(["AA"] * 25 + ["Aa"] * 50 + ["aa"] * 25).columns_[0]
    assert facts["categories"] == ["AA", "Aa", "aa"]
    assert facts["exact"]
    facts = fitted(["M"] * 50 + ["F"] * 40 + ["m", "f"]).columns_[0]
    assert facts["categories"] == ["F", "M"]


def test_names_that_are_the_same_after_merging_are_constant():
    encoder = TableEncoder().fit({"x": ["Paris", "paris"] * 20, "y": np.arange(40) % 7.0})
    assert encoder.columns_[0]["reason"] == "constant"
    assert encoder.transform({"x": ["paris"], "y": [1.0]}).shape == (1, 1)


def test_ordered_categories_are_kept_as_declared():
    grades = pd.Categorical(["low", "Low", "high"] * 10, ["low", "Low", "high"], ordered=True)
    facts = TableEncoder().fit(pd.DataFrame({"x": grades, "y": np.arange(30) % 7.0})).columns_[0]
    assert facts["categories"] == ["low", "Low", "high"]


def test_declared_categories_keep_their_order():
    shops = pd.Categorical(["web", "Web", "store"] * 10, ["web", "Web", "store"])
    facts = TableEncoder().fit(pd.DataFrame({"x": shops, "y": np.arange(30) % 7.0})).columns_[0]
    assert facts["categories"] == ["Web", "store"]


def test_a_category_called_other_is_pooled_in_any_case():
    cells = ["a1"] * 30 + ["b1"] * 25 + ["Other"] * 20 + ["c1"] * 3 + ["d1"] * 2
    facts = fitted(cells, max_categories=3).columns_[0]
    assert facts["categories"] == ["a1", "b1", "other"]
    assert facts["frequencies"] == pytest.approx([30 / 80, 25 / 80, 25 / 80])
    cells = ["a1"] * 30 + ["Other"] * 25 + ["b1"] * 20 + ["c1"] * 3 + ["d1"] * 2
    assert fitted(cells, max_categories=3).columns_[0]["categories"] == ["a1", "other"]


def test_rare_categories_that_look_like_misspellings_are_reported_and_kept():
    cells = ["silver"] * 100 + ["gold"] * 90 + ["sliver"] * 3 + ["gld"] * 2 + ["bronze"] * 2
    encoder = fitted(cells)
    assert encoder.columns_[0]["categories"] == ["bronze", "gld", "gold", "silver", "sliver"]
    assert encoder.describe().splitlines()[-1] == "Check x: 'gld' (2) may be 'gold', 'sliver' (3) may be 'silver'."
    assert "Check" not in fitted(["silver"] * 100 + ["sliver"] * 50).describe()


@pytest.mark.parametrize(
    ("name", "other"),
    [("stroe", "store"), ("wbe", "web"), ("gld", "gold"), ("stores", "store"), ("new yorkk", "new york")],
)
def test_1_wrong_letter_is_a_misspelling(name, other):
    assert is_misspelled(name, other)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("store", "store"),
        ("north", "south"),
        ("male", "female"),
        ("group a", "group b"),
        ("plan1", "plan2"),
        ("no", "on"),
        ("a", "b"),
        ("web shop", "web"),
        ("store 1", "stroe 2"),
    ],
)
def test_other_names_are_not_misspellings(name, other):
    assert not is_misspelled(name, other)
