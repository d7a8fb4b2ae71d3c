"""Tests of the combination of partitions, and of its rules."""

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
from evlearn.ensemble import combine_partitions, recovery
from evlearn.ensemble.recovery import (
    Landmarks,
    combine_statements,
    make_pair_forms,
    make_targets,
    pair_statements,
    recover_masses,
)
from evlearn.metrics import credal_rand_index
from evlearn.metrics.pairwise import _jousselme_distance
from evlearn.partition import CredalPartition
from evlearn.partition.relational import PairMasses

RULES = list(recovery.RULES)


def make_partition(seed, n=12, c=3, sets=None):
    sets = sets or FocalSets.full(c)
    return CredalPartition(np.random.default_rng(seed).dirichlet(np.full(len(sets), 0.4), size=n), sets)


def all_pairs(n):
    return np.column_stack(np.triu_indices(n, k=1))


# Statements about pairs


def test_dubois_and_prade_leave_contradictions_open():
    agreement, disagreement = (
        PairMasses(*np.array(masses)[:, None]) for masses in ([0.0, 1, 0, 0], [0.0, 0, 1, 0])
    )
    np.testing.assert_allclose(
        np.ravel(combine_statements([agreement, disagreement], "dubois_prade")), [0, 0, 0, 1]
    )
    np.testing.assert_allclose(
        np.ravel(combine_statements([agreement, disagreement], "average")), [0, 0.5, 0.5, 0]
    )
    # Dempster's rule is undefined here and replaced by the mean.
    np.testing.assert_allclose(
        np.ravel(combine_statements([agreement, disagreement], "dempster")), [0, 0.5, 0.5, 0]
    )


@pytest.mark.parametrize("rule", ["average", "cautious"])
@given(seed=st.integers(0, 1000))
def test_repeated_statements_count_once_by_the_cautious_rule_and_the_average(rule, seed):
    (partition,) = [make_partition(seed, 6)]
    statement = partition.relational(all_pairs(6))
    combined = np.stack(combine_statements([statement, statement, statement], rule))
    expected = np.stack(statement)
    if rule == "cautious":
        expected = expected / (1 - expected[0])
        expected[0] = 0
    usable = np.stack(statement)[0] < 1 - 1e-6
    np.testing.assert_allclose(combined[:, usable], expected[:, usable], atol=1e-6)


@pytest.mark.parametrize("rule", ["conjunctive", "yager", "dubois_prade", "disjunctive", "cautious", "dempster"])
@given(seed=st.integers(0, 1000))
def test_rules_are_commutative_for_two_members(rule, seed):
    members = [
        partition.relational(all_pairs(6)) for partition in (make_partition(seed, 6), make_partition(seed + 1, 6))
    ]
    first, second = (np.stack(combine_statements(statements, rule)) for statements in (members, members[::-1]))
    np.testing.assert_allclose(first, second, atol=1e-9)


@given(seed=st.integers(0, 1000))
def test_rules_differ_in_their_treatment_of_conflict(seed):
    sets = FocalSets.full(3)
    masses = np.random.default_rng(seed).dirichlet(np.full(7, 0.4), size=(2, 6))
    masses = np.concatenate([np.zeros((2, 6, 1)), masses], axis=2)
    members = [CredalPartition(partition_masses, sets).relational(all_pairs(6)) for partition_masses in masses]
    results = {rule: np.stack(combine_statements(members, rule)) for rule in RULES}
    conflict = results["conjunctive"][0]
    remaining = results["conjunctive"][1:]
    np.testing.assert_allclose(results["yager"][1:], remaining + conflict * np.array([[0], [0], [1]]), atol=1e-12)
    # In a frame of 2 elements, their union is the frame.
    np.testing.assert_allclose(results["dubois_prade"], results["yager"], atol=1e-12)
    usable = conflict < 1 - 1e-6
    normal = remaining[:, usable] / (1 - conflict[usable])
    np.testing.assert_allclose(results["dempster"][1:, usable], normal, atol=1e-9)
    for rule in ("yager", "dubois_prade", "disjunctive", "dempster", "cautious"):
        np.testing.assert_allclose(results[rule][0], 0, atol=1e-12)
    # The disjunctive rule gives at most the masses of each source.
    for member in members:
        assert (results["disjunctive"][1] <= member.same_cluster + 1e-9).all()
        assert (results["disjunctive"][2] <= member.different + 1e-9).all()


