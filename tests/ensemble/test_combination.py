"""Combining partitions: what comes back, what does not matter, and what the rules mean."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from benchmarks.common.measuring import peak_bytes
from evlearn.belief import FocalSets
from evlearn.cluster import ECM
from evlearn.cluster.focal_families import random_masses
from evlearn.cluster.pairwise.pair_graph import pairs_with_targets
from evlearn.ensemble import combine_partitions, fusion
from evlearn.ensemble.fusion import fuse
from evlearn.ensemble.recovery import Landmarks, pair_forms_of, recover, stated, targets_of
from evlearn.metrics import credal_rand_index
from evlearn.metrics.pairwise import _jousselme
from evlearn.partition import CredalPartition, PairMasses

RULES = list(fusion.RULES)


def some_partition(seed, n=12, c=3, sets=None):
    sets = sets or FocalSets.full(c)
    return CredalPartition(np.random.default_rng(seed).dirichlet(np.full(len(sets), 0.4), size=n), sets)


def all_pairs(n):
    return np.column_stack(np.triu_indices(n, k=1))


# Statements about pairs


def test_dubois_and_prade_leave_contradictions_open():
    same, different = (PairMasses(*np.array(one)[:, None]) for one in ([0.0, 1, 0, 0], [0.0, 0, 1, 0]))
    np.testing.assert_allclose(np.ravel(fuse([same, different], "dubois_prade")), [0, 0, 0, 1])
    np.testing.assert_allclose(np.ravel(fuse([same, different], "average")), [0, 0.5, 0.5, 0])
    # Dempster's rule has no answer there, and takes the mean.
    np.testing.assert_allclose(np.ravel(fuse([same, different], "dempster")), [0, 0.5, 0.5, 0])


@pytest.mark.parametrize("rule", ["average", "cautious"])
@given(seed=st.integers(0, 1000))
def test_what_is_said_twice_counts_once_where_evidence_is_shared(rule, seed):
    (one,) = [some_partition(seed, 6)]
    said = one.relational(all_pairs(6))
    again = np.stack(fuse([said, said, said], rule))
    expected = np.stack(said)
    if rule == "cautious":
        expected = expected / (1 - expected[0])
        expected[0] = 0
    usable = np.stack(said)[0] < 1 - 1e-6
    np.testing.assert_allclose(again[:, usable], expected[:, usable], atol=1e-6)


@pytest.mark.parametrize("rule", ["conjunctive", "yager", "dubois_prade", "disjunctive", "cautious", "dempster"])
@given(seed=st.integers(0, 1000))
def test_two_members_may_speak_in_any_order(rule, seed):
    members = [one.relational(all_pairs(6)) for one in (some_partition(seed, 6), some_partition(seed + 1, 6))]
    one, other = (np.stack(fuse(some, rule)) for some in (members, members[::-1]))
    np.testing.assert_allclose(one, other, atol=1e-9)


@given(seed=st.integers(0, 1000))
def test_rules_differ_in_where_contradictions_go(seed):
    sets = FocalSets.full(3)
    masses = np.random.default_rng(seed).dirichlet(np.full(7, 0.4), size=(2, 6))
    masses = np.concatenate([np.zeros((2, 6, 1)), masses], axis=2)
    members = [CredalPartition(one, sets).relational(all_pairs(6)) for one in masses]
    found = {rule: np.stack(fuse(members, rule)) for rule in RULES}
    conflict = found["conjunctive"][0]
    kept = found["conjunctive"][1:]
    np.testing.assert_allclose(found["yager"][1:], kept + conflict * np.array([[0], [0], [1]]), atol=1e-12)
    # On two answers, "one of both" and "nobody knows" are the same.
    np.testing.assert_allclose(found["dubois_prade"], found["yager"], atol=1e-12)
    usable = conflict < 1 - 1e-6
    normal = kept[:, usable] / (1 - conflict[usable])
    np.testing.assert_allclose(found["dempster"][1:, usable], normal, atol=1e-9)
    for rule in ("yager", "dubois_prade", "disjunctive", "dempster", "cautious"):
        np.testing.assert_allclose(found[rule][0], 0, atol=1e-12)
    # What is known for sure by "or" is known to each of them.
    for said in members:
        assert (found["disjunctive"][1] <= said.same + 1e-9).all()
        assert (found["disjunctive"][2] <= said.different + 1e-9).all()


def test_dempster_makes_independent_hints_surer():
    hint = PairMasses(*np.array([0.0, 0.6, 0, 0.4])[:, None])
    assert fuse([hint, hint], "dempster").same[0] == pytest.approx(1 - 0.4**2)
    assert fuse([hint, hint], "average").same[0] == pytest.approx(0.6)


@pytest.mark.parametrize("rule", RULES)
@given(st.integers(0, 10_000))
def test_combined_statements_are_mass_functions(rule, seed):
    members = [some_partition(seed + number, n=6) for number in range(3)]
    found = np.stack(fuse([one.relational(all_pairs(6)) for one in members], rule))
    assert (found >= -1e-12).all()
    np.testing.assert_allclose(found.sum(axis=0), 1)


@given(st.integers(0, 10_000))
def test_the_objective_is_the_mean_squared_distance_of_jousselme(seed):
    ours, wanted = some_partition(seed, n=7), some_partition(seed + 1, n=7)
    pairs, forms = all_pairs(7), pair_forms_of(ours.focal_sets)
    values = np.einsum("ia,kab,ib->ki", ours.masses[pairs[:, 0]], forms, ours.masses[pairs[:, 1]])
    misfit = 0.5 * np.square(values - targets_of(wanted.relational(pairs))).sum(axis=0)
    np.testing.assert_allclose(
        misfit, _jousselme(ours.relational(pairs), wanted.relational(pairs)) ** 2, atol=1e-12
    )


# Recovery


@pytest.mark.parametrize("rule", RULES)
def test_the_objective_of_a_recovery_is_that_distance_to_what_was_stated(rule):
    members, pairs = [some_partition(seed, n=9) for seed in range(3)], all_pairs(9)
    start = random_masses(9, 8, np.random.RandomState(0))
    trace = recover(stated(members, rule), FocalSets.full(3), start, tol=0, max_iter=3)
    found = CredalPartition(trace.state.masses, FocalSets.full(3)).relational(pairs)
    wanted = fuse([one.relational(pairs) for one in members], rule)
    assert trace.objective == pytest.approx((_jousselme(found, wanted) ** 2).mean(), rel=1e-9)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_sweeps_never_raise_the_objective(seed):
    members = [some_partition(seed, n=10), some_partition(seed + 1, n=10, c=2)]
    start = random_masses(10, 8, np.random.RandomState(seed))
    history = recover(stated(members, "average"), FocalSets.full(3), start, tol=0, max_iter=30).history
    assert (np.diff(history) <= 1e-12).all()


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_averages_of_all_pairs_need_no_list_of_pairs(seed):
    members = [
        some_partition(seed, n=15),
        CredalPartition.from_hard(np.random.default_rng(seed).integers(-1, 4, size=15), noise_label=-1),
        some_partition(seed + 1, n=15, c=2),
    ]
    targets = targets_of(fuse([one.relational(all_pairs(15)) for one in members], "average"))
    start = random_masses(15, 8, np.random.RandomState(seed))
    listed, products = (
        recover(pairs, FocalSets.full(3), start, tol=0, max_iter=4)
        for pairs in (pairs_with_targets(all_pairs(15), targets, 15), stated(members, "average"))
    )
    np.testing.assert_allclose(products.history, listed.history, rtol=1e-9)
    np.testing.assert_allclose(products.state.masses, listed.state.masses, atol=1e-7)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_one_partition_comes_back(seed):
    partition = some_partition(seed)
    again = combine_partitions([partition], random_state=0)
    np.testing.assert_allclose(again.masses, partition.masses, atol=1e-6)


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=10)
@given(st.integers(0, 10_000), st.integers(2, 5))
def test_identical_hard_partitions_come_back_whatever_their_numbers(rule, seed, c):
    random = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(c), random.integers(c, size=20)])
    renumbered = random.permutation(c)[labels]
    again = combine_partitions([labels, renumbered, labels], rule=rule, random_state=0)
    np.testing.assert_array_equal(again.to_hard(), labels)
    np.testing.assert_allclose(again.masses.max(axis=1), 1, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_renumbering_the_inputs_changes_nothing_but_numbers(rule):
    X, _ = make_blobs(60, 2, centers=3, cluster_std=2.5, random_state=0)
    members = [
        ECM(3, random_state=seed, focal_sets=kind).fit(X).credal_partition_
        for seed, kind in enumerate(["full", "pairs", "simple"])
    ]
    one = combine_partitions(members, rule=rule, n_init=0, tol=1e-12, max_iter=5000)
    orders = [[1, 2, 0], [2, 1, 0], [0, 2, 1]]
    renumbered = [member.permute_clusters(order) for member, order in zip(members, orders, strict=True)]
    other = combine_partitions(renumbered, rule=rule, n_init=0, tol=1e-12, max_iter=5000)
    assert credal_rand_index(one, other) == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(one.permute_clusters(orders[0]).masses, other.masses, atol=1e-4)


@pytest.mark.parametrize("rule", ["average", "dubois_prade"])  # Dempster's rule normalises even one source
def test_samples_follow_from_landmarks_to_where_they_would_stand(rule):
    partition = some_partition(3, n=40)
    known, new = partition[:30], partition[30:]
    landmarks = Landmarks(known=[known], masses=known.masses, focal_sets=known.focal_sets, rule=rule)
    np.testing.assert_allclose(landmarks.masses_of([new]), new.masses, atol=1e-7)


# What a user sees


def test_the_order_of_partitions_matters_only_for_numbers_and_dubois_and_prade():
    members = [[0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1, 2, 2], [0, 0, 0, 1, 1, 2, 2, 2]]
    for rule in ("average", "dempster"):
        one, other = (combine_partitions(some, rule=rule, random_state=0) for some in (members, members[::-1]))
        assert credal_rand_index(one, other) > 0.999


def test_a_majority_wins_and_the_minority_leaves_doubt():
    labels = np.repeat([0, 1], 10)
    odd = labels.copy()
    odd[9] = 1
    found = combine_partitions([labels, labels, odd], random_state=0)
    np.testing.assert_array_equal(found.to_hard(), labels)
    assert found.masses[:9, 1].min() > 0.99
    assert 0.5 < found.masses[9, 1] < 0.9


def test_partitions_with_different_numbers_of_clusters_can_be_combined():
    coarse, fine = np.repeat([0, 1], 20), np.repeat([0, 1, 2, 3], 10)
    found = combine_partitions([coarse, fine, fine], random_state=0)
    assert found.n_clusters == 4
    np.testing.assert_array_equal(found.to_hard(), fine)
    two = combine_partitions([coarse, fine], n_clusters=2, random_state=0)
    np.testing.assert_array_equal(two.to_hard(), coarse)
    # No member has three: the largest cluster is the first, and empty ones are the last.
    three = combine_partitions([coarse, coarse, fine], n_clusters=3, random_state=0).to_hard()
    assert (np.diff(np.bincount(three, minlength=3)) <= 0).all()


def test_labels_probabilities_noise_and_masses_go_together():
    labels, noisy = np.repeat([0, 1], 10), np.repeat([0, 1], 10)
    noisy[0] = -1
    shares = np.column_stack([labels == 0, labels == 1]) * 0.8 + 0.1
    found = combine_partitions([noisy, noisy, shares, CredalPartition.from_hard(labels)], random_state=0)
    assert found.masses[0, 0] > 0.3
    assert found.masses[1:, 0].max() < 0.05


def test_names_of_samples_are_kept():
    named = CredalPartition.from_hard([0, 0, 1, 1], sample_names=list("abcd"))
    assert combine_partitions([[0, 0, 1, 1], named], random_state=0).sample_names == tuple("abcd")


def test_the_family_follows_the_number_of_clusters():
    for c, size in ((3, 8), (6, 8), (13, 15)):
        labels = np.repeat(np.arange(c), 4)
        assert len(combine_partitions([labels], random_state=0).focal_sets) == size
    # Pairs of clusters where there is something to say about them.
    labels = np.repeat(np.arange(6), 4)
    in_pairs = CredalPartition.from_hard(labels).rename(), some_partition(0, n=24, c=6, sets=FocalSets.pairs(6))
    assert len(combine_partitions(in_pairs, max_iter=1, tol=1, random_state=0).focal_sets) == 1 + 6 + 15 + 1
    cautious = combine_partitions([labels, labels], rule="dubois_prade", random_state=0)
    assert len(cautious.focal_sets) == 1 + 6 + 15 + 1


@pytest.mark.parametrize("rule", RULES)
def test_landmarks_give_nearly_the_same_partition(rule):
    X, _ = make_blobs(400, 2, centers=3, cluster_std=2.5, random_state=0)
    members = [ECM(3, random_state=seed, alpha=alpha).fit(X).credal_partition_ for seed, alpha in ((0, 1), (1, 2))]
    every, some = (combine_partitions(members, rule=rule, n_landmarks=n, random_state=0) for n in (400, 150))
    assert credal_rand_index(every, some) > 0.97


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["average", "dempster"])
def test_memory_grows_with_the_samples_only(rule):
    labels = np.random.default_rng(0).integers(3, size=(2, 8000))
    peak = peak_bytes(lambda: combine_partitions(labels, rule=rule, n_landmarks=600, tol=1, random_state=0))
    assert peak < 60e6  # statements about all samples and landmarks would have 150 MB, those about all pairs 2 GB


@pytest.mark.parametrize(
    ("partitions", "options", "message"),
    [
        ([], {}, "partitions is empty"),
        ([[0, 1], [0, 1, 1]], {}, r"partitions have \[2, 3\] samples"),
        ([[0]], {}, "no pairs to combine"),
        ([np.zeros((2, 2, 2))], {}, r"partitions\[0\] must be a CredalPartition, labels .* got shape \(2, 2, 2\)"),
        ([[0, 1]], {"rule": "vote"}, "rule must be one of"),
        ([[0, 1]], {"n_clusters": 0}, "n_clusters"),
        ([[0, 1]], {"n_init": -1}, "n_init"),
        ([[0, 1]], {"n_landmarks": 1}, "n_landmarks"),
        ([[0, 1]], {"focal_sets": "all"}, "focal_sets"),
    ],
)
def test_wrong_input_is_named(partitions, options, message):
    with pytest.raises(ValueError, match=message):
        combine_partitions(partitions, **options)


@pytest.mark.parametrize("rule", ["average", "dempster", "dubois_prade"])
def test_partitions_whose_rows_sum_to_one_within_the_tolerance_can_be_combined(rule):
    masses = np.array([[0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0.5, 0, 0.5]]) * (1 + 9e-7)
    rounded = CredalPartition(masses, FocalSets.full(2))
    combined = combine_partitions([rounded, rounded], rule=rule, random_state=0)
    np.testing.assert_allclose(combined.masses.sum(axis=1), 1)
    np.testing.assert_array_equal(combined.to_hard(), [0, 0, 1, 0])


def near(seed, n_members=3, n=20, c=3):
    """Return partitions that agree about most samples."""
    random = np.random.default_rng(seed)
    sets = FocalSets.full(c)
    labels = np.r_[np.arange(c), random.integers(c, size=n - c)]
    first = 0.3 * random.dirichlet(np.full(len(sets), 0.3), size=n)
    first[np.arange(n), sets.singleton_positions[labels]] += 0.7
    others = [random.dirichlet(np.full(len(sets), 0.3), size=n) for _ in range(n_members - 1)]
    mixed = [np.where(random.random((n, 1)) < 0.8, first, other) for other in others]
    return [CredalPartition(masses, sets) for masses in (first, *mixed)]


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_samples_does_not_matter(rule, seed):
    members = near(seed)
    options = {"rule": rule, "tol": 1e-9, "max_iter": 2000, "random_state": 0}
    order = np.random.default_rng(seed).permutation(members[0].n_samples)
    found = combine_partitions(members, **options)
    shuffled = combine_partitions([one[order] for one in members], **options)
    # Different masses of a sample may fit the masses on pairs, which are what is combined, equally well.
    assert credal_rand_index(shuffled, found[order]) > 0.999


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_votes_are_counted_in_shares(seed):
    members = near(seed)
    once, often = (combine_partitions(some, random_state=0) for some in (members, members * 3))
    np.testing.assert_allclose(often.masses, once.masses, atol=1e-9)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "members",
    [
        [[0, 0, 0], [0, 0, 0]],
        [[0, 1], [0, 0]],
        [[-1, -1, 0], [0, 1, 1]],
        [CredalPartition([[0, 0, 0, 1]] * 4, FocalSets.full(2)), [0, 0, 1, 1]],
        [CredalPartition([[1, 0, 0, 0]] * 4, FocalSets.full(2)), [0, 0, 1, 1]],
        [CredalPartition([[1, 0, 0, 0]] * 4, FocalSets.full(2))],
    ],
    ids=["one cluster", "two samples", "noise", "vacuous", "outliers", "outliers alone"],
)
def test_extreme_partitions_give_mass_functions(rule, members):
    masses = combine_partitions(members, rule=rule, random_state=0).masses
    assert (masses >= 0).all()
    np.testing.assert_allclose(masses.sum(axis=1), 1)
