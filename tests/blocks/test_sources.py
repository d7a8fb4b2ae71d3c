"""Sources of tables: lists, patterns and URLs of files, Arrow streams, columns of lists."""

import os

import fsspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster

import evlearn
from evlearn import open_dataset
from evlearn.cluster import ECM

N = 400
RANDOM = np.random.default_rng(1)
X = RANDOM.normal(size=(N, 2)) + np.array([[0, 0], [9, 0]])[np.arange(N) % 2]
FRAME = pd.DataFrame({"id": RANDOM.permutation(N), "x": X[:, 0], "y": X[:, 1], "name": "text"})
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "table"
    (path / "more").mkdir(parents=True)
    for number, start in enumerate(range(0, N, 100)):
        folder = path if number < 3 else path / "more"
        pq.write_table(TABLE.slice(start, 100), folder / f"part-{number}.parquet", row_group_size=30)
    return path


def relation(folder):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    return duckdb.connect().from_arrow(TABLE)


def in_memory(folder):
    place = fsspec.filesystem("memory")
    place.put(str(folder), "/evlearn", recursive=True)
    return "memory://evlearn"


SOURCES = {
    "list of paths": lambda folder: [*sorted(folder.glob("*.parquet")), folder / "more"],
    "pattern": lambda folder: [str(folder / "part-?.parquet"), str(folder / "more" / "*.parquet")],
    "recursive pattern": lambda folder: [str(folder / "part-*"), str(folder / "m*" / "**" / "*.parquet")],
    "file URL": lambda folder: folder.as_uri(),
    "file URL patterns": lambda folder: [f"{folder.as_uri()}/part-*.parquet", f"{folder.as_uri()}/more/part-*"],
    "memory URL": in_memory,
    "reader": lambda folder: TABLE.to_reader(max_chunksize=70),
    "dataset": lambda folder: ds.dataset([str(path) for path in in_order(folder)]),
    "duckdb": relation,
    "polars lazy": lambda folder: pl.from_arrow(TABLE).lazy().with_columns(pl.col("x") * 1),
}


def in_order(folder):
    return sorted(folder.rglob("*.parquet"), key=lambda path: path.name)


@pytest.mark.parametrize("kind", SOURCES)
def test_tables_from_all_sources_have_their_keys(kind, folder, tmp_path):
    with open_dataset(SOURCES[kind](folder), columns=["x", "y"], key="id") as rows:
        model = ECM(n_clusters=2, random_state=0).fit(rows)
        table = pq.read_table(model.predict_mass(rows, out=tmp_path / "masses.parquet")).to_pandas()
        assert len(rows) == N
    merged = table.merge(FRAME, on="id", validate="one_to_one")
    expected = model.predict_mass(merged[["x", "y"]]).masses
    np.testing.assert_allclose(merged[list(model.focal_sets_.labels)], expected)


def test_rows_have_the_same_order_for_all_names_of_a_folder(tmp_path):
    for number, name in enumerate(["a/x", "a-1/x", "a/y", "a.b/x", "b/x"]):
        path = tmp_path / "o" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [float(number)]}), path)
    folder = tmp_path / "o"
    fsspec.filesystem("memory").put(str(folder), "/order", recursive=True)
    names = [folder, folder.as_uri(), f"{folder}/*/*.parquet", f"{folder.as_uri()}/*/*.parquet", "memory://order"]
    for name in names:
        with open_dataset(name) as rows:
            assert rows.take(np.arange(5)).ravel().tolist() == [0, 2, 1, 3, 4], name


@pytest.mark.parametrize("kind", SOURCES)
def test_estimators_accept_all_sources(kind, folder):
    if kind in ("polars lazy", "reader"):
        source = SOURCES[kind](folder)
        source = source.select("x", "y") if kind == "polars lazy" else TABLE.select(["x", "y"]).to_reader()
        model = ECM(n_clusters=2, random_state=0).fit(source)
        np.testing.assert_allclose(np.sort(model.cluster_centers_[:, 0]), [0, 9], atol=0.3)
        return
    with pytest.raises(ValueError, match=r"'name' holds .* name the features"):
        ECM(n_clusters=2).fit(SOURCES[kind](folder))


