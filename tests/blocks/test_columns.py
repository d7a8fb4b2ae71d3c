"""Tables: columns chosen by name, keys in the results, weights, and errors that name a row."""

import pickle

import dask
import dask.dataframe as dd
import distributed
import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.preprocessing import StandardScaler

import evlearn
from evlearn import open_dataset
from evlearn.cluster import BPEC, ECM

N = 600
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N, 2)) + np.array([[0, 0], [8, 0]])[np.arange(N) % 2]
FRAME = pd.DataFrame(
    {
        "customer": [f"c{k:05d}" for k in RANDOM.permutation(N)],
        "x": X[:, 0],
        "id": RANDOM.permutation(10 * N)[:N],
        "y": X[:, 1],
        "w": RANDOM.uniform(0.5, 2, size=N),
        "label": np.where(np.arange(N) % 2, "b", "a"),
    }
)


def folder_of(frame, folder, n_files=4):
    path = folder / "table"
    path.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), n_files)):
        frame.iloc[rows].to_parquet(path / f"part-{number:02d}.parquet", index=False, row_group_size=37)
    return path


KINDS = {
    "folder": folder_of,
    "pandas": lambda frame, folder: frame,
    "polars": lambda frame, folder: pl.from_pandas(frame),
    "pyarrow": lambda frame, folder: pa.Table.from_pandas(frame, preserve_index=False),
    "chunks": lambda frame, folder: (frame[k : k + 130] for k in range(0, N, 130)),
    "batches": lambda frame, folder: iter(pa.Table.from_pandas(frame, preserve_index=False).to_batches(130)),
    "dask": lambda frame, folder: dd.from_pandas(frame, npartitions=3),
}


def read_all(rows):
    return np.concatenate(list(rows.map(_copy)))


def _copy(block, weights=None):
    return np.array(block)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", ["customer", "id", ["label", "id"]])
def test_named_columns_are_the_features_and_keys_reach_the_results(kind, key, tmp_path):
    with open_dataset(
        KINDS[kind](FRAME, tmp_path), columns=["y", "x"], key=key, weight="w", folder=tmp_path
    ) as rows:
        assert list(rows.feature_names) == ["y", "x"]
        np.testing.assert_array_equal(read_all(rows), FRAME[["y", "x"]])
        model = ECM(n_clusters=2, random_state=0).fit(rows)
        weighted = ECM(n_clusters=2, random_state=0).fit(FRAME[["y", "x"]], sample_weight=FRAME["w"])
        np.testing.assert_allclose(model.cluster_centers_, weighted.cluster_centers_)
        table = pq.read_table(model.predict_mass(rows, out=tmp_path / "masses.parquet"))
        partition = model.predict_mass(rows)
    names = [key] if isinstance(key, str) else key
    assert table.column_names == [*names, *model.focal_sets_.labels]
    for name in names:
        assert table[name].to_pylist() == FRAME[name].tolist()
        assert pa.types.is_integer(table[name].type) == (name == "id")
    masses = np.column_stack([table[name] for name in model.focal_sets_.labels])
    np.testing.assert_array_equal(masses, partition.masses)
    assert partition.sample_names == (tuple(map(str, FRAME[key])) if isinstance(key, str) else None)
    assert [file.name for file in tmp_path.iterdir() if file.suffix == ".rows"] == []


def test_without_columns_all_but_key_and_weight_are_features(tmp_path):
    path = folder_of(FRAME.drop(columns="label"), tmp_path)
    with open_dataset(path, key=["customer", "id"], weight="w") as rows:
        assert list(rows.feature_names) == ["x", "y"]


def test_keys_are_written_by_other_processes(tmp_path):
    big = pd.concat([FRAME] * 60, ignore_index=True).assign(id=np.arange(60 * N))
    with open_dataset(folder_of(big, tmp_path), columns=["x", "y"], key="id") as rows:
        model = ECM(n_clusters=2, random_state=0, n_jobs=2).fit(rows)
        assert len(pickle.dumps(rows)) < 10_000
        with joblib.parallel_config(backend="loky", n_jobs=2):
            out = model.predict_mass(rows, out=tmp_path / "masses.parquet")
    assert len(list(out.iterdir())) > 1
    assert pq.read_table(out)["id"].to_pylist() == big["id"].tolist()


def test_keys_of_dictionaries_and_of_other_sizes_are_read_as_plain_columns(tmp_path):
    (tmp_path / "t").mkdir()
    for number, kind in enumerate([pa.int32(), pa.int64()]):
        labels = pa.array([f"n{number}", "same", None]).dictionary_encode()
        columns = {"id": pa.array([5, 6, 7], kind), "name": labels, "x": [1.0, 2.0, 3.5]}
        pq.write_table(pa.table(columns), tmp_path / "t" / f"{number}.parquet")
    with open_dataset(tmp_path / "t", columns=["x"], key=["id", "name"]) as rows:
        keys = rows.keys.read_rows(1, 5)
    assert keys.to_pydict() == {"id": [6, 7, 5, 6], "name": ["same", None, "n1", "same"]}
    assert keys.schema.types == [pa.int64(), pa.string()]


