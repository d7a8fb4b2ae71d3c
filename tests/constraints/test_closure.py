from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evlearn.constraints import PairwiseConstraints
from strategies import labels

N_OBJECTS = 9


def pairs_of(array):
    return {tuple(pair) for pair in array.tolist()}


@st.composite
def consistent(draw):
    """Draw constraints without contradictions from labels; return both."""
    y = draw(labels(N_OBJECTS, 4))
    n_constraints = draw(st.integers(0, 20))
    return PairwiseConstraints.sample(y, n_constraints, random_state=draw(st.integers(0, 1000))), y


def closed_by_hand(constraints):
    """Apply 2 rules until nothing changes: transitivity of must-links, and cannot-links between their groups."""
    must, cannot = (
        {pair for i, j in pairs_of(pairs) for pair in ((i, j), (j, i))}
        for pairs in (constraints.must_link, constraints.cannot_link)
    )
    while True:
        implied = {(a, c) for a, b in must for b_, c in must if b == b_ and a != c} - must
        separated = {pair for a, b in must for b_, c in cannot if b == b_ for pair in ((a, c), (c, a))} - cannot
        if not implied and not separated:
            return PairwiseConstraints(sorted(must), sorted(cannot))
        must |= implied
        cannot |= separated


@given(consistent())
def test_the_closure_follows_from_two_rules(example):
    constraints, _ = example
    assert constraints.closure() == closed_by_hand(constraints)


@pytest.mark.slow
@given(consistent())
def test_the_closure_holds_the_constraints_and_is_closed(example):
    constraints, _ = example
    closed = constraints.closure()
    assert closed + constraints == closed
    assert closed.closure() == closed


@given(consistent())
def test_the_closure_agrees_with_the_labels_that_the_constraints_come_from(example):
    constraints, y = example
    assert len(constraints.closure().violations(y)) == 0


@given(labels(N_OBJECTS, 4))
def test_all_pairs_of_labels_are_closed(y):
    constraints = PairwiseConstraints.from_labels(y)
    assert constraints.closure() == constraints


@given(labels(N_OBJECTS, 3), st.randoms(use_true_random=False))
def test_one_wrong_cannot_link_in_a_connected_cluster_is_found(y, random):
    constraints = PairwiseConstraints.from_labels(y)
    if constraints.n_must_link < 2:
        return
    wrong = tuple(random.choice(constraints.must_link.tolist()))
    chain = PairwiseConstraints([pair for pair in constraints.must_link if tuple(pair) != wrong], [wrong])
    others = [k for k in range(N_OBJECTS) if k not in wrong and y[k] == y[wrong[0]]]
    if others:
        samples = "|".join(str(other) for other in others)
        expected = (
            rf"cannot_link holds \({wrong[0]}, {wrong[1]}\), .*: {wrong[0]} - ({samples}) - {wrong[1]}\. Drop"
        )
        with pytest.raises(ValueError, match=expected):
            chain.closure()
    else:
        assert chain.closure() == chain


def test_a_contradiction_names_a_shortest_chain():
    chain = [(10, 20), (20, 30), (30, 40), (40, 50)]
    constraints = PairwiseConstraints([*chain, (10, 60), (60, 50), (70, 80)], [(50, 10), (70, 10)])
    with pytest.raises(ValueError, match=r"holds \(10, 50\), but must_link connects them: 10 - 60 - 50\. Drop"):
        constraints.closure()


def test_messages_about_many_contradictions_and_long_chains_are_short():
    line = [(i, i + 1) for i in range(100)]
    constraints = PairwiseConstraints(line, [(0, 100), *((i, 99) for i in range(1, 9))])
    with pytest.raises(ValueError, match=r" 8 - 9 - \(81 samples\) - 91 - .*; and 6 more"):
        constraints.closure()


def test_groups_that_no_constraint_connects_stay_unrelated():
    closed = PairwiseConstraints([(0, 1), (2, 3), (4, 5)], [(1, 2)]).closure()
    assert pairs_of(closed.must_link) == {(0, 1), (2, 3), (4, 5)}
    assert pairs_of(closed.cannot_link) == {(0, 2), (0, 3), (1, 2), (1, 3)}


def test_sample_numbers_may_be_far_apart():
    closed = PairwiseConstraints([(0, 10**9), (2 * 10**9, 10**9)]).closure()
    assert pairs_of(closed.must_link) == set(combinations([0, 10**9, 2 * 10**9], 2))


@pytest.mark.parametrize(
    "constraints",
    [
        PairwiseConstraints([(0, j) for j in range(1, 4000)]),
        PairwiseConstraints([(j % 2, j) for j in range(2, 6000)], [(0, 1)]),
    ],
)
def test_a_closure_that_would_fill_the_memory_is_refused(constraints):
    with pytest.raises(ValueError, match=r"the closure has .* more than 5,000,000 in total"):
        constraints.closure()


@pytest.mark.slow
def test_a_large_closure_of_small_groups_is_fast():
    firsts = 3 * np.arange(200_000)
    closed = PairwiseConstraints(
        np.column_stack([np.repeat(firsts, 2), np.repeat(firsts, 2) + np.tile([1, 2], len(firsts))]),
        np.column_stack([firsts[:-1], firsts[1:]]),
    ).closure()
    assert closed.n_must_link == 3 * 200_000
    assert closed.n_cannot_link == 9 * 199_999
