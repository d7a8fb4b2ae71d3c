"""Estimate of the number of clusters by a vote of criteria."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from evlearn.datasets import make_fourclass
from evlearn.model_selection import ClusterNumberEstimate, estimate_n_clusters
from evlearn.model_selection.number_criteria import compute_criteria
from evlearn.model_selection.number_features import compute_features
from evlearn.model_selection.number_vote import _weights, draw_rows


@pytest.fixture(scope="module")
def separated():
    """Return 4 well-separated clusters."""
    random = np.random.RandomState(0)
    return np.vstack([random.normal(center, 0.3, size=(40, 2)) for center in ((0, 0), (9, 0), (0, 9), (9, 9))])


@pytest.fixture(scope="module")
def estimate(separated):
    return estimate_n_clusters(separated, random_state=0)


def test_clear_clusters(estimate):
    assert estimate.best == 4
    assert estimate.confidence > 0.5
    assert_allclose(estimate.probabilities.sum(), 1)
    assert estimate.probabilities.shape == (12,)


def test_fourclass():
    assert estimate_n_clusters(make_fourclass(400, random_state=0)[0], random_state=0).best == 4


@pytest.mark.parametrize("d", [2, 5])
def test_a_single_gaussian(d):
    X = np.random.RandomState(d).normal(size=(300, d))
    assert estimate_n_clusters(X, random_state=0).best == 1


def test_order_units_and_constant_columns(separated, estimate):
    order = np.random.RandomState(1).permutation(len(separated))
    X = np.column_stack([separated[order] * 1024 - 7 * 1024, np.full(len(separated), 3.0)])
    assert_allclose(estimate_n_clusters(X, random_state=0).probabilities, estimate.probabilities, atol=1e-6)


def test_duplicates(separated, estimate):
    X = np.repeat(separated, 3, axis=0)
    assert_allclose(estimate_n_clusters(X, random_state=0).probabilities, estimate.probabilities, atol=1e-12)


def test_gross_errors(separated):
    X = np.vstack([separated, [[1e6, 0], [0, -1e5]]])
    assert estimate_n_clusters(X, random_state=0).best == 4


def test_huge_and_linearly_dependent_columns(separated):
    X = np.column_stack([separated, separated.sum(axis=1)]) * 1e30
    assert estimate_n_clusters(X, random_state=0).best == 4


def test_many_rows_are_drawn_without_regard_to_their_order():
    X = np.random.RandomState(0).normal(size=(25_000, 2))
    rows = draw_rows(X, np.random.RandomState(0))
    reversed_rows = draw_rows(X[::-1], np.random.RandomState(0))
    assert len(rows) <= 800
    assert_allclose(rows, reversed_rows, rtol=1e-9)


def test_a_bound_is_a_condition(separated, estimate):
    bounded = estimate_n_clusters(separated, max_clusters=5, random_state=0)
    assert_allclose(bounded.probabilities, estimate.probabilities[:5] / estimate.probabilities[:5].sum())


@pytest.mark.parametrize("n_rows", [1, 2, 3, 7, 19])
def test_few_rows_are_no_evidence(n_rows):
    estimate = estimate_n_clusters(np.random.RandomState(0).normal(size=(n_rows, 3)), random_state=0)
    n_possible = min(n_rows, 12)
    assert_allclose(estimate.probabilities[:n_possible], 1 / n_possible)
    assert estimate.mass_function.contour() == pytest.approx(
        {str(number): float(number <= n_possible) for number in range(1, 13)}
    )


@pytest.mark.parametrize("n_rows", [20, 30])
def test_20_rows_suffice(n_rows):
    X = np.random.RandomState(0).normal(size=(n_rows, 3)) + np.repeat([0, 20], [8, n_rows - 8])[:, None]
    estimate = estimate_n_clusters(X, random_state=0)
    assert np.isfinite(estimate.probabilities).all()
    assert (estimate.probabilities[n_rows // 4 :] == 0).all()


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((50, 2)),
        np.repeat([[0.0], [1.0]], 30, axis=0),
        np.random.RandomState(0).randint(2, size=(200, 6)).astype(float),
        np.arange(40.0)[:, None],
        np.random.RandomState(0).normal(size=(30, 60)),
    ],
    ids=["constant", "2 values", "binary", "grid", "wide"],
)
def test_degenerate_data(X):
    estimate = estimate_n_clusters(X, random_state=0)
    assert_allclose(estimate.probabilities.sum(), 1)
    assert 1 <= estimate.best <= 12


def test_constant_data_are_a_single_cluster():
    estimate = estimate_n_clusters(np.ones((30, 2)))
    assert (estimate.best, estimate.confidence, estimate.runner_up) == (1, 1.0, None)
    assert str(estimate) == "1 cluster (probability 1.00)"


@pytest.mark.parametrize(
    ("max_clusters", "message"),
    [(0, "max_clusters=0|at least 1"), (13, "select_n_clusters"), (2.5, "max_clusters")],
)
def test_invalid_bounds(separated, max_clusters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        estimate_n_clusters(separated, max_clusters=max_clusters)


def test_missing_values_are_rejected():
    with pytest.raises(ValueError, match="NaN"):
        estimate_n_clusters([[np.nan, 1.0], [0.0, 1.0]])


def test_description():
    estimate = ClusterNumberEstimate(np.array([0.0, 0.02, 0.19, 0.72, 0.07, 0.0]))
    assert (estimate.best, estimate.confidence, estimate.runner_up) == (4, 0.72, 3)
    assert estimate.describe() == "4 clusters (probability 0.72), or 3 (0.19), or 5 (0.07)"
    assert repr(estimate) == f"ClusterNumberEstimate({estimate})"


def test_mass_function_is_consonant_and_has_the_probabilities():
    probabilities = np.array([0.05, 0.0, 0.25, 0.6, 0.1])
    masses = ClusterNumberEstimate(probabilities).mass_function
    assert masses.is_consonant
    assert masses.betp() == pytest.approx(dict(zip("12345", probabilities, strict=True)))
    assert masses["3,4"] == pytest.approx(2 * (0.25 - 0.1))


def test_probabilities_of_a_tie():
    estimate = ClusterNumberEstimate(np.array([0.0, 0.5, 0.5]))
    assert (estimate.best, estimate.runner_up) == (2, 3)
    assert estimate.mass_function["2,3"] == pytest.approx(1)


def test_all_features_have_weights(separated):
    features = compute_features(compute_criteria(np.unique(separated, axis=0), 5, 0))
    assert set(features) == set(_weights())
    assert all(np.isfinite(values).all() and values.shape == (5,) for values in features.values())
