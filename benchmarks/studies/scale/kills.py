"""Workers and clients killed at random moments.

``python -m benchmarks.studies.scale.kills FOLDER [--kills N] [--write]``

ECM and landmark EVCLUS on a Dask cluster of 2 processes, from a collection in memory and from Parquet files that
the workers store on their local disks. In most rounds a worker is killed (SIGKILL) at a random moment of the fit,
and the result must be identical to that of an undisturbed fit. In every fifth round the client, a process with a
checkpoint, is killed and the same program is started again, on a new cluster. No file may be left. A fit that
takes 2 minutes counts as hanging. Each kill takes a few seconds.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

from benchmarks.common import command_line, processes, record
from evlearn.cluster import ECM, EVCLUS

TIMEOUT = 120
WAYS = ("collection", "files")
METHODS = {
    "ECM": lambda **options: ECM(4, tol=0, max_iter=25, n_init=1, random_state=0, **options),
    "EVCLUS": lambda: EVCLUS(4, solver="landmark", n_landmarks=300, n_init=1, random_state=0),
}


def make_table(folder):
    """Write a table of 400,000 rows to 8 files."""
    generator = np.random.default_rng(0)
    for number in range(8):
        X = generator.normal(size=(50_000, 8)) + 5 * generator.integers(4, size=50_000)[:, None]
        pd.DataFrame(X, columns=[f"x{k}" for k in range(8)]).to_parquet(folder / f"part-{number}.parquet")
    return folder


def open_table(table, way):
    return dd.read_parquet(table) if way == "collection" else table


def fingerprint(model):
    """Return a text of results that must be identical."""
    masses = model.predict_mass(np.zeros((1, 8)) + np.arange(8)).masses
    return np.concatenate([np.ravel(masses), [model.objective_]]).tobytes().hex()


class Workers:
    """Two workers; a killed worker is replaced immediately, without a nanny, which would be slow."""

    def __init__(self, address, folder):
        program = [sys.executable, "-m", "distributed.cli.dask_worker", address]
        options = {"--nthreads": "1", "--memory-limit": "0", "--local-directory": str(folder)}
        self._command = [*program, "--no-nanny", "--no-dashboard", *chain(*options.items())]
        self._running = []

    def ensure_two(self, client):
        """Return the process ids of 2 workers, after both are alive."""
        self._running = [process for process in self._running if process.poll() is None]
        while len(self._running) < 2:
            devnull = subprocess.DEVNULL
            self._running.append(subprocess.Popen(self._command, stdout=devnull, stderr=devnull))
        expected = sorted(process.pid for process in self._running)
        while True:
            try:
                if sorted(client.run(os.getpid).values()) == expected:
                    return expected
            except OSError:  # a worker that was killed recently is still registered
                pass
            time.sleep(0.1)

    def close(self):
        """Terminate the workers."""
        for process in self._running:
            process.terminate()


@contextmanager
def cluster_of_two(folder):
    """Start a cluster; yield its client and workers."""
    with LocalCluster(n_workers=0, dashboard_address=None) as cluster, Client(cluster) as client:
        workers = Workers(cluster.scheduler_address, folder)
        try:
            workers.ensure_two(client)
            yield client, workers
        finally:
            workers.close()


def worker_killed(client, workers, method, way, table, expected, duration):
    """Run a fit during which a worker is killed."""
    worker = random.choice(workers.ensure_two(client))
    moment = random.uniform(0, duration)
    timer = threading.Timer(moment, os.kill, (worker, signal.SIGKILL))
    timer.start()
    start = time.monotonic()
    result = fingerprint(METHODS[method]().fit(open_table(table, way)))
    seconds = time.monotonic() - start
    timer.cancel()
    outcome = {"right": result == expected, "in_time": moment < seconds}
    return {"killed": "worker", **outcome, "seconds": round(seconds, 2)}


CLIENT = """
import sys
from benchmarks.studies.scale.kills import client_program
if __name__ == "__main__":
    client_program(*sys.argv[1:])
"""


def client_program(way, table, folder):
    """Fit with a checkpoint on a separate cluster; this program is killed and started again."""
    warnings.simplefilter("ignore")
    with cluster_of_two(folder):
        print("begun", flush=True)
        model = METHODS["ECM"](checkpoint=Path(folder, "fit.state")).fit(open_table(Path(table), way))
        print(fingerprint(model), flush=True)


def client_killed(way, table, folder, expected, duration):
    """Run a fit whose client is killed with its cluster, and the same program again."""
    program = folder / "client.py"
    program.write_text(CLIENT)
    command = [sys.executable, str(program), way, str(table), str(folder)]
    environment = processes.environment()
    start = time.monotonic()
    fit = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True)
    fit.stdout.readline()
    time.sleep(random.uniform(0, duration))
    os.killpg(fit.pid, signal.SIGKILL)
    fit.communicate()
    second = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=TIMEOUT, check=True)
    seconds = time.monotonic() - start
    remaining = [name for name in os.listdir(folder) if name.endswith((".state", ".rows"))]
    right = second.stdout.split()[-1] == expected and not remaining
    return {"killed": "client", "right": right, "in_time": True, "seconds": round(seconds, 2)}


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--write", action="store_true", help="write to the record")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    random.seed(0)
    folder = arguments.folder / "kills"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "table").mkdir(parents=True)
    table = make_table(folder / "table")
    runs, expected, durations = [], {}, {}
    with cluster_of_two(folder) as (client, workers):
        for method in METHODS:
            for way in WAYS:
                start = time.monotonic()
                expected[method, way] = fingerprint(METHODS[method]().fit(open_table(table, way)))
                durations[method, way] = time.monotonic() - start
                print(method, way, f"undisturbed {durations[method, way]:.1f} s", flush=True)
        signal.signal(signal.SIGALRM, raise_timeout)
        while sum(run["in_time"] for run in runs) < arguments.kills:
            case = random.choice(list(expected))
            signal.alarm(TIMEOUT)
            try:
                if len(runs) % 5 == 4:
                    case = "ECM", case[1]
                    run = client_killed(case[1], table, folder, expected[case], durations[case])
                else:
                    run = worker_killed(client, workers, *case, table, expected[case], durations[case])
            except KeyboardInterrupt:  # runs until the interrupt count
                break
            except Exception as error:
                traceback.print_exc()
                run = {"right": False, "in_time": True, "failed": f"{type(error).__name__}: {str(error)[:200]}"}
            signal.alarm(0)
            runs.append({"method": case[0], "way": case[1], **run})
            print(len(runs), runs[-1], flush=True)
    counted_runs = [run for run in runs if run["in_time"]]
    summary = {
        "kills": len(counted_runs),
        "of_clients": sum(run.get("killed") == "client" for run in counted_runs),
        "wrong": sum(not run["right"] and "failed" not in run for run in counted_runs),
        "failed": [run["failed"] for run in counted_runs if "failed" in run],
        "runs": counted_runs,
    }
    print({name: value for name, value in summary.items() if name != "runs"})
    if arguments.write:
        record.write("scale_kills", summary, packages=("dask", "distributed"))


def raise_timeout(*_):
    raise TimeoutError(f"no result after {TIMEOUT} seconds")


if __name__ == "__main__":
    main()