@pytest.mark.parametrize("key", ["cluster", ["id", "cluster"]])
def test_a_key_with_the_name_of_a_result_is_refused_before_the_pass(key, tmp_path):
    frame = FRAME[["x", "y", "id"]].assign(cluster=FRAME["label"])
    model = ECM(n_clusters=2, random_state=0).fit(frame[["x", "y"]])
    for kind in ("folder", "pandas"):
        with open_dataset(KINDS[kind](frame, tmp_path), columns=["x", "y"], key=key) as rows:
            with pytest.raises(ValueError, match=r"key='cluster' is the name of a column of the result.*rename"):
                model.predict(rows, out=tmp_path / "clusters.parquet")
            assert not list(tmp_path.glob("*clusters*"))
            model.predict(rows, out=tmp_path / f"{kind}.npy")
            masses = model.predict_mass(rows.transform(StandardScaler().fit(X)), out=tmp_path / f"{kind}.parquet")
            assert "cluster" in pq.read_table(masses).column_names


def test_a_key_with_the_name_of_a_focal_set_is_refused_before_the_fit(tmp_path):
    frame = FRAME[["x", "y"]].assign(**{"{0}": FRAME["label"]})
    model = ECM(n_clusters=2, random_state=0, store_masses=tmp_path / "m.parquet")
    events = []
    with open_dataset(frame, key="{0}") as rows, evlearn.watching(events.append):
        with pytest.raises(ValueError, match=r"key='\{0\}' is the name of a column of the result"):
            model.fit(rows)
        assert not events
        masses = model.set_params(store_masses=True).fit(rows)
        with pytest.raises(ValueError, match=r"key='\{0\}' is the name"):
            masses.predict_mass(rows, out=tmp_path / "m.parquet")
        assert model.set_params(store_masses=tmp_path / "m.npy").fit(rows).masses_.shape[0] == N
    assert [file.name for file in tmp_path.iterdir()] == ["m.npy"]


