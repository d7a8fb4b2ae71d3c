import pickle
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from evlearn import CredalPartition
from evlearn import belief as bf
from evlearn.belief import FocalSets
from strategies import labels, mass_functions, partitions

CASES = ["extractMass_c3_full", "extractMass_c4_pairs_noOmega", "extractMass_c3_simple_noempty"]


def from_r(masses, sets):
    return CredalPartition(*bf.reorder_masses(masses, sets, sets.shape[1]))


@pytest.fixture
def small():
    masses = [[0, 1, 0, 0], [0, 0.1, 0.9, 0], [0, 0.2, 0.2, 0.6], [0.9, 0, 0.1, 0]]
    return CredalPartition(masses, FocalSets.full(["small", "large"]), list("abcd"))


@pytest.fixture
def butterfly(reference_file):
    table = np.genfromtxt(reference_file("seed_tables/nnevclus_table01.csv"), delimiter=",", names=True)
    masses = np.column_stack([table[name] for name in ("m_empty", "m_w1", "m_w2", "m_omega")])
    return CredalPartition(masses / masses.sum(axis=1, keepdims=True), FocalSets.full(2))


@pytest.mark.parametrize("name", CASES)
def test_everything_derived_from_masses_agrees_with_r(reference, name):
    case = reference(name)
    arrays = case.arrays
    partition = from_r(arrays["mass_in"], arrays["F_in_int"] if "F_in_int" in arrays else arrays["F"].astype(int))
    expected, focal_sets = bf.reorder_masses(arrays["mass"], arrays["F"], partition.n_clusters)
    assert focal_sets == partition.focal_sets
    close = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(partition.masses, expected, **close)
    np.testing.assert_allclose(partition.masses[:, 0], arrays["conf"], **close)
    np.testing.assert_allclose(partition.to_possibilistic(), arrays["pl"], **close)
    np.testing.assert_allclose(partition.to_possibilistic(normalize=True), arrays["pl_n"], **close)
    np.testing.assert_allclose(partition.to_fuzzy(), arrays["p"], **close)
    np.testing.assert_allclose(partition.to_fuzzy("pignistic"), arrays["betp_n"], **close)
    normal = partition.normalize()
    normalized_masses, _ = bf.reorder_masses(arrays["mass_n"], arrays["F"][1:], partition.n_clusters)
    np.testing.assert_allclose(normal.masses, normalized_masses, **close)
    np.testing.assert_array_equal(partition.to_hard(), arrays["y_pl_1b"] - 1)
    np.testing.assert_array_equal(partition.to_hard("belief"), arrays["y_bel_1b"] - 1)
    np.testing.assert_array_equal(partition.to_rough(), arrays["Y_int"])
    np.testing.assert_array_equal(partition.to_rough("interval_dominance"), arrays["Ynd_int"])
    np.testing.assert_array_equal(~partition.to_rough().any(axis=1), arrays["outlier_mask_int"])
    np.testing.assert_array_equal(partition.to_rough(kind="lower"), arrays["lower_approx_int"])
    np.testing.assert_array_equal(partition.to_rough(), arrays["upper_approx_int"])
    rule = "interval_dominance"
    np.testing.assert_array_equal(partition.to_rough(rule, kind="lower"), arrays["lower_approx_nd_int"])
    np.testing.assert_array_equal(partition.to_rough(rule), arrays["upper_approx_nd_int"])
    assert partition.nonspecificity() == pytest.approx(case.scalars["N"], abs=1e-12)


@pytest.mark.parametrize("name", ["normalize_c3_full", "normalize_c3_simple_noOmega"])
def test_normalized_partitions_agree_with_r(reference, name):
    case = reference(name)
    partition = from_r(case.arrays["mass_in"], case.arrays["F"].astype(int))
    assert partition.normalize().nonspecificity() == pytest.approx(case.scalars["N_d"], abs=1e-12)
    yager = partition.normalize("yager")
    assert yager.nonspecificity() == pytest.approx(case.scalars["N_y"], abs=1e-12)
    np.testing.assert_allclose(yager.to_possibilistic(), case.arrays["pl_y"], rtol=0, atol=1e-12)


