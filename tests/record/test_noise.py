"""The study of noise: what was measured on digits is found again, and known noise was told apart."""

import pytest

from benchmarks.common import record
from benchmarks.studies.answers import noise


@pytest.fixture(scope="module")
def committed():
    return record.read("answers_noise")


@pytest.mark.parametrize("method", noise.METHODS)
def test_noise_of_digits_is_told_apart_as_recorded(committed, method):
    known = next(one for one in committed["as_they_are"] if (one["data"], one["method"]) == ("digits", method))
    now = noise.as_they_are("digits", method)
    assert now["noise"] == pytest.approx(known["noise"], rel=0.05)
    assert now["torn"] == pytest.approx(known["torn"], rel=0.05)
    assert now["right_of_sure"] > now["right_of_torn"] + 0.3


def test_samples_that_are_odd_by_construction_are_never_sure(committed):
    for one in committed["with_known"]:
        assert one["odd"]["noise"] == one["odd"]["added"]
        assert one["odd"]["sure"] == 0
    # Where features are many and noisy, half of the odd ones look torn.
    found = {one["data"]: one["odd"]["outlier"] / one["odd"]["added"] for one in committed["with_known"]}
    assert found["satimage"] == 1
    assert 0.4 < found["digits"] < 0.9


def test_digits_half_way_between_two_are_torn(committed):
    for one in committed["with_known"]:
        if one["data"] == "digits":
            assert one["half way"]["torn"] > 0.95 * one["half way"]["noise"]
