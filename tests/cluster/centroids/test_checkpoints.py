"""Checkpoints: a fit that is killed continues."""

import copy
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler

from evlearn import cluster, papers, watching
from evlearn.belief import FocalSets
from evlearn.cluster import CCM
from evlearn.storage.archives import digest_of_arrays, header_array, read_archive, write_archive
from evlearn.storage.checkpoints import _to_json


@pytest.fixture(scope="module", name="X")
def samples():
    random = np.random.default_rng(0)
    data = random.normal(size=(60_000, 3)) + 5 * random.integers(3, size=60_000)[:, None]
    data[::100] *= 6
    return data


SCRIPT = """
    import sys, warnings
    import numpy as np
    from evlearn.cluster import ECM
    warnings.simplefilter("ignore")
    import evlearn.storage.checkpoints
    evlearn.storage.checkpoints._SECONDS = 0.0  # a checkpoint after every iteration
    data, checkpoint, options = sys.argv[1:]
    ECM(3, beta=2, init="random", tol=0, max_iter=60, checkpoint=checkpoint, **eval(options)).fit(np.load(data))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"random_state": 1}, {"n_init": 2, "metric": "adaptive"}, {"focal_sets": "neighbor_pairs"}],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_that_is_killed_continues_to_the_same_bits(options, tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 3)) + 4 * random.integers(3, size=20_000)[:, None]
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "fit.py").write_text(textwrap.dedent(SCRIPT))
    checkpoint = tmp_path / "fit.checkpoint"

    def start():
        arguments = [tmp_path / "x.npy", checkpoint, options]
        return subprocess.Popen([sys.executable, tmp_path / "fit.py", *map(str, arguments)])

    def fit(**settings):
        return cluster.ECM(3, beta=2, init="random", tol=0, max_iter=60, **options, **settings).fit(X)

    first = start()
    while not checkpoint.exists() and first.poll() is None:
        time.sleep(0.01)
    assert first.poll() is None, "the fit ended before its first checkpoint"
    first.send_signal(signal.SIGKILL)
    first.wait()
    # Iterations after the last checkpoint are lost; the state in the file suffices to continue.
    saved = checkpoint.read_bytes()
    resumed = fit(checkpoint=checkpoint)
    assert not checkpoint.exists()
    checkpoint.write_bytes(saved)
    process = start()  # killed again, later
    while checkpoint.exists() and checkpoint.read_bytes() == saved:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert checkpoint.exists(), "the fit ended before it was killed"
    others = [fit(checkpoint=checkpoint)]
    if "random_state" in options:  # the start is determined, so a fit without interruption can be compared
        others.append(fit())
    for other in others:
        for name in ("cluster_centers_", "objective_history_", "masses_"):
            np.testing.assert_array_equal(getattr(resumed, name), getattr(other, name))


@pytest.fixture
def checkpoint_file(tmp_path, monkeypatch, X):
    """Return the checkpoint of a fit that was interrupted after some iterations."""
    path = tmp_path / "fit.checkpoint"
    monkeypatch.setattr("evlearn.storage.checkpoints._SECONDS", 0.0)
    model = papers.ecm(3, random_state=0, checkpoint=path)
    with watching(stop_after(4)), pytest.raises(RuntimeError, match="stopped"):
        model.fit(X)
    return path


def test_an_interrupted_fit_continues_and_removes_its_checkpoint(checkpoint_file, X):
    model = papers.ecm(3, random_state=0, checkpoint=checkpoint_file).fit(X)
    np.testing.assert_array_equal(model.masses_, papers.ecm(3, random_state=0).fit(X).masses_)
    assert not checkpoint_file.exists()


def test_a_checkpoint_remains_until_the_masses_are_written(tmp_path, monkeypatch, X):
    def full_disk(*_):
        raise OSError("no space left")

    monkeypatch.setattr("evlearn.storage.checkpoints._SECONDS", 0.0)
    model = papers.ecm(3, random_state=0, checkpoint=tmp_path / "fit.checkpoint")
    with monkeypatch.context() as patch:
        patch.setattr(cluster.ECM, "_publish_masses", full_disk)
        with pytest.raises(OSError, match="no space left"):
            model.fit(X)
    assert model.checkpoint.exists()
    np.testing.assert_array_equal(model.fit(X).masses_, papers.ecm(3, random_state=0).fit(X).masses_)
    assert not model.checkpoint.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits require Unix")
@pytest.mark.parametrize("method", ["ECM", "NNEVCLUS"])
def test_without_disk_space_the_previous_checkpoint_remains(method, tmp_path, monkeypatch, X):
    import resource

    from evlearn.neural import NNEVCLUS, Solver

    monkeypatch.setattr("evlearn.storage.checkpoints._SECONDS", 0.0)
    options = {"solver": Solver("rmsprop", patience=9), "init": "random", "max_iter": 9}
    make = partial(cluster.ECM, tol=1e-9, init=X[:3]) if method == "ECM" else partial(NNEVCLUS, **options)
    path, rows = tmp_path / "state", X[:1000]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(event):
        if event.estimator == method and event.n_done == 4:
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = make(3, random_state=0).fit(rows)
        try:
            with watching(fill), pytest.raises(OSError, match=r"state could not be written: .*"):
                make(3, random_state=0, checkpoint=path).fit(rows)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert os.listdir(tmp_path) == ["state"]
        model = make(3, random_state=0, checkpoint=path).fit(rows)
    np.testing.assert_array_equal(model.masses_, expected.masses_)
    np.testing.assert_array_equal(model.objective_history_, expected.objective_history_)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 4}, "n_clusters was 3 and is 4"),
        ({"alpha": 2.0}, "alpha was 1.0 and is 2.0"),
        ({"focal_sets": "simple"}, "focal_sets was 'full' and is 'simple'"),
        ({"random_state": 7}, "random_state was 0 and is 7"),
        ({"tol": 1e-3}, "tol was 1e-06 and is 0.001"),
        ({"max_iter": 9}, "max_iter was 300 and is 9"),
        ({"metric": "adaptive"}, "metric was 'euclidean' and is 'adaptive'"),
        ({"init": np.eye(3)}, "init was 'k-means\\+\\+' and is "),
        ({"focal_sets": [(0,), {1, 2}]}, r"focal_sets was 'full' and is \[\[0\], \[1, 2\]\]"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused(checkpoint_file, X, options, message):
    with pytest.raises(ValueError, match=f"belongs to another fit: {message}"):
        papers.ecm(**{"n_clusters": 3, "random_state": 0, "checkpoint": checkpoint_file, **options}).fit(X)


def test_a_checkpoint_of_other_data_or_weights_is_refused(checkpoint_file, X):
    model = papers.ecm(3, random_state=0, checkpoint=checkpoint_file)
    for data, name in ((X[:-1], "data"), (X + 1, "data"), (X[:, :2], "data"), (X.astype(np.float32), "data")):
        with pytest.raises(ValueError, match=f"belongs to another fit: {name}"):
            model.fit(data)
    with pytest.raises(ValueError, match="belongs to another fit: sample_weight"):
        model.fit(X, sample_weight=np.ones(len(X)))
    with pytest.raises(ValueError, match="belongs to another fit"):
        CCM(3, random_state=0, checkpoint=checkpoint_file).fit(X)


@pytest.mark.parametrize("row", [1, 30_000, 59_998])
def test_a_checkpoint_of_data_that_differ_in_one_row_is_refused(checkpoint_file, X, row):
    other = X.copy()
    other[row, 1] += 1e-9
    with pytest.raises(ValueError, match="belongs to another fit: data was"):
        papers.ecm(3, random_state=0, checkpoint=checkpoint_file).fit(other)


def test_a_checkpoint_of_the_same_rows_in_another_order_is_refused(checkpoint_file, X):
    other = X.copy()
    other[[5, 6]] = other[[6, 5]]
    with pytest.raises(ValueError, match="belongs to another fit: data was"):
        papers.ecm(3, random_state=0, checkpoint=checkpoint_file).fit(other)


def test_a_checkpoint_does_not_depend_on_the_number_of_workers(checkpoint_file, X):
    model = papers.ecm(3, random_state=0, checkpoint=checkpoint_file, n_jobs=2, verbose=0).fit(
        np.asfortranarray(X)
    )
    assert model.converged_


def test_data_on_disk_are_identified_by_all_rows(tmp_path, monkeypatch, X):
    monkeypatch.setattr("evlearn.storage.checkpoints._SECONDS", 0.0)
    path = tmp_path / "fit.checkpoint"

    def chunks(change=0.0):
        other = X.copy()
        other[40_000] += change
        return np.array_split(other, 7)

    with watching(stop_after(3)), pytest.raises(RuntimeError, match="stopped"):
        papers.ecm(3, random_state=0, checkpoint=path).fit(chunks())
    with pytest.raises(ValueError, match="belongs to another fit: data was"):
        papers.ecm(3, random_state=0, checkpoint=path).fit(chunks(1e-6))
    assert papers.ecm(3, random_state=0, checkpoint=path).fit(chunks()).converged_


def stop_after(n_calls):
    calls = []

    def stop(progress):
        if progress.unit == "iteration" and progress.n_done:
            calls.append(progress.n_done)
        if len(calls) > n_calls:
            raise RuntimeError("stopped")

    return stop


def first(a):
    return 1.0


def second(a):
    return 2.0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (first, second),
        (lambda a: a + 1, lambda a: a + 2),
        (partial(first, a=1), partial(first, a=2)),
        (np.arange(3), np.arange(3) + 1),
        (FocalSets.simple(2), FocalSets.full(3)),
        (FocalSets.simple(2), FocalSets.simple(["a", "b"])),
        (MinMaxScaler((0, 1)), MinMaxScaler((0, 2))),
        (MinMaxScaler().fit([[0.0], [1.0]]), MinMaxScaler().fit([[0.0], [2.0]])),
        ({1, 2}, {1, 3}),
        (float("inf"), float("nan")),
        (np.float32(1), np.float32(2)),
        (Path("a"), Path("b")),
        (np.array(["a", None], dtype=object), np.array(["b", None], dtype=object)),
    ],
)
def test_values_of_every_kind_are_distinguished(first, second):
    assert json.dumps(_to_json(first)) == json.dumps(_to_json(copy.deepcopy(first)))
    assert json.dumps(_to_json(first)) != json.dumps(_to_json(second))


def test_objects_are_described_without_their_memory_address():
    assert "0x" not in _to_json(object())
    assert _to_json(np.random.RandomState(0)) == "RandomState"


def rewritten(path, change):
    """Return the checkpoint with changed values, and the digest of these."""
    with path.open("rb") as file:
        state = read_archive(file, ("|u1", "|b1", "<i8", "<f8"))
    header = json.loads(state.pop("header").tobytes())
    change(state)
    header["digest"] = digest_of_arrays(state)
    with path.open("wb") as file:
        write_archive(file, {"header": header_array(header), **state})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda s: s.pop("scale"), "lacks 'scale'"),
        (lambda s: s.update(more=np.ones(1)), "must not have 'more'"),
        (lambda s: s.update(scale=np.array(0.0)), "scale must hold finite numbers"),
        (lambda s: s.update(scale=np.ones(3)), "scale must be an array of 0 dimensions"),
        (lambda s: s.update(center=s["center"][:2]), "center must have shape"),
        (lambda s: s.update(starts=s["starts"][:, :2]), "starts must have shape"),
        (lambda s: s.update(starts=s["starts"][:0]), "starts must have shape"),
        (lambda s: s.update(starts=s["starts"] * np.nan), "starts must hold finite numbers"),
        (lambda s: s.update(stage=np.array(7)), "stage is 7"),
        (lambda s: s.update(stage=np.array(-1)), "stage is -1"),
        (lambda s: s.update(stage=np.array(1)), "stage is 1"),
        (lambda s: s.update(current_history=np.empty(0)), "history must have shape"),
        (lambda s: s.pop("current_history"), "structure is broken"),
        (
            lambda s: s.update(current_converged=np.ones(3, dtype=bool)),
            "converged must be an array of 0 dimensions",
        ),
        (lambda s: s.update(current_model_prototypes=np.ones((3, 2))), "prototypes must have shape"),
        (lambda s: s.update(current_model_sets=s["current_model_sets"][::-1]), "not sorted sets"),
        (lambda s: s.update(current_model_sets=np.zeros((1, 2), dtype=bool)), "sets of 3 clusters"),
    ],
)
def test_an_inconsistent_checkpoint_is_refused(checkpoint_file, X, change, reason):
    rewritten(checkpoint_file, change)
    with pytest.raises(ValueError, match=f"^checkpoint fit.checkpoint is not a state.*{reason}.*delete this file"):
        papers.ecm(3, random_state=0, checkpoint=checkpoint_file).fit(X)


@pytest.mark.slow
def test_a_compressed_checkpoint_is_not_decompressed(checkpoint_file, X):
    with zipfile.ZipFile(checkpoint_file) as file:
        members = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(checkpoint_file, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content + bytes(10_000_000))
    with pytest.raises(ValueError, match="compressed or encrypted"):
        papers.ecm(3, random_state=0, checkpoint=checkpoint_file).fit(X)


def test_a_truncated_or_foreign_or_damaged_checkpoint_is_refused(checkpoint_file, X):
    model = papers.ecm(3, random_state=0, checkpoint=checkpoint_file)
    whole = checkpoint_file.read_bytes()
    damaged = bytearray(whole)
    damaged[whole.index(b"starts") + 200] ^= 1
    foreign = checkpoint_file.with_name("foreign.npz")
    np.savez(foreign, a=np.arange(3))
    texts = [whole[:-1], whole[: len(whole) // 2], b"", b"hello", foreign.read_bytes(), bytes(damaged)]
    for text in texts:
        checkpoint_file.write_bytes(text)
        with pytest.raises(ValueError, match="Choose another name for the checkpoint; or delete this file"):
            model.fit(X)
        assert checkpoint_file.read_bytes() == text


def test_a_checkpoint_in_a_missing_folder_is_an_immediate_error(tmp_path, X):
    with pytest.raises(FileNotFoundError, match="create it first"):
        papers.ecm(3, checkpoint=tmp_path / "nothing" / "fit").fit(X)
