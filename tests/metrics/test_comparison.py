"""Comparing many partitions: the table, the similarities and the map."""

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
from evlearn.partition import CredalPartition, align_clusters, as_credal


@pytest.fixture(scope="module")
def irises():
    X, y = load_iris(return_X_y=True)
    k_means = KMeans(3, n_init=5, random_state=0).fit(X).labels_
    mixture = GaussianMixture(3, random_state=0).fit(X)
    torn = CredalPartition.from_rough(mixture.predict_proba(X) > 0.1)
    return {"k-means": k_means, "mixture": mixture.predict_proba(X), "rough": torn}, y


def test_the_table_has_the_indices_of_each_partition(irises):
    partitions, y = irises
    found = compare_partitions(partitions, y)
    for number, one in enumerate(as_credal(partition) for partition in partitions.values()):
        assert found.consistency[number] == pytest.approx(consistency_index(one, y))
        assert found.nonspecificity[number] == pytest.approx(nonspecificity_index(one))
        assert found.adjusted_rand[number] == pytest.approx(adjusted_rand_score(y, one.to_hard()))
        for other, partition in enumerate(partitions.values()):
            expected = credal_rand_index(one, as_credal(partition))
            assert found.similarity[number, other] == pytest.approx(expected)
    assert found.n_clusters == (3, 3, 3)
    assert list(pd.DataFrame(found.to_columns())["partition"]) == ["k-means", "mixture", "rough"]
    assert str(found).splitlines()[0].split() == [
        "partition", "clusters", "ARI", "consistency", "nonspecificity", "dominated"
    ]  # fmt: skip


def test_without_a_reference_there_is_no_order(irises):
    found = compare_partitions(irises[0])
    assert found.consistency is None
    assert list(found.to_columns()) == ["partition", "clusters", "nonspecificity"]
    with pytest.raises(ValueError, match="give reference to compare_partitions"):
        found.dominated()


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_the_map_shows_points_of_a_plane_as_they_are(seed, n):
    places = np.random.default_rng(seed).uniform(-0.2, 0.2, size=(n, 2))
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    found = compare_partitions({str(number): [0, 1] for number in range(n)})
    object.__setattr__(found, "similarity", 1 - apart)
    shown = found.map()
    np.testing.assert_allclose(np.linalg.norm(shown[:, None] - shown, axis=2), apart, atol=1e-7)


def test_sampled_similarities_are_near_the_exact_ones(irises):
    exact = compare_partitions(irises[0]).similarity
    sampled = compare_partitions(irises[0], n_pairs=50_000, random_state=0).similarity
    np.testing.assert_allclose(sampled, exact, atol=0.01)


def test_many_objects_are_sampled():
    labels = np.random.default_rng(0).integers(3, size=(2, 30_000))
    found = compare_partitions({"one": labels[0], "other": labels[1]}, random_state=0)
    assert found.similarity[0, 1] == pytest.approx(1 / 9 + 4 / 9, abs=0.01)


def test_seeds_of_wheat_on_one_map_and_combined(reference_file):
    # The example of the slides of 2017: derived hard, fuzzy and rough partitions lie around the credal ones.
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
    found = compare_partitions(partitions, y)
    places = dict(zip(found.names, found.map(), strict=True))
    near, far = (np.linalg.norm(places["k-means"] - places[name]) for name in ("ECM, hard", "ECM"))
    assert near < far
    assert found.adjusted_rand.min() > 0.7
    # Contradictions between the hard partitions stay open under the rule of Dubois and Prade.
    combined = combine_partitions(
        [partitions["k-means"], ecm.to_hard(), evclus.to_hard()], rule="dubois_prade", random_state=0
    )
    assert consistency_index(combined, y) >= max(found.consistency[[0, 2, 5]]) - 1e-9
    assert nonspecificity_index(combined) > 0


@pytest.mark.parametrize(
    ("partitions", "reference", "message"),
    [
        ({}, None, "partitions must be a dictionary of partitions by name"),
        ([[0, 1]], None, "got list"),
        (
            {"a": [0, 1], "b": [0, 1, 1]},
            None,
            r"all partitions must describe the same samples, got \{'a': 2, 'b': 3\}",
        ),
        ({"a": [0, 1]}, [0, 1, 1], r"'reference': 3"),
        ({"a": np.zeros((1, 1, 1))}, None, r"partitions\['a'\] must be"),
    ],
)
def test_wrong_input_is_named(partitions, reference, message):
    with pytest.raises(ValueError, match=message):
        compare_partitions(partitions, reference)


# Reading and numbering


def test_minus_one_is_noise_beside_zero_and_a_class_otherwise():
    assert as_credal([0, 1, -1]).outliers().tolist() == [False, False, True]
    assert as_credal([-1, 1, 1]).n_clusters == 2
    assert as_credal(["a", "b"]).n_clusters == 2


@given(st.integers(0, 10_000), st.integers(1, 5))
def test_renumbered_clusters_find_their_numbers_again(seed, c):
    random = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(c), random.integers(c, size=10)])
    one = CredalPartition.from_hard(labels)
    other = one.permute_clusters(random.permutation(c))
    np.testing.assert_array_equal(align_clusters(other, one).to_hard(), labels)


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
