"""One text on every engine: threads, processes, a real Dask cluster, and Ray where it is installed."""

import importlib.util
import os
import signal
import tempfile
import time
import tracemalloc
import warnings

import dask.array as da
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster
from sklearn.exceptions import ConvergenceWarning

from evlearn import watching
from evlearn.blocks import open_rows
from evlearn.cluster import BPEC, CCM, ECM, EVCLUS

NAMES = ["x", "y", "z"]

# What a cluster says when it is told to lose a worker, or to go; it concerns nobody here.
pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.slow,
    pytest.mark.xdist_group("a cluster of processes"),
]


@pytest.fixture(scope="module", name="X")
def objects():
    random = np.random.default_rng(0)
    data = random.normal(size=(20_000, 3)) + 5 * random.integers(3, size=20_000)[:, None]
    data[::100] *= 6
    return data


@pytest.fixture(scope="module")
def folder(X, tmp_path_factory):
    path = tmp_path_factory.mktemp("parquet")
    for number, part in enumerate(np.array_split(X, 5)):
        pd.DataFrame(part, columns=NAMES).to_parquet(path / f"part-{number}.parquet")
    return path


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


# Bits are the same, or not, after ten iterations as after a hundred.
FEW = {"n_clusters": 3, "max_iter": 10, "random_state": 0}
METHODS = {
    "ECM": lambda: ECM(**FEW),
    "adaptive ECM": lambda: ECM(metric="adaptive", **FEW),
    "chosen pairs": lambda: ECM(focal_sets="neighbor_pairs", n_init=2, **FEW),
    "CCM": lambda: CCM(**FEW),
    "BPEC": lambda: BPEC(n_neighbors=50, **FEW),
    "EVCLUS": lambda: EVCLUS(solver="landmark", n_landmarks=100, **FEW),
}


def masses(model, X):
    return model.predict_mass(X).masses


