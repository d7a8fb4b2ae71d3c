"""Workers and clients killed at random moments.

``python -m benchmarks.studies.scale.kills FOLDER [--kills N] [--write]``

ECM and landmark EVCLUS on a Dask cluster of two processes, from a collection in memory and from Parquet files that
the workers keep on their own disks. In most rounds a worker is killed (SIGKILL) at a random moment of the fit, and
the result must be that of an undisturbed fit, to the last bit. In every fifth round it is the client, a process
with a checkpoint, and the same program is started again; then the cluster, too, is another one. No file may be
left. A fit that takes two minutes hangs. Some seconds for each kill.
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

HANGS = 120
WAYS = ("collection", "files")
METHODS = {
    "ECM": lambda **more: ECM(4, tol=0, max_iter=25, n_init=1, random_state=0, **more),
    "EVCLUS": lambda: EVCLUS(4, solver="landmark", n_landmarks=300, n_init=1, random_state=0),
}


def make_table(folder):
    """A table of 400,000 rows in eight files."""
    draw = np.random.default_rng(0)
    for number in range(8):
        X = draw.normal(size=(50_000, 8)) + 5 * draw.integers(4, size=50_000)[:, None]
        pd.DataFrame(X, columns=[f"x{k}" for k in range(8)]).to_parquet(folder / f"part-{number}.parquet")
    return folder


def opened(table, way):
    return dd.read_parquet(table) if way == "collection" else table


def told(model):
    """What must be the same to the last bit."""
    masses = model.predict_mass(np.zeros((1, 8)) + np.arange(8)).masses
    return np.concatenate([np.ravel(masses), [model.objective_]]).tobytes().hex()


class Workers:
    """Two workers without a nanny, which would take its time: one that is killed is replaced at once."""

    def __init__(self, address, folder):
        program = [sys.executable, "-m", "distributed.cli.dask_worker", address]
        options = {"--nthreads": "1", "--memory-limit": "0", "--local-directory": str(folder)}
        self._command = [*program, "--no-nanny", "--no-dashboard", *chain(*options.items())]
        self._running = []

    def two(self, client):
        """The processes of two workers, once there are two that live."""
        self._running = [one for one in self._running if one.poll() is None]
        while len(self._running) < 2:
            quiet = subprocess.DEVNULL
            self._running.append(subprocess.Popen(self._command, stdout=quiet, stderr=quiet))
        wanted = sorted(one.pid for one in self._running)
        while True:
            try:
                if sorted(client.run(os.getpid).values()) == wanted:
                    return wanted
            except OSError:  # one that was killed a moment ago is still in the list
                pass
            time.sleep(0.1)

    def close(self):
        """Let them go."""
        for one in self._running:
            one.terminate()


@contextmanager
def cluster_of_two(folder):
    """A client, and the workers that it has."""
    with LocalCluster(n_workers=0, dashboard_address=None) as cluster, Client(cluster) as client:
        workers = Workers(cluster.scheduler_address, folder)
        try:
            workers.two(client)
            yield client, workers
        finally:
            workers.close()


def worker_killed(client, workers, method, way, table, expected, longest):
    """A fit during which a worker is killed."""
    victim = random.choice(workers.two(client))
    moment = random.uniform(0, longest)
    timer = threading.Timer(moment, os.kill, (victim, signal.SIGKILL))
    timer.start()
    start = time.monotonic()
    found = told(METHODS[method]().fit(opened(table, way)))
    seconds = time.monotonic() - start
    timer.cancel()
    found = {"right": found == expected, "in_time": moment < seconds}
    return {"killed": "worker", **found, "seconds": round(seconds, 2)}


CLIENT = """
import sys
from benchmarks.studies.scale.kills import client_program
if __name__ == "__main__":
    client_program(*sys.argv[1:])
"""


def client_program(way, table, folder):
    """What is killed and started again: a fit with a checkpoint, on a cluster of its own."""
    warnings.simplefilter("ignore")
    with cluster_of_two(folder):
        print("begun", flush=True)
        model = METHODS["ECM"](checkpoint=Path(folder, "fit.state")).fit(opened(Path(table), way))
        print(told(model), flush=True)


def client_killed(way, table, folder, expected, longest):
    """A fit whose client is killed with its cluster, and the same program again."""
    program = folder / "client.py"
    program.write_text(CLIENT)
    command = [sys.executable, str(program), way, str(table), str(folder)]
    environment = processes.environment()
    start = time.monotonic()
    fit = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True)
    fit.stdout.readline()
    time.sleep(random.uniform(0, longest))
    os.killpg(fit.pid, signal.SIGKILL)
    fit.communicate()
    again = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=HANGS, check=True)
    seconds = time.monotonic() - start
    left = [name for name in os.listdir(folder) if name.endswith((".state", ".rows"))]
    right = again.stdout.split()[-1] == expected and not left
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
    runs, expected, longest = [], {}, {}
    with cluster_of_two(folder) as (client, workers):
        for method in METHODS:
            for way in WAYS:
                start = time.monotonic()
                expected[method, way] = told(METHODS[method]().fit(opened(table, way)))
                longest[method, way] = time.monotonic() - start
                print(method, way, f"undisturbed {longest[method, way]:.1f} s", flush=True)
        signal.signal(signal.SIGALRM, hung)
        while sum(one["in_time"] for one in runs) < arguments.kills:
            case = random.choice(list(expected))
            signal.alarm(HANGS)
            try:
                if len(runs) % 5 == 4:
                    case = "ECM", case[1]
                    one = client_killed(case[1], table, folder, expected[case], longest[case])
                else:
                    one = worker_killed(client, workers, *case, table, expected[case], longest[case])
            except KeyboardInterrupt:  # what has been done by then counts
                break
            except Exception as error:
                traceback.print_exc()
                one = {"right": False, "in_time": True, "failed": f"{type(error).__name__}: {str(error)[:200]}"}
            signal.alarm(0)
            runs.append({"method": case[0], "way": case[1], **one})
            print(len(runs), runs[-1], flush=True)
    counted = [one for one in runs if one["in_time"]]
    found = {
        "kills": len(counted),
        "of_clients": sum(one.get("killed") == "client" for one in counted),
        "wrong": sum(not one["right"] and "failed" not in one for one in counted),
        "failed": [one["failed"] for one in counted if "failed" in one],
        "runs": counted,
    }
    print({name: value for name, value in found.items() if name != "runs"})
    if arguments.write:
        record.write("scale_kills", found, packages=("dask", "distributed"))


def hung(*_):
    raise TimeoutError(f"no result after {HANGS} seconds")


if __name__ == "__main__":
    main()
