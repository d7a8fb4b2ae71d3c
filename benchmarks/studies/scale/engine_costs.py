"""What engines cost: to start, to stand by, for a task, for an iteration; and Dask with more workers than cores.

``python -m benchmarks.studies.scale FOLDER engines`` runs it, in an environment with dask, ray and pyspark. A task
here does nothing and returns what a task of ECM returns, some sums, so that all of its time is the engine's.
"""

import os
import sys
import time

import numpy as np

from benchmarks.common import processes, record
from benchmarks.common.watching import cpu_seconds, memory_bytes

TASKS = 300
WORKERS = (2, 10, 100)
ENGINES = ("processes", "dask", "ray", "spark")


def nothing(number):
    """A task without work; as many numbers as ECM's sums for 16 sets and 4 clusters of 8 attributes."""
    return np.zeros(49)


def start_dask():
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    return lambda count: client.gather(client.map(nothing, range(count), pure=False))


def start_ray():
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    task = ray.remote(nothing)
    return lambda count: ray.get([task.remote(number) for number in range(count)])


def start_spark():
    from benchmarks.studies.scale import engine

    context = engine.start_spark()
    return lambda count: context.parallelize(range(count), count).map(nothing).collect()


def one_engine(name):
    """Start an engine in this process, and give it tasks."""
    start = time.perf_counter()
    run = globals()[f"start_{name}"]()
    run(2)
    started = time.perf_counter() - start
    run(100)
    rounds = []
    for _ in range(3):
        mark = time.perf_counter(), cpu_seconds()
        run(TASKS)
        rounds.append((time.perf_counter() - mark[0], cpu_seconds() - mark[1]))
    wall, cpu = min(rounds)
    latency = []
    for _ in range(20):
        mark = time.perf_counter()
        run(2)
        latency.append(time.perf_counter() - mark)
    return {
        "engine": name,
        "start_seconds": round(started, 2),
        "start_cpu_seconds": round(cpu_seconds(), 2),
        "memory_bytes": memory_bytes()[0],
        "milliseconds_per_task": round(1e3 * wall / TASKS, 3),
        "cpu_milliseconds_per_task": round(1e3 * cpu / TASKS, 3),
        "latency_milliseconds": round(1e3 * float(np.median(latency)), 2),
    }


def many_workers(count):
    """Dask's scheduler with workers that are threads of one process: what is left when there is no work."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=count, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        n_tasks = max(TASKS, 10 * count)
        client.gather(client.map(nothing, range(n_tasks), pure=False))
        start = time.perf_counter()
        client.gather(client.map(nothing, range(n_tasks), pure=False))
        seconds = time.perf_counter() - start
    return {"workers": count, "tasks": n_tasks, "milliseconds_per_task": round(1e3 * seconds / n_tasks, 3)}


def ways(count=400):
    """What a task costs in the code's own ways through Dask: sums of parts that have one row each."""
    import tempfile

    import dask.array as da
    import pyarrow as pa
    import pyarrow.parquet as pq
    from distributed import Client, LocalCluster

    from evlearn.blocks import open_rows

    found = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        data = np.ones((count, 2))
        path = os.path.join(folder, "t.parquet")
        pq.write_table(pa.table({"x": data[:, 0], "y": data[:, 1]}), path, row_group_size=1)
        for name, given in {"files": path, "collection": da.from_array(data, chunks=(1, 2))}.items():
            with open_rows(given, block_rows=1) as rows:
                rows.add(sums)
                seconds = []
                for _ in range(3):
                    start = time.perf_counter()
                    rows.add(sums)
                    seconds.append(time.perf_counter() - start)
            found[name] = [{"workers": 2, "milliseconds_per_task": round(1e3 * min(seconds) / count, 3)}]
    return found


def sums(block, weights=None):
    """As many numbers as ECM's sums for 16 sets and 4 clusters of 8 features."""
    return nothing(0)


def iterations(folder, names, n_rows=10**7, n_features=8):
    """An iteration of ECM on each engine over the bare loop, in turns."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from benchmarks.common.big_data import generate
    from benchmarks.studies.scale.engine import compare
    from evlearn.blocks import open_rows

    warnings.simplefilter("ignore", ConvergenceWarning)
    with open_rows(generate(folder, n_rows, n_features), folder=folder) as rows:
        for name in names:
            # Few iterations, for the fit ends soon; many rounds, for clocks are coarse.
            one = compare(name, rows, iterations=5, rounds=9)
            one.pop("centers")
            yield one


def measure(folder, names):
    """All of it; what was found before stays for engines that are not named."""
    found = {"tasks": TASKS, "engines": [], "many_workers": [], "iterations": []}
    if set(names) < set(ENGINES):
        found |= {key: record.read("scale_engines")[key] for key in found}
    for name in [one for one in names if one != "processes"]:
        replace(found["engines"], processes.answer(__spec__.name, "engine", name))
    if not found["many_workers"]:
        found["many_workers"] = [processes.answer(__spec__.name, "workers", count) for count in WORKERS]
    found["ways"] = processes.answer(__spec__.name, "ways", 400)
    print(found["ways"], flush=True)
    for one in iterations(folder, names):
        replace(found["iterations"], one)
    return found


def replace(kept, one):
    """Put a result in the place of an earlier one of the same engine."""
    print({name: value for name, value in one.items() if not isinstance(value, list)}, flush=True)
    kept[:] = [other for other in kept if other["engine"] != one["engine"]] + [one]


if __name__ == "__main__":
    import json

    kind, value = sys.argv[1:]
    value = value if kind == "engine" else int(value)
    print(json.dumps({"engine": one_engine, "workers": many_workers, "ways": ways}[kind](value)))
    sys.stdout.flush()
    os._exit(0)  # engines have threads and children that would wait
