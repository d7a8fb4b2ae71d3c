from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import pairwise_distances

from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_bananas


def pairs_of(array):
    return {tuple(pair) for pair in array.tolist()}


def expanded_by_hand(constraints, D, K):
    """Apply Algorithm 2, line by line."""
    neighborhoods = [[i, *[int(j) for j in np.argsort(D[i], kind="stable") if j != i][:K]] for i in range(len(D))]
    original = {"ML": pairs_of(constraints.must_link), "CL": pairs_of(constraints.cannot_link)}
    result = {"ML": set(original["ML"]), "CL": set(original["CL"])}
    for kind in ("ML", "CL"):
        for i, j in sorted(original[kind]):
            candidates = product(
                set(neighborhoods[i]) - set(neighborhoods[j]), set(neighborhoods[j]) - set(neighborhoods[i])
            )
            free = [
                (D[i, r] + D[j, s], tuple(sorted((r, s))))
                for r, s in candidates
                if tuple(sorted((r, s))) not in result["ML"] | result["CL"]
            ]
            result[kind] |= {pair for _, pair in sorted(free)[:K]}
    return PairwiseConstraints(result["ML"], result["CL"])


@st.composite
def problems(draw, max_samples=30):
    """Draw samples in the plane without ties, constraints on them, and a number of neighbors."""
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    n_samples = draw(st.integers(2, max_samples))
    X = random.normal(size=(n_samples, 2))
    n_pairs = n_samples * (n_samples - 1) // 2
    y = random.integers(2, size=n_samples)
    n_constraints = draw(st.integers(0, min(n_pairs, 40)))
    constraints = PairwiseConstraints.sample(y, n_constraints, random_state=draw(st.integers(0, 1000)))
    return constraints, X, draw(st.integers(0, min(n_samples - 1, 7)))


@given(problems())
def test_expansion_is_the_algorithm_of_the_paper(problem):
    constraints, X, K = problem
    D = pairwise_distances(X)
    expected = expanded_by_hand(constraints, D, K)
    assert constraints.expand(X, K) == expected
    assert constraints.expand(D, K, "precomputed") == expected


@given(problems())
def test_expansion_keeps_the_constraints_and_adds_at_most_k_for_each(problem):
    constraints, X, K = problem
    larger = constraints.expand(X, K)  # the constructor checks that no pair is in both sets
    assert larger + constraints == larger
    assert larger.n_must_link <= (K + 1) * constraints.n_must_link
    assert larger.n_cannot_link <= (K + 1) * constraints.n_cannot_link
    for pairs in (larger.must_link, larger.cannot_link):
        assert (pairs[:, 0] < pairs[:, 1]).all()


@given(problems())
def test_expansion_without_neighbors_changes_nothing(problem):
    constraints, X, _ = problem
    assert constraints.expand(X, 0) == constraints


@given(problems(), st.integers(0, 1000))
@pytest.mark.slow
def test_renumbering_the_samples_changes_the_result_through_collisions_only(problem, seed):
    constraints, X, K = problem
    order = np.random.default_rng(seed).permutation(len(X))
    number = np.argsort(order)

    def renumbered(constraints):
        return PairwiseConstraints(number[constraints.must_link], number[constraints.cannot_link])

    # A single constraint cannot collide with another.
    for kind in ("must_link", "cannot_link"):
        for pair in getattr(constraints, kind)[:2]:
            single = PairwiseConstraints(**{kind: [pair]})
            assert renumbered(single).expand(X[order], K) == renumbered(single.expand(X, K))


@pytest.mark.parametrize("metric", ["manhattan", "cosine", lambda a, b: np.abs(a - b).max()])
def test_any_metric_of_scikit_learn_is_possible(metric):
    X, y = make_bananas(40, random_state=0)
    constraints = PairwiseConstraints.sample(y, 15, random_state=0)
    expected = expanded_by_hand(constraints, pairwise_distances(X, metric=metric), 3)
    assert constraints.expand(X, n_neighbors=3, metric=metric) == expected
    assert constraints.expand(X, n_neighbors=3) != expected


def test_sparse_and_single_precision_data_give_the_same():
    X = np.random.default_rng(0).integers(-100, 100, size=(60, 3)).astype(np.float32)
    constraints = PairwiseConstraints.sample(np.arange(60) % 2, 20, random_state=0)
    expected = constraints.expand(X.astype(float), metric="manhattan")
    assert constraints.expand(X, metric="manhattan") == expected
    assert constraints.expand(csr_array(X), metric="manhattan") == expected


