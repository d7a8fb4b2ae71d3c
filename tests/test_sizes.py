"""Guaranteed sizes, compared with the bare operation in the same run. Figures: ``make benchmark``."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from benchmarks.common.measuring import best_time, peak_bytes, per_iteration, random_masses
from evlearn import CredalPartition, open_dataset
from evlearn import belief as bf
from evlearn.belief import FocalSets
from evlearn.cluster import ECM
from evlearn.metrics import consistency_index, credal_rand_index, nonspecificity_index
from evlearn.utils.parallel import one_blas_thread

pytestmark = pytest.mark.slow


def test_contour_of_five_million_single_precision_mass_functions():
    focal_sets = FocalSets.pairs(5)
    masses = random_masses(5_000_000, 17, np.float32)
    partition = CredalPartition(masses, focal_sets)
    assert np.shares_memory(partition.masses, masses)
    # Besides the result, no array has the size of the masses.
    result_bytes = 5_000_000 * 5 * 4
    assert peak_bytes(partition.to_possibilistic) < 1.1 * result_bytes
    assert peak_bytes(lambda: CredalPartition(masses, focal_sets)) < masses.nbytes / 20


def test_a_million_samples_are_compared_with_labels_in_one_pass():
    focal_sets = FocalSets.pairs(5)
    partition = CredalPartition(random_masses(1_000_000, 17), focal_sets)
    y = np.random.default_rng(1).integers(5, size=1_000_000)
    assert peak_bytes(lambda: nonspecificity_index(partition)) < 10e6
    assert peak_bytes(lambda: consistency_index(partition, y)) < partition.masses.nbytes / 3
    many_classes = np.random.default_rng(1).integers(20_000, size=1_000_000)
    assert peak_bytes(lambda: consistency_index(partition, many_classes)) < partition.masses.nbytes / 3


@pytest.mark.timing
def test_contours_and_indices_cost_little_more_than_the_bare_products():
    focal_sets = FocalSets.pairs(5)
    partition = CredalPartition(random_masses(1_000_000, 17), focal_sets)
    y = np.random.default_rng(1).integers(5, size=1_000_000)
    bare = best_time(lambda: partition.masses.T @ partition.masses)
    assert best_time(lambda: nonspecificity_index(partition)) < 10 * bare
    assert best_time(lambda: consistency_index(partition, y)) < 20 * bare
    masses = random_masses(5_000_000, 17, np.float32)
    table = focal_sets.membership.astype(np.float32)
    bare = best_time(lambda: masses @ table, rounds=5)
    assert best_time(lambda: bf.contour(masses, focal_sets), rounds=5) <= 3 * bare


def test_exact_credal_rand_index_of_twenty_thousand_samples_in_little_memory():
    focal_sets = FocalSets.full(3)
    first, second = (CredalPartition(random_masses(20_000, 8, seed=seed), focal_sets) for seed in (0, 1))
    values = []
    assert peak_bytes(lambda: values.append(credal_rand_index(first, second))) < 1e9
    assert 0 < values[0] < 1


def test_commonality_and_back_on_all_subsets_of_sixteen_elements():
    focal_sets = FocalSets.full(16)
    masses = random_masses(100, 1 << 16)
    commonalities = bf.commonality(masses, focal_sets)
    np.testing.assert_allclose(commonalities[:, 0], 1, rtol=1e-12)
    np.testing.assert_array_equal(commonalities[:, -1], masses[:, -1])
    np.testing.assert_allclose(
        bf.masses_from("commonality", commonalities, focal_sets), masses, rtol=0, atol=1e-13
    )


def test_five_hundred_clusters_with_simple_focal_sets():
    focal_sets = FocalSets.simple(500)
    masses = random_masses(300, 502)
    partition = CredalPartition(masses, focal_sets)
    np.testing.assert_allclose(partition.to_possibilistic(), masses[:, 1:-1] + masses[:, [-1]], atol=1e-14)
    back = bf.masses_from("commonality", bf.commonality(masses, focal_sets), focal_sets)
    np.testing.assert_allclose(back, masses, rtol=0, atol=1e-13)
    combined = bf.combine([masses, masses[::-1]], focal_sets, rule="dempster")
    product = bf.contour(masses, focal_sets) * bf.contour(masses[::-1], focal_sets)
    product /= product.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(bf.plausibility_transform(combined, focal_sets), product, rtol=1e-9)
    assert partition.summary().n_clusters == 500
    assert 0 < nonspecificity_index(partition) < 1


@pytest.mark.timing
@pytest.mark.parametrize(("n", "d", "c"), [(300_000, 10, 4), (300_000, 2, 3), (100_000, 50, 5)])
def test_an_iteration_of_ecm_costs_at_most_three_of_lloyds(n, d, c):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d)) + 3 * random.integers(c, size=n)[:, None]
    start = X[0] + 0.01 * random.normal(size=(c, d))

    def lloyd(count):
        return KMeans(c, init=start, n_init=1, max_iter=count, tol=0, algorithm="lloyd").fit(X)

    def means(count):
        return ECM(c, init=start, delta=20, max_iter=count, tol=0).fit(X)

    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rounds = [(per_iteration(lloyd, 10), per_iteration(means, 10)) for _ in range(5)]
    assert min(duration / reference for reference, duration in rounds) <= 3


def test_ecm_reads_parquet_files_in_bounded_memory(tmp_path):
    random = np.random.default_rng(0)
    for number in range(4):
        X = random.standard_normal((500_000, 10), dtype=np.float32)
        X[:, 0] += 9 * random.integers(3, size=500_000)
        pq.write_table(pa.table({f"x{k}": X[:, k] for k in range(10)}), tmp_path / f"{number}.parquet")
    folder = tmp_path / "scratch"
    folder.mkdir()
    models = []

    def fit():
        with open_dataset(tmp_path, folder=folder) as rows:
            models.append(ECM(3, random_state=0).fit(rows))

    assert peak_bytes(fit) < 40e6  # the data have 80
    assert models[0].converged_
    assert not list(folder.iterdir())
