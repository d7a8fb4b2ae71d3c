"""Tests of the study of conformal sets of classes: recorded figures against targets, and a short version."""

import numpy as np
import pytest

from benchmarks.common import record
from benchmarks.studies.answers import conformal_classes

#: Sets that are compared with the confidence level, and the methods of MAPIE.
METHODS = ("folds", "split", "split, aps", "split, per class", "split, missing", "folds, missing")


@pytest.fixture(scope="module")
def tables():
    return record.load("conformal_classes")["judged"]


def sizes(tables, method):
    return np.array([table["sets"][method]["size"] for table in tables.values()])


def test_10_tables_are_recorded(tables):
    assert tuple(tables) == conformal_classes.DATA["judged"]
    assert len(tables) == 10


@pytest.mark.parametrize("method", METHODS)
def test_the_coverage_is_that_of_the_confidence_level(tables, method):
    for name, table in tables.items():
        figures = table["sets"][method]
        if method == "split, per class":  # small classes have sets that are larger than necessary
            assert figures["coverage"] >= 0.89, name
        else:
            assert 0.89 <= figures["coverage"] <= 0.91, name


def test_sets_are_equal_to_those_of_mapie_for_the_same_calibration(tables):
    for name, table in tables.items():
        for gain in ("split", "split, missing"):
            assert table["gain"][gain]["mean"] == pytest.approx(0, abs=1e-3), name


def test_the_mean_size_of_sets_is_not_above_that_of_mapie(tables):
    assert sizes(tables, "folds").mean() <= sizes(tables, "MAPIE, folds").mean()
    assert sizes(tables, "folds").mean() <= sizes(tables, "MAPIE, split").mean()


def test_sets_are_smaller_than_those_of_mapie_on_most_tables(tables):
    gains = [table["gain"]["folds"] for table in tables.values()]
    larger = [table for table in tables.values() if table["gain"]["folds"]["high"] < 0]
    assert sum(gain["low"] > 0 for gain in gains) == 7
    assert len(larger) == 2
    assert all(table["gain"]["folds"]["mean"] > -0.01 for table in larger)
    assert all(table["sets"]["MAPIE, folds"]["coverage"] < 0.9 for table in larger)


def test_each_class_is_covered(tables):
    for name, table in tables.items():
        for method in ("split, per class", "split, per class, missing"):
            assert table["sets"][method]["class coverage"] >= 0.885, (name, method)
    values = [table["sets"]["split"]["class coverage"] for table in tables.values()]
    assert min(values) < 0.8  # without per_class


def test_true_classes_are_covered_if_labels_are_uncertain(tables):
    for name, table in tables.items():
        for labels in ("sets", "sets, per class", "probabilities", "wrong, discounted"):
            assert table["sets"][labels]["coverage"] >= 0.89, (name, labels)
        assert table["sets"]["wrong"]["coverage"] >= 0.8, name


def test_the_risk_is_exceeded_in_few_splits(tables):
    larger = [
        figures["larger"]
        for table in tables.values()
        for of_risk in table["rejection"].values()
        for figures in of_risk.values()
    ]
    assert np.mean(larger) < 0.1
    assert max(larger) <= 0.25  # 5 of 20 splits, with a sampling error of the test samples


def test_sets_of_unseen_classes_are_empty_more_often_around_a_detector(tables):
    shares = {
        key: np.mean([table["unseen"][key]["empty"] for table in tables.values() if "unseen" in table])
        for key in ("detector", "classifier")
    }
    assert shares["detector"] > shares["classifier"]


def test_uncertain_labels_contain_true_classes():
    y = np.arange(600) % 3
    labels = conformal_classes.uncertain_labels(y, 3, np.random.default_rng(0))
    rows = np.arange(600)
    assert (labels["sets"][rows, y] == 1).all()
    assert 0.4 < (labels["sets"].sum(axis=1) == 2).mean() < 0.6
    weights = labels["probabilities"].to_fuzzy()[rows, y]
    for weight in (0.6, 0.8, 0.95):  # the class with this probability is right in this share of cases
        pair = np.isclose(weights, weight) | np.isclose(weights, 1 - weight)
        assert np.isclose(weights[pair], weight).mean() == pytest.approx(weight, abs=0.1)
    assert 0.05 < (labels["wrong"].to_hard() != y).mean() < 0.15
    np.testing.assert_allclose(labels["wrong, discounted"].masses[:, -1], 0.1)
