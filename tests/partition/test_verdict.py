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
some_partitions = st.integers(1, 6).flatmap(partitions)


def believed(partition, row, clusters):
    """The belief of a set of clusters, of masses without the empty set, by its definition."""
    inside = ~partition.focal_sets.membership[:, ~clusters].any(axis=1)
    masses = partition.masses[row]
    return masses[1:][inside[1:]].sum() / masses[1:].sum()


def tied(partition):
    """Whether two clusters are the most plausible ones."""
    values = bf.contour(partition.masses, partition.focal_sets)
    return (values >= values.max(axis=1, keepdims=True) - 1e-9).sum(axis=1) > 1


@st.composite
def bayesian(draw):
    focal_sets = FocalSets.singletons(draw(st.integers(2, 6)))
    return CredalPartition(draw(masses_on(focal_sets, 4)), focal_sets)


@given(some_partitions, levels)
def test_candidates_are_the_fewest_of_the_most_plausible_clusters_that_are_believed_at_the_level(partition, level):
    candidates = partition.verdict(level).candidates
    plausibilities = bf.contour(partition.masses, partition.focal_sets)
    for row in np.flatnonzero(partition.masses[:, 0] < 0.5):
        own, values = candidates[row], plausibilities[row]
        assert believed(partition, row, own) >= level - 1e-5
        assert own.all() or values[own].min() > values[~own].max()
        assert values[own].max() == values.max()
        strictly_better = values > values[own].min() + 1e-9
        if strictly_better.any():  # without the last, and its equals, it is not enough
            assert believed(partition, row, strictly_better) < level


@given(some_partitions)
def test_the_belief_of_candidates_is_that_of_the_belief_functions(partition):
    full = FocalSets.full(partition.n_clusters)
    masses = bf.expand(partition.masses, partition.focal_sets, full)
    inside = masses[:, 0] < 0.5
    assume(inside.any())
    normal = masses[inside].copy()
    normal[:, 0] = 0
    normal /= normal.sum(axis=1, keepdims=True)
    beliefs = bf.belief(normal, full)
    candidates = partition.verdict(0.8).candidates[inside]
    for row, own in enumerate(candidates):
        (position,) = np.flatnonzero((full.membership == own).all(axis=1))
        assert beliefs[row, position] >= 0.8 - 1e-5
        if own.sum() == 2:
            best = bf.contour(normal, full)[row].argmax()
            assert beliefs[row, full.singleton_positions[best]] < 0.8


@given(some_partitions, levels, levels)
def test_a_higher_level_never_takes_a_candidate_away(partition, one, other):
    low, high = sorted((one, other))
    few, many = partition.verdict(low).candidates, partition.verdict(high).candidates
    assert not (few & ~many).any()


@given(some_partitions, levels)
def test_every_object_is_sure_torn_or_an_outlier(partition, level):
    verdict = partition.verdict(level)
    np.testing.assert_array_equal(verdict.sure.astype(int) + verdict.torn + verdict.outlier, 1)
    np.testing.assert_array_equal(verdict.outlier, partition.outliers())
    np.testing.assert_array_equal(verdict.outlier, partition.masses[:, 0] >= 0.5)
    assert verdict.level == level


@given(some_partitions, levels)
def test_objects_are_sure_where_their_doubt_is_small_enough_and_no_other_cluster_is_as_plausible(partition, level):
    doubt = partition.doubt()
    assert ((doubt >= 0) & (doubt <= 1)).all()
    clear = ~partition.outliers() & (np.abs(doubt - (1 - level)) > 1e-5)
    expected = (doubt < 1 - level) & ~tied(partition)
    np.testing.assert_array_equal(
        partition.verdict(level).sure[clear], (expected | (partition.n_clusters == 1))[clear]
    )


@given(some_partitions, st.floats(0.51, 1))
def test_above_one_half_no_object_is_sure_of_one_of_two_equals(partition, level):
    assert not (tied(partition) & (partition.doubt() < 1 - level) & ~partition.outliers()).any()


@given(some_partitions, levels)
def test_the_most_plausible_cluster_is_the_candidate_of_sure_objects_and_among_those_of_torn_ones(
    partition, level
):
    verdict = partition.verdict(level)
    inside = np.flatnonzero(~verdict.outlier)
    assert verdict.candidates[inside, partition.to_hard()[inside]].all()


