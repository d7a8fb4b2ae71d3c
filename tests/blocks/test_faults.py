"""Leftovers of killed processes, full disks, and stalled clusters."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import evlearn
from evlearn import open_dataset
from evlearn.blocks import dask_dataset
from evlearn.blocks.dataset import ArrayDataset
from evlearn.blocks.scratch import Scratch, explain_full_disk
from evlearn.cluster import ECM
from evlearn.utils.files import atomic_write, make_temporary, remove

FIT = """
import signal, sys, time, warnings

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup ignores

import numpy as np
import evlearn
from evlearn import open_dataset
from evlearn.cluster import ECM

warnings.simplefilter("ignore")
table, folder, linger = sys.argv[1:]

def watch(event):
    if event.stage == "copy":
        print("copied", flush=True)
    if linger == "yes" and event.unit == "iteration" and event.n_done > 3:
        time.sleep(0.6)
        print("at iteration", event.n_done, flush=True)

model = ECM(3, init=[[0, 0], [1, 1], [2, 2]], tol=0, max_iter=12, random_state=0, checkpoint=folder + "/fit.state")
with evlearn.watching(watch), open_dataset(table, folder=folder) as rows:
    model.fit(rows)
    model.predict_mass(rows, out=folder + "/masses.npy")
print("centers", model.cluster_centers_.tobytes().hex(), flush=True)
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    random = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("table") / "table.parquet"
    X = random.normal(size=(30_000, 2)) + 4 * random.integers(3, size=30_000)[:, None]
    pd.DataFrame(X, columns=["x", "y"]).to_parquet(path)
    return path


def start(table, folder, linger):
    arguments = [sys.executable, "-c", FIT, str(table), str(folder), linger]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_after_a_kill_the_next_start_resumes_with_the_copy_and_removes_it(name, table, tmp_path):
    expected = start(table, tmp_path, "no").communicate()[0]
    assert expected.startswith("copied")
    os.remove(tmp_path / "masses.npy")
    fit = start(table, tmp_path, "yes")
    assert any(line.startswith("at iteration 7") for line in fit.stdout)
    fit.send_signal(getattr(signal, name))
    fit.communicate()
    assert (tmp_path / "fit.state").exists()
    assert len(list(tmp_path.glob(".evlearn-*.rows"))) == 1
    for file_name in ("masses.npy", "fit.state"):  # as if it had been killed while it wrote these
        (tmp_path / f".{file_name}.evlearn-0123456789abcdef").touch()
    output = start(table, tmp_path, "no").communicate()[0]
    assert "copied" not in output, "the copy was there, as whole as when it was left"
    assert output.splitlines()[-1] == expected.splitlines()[-1]
    assert os.listdir(tmp_path) == ["masses.npy"]


@pytest.mark.slow
def test_files_of_running_processes_are_not_removed(tmp_path):
    first = Scratch(tmp_path)
    other = "import sys; from evlearn.blocks.scratch import Scratch; Scratch(sys.argv[1])"
    subprocess.run([sys.executable, "-c", other, str(tmp_path)], check=True)
    second = Scratch(tmp_path)
    assert set(os.listdir(tmp_path)) == {Path(first.path).name, Path(second.path).name}
    first.close()
    second.close()
    assert not os.listdir(tmp_path)


def test_files_of_killed_processes_are_removed(tmp_path):
    for name in (".evlearn-0123456789abcdef.rows", ".evlearn-0123456789abcdef-fedcba9876543210.rows"):
        (tmp_path / name).write_bytes(b"1234")
    (tmp_path / "others.rows").touch()
    Scratch(tmp_path).close()
    assert os.listdir(tmp_path) == ["others.rows"]


def test_files_of_the_user_are_not_removed(tmp_path):
    names = [
        "evlearn-survey-2024.rows",
        "evlearn-0123456789abcdef.rows",
        ".evlearn-survey.rows",
        ".evlearn-0123456789abcdef.rows.bak",
        ".evlearn-0123456789ABCDEF.rows",
        ".m.npy.202411180510",  # a backup with a time in its name
        ".m.npy.evlearn-2024",
        ".other.npy.evlearn-0123456789abcdef",
    ]
    for name in names:
        (tmp_path / name).write_text("mine")
    (tmp_path / "mine").write_text("mine")
    (tmp_path / ".evlearn-0000000000000000.rows").symlink_to("mine")
    open_dataset(iter([np.eye(3)]), folder=tmp_path).close()
    ECM(2, random_state=0).fit(np.eye(9)).predict_mass(np.eye(9), out=tmp_path / "m.npy")
    remaining = {file.name for file in tmp_path.iterdir()}
    assert remaining == {*names, "mine", ".evlearn-0000000000000000.rows", "m.npy"}


def test_files_of_other_users_are_not_removed(tmp_path, monkeypatch):
    path = tmp_path / ".evlearn-0123456789abcdef.rows"
    path.touch()
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1, raising=False)
    Scratch(tmp_path).close()
    assert path.exists()