def test_hard_and_fuzzy_partitions_become_the_masses_of_r(reference):
    case = reference("create_hard_fuzzy")
    arrays = case.arrays
    for partition, masses, sets, nonspecificity in (
        (CredalPartition.from_hard(arrays["y_1b"]), "mass_hard", "F_hard_int", "N_hard"),
        (CredalPartition.from_fuzzy(arrays["U"]), "mass_fuzzy", "F_fuzzy_int", "N_fuzzy"),
    ):
        np.testing.assert_array_equal(partition.focal_sets.membership, arrays[sets])
        np.testing.assert_allclose(partition.masses, arrays[masses], rtol=0, atol=1e-12)
        assert partition.nonspecificity() == pytest.approx(case.scalars[nonspecificity], abs=1e-12)
    np.testing.assert_allclose(partition.to_possibilistic(), arrays["pl_fuzzy"], rtol=0, atol=1e-12)


def test_butterfly_has_the_published_approximations_and_outlier(butterfly, seed_examples):
    example = seed_examples["nnevclus_example2_butterfly"]
    for approximation, published in (
        (butterfly.to_rough(kind="lower"), example["lower"]),
        (butterfly.to_rough(), example["upper"]),
    ):
        for k, name in enumerate(("w1", "w2")):
            assert (np.flatnonzero(approximation[:, k]) + 1).tolist() == published[name]
    assert (np.flatnonzero(butterfly.outliers()) + 1).tolist() == example["outliers"]


def test_credal_partition_of_the_slides(seed_examples):
    example = seed_examples["slides_credal_partition"]
    functions = [bf.MassFunction(example["frame"], example[key]) for key in ("m3", "m5", "m6", "m12")]
    focal_sets = FocalSets.full(example["frame"])
    partition = CredalPartition([m.to_array(focal_sets) for m in functions], focal_sets)
    n_candidates = partition.to_rough().sum(axis=1)
    assert [(n_candidates == 1).sum(), (n_candidates > 1).sum(), (n_candidates == 0).sum()] == [2, 1, 1]


@given(st.integers(1, 12).flatmap(partitions))
def test_summaries_of_parts_add_up_to_that_of_the_whole(partition):
    parts = [partition[:1].summary(), partition[1:].summary()] if len(partition) > 1 else [partition.summary()]
    total = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    whole = partition.summary()
    assert (total.n_samples, total.n_outliers, total.sure) == (whole.n_samples, whole.n_outliers, whole.sure)
    assert total.torn == whole.torn
    assert total.nonspecificity == pytest.approx(whole.nonspecificity)


def test_summaries_of_other_clusters_or_levels_do_not_add_up(small):
    other = CredalPartition.from_hard([0, 1, 2])
    with pytest.raises(ValueError, match="have the same clusters"):
        small.summary() + other.summary()
    with pytest.raises(ValueError, match=r"the same level, got 0\.9 and 0\.8"):
        small.summary(0.9) + small.summary(0.8)


def test_summary_is_readable_text(small):
    assert str(small.summary()).splitlines() == [
        "4 samples, 2 clusters",
        "  sure             2   (50.0 %)   small: 1, large: 1",
        "  torn             1   (25.0 %)   Ω (any cluster): 1",
        "  outliers         1   (25.0 %)",
        "  sure: a belief of 0.60 or more in one cluster",
    ]
    assert str(small.summary(level=0.9999)).endswith("sure: a belief of 0.9999 or more in one cluster")
    partition = CredalPartition.from_hard(np.arange(20))
    assert "and 12 more" in str(partition.summary())


def test_reprs_are_short_and_the_html_one_escapes_names():
    partition = CredalPartition([[0, 1.0, 0]], FocalSets.singletons(["<b>", "c"]))
    assert repr(partition) == "CredalPartition(1 sample, 2 clusters, 3 focal sets, float64)"
    assert "&lt;b&gt;: 1" in partition._repr_html_()
    assert "<b>" not in partition._repr_html_()


