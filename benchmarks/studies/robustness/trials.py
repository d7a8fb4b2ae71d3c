"""Trials of the robustness study: files, threads, killed workers, full disks, Ctrl-C.

Each trial is a function that returns a description of what happened, and raises an error if that is wrong.
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
from benchmarks.studies.robustness.grid import WorkerProcess, subjects
from evlearn import watching
from evlearn.cluster import ECM, EVCLUS
from evlearn.datasets import make_fourclass

SECONDS = 240


def expect(condition, message):
    """Raise AssertionError unless a condition holds."""
    if not condition:
        raise AssertionError(message)


def fit_all():
    """Return all estimators, fitted to valid data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: (subject.make().fit(*subject.data), subject.data[0]) for name, subject in subjects().items()}


def answer(model, X):
    """Return the predictions of a fitted estimator as bytes."""
    if hasattr(model, "predict_mass"):
        return model.predict_mass(X).masses.tobytes()
    return (model.predict_proba if hasattr(model, "predict_proba") else model.transform)(X).tobytes()


def pickles():
    """Load models from pickle and joblib files."""
    models = fit_all()
    for name, (model, X) in models.items():
        expect(answer(pickle.loads(pickle.dumps(model)), X) == answer(model, X), f"{name}: pickle")
        with tempfile.TemporaryDirectory() as folder:
            joblib.dump(model, Path(folder, "model"))
            expect(answer(joblib.load(Path(folder, "model")), X) == answer(model, X), f"{name}: joblib")
    return f"the same bits from all {len(models)} estimators"


def model_files():
    """Load models that were saved by save_model."""
    identical, rejected = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        for name, (model, X) in fit_all().items():
            try:
                evlearn.save_model(model, path)
            except TypeError as error:
                expect("joblib.dump" in str(error) or "must be one of" in str(error), f"{name}: {error}")
                rejected.append(name)
                continue
            expect(answer(evlearn.load_model(path), X) == answer(model, X), name)
            identical.append(name)
    return f"the same bits from {len(identical)} estimators; refused, with a reason: {', '.join(rejected)}"


def damaged_files():
    """Load model files with removed or replaced parts."""
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
                masses = evlearn.load_model(path).predict_mass(X).masses
            except ValueError as error:
                expect(str(error), "an error without a message")
                outcomes["refused"] += 1
            else:
                expect(np.isfinite(masses).all(), f"NaN masses from {path.read_text()}")
                outcomes["read, and predicts"] += 1
    return ", ".join(f"{outcome}: {count}" for outcome, count in outcomes.items()) + " (of 500)"


def threads():
    """Use a fitted estimator in 8 threads."""
    models = fit_all()
    for name, (model, X) in models.items():
        expected = answer(model, X)
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _, m=model, x=X: answer(m, x), range(40)))
        expect(all(result == expected for result in answers), name)
    return f"the same bits as one thread, from all {len(models)} estimators"


def long_fit(data, action=lambda: None):
    """Fit ECM, with an action after the third iteration."""
    model = ECM(3, init=[[0, 0], [1, 1], [2, 2]], tol=0, max_iter=20, random_state=0)
    with warnings.catch_warnings(), watching(lambda progress: action() if progress.n_done == 3 else None):
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
    """Kill a Dask worker during a fit of ECM."""
    X = make_fourclass(100_000, random_state=0)[0]
    with dask_workers() as client:
        expected = long_fit(X)
        worker = next(iter(client.run(os.getpid).values()))
        model = long_fit(X, lambda: os.kill(worker, signal.SIGKILL))
        expect(worker not in client.run(os.getpid).values(), "no worker was killed")
    expect(np.array_equal(model.masses_, expected.masses_), "different result")
    return "the fit went on to the same bits"


def dask_worker_killed_in_evclus():
    """Kill a Dask worker during a fit of EVCLUS with landmarks."""
    X = make_fourclass(400_000, random_state=0)[0]
    model = EVCLUS(4, solver="landmark", n_landmarks=100, random_state=0)
    with dask_workers() as client:
        model.fit(X)  # workers load modules
        start = time.monotonic()
        expected = model.fit(X).masses_
        seconds = time.monotonic() - start
        worker = next(iter(client.run(os.getpid).values()))
        threading.Timer(seconds / 2, os.kill, (worker, signal.SIGKILL)).start()
        masses = model.fit(X).masses_
        expect(worker not in client.run(os.getpid).values(), "no worker was killed before the end")
    expect(np.array_equal(masses, expected), "different result")
    return "the fit went on to the same bits"


