"""Statements of the page on theory, tested with random masses and small fits."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from evlearn import CredalPartition
from evlearn.belief import (
    FocalSets,
    belief,
    commonality,
    condition,
    contour,
    decide,
    loss_matrix,
    pignistic,
    plausibility,
)
from evlearn.cluster import CCM, ECM, RECM, SECM

SETS = FocalSets.full(3)
WITH_EMPTY = np.random.default_rng(0).dirichlet(np.full(8, 0.2), 500)
NORMAL = np.column_stack([np.zeros(500), WITH_EMPTY[:, 1:] / WITH_EMPTY[:, 1:].sum(axis=1, keepdims=True)])


@pytest.mark.parametrize("level", [0.55, 0.6, 0.8, 0.95])
def test_sure_is_the_pessimistic_decision_if_rejection_costs_one_minus_the_level(level):
    verdict = CredalPartition(WITH_EMPTY, SETS).verdict(level)
    acts = decide(WITH_EMPTY, SETS, loss_matrix(3, rejection_cost=1 - level), criterion="pessimistic")
    assert np.array_equal(verdict.sure, (acts < 3) & ~verdict.outlier)
    assert 0 < verdict.sure.sum() < len(acts)


@pytest.mark.parametrize("level", [0.3, 0.6, 0.9])
def test_candidates_of_consonant_masses_are_a_cut_of_the_contour(level):
    possibilities = np.random.default_rng(1).random((200, 4))
    possibilities /= possibilities.max(axis=1, keepdims=True)
    verdict = CredalPartition.from_possibilistic(possibilities).verdict(level)
    assert np.array_equal(verdict.candidates, possibilities > 1 - level)


def test_candidates_need_not_be_the_smallest_set_with_the_belief():
    partition = CredalPartition([[0, 0.5, 0.1, 0.4]], FocalSets([(0,), (0, 1), (2, 3)], 4))
    assert partition.verdict(0.6).candidates.tolist() == [[True, False, True, True]]


def test_conditioning_by_dempster_is_within_that_of_the_credal_set():
    pair = SETS.index([0, 1])
    masses = NORMAL[belief(NORMAL, SETS)[:, pair] > 0.01]
    bel, pl = belief(masses, SETS), plausibility(masses, SETS)
    first, second = SETS.index([0]), SETS.index([1])
    lower = bel[:, first] / (bel[:, first] + pl[:, second])
    upper = pl[:, first] / (pl[:, first] + bel[:, second])
    conditioned = condition(masses, SETS, [0, 1])
    inner = belief(conditioned, SETS)[:, first], plausibility(conditioned, SETS)[:, first]
    np.testing.assert_allclose(inner[1], pl[:, first] / pl[:, pair])
    assert (lower <= inner[0] + 1e-12).all()
    assert (inner[1] <= upper + 1e-12).all()
    assert (upper - lower > inner[1] - inner[0] + 0.1).any()


def test_contours_bound_commonality_from_above_and_plausibility_from_below():
    contours = contour(NORMAL, SETS)
    for position, members in enumerate(SETS.membership[1:], start=1):
        assert (commonality(NORMAL, SETS)[:, position] <= contours[:, members].min(axis=1) + 1e-12).all()
        assert (plausibility(NORMAL, SETS)[:, position] >= contours[:, members].max(axis=1) - 1e-12).all()


def test_safe_possibilities_contain_the_probabilities_and_scaled_ones_may_not():
    probabilities = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    safe = [probabilities[probabilities <= value].sum() for value in probabilities]
    scaled = probabilities / probabilities.max()
    of_scaled, of_safe = (1 - CredalPartition.from_possibilistic([value]).doubt()[0] for value in (scaled, safe))
    np.testing.assert_allclose([of_scaled, of_safe], [0.8, 0.5])


def test_pignistic_probabilities_lie_between_belief_and_plausibility():
    bets = pignistic(NORMAL, SETS) @ SETS.membership.T
    assert (belief(NORMAL, SETS) <= bets + 1e-12).all()
    assert (bets <= plausibility(NORMAL, SETS) + 1e-12).all()


X, _ = make_blobs(60, centers=3, random_state=0)
GRAPH = sparse.csr_matrix(cdist(X, X) < 2)
SETTINGS = {"n_clusters": 3, "beta": 1.7, "delta": 4.0, "focal_sets": "full", "random_state": 0}


def means(points, sets):
    return np.array([points[members].mean(axis=0) for members in sets])


def of_ecm(model, sets):
    return sets.sum(axis=1) ** 1.3 * cdist(X, means(model.cluster_centers_, sets)) ** 2


def of_ccm(model, sets):
    to_clusters = cdist(X, model.cluster_centers_) ** 2 @ sets.T
    to_middles = cdist(X, means(model.cluster_centers_, sets)) ** 2
    return (to_clusters + 1.5 * to_middles) / (sets.sum(axis=1) + 1.5)


def of_recm(model, sets):
    weights, squares = means(model.prototype_weights_, sets), cdist(X, X) ** 2
    return sets.sum(axis=1) ** 1.3 * (squares @ weights.T - np.diag(weights @ squares @ weights.T) / 2)


def of_secm(model, sets):
    neighbors = GRAPH.toarray() & ~np.eye(len(X), dtype=bool)
    shares = neighbors / np.maximum(neighbors.sum(axis=1, keepdims=True), 1)
    isolated = ~neighbors.any(axis=1)
    shares = 0.5 * np.eye(len(X)) + 0.5 * (shares + np.diag(isolated.astype(float)))
    return shares @ of_ecm(model, sets)


@pytest.mark.parametrize(
    ("model", "costs"),
    [
        (ECM(alpha=1.3, **SETTINGS), of_ecm),
        (CCM(gamma=1.5, **SETTINGS), of_ccm),
        (RECM(alpha=1.3, n_init=1, **SETTINGS), of_recm),
        (SECM(alpha=1.3, connectivity=GRAPH, neighbor_share=0.5, **SETTINGS), of_secm),
    ],
    ids=["ECM", "CCM", "RECM", "SECM"],
)
def test_methods_with_prototypes_differ_in_the_costs_of_sets_only(model, costs):
    model.fit(X)
    of_sets = costs(model, model.focal_sets_.membership[1:])
    of_all = np.column_stack([np.full(len(X), model.delta**2), of_sets])
    masses = of_all ** (-1 / (model.beta - 1))
    masses /= masses.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.masses_, masses, atol=1e-4)
    np.testing.assert_allclose(model.objective_, (model.masses_**model.beta * of_all).sum(), rtol=1e-9)