@given(labels(8))
def test_hard_labels_survive_the_round_trip(y):
    partition = CredalPartition.from_hard(y)
    np.testing.assert_array_equal(np.unique(y)[partition.to_hard()], y)
    assert partition.nonspecificity() == 0


def test_labels_of_any_kind_name_the_clusters_and_noise_becomes_outliers():
    partition = CredalPartition.from_hard(["b", "a", "b"])
    assert partition.cluster_names == ("a", "b")
    assert partition.focal_sets.names == ("a", "b")
    assert CredalPartition.from_hard([0, 1]).focal_sets.names is None
    assert CredalPartition.from_hard([-1, 1]).cluster_names == ("-1", "1")
    noisy = CredalPartition.from_hard([-1, 0, 1, 1], noise_label=-1, cluster_names=["x", "y"])
    assert noisy.outliers().tolist() == [True, False, False, False]
    assert noisy.cluster_names == ("x", "y")


@given(hnp.arrays(float, (5, 3), elements=st.floats(0, 1)))
def test_possibilistic_partitions_keep_their_plausibilities_and_are_consonant(possibilities):
    partition = CredalPartition.from_possibilistic(possibilities)
    bf.check_masses(partition.masses, partition.focal_sets)
    np.testing.assert_allclose(partition.to_possibilistic(), possibilities, rtol=0, atol=1e-12)
    for row in partition.masses:
        sets = [set(partition.focal_sets[k]) for k in np.flatnonzero(row)]
        assert all(a <= b for a, b in pairwise(sets))


@given(hnp.arrays(bool, (6, 3)))
def test_rough_partitions_survive_the_round_trip(candidates):
    partition = CredalPartition.from_rough(candidates)
    np.testing.assert_array_equal(partition.to_rough(), candidates)
    np.testing.assert_array_equal(partition.outliers(), ~candidates.any(axis=1))


def test_memberships_that_sum_to_one_in_float32_have_no_empty_mass():
    memberships = np.random.default_rng(0).dirichlet(np.ones(5), size=1000).astype(np.float32)
    totals = memberships.sum(axis=1)
    assert totals.min() < 1 < totals.max()  # by rounding
    masses = CredalPartition.from_fuzzy(memberships).masses
    assert masses.dtype == np.float32
    assert not masses[:, 0].any()
    np.testing.assert_array_equal(masses[:, 1:], memberships)


@given(partitions(6))
def test_fuzzy_partitions_from_credal_ones_survive_the_round_trip(partition):
    for rule in ("plausibility", "pignistic"):
        memberships = partition.to_fuzzy(rule)
        copy = CredalPartition.from_fuzzy(memberships)
        np.testing.assert_allclose(copy.to_fuzzy(rule), memberships, rtol=0, atol=1e-12)


@given(partitions(6), st.sampled_from(["max_mass", "interval_dominance"]))
def test_lower_approximations_lie_in_upper_ones_and_do_not_overlap(partition, rule):
    lower, upper = partition.to_rough(rule, kind="lower"), partition.to_rough(rule)
    assert (lower <= upper).all()
    assert (lower.sum(axis=1) <= 1).all()
    if rule == "interval_dominance":
        assert upper.any(axis=1).all()


@given(partitions(5), st.data())
def test_renumbering_clusters_changes_numbers_only(partition, data):
    order = np.array(data.draw(st.permutations(range(partition.n_clusters))))
    other = partition.permute_clusters(order)
    np.testing.assert_allclose(
        other.to_possibilistic(), partition.to_possibilistic()[:, order], rtol=0, atol=1e-14
    )
    np.testing.assert_array_equal(other.outliers(), partition.outliers())
    assert other.nonspecificity() == pytest.approx(partition.nonspecificity(), abs=1e-12)
    back = other.permute_clusters(np.argsort(order))
    np.testing.assert_array_equal(back.masses, partition.masses)
    assert back.focal_sets == partition.focal_sets


