"""Pairs and dissimilarities: each pair has its own target, and what is no dissimilarity is refused alike."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from evlearn.cluster import EVCLUS, RECM, ECMdd, EKNNClus, delta_bel
from evlearn.cluster.pairs import symmetrize

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
    "delta_bel": lambda D: delta_bel(D, metric="precomputed"),
}


@pytest.mark.parametrize("method", METHODS)
def test_similarities_are_refused_as_dissimilarities(method):
    with pytest.raises(
        ValueError, match=r"X has 1 on its diagonal; .* Turn similarities into dissimilarities first"
    ):
        METHODS[method](np.exp(-D))


@pytest.mark.parametrize("method", METHODS)
def test_a_diagonal_that_is_zero_but_for_rounding_is_taken(method):
    METHODS[method](D + 1e-12 * np.eye(len(D)))


@pytest.mark.parametrize("method", ["EVCLUS", "ECMdd", "EKNNClus", "RECM"])
def test_dissimilarities_of_new_objects_have_no_diagonal(method):
    model = METHODS[method](D)
    assert len(model.predict_mass(D + 0.5)) == len(D)
    assert len(model.predict_mass(D[3:7] + 0.5)) == 4


def test_both_objects_of_a_pair_list_each_other_with_the_target_of_the_pair():
    random = np.random.default_rng(0)
    n, width = 12, 3
    partners = np.array([random.choice(np.delete(np.arange(n), i), width, replace=False) for i in range(n)])
    owners = np.repeat(np.arange(n), width)
    # A target that tells which pair it belongs to.
    names = np.minimum(owners, partners.ravel()) * n + np.maximum(owners, partners.ravel())
    graph = symmetrize(partners.astype(np.int32), names.reshape(n, width).astype(float))
    assert graph.symmetric
    listed = []
    for i in range(n):
        for e in range(graph.indptr[i], graph.indptr[i + 1]):
            j = int(graph.indices[e])
            assert graph.delta[e] == min(i, j) * n + max(i, j)
            listed.append((i, j))
    given = [*zip(owners.tolist(), partners.ravel().tolist(), strict=True)]
    assert sorted(listed) == sorted(given + [(j, i) for i, j in given])
