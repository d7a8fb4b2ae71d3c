"""The choice of pairs in two steps: as a function, and in every method that has it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evlearn import CredalPartition
from evlearn.belief import FocalSets
from evlearn.cluster import BPEC, CCM, CECM, ECM, EVCLUS, RECM, ECMdd, neighbor_pairs
from evlearn.constraints import PairwiseConstraints
from tests.strategies import partitions

TWO_STEPS = {"focal_sets": "neighbor_pairs", "n_pair_neighbors": 2, "random_state": 0}


def four_in_a_row():
    random = np.random.default_rng(0)
    return (
        np.column_stack([np.repeat([0.0, 4, 8, 12], 40), np.zeros(160)]) + random.standard_normal((160, 2)) * 0.8
    )


def test_pairs_similarities_and_masses_are_those_of_r(reference_file):
    found = np.load(reference_file("createPairs_fourclass_k2.npz"))
    chosen = neighbor_pairs(CredalPartition(found["mass_in"], FocalSets.simple(4)), n_neighbors=2)
    np.testing.assert_allclose(chosen.similarity, found["S"], rtol=1e-12)
    assert sorted(chosen.pairs) == sorted(map(tuple, (found["pairs_1b"] - 1).tolist()))
    # R has pairs in the order of its columns, and only zeros for them.
    np.testing.assert_allclose(
        chosen.masses[:, [0, 1, 2, 3, 4, -1]], found["m0"][:, [0, 1, 2, 3, 4, -1]], atol=1e-12
    )
    assert not chosen.masses[:, 5:-1].any()
    assert repr(chosen) == "NeighborPairs([(0, 1), (0, 3), (1, 2), (2, 3)], 4 clusters)"


@given(st.data())
def test_pairs_are_mutual_neighbours_and_masses_stay(data):
    partition = data.draw(partitions(5))
    number = data.draw(st.integers(1, 4))
    chosen = neighbor_pairs(partition, n_neighbors=number)
    similarity, size = chosen.similarity, partition.focal_sets.frame_size
    np.testing.assert_allclose(similarity, similarity.T)
    for k, m in chosen.pairs:
        assert k < m
        for one, other in ((k, m), (m, k)):
            nearer = [j for j in range(size) if j != one and similarity[one, j] > similarity[one, other]]
            assert len(nearer) < number
    assert all(sum(k in pair for pair in chosen.pairs) <= number for k in range(size))
    if number >= size - 1:
        assert len(chosen.pairs) == size * (size - 1) // 2
    after = CredalPartition(chosen.masses, chosen.focal_sets)
    np.testing.assert_allclose(after.to_possibilistic(), partition.to_possibilistic())


def test_clusters_that_nobody_shares_are_paired_last():
    sure = neighbor_pairs([[0.6, 0.4, 0, 0], [0, 0, 0.6, 0.4], [1, 0, 0, 0], [0, 0, 0, 1]])
    assert sure.pairs == [(0, 1), (2, 3)]
    with pytest.raises(ValueError, match="n_neighbors must be a whole number of at least 1, got 0"):
        neighbor_pairs([0, 1], n_neighbors=0)


@pytest.mark.parametrize(
    "method",
    [
        ECM(4, **TWO_STEPS),
        CCM(4, **TWO_STEPS),
        BPEC(4, **TWO_STEPS),
        RECM(4, **TWO_STEPS),
        EVCLUS(4, d0_quantile=0.6, **TWO_STEPS),
        CECM(4, **TWO_STEPS),
        CECM(4, metric="adaptive", **TWO_STEPS),
        ECMdd(4, **TWO_STEPS),
        ECMdd(4, medoids="weighted", **TWO_STEPS),
    ],
    ids=lambda one: f"{type(one).__name__} {one.get_params().get('medoids') or one.get_params().get('metric')}",
)
def test_every_method_pairs_clusters_that_lie_beside_each_other(method):
    X = four_in_a_row()
    model = method.fit(X)
    pairs = {frozenset(one) for one in model.focal_sets_ if len(one) == 2}
    along = np.argsort([X[model.labels_ == k, 0].mean() for k in range(4)])
    assert pairs == {frozenset(map(int, along[k : k + 2])) for k in range(3)}
    assert model.masses_[:, [len(one) == 2 for one in model.focal_sets_]].max() > 0.05


def test_the_second_step_of_cecm_goes_on_from_the_first_and_keeps_constraints():
    X = four_in_a_row()
    known = PairwiseConstraints(must_link=[(0, 5), (60, 70)], cannot_link=[(39, 40), (119, 120)])
    simple = CECM(4, focal_sets="simple", random_state=0).fit(X, constraints=known)
    model = CECM(4, **TWO_STEPS).fit(X, constraints=known)
    assert len(known.violations(model.labels_)) == 0
    apart = np.abs(model.cluster_centers_ - simple.cluster_centers_).max()
    assert 0 < apart < 1
    larger = CECM(4, focal_sets=model.focal_sets_, init=simple.cluster_centers_).fit(X, constraints=known)
    np.testing.assert_allclose(model.cluster_centers_, larger.cluster_centers_, atol=0.05)


def test_the_second_step_of_ecmdd_starts_at_the_medoids_of_the_first():
    X = four_in_a_row()
    simple = ECMdd(4, focal_sets="simple", random_state=0).fit(X)
    model = ECMdd(4, **TWO_STEPS).fit(X)
    again = ECMdd(
        4, focal_sets=model.focal_sets_, init=simple.medoid_indices_[:4], beta=simple.beta_, random_state=0
    ).fit(X)
    np.testing.assert_allclose(model.masses_, again.masses_)