@given(bayesian(), levels)
def test_of_probabilities_candidates_are_the_smallest_set_of_highest_probability(partition, level):
    candidates = partition.verdict(level).candidates
    for row in np.flatnonzero(~partition.outliers()):
        probabilities = partition.masses[row, 1:] / partition.masses[row, 1:].sum()
        smallest = next(
            size
            for size in range(1, len(probabilities) + 1)
            if any(sum(some) >= level * (1 - 1e-6) for some in combinations(probabilities, size))
        )
        own = candidates[row]
        assert np.sort(probabilities[own])[::-1][:smallest].sum() >= level * (1 - 1e-6)
        ties = np.isclose(probabilities[own], probabilities[own].min()).sum()
        assert smallest <= own.sum() <= smallest + ties - 1


@given(some_partitions, levels, st.data())
def test_the_numbers_of_the_clusters_decide_nothing(partition, level, data):
    order = data.draw(st.permutations(range(partition.n_clusters)))
    other = partition.permute_clusters(order)
    np.testing.assert_array_equal(other.verdict(level).candidates, partition.verdict(level).candidates[:, order])
    one_best = ~tied(partition)
    np.testing.assert_allclose(other.doubt()[one_best], partition.doubt()[one_best], atol=1e-12)


def test_all_of_several_equals_are_candidates():
    votes = CredalPartition.from_fuzzy([[1 / 3, 1 / 3, 1 / 3], [0.5, 0.25, 0.25], [0.5, 0.5, 0]])
    assert votes.verdict(0.6).candidates.tolist() == [[True, True, True], [True, True, True], [True, True, False]]
    assert votes.verdict(0.3).candidates.sum(axis=1).tolist() == [3, 1, 2]


@given(some_partitions, st.floats(0, 1))
def test_a_level_leaves_at_most_the_share_that_is_asked_for(partition, share):
    level = partition.level_leaving(share)
    inside = partition[~partition.outliers()] if (~partition.outliers()).any() else None
    if inside is None:
        assert level == SURE_LEVEL
        return
    beyond_help = ((inside.doubt() > 1 - 1e-5) | tied(inside)).mean() + share
    assert inside.verdict(level).torn.mean() <= max(share, beyond_help) + 1e-9


def test_a_level_leaves_about_the_share_that_is_asked_for():
    memberships = np.random.default_rng(0).dirichlet([1, 1, 1], 1000)
    partition = CredalPartition.from_fuzzy(memberships)
    for share in (0, 0.05, 0.29, 0.5, 1):
        level = partition.level_leaving(share)
        assert partition.verdict(level).torn.mean() == pytest.approx(share, abs=1e-12)
        assert partition.summary(level).n_torn == round(1000 * share)


def test_the_most_doubtful_are_left_to_a_person_and_outliers_do_not_count():
    masses = np.array([[0, 0.9, 0.1], [0, 0.55, 0.45], [0.9, 0.05, 0.05], [0, 0.2, 0.8], [0, 0.4, 0.6]])
    partition = CredalPartition(masses, FocalSets.singletons(2))
    np.testing.assert_allclose(partition.doubt(), [0.1, 0.45, 0.5, 0.2, 0.4])
    verdict = partition.verdict(partition.level_leaving(0.5))
    np.testing.assert_array_equal(verdict.torn, [False, True, False, False, True])
    np.testing.assert_array_equal(verdict.outlier, [False, False, True, False, False])


def test_mass_on_the_empty_set_does_not_make_an_object_doubtful():
    partition = CredalPartition([[0, 0.9, 0.1, 0], [0.4, 0.54, 0.06, 0]], FocalSets.full(2))
    np.testing.assert_allclose(partition.doubt(), [0.1, 0.1])
    assert partition.verdict(0.9).sure.all()


