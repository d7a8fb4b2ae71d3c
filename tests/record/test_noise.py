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
    for of_methods in committed["judged"]["tables"].values():
        for entry in of_methods.values():
            assert entry["clusters"] >= 2
            assert entry["noise"] >= 20


def test_noise_is_assigned_at_least_as_well_as_by_the_best_alternative(committed):
    gain = committed["judged"]["gain over the best alternative"]["right"]
    assert gain["mean"] >= 0
    assert gain["low"] > -0.025


@pytest.mark.xfail(strict=True, reason="cosine similarity is better on the judged tables, by 0.036")
def test_doubt_about_noise_ranks_errors_at_least_as_well_as_the_best_alternative(committed):
    assert committed["judged"]["gain over the best alternative"]["auroc"]["mean"] >= 0


def test_doubt_ranks_errors_better_than_soft_membership_and_neighbors(committed):
    means = committed["judged"]["means"]["auroc"]
    assert means[noise.WRAPPER] > means["soft membership"] + 0.05
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


# Verdicts about constructed noise, as before the neighbors of noise counted


@pytest.mark.xfail(strict=True, reason="6 of 89 outliers of digits and 38 of 321 of satimage are sure")
def test_constructed_outliers_are_never_sure(committed):
    assert all(entry["odd"]["sure"] == 0 for entry in committed["known"])


@pytest.mark.xfail(strict=True, reason="outliers near to noise have neighbors, so that some are torn or sure")
def test_all_constructed_outliers_of_satimage_are_outliers(committed):
    entries = [entry["odd"] for entry in committed["known"] if entry["table"] == "satimage"]
    assert all(entry["outlier"] == entry["added"] for entry in entries)


@pytest.mark.xfail(strict=True, reason="noise may be sure if its neighbors agree and it resembles their cluster")
def test_digits_halfway_between_two_classes_are_torn(committed):
    entries = [entry["half way"] for entry in committed["known"] if entry["table"] == "digits"]
    assert all(entry["torn"] > 0.95 * entry["noise"] for entry in entries)
