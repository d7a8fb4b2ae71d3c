"""Pairs of objects and their targets: every pair has its own."""

import numpy as np

from evlearn.cluster.pairs import symmetrize


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
