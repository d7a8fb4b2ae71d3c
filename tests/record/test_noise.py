"""Tests of the study of noise: repeated measurements on digits, and recorded verdicts about known noise."""

import pytest

from benchmarks.common import record
from benchmarks.studies.answers import noise


@pytest.fixture(scope="module")
def committed():
    return record.load("answers_noise")


@pytest.mark.parametrize("method", noise.METHODS)
def test_noise_of_digits_is_classified_as_recorded(committed, method):
    recorded = next(
        entry for entry in committed["as_they_are"] if (entry["data"], entry["method"]) == ("digits", method)
    )
    result = noise.as_they_are("digits", method)
    assert result["noise"] == pytest.approx(recorded["noise"], rel=0.05)
    assert result["torn"] == pytest.approx(recorded["torn"], rel=0.05)
    assert result["right_of_sure"] > result["right_of_torn"] + 0.3


def test_constructed_outliers_are_never_sure(committed):
    for entry in committed["with_known"]:
        assert entry["odd"]["noise"] == entry["odd"]["added"]
        assert entry["odd"]["sure"] == 0
    # With many noisy features, half of the outliers look torn.
    shares = {entry["data"]: entry["odd"]["outlier"] / entry["odd"]["added"] for entry in committed["with_known"]}
    assert shares["satimage"] == 1
    assert 0.4 < shares["digits"] < 0.9


def test_digits_halfway_between_two_classes_are_torn(committed):
    for entry in committed["with_known"]:
        if entry["data"] == "digits":
            assert entry["half way"]["torn"] > 0.95 * entry["half way"]["noise"]
