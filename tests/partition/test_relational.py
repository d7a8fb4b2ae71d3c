import numpy as np
import pytest
from hypothesis import given

from evlearn import CredalPartition
from evlearn.belief import FocalSets, MassFunction
from evlearn.partition.relational import PairMasses
from strategies import labels, partitions

NAMES = {"empty": "", "same_cluster": "s", "different": "not_s", "unknown": "theta"}


@given(partitions(5))
@pytest.mark.slow
def test_pair_masses_follow_their_definition(partition):
    pairs = partition.relational()
    sets = [set(members) for members in partition.focal_sets]
    for i, first in enumerate(partition.masses):
        for j, second in enumerate(partition.masses):
            expected = dict.fromkeys(NAMES, 0.0)
            for a, ma in zip(sets, first, strict=True):
                for b, mb in zip(sets, second, strict=True):
                    if not a or not b:
                        kind = "empty"
                    elif a == b and len(a) == 1:
                        kind = "same_cluster"
                    else:
                        kind = "unknown" if a & b else "different"
                    expected[kind] += ma * mb
            for kind, value in expected.items():
                assert getattr(pairs, kind)[i, j] == pytest.approx(value, abs=1e-12)


@given(partitions(6))
def test_the_four_masses_are_nonnegative_sum_to_one_and_are_symmetric(partition):
    pairs = partition.relational()
    np.testing.assert_allclose(sum(pairs), 1, rtol=0, atol=1e-12)
    for part in pairs:
        assert (part >= 0).all()
        np.testing.assert_allclose(part, part.T, rtol=0, atol=1e-13)
    conflict = partition.masses @ partition.focal_sets.conflict_matrix @ partition.masses.T
    np.testing.assert_allclose(pairs.plausibility_same, 1 - conflict, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        pairs.plausibility_different, 1 - pairs.empty - pairs.same_cluster, rtol=0, atol=1e-12
    )


@given(labels(7))
def test_a_hard_partition_gives_the_matrix_of_common_membership(y):
    pairs = CredalPartition.from_hard(y).relational()
    np.testing.assert_array_equal(pairs.same_cluster, y[:, None] == y)
    np.testing.assert_array_equal(pairs.different, y[:, None] != y)
    assert not pairs.unknown.any()
    assert not pairs.empty.any()


@given(partitions(7))
def test_blocks_and_given_pairs_agree_with_the_square_matrices(partition):
    square = partition.relational()
    for rows, block in partition.relational_blocks(block_rows=3):
        for part, whole in zip(block, square, strict=True):
            np.testing.assert_allclose(part, whole[rows], rtol=0, atol=1e-13)
    pairs = np.array([(0, 1), (6, 2), (3, 3)])
    for part, whole in zip(partition.relational(pairs), square, strict=True):
        np.testing.assert_allclose(part, whole[pairs[:, 0], pairs[:, 1]], rtol=0, atol=1e-13)
    assert [part.shape for part in partition.relational(np.empty((0, 2), dtype=int))] == [(0,)] * 4
    assert len(list(partition.relational_blocks())) == 1


def partition_of(example, names):
    focal_sets = FocalSets.full(example["frame"])
    masses = [MassFunction(example["frame"], values).to_array(focal_sets) for values in names]
    return CredalPartition(masses, focal_sets)


def test_relational_example_of_the_slides(seed_examples):
    example = seed_examples["slides_relational"]
    partition = partition_of(example, [example["masses"][key] for key in ("m1", "m2", "m3")])
    for name, expected in example["pairs"].items():
        pair_masses = partition.relational([(int(name[0]) - 1, int(name[1]) - 1)])
        for kind, key in NAMES.items():
            assert getattr(pair_masses, kind)[0] == pytest.approx(expected[key], abs=1e-14)


def test_relational_example_of_bootclus(seed_examples):
    example = seed_examples["bootclus_example2_relational"]
    pair_masses = partition_of(example, [example["m4"], example["m5"]]).relational([(0, 1)])
    assert pair_masses.same_cluster[0] == pytest.approx(example["bel_s"], abs=1e-3)
    assert pair_masses.different[0] == pytest.approx(example["m45"]["not_s"], abs=1e-3)
    assert pair_masses.unknown[0] == pytest.approx(example["m45"]["theta"], abs=1e-3)
    assert pair_masses.plausibility_same[0] == pytest.approx(example["pl_s"], abs=1e-3)


def test_plausibility_of_the_same_cluster_in_nnevclus_example_1(seed_examples):
    example = seed_examples["nnevclus_example1_conflict"]
    partition = partition_of(example, [example["masses"][key] for key in ("m1", "m2", "m3")])
    pair_masses = partition.relational([(0, 1), (0, 2)]).plausibility_same
    np.testing.assert_allclose(pair_masses, [example["pl_same_12"], example["pl_same_13"]], atol=1e-14)


def test_pairs_of_the_butterfly_agree_with_r(reference):
    arrays = reference("pairwise_butterfly").arrays
    # R's masses are on the empty set, {1}, {2}, {1,2}, and its pairs go down the columns of the lower triangle.
    columns, rows = np.triu_indices(12, k=1)
    pairs = np.column_stack([rows, columns])
    credal = CredalPartition(arrays["mass"], FocalSets.from_membership(arrays["F"]))
    hard = CredalPartition.from_hard(arrays["hard_1b"])
    for partition, suffix in ((credal, ""), (hard, "2")):
        pair_masses = partition.relational(pairs)
        assert isinstance(pair_masses, PairMasses)
        for kind, key in (("empty", "Me"), ("same_cluster", "M1"), ("different", "M0")):
            np.testing.assert_allclose(getattr(pair_masses, kind), arrays[key + suffix], rtol=0, atol=1e-12)
