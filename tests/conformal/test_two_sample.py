import numpy as np
import pytest
from scipy.stats import kstest, mannwhitneyu, norm

from evlearn.conformal.two_sample import (
    PooledScores,
    permutation_test,
    rank_deviation,
    rank_scores,
    standardize,
    standardized_sums,
)


def test_the_rank_deviation_is_the_mann_whitney_statistic():
    random = np.random.default_rng(0)
    batch, references = random.integers(20, size=30) + 2.0, random.integers(20, size=80).astype(float)
    expected = mannwhitneyu(batch, references, alternative="greater", use_continuity=False).pvalue
    # SciPy divides by a variance with a slightly different correction for ties.
    assert norm.sf(rank_deviation(batch, references)) == pytest.approx(expected, rel=1e-6)


def test_ranks_are_symmetric_and_ties_have_their_mean():
    np.testing.assert_allclose(
        rank_scores(np.array([[3.0], [1.0], [1.0], [7.0]]))[:, 0], [1 / 8, -1 / 4, -1 / 4, 3 / 8]
    )
    np.testing.assert_array_equal(standardize(np.ones((3, 1))), np.zeros((3, 1)))


def test_sums_of_subsets_have_a_variance_of_1():
    random = np.random.default_rng(0)
    scores = standardize(random.exponential(size=(40, 1)))[:, 0]
    sums = np.array([scores[random.permutation(40)[:15]].sum() for _ in range(4000)])
    assert standardized_sums(sums, 15, 40).std() == pytest.approx(1, abs=0.04)
    assert standardized_sums(np.array(0.0), 40, 40) == 0


def pool(random, n_samples=60):
    labels = random.integers(3, size=n_samples)
    values = random.normal(size=(n_samples, 2)) + labels[:, None]
    return PooledScores(labels, {"a": values, "b": values**2}, {"b": values})


def test_p_values_are_uniform_for_exchangeable_rows():
    random = np.random.default_rng(0)
    results = [permutation_test(pool(random), 20, 99) for _ in range(150)]
    for values in (
        [result.p_value for result in results],
        *([result.p_values[name] for result in results] for name in ("sizes", "a", "b")),
    ):
        assert np.mean(np.array(values) <= 0.1) <= 0.16
        assert kstest(values, "uniform").pvalue > 0.001


def test_each_statistic_detects_its_change():
    random = np.random.default_rng(1)
    quiet = pool(random, 400)
    is_batch = np.arange(400) >= 300
    is_in_cluster = quiet.labels == 2
    shifted = quiet.overall["a"] + is_batch[:, None]
    assert (
        permutation_test(PooledScores(quiet.labels, {"a": shifted}, quiet.per_cluster), 100, 199).p_values["a"]
        == 0.005
    )
    inner = quiet.per_cluster["b"] + 1.5 * (is_batch & is_in_cluster)[:, None]
    result = permutation_test(PooledScores(quiet.labels, quiet.overall, {"b": inner}), 100, 199)
    assert result.p_values["b"] == 0.005
    assert result.p_values["sizes"] > 0.05
    # The scores of all samples come first, then those within clusters.
    assert np.abs(result.deviations["b"]).argmax() - 2 in (4, 5)
    labels = np.where(is_batch & (quiet.labels == 0), 1, quiet.labels)
    result = permutation_test(PooledScores(labels, quiet.overall, quiet.per_cluster), 100, 199)
    assert result.p_values["sizes"] == 0.005
    assert result.deviations["sizes"][1] > 4
    assert (result.adjusted["sizes"] >= result.p_values["sizes"]).all()


def test_blocks_of_subsets_do_not_change_the_result(monkeypatch):
    quiet = pool(np.random.default_rng(2))
    expected = permutation_test(quiet, 20, 50)
    monkeypatch.setattr("evlearn.conformal.two_sample._BLOCK_SIZE", 30)
    result = permutation_test(quiet, 20, 50)
    assert (result.p_value, result.p_values) == (expected.p_value, expected.p_values)


def test_constant_scores_are_no_change():
    labels = np.zeros(30, dtype=int)
    result = permutation_test(PooledScores(labels, {"a": np.ones((30, 1))}, {"b": np.ones((30, 1))}), 10, 20)
    assert result.p_value == 1
    assert set(result.p_values.values()) == {1.0}