@pytest.mark.parametrize("method", METHODS)
def test_data_in_memory_in_files_in_chunks_and_on_dask_give_the_same_masses(method, X, folder, client, tmp_path):
    new = X[:1000]
    expected = masses(METHODS[method]().fit(X), new)
    array = da.from_array(X, chunks=(2500, 2))
    frame = dd.read_parquet(folder)
    np.testing.assert_array_equal(masses(METHODS[method]().fit(np.array_split(X, 9)), new), expected)
    with open_rows(folder, folder=tmp_path) as rows:
        np.testing.assert_array_equal(masses(METHODS[method]().fit(rows), new), expected)
    for data in (array, frame, folder):  # files too are in parts, on the disks of the workers
        np.testing.assert_allclose(masses(METHODS[method]().fit(data), new), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_bits_on_threads_processes_and_a_dask_cluster(method, X, folder, client):
    expected = METHODS[method]().fit(X)
    from_files = METHODS[method]().fit(folder)
    for config in ({"backend": "threading", "n_jobs": 2}, {"backend": "loky", "n_jobs": 2}, {"backend": "dask"}):
        with joblib.parallel_config(**config):
            np.testing.assert_array_equal(METHODS[method]().fit(X).masses_, expected.masses_)
            model = METHODS[method]().fit(folder)
        np.testing.assert_array_equal(masses(model, X), masses(from_files, X))


def test_a_dask_collection_gives_lazy_masses_and_labels(X, folder, client):
    model = ECM(3, random_state=0).fit(da.from_array(X, chunks=(2500, 3)))
    expected = ECM(3, random_state=0).fit(X)
    assert isinstance(model.masses_, da.Array)
    assert isinstance(model.labels_, da.Array)
    np.testing.assert_allclose(model.masses_.compute(), expected.masses_, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    frame = dd.read_parquet(folder)
    assert list(ECM(3, random_state=0).fit(frame).feature_names_in_) == NAMES
    for name in ("predict", "predict_proba", "predict_set"):
        lazy = getattr(expected, name)(da.from_array(X, chunks=(2500, 3)))
        assert isinstance(lazy, da.Array)
        np.testing.assert_allclose(lazy.compute(), getattr(expected, name)(X), rtol=0, atol=1e-12)


def test_a_frame_on_dask_keeps_its_index(X, client):
    frame = pd.DataFrame(X[:3000], columns=NAMES, index=pd.RangeIndex(7000, 10_000, name="row"))
    model = ECM(3, random_state=0).fit(frame)
    given = dd.from_pandas(frame, npartitions=3)
    labels, masses = model.predict(given), model.predict_mass(given)
    assert isinstance(labels, dd.Series)
    assert labels.divisions == given.divisions
    found = masses.compute()
    assert list(found.columns) == list(model.focal_sets_.labels)
    pd.testing.assert_index_equal(found.index, frame.index)
    np.testing.assert_array_equal(found, model.masses_)
    np.testing.assert_array_equal(labels.compute(), model.labels_)
    assert list(model.predict_proba(given).columns) == list(model.focal_sets_.frame)


def test_a_fit_reads_partitions_once_and_a_prediction_not_before_it_is_computed(X, client, tmp_path):
    def load(part):
        (tmp_path / f"{part[0]}-{os.getpid()}-{time.monotonic_ns()}").touch()
        return pd.DataFrame(X[part[0] : part[0] + 1000], columns=NAMES)

    def n_reads():
        found = len(os.listdir(tmp_path))
        for name in os.listdir(tmp_path):
            (tmp_path / name).unlink()
        return found

    frame = dd.from_map(load, [[k * 1000] for k in range(20)], meta=pd.DataFrame(X[:0], columns=NAMES))
    model = ECM(3, random_state=0, max_iter=3, tol=1).fit(frame)
    assert n_reads() == 20
    for lazy in (model.predict(frame), model.predict_mass(frame), model.masses_):
        assert n_reads() == 0
        assert len(lazy.compute()) == 20_000
        assert n_reads() == 20


def test_sample_weights_travel_with_the_rows(X, client):
    weights = np.random.default_rng(1).random(len(X))
    expected = ECM(3, random_state=0).fit(X, sample_weight=weights)
    array = da.from_array(X, chunks=(2500, 3))
    for given in (weights, da.from_array(weights, chunks=5000)):
        model = ECM(3, random_state=0).fit(array, sample_weight=given)
        np.testing.assert_allclose(model.cluster_centers_, expected.cluster_centers_, rtol=0, atol=1e-8)
    with joblib.parallel_config(backend="dask"):
        model = ECM(3, random_state=0).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(model.masses_, expected.masses_)


def weighted_sum(rows, weights):
    return float((rows.sum(axis=1) * weights).sum())


def test_weights_outlive_the_workers_that_held_them(X, client):
    with open_rows(da.from_array(X[:1000], chunks=(100, 3))) as rows:
        weights = rows.align(np.arange(1000.0))
        expected = list(rows.map(weighted_sum, weights))
        for victim in client.run(os.getpid).values():
            os.kill(victim, signal.SIGKILL)
        assert list(rows.map(weighted_sum, weights)) == expected
    client.wait_for_workers(2)


@pytest.mark.parametrize("method", METHODS)
def test_chunks_that_a_filter_left_empty_do_no_harm(method, X, client, tmp_path):
    ordered = X[np.argsort(X[:, 0])][-3000:]
    array = da.from_array(X[np.argsort(X[:, 0])], chunks=(2500, 3))
    filtered = array[array[:, 0] >= ordered[0, 0]]  # of eight chunks, six are empty
    model = METHODS[method]().fit(filtered)
    expected = METHODS[method]().fit(ordered)
    np.testing.assert_allclose(masses(model, X[:1000]), masses(expected, X[:1000]), rtol=0, atol=1e-7)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    for name in ("predict", "predict_proba", "predict_set"):
        found = getattr(expected, name)(filtered).compute()
        np.testing.assert_allclose(found, getattr(expected, name)(ordered), rtol=0, atol=1e-12)
    table = pq.read_table(expected.predict_mass(filtered, out=tmp_path / "m.parquet"))
    assert table.num_rows == 3000


def test_frames_in_chunks_must_have_the_columns_of_the_fit(X):
    frame = pd.DataFrame(X[:1000], columns=NAMES)
    model = ECM(3, random_state=0).fit(frame)
    with pytest.raises(ValueError, match="and the model was fitted to"):
        model.predict(iter([frame[["y", "x", "z"]]]))


def large_sum(rows, weights):
    return np.full(60_000, rows.sum())


@pytest.mark.parametrize("way", ["collection", "files of workers", "processes"])
def test_results_are_added_as_they_come_and_not_kept(way, client, tmp_path):
    data = np.ones((6400, 2))
    pq.write_table(pa.table({"x": data[:, 0], "y": data[:, 1]}), tmp_path / "t.parquet", row_group_size=10)
    given = da.from_array(data, chunks=(10, 2)) if way == "collection" else tmp_path / "t.parquet"
    options = {"folder": tmp_path} if way == "processes" else {}
    with joblib.parallel_config("loky", n_jobs=2), open_rows(given, block_rows=10, **options) as rows:
        rows.add(weighted_sum, rows.align(np.ones(6400)))  # what is imported and started by then
        tracemalloc.start()
        found = rows.add(large_sum)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert (found == 12_800).all()
    assert peak < 30e6, "640 results have 307 MB together"  # 20 MB where another suite takes half of the machine


def test_missing_values_on_the_workers_are_an_error_here(client):
    data = np.ones((100, 2))
    data[77, 1] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        ECM(2).fit(da.from_array(data, chunks=(10, 2)))


def test_masses_go_to_a_memory_map_or_to_parquet_from_every_kind_of_data(X, folder, client, tmp_path):
    expected = ECM(3, random_state=0).fit(X)
    data = {"array": X, "files": folder, "dask": da.from_array(X, chunks=(2500, 3))}
    for name, given in data.items():
        mapped = expected.predict_mass(given, out=tmp_path / f"{name}.npy").masses
        assert isinstance(mapped, np.memmap)
        np.testing.assert_allclose(mapped, expected.masses_, rtol=0, atol=1e-9)
        path = expected.predict_mass(given, out=tmp_path / f"{name}.parquet")
        table = pq.read_table(path)
        assert table.column_names == list(expected.focal_sets_.labels)
        written = np.column_stack([column.to_numpy() for column in table.columns])
        np.testing.assert_allclose(written, expected.masses_, rtol=0, atol=1e-9)
    model = ECM(3, random_state=0, masses_file=tmp_path / "fit.npy").fit(folder)
    assert isinstance(model.credal_partition_.masses, np.memmap)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_data_on_disk_keep_no_masses_and_say_where_to_get_them(X, folder):
    model = ECM(3, random_state=0).fit(folder)
    for name in ("masses_", "labels_", "credal_partition_"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match="predict_mass"):
            getattr(model, name)
    np.testing.assert_array_equal(model.predict(folder), ECM(3, random_state=0).fit(X).labels_)


def test_columns_must_be_those_of_the_fit(folder, tmp_path):
    model = ECM(3, random_state=0).fit(folder)
    other = pd.DataFrame(np.ones((4, 3)), columns=["x", "y", "other"])
    other.to_parquet(tmp_path / "other.parquet")
    with pytest.raises(ValueError, match="'other'"):
        model.predict(tmp_path / "other.parquet")
    other[["x", "y"]].to_parquet(tmp_path / "two.parquet")
    with pytest.raises(ValueError, match="2 features, but ECM is expecting 3"):
        model.predict(tmp_path / "two.parquet")


def test_rows_that_are_opened_once_serve_several_fits(folder):
    with open_rows(folder) as rows:
        first, second = ECM(3, random_state=0).fit(rows), ECM(4, random_state=0).fit(rows)
        assert len(first.predict(rows)) == len(second.predict(rows)) == 20_000


def test_only_landmarks_take_data_that_are_not_in_memory(folder):
    with pytest.raises(ValueError, match="use solver='landmark'"):
        EVCLUS(3).fit(folder)
    with pytest.raises(ValueError, match="needs a matrix in memory"):
        EVCLUS(3, solver="landmark", metric="precomputed").fit(folder)


def long_fit(data, action=lambda: None):
    """A fit that does something after its third iteration."""
    model = ECM(3, init=[[0, 0, 0], [1, 1, 1], [2, 2, 2]], tol=0, max_iter=20, random_state=0)
    with warnings.catch_warnings(), watching(lambda progress: action() if progress.done == 3 else None):
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(data)


@pytest.mark.parametrize("way", ["joblib", "collection"])
def test_a_worker_killed_in_the_middle_of_a_fit_changes_no_bit(way, X, folder, client):
    client.wait_for_workers(2)
    data = folder if way == "joblib" else da.from_array(X, chunks=(2500, 3)).persist()
    victim = next(iter(client.run(os.getpid).values()))
    with joblib.parallel_config(backend="dask"):
        expected = long_fit(data)
        model = long_fit(data, lambda: os.kill(victim, signal.SIGKILL))
    assert model.n_iter_ == expected.n_iter_ > 3
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    assert model.objective_history_.tolist() == expected.objective_history_.tolist()
    client.wait_for_workers(2)
    assert victim not in client.run(os.getpid).values()


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")
def test_ray_gives_the_same_bits(X):
    import ray
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        register_ray()
        with joblib.parallel_config("ray", n_jobs=2):
            model = ECM(3, random_state=0).fit(X)
    finally:
        ray.shutdown()
    np.testing.assert_array_equal(model.masses_, ECM(3, random_state=0).fit(X).masses_)


def test_no_temporary_file_stays(X, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where no other test writes
    with joblib.parallel_config(backend="loky", n_jobs=2):
        ECM(3, random_state=0).fit(X)
        ECM(3, random_state=0).fit(folder)
    assert not [name for name in os.listdir(tmp_path) if name.startswith("evlearn")]
