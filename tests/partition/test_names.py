"""Cluster names may contain any characters, and samples keep the index of their frame."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn import CredalPartition
from evlearn.belief import FocalSets
from evlearn.cluster import CECM, ECM, EVCLUS, BootClus, ECMdd, EKNNClus
from evlearn.ensemble import combine_partitions

SPECIAL_NAMES = ["a,b", " a", "a}", "", "Ω", "∅", '"', "a\nb", "$x^$", "=1+1", "cluster", "outlier", "sample"]
N = 24


@given(names=st.lists(st.text(), min_size=2, max_size=4, unique=True))
@pytest.mark.slow
def test_clusters_with_any_names_survive_files_frames_and_text(tmp_path_factory, names):
    masses = np.full((3, 2 ** len(names)), 2.0 ** -len(names))
    partition = CredalPartition(masses, FocalSets.full(names), sample_names=[*names[:2], '\n,"'])
    for ending in ("json", "npz"):
        path = tmp_path_factory.mktemp("files") / f"partition.{ending}"
        partition.save(path)
        assert CredalPartition.load(path) == partition
    assert pickle.loads(pickle.dumps(partition)) == partition
    frame = partition.to_frame()
    assert list(frame.columns) == ["cluster", "assignment", "doubt", "outlier_score", *partition.focal_sets.labels]
    assert frame.columns.is_unique
    assert list(partition.to_frame("polars").columns) == ["sample", *frame.columns]
    assert len(str(partition.summary()).splitlines()) == 5
    assert partition.summary()._repr_html_()


def test_labels_of_any_characters_become_clusters():
    partition = CredalPartition.from_hard([*SPECIAL_NAMES, *SPECIAL_NAMES])
    assert set(partition.cluster_names) == set(SPECIAL_NAMES)
    assert [partition.cluster_names[k] for k in partition.to_hard()] == [*SPECIAL_NAMES, *SPECIAL_NAMES]
    assert list(partition.to_frame()["cluster"]) == [*SPECIAL_NAMES, *SPECIAL_NAMES]


INDICES = {
    "filtered numbers": pd.Index(np.arange(0, 3 * N, 3)),
    "slice of a range": pd.RangeIndex(10, 10 + N),
    "every second row": pd.RangeIndex(0, 2 * N, 2),
    "backwards": pd.RangeIndex(N - 1, -1, -1),
    "nullable numbers": pd.Index(np.arange(N)[::-1], dtype="Int64"),
    "fractions": pd.Index(np.arange(N) / 7),
    "dates": pd.date_range("2024-01-01", periods=N),
    "dates of a zone": pd.date_range("2024-03-30", periods=N, freq="h", tz="Europe/Paris"),
    "periods": pd.period_range("2024-01", periods=N, freq="M"),
    "several levels": pd.MultiIndex.from_product([["a", "b"], range(N // 2)], names=["x", None]),
    "categories": pd.CategoricalIndex(list("abc") * (N // 3)),
    "duplicates": pd.Index([0, 1] * (N // 2)),
    "intervals": pd.interval_range(0, N),
    "text": pd.Index([f"row {k}" for k in range(N)]),
}


@pytest.fixture(scope="module")
def values():
    random = np.random.RandomState(0)
    return np.vstack([random.normal(size=(N // 2, 2)), random.normal(size=(N // 2, 2)) + 6])


@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("method", ["ECM", "EVCLUS"])
def test_the_frame_of_a_partition_has_the_index_of_the_data(method, kind, values):
    frame = pd.DataFrame(values, index=INDICES[kind], columns=["a", "b"])
    model = {"ECM": ECM(2, random_state=0), "EVCLUS": EVCLUS(2, random_state=0)}[method].fit(frame)
    result = frame.copy()
    result["cluster"] = model.credal_partition_.to_frame()["cluster"]
    np.testing.assert_array_equal(result["cluster"], model.labels_)
    part = frame.iloc[5:20]
    assert (part.assign(cluster=model.predict_mass(part).to_frame()["cluster"])["cluster"]).notna().all()


@pytest.mark.parametrize(
    "model",
    [
        CECM(2, random_state=0),
        ECMdd(2, metric="euclidean", random_state=0),
        EKNNClus(5, random_state=0),
        BootClus(2, n_bootstrap=10, random_state=0),
        make_pipeline(StandardScaler().set_output(transform="pandas"), ECM(2, random_state=0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_method_keeps_the_index_also_at_the_end_of_a_pipeline(model, values):
    index = INDICES["filtered numbers"]
    model.fit(pd.DataFrame(values, index=index, columns=["a", "b"]))
    last = model[-1] if hasattr(model, "steps") else model
    assert last.credal_partition_.to_frame().index.equals(index)


@pytest.mark.parametrize("kind", INDICES)
def test_partitions_made_from_a_partition_keep_its_index(kind):
    index = INDICES[kind]
    partition = CredalPartition.from_hard([0, 1] * (N // 2), sample_names=index)
    derived_partitions = [
        partition.rename(cluster_names=["a", "b"]),
        partition.permute_clusters([1, 0]),
        partition.normalize("yager"),
        pickle.loads(pickle.dumps(partition)),
        copy.deepcopy(partition),
        combine_partitions([partition, partition], random_state=0),
    ]
    for derived in derived_partitions:
        pd.testing.assert_index_equal(derived.to_frame().index, index)
    mask = np.arange(N) % 3 == 0
    for chosen in (slice(3, 20, 2), mask, [7, 1], mask.tolist(), np.array([2, 2])):
        numbers = np.arange(N)[chosen]
        assert partition[chosen].to_frame().index.equals(index[numbers])
    assert partition[4].sample_names == (str(list(index)[4]),)
    assert partition == pickle.loads(pickle.dumps(partition))
    assert partition == partition.rename(sample_names=[str(label) for label in index])
    assert partition != partition.rename(sample_names=range(100, 100 + N))


def test_names_are_text_in_files_and_default_indices_are_not_names(tmp_path, values):
    partition = CredalPartition.from_hard([0, 1], sample_names=pd.Index([5, 7]))
    assert partition.sample_names == ("5", "7")
    partition.save(tmp_path / "partition.json")
    assert CredalPartition.load(tmp_path / "partition.json").sample_names == ("5", "7")
    assert list(partition.to_frame("polars")["sample"]) == ["5", "7"]
    for plain in (
        pd.DataFrame(values, columns=["a", "b"]),
        pl.DataFrame(values, schema=["a", "b"]),
        values.tolist(),
    ):
        assert ECM(2, random_state=0).fit(plain).credal_partition_.sample_names is None


def test_names_in_a_column_or_a_list_are_text():
    column = pd.Series([1, 2], index=["x", "y"])
    assert CredalPartition.from_hard([0, 1], sample_names=column).sample_names == ("1", "2")
    assert CredalPartition.from_hard([0, 1], sample_names="ab").to_frame().index.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="sample_names has 3 names but there are 2 samples"):
        CredalPartition.from_hard([0, 1], sample_names=pd.Index([1, 2, 3]))


def test_names_are_converted_to_text_lazily():
    partition = CredalPartition.from_hard([0, 1] * 50, sample_names=pd.RangeIndex(5, 105))
    partition.permute_clusters([1, 0])[10:20].to_frame()
    assert partition == pickle.loads(pickle.dumps(partition))
    assert "sample_names" not in vars(partition)
    assert partition.sample_names[0] == "5"


@pytest.mark.parametrize(
    "make_copy", [lambda partition: pickle.loads(pickle.dumps(partition)), copy.deepcopy, copy.copy]
)
def test_copies_of_partitions_are_immutable(make_copy):
    partition = make_copy(CredalPartition.from_hard([0, 1], sample_names="ab"))
    with pytest.raises(ValueError, match="read-only"):
        partition.masses[0] = 0.5
    for name in ("masses", "focal_sets", "sample_names", "other"):
        with pytest.raises(AttributeError, match="is immutable"):
            setattr(partition, name, None)
    with pytest.raises(AttributeError, match="is immutable"):
        del partition.masses


def test_a_summary_writes_no_control_characters_to_the_terminal():
    partition = CredalPartition.from_hard([0, 1], cluster_names=["\x1b[2J", "a\nb"])
    assert r'"\u001b[2J": 1, "a\nb": 1' in str(partition.summary())
