"""Label search: the label of a sample by the votes of its neighbors."""

import numpy as np
import pytest
from evlearn.kernels.label_search import sweep


def label_of_first_sample(labels, weights, dtype=np.float64):
    """Return the new label of sample 0, whose neighbors are all others, with these weights, and the result."""
    labels = np.array(labels, dtype=np.int32)
    indptr = np.r_[0, np.full(len(labels), len(weights))].astype(np.int32)
    indices = np.arange(1, len(labels), dtype=np.int32)
    order = np.zeros(1, dtype=np.int32)
    result = sweep(labels, indptr, indices, np.array(weights, dtype=dtype), order, int(labels.max()) + 1)
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