def test_dempster_accumulates_independent_evidence():
    hint = PairMasses(*np.array([0.0, 0.6, 0, 0.4])[:, None])
    assert combine_statements([hint, hint], "dempster").same_cluster[0] == pytest.approx(1 - 0.4**2)
    assert combine_statements([hint, hint], "average").same_cluster[0] == pytest.approx(0.6)


@pytest.mark.parametrize("rule", RULES)
@given(st.integers(0, 10_000))
def test_combined_statements_are_mass_functions(rule, seed):
    members = [make_partition(seed + number, n=6) for number in range(3)]
    combined = np.stack(combine_statements([member.relational(all_pairs(6)) for member in members], rule))
    assert (combined >= -1e-12).all()
    np.testing.assert_allclose(combined.sum(axis=0), 1)


@given(st.integers(0, 10_000))
def test_the_objective_is_the_mean_squared_distance_of_jousselme(seed):
    partition, target = make_partition(seed, n=7), make_partition(seed + 1, n=7)
    pairs, forms = all_pairs(7), make_pair_forms(partition.focal_sets)
    values = np.einsum("ia,kab,ib->ki", partition.masses[pairs[:, 0]], forms, partition.masses[pairs[:, 1]])
    misfit = 0.5 * np.square(values - make_targets(target.relational(pairs))).sum(axis=0)
    np.testing.assert_allclose(
        misfit, _jousselme_distance(partition.relational(pairs), target.relational(pairs)) ** 2, atol=1e-12
    )


# Recovery


@pytest.mark.parametrize("rule", RULES)
def test_the_objective_of_a_recovery_is_that_distance_to_what_was_stated(rule):
    members, pairs = [make_partition(seed, n=9) for seed in range(3)], all_pairs(9)
    start = random_masses(9, 8, np.random.RandomState(0))
    trace = recover_masses(pair_statements(members, rule), FocalSets.full(3), start, tol=0, max_iter=3)
    result = CredalPartition(trace.state.masses, FocalSets.full(3)).relational(pairs)
    expected = combine_statements([member.relational(pairs) for member in members], rule)
    assert trace.objective == pytest.approx((_jousselme_distance(result, expected) ** 2).mean(), rel=1e-9)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_sweeps_never_raise_the_objective(seed):
    members = [make_partition(seed, n=10), make_partition(seed + 1, n=10, c=2)]
    start = random_masses(10, 8, np.random.RandomState(seed))
    history = recover_masses(
        pair_statements(members, "average"), FocalSets.full(3), start, tol=0, max_iter=30
    ).history
    assert (np.diff(history) <= 1e-12).all()


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_averages_of_all_pairs_need_no_list_of_pairs(seed):
    members = [
        make_partition(seed, n=15),
        CredalPartition.from_hard(np.random.default_rng(seed).integers(-1, 4, size=15), noise_label=-1),
        make_partition(seed + 1, n=15, c=2),
    ]
    targets = make_targets(combine_statements([member.relational(all_pairs(15)) for member in members], "average"))
    start = random_masses(15, 8, np.random.RandomState(seed))
    reference, products = (
        recover_masses(pairs, FocalSets.full(3), start, tol=0, max_iter=4)
        for pairs in (pairs_with_targets(all_pairs(15), targets, 15), pair_statements(members, "average"))
    )
    np.testing.assert_allclose(products.history, reference.history, rtol=1e-9)
    np.testing.assert_allclose(products.state.masses, reference.state.masses, atol=1e-7)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
