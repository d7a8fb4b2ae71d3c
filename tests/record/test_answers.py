"""Tests of the study of answers: correctness of its computations, and a short version."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from benchmarks.common import record
from benchmarks.studies.answers import data as answers_data
from benchmarks.studies.answers import generated as answers_generated
from benchmarks.studies.answers import study as answers
from benchmarks.studies.answers import summary as answers_summary
from benchmarks.studies.answers.methods import LIBRARY_METHODS, METHODS, MISSING, PEERS, Answer

RANDOM = np.random.default_rng(0)
#: Small data sets without files.
SHORT = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "round middle": lambda: answers_generated.problem("round", "middle", 1002),
    "spreads high": lambda: answers_generated.problem("spreads", "high", 1016),
    "long high": lambda: answers_generated.problem("long", "high", 1023),
    "latent classes": lambda: answers_generated.latent_classes(5, 30, 1),
}
MAX_DIFFERENCE = 0.04


def small(name="small", c=3, n=90, gap=8.0):
    y = np.arange(n) % c
    X = gap * np.eye(c, 4)[y] + np.random.default_rng(0).normal(size=(n, 4))
    return answers_data.make_problem(name, X, y)


def entry(data, method, family=None, **figures):
    return {"data": data, "family": family or data, "group": "g", "method": method, **figures}


def test_true_labels_without_doubt_have_perfect_scores():
    problem = small()
    all_samples, no_samples = np.full(90, True), np.full(90, False)
    answer = Answer(problem.y, np.zeros(90), all_samples, no_samples, no_samples)
    result = answers.judge(problem, answer, answer)
    assert result["ari"] == result["sure"] == 1
    assert result["error"] == result["aurc"] == result["augrc"] == result["sure_error"] == result["sure_gain"] == 0
    assert result["torn_error"] is None
    assert not answers_summary.is_falsely_sure(result)


def test_outliers_count_only_for_their_detection():
    y = np.append(np.arange(90) % 3, [-1] * 10)
    problem = answers_data.make_problem("with outliers", RANDOM.normal(size=(100, 2)), y)
    assert problem.n_clusters == 3
    is_outlier = y < 0
    answer = Answer(np.maximum(y, 0), np.zeros(100), ~is_outlier, np.full(100, False), is_outlier)
    result = answers.judge(problem, answer, answer)
    assert result["ari"] == result["outliers_found"] == 1
    assert result["outlier"] == 0


def test_sure_samples_are_compared_with_an_equal_number_of_least_doubt_by_k_means():
    y, labels = np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 0, 1, 1, 1])
    # The fourth label is wrong, and the second in the order of doubt.
    assert answers.retained_error(y, labels, np.array([0.1, 0.5, 0.6, 0.2, 0.7, 0.8]), 2) == 0.5
    assert answers.retained_error(y, labels, np.array([0.1, 0.2, 0.3, 0.9, 0.7, 0.8]), 5) == 0


@pytest.mark.parametrize(("sure", "error", "falsely"), [(0.95, 0.4, True), (0.95, 0.2, False), (0.8, 0.4, False)])
def test_falsely_sure_means_many_sure_samples_with_many_errors(sure, error, falsely):
    assert answers_summary.is_falsely_sure({"sure": sure, "sure_error": error}) is falsely


def test_data_of_a_family_count_once_and_differences_are_taken_on_the_same_data():
    entries = [
        entry("s1", "k-means", "s", ari=0.5),
        entry("s2", "k-means", "s", ari=0.7),
        entry("t", "k-means", ari=0.2),
        entry("s1", "ours", "s", ari=0.6),
        entry("s2", "ours", "s", ended="more than 60 s"),
        entry("t", "ours", ari=0.2),
    ]
    result = answers_summary.summarize(entries)["all"]
    assert result["k-means"]["ari"]["mean"] == pytest.approx((0.6 + 0.2) / 2)
    assert result["ours"]["ari_over_k_means"]["mean"] == pytest.approx((0.1 + 0) / 2)
    assert (result["ours"]["won"], result["ours"]["tied"], result["ours"]["lost"]) == (1, 1, 0)
    assert result["ours"]["ended"] == ["s2"]


def test_the_interval_reflects_the_differences_between_families():
    assert answers_summary.interval([0.3, 0.3, 0.3]) == {"mean": 0.3, "low": 0.3, "high": 0.3, "families": 3}
    values = RANDOM.normal(size=400)
    result = answers_summary.interval(values)
    assert result["high"] - result["low"] == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.1)


@pytest.mark.slow
def test_a_method_that_fails_is_recorded():
    assert answers.run_in_process(lambda: 1 / 0)["ended"].startswith("ZeroDivisionError")
    assert answers.run_in_process(forever, limit=1)["ended"] == "more than 1 s"


def forever():
    while True:
        pass


def test_the_lists_have_no_generated_data_in_common():
    seeds = [
        {source.load.args for source in sources.values() if source.load.func is answers_generated.problem}
        for sources in answers_data.LISTS.values()
    ]
    assert not seeds[0] & seeds[1]
    assert len(seeds[0]) == len(seeds[1]) == 24


@pytest.mark.parametrize("kind", ["round", "unequal", "spreads", "long"])
def test_generated_clusters_have_the_specified_distances(kind):
    X, y = answers_generated.problem(kind, "low", 5)
    copy = answers_generated.problem(kind, "low", 5)
    assert (copy[0] == X).all()
    means = np.array([X[y == k].mean(axis=0) for k in range(y.max() + 1)])
    gaps = np.linalg.norm(means[:, None] - means, axis=2)[np.triu_indices(len(means), 1)]
    assert 2 < gaps.min() < 12


def test_samples_between_clusters_have_equal_distances_from_both():
    X, y = answers_generated.halfway(20, 0)
    means = np.array([X[y == k].mean(axis=0) for k in range(4)])
    nearest = np.sort(np.linalg.norm(X[y < 0][:, None] - means, axis=2), axis=1)[:, :2]
    assert (nearest[:, 1] - nearest[:, 0] < 0.5).all()


def test_every_peer_finds_clear_clusters_and_has_a_doubt():
    problem = small(gap=4.5)
    for name in set(PEERS) - MISSING:
        answer = PEERS[name](problem.X, 3, 0)
        result = answers.judge(problem, answer, answer)
        assert result["ari"] > 0.7, name
        assert np.isfinite(answer.doubt).all()


def test_other_data_are_evaluated_in_the_same_way():
    problem = small(n=60)
    result = answers.judge_sets([("theirs", problem.X, problem.y)], methods=["k-means", "CCM"])
    assert [item["method"] for item in result["entries"]] == ["k-means", "CCM"]
    assert result["summary"]["all"]["CCM"]["ari"]["mean"] > 0.9
    assert set(METHODS) == {*PEERS, *LIBRARY_METHODS}


@pytest.fixture(scope="module")
def short():
    problems = [(name, *load()) for name, load in SHORT.items()]
    return answers.judge_sets(problems, methods=["k-means", "ECM", "CCM"])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ECM", "CCM"])
def test_labels_are_as_good_as_those_of_k_means(short, method):
    result = {(item["data"], item["method"]): item["ari"] for item in short["entries"]}
    for name in SHORT:
        assert result[name, method] > result[name, "k-means"] - MAX_DIFFERENCE, name


@pytest.mark.parametrize("method", ["ECM", "CCM"])
def test_no_data_set_is_falsely_sure_and_torn_samples_are_wrong_more_often(short, method):
    result = short["summary"]["all"][method]
    assert result["falsely_sure"] == []
    assert result["torn_twice"] == result["sets_with_torn"] >= len(SHORT) - 1
    assert result["sure_gain"]["mean"] > -0.01


@pytest.mark.parametrize("d", [2, 12, 40])
@pytest.mark.parametrize("method", ["ECM", "CCM"])
def test_samples_halfway_between_clusters_are_torn_in_any_number_of_features(method, d):
    result = answers.attempt_special(method, answers_data.HALFWAY[f"half way, {d} features"], 4, 0)
    assert result["between_torn"] >= 0.9
    assert result["others_torn"] < 0.06
    assert result["ari"] > 0.9


@pytest.mark.parametrize("method", ["ECM", "CCM"])
@pytest.mark.filterwarnings("ignore::evlearn.exceptions.CollapseWarning")
def test_one_cloud_is_not_three_sure_clusters(method):
    result = answers.attempt_special(method, answers_data.CLOUDS["one cloud, 10 features"], 3, 0)
    assert result["others_sure"] < 0.1


def test_the_page_includes_all_generated_parts(monkeypatch):
    docs = Path(__file__).parents[2] / "docs"
    monkeypatch.syspath_prepend(docs)
    pages = importlib.import_module("record_pages")
    parts = importlib.import_module("record_pages.answers").parts(pages.read_results)
    page = (docs / "record" / "answers.rst").read_text()
    assert set(re.findall(r"generated/answers_(\w+)\.", page)) == set(parts)


@pytest.mark.slow
def test_the_summary_on_record_is_that_of_its_entries():
    for result in record.load("answers")["lists"].values():
        assert answers_summary.summarize(result["entries"]) == result["summary"]
