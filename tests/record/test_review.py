"""Reviewing: what is on record comes out again, and it is better than looking at anybody."""

import pytest

from benchmarks.common import record
from benchmarks.studies.answers import review


def test_a_tenth_in_order_of_risk_leaves_fewer_errors_than_at_random():
    rows = record.read("answers_review")["errors"]
    assert len(rows) == len(review.DATA) * len(review.METHODS)
    assert all(row["errors_left"] < row["left_at_random"] for row in rows)


def test_wine_comes_out_as_before():
    rows = {(one["data"], one["method"]): one for one in record.read("answers_review")["errors"]}
    now = review.compare("wine", "CCM")
    assert now["errors"] == rows["wine", "CCM"]["errors"]
    assert now["errors_left"] == rows["wine", "CCM"]["errors_left"]
    assert now["expected"] == pytest.approx(rows["wine", "CCM"]["expected"], rel=0.02)