@pytest.mark.slow
def test_a_single_partition_is_recovered(seed):
    partition = make_partition(seed)
    combined = combine_partitions([partition], random_state=0)
    np.testing.assert_allclose(combined.masses, partition.masses, atol=1e-6)


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=10)
@given(st.integers(0, 10_000), st.integers(2, 5))
def test_identical_hard_partitions_with_different_numbers_are_recovered(rule, seed, c):
    random = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(c), random.integers(c, size=20)])
    renumbered = random.permutation(c)[labels]
    combined = combine_partitions([labels, renumbered, labels], rule=rule, random_state=0)
    np.testing.assert_array_equal(combined.to_hard(), labels)
    np.testing.assert_allclose(combined.masses.max(axis=1), 1, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_renumbering_the_inputs_changes_nothing_but_numbers(rule):
    X, _ = make_blobs(60, 2, centers=3, cluster_std=2.5, random_state=0)
    members = [
        ECM(3, random_state=seed, focal_sets=kind).fit(X).credal_partition_
        for seed, kind in enumerate(["full", "pairs", "simple"])
    ]
    original = combine_partitions(members, rule=rule, n_init=0, tol=1e-12, max_iter=5000)
    orders = [[1, 2, 0], [2, 1, 0], [0, 2, 1]]
    renumbered = [member.permute_clusters(order) for member, order in zip(members, orders, strict=True)]
    combined = combine_partitions(renumbered, rule=rule, n_init=0, tol=1e-12, max_iter=5000)
    assert credal_rand_index(original, combined) == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(original.permute_clusters(orders[0]).masses, combined.masses, atol=1e-4)


@pytest.mark.parametrize("rule", ["average", "dubois_prade"])  # Dempster's rule normalizes also a single source
def test_masses_of_samples_follow_from_landmarks(rule):
    partition = make_partition(3, n=40)
    training, others = partition[:30], partition[30:]
    landmarks = Landmarks(partitions=[training], masses=training.masses, focal_sets=training.focal_sets, rule=rule)
    np.testing.assert_allclose(landmarks.masses_of([others]), others.masses, atol=1e-7)


# Results


def test_the_order_of_partitions_matters_only_for_numbers_and_dubois_and_prade():
    members = [[0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1, 2, 2], [0, 0, 0, 1, 1, 2, 2, 2]]
    for rule in ("average", "dempster"):
        first, second = (
            combine_partitions(partitions, rule=rule, random_state=0) for partitions in (members, members[::-1])
        )
        assert credal_rand_index(first, second) > 0.999


def test_a_majority_wins_and_the_minority_leaves_doubt():
    labels = np.repeat([0, 1], 10)
    odd = labels.copy()
    odd[9] = 1
    combined = combine_partitions([labels, labels, odd], random_state=0)
    np.testing.assert_array_equal(combined.to_hard(), labels)
    assert combined.masses[:9, 1].min() > 0.99
    assert 0.5 < combined.masses[9, 1] < 0.9


def test_partitions_with_different_numbers_of_clusters_can_be_combined():
    coarse, fine = np.repeat([0, 1], 20), np.repeat([0, 1, 2, 3], 10)
    combined = combine_partitions([coarse, fine, fine], random_state=0)
    assert combined.n_clusters == 4
    np.testing.assert_array_equal(combined.to_hard(), fine)
    two = combine_partitions([coarse, fine], n_clusters=2, random_state=0)
    np.testing.assert_array_equal(two.to_hard(), coarse)
    # No member has 3 clusters: clusters are sorted by decreasing size, with empty ones last.
    three = combine_partitions([coarse, coarse, fine], n_clusters=3, random_state=0).to_hard()
    assert (np.diff(np.bincount(three, minlength=3)) <= 0).all()


def test_labels_probabilities_noise_and_masses_can_be_combined():
    labels, noisy = np.repeat([0, 1], 10), np.repeat([0, 1], 10)
    noisy[0] = -1
    shares = np.column_stack([labels == 0, labels == 1]) * 0.8 + 0.1
    combined = combine_partitions([noisy, noisy, shares, CredalPartition.from_hard(labels)], random_state=0)
    assert combined.masses[0, 0] > 0.3
    assert combined.masses[1:, 0].max() < 0.05


def test_names_of_samples_are_kept():
    partition = CredalPartition.from_hard([0, 0, 1, 1], sample_names=list("abcd"))
    assert combine_partitions([[0, 0, 1, 1], partition], random_state=0).sample_names == tuple("abcd")


def test_the_family_follows_the_number_of_clusters():
    for c, size in ((3, 8), (6, 8), (13, 15)):
        labels = np.repeat(np.arange(c), 4)
        assert len(combine_partitions([labels], random_state=0).focal_sets) == size
    # Pairs of clusters are used if they may carry mass.
    labels = np.repeat(np.arange(6), 4)
    in_pairs = CredalPartition.from_hard(labels).rename(), make_partition(0, n=24, c=6, sets=FocalSets.pairs(6))
    assert len(combine_partitions(in_pairs, max_iter=1, tol=1, random_state=0).focal_sets) == 1 + 6 + 15 + 1
    cautious = combine_partitions([labels, labels], rule="dubois_prade", random_state=0)
    assert len(cautious.focal_sets) == 1 + 6 + 15 + 1


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.slow
def test_landmarks_give_nearly_the_same_partition(rule):
    X, _ = make_blobs(400, 2, centers=3, cluster_std=2.5, random_state=0)
    members = [ECM(3, random_state=seed, alpha=alpha).fit(X).credal_partition_ for seed, alpha in ((0, 1), (1, 2))]
    exact, approximate = (
        combine_partitions(members, rule=rule, n_landmarks=n, random_state=0) for n in (400, 150)
    )
    assert credal_rand_index(exact, approximate) > 0.97


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["average", "dempster"])
def test_memory_grows_with_the_samples_only(rule):
    labels = np.random.default_rng(0).integers(3, size=(2, 8000))
    peak = peak_bytes(lambda: combine_partitions(labels, rule=rule, n_landmarks=600, tol=1, random_state=0))
    assert peak < 60e6  # statements about samples and landmarks have 150 MB, those about all pairs 2 GB


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
def test_invalid_input_is_an_error(partitions, options, message):
    with pytest.raises(ValueError, match=message):
        combine_partitions(partitions, **options)


