"""Comparison of several partitions: table, similarities and map."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from evlearn.metrics import compare_partitions, consistency_index, credal_rand_index, nonspecificity_index
from evlearn.partition import CredalPartition, align_clusters
from evlearn.partition.estimators import as_credal


@pytest.fixture(scope="module")
def irises():
    X, y = load_iris(return_X_y=True)
    k_means = KMeans(3, n_init=5, random_state=0).fit(X).labels_
    mixture = GaussianMixture(3, random_state=0).fit(X)
    torn = CredalPartition.from_rough(mixture.predict_proba(X) > 0.1)
    return {"k-means": k_means, "mixture": mixture.predict_proba(X), "rough": torn}, y


def test_the_table_has_the_indices_of_each_partition(irises):
    partitions, y = irises
    comparison = compare_partitions(partitions, y)
    for number, partition in enumerate(as_credal(value) for value in partitions.values()):
        assert comparison.consistency[number] == pytest.approx(consistency_index(partition, y))
        assert comparison.nonspecificity[number] == pytest.approx(nonspecificity_index(partition))
        assert comparison.adjusted_rand[number] == pytest.approx(adjusted_rand_score(y, partition.to_hard()))
        for column, other in enumerate(partitions.values()):
            expected = credal_rand_index(partition, as_credal(other))
            assert comparison.similarity[number, column] == pytest.approx(expected)
    assert comparison.n_clusters == (3, 3, 3)
    assert list(pd.DataFrame(comparison.to_columns())["partition"]) == ["k-means", "mixture", "rough"]
    assert str(comparison).splitlines()[0].split() == [
        "partition", "clusters", "ARI", "consistency", "nonspecificity", "dominated"
    ]  # fmt: skip


def test_without_a_reference_there_is_no_order(irises):
    comparison = compare_partitions(irises[0])
    assert comparison.consistency is None
    assert list(comparison.to_columns()) == ["partition", "clusters", "nonspecificity"]
    with pytest.raises(ValueError, match="pass reference to compare_partitions"):
        comparison.dominated()


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_the_map_shows_points_of_a_plane_as_they_are(seed, n):
    places = np.random.default_rng(seed).uniform(-0.2, 0.2, size=(n, 2))
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    comparison = compare_partitions({str(number): [0, 1] for number in range(n)})
    object.__setattr__(comparison, "similarity", 1 - distances)
    coordinates = comparison.map()
    np.testing.assert_allclose(np.linalg.norm(coordinates[:, None] - coordinates, axis=2), distances, atol=1e-7)


def test_sampled_similarities_are_near_the_exact_ones(irises):
    exact = compare_partitions(irises[0]).similarity
    sampled = compare_partitions(irises[0], n_pairs=50_000, random_state=0).similarity
    np.testing.assert_allclose(sampled, exact, atol=0.01)


def test_pairs_of_many_samples_are_drawn_at_random():
    labels = np.random.default_rng(0).integers(3, size=(2, 30_000))
    comparison = compare_partitions({"first": labels[0], "second": labels[1]}, random_state=0)
    assert comparison.similarity[0, 1] == pytest.approx(1 / 9 + 4 / 9, abs=0.01)


def test_seeds_of_wheat_on_one_map_and_combined(reference_file):
    # Example of the slides of 2017: hard, fuzzy and rough partitions are close to the credal ones they derive
    # from.
    from evlearn.cluster import ECM, EVCLUS
    from evlearn.ensemble import combine_partitions

    table = pd.read_csv(reference_file("data/seeds.csv"))
    X, y = table.iloc[:, :7].to_numpy(), table.iloc[:, -1].to_numpy()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ecm = ECM(3, focal_sets="pairs", random_state=0).fit(X).credal_partition_
    evclus = EVCLUS(3, focal_sets="full", random_state=0).fit(X).credal_partition_
    partitions = {
        "k-means": KMeans(3, n_init=5, random_state=0).fit(X).labels_,
        "ECM": ecm,
        "ECM, hard": ecm.to_hard(),
        "ECM, fuzzy": ecm.to_fuzzy(),
        "EVCLUS": evclus,
        "EVCLUS, hard": evclus.to_hard(),
    }
    comparison = compare_partitions(partitions, y)
    places = dict(zip(comparison.names, comparison.map(), strict=True))
    distance_of_hard, distance_of_credal = (
        np.linalg.norm(places["k-means"] - places[name]) for name in ("ECM, hard", "ECM")
    )
    assert distance_of_hard < distance_of_credal
    assert comparison.adjusted_rand.min() > 0.7
    # The rule of Dubois and Prade assigns conflicts between hard partitions to unions of clusters.
    combined = combine_partitions(
        [partitions["k-means"], ecm.to_hard(), evclus.to_hard()], rule="dubois_prade", random_state=0
    )
    assert consistency_index(combined, y) >= max(comparison.consistency[[0, 2, 5]]) - 1e-9
    assert nonspecificity_index(combined) > 0


@pytest.mark.parametrize(
    ("partitions", "reference", "message"),
    [
        ({}, None, "partitions must be a dictionary of partitions by name"),
        ([[0, 1]], None, "got list"),
        (
            {"a": [0, 1], "b": [0, 1, 1]},
            None,
            r"all partitions must have the same samples, got numbers of samples \{'a': 2, 'b': 3\}",
        ),
        ({"a": [0, 1]}, [0, 1, 1], r"'reference': 3"),
        ({"a": np.zeros((1, 1, 1))}, None, r"partitions\['a'\] must be"),
    ],
)
def test_errors_name_invalid_input(partitions, reference, message):
    with pytest.raises(ValueError, match=message):
        compare_partitions(partitions, reference)


# Conversion and alignment


def test_minus_one_is_noise_beside_zero_and_a_class_otherwise():
    assert as_credal([0, 1, -1]).outliers().tolist() == [False, False, True]
    assert as_credal([-1, 1, 1]).n_clusters == 2
    assert as_credal(["a", "b"]).n_clusters == 2


@given(st.integers(0, 10_000), st.integers(1, 5))
def test_alignment_restores_the_numbers_of_renumbered_clusters(seed, c):
    random = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(c), random.integers(c, size=10)])
    reference = CredalPartition.from_hard(labels)
    renumbered = reference.permute_clusters(random.permutation(c))
    np.testing.assert_array_equal(align_clusters(renumbered, reference).to_hard(), labels)


def test_clusters_without_a_counterpart_come_last():
    fine, coarse = (
        CredalPartition.from_hard([2, 2, 0, 0, 1, 1, 1]),
        CredalPartition.from_hard([0, 0, 0, 0, 1, 1, 1]),
    )
    np.testing.assert_array_equal(align_clusters(coarse, fine).to_hard(), [0, 0, 0, 0, 1, 1, 1])
    aligned = align_clusters(fine, coarse).to_hard()
    assert aligned[4:].tolist() == [1, 1, 1]
    assert set(aligned[:4]) == {0, 2}
    with pytest.raises(ValueError, match="there are 2 and 7 samples"):
        align_clusters(CredalPartition.from_hard([0, 1]), fine)
