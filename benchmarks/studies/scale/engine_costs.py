"""Costs of engines: start, idle memory, tasks, iterations; and Dask with more workers than cores.

``python -m benchmarks.studies.scale FOLDER engines`` runs it, in an environment with dask, ray and pyspark. A task
does no work and returns an array as large as that of a task of ECM, so its time is the overhead of the engine.
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


def empty_task(number):
    """Return as many numbers as ECM's sums for 16 sets and 4 clusters of 8 features, without work."""
    return np.zeros(49)


def start_dask():
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    return lambda count: client.gather(client.map(empty_task, range(count), pure=False))


def start_ray():
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    task = ray.remote(empty_task)
    return lambda count: ray.get([task.remote(number) for number in range(count)])


def start_spark():
    from benchmarks.studies.scale import engine

    context = engine.start_spark()
    return lambda count: context.parallelize(range(count), count).map(empty_task).collect()


def measure_engine(name):
    """Start an engine in this process, and run tasks."""
    start = time.perf_counter()
    run = globals()[f"start_{name}"]()
    run(2)
    start_seconds = time.perf_counter() - start
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
        "start_seconds": round(start_seconds, 2),
        "start_cpu_seconds": round(cpu_seconds(), 2),
        "memory_bytes": memory_bytes()[0],
        "milliseconds_per_task": round(1e3 * wall / TASKS, 3),
        "cpu_milliseconds_per_task": round(1e3 * cpu / TASKS, 3),
        "latency_milliseconds": round(1e3 * float(np.median(latency)), 2),
    }


def many_workers(count):
    """Measure empty tasks of Dask's scheduler with workers that are threads of one process."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=count, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        n_tasks = max(TASKS, 10 * count)
        client.gather(client.map(empty_task, range(n_tasks), pure=False))
        start = time.perf_counter()
        client.gather(client.map(empty_task, range(n_tasks), pure=False))
        seconds = time.perf_counter() - start
    return {"workers": count, "tasks": n_tasks, "milliseconds_per_task": round(1e3 * seconds / n_tasks, 3)}


def ways(count=400):
    """Measure the cost of tasks through Dask for each kind of data: sums of parts with one row each."""
    import tempfile

    import dask.array as da
    import pyarrow as pa
    import pyarrow.parquet as pq
    from distributed import Client, LocalCluster

    from evlearn import open_dataset

    results = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        data = np.ones((count, 2))
        path = os.path.join(folder, "t.parquet")
        pq.write_table(pa.table({"x": data[:, 0], "y": data[:, 1]}), path, row_group_size=1)
        for name, source in {"files": path, "collection": da.from_array(data, chunks=(1, 2))}.items():
            with open_dataset(source, block_rows=1) as rows:
                rows.add(sums)
                seconds = []
                for _ in range(3):
                    start = time.perf_counter()
                    rows.add(sums)
                    seconds.append(time.perf_counter() - start)
            results[name] = [{"workers": 2, "milliseconds_per_task": round(1e3 * min(seconds) / count, 3)}]
    return results


def sums(block, weights=None):
    """Return as many numbers as ECM's sums for 16 sets and 4 clusters of 8 features."""
    return empty_task(0)


def iterations(folder, names, n_rows=10**7, n_features=8):
    """Yield the time of iterations of ECM on each engine and of the bare loop, in alternation."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from benchmarks.common.big_data import generate
    from benchmarks.studies.scale.engine import compare
    from evlearn import open_dataset

    warnings.simplefilter("ignore", ConvergenceWarning)
    with open_dataset(generate(folder, n_rows, n_features), folder=folder) as rows:
        for name in names:
            # Few iterations, because the fit converges quickly; many rounds, because clocks are coarse.
            result = compare(name, rows, iterations=5, rounds=9)
            result.pop("centers")
            yield result


def measure(folder, names):
    """Measure all parts; earlier results of other engines are kept."""
    results = {"tasks": TASKS, "engines": [], "many_workers": [], "iterations": []}
    if set(names) < set(ENGINES):
        results |= {key: record.load("scale_engines")[key] for key in results}
    for name in [name for name in names if name != "processes"]:
        replace(results["engines"], processes.answer(__spec__.name, "engine", name))
    if not results["many_workers"]:
        results["many_workers"] = [processes.answer(__spec__.name, "workers", count) for count in WORKERS]
    results["ways"] = processes.answer(__spec__.name, "ways", 400)
    print(results["ways"], flush=True)
    for result in iterations(folder, names):
        replace(results["iterations"], result)
    return results


def replace(results, result):
    """Replace an earlier result of the same engine."""
    print({name: value for name, value in result.items() if not isinstance(value, list)}, flush=True)
    results[:] = [other for other in results if other["engine"] != result["engine"]] + [result]


if __name__ == "__main__":
    import json

    kind, value = sys.argv[1:]
    value = value if kind == "engine" else int(value)
    print(json.dumps({"engine": measure_engine, "workers": many_workers, "ways": ways}[kind](value)))
    sys.stdout.flush()
    os._exit(0)  # threads and children of engines would block the exit