def loky_worker_killed():
    """Kill a joblib process during a fit of ECM."""
    X = make_fourclass(100_000, random_state=0)[0]
    expected = long_fit(X)
    with joblib.parallel_config("loky", n_jobs=2):
        try:
            model = long_fit(X, kill_child)
        except joblib.externals.loky.process_executor.TerminatedWorkerError as error:
            description = f"{type(error).__name__}: {str(error).split(';')[0].split('.')[0]}"
        else:
            expect(np.array_equal(model.masses_, expected.masses_), "different result")
            description = "the fit went on to the same bits"
        expect(np.array_equal(long_fit(X).masses_, expected.masses_), "wrong result of the next fit")
    return f"{description}; the next fit is as it should be"


def kill_child():
    listing = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "loky"], capture_output=True, text=True)
    workers = [int(word) for word in listing.stdout.split()]
    expect(workers, "no worker to kill")
    os.kill(workers[-1], signal.SIGKILL)


@contextmanager
def small_disk(options="size=40k"):
    """Provide a small separate disk, or limit the size of files without the permission to mount one."""
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
    """Write results to a full disk."""
    X = np.random.default_rng(0).random((40_000, 2))
    model = ECM(3, random_state=0).fit(X)
    writers = {
        "m.npy": lambda path: model.predict_mass(X, out=path),
        "m.parquet": lambda path: model.predict_mass(X, out=path),
        "fit.npy": lambda path: ECM(3, store_masses=path, random_state=0).fit(X),
        "partition.npz": model.credal_partition_.save,
        "partition.json": model.credal_partition_.save,
        "model.json": lambda path: evlearn.save_model(EVCLUS(2, random_state=0).fit(X[:2000]), path),
    }
    description = check_refusals(writers, small_disk)
    return f"{description[0]}; the message names the file, and nothing is left of it ({', '.join(writers)})"


def check_refusals(writers, disk):
    """Check that each writer raises an error that contains the name of the file, and leaves no file."""
    with disk() as (folder, limit):
        for name, write in writers.items():
            try:
                write(folder / name)
            except OSError as error:
                expect(name in str(error), f"{name}: {error}")
            else:
                raise AssertionError(f"{name} was written")
            expect(not os.listdir(folder), f"{name} left {os.listdir(folder)}")
    return limit, name


def read_only_folder():
    """Write results to a read-only folder."""
    X = inputs.good_data()[0]
    model = ECM(3, random_state=0).fit(X)
    writers = {
        "m.npy": lambda path: model.predict_mass(X, out=path),
        "m.parquet": lambda path: model.predict_mass(X, out=path),
        "model.json": lambda path: evlearn.save_model(model, path),
    }

    @contextmanager
    def locked():
        with small_disk("ro,size=40k") as (folder, _):
            folder.chmod(0o500) if os.access(folder, os.W_OK) else None
            if os.access(folder, os.W_OK):
                raise AssertionError("this folder cannot be locked")
            yield folder, "locked"

    check_refusals(writers, locked)
    return "an error that names the file"


def existing_targets():
    """Write results to existing files and folders."""
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
    """Interrupt a fit by Ctrl-C."""
    from evlearn.neural import NNEVCLUS

    large, small = make_fourclass(1_000_000, random_state=0)[0], make_fourclass(1500, random_state=0)[0]
    outcomes = []
    for kind, X in ((ECM, large), (EVCLUS, small), (NNEVCLUS, small)):
        # With its defaults, ECM would stop before the interrupt.
        slow = {"beta": 2, "init": "random"} if kind is ECM else {}
        model, name = kind(4, tol=0, max_iter=10**6, random_state=0, **slow), kind.__name__
        key = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        key.start()
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            try:
                model.fit(X)
                key.cancel()
            except KeyboardInterrupt:
                expect(not hasattr(model, "focal_sets_"), f"{name} is half fitted")
                outcomes.append(f"{name}: KeyboardInterrupt, not fitted")
                continue
        expect(
            any("interrupt" in str(warning.message).lower() for warning in records),
            f"{name} says nothing: {records}",
        )
        expect(np.isfinite(model.predict_mass(small).masses).all(), name)
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
    """Run requested trials."""
    registry = {trial.__name__: trial for trial in TRIALS}
    pipe.send("ready")
    while True:
        try:
            name = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(("ok", registry[name]()))
        except Exception as error:  # reported in the table
            pipe.send(("failed", f"{type(error).__name__}: {error}"[:500]))


def run(names=None, seconds=SECONDS):
    """Run trials and return a dict for each: its description, its outcome and what happened."""
    results = []
    for trial in TRIALS:
        if names and trial.__name__ not in names:
            continue
        worker = WorkerProcess(serve)
        outcome, happened = worker.run(trial.__name__, seconds)
        worker.close()
        results.append({"trial": trial.__name__, "what": trial.__doc__, "outcome": outcome, "happened": happened})
    return results


if __name__ == "__main__":
    print(json.dumps(run(os.sys.argv[1:]), indent=1))
