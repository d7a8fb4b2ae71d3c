"""Sparse masses give the same results as arrays, in every method."""

import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from evlearn import CredalPartition
from evlearn.belief import FocalSets
from evlearn.partition import credal_partition
from evlearn.utils.sparse_rows import SparseRows

N_CLUSTERS = 130


def dense_partition(masses, focal_sets):
    """Return a partition whose masses are an array."""
    return credal_partition._dense_partition(masses, focal_sets)


@st.composite
def partitions(draw):
    """Draw the same masses as lists and as an array, with ties, outliers and mass on all clusters."""
    random = np.random.RandomState(draw(st.integers(0, 2**31 - 1)))
    pairs = {
        tuple(sorted(pair)) for pair in random.randint(N_CLUSTERS, size=(200, 2)).tolist() if len(set(pair)) == 2
    }
    names = [f"c,{k}" for k in range(N_CLUSTERS)] if draw(st.booleans()) else N_CLUSTERS
    focal_sets = FocalSets.pairs(names, sorted(pairs), include_omega=draw(st.booleans()))
    n, f = draw(st.integers(1, 30)), len(focal_sets)
    masses = np.zeros((n, f), dtype=draw(st.sampled_from([np.float32, np.float64])))
    for row in masses:
        sets = random.choice(f, random.randint(1, 5), replace=False)
        sets[random.rand(len(sets)) < 0.3] = 0
        sets[random.rand(len(sets)) < 0.2] = f - 1
        np.add.at(row, sets, 1 if draw(st.booleans()) else random.rand(len(sets)))
        row /= row.sum()
    sparse = CredalPartition(masses, focal_sets)
    assert isinstance(sparse.mass_table, SparseRows)
    return sparse, dense_partition(masses, focal_sets)


def result_of(function, partition):
    """Return the result of a function, or the text of its error."""
    try:
        return np.asarray(function(partition))
    except ValueError as error:
        return str(error)


RESULTS = {
    "masses": lambda p: p.masses,
    "hard": lambda p: p.to_hard(),
    "hard_belief": lambda p: p.to_hard("belief", outlier_label=-1),
    "hard_pignistic": lambda p: p.to_hard("pignistic"),
    "fuzzy": lambda p: p.to_fuzzy(),
    "betp": lambda p: p.to_fuzzy("pignistic"),
    "possibilistic": lambda p: p.to_possibilistic(),
    "possibilistic_normalized": lambda p: p.to_possibilistic(normalize=True),
    "rough": lambda p: p.to_rough(),
    "rough_dominance": lambda p: p.to_rough("interval_dominance", kind="lower"),
    "verdict": lambda p: p.verdict().candidates,
    "strict_verdict": lambda p: p.verdict(1.0).candidates,
    "doubt": lambda p: p.doubt(),
    "risks": lambda p: p.risks(),
    "level": lambda p: p.find_level(0.2),
    "outliers": lambda p: p.outliers(),
    "decide": lambda p: p.decide(),
    "reject": lambda p: p.decide(rejection_cost=0.3, unknown_cost=0.4, criterion="pessimistic"),
    "hurwicz": lambda p: p.decide(unknown_cost=0.4, criterion="hurwicz"),
    "nonspecificity": lambda p: p.nonspecificity(),
    "nonspecificity_of_samples": lambda p: p.nonspecificity(per_sample=True),
    "relational": lambda p: np.stack(p.relational()),
    "pairs": lambda p: np.stack(p.relational([(0, len(p) - 1), (0, 0)])),
    "rows": lambda p: p[: len(p) // 2 + 1].masses,
    "one_row": lambda p: p[-1].masses,
    "chosen_rows": lambda p: p[np.arange(len(p))[::-2]].masses,
    "mask": lambda p: p[np.arange(len(p)) >= 0].masses,
}
PARTITIONS = {
    "dempster": lambda p: p.normalize(),
    "yager": lambda p: p.normalize("yager"),
    "permuted": lambda p: p.permute_clusters(np.arange(N_CLUSTERS)[::-1]),
    "merged": lambda p: p.merge([(0, 3, 5), range(10, 60)]),
    "split": lambda p: p.split(2, np.arange(len(p)) % 3 - 1),
    "renamed": lambda p: p.rename(cluster_names=[f"n{k}" for k in range(N_CLUSTERS)]),
}
SETTINGS = settings(
    max_examples=8, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


@SETTINGS
@given(partitions())
def test_results_are_those_of_arrays(pair):
    """All numbers are equal up to rounding, and all decisions are equal."""
    sparse, dense = pair
    for name, function in RESULTS.items():
        result, expected = result_of(function, sparse), result_of(function, dense)
        if isinstance(expected, str):
            assert result == expected, name
            continue
        tolerance = 1e-12 if dense.masses.dtype == np.float64 else 1e-6
        assert result.shape == expected.shape, name
        np.testing.assert_allclose(result, expected, rtol=0, atol=tolerance, err_msg=name)
    assert str(sparse.summary()) == str(dense.summary())
    assert sparse.summary().torn == dense.summary().torn
    frame, expected_frame = sparse.to_frame(), dense.to_frame()
    assert (frame["assignment"] == expected_frame["assignment"]).all()
    assert (frame["cluster"] == expected_frame["cluster"]).all()
    assert sparse == dense
    assert repr(sparse) == repr(dense)


@SETTINGS
@given(partitions())
def test_derived_partitions_are_those_of_arrays(pair):
    """Derived partitions have the same sets and the same masses."""
    sparse, dense = pair
    for name, function in PARTITIONS.items():
        result, expected = function(sparse), function(dense)
        assert result.focal_sets == expected.focal_sets, name
        tolerance = 1e-12 if dense.masses.dtype == np.float64 else 1e-6
        np.testing.assert_allclose(result.masses, expected.masses, rtol=0, atol=tolerance, err_msg=name)


@SETTINGS
@given(partitions(), st.sampled_from(["npz", "json"]))
def test_files_contain_the_same_partition(tmp_path_factory, pair, suffix):
    """A partition that is read from a file, or unpickled, is sparse and equal."""
    sparse, _ = pair
    path = tmp_path_factory.mktemp("files") / f"partition.{suffix}"
    sparse.save(path)
    for other in (CredalPartition.load(path), pickle.loads(pickle.dumps(sparse))):
        assert isinstance(other.mass_table, SparseRows)
        assert other == sparse
    if suffix == "npz":
        assert CredalPartition.load(path, mmap=True) == sparse


def small_partition():
    """Return a sparse partition of 3 samples and 300 clusters."""
    return CredalPartition.from_hard(np.arange(300)).rename()[:3]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("starts", lambda values: values[::-1]),
        ("starts", lambda values: values + 1),
        ("columns", lambda values: values + 300),
        ("columns", lambda values: values[:-1]),
        ("values", lambda values: values * np.nan),
        ("values", lambda values: -values),
        ("values", lambda values: values[:-1]),
        ("members", lambda values: values[::-1]),
        ("members", lambda values: values + 1000),
        ("begin", lambda values: values - 1),
        ("begin", lambda values: values * 1000),
    ],
)
def test_invalid_files_are_refused(tmp_path, monkeypatch, name, change):
    """Positions and values of a file are checked before they are used."""
    from evlearn.storage import partitions as files

    write_archive = files.write_archive
    changed = lambda file, arrays: write_archive(file, arrays | {name: change(np.array(arrays[name]))})  # noqa: E731
    monkeypatch.setattr(files, "write_archive", changed)
    small_partition().save(tmp_path / "partition.npz")
    with pytest.raises(ValueError, match=r"partition\.npz"):
        CredalPartition.load(tmp_path / "partition.npz")


