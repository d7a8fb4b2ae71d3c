"""Clusters that are numbered like others: the best permutation is found, and nothing else changes."""

from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evlearn import CredalPartition
from evlearn.ensemble import combine_partitions
from evlearn.metrics import credal_rand_index
from evlearn.partition import align_clusters
from strategies import partitions

some_sizes = st.integers(1, 6)


def shared(partition, reference):
    """Return the sum over samples of products of plausibilities, for each pair of clusters."""
    return reference.to_possibilistic().T @ partition.to_possibilistic()


@given(some_sizes.flatmap(lambda n: st.tuples(partitions(n, 6), partitions(n, 6))))
def test_no_other_order_of_clusters_agrees_better(drawn):
    partition, reference = drawn
    products = shared(partition, reference)
    fewer = min(products.shape)
    best = max(
        products[list(rows), list(columns)].sum()
        for rows in combinations(range(reference.n_clusters), fewer)
        for columns in permutations(range(partition.n_clusters), fewer)
    )
    found = shared(align_clusters(partition, reference), reference)
    # Clusters are in the order of their counterparts, of which some may be left out.
    reached = max(found[list(rows), range(fewer)].sum() for rows in combinations(range(len(found)), fewer))
    assert reached == pytest.approx(best, abs=1e-9)


@given(some_sizes.flatmap(lambda n: st.tuples(partitions(n, 6), partitions(n, 6))))
def test_only_numbers_change(drawn):
    partition, reference = drawn
    found = align_clusters(partition, reference)
    orders = (partition.permute_clusters(list(order)) for order in permutations(range(partition.n_clusters)))
    assert any(one.focal_sets == found.focal_sets and np.array_equal(one.masses, found.masses) for one in orders)


@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.permutations(range(6)))
def test_a_permutation_is_recovered_whatever_the_order_of_samples(n_clusters, seed, drawn):
    random = np.random.default_rng(seed)
    labels = np.r_[np.arange(n_clusters), random.integers(n_clusters, size=20)]
    memberships = random.dirichlet(np.full(n_clusters, 0.3), size=len(labels)) + 2 * np.eye(n_clusters)[labels]
    reference = CredalPartition.from_fuzzy(memberships / memberships.sum(axis=1, keepdims=True))
    order = [k for k in drawn if k < n_clusters]
    found = align_clusters(reference.permute_clusters(order), reference)
    np.testing.assert_array_equal(found.masses, reference.masses)
    samples = random.permutation(len(labels))
    shuffled = align_clusters(reference.permute_clusters(order)[samples], reference[samples])
    np.testing.assert_array_equal(shuffled.masses, reference[samples].masses)


def test_clusters_are_in_the_order_of_their_counterparts_if_the_reference_has_more():
    # Clusters 0 and 2 of the reference have counterparts, and 1 has none.
    reference = CredalPartition.from_hard([0, 0, 0, 1, 2, 2, 2])
    partition = CredalPartition.from_hard([1, 1, 1, 1, 0, 0, 0])
    assert align_clusters(partition, reference).to_hard().tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_a_cluster_without_a_counterpart_is_the_last():
    reference = CredalPartition.from_hard([0, 0, 0, 0, 1, 1, 1])
    partition = CredalPartition.from_hard([2, 2, 2, 0, 1, 1, 1])
    assert align_clusters(partition, reference).to_hard().tolist() == [0, 0, 0, 2, 1, 1, 1]


def test_samples_of_other_names_or_in_another_order_are_refused():
    reference = CredalPartition.from_hard([0, 0, 1]).rename(sample_names=["a", "b", "c"])
    unnamed = CredalPartition.from_hard([1, 1, 0])
    expected = reference.to_hard()
    np.testing.assert_array_equal(align_clusters(unnamed, reference).to_hard(), expected)
    equal = unnamed.rename(sample_names=pd.Index(["a", "b", "c"]))
    np.testing.assert_array_equal(align_clusters(equal, reference).to_hard(), expected)
    other = unnamed.rename(sample_names=["c", "b", "a"])
    with pytest.raises(ValueError, match="in another order, by their sample_names"):
        align_clusters(other, reference)
    with pytest.raises(ValueError, match="in another order, by their sample_names"):
        combine_partitions([reference, unnamed, other])
    with pytest.raises(ValueError, match="in another order, by their sample_names"):
        credal_rand_index(other, reference)
