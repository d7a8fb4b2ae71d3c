from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import rand_score

from evlearn import CredalPartition
from evlearn import belief as bf
from evlearn.belief import FocalSets
from evlearn.metrics import consistency_index, credal_rand_index, nonspecificity_index
from evlearn.metrics.pairwise import estimate_credal_rand_index
from strategies import labels, partitions

N = 7
PAIRWISE = FocalSets.full(["s", "not s"])
DISTANCES = {name: partial(bf.mass_distance, metric=name) for name in ("jousselme", "belief")}


def pair_masses(partition):
    """Return mass functions on {s, not s} for all pairs i < j."""
    pairs = np.column_stack(np.triu_indices(partition.n_samples, k=1))
    return np.column_stack(partition.relational(pairs))


@given(partitions(N), partitions(N))
@pytest.mark.slow
def test_consistency_in_linear_time_equals_the_conflict_of_all_pairs(first, second):
    conflict = bf.combine([pair_masses(first), pair_masses(second)], PAIRWISE, rule="conjunctive")[:, 0]
    assert consistency_index(first, second) == pytest.approx(1 - conflict.mean(), abs=1e-12)


@given(partitions(N), labels(N))
def test_consistency_with_labels_equals_that_with_a_hard_partition(partition, y):
    hard = CredalPartition.from_hard(y)
    conflict = bf.combine([pair_masses(partition), pair_masses(hard)], PAIRWISE, rule="conjunctive")[:, 0]
    for index in (
        consistency_index(partition, y),
        consistency_index(y, partition),
        consistency_index(partition, hard),
    ):
        assert index == pytest.approx(1 - conflict.mean(), abs=1e-12)