def test_objects_without_any_cluster_are_outliers_in_full_doubt():
    partition = CredalPartition([[1.0, 0, 0], [1, 0, 0]], FocalSets.singletons(2))
    assert partition.verdict().outlier.all()
    assert partition.doubt().tolist() == [1, 1]
    assert partition.level_leaving(0.1) == SURE_LEVEL
    assert partition.summary().n_outliers == 2
    assert partition.to_frame()["assignment"].tolist() == ["outlier", "outlier"]


def test_small_masses_do_not_make_an_object_sure():
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


def test_single_precision_is_judged_like_double_precision():
    masses = np.random.default_rng(1).dirichlet(np.full(16, 0.3), 500)
    double = CredalPartition(masses, FocalSets.full(4))
    single = CredalPartition(masses.astype(np.float32), FocalSets.full(4))
    np.testing.assert_allclose(single.doubt(), double.doubt(), atol=1e-6)
    for level in (0.3, SURE_LEVEL, 0.9):
        unclear = (double.verdict(level - 1e-5).candidates != double.verdict(level + 1e-5).candidates).any(axis=1)
        one, other = single.verdict(level).candidates, double.verdict(level).candidates
        np.testing.assert_array_equal(one[~unclear], other[~unclear])
    hard = CredalPartition(np.eye(3, dtype=np.float32)[[1, 2]] * np.float32(0.1) * 10, FocalSets.singletons(2))
    assert hard.verdict(1).sure.all()


def test_masses_on_disk_are_judged_block_after_block(tmp_path, monkeypatch):
    masses = np.memmap(tmp_path / "masses.dat", dtype=np.float32, mode="w+", shape=(300, 8))
    masses[:] = np.random.default_rng(2).dirichlet(np.full(8, 0.5), 300)
    partition = CredalPartition(masses, FocalSets.full(3))
    whole, doubt = partition.verdict(), partition.doubt()
    monkeypatch.setattr("evlearn.partition.verdict._BLOCK_NUMBERS", 64)
    np.testing.assert_array_equal(partition.verdict().candidates, whole.candidates)
    np.testing.assert_array_equal(partition.doubt(), doubt)


@pytest.mark.slow
def test_many_objects_and_clusters_take_little_memory_beside_their_masses():
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


def test_summary_frame_and_verdict_agree_at_any_level():
    partition = CredalPartition.from_fuzzy(np.random.default_rng(4).dirichlet([0.5, 0.5, 0.5], 50))
    for level in (0.4, SURE_LEVEL, 0.95):
        verdict, summary = partition.verdict(level), partition.summary(level)
        assert (summary.n_sure, summary.n_torn) == (verdict.sure.sum(), verdict.torn.sum())
        assert summary.level == level
        assert partition.to_frame(level=level)["assignment"].tolist() == verdict.labels().tolist()


@pytest.mark.parametrize("level", [0, -0.1, 1.1, np.nan, "high", None, True])
def test_levels_that_make_no_sense_are_refused(level):
    with pytest.raises(ValueError, match="level must be a number above 0 and at most 1, got"):
        CredalPartition.from_hard([0, 1]).verdict(level)


@pytest.mark.parametrize("share", [-0.1, 1.1, np.nan, "few", None])
def test_shares_that_make_no_sense_are_refused(share):
    with pytest.raises(ValueError, match="share must be a number at least 0 and at most 1, got"):
        CredalPartition.from_hard([0, 1]).level_leaving(share)


def test_lower_approximations_follow_the_largest_mass_and_not_the_level():
    partition = CredalPartition([[0, 0.5, 0.3, 0.2], [0, 0.9, 0.1, 0], [0, 0.2, 0.2, 0.6]], FocalSets.full(2))
    assert partition.lower_approximation().tolist() == [[True, False], [True, False], [False, False]]
    assert partition.verdict().sure.tolist() == [False, True, False]
    for method in (CredalPartition.lower_approximation, CredalPartition.upper_approximation):
        assert "`to_rough`" in method.__doc__
        assert "verdict()" in method.__doc__
        assert "surely" not in method.__doc__


def test_the_doubt_of_an_outlier_may_be_zero():
    partition = CredalPartition([[0.9, 0.1, 0, 0]], FocalSets.full(2))
    assert partition.outliers().tolist() == [True]
    assert partition.doubt().tolist() == [0]
    assert "evlearn.active.review" in CredalPartition.doubt.__doc__
