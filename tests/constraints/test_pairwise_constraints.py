import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from benchmarks.common.measuring import best_time
from evlearn.constraints import PairwiseConstraints
from evlearn.constraints.pairs import _pairs_of_indices
from strategies import labels

N_OBJECTS = 8
OBJECTS = st.integers(0, N_OBJECTS - 1)


def pairs_of(array):
    return {tuple(pair) for pair in array.tolist()}


@st.composite
def constraints(draw):
    """Distribute pairs of samples over two lists; each may be repeated or reversed."""
    pairs = draw(st.lists(st.tuples(OBJECTS, OBJECTS).filter(lambda pair: pair[0] != pair[1]), max_size=12))
    chosen = {tuple(sorted(pair)): draw(st.booleans()) for pair in pairs}
    must, cannot = ([pair for pair in pairs if chosen[tuple(sorted(pair))] is kind] for kind in (True, False))
    return must, cannot


# Equality


@given(constraints(), st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(given_pairs, random):
    expected = PairwiseConstraints(*given_pairs)
    shuffled = []
    for pairs in given_pairs:
        reversed_pairs = [pair[::-1] if random.random() < 0.5 else pair for pair in pairs + pairs[:3]]
        random.shuffle(reversed_pairs)
        shuffled.append(reversed_pairs)
    copy = PairwiseConstraints(*shuffled)
    assert copy == expected
    assert hash(copy) == hash(expected)


@given(constraints())
def test_pairs_are_sorted_distinct_and_those_given(given_pairs):
    result = PairwiseConstraints(*given_pairs)
    for pairs, array in zip(given_pairs, (result.must_link, result.cannot_link), strict=True):
        assert array.tolist() == sorted([list(pair) for pair in {tuple(sorted(pair)) for pair in pairs}])
        assert array.dtype == np.intp
        assert array.shape[1] == 2
    assert len(result) == result.n_must_link + result.n_cannot_link


@pytest.mark.parametrize(
    "pairs",
    [
        [(4, 0), (1, 2)],
        {(4, 0), (1, 2)},
        zip([1, 0], [2, 4], strict=True),
        np.array([[4, 0], [1, 2]], dtype=np.uint8),
        pd.DataFrame({"one": [0, 1], "other": [4, 2]}),
    ],
    ids=["list", "set", "zip", "array", "frame"],
)
def test_pairs_come_in_many_forms(pairs):
    np.testing.assert_array_equal(PairwiseConstraints(pairs).must_link, [[0, 4], [1, 2]])


def test_either_kind_may_be_missing():
    empty = PairwiseConstraints()
    assert len(empty) == 0
    assert empty.must_link.shape == empty.cannot_link.shape == (0, 2)
    assert empty == PairwiseConstraints([], np.empty((0, 2)))
    assert empty.closure() == empty
    assert len(empty.violations([0, 1])) == 0
    indptr, indices, kinds = empty.neighbors(3)
    assert indptr.tolist() == [0, 0, 0, 0]
    assert len(indices) == len(kinds) == 0


def test_a_must_link_of_a_sample_with_itself_is_dropped():
    assert PairwiseConstraints([(3, 3), (0, 1)]) == PairwiseConstraints([(0, 1)])


def test_constraints_and_their_copies_are_immutable():
    constraints = PairwiseConstraints([(0, 1)], [(1, 2)])
    copies = [constraints, pickle.loads(pickle.dumps(constraints)), copy.deepcopy(constraints)]
    for copied in [*copies, clone(constraints, safe=False)]:
        assert copied == constraints
        assert not copied.must_link.flags.writeable
        assert not copied.cannot_link.flags.writeable
    with pytest.raises(AttributeError):
        constraints.must_link = []


def test_constraints_are_compared_by_value():
    constraints = PairwiseConstraints([(0, 1)])
    assert constraints != PairwiseConstraints((), [(0, 1)])
    assert constraints != [(0, 1)]
    assert len({constraints, PairwiseConstraints([(1, 0)])}) == 1


def test_the_text_counts_both_kinds():
    assert (
        repr(PairwiseConstraints([(0, 1), (1, 2)], [(0, 3)])) == "PairwiseConstraints(2 must-link, 1 cannot-link)"
    )


@given(constraints())
def test_the_sum_of_parts_is_the_union(given_pairs):
    must, cannot = given_pairs
    whole = PairwiseConstraints(must, cannot)
    assert PairwiseConstraints(must) + PairwiseConstraints((), cannot) == whole
    assert PairwiseConstraints(must[::2], cannot[1:]) + PairwiseConstraints(must, cannot[:1]) == whole
    assert whole + whole == whole == whole + PairwiseConstraints()


# From labels


@given(labels(N_OBJECTS))
def test_all_pairs_of_labeled_samples_are_constrained(y):
    y = y - 1  # so that some samples are unlabeled
    result = PairwiseConstraints.from_labels(y)
    labeled = [i for i in range(N_OBJECTS) if y[i] >= 0]
    assert pairs_of(result.must_link) == {(i, j) for i in labeled for j in labeled if i < j and y[i] == y[j]}
    assert pairs_of(result.cannot_link) == {(i, j) for i in labeled for j in labeled if i < j and y[i] != y[j]}


@pytest.mark.parametrize(
    ("y", "unlabeled"),
    [
        ([0, 1, -1, 0], -1),
        ([0.0, 1.0, np.nan, 0.0], -1),
        ([0, 1, 7, 0], 7),
        ([-1, 1, None, -1], None),
        (["a", "b", None, "a"], -1),
        (["a", "b", "", "a"], ""),
        (["a", 1, np.nan, "a"], -1),
        (["a", "b", np.nan, "a"], -1),
        (["a", "b", -1, "a"], -1),
        ([0, 1, pd.NA, 0], -1),
        (np.array(["a", "b", "?", "a"]), "?"),
        (pd.Series([0, 1, pd.NA, 0], dtype="Int64"), -1),
        (pd.Series(["a", "b", None, "a"], dtype="category"), -1),
    ],
)
def test_missing_labels_come_in_many_forms(y, unlabeled):
    expected = PairwiseConstraints([(0, 3)], [(0, 1), (1, 3)])
    assert PairwiseConstraints.from_labels(y, unlabeled=unlabeled) == expected
    assert PairwiseConstraints.sample(y, 3, unlabeled=unlabeled) == expected


@given(labels(N_OBJECTS), st.integers(0, N_OBJECTS * (N_OBJECTS - 1) // 2), st.integers(0, 100))
def test_a_random_sample_has_different_pairs_that_agree_with_the_labels(y, n_constraints, seed):
    sample = PairwiseConstraints.sample(y, n_constraints, random_state=seed)
    assert len(sample) == n_constraints
    assert len(sample.violations(y)) == 0
    assert sample == PairwiseConstraints.sample(y, n_constraints, random_state=seed)
    assert PairwiseConstraints.from_labels(y) + sample == PairwiseConstraints.from_labels(y)


@pytest.mark.parametrize("n_constraints", [3, 12])  # drawn with repetition and without
@pytest.mark.slow
def test_all_pairs_are_drawn_equally_often(n_constraints):
    random = np.random.RandomState(0)
    counts = np.zeros((6, 6))
    for _ in range(3000):
        pairs = PairwiseConstraints.sample(np.zeros(6), n_constraints, random_state=random).must_link
        counts[pairs[:, 0], pairs[:, 1]] += 1
    share = n_constraints / 15
    error = np.sqrt(3000 * share * (1 - share))
    assert np.abs(counts[np.triu_indices(6, k=1)] - 3000 * share).max() < 4 * error


# Queries


@given(constraints(), labels(N_OBJECTS, 3))
def test_violations_are_split_must_links_and_merged_cannot_links(given_pairs, y):
    whole = PairwiseConstraints(*given_pairs)
    broken = whole.violations(y)
    assert pairs_of(broken.must_link) == {(i, j) for i, j in pairs_of(whole.must_link) if y[i] != y[j]}
    assert pairs_of(broken.cannot_link) == {(i, j) for i, j in pairs_of(whole.cannot_link) if y[i] == y[j]}


def test_samples_without_a_cluster_violate_nothing():
    constraints = PairwiseConstraints([(0, 1), (0, 2)], [(1, 3), (0, 4)])
    assert constraints.violations(["a", None, "b", None, "a"]) == PairwiseConstraints([(0, 2)], [(0, 4)])


@given(constraints())
def test_neighbors_list_every_constraint_from_both_sides(given_pairs):
    whole = PairwiseConstraints(*given_pairs)
    indptr, indices, kinds = whole.neighbors(N_OBJECTS + 2)
    assert indptr.dtype == indices.dtype == np.intp
    assert kinds.dtype == np.uint8
    assert indptr.shape == (N_OBJECTS + 3,)
    assert indptr[-1] == len(indices) == len(kinds) == 2 * len(whole)
    for kind, pairs in ((0, whole.must_link), (1, whole.cannot_link)):
        expected = pairs_of(pairs)
        owners = np.repeat(np.arange(N_OBJECTS + 2), np.diff(indptr))
        entries = {(i, j) for i, j, k in zip(owners.tolist(), indices.tolist(), kinds, strict=True) if k == kind}
        assert entries == expected | {(j, i) for i, j in expected}
    for i in range(N_OBJECTS):
        assert (np.diff(indices[indptr[i] : indptr[i + 1]]) > 0).all()


def test_check_samples_accepts_existing_samples():
    PairwiseConstraints([(0, 4)]).check_samples(5)
    PairwiseConstraints().check_samples(0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: PairwiseConstraints([(0, 1)], [(2, 3), (1, 0)]),
            r"must_link and cannot_link both hold \(0, 1\);",
        ),
        (
            lambda: (
                PairwiseConstraints.from_labels(np.zeros(5)) + PairwiseConstraints((), [(0, j) for j in (3, 4)])
            ),
            r"both hold \(0, 3\), \(0, 4\)",
        ),
        (lambda: PairwiseConstraints([(0, j) for j in range(9)], [(0, j) for j in range(1, 9)]), "and 3 more"),
        (lambda: PairwiseConstraints((), [(0, 1), (4, 4)]), r"separates a sample from itself: \(4, 4\); drop"),
        (lambda: PairwiseConstraints((0, 1)), r"must_link must be pairs .* got an array of shape \(2,\)"),
        (lambda: PairwiseConstraints(3), r"must_link must be pairs .* shape \(\)"),
        (lambda: PairwiseConstraints((), [(0, 1, 2)]), r"cannot_link must be pairs .* shape \(1, 3\)"),
        (lambda: PairwiseConstraints([(0.0, 1.5)]), "must_link must be pairs of sample numbers .* type float64"),
        (lambda: PairwiseConstraints([("a", "b")]), "must_link must be pairs of sample numbers .* type <U1"),
        (lambda: PairwiseConstraints([(0, 1), (2,)]), "must_link must hold pairs .* not all its rows are pairs"),
        (lambda: PairwiseConstraints([(0, -1)]), "must_link has the sample -1; samples are numbered from 0"),
        (lambda: PairwiseConstraints((), [(0, 2**31)]), "cannot_link has the sample 2147483648"),
        (lambda: PairwiseConstraints.from_labels([[0, 1]]), r"y must be one label .* shape \(1, 2\)"),
        (lambda: PairwiseConstraints.from_labels(np.zeros(4000)), "4,000 labeled samples and so 7,998,000 pairs"),
        (lambda: PairwiseConstraints.sample([0, 1, 1, -1], 4), "from 0 to 3, .* 3 labeled samples, got 4"),
        (lambda: PairwiseConstraints.sample([0, 1, 1], 1.5), "n_constraints must be a whole number .* got 1.5"),
        (lambda: PairwiseConstraints.sample([0, 1, 1], -1), "n_constraints must be .* got -1"),
        (
            lambda: PairwiseConstraints([(0, 1), (2, 7)]).check_samples(7),
            r"must_link has the pair \(2, 7\), but .* 7",
        ),
        (lambda: PairwiseConstraints((), [(2, 7)]).violations([0, 1]), r"cannot_link has the pair \(2, 7\)"),
        (lambda: PairwiseConstraints([(2, 7)]).neighbors(3), "there are 3 samples, numbered 0 to 2"),
        (lambda: PairwiseConstraints().violations([[0]]), "labels must be one label for each sample"),
    ],
)
def test_errors_contain_a_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_only_constraints_can_be_added():
    with pytest.raises(TypeError, match="unsupported operand"):
        PairwiseConstraints() + 1


@pytest.mark.slow
def test_a_million_samples_do_not_need_a_list_of_their_pairs():
    y = np.random.default_rng(0).integers(5, size=1_000_000)
    sample = PairwiseConstraints.sample(y, 100_000, random_state=0)
    assert len(sample) == 100_000
    assert sample.n_must_link == pytest.approx(20_000, abs=600)
    assert sample.must_link.max() > 990_000
    assert len(sample.violations(y)) == 0


@pytest.mark.timing
def test_a_million_constraints_and_their_neighbors_are_fast():
    y = np.arange(1_000_000) % 7
    assert best_time(lambda: PairwiseConstraints.sample(y, 100_000, random_state=0)) < 2
    constraints = PairwiseConstraints.sample(y, 1_000_000, random_state=0)
    assert best_time(lambda: constraints.neighbors(1_000_000)) < 2


@pytest.mark.parametrize("larger", [1, 2, 1000, 10**6 + 1, 2**26 + 1, 2**29 + 3, 2**31 - 1])
def test_positions_in_the_list_of_all_pairs_are_exact(larger):
    # Pairs (0, j) to (j - 1, j) have the positions from j (j - 1) / 2 on.
    first = larger * (larger - 1) // 2
    pairs = _pairs_of_indices(np.array([first, first + larger - 1, first + larger]))
    np.testing.assert_array_equal(pairs, [[0, larger], [larger - 1, larger], [0, larger + 1]])
