"""Trials of the robustness study beyond inputs: files, threads, workers that die, disks that are full, Ctrl-C.

Each trial is a function. It returns what happened, and raises where that is not what should have happened.
"""

import json
import os
import pickle
import signal
import subprocess
import tempfile
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import joblib
import numpy as np

import evlearn
from benchmarks.studies.robustness import inputs
from benchmarks.studies.robustness.grid import Watched, subjects
from evlearn import watching
from evlearn.cluster import ECM, EVCLUS
from evlearn.datasets import make_fourclass

SECONDS = 240


def expect(condition, otherwise):
    """Let a trial fail unless something holds."""
    if not condition:
        raise AssertionError(otherwise)


def fitted():
    """All estimators, fitted to good data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: (one.make().fit(*one.data), one.data[0]) for name, one in subjects().items()}


def answer(model, X):
    """What a fitted estimator says about rows, as bytes."""
    if hasattr(model, "predict_mass"):
        return model.predict_mass(X).masses.tobytes()
    return (model.predict_proba if hasattr(model, "predict_proba") else model.transform)(X).tobytes()


def pickles():
    """Pickle and joblib files."""
    models = fitted()
    for name, (model, X) in models.items():
        expect(answer(pickle.loads(pickle.dumps(model)), X) == answer(model, X), f"{name}: pickle")
        with tempfile.TemporaryDirectory() as folder:
            joblib.dump(model, Path(folder, "model"))
            expect(answer(joblib.load(Path(folder, "model")), X) == answer(model, X), f"{name}: joblib")
    return f"the same bits from all {len(models)} estimators"


def model_files():
    """save_model and load_model."""
    same, refused = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        for name, (model, X) in fitted().items():
            try:
                evlearn.save_model(model, path)
            except TypeError as error:
                expect("joblib.dump" in str(error) or "must be one of" in str(error), f"{name}: {error}")
                refused.append(name)
                continue
            expect(answer(evlearn.load_model(path), X) == answer(model, X), name)
            same.append(name)
    return f"the same bits from {len(same)} estimators; refused, with a reason: {', '.join(refused)}"


def damaged_files():
    """Model files with a piece cut out or replaced."""
    random = np.random.default_rng(0)
    model, X = ECM(3, random_state=0).fit(inputs.good_data()[0]), inputs.good_data()[0]
    outcomes = {"refused": 0, "read, and predicts": 0}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        evlearn.save_model(model, path)
        text = path.read_text()
        for _ in range(500):
            start, length = random.integers(len(text)), random.integers(1, 40)
            path.write_text(text[:start] + str(random.choice(["", "0", "null", "-1"])) + text[start + length :])
            try:
                found = evlearn.load_model(path).predict_mass(X).masses
            except ValueError as error:
                expect(str(error), "an error without a message")
                outcomes["refused"] += 1
            else:
                expect(np.isfinite(found).all(), f"NaN masses from {path.read_text()}")
                outcomes["read, and predicts"] += 1
    return ", ".join(f"{how}: {count}" for how, count in outcomes.items()) + " (of 500)"


def threads():
    """Eight threads ask one fitted estimator at once."""
    models = fitted()
    for name, (model, X) in models.items():
        expected = answer(model, X)
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _, m=model, x=X: answer(m, x), range(40)))
        expect(all(one == expected for one in found), name)
    return f"the same bits as one thread, from all {len(models)} estimators"


def long_fit(data, action=lambda: None):
    """A fit that does something after its third iteration."""
    model = ECM(3, init=[[0, 0], [1, 1], [2, 2]], tol=0, max_iter=20, random_state=0)
    with warnings.catch_warnings(), watching(lambda progress: action() if progress.done == 3 else None):
        warnings.simplefilter("ignore")
        return model.fit(data)


@contextmanager
def dask_workers():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        client.wait_for_workers(2)
        yield client


def dask_worker_killed_in_ecm():
    """A Dask worker is killed in the middle of a fit of ECM."""
    X = make_fourclass(100_000, random_state=0)[0]
    with dask_workers() as client:
        expected = long_fit(X)
        victim = next(iter(client.run(os.getpid).values()))
        model = long_fit(X, lambda: os.kill(victim, signal.SIGKILL))
        expect(victim not in client.run(os.getpid).values(), "nobody was killed")
    expect(np.array_equal(model.masses_, expected.masses_), "another result")
    return "the fit went on to the same bits"


def dask_worker_killed_in_evclus():
    """A Dask worker is killed in the middle of a fit of EVCLUS with landmarks."""
    X = make_fourclass(400_000, random_state=0)[0]
    model = EVCLUS(4, solver="landmark", n_landmarks=100, random_state=0)
    with dask_workers() as client:
        model.fit(X)  # workers load what they need
        start = time.monotonic()
        expected = model.fit(X).masses_
        seconds = time.monotonic() - start
        victim = next(iter(client.run(os.getpid).values()))
        threading.Timer(seconds / 2, os.kill, (victim, signal.SIGKILL)).start()
        found = model.fit(X).masses_
        expect(victim not in client.run(os.getpid).values(), "nobody was killed before the end")
    expect(np.array_equal(found, expected), "another result")
    return "the fit went on to the same bits"


def loky_worker_killed():
    """A joblib process is killed in the middle of a fit of ECM."""
    X = make_fourclass(100_000, random_state=0)[0]
    expected = long_fit(X)
    with joblib.parallel_config("loky", n_jobs=2):
        try:
            model = long_fit(X, kill_a_child)
        except joblib.externals.loky.process_executor.TerminatedWorkerError as error:
            told = f"{type(error).__name__}: {str(error).split(';')[0].split('.')[0]}"
        else:
            expect(np.array_equal(model.masses_, expected.masses_), "another result")
            told = "the fit went on to the same bits"
        expect(np.array_equal(long_fit(X).masses_, expected.masses_), "the next fit is not as it should be")
    return f"{told}; the next fit is as it should be"


def kill_a_child():
    found = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "loky"], capture_output=True, text=True)
    workers = [int(one) for one in found.stdout.split()]
    expect(workers, "no worker to kill")
    os.kill(workers[-1], signal.SIGKILL)


@contextmanager
def small_disk(options="size=40k"):
    """A disk of its own, soon full; without the right to mount one, a limit on the size of files."""
    with tempfile.TemporaryDirectory() as folder:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True)
        if mounted.returncode == 0:
            try:
                yield Path(folder), "a disk of 40 kB"
            finally:
                subprocess.run(["umount", "-l", folder], check=True)
            return
        import resource

        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, limits[1]))
        try:
            yield Path(folder), "files limited to 40 kB"
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def full_disk():
    """The disk is full while results are written."""
    X = np.random.default_rng(0).random((40_000, 2))
    model = ECM(3, random_state=0).fit(X)
    ways = {
        "m.npy": lambda path: model.predict_mass(X, out=path),
        "m.parquet": lambda path: model.predict_mass(X, out=path),
        "fit.npy": lambda path: ECM(3, masses_file=path, random_state=0).fit(X),
        "partition.npz": model.credal_partition_.save,
        "partition.json": model.credal_partition_.save,
        "model.json": lambda path: evlearn.save_model(EVCLUS(2, random_state=0).fit(X[:2000]), path),
    }
    told = refusals(ways, small_disk)
    return f"{told[0]}; the message names the file, and nothing is left of it ({', '.join(ways)})"


def refusals(ways, disk):
    """Each way to write ends in an error that names the file, and leaves nothing behind."""
    with disk() as (folder, what):
        for name, write in ways.items():
            try:
                write(folder / name)
            except OSError as error:
                expect(name in str(error), f"{name}: {error}")
            else:
                raise AssertionError(f"{name} was written")
            expect(not os.listdir(folder), f"{name} left {os.listdir(folder)}")
    return what, name


def read_only_folder():
    """The folder cannot be written to."""
    X = inputs.good_data()[0]
    model = ECM(3, random_state=0).fit(X)
    ways = {
        "m.npy": lambda path: model.predict_mass(X, out=path),
        "m.parquet": lambda path: model.predict_mass(X, out=path),
        "model.json": lambda path: evlearn.save_model(model, path),
    }

    @contextmanager
    def locked():
        with small_disk("ro,size=40k") as (folder, _):
            folder.chmod(0o500) if os.access(folder, os.W_OK) else None
            if os.access(folder, os.W_OK):
                raise AssertionError("no way to lock a folder here")
            yield folder, "locked"

    refusals(ways, locked)
    return "an error that names the file"


def existing_targets():
    """Results where there is a file already."""
    X = inputs.good_data()[0]
    model = ECM(3, random_state=0).fit(X)
    with tempfile.TemporaryDirectory() as folder:
        npy, parquet = Path(folder, "m.npy"), Path(folder, "m.parquet")
        npy.write_text("something else")
        parquet.mkdir()
        for path in (npy, parquet):
            try:
                model.predict_mass(X, out=path)
            except FileExistsError as error:
                expect(path.name in str(error), f"{path.name}: {error}")
            else:
                raise AssertionError(f"{path.name} was replaced")
        expect(npy.read_text() == "something else", "the file was changed")
    return "existing files and folders are refused and stay as they are"


def interrupted():
    """Ctrl-C in the middle of a fit."""
    from evlearn.neural import NNEVCLUS

    many, some = make_fourclass(1_000_000, random_state=0)[0], make_fourclass(1500, random_state=0)[0]
    outcomes = []
    for kind, X in ((ECM, many), (EVCLUS, some), (NNEVCLUS, some)):
        # With its defaults ECM would be over before the key is pressed.
        slow = {"beta": 2, "init": "random"} if kind is ECM else {}
        model, name = kind(4, tol=0, max_iter=10**6, random_state=0, **slow), kind.__name__
        key = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        key.start()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                model.fit(X)
                key.cancel()
            except KeyboardInterrupt:
                expect(not hasattr(model, "focal_sets_"), f"{name} is half fitted")
                outcomes.append(f"{name}: KeyboardInterrupt, not fitted")
                continue
        expect(any("interrupt" in str(one.message).lower() for one in said), f"{name} says nothing: {said}")
        expect(np.isfinite(model.predict_mass(some).masses).all(), name)
        outcomes.append(f"{name}: a warning, and the result so far")
    return "; ".join(outcomes)


TRIALS = (
    pickles,
    model_files,
    damaged_files,
    threads,
    dask_worker_killed_in_ecm,
    dask_worker_killed_in_evclus,
    loky_worker_killed,
    full_disk,
    read_only_folder,
    existing_targets,
    interrupted,
)


def serve(pipe):
    """Run the trials that are asked for."""
    known = {one.__name__: one for one in TRIALS}
    pipe.send("ready")
    while True:
        try:
            name = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(("ok", known[name]()))
        except Exception as error:  # told in the table
            pipe.send(("failed", f"{type(error).__name__}: {error}"[:500]))


def run(names=None, seconds=SECONDS):
    """What was tried, how it ended and what happened, one dictionary for each trial."""
    found = []
    for trial in TRIALS:
        if names and trial.__name__ not in names:
            continue
        watched = Watched(serve)
        outcome, happened = watched.run(trial.__name__, seconds)
        watched.close()
        found.append({"trial": trial.__name__, "what": trial.__doc__, "outcome": outcome, "happened": happened})
    return found


if __name__ == "__main__":
    print(json.dumps(run(os.sys.argv[1:]), indent=1))
