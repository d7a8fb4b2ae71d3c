"""The study of coverage: what it computes is right, and a short version of it holds."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from benchmarks.common import record
from benchmarks.studies.answers import coverage
from evlearn.conformal import ConformalClusterer


def test_the_smallest_sets_have_the_probability_that_was_asked_for():
    probabilities = np.array([[0.5, 0.3, 0.2], [0.95, 0.03, 0.02], [0.1, 0.45, 0.45]])
    expected = [[True, True, True], [True, False, False], [False, True, True]]
    np.testing.assert_array_equal(coverage.smallest_sets(probabilities, 0.9), expected)


def test_components_are_matched_and_those_without_a_cluster_are_covered_by_no_set():
    y = np.array([0, 0, 1, 1, 2])
    np.testing.assert_array_equal(coverage.matched(np.array([1, 1, 0, 0, 0]), y, 2), [1, 1, 0, 0, 2])
    found = coverage.judged("all", np.full((5, 2), True), np.array([1, 1, 0, 0, 2]))
    assert found == {"all covers": 0.8, "all size": 2}


def test_labels_of_another_study_have_our_numbers():
    random = np.random.default_rng(0)
    X, other, fresh = (coverage.mixture_samples(random, 150, 12, 2, None, 1)[0] for _ in range(3))
    mixture = GaussianMixture(3, n_init=3)
    model = ConformalClusterer(mixture, n_replications=1, random_state=0).fit(X)
    labels = coverage.labels_of_another(model, mixture, X, other, fresh, seed=3)
    np.testing.assert_array_equal(labels, model.predict(fresh))


@pytest.mark.slow
def test_true_components_are_covered_as_on_record():
    name = "3 sd apart"
    found = dict(coverage.truth({name: coverage.MIXTURES[name]}, n_draws=4, n_jobs=1))[name]
    known = record.read(coverage.NAME)["truth"][name]
    for key in ("drawn covers", "drawn size", "posterior size"):
        assert abs(found[key] - known[key]) < 0.06, key


def test_outliers_are_found_as_on_record():
    found = dict(coverage.validity(n_draws=2, n=400, n_jobs=1))
    known = record.read(coverage.NAME)["validity"]
    for name, one in found.items():
        assert one["ordinary 0.05"] < 0.09
        assert abs(one["found at 1.25"] - known[name]["found at 1.25"]) < 0.05


def test_the_record_keeps_the_promise_of_the_guide():
    entries = record.read(coverage.NAME)["replication"]
    for kind in coverage.CLUSTERERS:
        found = [one for name, one in entries.items() if name.endswith(f", {kind}")]
        if kind == "hdbscan":  # whose number of clusters changes with that of the samples
            continue
        assert len(found) >= 12
        for level in coverage.LEVELS:
            shares = [one[f"exact {level}"] for one in found]
            assert np.mean(shares) >= level
            assert min(shares) > level - 0.03
            errors = [one[f"standard error {level}"] for one in found]
            below = [level - share > 3 * error for share, error in zip(shares, errors, strict=True)]
            assert sum(below) <= 1


def test_the_page_includes_what_is_made_of_the_results(monkeypatch):
    docs = Path(__file__).parents[2] / "docs"
    monkeypatch.syspath_prepend(docs)
    pages = importlib.import_module("record_pages")
    made = importlib.import_module("record_pages.coverage").parts(pages.read)
    page = (docs / "record" / "coverage.rst").read_text()
    assert set(re.findall(r"generated/coverage_(\w+)\.", page)) == set(made)