@pytest.mark.parametrize("rule", ["average", "dempster", "dubois_prade"])
def test_partitions_whose_rows_sum_to_one_within_the_tolerance_can_be_combined(rule):
    masses = np.array([[0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0.5, 0, 0.5]]) * (1 + 9e-7)
    rounded = CredalPartition(masses, FocalSets.full(2))
    combined = combine_partitions([rounded, rounded], rule=rule, random_state=0)
    np.testing.assert_allclose(combined.masses.sum(axis=1), 1)
    np.testing.assert_array_equal(combined.to_hard(), [0, 0, 1, 0])


def make_similar_partitions(seed, n_estimators=3, n=20, c=3):
    """Return partitions that agree about most samples."""
    random = np.random.default_rng(seed)
    sets = FocalSets.full(c)
    labels = np.r_[np.arange(c), random.integers(c, size=n - c)]
    first = 0.3 * random.dirichlet(np.full(len(sets), 0.3), size=n)
    first[np.arange(n), sets.singleton_positions[labels]] += 0.7
    others = [random.dirichlet(np.full(len(sets), 0.3), size=n) for _ in range(n_estimators - 1)]
    mixed = [np.where(random.random((n, 1)) < 0.8, first, other) for other in others]
    return [CredalPartition(masses, sets) for masses in (first, *mixed)]


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10_000))
@pytest.mark.slow_cells("average")
def test_the_order_of_samples_does_not_matter(rule, seed):
    members = make_similar_partitions(seed)
    options = {"rule": rule, "tol": 1e-9, "max_iter": 20_000, "random_state": 0}
    order = np.random.default_rng(seed).permutation(members[0].n_samples)
    combined = combine_partitions(members, **options)
    shuffled = combine_partitions([member[order] for member in members], **options)
    # Different masses of a sample may fit the combined masses on pairs equally well.
    assert credal_rand_index(shuffled, combined[order]) > 0.999


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
@pytest.mark.slow
def test_repetition_of_all_partitions_changes_nothing(seed):
    members = make_similar_partitions(seed)
    single, repeated = (combine_partitions(partitions, random_state=0) for partitions in (members, members * 3))
    np.testing.assert_allclose(repeated.masses, single.masses, atol=1e-9)


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
    ids=["one cluster", "two samples", "noise", "vacuous", "outliers", "only outliers"],
)
def test_extreme_partitions_give_mass_functions(rule, members):
    masses = combine_partitions(members, rule=rule, random_state=0).masses
    assert (masses >= 0).all()
    np.testing.assert_allclose(masses.sum(axis=1), 1)