def chunks_of_keys(*columns):
    for column in columns:
        yield pa.table({"id": column, "x": np.arange(float(len(column)))})


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ([pa.array([1, 2], pa.int32()), pa.array([2**40], pa.int64())], pa.int64()),
        ([pa.array([None, None], pa.null()), pa.array(["a", None])], pa.string()),
        ([pa.array(["a"]), pa.array([None], pa.null()), pa.array(["b"])], pa.string()),
        ([pa.array([1], pa.int16()), pa.array([2], pa.int32()), pa.array([0.5])], pa.float64()),
        ([pa.array(["a"]).dictionary_encode(), pa.array(["b"])], pa.string()),
        ([pa.array([[1, 2], None]), pa.array([[3]])], pa.list_(pa.int64())),
    ],
    ids=["wider", "null first", "null later", "twice wider", "dictionary", "lists"],
)
def test_keys_of_later_chunks_may_need_a_wider_type(columns, kind, tmp_path):
    expected = [value for column in columns for value in column.to_pylist()]
    with open_dataset(chunks_of_keys(*columns), key="id", folder=tmp_path) as rows:
        keys = rows.keys.read_rows(0, len(expected))
        assert keys.schema.field("id").type == kind
        assert keys["id"].to_pylist() == expected
        assert rows.keys.read_rows(1, 2)["id"].to_pylist() == expected[1:2]
    assert not list(tmp_path.iterdir())
    table = pa.table({"id": columns[-1], "x": np.arange(float(len(columns[-1])))})
    with open_dataset(table, key="id") as rows:  # also of a table in memory
        assert rows.keys.read_rows(0, len(table))["id"].to_pylist() == columns[-1].to_pylist()


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ([[1, 2], ["a"]], r"key column 'id' holds string in the chunk of X after 2 rows and int64 in the 2 rows"),
        ([[2**60 + 1], [0.5]], r"key column 'id' of .*X cannot be converted to double"),
    ],
)
def test_keys_of_later_chunks_that_do_not_fit_are_named(columns, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        open_dataset(chunks_of_keys(*map(pa.array, columns)), key="id", folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_keys_of_different_types_in_files_are_named(tmp_path):
    for number, column in enumerate([[1, 2], ["a"]]):
        pq.write_table(next(chunks_of_keys(pa.array(column))), tmp_path / f"{number}.parquet")
    with pytest.raises(ValueError, match=r"key column 'id' holds string in 1.parquet and int64 in 0.parquet"):
        open_dataset(tmp_path, key="id")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.xdist_group("a cluster of processes")
def test_keys_of_files_and_frames_are_the_same_with_a_cluster_as_without(tmp_path):
    (tmp_path / "t").mkdir()
    kinds = [(pa.int32(), 0), (pa.int64(), 2**40), (pa.int64(), 2**41)]
    for number, (kind, first) in enumerate(kinds):
        ids = pa.array(first + np.arange(300), kind)
        notes = pa.array([f"note {k}" for k in range(300)] if number == 1 else [None] * 300, pa.string())
        columns = {"id": ids, "note": notes, "x": X[:300, 0], "y": X[:300, 1]}
        pq.write_table(pa.table(columns), tmp_path / "t" / f"{number}.parquet", row_group_size=100)
    whole = pa.concat_tables(
        [pq.read_table(item) for item in sorted((tmp_path / "t").iterdir())], promote_options="permissive"
    )
    # Object columns, whose type is known only in each partition.
    frame = whole.to_pandas().assign(note=lambda data: data["note"].astype(object))
    model = ECM(n_clusters=2, random_state=0).fit(X)

    def results(source, folder, **options):
        with open_dataset(source, columns=["x", "y"], key=["id", "note"], **options) as rows:
            table = pq.read_table(model.predict_mass(rows, out=folder / "masses.parquet"))
        with open_dataset(source, columns=["x", "y"], key="id", **options) as rows:
            return table, model.predict_mass(rows)

    (tmp_path / "alone").mkdir()
    expected, expected_names = results(tmp_path / "t", tmp_path / "alone")
    assert expected.column_names[:2] == ["id", "note"]
    assert expected.schema.types[:2] == [pa.int64(), pa.string()]
    assert expected["id"].to_pylist() == whole["id"].to_pylist()
    assert expected_names.sample_names == tuple(map(str, whole["id"].to_pylist()))
    with (
        dask.config.set({"dataframe.convert-string": False}),
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as item,
        distributed.Client(item),
    ):
        (tmp_path / "files").mkdir()
        table, partition = results(tmp_path / "t", tmp_path / "files", block_rows=100)
        assert table.equals(expected)
        assert len(list((tmp_path / "files" / "masses.parquet").iterdir())) == 9
        assert partition == expected_names
        (tmp_path / "frames").mkdir()
        collection = dd.from_pandas(frame, npartitions=3, sort=False)
        with open_dataset(collection, columns=["x", "y"], key=["note", "id"]) as rows:
            path = model.predict_mass(rows, out=tmp_path / "frames" / "masses.parquet")
        renamed = open_dataset(collection.rename(columns={"id": "cluster"}), columns=["x", "y"], key="cluster")
        with renamed, pytest.raises(ValueError, match="key='cluster' is the name"):
            model.predict(renamed, out=tmp_path / "c.parquet")
        table = pq.read_table(path)
        assert table["note"].to_pylist() == whole["note"].to_pylist()
        assert table["id"].to_pylist() == whole["id"].to_pylist()


# Columns that are not features


@pytest.mark.parametrize("kind", ["folder", "batches", "dask"])
def test_ids_are_refused_as_features(kind, tmp_path):
    frame = FRAME[["id", "x", "y"]]
    with pytest.raises(ValueError, match=r"column 'id' holds whole numbers that are all different.*key='id'"):
        ECM(n_clusters=2).fit(KINDS[kind](frame, tmp_path))


def test_chosen_ids_and_repeated_whole_numbers_are_features(tmp_path):
    path = folder_of(FRAME.assign(count=RANDOM.integers(50, size=N))[["id", "x", "count"]], tmp_path)
    with open_dataset(path, columns=["id", "x"]) as rows:
        assert list(rows.feature_names) == ["id", "x"]
    with open_dataset(path, key="id") as rows:
        assert list(rows.feature_names) == ["x", "count"]


@pytest.mark.parametrize("kind", ["folder", "pandas", "chunks", "dask"])
def test_text_is_refused_with_advice_on_columns(kind, tmp_path):
    with pytest.raises(ValueError, match=r"'customer' holds .* not numbers; name the features.*columns=\["):
        open_dataset(KINDS[kind](FRAME, tmp_path), weight="w")


@pytest.mark.parametrize("kind", KINDS)
def test_missing_columns_are_named(kind, tmp_path):
    for name in ("columns", "key", "weight"):
        with pytest.raises(ValueError, match=r"no column 'z'; its columns are \['customer', 'x'"):
            open_dataset(KINDS[kind](FRAME, tmp_path), **{name: "z" if name == "weight" else ["z"]})
        if kind == "folder":
            return


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": "x"}, "columns must be a list of column names, got 'x'"),
        ({"columns": []}, "columns must be a list"),
        ({"columns": [0, 1]}, r"columns must be a list of column names, got \[0, 1\]"),
        ({"columns": ["x"], "key": "x"}, "'x' occurs twice"),
        ({"columns": ["x", "x"]}, "'x' occurs twice"),
        ({"weight": 3}, "weight must be the name of a column or None, got 3"),
    ],
)
def test_invalid_choices_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        open_dataset(FRAME, **options)


