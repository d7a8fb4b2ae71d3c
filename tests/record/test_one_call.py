"""Tests of the study of the default ensemble: its comparison, its targets, and a short version."""

import pytest

from benchmarks.common import record
from benchmarks.studies.answers import data, one_call
from benchmarks.studies.answers.summary import summarize

RESULTS = record.load(one_call.NAME)


def entry(method, name="a", **scores):
    return {"method": method, "data": name, "family": name, "group": "tables", "ended": None} | scores


def test_the_comparison_is_with_the_best_single_method_of_each_score():
    scores = {method: {"ari": 0.2, "aurc": 0.5} for method in one_call.METHODS}
    scores["Ward"] = {"ari": 0.7, "aurc": 0.4}
    scores["ECM"] = {"ari": 0.1, "aurc": 0.2}
    scores[one_call.ENSEMBLE] = {"ari": 0.75, "aurc": 0.15, "sure": 0.95, "sure_error": 0.4, "torn_error": 0.5}
    comparison = one_call.compare([entry(method, **values) for method, values in scores.items()])
    assert comparison["best_single"] == {"ari": "Ward", "aurc": "ECM"}
    assert comparison["over_best"]["ari"]["mean"] == pytest.approx(0.05)
    assert comparison["over_best"]["aurc"]["mean"] == pytest.approx(0.05)
    assert comparison["falsely_sure"][one_call.ENSEMBLE] == ["a"]
    assert comparison["separated"] == {"sets": 1, "share": 0}


def test_lists_have_the_stated_sizes_and_share_no_data():
    names = {list_name: list(make()) for list_name, make in one_call.LISTS.items()}
    assert len(names["tables"]) >= 30
    assert not set(names["tables"]) & {*data.names("design"), *data.names("validation")}
    assert len(names["open families"]) + len(names["held-out families"]) >= 100
    assert len({*one_call.OPEN, *one_call.HELD_OUT}) >= 12


def test_pooled_data_sets_are_distinct():
    lists = {name: {"entries": [entry("Ward")]} for name in ("first", "second")}
    assert [result["data"] for result in one_call.pool_lists(lists)] == ["first: a", "second: a"]


@pytest.mark.slow
def test_a_short_version_runs():
    entries = one_call.entries_of("held-out families", "exponentials 0")
    assert [result["method"] for result in entries] == list(one_call.METHODS)
    assert 0 <= entries[-1]["aurc"] <= 1
    assert summarize(entries)["all"][one_call.ENSEMBLE]["sets"] == 1


# Targets


def test_labels_are_better_than_those_of_every_single_method():
    pooled = RESULTS["pooled"]
    assert pooled["over_best"]["ari"]["mean"] >= 0.02
    for name, part in RESULTS["lists"].items():
        means = part["comparison"]["means"]["ari"]
        assert means[one_call.ENSEMBLE] >= max(means[method] for method in one_call.SINGLE), name


def test_doubt_is_better_than_that_of_every_single_method():
    means = RESULTS["pooled"]["means"]["aurc"]
    assert means[one_call.ENSEMBLE] <= 0.9 * min(means[method] for method in one_call.SINGLE)


def test_data_sets_are_falsely_sure_no_more_often_than_with_ecm():
    falsely_sure = RESULTS["pooled"]["falsely_sure"]
    assert len(falsely_sure[one_call.ENSEMBLE]) <= len(falsely_sure["ECM"])


def test_torn_samples_are_wrong_more_often_than_sure_ones():
    assert RESULTS["pooled"]["separated"]["share"] >= 2 / 3
