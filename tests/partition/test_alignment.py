"""Alignment of cluster numbers: it selects the best permutation, and changes nothing else."""

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

sample_sizes = st.integers(1, 6)


def products_of_plausibilities(partition, reference):
    """Return the sum over samples of products of plausibilities, for each pair of clusters."""
    return reference.to_possibilistic().T @ partition.to_possibilistic()


@given(sample_sizes.flatmap(lambda n: st.tuples(partitions(n, 6), partitions(n, 6))))
@pytest.mark.slow
def test_no_other_order_of_clusters_agrees_better(pair):
    partition, reference = pair
    products = products_of_plausibilities(partition, reference)
    n_matched = min(products.shape)
    best = max(
        products[list(rows), list(columns)].sum()
        for rows in combinations(range(reference.n_clusters), n_matched)
        for columns in permutations(range(partition.n_clusters), n_matched)
    )
    aligned_products = products_of_plausibilities(align_clusters(partition, reference), reference)
    # Clusters are in the order of their counterparts; some clusters of the reference may have none.
    total = max(
        aligned_products[list(rows), range(n_matched)].sum()
        for rows in combinations(range(len(aligned_products)), n_matched)
    )
    assert total == pytest.approx(best, abs=1e-9)


@given(sample_sizes.flatmap(lambda n: st.tuples(partitions(n, 6), partitions(n, 6))))
@pytest.mark.slow
def test_only_numbers_change(pair):
    partition, reference = pair
    aligned = align_clusters(partition, reference)
    orders = (partition.permute_clusters(list(order)) for order in permutations(range(partition.n_clusters)))
    assert any(
        candidate.focal_sets == aligned.focal_sets and np.array_equal(candidate.masses, aligned.masses)
        for candidate in orders
    )


@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.permutations(range(6)))
def test_a_permutation_is_recovered_for_any_order_of_samples(n_clusters, seed, numbers):
    random = np.random.default_rng(seed)
    labels = np.r_[np.arange(n_clusters), random.integers(n_clusters, size=20)]
    memberships = random.dirichlet(np.full(n_clusters, 0.3), size=len(labels)) + 2 * np.eye(n_clusters)[labels]
    reference = CredalPartition.from_fuzzy(memberships / memberships.sum(axis=1, keepdims=True))
    order = [k for k in numbers if k < n_clusters]
    aligned = align_clusters(reference.permute_clusters(order), reference)
    np.testing.assert_array_equal(aligned.masses, reference.masses)
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


def test_other_sample_names_or_another_order_are_rejected():
    reference = CredalPartition.from_hard([0, 0, 1]).rename(sample_names=["a", "b", "c"])
    unnamed = CredalPartition.from_hard([1, 1, 0])
    expected = reference.to_hard()
    np.testing.assert_array_equal(align_clusters(unnamed, reference).to_hard(), expected)
    equal = unnamed.rename(sample_names=pd.Index(["a", "b", "c"]))
    np.testing.assert_array_equal(align_clusters(equal, reference).to_hard(), expected)
    other = unnamed.rename(sample_names=["c", "b", "a"])
    with pytest.raises(ValueError, match="sample_names of the partitions differ"):
        align_clusters(other, reference)
    with pytest.raises(ValueError, match="sample_names of the partitions differ"):
        combine_partitions([reference, unnamed, other])
    with pytest.raises(ValueError, match="sample_names of the partitions differ"):
        credal_rand_index(other, reference)
