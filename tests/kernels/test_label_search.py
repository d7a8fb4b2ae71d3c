"""Label search: the label of a sample by the votes of its neighbors."""

import numpy as np
import pytest
from evlearn.kernels.label_search import agreement, sweep
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from evlearn.cluster.neighbors.label_search import reverse_neighbors


def label_of_first_sample(labels, weights, dtype=np.float64):
    """Return the new label of sample 0, whose neighbors are all others, with these weights, and the result."""
    labels = np.array(labels, dtype=np.int32)
    indptr = np.r_[0, np.full(len(labels), len(weights))].astype(np.int32)
    indices = np.arange(1, len(labels), dtype=np.int32)
    order = np.zeros(1, dtype=np.int32)
    graph = csr_array((np.array(weights, dtype=dtype), indices, indptr), shape=(len(labels), len(labels)))
    reverse, pending, agreements = (
        reverse_neighbors(graph),
        np.ones(len(labels), dtype=np.uint8),
        np.zeros(len(labels)),
    )
    n_labels = int(labels.max()) + 1
    result = sweep(labels, indptr, indices, graph.data, order, n_labels, *reverse, pending, agreements)
    return int(labels[0]), result


def test_a_label_with_as_many_votes_up_to_rounding_is_not_taken():
    larger, smaller = [0.1, 0.2, 0.3], [0.3, 0.2, 0.1]
    assert larger[0] + larger[1] + larger[2] > smaller[0] + smaller[1] + smaller[2]  # by rounding alone
    label, result = label_of_first_sample([1, 0, 0, 0, 1, 1, 1], larger + smaller)
    assert label == 1
    assert result == (0, 0.0)


def test_a_label_with_more_votes_is_assigned_and_its_gain_returned():
    label, (changed, gain) = label_of_first_sample([1, 0, 0, 1], [0.5, 0.25, 0.5])
    assert (label, changed) == (0, 1)
    assert gain == pytest.approx(0.25)


@pytest.mark.parametrize("neighbors", [[2, 3], [3, 2], [5, 3, 2, 5, 5], [4, 2, 2, 3, 3]])
def test_of_equally_good_labels_the_lowest_is_taken_in_whatever_order_neighbors_come(neighbors):
    votes = {label: neighbors.count(label) for label in neighbors}
    weights = [1.0 / votes[label] for label in neighbors]  # each label has one vote in all
    assert label_of_first_sample([0, *neighbors], weights)[0] == min(neighbors)


def visit_all(labels, graph, order):
    """Assign labels in a pass in Python that visits all samples, and return the number of changes."""
    n_changed = 0
    for i in order:
        row = slice(graph.indptr[i], graph.indptr[i + 1])
        votes = {}
        for neighbor, weight in zip(graph.indices[row], graph.data[row], strict=True):
            votes[labels[neighbor]] = votes.get(labels[neighbor], 0.0) + float(weight)
        limit = votes.get(labels[i], 0.0) * (1 + 1e-12)
        better = [label for label, vote in votes.items() if vote > limit]
        if better:
            labels[i] = min(better, key=lambda label: (-votes[label], label))
            n_changed += 1
    return n_changed


@given(
    st.integers(0, 10_000),
    st.integers(1, 60),
    st.integers(1, 12),
    st.booleans(),
    st.booleans(),
    st.sampled_from([np.float32, np.float64]),
)
def test_passes_that_skip_samples_are_equal_to_passes_over_all_samples(seed, n, n_labels, ties, symmetric, dtype):
    random = np.random.default_rng(seed)
    graph = csr_array(random.random((n, n)) * (random.random((n, n)) < 6 / n))
    if symmetric:
        graph = csr_array(graph.maximum(graph.T))
    graph.data = (np.ceil(3 * graph.data) if ties else graph.data).astype(dtype)
    if graph.nnz:
        graph.data[:: 1 + seed % 7] = 0  # also on the diagonal of graphs
    labels = random.integers(n_labels, size=n).astype(np.int32)
    expected, arrays = labels.copy(), (graph.indptr, graph.indices, graph.data)
    reverse, pending, agreements = reverse_neighbors(graph), np.ones(n, dtype=np.uint8), np.empty(n)
    for _ in range(6):
        order = random.permutation(n).astype(np.int32)
        n_changed, _ = sweep(labels, *arrays, order, n_labels, *reverse, pending, agreements)
        assert n_changed == visit_all(expected, graph, order)
        np.testing.assert_array_equal(labels, expected)
        objective = agreement(labels, *arrays, np.ones(n, dtype=np.uint8), np.empty(n))
        assert agreement(labels, *arrays, pending, agreements) == objective
    assert n_changed or not pending.any()


def test_reverse_neighbors_are_the_samples_of_which_a_sample_is_a_neighbor():
    graph = csr_array(np.array([[0.0, 1, 1], [0, 0, 2], [3, 0, 0]]))
    starts, samples = reverse_neighbors(graph)
    np.testing.assert_array_equal(starts, [0, 1, 2, 4])
    np.testing.assert_array_equal(samples, [2, 0, 0, 1])
    assert starts.dtype == graph.indptr.dtype