@given(mass_functions())
def test_interval_dominance_is_the_decision_rule_of_the_same_name(problem):
    focal_sets, masses = problem
    partition = CredalPartition(masses, focal_sets)
    full = FocalSets.full(focal_sets.frame_size)
    expected = bf.interval_dominance(bf.expand_masses(masses, focal_sets, full), full)
    np.testing.assert_array_equal(partition.to_rough("interval_dominance"), expected)


@given(partitions(6))
def test_choosing_samples_keeps_their_masses(partition):
    np.testing.assert_array_equal(partition[2:4].masses, partition.masses[2:4])
    np.testing.assert_array_equal(partition[[5, 0]].masses, partition.masses[[5, 0]])
    np.testing.assert_array_equal(partition[3].masses, partition.masses[3:4])
    mask = np.array([True, False] * 3)
    np.testing.assert_array_equal(partition[mask].masses, partition.masses[mask])


def test_names_follow_the_samples(small):
    assert small[[3, 0]].sample_names == ("d", "a")
    renamed = small.rename(cluster_names=["s", "l"], sample_names=list("wxyz"))
    assert renamed.cluster_names == ("s", "l")
    assert renamed[1].sample_names == ("x",)
    assert small.permute_clusters([1, 0]).cluster_names == ("large", "small")


def test_partitions_are_compared_by_value(small):
    assert small == small[:]
    assert small != small[[1, 0, 2, 3]]
    assert small != small.rename(sample_names=list("wxyz"))
    assert small != "small"


def test_it_cannot_be_changed(small):
    with pytest.raises(ValueError, match="read-only"):
        small.masses[0, 0] = 1
    with pytest.raises(AttributeError):
        small.masses = 3
    masses = np.eye(4)
    CredalPartition(masses, FocalSets.full(2))
    masses[0, 0] = 0.5  # the array of the caller stays writable


def test_float32_and_memory_maps_are_preserved(tmp_path):
    masses = np.memmap(tmp_path / "masses.dat", dtype=np.float32, mode="w+", shape=(100, 4))
    masses[:] = [0, 0.5, 0.25, 0.25]
    partition = CredalPartition(masses, FocalSets.full(2))
    assert np.shares_memory(partition.masses, masses)
    for values in (partition.to_possibilistic(), partition.to_fuzzy(), partition.nonspecificity(per_sample=True)):
        assert values.dtype == np.float32
    assert (partition.summary().n_torn, partition.summary(level=0.5).n_sure) == (100, 100)
    assert partition.relational([(0, 1)]).same_cluster.dtype == np.float32


def test_frames_hold_cluster_assignment_and_masses(small):
    frame = small.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.tolist() == list("abcd")
    assert frame.columns.tolist() == [
        *("cluster", "assignment", "doubt", "outlier_score"),
        *("∅", "{small}", "{large}", "Ω"),
    ]
    assert frame["cluster"].tolist() == ["small", "large", "small", "large"]
    assert frame["assignment"].tolist() == ["{small}", "{large}", "Ω", "outlier"]
    np.testing.assert_allclose(frame["doubt"], [0, 0.1, 0.8, 0])
    np.testing.assert_allclose(frame["outlier_score"], [0, 0, 0, 0.9])
    assert small.to_frame(level=0.95)["assignment"].tolist() == ["{small}", "Ω", "Ω", "outlier"]
    np.testing.assert_array_equal(frame.iloc[:, 4:].to_numpy(), small.masses)
    polars = small.to_frame("polars")
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == ["sample", *frame.columns]
    assert polars["assignment"].to_list() == frame["assignment"].tolist()
    unnamed = CredalPartition(small.masses, FocalSets.full(2))
    assert unnamed.to_frame()["cluster"].tolist() == [0, 1, 0, 1]
    assert "sample" not in unnamed.to_frame("polars").columns


def test_a_frame_library_that_is_not_installed_is_named(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"to_frame\('polars'\) needs polars; install it"):
        small.to_frame("polars")


