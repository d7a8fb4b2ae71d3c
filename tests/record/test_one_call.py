"""Tests of the study of the default ensemble: its comparison, its targets, and a short version."""

import pytest

from benchmarks.common import record
from benchmarks.studies.answers import data, one_call
from benchmarks.studies.answers.summary import summarize
from benchmarks.studies.scale import one_call as scale_one_call
from benchmarks.studies.unclean import customers

RESULTS = record.load(one_call.NAME)
COSTS = {
    (entry["rows"], entry["n_clusters"] != "auto"): entry for entry in record.load(scale_one_call.NAME)["entries"]
}
CUSTOMERS = [entry for entry in record.load(customers.NAME)["entries"] if "way" in entry]


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


@pytest.mark.slow
def test_raw_customers_are_clustered_by_python_and_by_the_command_with_equal_results():
    *fits, _ = customers.study([1], n_customers=1500, n_new=300)
    by_way = {way: [entry | {"way": None} for entry in fits if entry["way"] == way] for way in customers.WAYS}
    assert by_way["Python"] == by_way["command"]
    assert min(entry["ari"] for entry in fits if entry["n_clusters"] == customers.SEGMENTS) > 0.6


@pytest.mark.slow
def test_the_cost_of_parquet_files_can_be_measured(tmp_path):
    entry = scale_one_call.measure(20_000, 20, scale_one_call.CLUSTERS, "Parquet files", tmp_path)
    assert entry["ari"] > 0.99
    assert entry["megabytes_before"] <= entry["peak_megabytes"]


# Targets


def test_labels_are_better_than_those_of_every_single_method():
    assert RESULTS["pooled"]["over_best"]["ari"]["mean"] >= 0.02
    assert RESULTS["pooled"]["over_best"]["ari"]["low"] > 0


@pytest.mark.parametrize(
    "list_name",
    [
        "design",
        "validation",
        "open families",
        pytest.param(
            "held-out families",
            marks=pytest.mark.xfail(
                strict=True, reason="spectral clustering is better by 0.009, on spirals and waves"
            ),
        ),
        "tables",
    ],
)
def test_labels_are_not_worse_than_those_of_the_best_single_method_of_a_list(list_name):
    means = RESULTS["lists"][list_name]["comparison"]["means"]["ari"]
    assert means[one_call.ENSEMBLE] >= max(means[method] for method in one_call.SINGLE)


def test_doubt_is_better_than_that_of_every_single_method():
    assert RESULTS["pooled"]["over_best"]["aurc"]["low"] > 0


def is_better_by_a_tenth(comparison):
    means = comparison["means"]["aurc"]
    return means[one_call.ENSEMBLE] <= 0.9 * min(means[method] for method in one_call.SINGLE)


def test_doubt_is_better_by_a_tenth_than_that_of_every_single_method():
    assert is_better_by_a_tenth(RESULTS["pooled"])


@pytest.mark.xfail(
    strict=True, reason="0.916 times that of ECM; spirals, waves and raw tables are hard for all members"
)
def test_doubt_is_better_by_a_tenth_without_the_design_list():
    lists = {name: entries for name, entries in RESULTS["lists"].items() if name != "design"}
    assert is_better_by_a_tenth(one_call.compare(one_call.pool_lists(lists)))


def test_data_sets_are_falsely_sure_no_more_often_than_with_ecm():
    falsely_sure = RESULTS["pooled"]["falsely_sure"]
    assert len(falsely_sure[one_call.ENSEMBLE]) <= len(falsely_sure["ECM"])


def test_torn_samples_are_wrong_more_often_than_sure_ones():
    assert RESULTS["pooled"]["separated"]["share"] >= 2 / 3


def test_a_million_rows_take_less_than_a_minute_and_2_gigabytes():
    for is_known in (True, False):
        entry = COSTS[10**6, is_known]
        assert entry["cpu_seconds"] <= 60
        assert entry["peak_megabytes"] <= 2000
        assert entry["ari"] > 0.99
    assert COSTS[10**7, True]["cpu_seconds"] <= 12 * COSTS[10**6, True]["cpu_seconds"]


def test_a_thousand_rows_take_less_than_2_seconds_if_the_number_of_clusters_is_known():
    assert COSTS[1000, True]["cpu_seconds"] <= 1.5


def test_raw_customers_are_clustered_well():
    for entry in CUSTOMERS:
        if entry["n_clusters"] == customers.SEGMENTS:
            assert entry["ari"] >= 0.85
