"""Selection of pairs in 2 steps: the function, and all methods that use it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evlearn import CredalPartition
from evlearn.belief import FocalSets
from evlearn.cluster import BPEC, CCM, CECM, ECM, EVCLUS, RECM, ECMdd, FocalFamily, Quantile, neighbor_pairs
from evlearn.constraints import PairwiseConstraints
from tests.strategies import partitions

TWO_STEPS = {"focal_sets": FocalFamily("neighbor_pairs", n_neighbors=2), "random_state": 0}


def make_row_of_clusters():
    random = np.random.default_rng(0)
    return (
        np.column_stack([np.repeat([0.0, 4, 8, 12], 40), np.zeros(160)]) + random.standard_normal((160, 2)) * 0.8
    )


def test_pairs_similarities_and_masses_are_those_of_r(reference_file):
    arrays = np.load(reference_file("createPairs_fourclass_k2.npz"))
    selection = neighbor_pairs(CredalPartition(arrays["mass_in"], FocalSets.simple(4)), n_neighbors=2)
    np.testing.assert_allclose(selection.similarity, arrays["S"], rtol=1e-12)
    assert sorted(selection.pairs) == sorted(map(tuple, (arrays["pairs_1b"] - 1).tolist()))
    # R orders pairs by its columns. The masses of all pairs are 0.
    np.testing.assert_allclose(
        selection.masses[:, [0, 1, 2, 3, 4, -1]], arrays["m0"][:, [0, 1, 2, 3, 4, -1]], atol=1e-12
    )
    assert not selection.masses[:, 5:-1].any()
    assert repr(selection) == "NeighborPairs([(0, 1), (0, 3), (1, 2), (2, 3)], 4 clusters)"


@given(st.data())
def test_pairs_are_mutual_neighbors_and_masses_are_preserved(data):
    partition = data.draw(partitions(5))
    number = data.draw(st.integers(1, 4))
    selection = neighbor_pairs(partition, n_neighbors=number)
    similarity, size = selection.similarity, partition.focal_sets.frame_size
    np.testing.assert_allclose(similarity, similarity.T)
    for k, m in selection.pairs:
        assert k < m
        for first, second in ((k, m), (m, k)):
            nearer = [j for j in range(size) if j != first and similarity[first, j] > similarity[first, second]]
            assert len(nearer) < number
    assert all(sum(k in pair for pair in selection.pairs) <= number for k in range(size))
    if number >= size - 1:
        assert len(selection.pairs) == size * (size - 1) // 2
    result = CredalPartition(selection.masses, selection.focal_sets)
    np.testing.assert_allclose(result.to_possibilistic(), partition.to_possibilistic())


def test_clusters_without_common_samples_are_paired_last():
    selection = neighbor_pairs([[0.6, 0.4, 0, 0], [0, 0, 0.6, 0.4], [1, 0, 0, 0], [0, 0, 0, 1]])
    assert selection.pairs == [(0, 1), (2, 3)]
    with pytest.raises(ValueError, match="n_neighbors must be a whole number of at least 1, got 0"):
        neighbor_pairs([0, 1], n_neighbors=0)


@pytest.mark.parametrize(
    "method",
    [
        ECM(4, **TWO_STEPS),
        CCM(4, **TWO_STEPS),
        BPEC(4, **TWO_STEPS),
        RECM(4, **TWO_STEPS),
        EVCLUS(4, d0=Quantile(0.6), **TWO_STEPS),
        CECM(4, **TWO_STEPS),
        CECM(4, metric="adaptive", **TWO_STEPS),
        ECMdd(4, **TWO_STEPS),
        ECMdd(4, medoids="weighted", **TWO_STEPS),
    ],
    ids=lambda model: (
        f"{type(model).__name__} {model.get_params().get('medoids') or model.get_params().get('metric')}"
    ),
)
def test_all_methods_pair_adjacent_clusters(method):
    X = make_row_of_clusters()
    model = method.fit(X)
    pairs = {frozenset(subset) for subset in model.focal_sets_ if len(subset) == 2}
    order = np.argsort([X[model.labels_ == k, 0].mean() for k in range(4)])
    assert pairs == {frozenset(map(int, order[k : k + 2])) for k in range(3)}
    assert model.masses_[:, [len(subset) == 2 for subset in model.focal_sets_]].max() > 0.05


def test_the_second_step_of_cecm_continues_from_the_first_and_satisfies_constraints():
    X = make_row_of_clusters()
    constraints = PairwiseConstraints(must_link=[(0, 5), (60, 70)], cannot_link=[(39, 40), (119, 120)])
    simple = CECM(4, focal_sets="simple", random_state=0).fit(X, constraints=constraints)
    model = CECM(4, **TWO_STEPS).fit(X, constraints=constraints)
    assert len(constraints.violations(model.labels_)) == 0
    distance = np.abs(model.cluster_centers_ - simple.cluster_centers_).max()
    assert 0 < distance < 1
    expected = CECM(4, focal_sets=model.focal_sets_, init=simple.cluster_centers_).fit(X, constraints=constraints)
    np.testing.assert_allclose(model.cluster_centers_, expected.cluster_centers_, atol=0.05)


def test_the_second_step_of_ecmdd_starts_at_the_medoids_of_the_first():
    X = make_row_of_clusters()
    simple = ECMdd(4, focal_sets="simple", random_state=0).fit(X)
    model = ECMdd(4, **TWO_STEPS).fit(X)
    expected = ECMdd(
        4, focal_sets=model.focal_sets_, init=simple.medoid_indices_[:4], beta=simple.beta_, random_state=0
    ).fit(X)
    np.testing.assert_allclose(model.masses_, expected.masses_)
