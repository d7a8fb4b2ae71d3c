"""Tests of the study of label issues: its wrong labels, and the recorded figures."""

import numpy as np
import pytest

from benchmarks.common import record
from benchmarks.studies.answers import label_issues


@pytest.mark.parametrize("noise", label_issues.NOISES)
def test_the_share_of_wrong_labels_is_the_rate(noise):
    y = np.arange(300) % 3
    rivals = np.random.default_rng(0).dirichlet(np.ones(3), size=300)
    rivals[np.arange(300), y] = 0
    labels = label_issues.corrupt(y, noise, 0.1, 0, rivals)
    is_wrong = labels != y
    assert is_wrong.sum() == (20 if noise == "pair" else 30)
    if noise == "pair":
        assert (labels[is_wrong] == y[is_wrong] + 1).all()
    if noise == "boundary":
        assert rivals[is_wrong].max(axis=1).mean() > rivals.max(axis=1).mean()


def test_no_judged_table_was_used_for_the_design():
    assert not set(label_issues.DATA["design"]) & set(label_issues.DATA["judged"])
    assert len(label_issues.DATA["judged"]) == 10


def gain(noise, leaf, method):
    return record.load("label_issues_judged")["differences"][f"{noise} leaf {leaf}"][method]


@pytest.mark.parametrize("leaf", label_issues.LEAVES)
@pytest.mark.parametrize("method", label_issues.CLEANLAB)
def test_the_average_precision_is_above_that_of_cleanlab(leaf, method):
    assert gain("all", leaf, method)["low"] > 0


CASES = [
    (noise, leaf, method)
    for noise in label_issues.NOISES
    for leaf in label_issues.LEAVES
    for method in label_issues.CLEANLAB
]
LEVEL = pytest.mark.xfail(
    strict=True,
    reason="0.004 below the margin, interval from -0.021 to 0.013: noise near boundaries is hard to see",
)


@pytest.mark.parametrize(
    ("noise", "leaf", "method"),
    [pytest.param(*case, marks=LEVEL) if case == ("boundary", 3, "normalized_margin") else case for case in CASES],
)
def test_for_each_noise_the_mean_is_not_below_that_of_cleanlab(noise, leaf, method):
    assert gain(noise, leaf, method)["gain"] >= 0


def test_no_interval_is_below_cleanlab():
    assert all(gain(*case)["high"] > 0 for case in CASES)


@pytest.mark.parametrize("leaf", label_issues.LEAVES)
def test_two_rounds_are_better_than_one(leaf):
    assert gain("all", leaf, "one round")["low"] > 0


def test_kinds_are_distinguished():
    kinds = record.load("label_issues_kinds")
    shares = kinds["known probabilities"]
    assert shares["wrong label"]["wrong label"] > 0.9
    assert shares["right label"]["no issue"] > 0.85
    assert shares["ambiguous"]["ambiguous"] > 0.5
    tables = kinds["no class"].values()
    assert np.mean([shares["false"] for shares in tables]) < 0.02
