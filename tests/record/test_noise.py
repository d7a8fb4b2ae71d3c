"""Tests of the study of noise: repeated measurements on digits, comparisons, and verdicts about known noise."""

import pytest

from benchmarks.common import record
from benchmarks.studies.answers import noise


@pytest.fixture(scope="module")
def committed():
    return record.load(noise.NAME)


def test_ten_tables_were_judged_that_were_not_used_for_choices(committed):
    assert tuple(committed["judged"]["tables"]) == noise.JUDGED_TABLES
    assert len(noise.JUDGED_TABLES) == 10
    assert not set(noise.JUDGED_TABLES) & set(noise.DESIGN)
    assert tuple(committed["design"]["tables"]) == tuple(noise.DESIGN)
    for of_methods in committed["judged"]["tables"].values():
        for entry in of_methods.values():
            assert entry["clusters"] >= 2
            assert entry["noise"] >= 20


def test_noise_is_assigned_at_least_as_well_as_by_the_best_alternative(committed):
    for part in ("design", "judged"):
        assert committed[part]["gain over the best alternative"]["right"]["mean"] >= 0


def test_noise_is_not_assigned_worse_by_more_than_chance_on_the_design_tables(committed):
    assert committed["design"]["gain over the best alternative"]["right"]["low"] > -0.025


@pytest.mark.xfail(strict=True, reason="the judged tables differ so much that the interval begins at -0.064")
def test_noise_is_not_assigned_worse_by_more_than_chance_on_the_judged_tables(committed):
    assert committed["judged"]["gain over the best alternative"]["right"]["low"] > -0.025


def test_doubt_about_noise_ranks_errors_at_least_as_well_as_the_best_alternative(committed):
    assert committed["judged"]["gain over the best alternative"]["auroc"]["mean"] >= 0


def test_doubt_ranks_errors_better_than_soft_membership_and_neighbors(committed):
    for part in ("design", "judged"):
        means = committed[part]["means"]["auroc"]
        assert means[noise.WRAPPER] > means["soft membership"] + 0.05
        assert means[noise.WRAPPER] > means["10 nearest"] + 0.08


@pytest.mark.xfail(strict=True, reason="the difference to neighbors is 0.089 on the judged tables")
def test_doubt_ranks_errors_much_better_than_neighbors(committed):
    means = committed["judged"]["means"]["auroc"]
    assert means[noise.WRAPPER] > means["10 nearest"] + 0.1


@pytest.mark.parametrize("method", noise.METHODS)
def test_noise_of_digits_is_classified_as_recorded(committed, method):
    recorded = next(
        entry for entry in committed["kinds"] if (entry["data"], entry["method"]) == ("digits", method)
    )
    result = noise.kinds_of_noise("digits", method)
    assert result["noise"] == pytest.approx(recorded["noise"], rel=0.05)
    assert result["torn"] == pytest.approx(recorded["torn"], rel=0.05)
    assert result["right_of_sure"] > result["right_of_torn"] + 0.3


def test_constructed_outliers_have_the_largest_outlier_scores(committed):
    for entry in committed["known"]:
        assert entry["auroc of outlier score"] > 0.99
        assert entry["odd"]["noise"] == entry["odd"]["added"]
        assert entry["odd"]["sure"] < 0.12 * entry["odd"]["added"]
        assert entry["odd"]["outlier"] > 0.5 * entry["odd"]["added"]
        assert entry["data"]["outlier"] < 0.01 * entry["data"]["noise"]


def test_digits_halfway_between_two_classes_are_mostly_torn(committed):
    for entry in committed["known"]:
        if entry["table"] == "digits":
            assert entry["half way"]["torn"] > 0.8 * entry["half way"]["noise"]


def test_constructed_outliers_are_never_sure(committed):
    assert all(entry["odd"]["sure"] == 0 for entry in committed["known"])


def test_all_constructed_outliers_of_satimage_are_outliers(committed):
    entries = [entry["odd"] for entry in committed["known"] if entry["table"] == "satimage"]
    assert all(entry["outlier"] == entry["added"] for entry in entries)


def test_digits_halfway_between_two_classes_are_torn(committed):
    entries = [entry["half way"] for entry in committed["known"] if entry["table"] == "digits"]
    assert all(entry["torn"] > 0.95 * entry["noise"] for entry in entries)
