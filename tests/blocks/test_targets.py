"""Targets of results: memory, files and folders."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn.active import ActiveClustering
from evlearn.blocks.targets import MemoryTarget, make_target
from evlearn.cluster import BPEC, CCM, ECM, EVCLUS
from evlearn.conformal import ConformalClusterer
from evlearn.ensemble import CredalEnsemble
from evlearn.model_selection import select_n_clusters

VALUES = np.random.default_rng(0).random((1000, 4))
COLUMNS = ["∅", "{0}", "{1}", "Ω"]


def fill(target):
    starts = range(0, 1000, 300)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda start: target.write_rows(start, VALUES[start : start + 300]), starts))
    return target.finish()


def test_memory_and_files_hold_the_same_numbers(tmp_path):
    np.testing.assert_array_equal(fill(make_target(None, len(VALUES), COLUMNS, float)), VALUES)
    values = fill(make_target(tmp_path / "m.npy", len(VALUES), COLUMNS, float))
    assert isinstance(values, np.memmap)
    np.testing.assert_array_equal(values, VALUES)
    folder = fill(make_target(tmp_path / "m.parquet", len(VALUES), COLUMNS, float))
    table = pq.read_table(folder)
    assert table.column_names == COLUMNS
    np.testing.assert_array_equal(np.column_stack([table[name] for name in COLUMNS]), VALUES)


def test_a_block_without_rows_does_not_take_the_place_of_another(tmp_path):
    target = make_target(tmp_path / "m.parquet", len(VALUES), COLUMNS, float)
    target.write_rows(0, VALUES)
    target.write_rows(0, VALUES[:0])
    assert pq.read_table(target.finish()).num_rows == len(VALUES)


def test_other_processes_fill_an_array_in_memory_through_a_file():
    target = MemoryTarget(VALUES.shape, float)
    copy = pickle.loads(pickle.dumps(target))
    pickle.loads(pickle.dumps(copy)).write_rows(0, VALUES[:500])
    copy.write_rows(500, VALUES[500:])
    np.testing.assert_array_equal(target.finish(), VALUES)


@pytest.mark.parametrize("name", ["m.npy", "m.parquet"])
def test_a_result_that_is_not_finished_has_no_name_and_can_be_abandoned(name, tmp_path):
    target = make_target(tmp_path / name, len(VALUES), COLUMNS, float)
    target.write_rows(0, VALUES[:10])
    assert not (tmp_path / name).exists()
    target.abandon()
    assert not os.listdir(tmp_path)


def make_file(path):
    path.write_text("mine")


def make_link(path):
    path.symlink_to("nowhere")


@pytest.mark.parametrize("name", ["m.npy", "m.parquet"])
@pytest.mark.parametrize("make", [make_file, os.mkdir, make_link])
def test_a_result_replaces_nothing(name, make, tmp_path):
    path = tmp_path / name
    make(path)
    before = path.lstat()
    with pytest.raises(FileExistsError, match=rf"out: .*{name} exists already.*delete it or choose another name"):
        make_target(path, len(VALUES), COLUMNS, float)
    assert path.lstat() == before
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["m.npy", "m.parquet"])
def test_a_result_does_not_replace_a_file_that_was_written_in_the_meantime(name, tmp_path):
    target = make_target(tmp_path / name, len(VALUES), COLUMNS, float)
    target.write_rows(0, VALUES)
    (tmp_path / name).write_text("mine")
    with pytest.raises(FileExistsError, match="exists already"):
        target.finish()
    target.abandon()
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).read_text() == "mine"


def methods_with_files(**files):
    yield ECM(2, random_state=0, **files)
    yield CCM(2, random_state=0, **files)
    yield BPEC(2, **files)
    del files["checkpoint"]
    yield EVCLUS(2, solver="landmark", random_state=0, **files)


def test_the_memory_map_that_is_read_is_not_replaced(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2)) + 9 * (np.arange(300) % 2)[:, None]
    path = tmp_path / "x.npy"
    np.save(path, X)
    values = np.load(path, mmap_mode="r")
    for model in methods_with_files(store_masses=path, checkpoint=None):
        with pytest.raises(FileExistsError, match=r"store_masses: .*x.npy exists already"):
            model.fit(values)
        model.set_params(store_masses=True).fit(values)
        for predict in (model.predict, model.predict_mass):
            with pytest.raises(FileExistsError, match=r"out: .*x.npy exists already"):
                predict(values, out=path)
    np.testing.assert_array_equal(np.load(path), X)
    assert os.listdir(tmp_path) == ["x.npy"]


@pytest.mark.parametrize("name", ["s.npy", "s.parquet"])
def test_a_checkpoint_is_not_the_file_of_masses(name, tmp_path):
    path, X = tmp_path / name, np.random.default_rng(0).normal(size=(100, 2))
    (tmp_path / "link").symlink_to(tmp_path)
    for other in (path, str(path), tmp_path / "link" / name, path.as_uri()):
        with pytest.raises(ValueError, match=rf"checkpoint='.*{name}' is also store_masses"):
            ECM(2, store_masses=path, checkpoint=other).fit(X)
    assert os.listdir(tmp_path) == ["link"]


def test_data_are_not_taken_for_a_checkpoint(tmp_path):
    np.save(tmp_path / "x.npy", VALUES)
    values, content = np.load(tmp_path / "x.npy", mmap_mode="r"), (tmp_path / "x.npy").read_bytes()
    with pytest.raises(ValueError, match=r"checkpoint x.npy is not a state .*Choose another name"):
        ECM(2, checkpoint=tmp_path / "x.npy").fit(values)
    assert (tmp_path / "x.npy").read_bytes() == content


@pytest.mark.parametrize(
    "inner",
    [
        lambda model: CredalEnsemble(model, n_estimators=3, random_state=0),
        lambda model: CredalEnsemble([make_pipeline(StandardScaler(), model)] * 2, random_state=0),
        lambda model: ConformalClusterer(model, random_state=0),
        lambda model: ActiveClustering(
            EVCLUS(2, solver="landmark", store_masses=model.store_masses), random_state=0
        ),
    ],
    ids=["ensemble", "pipelines", "conformal", "active"],
)
@pytest.mark.slow_cells("conformal")
def test_estimators_inside_others_do_not_write_to_the_files_of_the_user(inner, tmp_path):
    X = np.random.default_rng(0).normal(size=(90, 2)) + 9 * (np.arange(90) % 2)[:, None]
    (tmp_path / "m.npy").write_text("mine")
    (tmp_path / "state").write_text("mine")
    model = inner(ECM(2, store_masses=tmp_path / "m.npy", checkpoint=tmp_path / "state"))
    model.start(X) if isinstance(model, ActiveClustering) else model.fit(X)
    assert sorted(os.listdir(tmp_path)) == ["m.npy", "state"]
    assert {file.read_text() for file in tmp_path.iterdir()} == {"mine"}


@pytest.mark.slow
def test_trials_of_numbers_of_clusters_do_not_write_to_the_file_of_masses(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2)) + 9 * (np.arange(300) % 3)[:, None]
    pd.DataFrame(X, columns=["x", "y"]).to_parquet(tmp_path / "x.parquet")
    (tmp_path / "m.npy").write_text("mine")
    model = ECM(store_masses=tmp_path / "m.npy", random_state=0)
    result = select_n_clusters(
        model, tmp_path / "x.parquet", [2, 3, 4], criterion="nonspecificity", sample_size=1.0
    )
    assert result.best == 3
    assert sorted(os.listdir(tmp_path)) == ["m.npy", "x.parquet"]
    assert (tmp_path / "m.npy").read_text() == "mine"


def test_names_of_other_kinds_and_folders_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"out must be None or a path that ends in .npy or .parquet, got 'm.csv'"):
        make_target("m.csv", len(VALUES), COLUMNS, float)
    with pytest.raises(FileNotFoundError, match="create it first"):
        make_target(tmp_path / "nothing" / "m.npy", len(VALUES), COLUMNS, float)


def test_a_full_disk_is_an_error_and_leaves_nothing_behind(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full on this system")
    from evlearn.blocks.scratch import MappedFile

    with pytest.raises(OSError, match="No space left"):
        MappedFile("/dev/full", "<f8", VALUES.shape).write(0, VALUES)


@pytest.mark.skipif(os.name == "nt", reason="limits on files are of Unix")
@pytest.mark.parametrize("name", ["m.npy", "m.parquet"])
def test_masses_that_exceed_the_disk_are_an_error_that_names_the_file(name, tmp_path):
    import resource

    model = ECM(3, random_state=0).fit(np.random.default_rng(0).random((100, 2)))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(OSError, match=rf"{name} could not be written: .*") as error:
            model.predict_mass(np.random.default_rng(1).random((20_000, 2)), out=tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert error.value.__cause__ is not None
    assert not os.listdir(tmp_path)