def test_a_copy_is_reused_only_if_it_is_complete_and_of_the_same_files(table, tmp_path):
    with open_dataset(table, folder=tmp_path) as rows:
        (scratch,) = tmp_path.glob(".evlearn-*.rows")
        backup = tmp_path / "kept"
        shutil.copy(scratch, backup)
        expected = rows.take(np.arange(len(rows)))

    def is_copied(change):
        shutil.copy(backup, scratch)
        change()
        events = []
        with evlearn.watching(events.append), open_dataset(table, folder=tmp_path) as rows:
            np.testing.assert_array_equal(rows.take(np.arange(len(rows))), expected)
        assert os.listdir(tmp_path) == ["kept"]
        return bool(events)

    assert not is_copied(lambda: None)
    assert is_copied(lambda: os.truncate(scratch, backup.stat().st_size - 1))
    assert is_copied(lambda: os.utime(table, ns=(0, time.time_ns())))


def test_temporary_results_of_killed_processes_are_removed(tmp_path):
    (tmp_path / ".m.json.evlearn-0123456789abcdef").touch()
    (tmp_path / ".m.parquet.evlearn-0123456789abcdef").mkdir()
    (tmp_path / ".m.parquet.evlearn-0123456789abcdef" / "part-0.parquet").touch()
    living = make_temporary(tmp_path / "m.json")
    with atomic_write(tmp_path / "m.json") as file:
        file.write(b"{}")
    remove(make_temporary(tmp_path / "m.parquet", folder=True))
    assert sorted(os.listdir(tmp_path)) == sorted([Path(living).name, "m.json"])
    remove(living)


def test_a_disk_without_space_is_reported_before_a_copy(table, tmp_path, monkeypatch):
    # All rows share the memory of 1 row, so that the array is larger than any disk.
    endless = ArrayDataset(np.broadcast_to(np.float64(1), (10**13, 2)), folder=tmp_path)
    with pytest.raises(OSError, match=r"no space .*1.6e\+05 GB are needed.*folder=") as error:
        endless.__getstate__()
    assert str(tmp_path) in str(error.value)
    assert not os.listdir(tmp_path)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=479_999))
    with pytest.raises(OSError, match=r"0.00048 GB are needed.*open_dataset\(X, folder="):
        open_dataset(table, folder=tmp_path)
    assert not os.listdir(tmp_path)


def test_a_disk_that_fills_up_is_reported():
    with (
        pytest.raises(OSError, match=r"the folder somewhere has no space .*it is full.*folder="),
        explain_full_disk("somewhere"),
        open("/dev/full", "wb") as file,
    ):
        file.write(b"1" * 100_000)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.xdist_group("a cluster of processes")
def test_a_stalled_cluster_is_an_error(table, monkeypatch, caplog):
    monkeypatch.setattr(dask_dataset, "_CHECK_INTERVAL", 0.3)
    monkeypatch.setattr(dask_dataset, "_MAX_IDLE", 1)
    with (
        LocalCluster(n_workers=0, dashboard_address=None) as cluster_without_workers,
        Client(cluster_without_workers),
    ):
        for data in (table, dd.from_pandas(pd.read_parquet(table), npartitions=2)):
            with pytest.raises(RuntimeError, match=r"done nothing for .*: it has no workers. Start") as error:
                ECM(3).fit(data)
            assert "paused" not in str(error.value)
    assert "Waiting for the Dask cluster: no result for" in caplog.text


def test_a_checkpoint_and_a_model_are_written_to_urls(table):
    place = "memory://faults/fit.state"

    class StopError(Exception):
        pass

    def stop(event):
        if event.unit == "iteration" and event.n_done == 8:
            raise StopError
        time.sleep(0.2)

    def model():
        return ECM(3, init=[[0, 0], [1, 1], [2, 2]], tol=1e-12, random_state=0, checkpoint=place)

    expected = model().set_params(checkpoint=None).fit(table)
    with pytest.raises(StopError), evlearn.watching(stop):
        model().fit(table)
    from fsspec import filesystem

    assert filesystem("memory").exists("/faults/fit.state")
    other = pd.read_parquet(table)
    other.iloc[17, 1] += 1
    with pytest.raises(ValueError, match="belongs to another fit: data was"):
        model().fit(iter([other]))
    partition = model().fit(table)
    np.testing.assert_array_equal(partition.cluster_centers_, expected.cluster_centers_)
    assert not filesystem("memory").exists("/faults/fit.state")
    evlearn.save_model(partition, "memory://faults/model.json")
    loaded = evlearn.load_model("memory://faults/model.json")
    np.testing.assert_array_equal(loaded.predict(table), partition.predict(table))
    with pytest.raises(FileNotFoundError, match=r"faults/none.json"):
        evlearn.load_model("memory://faults/none.json")