def test_it_can_be_pickled_for_other_processes(small):
    copy = pickle.loads(pickle.dumps(small))
    np.testing.assert_array_equal(copy.masses, small.masses)
    assert copy.focal_sets == small.focal_sets
    assert copy.sample_names == small.sample_names


def test_a_sample_with_all_mass_on_the_empty_set_has_defined_views():
    partition = CredalPartition([[1.0, 0, 0], [0, 1, 0]], FocalSets.singletons(2))
    np.testing.assert_array_equal(partition.to_fuzzy()[0], [0.5, 0.5])
    np.testing.assert_array_equal(partition.to_possibilistic(normalize=True), [[1, 1], [1, 0]])
    np.testing.assert_array_equal(partition.to_rough("interval_dominance")[0], [True, True])
    assert partition.normalize().focal_sets == FocalSets.simple(2)


def test_one_cluster_has_no_nonspecificity():
    assert CredalPartition([[0.5, 0.5]], FocalSets.full(1)).nonspecificity() == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CredalPartition([0, 1.0, 0, 0], FocalSets.full(2)), r"row for each sample.*\(4,\)"),
        (lambda: CredalPartition(np.empty((0, 4)), FocalSets.full(2)), "row for each sample"),
        (lambda: CredalPartition(np.eye(4), FocalSets.full(2), ["a"]), "1 names but there are 4 samples"),
        (lambda: CredalPartition([[0, 2.0, -1, 0]], FocalSets.full(2)), "must not be negative"),
        (lambda: CredalPartition.from_hard([[0, 1]]), "one label per sample"),
        (lambda: CredalPartition.from_hard([0.0, np.nan]), "missing values"),
        (lambda: CredalPartition.from_hard(["a", None]), "missing values"),
        (lambda: CredalPartition.from_hard(["a", float("nan")]), "missing values"),
        (lambda: CredalPartition.from_hard([-1, -1], noise_label=-1), "nothing but noise_label=-1"),
        (lambda: CredalPartition.from_hard([0, 1], cluster_names=["a"]), "1 names but labels has 2"),
        (lambda: CredalPartition.from_fuzzy([[0.9, 0.9]]), "row 0 sums to 1.8.*from_possibilistic"),
        (lambda: CredalPartition.from_fuzzy([[0.9, np.nan]]), "must lie between 0 and 1"),
        (lambda: CredalPartition.from_fuzzy([0.9, 0.1]), "a column for each cluster"),
        (lambda: CredalPartition.from_rough([[0.5, 1]]), "candidates must be True or False"),
        (lambda: CredalPartition.from_rough([[1, 0]], cluster_names=["a"]), "1 names but there are 2 clusters"),
    ],
)
def test_errors_name_the_parameter_and_the_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda p: p.to_hard("magic"),
            r"rule must be one of \['plausibility', 'belief', 'pignistic'\], got 'magic'",
        ),
        (lambda p: p.to_frame("spark"), "library must be 'pandas' or 'polars'"),
        (lambda p: p.permute_clusters([0, 0]), "each number from 0 to 1 once"),
        (lambda p: p.relational([(0, 4)]), "sample 4, but samples are numbered 0 to 3"),
        (lambda p: p.relational([(-1, 2)]), "sample -1"),
        (lambda p: p.relational([0, 1]), r"shape \(n_pairs, 2\)"),
        (lambda p: p.relational([(0.5, 1)]), "whole numbers"),
    ],
)
def test_invalid_arguments_are_rejected(small, call, message):
    with pytest.raises(ValueError, match=message):
        call(small)


def test_an_empty_selection_is_rejected(small):
    with pytest.raises(IndexError, match="selects no sample"):
        small[:0]


@pytest.mark.parametrize("index", [(slice(None), 0), (0, 1), (slice(None), slice(None))])
def test_columns_cannot_be_selected(index):
    square = CredalPartition(np.full((4, 4), 0.25), FocalSets.full(2))
    with pytest.raises(IndexError, match="a partition is indexed by samples only, got 2"):
        square[index]