def test_columns_by_name_require_names():
    for data in (X, iter([X])):
        with pytest.raises(ValueError, match="ndarray has no names"):
            open_dataset(data, columns=["x"])
    with open_dataset(FRAME, columns=["x"]) as rows, pytest.raises(ValueError, match="already open"):
        open_dataset(rows, columns=["x"])


# Weights


def test_weights_are_given_once_and_to_methods_that_take_them():
    rows = open_dataset(FRAME, columns=["x", "y"], weight="w")
    with pytest.raises(ValueError, match="sample_weight is given, and X was opened with weight"):
        ECM(n_clusters=2).fit(rows, sample_weight=FRAME["w"])
    with pytest.raises(ValueError, match="BPEC does not support weights"):
        BPEC(n_clusters=2).fit(rows)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_invalid_weights_are_refused_with_their_row(bad, tmp_path):
    frame = FRAME.copy()
    frame.loc[599, "w"] = bad
    with pytest.raises(ValueError, match=r"column 'w' has weights .* row 149 of part-03.parquet"):
        open_dataset(folder_of(frame, tmp_path), columns=["x"], weight="w")


# Errors that name the row


@pytest.mark.parametrize("bad", [None, np.nan, -np.inf])
def test_a_missing_number_is_found_by_file_and_row(bad, tmp_path):
    frame = FRAME.copy()
    frame.loc[587, "y"] = bad
    path = folder_of(frame, tmp_path, n_files=20)
    folder = tmp_path / "scratch"
    folder.mkdir()
    with pytest.raises(
        ValueError, match=r"column 'y' has missing or infinite values: .* row 17 of part-19.parquet"
    ):
        open_dataset(path, columns=["x", "y"], key="id", weight="w", folder=folder)
    assert not list(folder.iterdir())
    batches = pq.ParquetFile(path / "part-19.parquet").iter_batches(7)
    with pytest.raises(ValueError, match="row 17 of X"):
        open_dataset(batches, columns=["x", "y"], key="id", weight="w", folder=folder)
    assert not list(folder.iterdir())


def test_files_with_equal_names_in_several_folders_are_distinguished(tmp_path):
    for day, values in enumerate([[1.0, 2.0], [3.0, None]]):
        (tmp_path / "t" / f"day={day}").mkdir(parents=True)
        pq.write_table(pa.table({"x": values}), tmp_path / "t" / f"day={day}" / "part-0.parquet")
    with pytest.raises(ValueError, match=r"row 1 of .*day=1.part-0.parquet"):
        open_dataset(tmp_path / "t")


def test_a_later_file_without_a_column_or_with_text_in_it_is_named(tmp_path):
    path = folder_of(FRAME, tmp_path)
    FRAME[["x"]].to_parquet(path / "part-04.parquet", index=False)
    with pytest.raises(ValueError, match=r"part-04.parquet has no column 'y'; its columns are \['x'\]"):
        open_dataset(path, columns=["x", "y"])
    FRAME.assign(y="text").to_parquet(path / "part-04.parquet", index=False)
    with pytest.raises(ValueError, match=r"column 'y' holds .*string in part-04.parquet, and not numbers"):
        open_dataset(path, columns=["x", "y"])
    FRAME.assign(more=1.0).to_parquet(path / "part-04.parquet", index=False)
    with open_dataset(path, columns=["x", "y"]) as rows:
        assert len(rows) == 2 * N


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.xdist_group("a cluster of processes")
def test_keys_on_the_workers_of_a_cluster_reach_the_results(tmp_path):
    frame = dd.from_pandas(FRAME, npartitions=4)
    frame = frame[frame["x"] > -1.5]  # and partitions of other sizes than before
    subset = FRAME[FRAME["x"] > -1.5]
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        open_dataset(frame, columns=["x", "y"], key=["customer", "id"], weight="w") as rows,
    ):
        model = ECM(n_clusters=2, random_state=0).fit(rows)
        table = pq.read_table(model.predict_mass(rows, out=tmp_path / "masses.parquet"))
        weighted = ECM(n_clusters=2, random_state=0).fit(subset[["x", "y"]], sample_weight=subset["w"])
    np.testing.assert_allclose(model.cluster_centers_, weighted.cluster_centers_)
    assert table.column_names[:2] == ["customer", "id"]
    assert table["customer"].to_pylist() == subset["customer"].tolist()
    assert table["id"].to_pylist() == subset["id"].tolist()