@given(partitions(N))
def test_nonspecificity_in_linear_time_equals_the_average_over_pairs(partition):
    masses = pair_masses(partition)
    assert nonspecificity_index(partition) == pytest.approx((masses[:, 0] + masses[:, 3]).mean(), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("distance", DISTANCES)
@given(first=partitions(N), second=partitions(N))
def test_credal_rand_index_equals_the_average_distance_of_pairs(distance, first, second):
    distances = DISTANCES[distance](pair_masses(first), pair_masses(second), PAIRWISE)
    assert credal_rand_index(first, second, distance=distance) == pytest.approx(1 - distances.mean(), abs=1e-9)


@given(labels(N), labels(N))
@pytest.mark.slow
def test_hard_partitions_reduce_to_the_rand_index(y, z):
    rand = rand_score(y, z)
    assert credal_rand_index(y, z) == pytest.approx(rand, abs=1e-12)
    assert credal_rand_index(y, z, distance="belief") == pytest.approx(rand, abs=1e-12)
    assert consistency_index(y, z) == pytest.approx(rand, abs=1e-12)
    assert consistency_index(CredalPartition.from_hard(y), CredalPartition.from_hard(z)) == pytest.approx(rand)
    assert nonspecificity_index(y) == 0


@pytest.mark.parametrize("distance", DISTANCES)
@given(first=partitions(5), second=partitions(5), third=partitions(5))
@pytest.mark.slow
def test_one_minus_the_credal_rand_index_is_a_metric(distance, first, second, third):
    def dissimilarity(a, b):
        return 1 - credal_rand_index(a, b, distance=distance)

    assert dissimilarity(first, first) == pytest.approx(0, abs=1e-12)
    assert dissimilarity(first, second) == pytest.approx(dissimilarity(second, first), abs=1e-12)
    assert -1e-12 <= dissimilarity(first, second) <= 1 + 1e-12
    assert dissimilarity(first, third) <= dissimilarity(first, second) + dissimilarity(second, third) + 1e-9


@given(partitions(N), partitions(N), st.data())
@pytest.mark.slow
def test_indices_do_not_depend_on_the_numbering_of_clusters_or_the_order_of_samples(first, second, data):
    renumbered = second.permute_clusters(data.draw(st.permutations(range(second.n_clusters))))
    samples = np.array(data.draw(st.permutations(range(N))))
    for index in (credal_rand_index, consistency_index):
        assert index(first, renumbered) == pytest.approx(index(first, second), abs=1e-9)
        assert index(first[samples], second[samples]) == pytest.approx(index(first, second), abs=1e-9)
    assert nonspecificity_index(renumbered) == pytest.approx(nonspecificity_index(second), abs=1e-12)


@given(labels(N))
def test_a_vacuous_partition_is_consistent_with_all_others_and_fully_nonspecific(y):
    vacuous = CredalPartition(np.eye(5)[[4] * N], FocalSets.simple(3))
    assert consistency_index(vacuous, y) == pytest.approx(1, abs=1e-12)
    assert nonspecificity_index(vacuous) == pytest.approx(1, abs=1e-12)


def test_indices_of_the_butterfly_agree_with_r(reference):
    case = reference("pairwise_butterfly")
    credal = CredalPartition(case.arrays["mass"], FocalSets.from_membership(case.arrays["F"]))
    y = case.arrays["hard_1b"]
    expected = case.scalars
    close = {"rel": 0, "abs": 1e-12}
    assert nonspecificity_index(credal) == pytest.approx(expected["nonspecificity_1"], **close)
    assert nonspecificity_index(y) == pytest.approx(expected["nonspecificity_2"], **close)
    assert consistency_index(credal, y) == pytest.approx(expected["RI_c"], **close)
    assert consistency_index(credal, credal) == pytest.approx(expected["RI_c_self"], **close)
    assert credal_rand_index(credal, y) == pytest.approx(expected["RI_j"], **close)
    assert credal_rand_index(credal, y, distance="belief") == pytest.approx(expected["RI_b"], **close)


def test_indices_of_iris_agree_with_r(reference):
    case = reference("credal_RI_iris")
    arrays, expected = case.arrays, case.scalars
    evclus, ecm = (CredalPartition(*bf.reorder_masses(arrays[f"mass{k}"], arrays[f"F{k}_int"], 3)) for k in (1, 3))
    partitions_by_name = {"1": evclus, "2": arrays["y_1b"], "3": ecm}
    close = {"rel": 0, "abs": 1e-12}
    for name, partition in partitions_by_name.items():
        assert nonspecificity_index(partition) == pytest.approx(expected[f"NS{name}"], **close)
    for first, second in ("12", "13", "23"):
        pair = partitions_by_name[first], partitions_by_name[second]
        assert consistency_index(*pair) == pytest.approx(expected[f"RI_c_{first}{second}"], **close)
        assert credal_rand_index(*pair) == pytest.approx(expected[f"RI_j_{first}{second}"], **close)
        by_belief = credal_rand_index(*pair, distance="belief")
        assert by_belief == pytest.approx(expected[f"RI_b_{first}{second}"], **close)


@pytest.fixture(scope="module")
def two_partitions():
    random = np.random.default_rng(3)
    return [CredalPartition(random.dirichlet(np.full(8, 0.3), size=1200), FocalSets.full(3)) for _ in range(2)]


@pytest.mark.slow
def test_more_than_one_tile_and_block_give_the_same_sums(two_partitions):
    first, second = two_partitions
    pairs = [np.column_stack(p.relational(np.column_stack(np.triu_indices(1200, k=1)))) for p in two_partitions]
    distances = bf.mass_distance(*pairs, PAIRWISE, metric="jousselme")
    assert credal_rand_index(first, second) == pytest.approx(1 - distances.mean(), abs=1e-10)
    conflict = bf.combine(pairs, PAIRWISE, rule="conjunctive")[:, 0]
    assert consistency_index(first, second) == pytest.approx(1 - conflict.mean(), abs=1e-10)


@pytest.mark.parametrize("distance", DISTANCES)
def test_sampled_index_is_within_its_standard_error_and_can_be_repeated(two_partitions, distance):
    exact = credal_rand_index(*two_partitions, distance=distance)
    estimate = estimate_credal_rand_index(*two_partitions, n_pairs=40_000, distance=distance, random_state=0)
    assert 0 < estimate.standard_error < 0.002
    assert abs(estimate.value - exact) < 4 * estimate.standard_error
    repetition = estimate_credal_rand_index(*two_partitions, n_pairs=40_000, distance=distance, random_state=0)
    assert estimate == repetition
    assert credal_rand_index(*two_partitions, n_pairs=40_000, distance=distance, random_state=0) == estimate.value


def test_confidence_intervals_cover_the_exact_value_at_their_level(two_partitions):
    first, second = (p[:200] for p in two_partitions)
    exact = credal_rand_index(first, second)
    draws = [estimate_credal_rand_index(first, second, n_pairs=500, random_state=seed) for seed in range(200)]
    covered = np.mean([abs(draw.value - exact) < 1.96 * draw.standard_error for draw in draws])
    assert 0.9 <= covered <= 0.99


def test_single_precision_masses_give_the_same_indices(two_partitions):
    singles = [CredalPartition(p.masses.astype(np.float32), p.focal_sets) for p in two_partitions]
    for index in (credal_rand_index, consistency_index):
        assert index(*singles) == pytest.approx(index(*two_partitions), abs=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: consistency_index([0, 1, 1], [0, 1]), "there are 3 and 2 samples; both partitions must have"),
        (lambda: credal_rand_index([0], [0]), "no pairs to compare"),
        (lambda: nonspecificity_index([0]), "no pairs to compare"),
        (
            lambda: credal_rand_index([0, 1], np.eye(2)),
            "second must be a CredalPartition or one label.*from_fuzzy",
        ),
        (lambda: credal_rand_index([0, 1], [0, 1], distance="euclid"), "distance must be one of"),
        (
            lambda: credal_rand_index([0, 1], [0, 1], n_pairs=1),
            "n_pairs must be a whole number of at least 2, got 1",
        ),
    ],
)
def test_errors_name_invalid_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_no_sample_is_paired_with_itself():
    # 2 samples have a single pair: in different clusters of one partition, in the same cluster of the other.
    for distance in DISTANCES:
        estimate = estimate_credal_rand_index([0, 1], [0, 0], n_pairs=50, distance=distance, random_state=0)
        assert estimate == (credal_rand_index([0, 1], [0, 0], distance=distance), 0)


def test_the_estimate_for_few_samples_is_not_biased():
    first, second = [0, 1, 2], [0, 0, 0]  # every pair has the maximum distance
    assert credal_rand_index(first, second, n_pairs=1000, random_state=0) == pytest.approx(0)


@pytest.mark.parametrize(
    "missing", [[0, 0, float("nan"), 1], ["a", "a", float("nan"), "b"], ["a", "a", None, "b"]]
)
def test_labels_with_missing_values_are_rejected_in_both_arguments(missing):
    partition = CredalPartition.from_hard([0, 0, 1, 1])
    for pair in ((partition, missing), (missing, partition), (missing, [0, 0, 1, 1])):
        for index in (consistency_index, credal_rand_index):
            with pytest.raises(ValueError, match=r"(first|second) has missing values"):
                index(*pair)
