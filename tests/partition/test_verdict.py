import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evlearn import CredalPartition
from evlearn import belief as bf
from evlearn.belief import FocalSets
from evlearn.partition import SURE_LEVEL, Verdict
from strategies import masses_on, partitions

levels = st.floats(0.01, 1) | st.sampled_from([0.25, 0.5, SURE_LEVEL, 0.75, 1.0])
small_partitions = st.integers(1, 6).flatmap(partitions)


def belief_in(partition, row, clusters):
    """Return the normalized belief of a set of clusters by its definition."""
    is_subset = ~partition.focal_sets.membership[:, ~clusters].any(axis=1)
    masses = partition.masses[row]
    return masses[1:][is_subset[1:]].sum() / masses[1:].sum()


def is_tied(partition):
    """Return True for samples with several most plausible clusters."""
    values = bf.contour(partition.masses, partition.focal_sets)
    return (values >= values.max(axis=1, keepdims=True) - 1e-9).sum(axis=1) > 1


@st.composite
def bayesian(draw):
    focal_sets = FocalSets.singletons(draw(st.integers(2, 6)))
    return CredalPartition(draw(masses_on(focal_sets, 4)), focal_sets)


@given(small_partitions, levels)
@pytest.mark.slow
def test_candidates_are_the_smallest_set_of_most_plausible_clusters_with_the_belief(partition, level):
    candidates = partition.verdict(level).candidates
    plausibilities = bf.contour(partition.masses, partition.focal_sets)
    for row in np.flatnonzero(partition.masses[:, 0] < 0.5):
        members, values = candidates[row], plausibilities[row]
        assert belief_in(partition, row, members) >= level - 1e-5
        assert members.all() or values[members].min() > values[~members].max()
        assert values[members].max() == values.max()
        strictly_better = values > values[members].min() + 1e-9
        if strictly_better.any():  # minimal: without the least plausible candidates, the belief is too small
            assert belief_in(partition, row, strictly_better) < level


@given(small_partitions)
@pytest.mark.slow
def test_the_belief_of_candidates_is_that_of_the_belief_functions(partition):
    full = FocalSets.full(partition.n_clusters)
    masses = bf.expand_masses(partition.masses, partition.focal_sets, full)
    is_regular = masses[:, 0] < 0.5
    assume(is_regular.any())
    normal = masses[is_regular].copy()
    normal[:, 0] = 0
    normal /= normal.sum(axis=1, keepdims=True)
    beliefs = bf.belief(normal, full)
    candidates = partition.verdict(0.8).candidates[is_regular]
    for row, members in enumerate(candidates):
        (position,) = np.flatnonzero((full.membership == members).all(axis=1))
        assert beliefs[row, position] >= 0.8 - 1e-5
        if members.sum() == 2:
            best = bf.contour(normal, full)[row].argmax()
            assert beliefs[row, full.singleton_positions[best]] < 0.8


@given(small_partitions, levels, levels)
def test_a_higher_level_never_removes_a_candidate(partition, first_level, second_level):
    low, high = sorted((first_level, second_level))
    low_candidates, high_candidates = partition.verdict(low).candidates, partition.verdict(high).candidates
    assert not (low_candidates & ~high_candidates).any()


@given(small_partitions, levels)
def test_every_sample_is_sure_torn_or_an_outlier(partition, level):
    verdict = partition.verdict(level)
    np.testing.assert_array_equal(verdict.sure.astype(int) + verdict.torn + verdict.outlier, 1)
    np.testing.assert_array_equal(verdict.outlier, partition.outliers())
    np.testing.assert_array_equal(verdict.outlier, partition.masses[:, 0] >= 0.5)
    assert verdict.level == level


@given(small_partitions, levels)
def test_samples_are_sure_if_their_doubt_is_small_and_no_tie_occurs(partition, level):
    doubt = partition.doubt()
    assert ((doubt >= 0) & (doubt <= 1)).all()
    clear = ~partition.outliers() & (np.abs(doubt - (1 - level)) > 1e-5)
    expected = (doubt < 1 - level) & ~is_tied(partition)
    np.testing.assert_array_equal(
        partition.verdict(level).sure[clear], (expected | (partition.n_clusters == 1))[clear]
    )


@given(small_partitions, st.floats(0.51, 1))
def test_above_one_half_ties_are_torn(partition, level):
    assert not (is_tied(partition) & (partition.doubt() < 1 - level) & ~partition.outliers()).any()


@given(small_partitions, levels)
def test_the_most_plausible_cluster_is_always_a_candidate(partition, level):
    verdict = partition.verdict(level)
    is_regular = np.flatnonzero(~verdict.outlier)
    assert verdict.candidates[is_regular, partition.to_hard()[is_regular]].all()


@given(bayesian(), levels)
def test_candidates_of_probabilities_are_the_smallest_most_probable_set(partition, level):
    candidates = partition.verdict(level).candidates
    for row in np.flatnonzero(~partition.outliers()):
        probabilities = partition.masses[row, 1:] / partition.masses[row, 1:].sum()
        smallest = next(
            size
            for size in range(1, len(probabilities) + 1)
            if any(sum(subset) >= level * (1 - 1e-6) for subset in combinations(probabilities, size))
        )
        members = candidates[row]
        assert np.sort(probabilities[members])[::-1][:smallest].sum() >= level * (1 - 1e-6)
        ties = np.isclose(probabilities[members], probabilities[members].min()).sum()
        assert smallest <= members.sum() <= smallest + ties - 1


