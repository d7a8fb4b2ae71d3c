"""Equal results of all engines: threads, processes, a Dask cluster, and Ray if it is installed."""

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

from evlearn import open_dataset, watching
from evlearn.cluster import BPEC, CCM, ECM, EVCLUS

NAMES = ["x", "y", "z"]

# Warnings of Dask about lost workers and closed clusters are irrelevant to these tests.
pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.slow,
    pytest.mark.xdist_group("a cluster of processes"),
]


@pytest.fixture(scope="module", name="X")
def samples():
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


# 10 iterations suffice to show differences in bits.
SETTINGS = {"n_clusters": 3, "max_iter": 10, "random_state": 0}
METHODS = {
    "ECM": lambda: ECM(**SETTINGS),
    "adaptive ECM": lambda: ECM(metric="adaptive", **SETTINGS),
    "chosen pairs": lambda: ECM(focal_sets="neighbor_pairs", n_init=2, **SETTINGS),
    "CCM": lambda: CCM(**SETTINGS),
    "BPEC": lambda: BPEC(n_neighbors=50, **SETTINGS),
    "EVCLUS": lambda: EVCLUS(solver="landmark", n_landmarks=100, **SETTINGS),
}


def predict_masses(model, X):
    return model.predict_mass(X).masses


@pytest.mark.parametrize("method", METHODS)
def test_data_in_memory_in_files_in_chunks_and_on_dask_give_the_same_masses(method, X, folder, client, tmp_path):
    new = X[:1000]
    expected = predict_masses(METHODS[method]().fit(X), new)
    array = da.from_array(X, chunks=(2500, 2))
    frame = dd.read_parquet(folder)
    np.testing.assert_array_equal(predict_masses(METHODS[method]().fit(np.array_split(X, 9)), new), expected)
    with open_dataset(folder, folder=tmp_path) as rows:
        np.testing.assert_array_equal(predict_masses(METHODS[method]().fit(rows), new), expected)
    for data in (array, frame, folder):  # the workers read files in parts, too
        np.testing.assert_allclose(predict_masses(METHODS[method]().fit(data), new), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_threads_processes_and_a_dask_cluster_give_the_same_bits(method, X, folder, client):
    expected = METHODS[method]().fit(X)
    from_files = METHODS[method]().fit(folder)
    for config in ({"backend": "threading", "n_jobs": 2}, {"backend": "loky", "n_jobs": 2}, {"backend": "dask"}):
        with joblib.parallel_config(**config):
            np.testing.assert_array_equal(METHODS[method]().fit(X).masses_, expected.masses_)
            model = METHODS[method]().fit(folder)
        np.testing.assert_array_equal(predict_masses(model, X), predict_masses(from_files, X))


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
    collection = dd.from_pandas(frame, npartitions=3)
    labels, masses = model.predict(collection), model.predict_mass(collection)
    assert isinstance(labels, dd.Series)
    assert labels.divisions == collection.divisions
    result = masses.compute()
    assert list(result.columns) == list(model.focal_sets_.labels)
    pd.testing.assert_index_equal(result.index, frame.index)
    np.testing.assert_array_equal(result, model.masses_)
    np.testing.assert_array_equal(labels.compute(), model.labels_)
    assert list(model.predict_proba(collection).columns) == list(model.focal_sets_.frame)


def test_a_fit_reads_partitions_once_and_a_prediction_reads_them_when_it_is_computed(X, client, tmp_path):
    def load(part):
        (tmp_path / f"{part[0]}-{os.getpid()}-{time.monotonic_ns()}").touch()
        return pd.DataFrame(X[part[0] : part[0] + 1000], columns=NAMES)

    def n_reads():
        number = len(os.listdir(tmp_path))
        for name in os.listdir(tmp_path):
            (tmp_path / name).unlink()
        return number

    frame = dd.from_map(load, [[k * 1000] for k in range(20)], meta=pd.DataFrame(X[:0], columns=NAMES))
    model = ECM(3, random_state=0, max_iter=3, tol=1).fit(frame)
    assert n_reads() == 20
    for lazy in (model.predict(frame), model.predict_mass(frame), model.masses_):
        assert n_reads() == 0
        assert len(lazy.compute()) == 20_000
        assert n_reads() == 20


def test_sample_weights_are_distributed_with_the_rows(X, client):
    weights = np.random.default_rng(1).random(len(X))
    expected = ECM(3, random_state=0).fit(X, sample_weight=weights)
    array = da.from_array(X, chunks=(2500, 3))
    for sample_weight in (weights, da.from_array(weights, chunks=5000)):
        model = ECM(3, random_state=0).fit(array, sample_weight=sample_weight)
        np.testing.assert_allclose(model.cluster_centers_, expected.cluster_centers_, rtol=0, atol=1e-8)
    with joblib.parallel_config(backend="dask"):
        model = ECM(3, random_state=0).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(model.masses_, expected.masses_)


def weighted_sum(rows, weights):
    return float((rows.sum(axis=1) * weights).sum())


def test_weights_survive_the_loss_of_their_workers(X, client):
    with open_dataset(da.from_array(X[:1000], chunks=(100, 3))) as rows:
        weights = rows.align(np.arange(1000.0))
        expected = list(rows.map(weighted_sum, weights))
        for victim in client.run(os.getpid).values():
            os.kill(victim, signal.SIGKILL)
        assert list(rows.map(weighted_sum, weights)) == expected
    client.wait_for_workers(2)


@pytest.mark.parametrize("method", METHODS)
def test_empty_chunks_do_not_change_the_result(method, X, client, tmp_path):
    ordered = X[np.argsort(X[:, 0])][-3000:]
    array = da.from_array(X[np.argsort(X[:, 0])], chunks=(2500, 3))
    filtered = array[array[:, 0] >= ordered[0, 0]]  # 6 of the 8 chunks are empty
    model = METHODS[method]().fit(filtered)
    expected = METHODS[method]().fit(ordered)
    np.testing.assert_allclose(
        predict_masses(model, X[:1000]), predict_masses(expected, X[:1000]), rtol=0, atol=1e-7
    )
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    for name in ("predict", "predict_proba", "predict_set"):
        result = getattr(expected, name)(filtered).compute()
        np.testing.assert_allclose(result, getattr(expected, name)(ordered), rtol=0, atol=1e-12)
    table = pq.read_table(expected.predict_mass(filtered, out=tmp_path / "m.parquet"))
    assert table.num_rows == 3000


def test_frames_in_chunks_must_have_the_columns_of_the_fit(X):
    frame = pd.DataFrame(X[:1000], columns=NAMES)
    model = ECM(3, random_state=0).fit(frame)
    with pytest.raises(ValueError, match="and the model was fitted to"):
        model.predict(iter([frame[["y", "x", "z"]]]))


def large_sum(rows, weights):
    return np.full(60_000, rows.sum())


@pytest.mark.parametrize("source", ["collection", "files of workers", "processes"])
def test_results_are_summed_as_they_arrive_and_not_stored(source, client, tmp_path):
    data = np.ones((6400, 2))
    pq.write_table(pa.table({"x": data[:, 0], "y": data[:, 1]}), tmp_path / "t.parquet", row_group_size=10)
    collection = da.from_array(data, chunks=(10, 2)) if source == "collection" else tmp_path / "t.parquet"
    options = {"folder": tmp_path} if source == "processes" else {}
    with joblib.parallel_config("loky", n_jobs=2), open_dataset(collection, block_rows=10, **options) as rows:
        rows.add(weighted_sum, rows.align(np.ones(6400)))  # imports modules and starts processes
        tracemalloc.start()
        result = rows.add(large_sum)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert (result == 12_800).all()
    assert peak < 30e6, "640 results need 307 MB"  # 20 MB if other tests use half of the machine


def test_missing_values_on_the_workers_raise_an_error(client):
    data = np.ones((100, 2))
    data[77, 1] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        ECM(2).fit(da.from_array(data, chunks=(10, 2)))


def test_masses_of_all_kinds_of_data_can_be_stored_in_memory_maps_and_parquet_files(X, folder, client, tmp_path):
    expected = ECM(3, random_state=0).fit(X)
    data = {"array": X, "files": folder, "dask": da.from_array(X, chunks=(2500, 3))}
    for name, source in data.items():
        memory_map = expected.predict_mass(source, out=tmp_path / f"{name}.npy").masses
        assert isinstance(memory_map, np.memmap)
        np.testing.assert_allclose(memory_map, expected.masses_, rtol=0, atol=1e-9)
        path = expected.predict_mass(source, out=tmp_path / f"{name}.parquet")
        table = pq.read_table(path)
        assert table.column_names == list(expected.focal_sets_.labels)
        stored_masses = np.column_stack([column.to_numpy() for column in table.columns])
        np.testing.assert_allclose(stored_masses, expected.masses_, rtol=0, atol=1e-9)
    model = ECM(3, random_state=0, store_masses=tmp_path / "fit.npy").fit(folder)
    assert isinstance(model.credal_partition_.masses, np.memmap)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_a_fit_to_data_on_disk_stores_no_masses_and_refers_to_predict_mass(X, folder):
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


def test_an_open_data_set_can_be_used_for_several_fits(folder):
    with open_dataset(folder) as rows:
        first, second = ECM(3, random_state=0).fit(rows), ECM(4, random_state=0).fit(rows)
        assert len(first.predict(rows)) == len(second.predict(rows)) == 20_000


def test_evclus_accepts_data_outside_memory_only_with_landmarks(folder):
    with pytest.raises(ValueError, match="use solver='landmark'"):
        EVCLUS(3).fit(folder)
    with pytest.raises(ValueError, match="needs a matrix in memory"):
        EVCLUS(3, solver="landmark", metric="precomputed").fit(folder)


def fit_with_action(data, action=lambda: None):
    """Fit a model, and run an action after the third iteration."""
    model = ECM(3, init=[[0, 0, 0], [1, 1, 1], [2, 2, 2]], tol=0, max_iter=20, random_state=0)
    with warnings.catch_warnings(), watching(lambda progress: action() if progress.n_done == 3 else None):
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(data)


@pytest.mark.parametrize("engine", ["joblib", "collection"])
def test_the_loss_of_a_worker_during_a_fit_changes_no_bits(engine, X, folder, client):
    client.wait_for_workers(2)
    data = folder if engine == "joblib" else da.from_array(X, chunks=(2500, 3)).persist()
    victim = next(iter(client.run(os.getpid).values()))
    with joblib.parallel_config(backend="dask"):
        expected = fit_with_action(data)
        model = fit_with_action(data, lambda: os.kill(victim, signal.SIGKILL))
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


def test_no_temporary_files_remain(X, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # no other test writes there
    with joblib.parallel_config(backend="loky", n_jobs=2):
        ECM(3, random_state=0).fit(X)
        ECM(3, random_state=0).fit(folder)
    assert not [name for name in os.listdir(tmp_path) if name.startswith("evlearn")]
