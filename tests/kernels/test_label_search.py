"""The search for labels: which label a sample takes, vote by vote."""

import numpy as np
import pytest
from evlearn.kernels.label_search import sweep


def first_object(labels, weights, dtype=np.float64):
    """The label that sample 0 takes, whose neighbours are all others, in order and with these weights."""
    labels = np.array(labels, dtype=np.int32)
    indptr = np.r_[0, np.full(len(labels), len(weights))].astype(np.int32)
    indices = np.arange(1, len(labels), dtype=np.int32)
    order = np.zeros(1, dtype=np.int32)
    found = sweep(labels, indptr, indices, np.array(weights, dtype=dtype), order, int(labels.max()) + 1)
    return int(labels[0]), found


def test_a_label_with_as_many_votes_up_to_rounding_is_not_taken():
    more, fewer = [0.1, 0.2, 0.3], [0.3, 0.2, 0.1]
    assert more[0] + more[1] + more[2] > fewer[0] + fewer[1] + fewer[2]  # by rounding alone
    label, found = first_object([1, 0, 0, 0, 1, 1, 1], more + fewer)
    assert label == 1
    assert found == (0, 0.0)


def test_a_label_with_more_votes_is_taken_and_its_gain_told():
    label, (changed, gain) = first_object([1, 0, 0, 1], [0.5, 0.25, 0.5])
    assert (label, changed) == (0, 1)
    assert gain == pytest.approx(0.25)


@pytest.mark.parametrize("neighbours", [[2, 3], [3, 2], [5, 3, 2, 5, 5], [4, 2, 2, 3, 3]])
def test_of_equally_good_labels_the_lowest_is_taken_in_whatever_order_neighbours_come(neighbours):
    votes = {label: neighbours.count(label) for label in neighbours}
    weights = [1.0 / votes[label] for label in neighbours]  # each label has one vote in all
    assert first_object([0, *neighbours], weights)[0] == min(neighbours)