def test_memory_does_not_grow_with_the_number_of_clusters():
    """Labels of 10,000 clusters take few bytes per sample, as masses and in a summary."""
    labels = np.arange(20_000) % 10_000
    partition = CredalPartition.from_hard(labels)
    assert partition.mass_table.nbytes <= 64 * len(labels)
    np.testing.assert_array_equal(partition.to_hard(), labels)
    assert partition.summary().n_sure == len(labels)
    assert partition.merge([(0, 1)]).n_clusters == 9_999


def test_large_families_are_lists():
    """Families with large tables have the same order, labels and positions as small ones."""
    pairs = [(k, k + 1) for k in range(0, 9_000, 2)]
    family = FocalSets.pairs(9_000, pairs)
    assert family._table is None
    small = FocalSets.pairs(20, [(k, k + 1) for k in range(0, 20, 2)])
    assert family.labels[:3] == ("∅", "{0}", "{1}")
    assert family.labels[-1] == small.labels[-1] == "Ω"
    assert family[9_001] == (0, 1)
    assert family == pickle.loads(pickle.dumps(family))
    assert hash(family) == hash(family.with_sets([(0, 1)]))
    assert family.has_omega
    assert family.singleton_positions[5] == 6
    assert family.with_sets([(0, 3)]).index((0, 3)) == 9_002
    assert (family.rows([1, 9_001]).sum(axis=1) == [1, 2]).all()


def test_invalid_masses_are_refused_with_their_row():
    """The error names the row and the set, as for an array."""
    table = small_partition().mass_table
    focal_sets = FocalSets.singletons(300)
    for value, reason in (
        (np.nan, "has nan at row 1, column 2"),
        (-1.0, "-1 at row 1"),
        (0.5, "row 1 sums to 0.5"),
    ):
        values = np.array([1, value, 1])
        with pytest.raises(ValueError, match=reason):
            CredalPartition(SparseRows(table.starts, table.columns, values, 301), focal_sets)
    with pytest.raises(ValueError, match="do not fit 4 focal sets"):
        CredalPartition(table, FocalSets.singletons(3))


def test_zeros_in_lists_do_not_matter():
    """Lists with and without stored zeros are equal."""
    table = small_partition().mass_table
    with_zero = SparseRows(
        table.starts + np.array([0, 1, 1, 1]), np.r_[np.uint16(0), table.columns], np.r_[0, table.values], 301
    )
    assert with_zero.equals(table)
    assert not table.take([0, 0, 2]).equals(table)


def test_versions_of_files_agree_with_their_arrays(tmp_path, monkeypatch):
    """Lists in a file of version 1, or of few sets, are refused."""
    from evlearn.storage import partitions as files

    monkeypatch.setattr(files, "SPARSE_VERSION", 1)
    small_partition().save(tmp_path / "partition.npz")
    monkeypatch.undo()
    with pytest.raises(ValueError, match="those of version 2, but it has version 1"):
        CredalPartition.load(tmp_path / "partition.npz")
    small_partition().save(tmp_path / "other.npz")
    monkeypatch.setattr(files, "MIN_COLUMNS", 1000)
    with pytest.raises(ValueError, match="need at least 1000 focal sets"):
        CredalPartition.load(tmp_path / "other.npz")