def test_many_constraints_are_expanded_in_blocks_and_in_their_order(monkeypatch):
    X, y = make_bananas(60, random_state=1)
    constraints = PairwiseConstraints.sample(y, 300, random_state=1)
    whole = constraints.expand(X)
    monkeypatch.setattr("evlearn.constraints.pairs._CANDIDATES_PER_BLOCK", 250)
    monkeypatch.setattr("evlearn.constraints.pairs._VALUES_PER_BLOCK", 20)
    assert constraints.expand(X) == whole == expanded_by_hand(constraints, pairwise_distances(X), 5)


def test_a_sample_among_many_duplicates_is_not_its_own_neighbor():
    X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 10, axis=0)
    larger = PairwiseConstraints((), [(3, 17)]).expand(X, n_neighbors=4)
    assert larger.n_cannot_link == 5
    left, right = larger.cannot_link.T
    assert (left < 10).all()
    assert (right >= 10).all()


def test_nothing_is_added_between_samples_with_the_same_neighbors():
    X = np.array([[0.0], [1.0], [10.0], [11.5]])
    constraints = PairwiseConstraints([(0, 1)])
    assert constraints.expand(X, n_neighbors=1) == constraints


def test_expanded_constraints_are_mostly_right():
    X, y = make_bananas(2000, random_state=0)
    constraints = PairwiseConstraints.sample(y, 500, random_state=0)
    larger = constraints.expand(X)
    assert 2900 < len(larger) <= 3000
    assert len(larger.violations(y)) < 0.1 * len(larger)


def test_expansion_agrees_with_r_where_r_follows_the_paper(reference, reference_file):
    # R also pairs samples that are near both samples of a constraint, which Algorithm 2 excludes, and it may
    # return self-pairs and duplicates. All other pairs must agree.
    arrays = reference("expandlink_bananas200_k5").arrays
    table = np.genfromtxt(reference_file("data/bananas_n200_seed7.csv"), delimiter=",", names=True)
    X = np.column_stack([table["x1"], table["x2"]])
    constraints = PairwiseConstraints(arrays["ML_1b"] - 1, arrays["CL_1b"] - 1)
    expanded = constraints.expand(X, n_neighbors=5)
    assert expanded + constraints == expanded
    adjacent = [{i, *row} for i, row in enumerate((arrays["nn_index_1b"] - 1).tolist())]
    near_both = {o for i, j in (arrays["ML_1b"] - 1).tolist() for o in adjacent[i] & adjacent[j]}
    expected = {tuple(sorted(pair)) for pair in (arrays["ML_out_1b"] - 1).tolist()}
    assert all(near_both & set(pair) for pair in expected - pairs_of(expanded.must_link))
    assert len(expected & pairs_of(expanded.must_link)) >= 35
    assert pairs_of(expanded.cannot_link) == {tuple(sorted(pair)) for pair in (arrays["CL_out_1b"] - 1).tolist()}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_neighbors": 6}, "n_neighbors must be a whole number from 0 to 5, .* got 6"),
        ({"n_neighbors": -1}, "n_neighbors must be .* got -1"),
        ({"n_neighbors": 2.0}, "n_neighbors must be .* got 2.0"),
        ({"metric": "precomputed"}, r"X must be square when metric='precomputed', got shape \(6, 2\)"),
        ({"metric": "unheard"}, "'metric' parameter .* Got 'unheard'"),
        ({"X": np.zeros((3, 2))}, r"cannot_link has the pair \(1, 4\), but there are 3 samples"),
        ({"X": np.full((6, 2), np.nan)}, "X contains NaN"),
        ({"X": np.zeros(6)}, "Expected 2D array"),
    ],
)
def test_errors_contain_a_remedy(arguments, message):
    constraints = PairwiseConstraints([(0, 1)], [(1, 4)])
    with pytest.raises(ValueError, match=message):
        constraints.expand(**{"X": np.zeros((6, 2))} | arguments)


@pytest.mark.slow
def test_collisions_of_many_constraints_on_few_samples_are_resolved():
    X, y = make_bananas(500, random_state=0)
    constraints = PairwiseConstraints.sample(y, 50_000, random_state=0)
    larger = constraints.expand(X, n_neighbors=5)
    assert len(larger) == len(pairs_of(np.vstack([larger.must_link, larger.cannot_link])))
    assert len(larger) > 100_000