def test_results_are_joined_back_in_a_database(folder, tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with open_dataset(folder, columns=["x", "y"], key="id") as rows:
        model = ECM(n_clusters=2, random_state=0).fit(rows)
        out = model.predict_mass(rows, out=tmp_path / "masses.parquet")
    relation = duckdb.connect().sql(
        f"select count(*), sum(abs(m.id - t.id)) from '{out}/*.parquet' m "
        f'join \'{folder}/**/*.parquet\' t using (id) where (m."{{0}}" > m."{{1}}") = (t.x > 4.5)'
    )
    agreeing, _ = relation.fetchall()[0]
    assert agreeing in (0, N)  # clusters have no order


@pytest.mark.parametrize("kind", ["fixed", "list", "large", "files"])
def test_lists_become_several_features(kind, tmp_path):
    values = RANDOM.normal(size=(N, 5)).astype(np.float32)
    flat, ends = pa.array(values.ravel()), np.arange(N + 1) * 5
    fixed = pa.FixedSizeListArray.from_arrays(flat, 5)
    plain = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), flat)
    large = pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), flat)
    column = {"fixed": fixed, "list": plain, "large": large, "files": plain}[kind]
    table = pa.table({"id": FRAME["id"], "e": column, "x": pa.array(X[:, 0], pa.float32())})
    source = table.to_reader(max_chunksize=64)
    if kind == "files":
        source = tmp_path / "e.parquet"
        pq.write_table(table, source, row_group_size=64)
    with open_dataset(source, columns=["e", "x"], key="id") as rows:
        assert list(rows.feature_names) == ["e[0]", "e[1]", "e[2]", "e[3]", "e[4]", "x"]
        assert rows.dtype == np.float32
        np.testing.assert_array_equal(
            rows.take(np.arange(N)), np.column_stack([values, X[:, 0].astype(np.float32)])
        )


@pytest.mark.parametrize("bad", [[1.0], None, [1.0, None]])
def test_lists_that_differ_are_refused_with_their_row(bad, tmp_path):
    pq.write_table(pa.table({"e": [[1.0, 2.0]] * 7 + [bad]}), tmp_path / "e.parquet", row_group_size=3)
    with pytest.raises(ValueError, match=r"column 'e' has .* row 7 of e.parquet"):
        open_dataset(tmp_path / "e.parquet")


def test_decimals_are_numbers():
    table = pa.table({"price": pa.array(["1.50", "2.25"]).cast(pa.decimal128(10, 2))})
    with open_dataset(table.to_reader()) as rows:
        np.testing.assert_array_equal(rows.take(np.arange(2)), [[1.5], [2.25]])


def test_the_filter_of_a_dataset_is_applied(folder):
    with open_dataset(ds.dataset(folder).filter(ds.field("x") > 4), columns=["x", "y"]) as rows:
        assert len(rows) == (X[:, 0] > 4).sum()


def test_streams_without_rows_and_with_missing_values_are_refused(tmp_path):
    with pytest.raises(ValueError, match="X gave no rows"):
        open_dataset(TABLE.slice(0, 0).to_reader(), columns=["x"], folder=tmp_path)
    with pytest.raises(ValueError, match="row 2 of X"):
        open_dataset(pa.table({"x": [1.0, 2.0, None]}).to_reader(), folder=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["nothing-*.parquet", "nothing.parquet"])
def test_invalid_paths_and_urls_are_named(name, tmp_path):
    for place in (f"{tmp_path.as_uri()}/{name}", str(tmp_path / name), f"memory://nowhere/{name}"):
        with pytest.raises(FileNotFoundError, match=f"X is the path '{place}'".replace("*", ".")):
            open_dataset(place)
    with pytest.raises(ValueError, match="'nonsense://x' is a URL that cannot be opened"):
        open_dataset("nonsense://x")


def test_chunks_may_be_columns_by_name():
    chunks = [{"x": X[start : start + 100, 0], "y": X[start : start + 100, 1]} for start in range(0, N, 100)]
    for data in (chunks, iter(chunks)):
        with open_dataset(data) as rows:
            assert list(rows.feature_names) == ["x", "y"]
            np.testing.assert_array_equal(rows.take(np.arange(N)), X)


def test_masses_and_labels_are_written_to_urls(folder):
    model = ECM(n_clusters=2, random_state=0).fit(X)
    for place in (f"memory://bucket/{folder.name}/masses.parquet", f"{folder.as_uri()}/of/masses.parquet"):
        assert model.predict_mass(X, out=place) == place
        with open_dataset(place) as rows:
            np.testing.assert_array_equal(rows.take(np.arange(len(X))), model.masses_)
        with pytest.raises(FileExistsError, match="exists already"):
            model.predict_mass(X, out=place)
    labels = model.predict(X, out=f"memory://bucket/{folder.name}/labels.parquet")
    with open_dataset(labels) as rows:
        assert list(rows.feature_names) == ["cluster"]
        np.testing.assert_array_equal(rows.take(np.arange(len(X)))[:, 0], model.labels_)
    with pytest.raises(ValueError, match="supports only Parquet files"):
        model.predict(X, out="memory://bucket/labels.npy")


