"""Tests of the study of reviews: a repeated measurement, and comparison with random reviews."""

import pytest

from benchmarks.common import record
from benchmarks.studies.answers import review


def test_reviewing_a_tenth_in_the_order_of_risk_leaves_fewer_errors_than_at_random():
    rows = record.load("answers_review")["errors"]
    assert len(rows) == len(review.DATA) * len(review.METHODS)
    assert all(row["errors_left"] < row["left_at_random"] for row in rows)


def test_wine_is_reproduced_as_recorded():
    rows = {(entry["data"], entry["method"]): entry for entry in record.load("answers_review")["errors"]}
    result = review.compare("wine", "CCM")
    assert result["errors"] == rows["wine", "CCM"]["errors"]
    assert result["errors_left"] == rows["wine", "CCM"]["errors_left"]
    assert result["expected"] == pytest.approx(rows["wine", "CCM"]["expected"], rel=0.02)
