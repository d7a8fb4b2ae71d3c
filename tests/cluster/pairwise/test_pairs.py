"""Pairs and dissimilarities: targets of pairs, and values that all methods refuse or accept."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from evlearn.belief import FocalSets
from evlearn.cluster import EVCLUS, RECM, ECMdd, EKNNClus, belief_peaks
from evlearn.cluster.focal_families import random_masses
from evlearn.cluster.pairwise.pair_graph import AllPairs, Transform, draw_partners, symmetrize

random = np.random.RandomState(0)
X = np.vstack([random.normal(size=(10, 2)), random.normal(size=(10, 2)) + 6])
D = np.linalg.norm(X[:, None] - X, axis=2)

METHODS = {
    "EVCLUS": lambda D: EVCLUS(2, metric="precomputed", random_state=0).fit(D),
    "landmarks": lambda D: EVCLUS(2, metric="precomputed", solver="landmark", random_state=0).fit(D),
    "ECMdd": lambda D: ECMdd(2, metric="precomputed", random_state=0).fit(D),
    "EKNNClus": lambda D: EKNNClus(3, metric="precomputed", random_state=0).fit(D),
    "a graph": lambda D: EKNNClus(3, metric="precomputed", random_state=0).fit(csr_array(D)),
    "RECM": lambda D: RECM(2, metric="precomputed", random_state=0).fit(D),
    "belief_peaks": lambda D: belief_peaks(D, metric="precomputed"),
}


@pytest.mark.parametrize("method", METHODS)
def test_similarities_are_refused_as_dissimilarities(method):
    with pytest.raises(
        ValueError, match=r"X has 1 on its diagonal; .* Convert similarities to dissimilarities first"
    ):
        METHODS[method](np.exp(-D))


@pytest.mark.parametrize("method", METHODS)
def test_a_diagonal_of_0_up_to_rounding_is_accepted(method):
    METHODS[method](D + 1e-12 * np.eye(len(D)))


@pytest.mark.parametrize("method", ["EVCLUS", "ECMdd", "EKNNClus", "RECM"])
def test_a_diagonal_of_0_up_to_products_in_single_precision_is_accepted(method):
    METHODS[method]((D + 3e-3 * np.eye(len(D))).astype(np.float32))


@pytest.mark.parametrize("method", ["EVCLUS", "ECMdd", "EKNNClus", "RECM"])
def test_dissimilarities_of_new_samples_have_no_diagonal(method):
    model = METHODS[method](D)
    assert len(model.predict_mass(D + 0.5)) == len(D)
    assert len(model.predict_mass(D[3:7] + 0.5)) == 4


def test_the_samples_of_a_pair_are_partners_with_the_target_of_the_pair():
    random = np.random.default_rng(0)
    n, width = 12, 3
    partners = np.array([random.choice(np.delete(np.arange(n), i), width, replace=False) for i in range(n)])
    owners = np.repeat(np.arange(n), width)
    # Each target identifies its pair.
    targets = np.minimum(owners, partners.ravel()) * n + np.maximum(owners, partners.ravel())
    graph = symmetrize(partners.astype(np.int32), targets.reshape(n, width).astype(float))
    assert graph.symmetric
    pairs = []
    for i in range(n):
        for e in range(graph.indptr[i], graph.indptr[i + 1]):
            j = int(graph.indices[e])
            assert graph.delta[e] == min(i, j) * n + max(i, j)
            pairs.append((i, j))
    draws = [*zip(owners.tolist(), partners.ravel().tolist(), strict=True)]
    assert sorted(pairs) == sorted(draws + [(j, i) for i, j in draws])


def test_the_rank_of_a_dissimilarity_is_the_share_of_those_that_are_not_larger():
    transform = Transform("rank", 1.0, np.array([1.0, 2.0, 2.0, 4.0]))
    ranks = transform(np.array([0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 9.0]))
    np.testing.assert_array_equal(ranks, [0, 0.25, 0.25, 0.75, 0.75, 1, 1])


def test_samples_draw_other_samples_as_partners():
    random = np.random.RandomState(0)
    np.testing.assert_array_equal(draw_partners(2, 1, random), [[1], [0]])
    partners = np.sort(draw_partners(5, 4, random), axis=1)
    np.testing.assert_array_equal(partners, [np.delete(np.arange(5), i) for i in range(5)])


def test_with_several_forms_no_pair_of_a_sample_with_itself_counts():
    random, sets, n = np.random.RandomState(0), FocalSets.simple(3), 9
    forms = np.stack([sets.conflict_matrix, sets.same_singleton_matrix])
    M = random_masses(n, len(sets), random)
    targets = random.uniform(size=(2, n, n))
    targets = (targets + targets.swapaxes(1, 2)) / 2
    expected = sum(
        (M[i] @ form @ M[j] - target[i, j]) ** 2
        for form, target in zip(forms, targets, strict=True)
        for i in range(n)
        for j in range(i)
    )
    result = AllPairs(np.hstack(list(targets))).residuals(M, np.concatenate(M @ forms))
    assert result == pytest.approx(expected, rel=1e-12)