def test_labels_are_written_to_files(tmp_path):
    model = ECM(n_clusters=2, random_state=0).fit(X)
    labels = model.predict(X, out=tmp_path / "labels.npy")
    assert isinstance(labels, np.memmap)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, model.labels_)


@pytest.fixture(name="store")
def object_store(monkeypatch):
    """Start a server with the S3 protocol; return the ending of its URLs, and its filesystem."""
    server = pytest.importorskip("moto.server", reason="moto is not installed")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    running.start()
    host, port = running.get_host_and_port()
    options = f"?scheme=http&endpoint_override={host}:{port}&region=us-east-1&allow_bucket_creation=true"
    files, bucket = pa.fs.FileSystem.from_uri(f"s3://bucket{options}")
    files.create_dir(bucket)
    yield options, files
    running.stop()


@pytest.mark.slow
def test_tables_come_from_an_object_store(folder, store):
    options, files = store
    pa.fs.copy_files(str(folder), "bucket/table", destination_filesystem=files)
    for path in ("table", "table/part-*.parquet"):
        with open_dataset(f"s3://bucket/{path}{options}", columns=["x", "y"], key="id") as rows:
            assert len(rows) == (N if path == "table" else 300)
            assert len(rows.keys.names()) == len(rows)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.xdist_group("a cluster of processes")
def test_two_processes_without_a_shared_folder_fit_and_score_a_table_of_an_object_store(store, tmp_path):
    options, files = store
    random = np.random.default_rng(0)
    centers = random.integers(3, size=20_000)
    table = pd.DataFrame(random.normal(size=(20_000, 2)) + 6 * centers[:, None], columns=["x", "y"])
    table.insert(0, "id", [f"c{k:05d}" for k in range(20_000)])
    table["label"] = centers
    for k in range(8):
        content = pa.BufferOutputStream()
        pa.parquet.write_table(pa.Table.from_pandas(table[k * 2500 : (k + 1) * 2500]), content)
        with files.open_output_stream(f"bucket/big/part-{k}.parquet") as file:
            file.write(content.getvalue())
    url = f"s3://bucket/big{options}"
    expected = ECM(3, random_state=0).fit(table[["x", "y"]])
    cluster_options = {"n_workers": 2, "threads_per_worker": 1, "local_directory": tmp_path}
    with (
        LocalCluster(dashboard_address=None, **cluster_options) as cluster,
        Client(cluster) as client,
        open_dataset(url, columns=["x", "y"], key="id", block_rows=2000) as rows,
    ):
        model = ECM(3, random_state=0, checkpoint=f"s3://bucket/fit.state{options}").fit(rows)
        listings = client.run(lambda dask_worker: os.listdir(dask_worker.local_directory))
        parts = [{name for name in names if name.endswith(".rows")} for names in listings.values()]
        assert len(parts) == 2
        assert len(set.union(*parts)) == 8, "each worker has a folder for its parts; an idle worker may take more"
        out = model.predict_mass(rows, out=f"s3://bucket/masses.parquet{options}")
        labels = model.predict(rows, out=f"s3://bucket/labels.parquet{options}")
    assert not list(tmp_path.rglob("*.rows"))
    np.testing.assert_allclose(model.cluster_centers_, expected.cluster_centers_, rtol=0, atol=1e-9)
    assert out.endswith(options)
    masses = pa.parquet.read_table("bucket/masses.parquet", filesystem=files)
    assert masses.column_names == ["id", *model.focal_sets_.labels]
    assert masses["id"].to_pylist() == list(table["id"])
    np.testing.assert_allclose(np.column_stack(masses.columns[1:]), expected.masses_, rtol=0, atol=1e-9)
    merged = table.merge(pa.parquet.read_table("bucket/labels.parquet", filesystem=files).to_pandas(), on="id")
    assert labels.endswith(options)
    np.testing.assert_array_equal(merged["cluster"], expected.labels_)
    evlearn.save_model(model, f"s3://bucket/model.json{options}")
    loaded = evlearn.load_model(f"s3://bucket/model.json{options}")
    np.testing.assert_array_equal(loaded.cluster_centers_, model.cluster_centers_)
