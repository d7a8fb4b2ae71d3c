"""Tests of the study of coverage: correctness of its computations, and a short version."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from benchmarks.common import record
from benchmarks.studies.answers import coverage
from evlearn.conformal import ConformalClusterer


def test_the_smallest_sets_have_the_required_probability():
    probabilities = np.array([[0.5, 0.3, 0.2], [0.95, 0.03, 0.02], [0.1, 0.45, 0.45]])
    expected = [[True, True, True], [True, False, False], [False, True, True]]
    np.testing.assert_array_equal(coverage.smallest_sets(probabilities, 0.9), expected)


def test_components_are_matched_and_those_without_a_cluster_are_covered_by_no_set():
    y = np.array([0, 0, 1, 1, 2])
    np.testing.assert_array_equal(coverage.matched(np.array([1, 1, 0, 0, 0]), y, 2), [1, 1, 0, 0, 2])
    result = coverage.coverage_and_size("all", np.full((5, 2), True), np.array([1, 1, 0, 0, 2]))
    assert result == {"all covers": 0.8, "all size": 2}


def test_labels_of_another_study_are_matched_to_our_clusters():
    random = np.random.default_rng(0)
    X, other, fresh = (coverage.mixture_samples(random, 150, 12, 2, None, 1)[0] for _ in range(3))
    mixture = GaussianMixture(3, n_init=3)
    model = ConformalClusterer(mixture, n_splits=1, random_state=0).fit(X)
    labels = coverage.labels_of_another(model, mixture, X, other, fresh, seed=3)
    np.testing.assert_array_equal(labels, model.predict(fresh))


@pytest.mark.slow
def test_true_components_are_covered_as_on_record():
    name = "3 sd apart"
    result = dict(coverage.truth({name: coverage.MIXTURES[name]}, n_draws=4, n_jobs=1))[name]
    recorded = record.load(coverage.NAME)["truth"][name]
    for key in ("drawn covers", "drawn size", "posterior size"):
        assert abs(result[key] - recorded[key]) < 0.06, key


@pytest.mark.slow
def test_outliers_are_found_as_on_record():
    result = dict(coverage.validity(n_draws=2, n=400, n_jobs=1))
    recorded = record.load(coverage.NAME)["validity"]
    for name, entry in result.items():
        assert entry["ordinary 0.05"] < 0.09
        assert abs(entry["found at 1.25"] - recorded[name]["found at 1.25"]) < 0.05


def test_the_recorded_coverage_agrees_with_the_guide():
    entries = record.load(coverage.NAME)["replication"]
    for kind in coverage.CLUSTERERS:
        result = [entry for name, entry in entries.items() if name.endswith(f", {kind}")]
        if kind == "hdbscan":  # its number of clusters varies with the samples
            continue
        assert len(result) >= 12
        for level in coverage.LEVELS:
            shares = [entry[f"exact {level}"] for entry in result]
            assert np.mean(shares) >= level
            assert min(shares) > level - 0.03
            errors = [entry[f"standard error {level}"] for entry in result]
            below = [level - share > 3 * error for share, error in zip(shares, errors, strict=True)]
            assert sum(below) <= 1


def test_the_page_includes_all_generated_parts(monkeypatch):
    docs = Path(__file__).parents[2] / "docs"
    monkeypatch.syspath_prepend(docs)
    pages = importlib.import_module("record_pages")
    parts = importlib.import_module("record_pages.coverage").parts(pages.read_results)
    page = (docs / "record" / "coverage.rst").read_text()
    assert set(re.findall(r"generated/coverage_(\w+)\.", page)) == set(parts)