@given(small_partitions, levels, st.data())
def test_the_verdict_does_not_depend_on_cluster_numbers(partition, level, data):
    order = data.draw(st.permutations(range(partition.n_clusters)))
    other = partition.permute_clusters(order)
    np.testing.assert_array_equal(other.verdict(level).candidates, partition.verdict(level).candidates[:, order])
    is_unique = ~is_tied(partition)
    np.testing.assert_allclose(other.doubt()[is_unique], partition.doubt()[is_unique], atol=1e-12)


def test_all_tied_clusters_are_candidates():
    votes = CredalPartition.from_fuzzy([[1 / 3, 1 / 3, 1 / 3], [0.5, 0.25, 0.25], [0.5, 0.5, 0]])
    assert votes.verdict(0.6).candidates.tolist() == [[True, True, True], [True, True, True], [True, True, False]]
    assert votes.verdict(0.3).candidates.sum(axis=1).tolist() == [3, 1, 2]


@given(small_partitions, st.floats(0, 1))
def test_find_level_leaves_at_most_the_requested_share_torn(partition, share):
    level = partition.find_level(torn_share=share)
    regular = partition[~partition.outliers()] if (~partition.outliers()).any() else None
    if regular is None:
        assert level == SURE_LEVEL
        return
    max_share = ((regular.doubt() > 1 - 1e-5) | is_tied(regular)).mean() + share
    assert regular.verdict(level).torn.mean() <= max(share, max_share) + 1e-9


def test_find_level_leaves_about_the_requested_share_torn():
    memberships = np.random.default_rng(0).dirichlet([1, 1, 1], 1000)
    partition = CredalPartition.from_fuzzy(memberships)
    for share in (0, 0.05, 0.29, 0.5, 1):
        level = partition.find_level(torn_share=share)
        assert partition.verdict(level).torn.mean() == pytest.approx(share, abs=1e-12)
        assert partition.summary(level).n_torn == round(1000 * share)


def test_find_level_selects_the_most_doubtful_and_ignores_outliers():
    masses = np.array([[0, 0.9, 0.1], [0, 0.55, 0.45], [0.9, 0.05, 0.05], [0, 0.2, 0.8], [0, 0.4, 0.6]])
    partition = CredalPartition(masses, FocalSets.singletons(2))
    np.testing.assert_allclose(partition.doubt(), [0.1, 0.45, 0.5, 0.2, 0.4])
    verdict = partition.verdict(partition.find_level(torn_share=0.5))
    np.testing.assert_array_equal(verdict.torn, [False, True, False, False, True])
    np.testing.assert_array_equal(verdict.outlier, [False, False, True, False, False])


def test_mass_on_the_empty_set_does_not_increase_doubt():
    partition = CredalPartition([[0, 0.9, 0.1, 0], [0.4, 0.54, 0.06, 0]], FocalSets.full(2))
    np.testing.assert_allclose(partition.doubt(), [0.1, 0.1])
    assert partition.verdict(0.9).sure.all()


def test_samples_with_all_mass_on_the_empty_set_are_outliers_with_doubt_1():
    partition = CredalPartition([[1.0, 0, 0], [1, 0, 0]], FocalSets.singletons(2))
    assert partition.verdict().outlier.all()
    assert partition.doubt().tolist() == [1, 1]
    assert partition.find_level(torn_share=0.1) == SURE_LEVEL
    assert partition.summary().n_outliers == 2
    assert partition.to_frame()["assignment"].tolist() == ["outlier", "outlier"]


def test_small_masses_do_not_make_a_sample_sure():
    masses = np.full((1, 16), 0.97 / 16)
    masses[0, 1] += 0.03
    partition = CredalPartition(masses, FocalSets.full(4))
    assert partition.to_rough().sum() == 1
    assert partition.verdict().torn.all()


def test_sets_without_single_clusters_are_torn_at_any_level():
    focal_sets = FocalSets.from_membership([[1, 1, 0], [0, 1, 1]])
    partition = CredalPartition([[0, 1.0, 0], [0, 0.3, 0.7]], focal_sets)
    verdict = partition.verdict(0.01)
    assert verdict.torn.all()
    assert verdict.candidates.tolist() == [[True, True, False], [False, True, True]]


def test_one_cluster_is_sure():
    partition = CredalPartition([[0.2, 0.8], [0.8, 0.2]], FocalSets.full(1))
    assert partition.verdict(1).sure.tolist() == [True, False]
    assert partition.doubt().tolist() == [0, 0]


def test_float32_has_the_same_verdicts_as_float64():
    masses = np.random.default_rng(1).dirichlet(np.full(16, 0.3), 500)
    double = CredalPartition(masses, FocalSets.full(4))
    single = CredalPartition(masses.astype(np.float32), FocalSets.full(4))
    np.testing.assert_allclose(single.doubt(), double.doubt(), atol=1e-6)
    for level in (0.3, SURE_LEVEL, 0.9):
        unclear = (double.verdict(level - 1e-5).candidates != double.verdict(level + 1e-5).candidates).any(axis=1)
        single_candidates, double_candidates = single.verdict(level).candidates, double.verdict(level).candidates
        np.testing.assert_array_equal(single_candidates[~unclear], double_candidates[~unclear])
    hard = CredalPartition(np.eye(3, dtype=np.float32)[[1, 2]] * np.float32(0.1) * 10, FocalSets.singletons(2))
    assert hard.verdict(1).sure.all()


def test_masses_on_disk_are_processed_in_blocks(tmp_path, monkeypatch):
    masses = np.memmap(tmp_path / "masses.dat", dtype=np.float32, mode="w+", shape=(300, 8))
    masses[:] = np.random.default_rng(2).dirichlet(np.full(8, 0.5), 300)
    partition = CredalPartition(masses, FocalSets.full(3))
    whole, doubt = partition.verdict(), partition.doubt()
    monkeypatch.setattr("evlearn.partition.verdict._BLOCK_NUMBERS", 64)
    np.testing.assert_array_equal(partition.verdict().candidates, whole.candidates)
    np.testing.assert_array_equal(partition.doubt(), doubt)


@pytest.mark.slow
def test_many_samples_and_clusters_need_little_memory_besides_their_masses():
    focal_sets = FocalSets.pairs(60)
    masses = np.zeros((20_000, len(focal_sets)), dtype=np.float32)
    random = np.random.default_rng(3)
    for _ in range(4):
        masses[np.arange(20_000), random.integers(1, len(focal_sets), 20_000)] += 0.25
    partition = CredalPartition(masses, focal_sets, validate=False)
    tracemalloc.start()
    try:
        verdict, doubt = partition.verdict(), partition.doubt()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < masses.nbytes / 2
    assert verdict.torn.sum() > 19_000
    assert doubt.shape == (20_000,)


def test_verdicts_are_written_as_text_with_the_names_of_the_clusters():
    verdict = Verdict(np.array([[1, 0, 0], [0, 1, 1], [1, 1, 1], [0, 0, 0]], dtype=bool), 0.9)
    assert verdict.labels().tolist() == ["{0}", "{1,2}", "Ω", "outlier"]
    assert verdict.labels(("a", "b", "c,d")).tolist() == ["{a}", '{b,"c,d"}', "Ω", "outlier"]


@given(small_partitions, levels)
def test_a_single_sample_has_the_same_verdict_as_among_others(partition, level):
    verdict, doubt, names = partition.verdict(level), partition.doubt(), partition.focal_sets.names
    for row in range(len(partition)):
        single = partition[row].verdict(level)
        assert (single.candidates == verdict.candidates[row]).all()
        assert single.labels(names)[0] == verdict.labels(names)[row]
        assert partition[row].verdict_names(level)[0] == partition.verdict_names(level)[row]
        assert partition[row].doubt()[0] == pytest.approx(doubt[row], abs=1e-12)


def test_summary_frame_and_verdict_agree_at_any_level():
    partition = CredalPartition.from_fuzzy(np.random.default_rng(4).dirichlet([0.5, 0.5, 0.5], 50))
    for level in (0.4, SURE_LEVEL, 0.95):
        verdict, summary = partition.verdict(level), partition.summary(level)
        assert (summary.n_sure, summary.n_torn) == (verdict.sure.sum(), verdict.torn.sum())
        assert summary.level == level
        assert partition.to_frame(level=level)["assignment"].tolist() == verdict.labels().tolist()


@pytest.mark.parametrize("level", [0, -0.1, 1.1, np.nan, "high", None, True])
def test_invalid_levels_are_rejected(level):
    with pytest.raises(ValueError, match="level must be a number above 0 and at most 1, got"):
        CredalPartition.from_hard([0, 1]).verdict(level)


@pytest.mark.parametrize("share", [-0.1, 1.1, np.nan, "few", None])
def test_invalid_shares_are_rejected(share):
    with pytest.raises(ValueError, match="share must be a number at least 0 and at most 1, got"):
        CredalPartition.from_hard([0, 1]).find_level(torn_share=share)


def test_lower_approximations_follow_the_largest_mass_and_not_the_level():
    partition = CredalPartition([[0, 0.5, 0.3, 0.2], [0, 0.9, 0.1, 0], [0, 0.2, 0.2, 0.6]], FocalSets.full(2))
    assert partition.to_rough(kind="lower").tolist() == [[True, False], [True, False], [False, False]]
    assert partition.verdict().sure.tolist() == [False, True, False]
    assert "`verdict`" in CredalPartition.to_rough.__doc__


def test_the_doubt_of_an_outlier_may_be_zero():
    partition = CredalPartition([[0.9, 0.1, 0, 0]], FocalSets.full(2))
    assert partition.outliers().tolist() == [True]
    assert partition.doubt().tolist() == [0]
    assert "evlearn.active.review_queue" in CredalPartition.doubt.__doc__
