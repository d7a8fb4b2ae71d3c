"""ECM on several engines: CPU per iteration on processes, Dask, Ray and Spark, relative to a bare loop.

``python -m benchmarks.studies.scale.engine FOLDER [--rows N] [--iterations K] [--engines E ...] [--write]``

FOLDER receives the data, N x 10 float32 rows in Parquet files of a million rows each, which are written once and
reused. The bare loop reads the same memory map block by block, in one process without an engine: once with the
library's kernel, so that the ratio is the overhead of the engine, and once in plain NumPy, as an implementation
without the library. Spark also runs the bare loop, with one job per iteration; processes, Dask and Ray run the
library's fit. CPU time is that of the client and all its children, as the difference between a fit of K iterations
and one of a single iteration.
"""

import os
import statistics
import sys
import time
import warnings
from contextlib import contextmanager, nullcontext
from functools import partial, reduce
from itertools import pairwise
from operator import add
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import joblib
import numpy as np
import psutil
from sklearn.exceptions import ConvergenceWarning

from benchmarks.common import command_line, processes, record
from benchmarks.common.big_data import generate, sample
from benchmarks.common.watching import cpu_seconds
from evlearn import open_dataset, papers
from evlearn.belief import FocalSets
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
from evlearn.cluster.set_costs import SetCosts
from evlearn.utils.chunks import row_blocks, task_slices

FEATURES, CLUSTERS, DELTA = 10, 4, 8.0


def starts(n_features):
    return sample(10**6, CLUSTERS, n_features)[0].astype(np.float64)


def estimator(n_features, max_iter):
    return papers.ecm(CLUSTERS, init=starts(n_features), delta=DELTA, tol=0, max_iter=max_iter, random_state=0)


def measure(fit, iterations, clock=cpu_seconds):
    """Return CPU and wall seconds per iteration, from the difference between a long and a short fit."""
    marks = []
    for count in (1, 1 + iterations):
        start = clock(), time.perf_counter()
        model = fit(count)
        marks.append((clock() - start[0], time.perf_counter() - start[1]))
        if getattr(model, "n_iter_", count) != count:
            raise RuntimeError(
                f"the fit stopped after {model.n_iter_} of {count} iterations; reduce the number of iterations."
            )
    return *((long - short) / iterations for short, long in zip(*marks, strict=True)), model


def in_order(collect, blocks):
    return [collect(block) for block in blocks]


def bare_kernel(rows, max_iter, run=in_order):
    """Run ECM as a loop over slices of the memory map; `run` maps a function over them."""
    coordinates = Coordinates.of(rows.take(np.arange(20_000)))
    costs = SetCosts.ecm(FocalSets.full(CLUSTERS), alpha=1, beta=2, delta=DELTA)
    model = EuclideanModel(costs, coordinates, coordinates.transform(starts(rows.n_features)))
    for _ in range(max_iter + 1):
        collect = partial(collect_block, model, rows)
        model = model.solve(reduce(add, run(collect, task_slices(len(rows), 4 * rows.n_features))))
    return model


def collect_block(model, rows, block):
    return model.collect(rows.read_rows(block.start, block.stop))


def bare_numpy(rows, max_iter):
    """Run iterations in plain NumPy, in blocks that fit into the cache."""
    F = FocalSets.full(CLUSTERS).membership[1:].astype(np.float32)
    size = F.sum(axis=1)
    V = starts(rows.n_features).astype(np.float32)
    for _ in range(max_iter + 1):
        powers, sums = np.zeros(len(F)), np.zeros((CLUSTERS, rows.n_features))
        centers = F @ V / size[:, None]
        squares = (centers**2).sum(axis=1)
        for task in task_slices(len(rows), 4 * rows.n_features):
            whole = rows.read_rows(task.start, task.stop)
            for block in row_blocks(len(whole), 4096):
                X = whole[block]
                M = X @ (-2 * centers.T)
                M += squares
                M += np.einsum("ij,ij->i", X, X)[:, None]
                M *= size
                np.maximum(M, 1e-10, out=M)
                np.divide(1, M, out=M)
                M /= (M.sum(axis=1) + np.float32(1 / DELTA**2))[:, None]
                M *= M
                powers += M.sum(axis=0)
                sums += (M @ F).T @ X
        H = F.T.astype(float) @ (F * (powers / size)[:, None])
        V = np.linalg.solve(H, sums).astype(np.float32)
    return V


def on_joblib(backend, n_jobs=None):
    def fit(rows, max_iter):
        with joblib.parallel_config(backend, n_jobs=n_jobs):
            return estimator(rows.n_features, max_iter).fit(rows)

    return fit


@contextmanager
def dask_cluster():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit="1GB") as cluster,
        Client(cluster),
    ):
        yield on_joblib("dask")


@contextmanager
def ray_cluster():
    import ray
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    register_ray()
    yield on_joblib("ray", 2)
    ray.shutdown()


def start_spark():
    """Start Spark with 2 Python processes, whose workers can import this module."""
    from pyspark.sql import SparkSession

    os.environ |= processes.environment() | {"PYSPARK_PYTHON": sys.executable}
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    return builder.config("spark.log.level", "ERROR").getOrCreate().sparkContext


@contextmanager
def spark_cluster():
    """Run the bare loop in Spark, with one job per iteration and one task per block."""
    context = start_spark()

    def run(collect, blocks):
        return context.parallelize(blocks, len(blocks)).map(collect).collect()

    yield lambda rows, max_iter: bare_kernel(rows, max_iter, run)
    context.stop()


ENGINES = {
    "kernel": lambda: nullcontext(bare_kernel),
    "numpy": lambda: nullcontext(bare_numpy),
    "threads": lambda: nullcontext(on_joblib("threading", 2)),
    "processes": lambda: nullcontext(on_joblib("loky", 2)),
    "dask": dask_cluster,
    "ray": ray_cluster,
    "spark": spark_cluster,
}


def compare(name, rows, iterations, rounds):
    """Measure an engine and the bare loop in alternation; the ratio uses the bare loops before and after."""
    with ENGINES[name]() as fit:
        fit(rows, 1)  # workers start and import modules
        # The bare loop is measured in this process alone, because engines may start or stop processes meanwhile.
        bare = [measure(lambda count: bare_kernel(rows, count), iterations, time.process_time)[0]]
        engine, wall = [], []
        for _ in range(rounds):
            seconds, elapsed, model = measure(lambda count: fit(rows, count), iterations)
            engine.append(seconds)
            wall.append(elapsed)
            bare.append(measure(lambda count: bare_kernel(rows, count), iterations, time.process_time)[0])
        children = [child.memory_info().rss for child in psutil.Process().children(recursive=True)]
    averages = [(before + after) / 2 for before, after in pairwise(bare)]
    ratios = sorted(
        seconds_of_engine / seconds_of_bare
        for seconds_of_engine, seconds_of_bare in zip(engine, averages, strict=True)
    )
    centers = getattr(model, "cluster_centers_", None)
    return {
        "engine": name,
        "cpu_per_iteration": engine,
        "wall_per_iteration": wall,
        "bare_cpu_per_iteration": bare,
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "largest_worker_bytes": max(children, default=psutil.Process().memory_info().rss),
        "objective": getattr(model, "objective_", None),
        "centers": None if centers is None else centers.tolist(),
    }


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", nargs="+", default=["threads", "processes", "dask", "numpy"], choices=ENGINES)
    parser.add_argument("--write", action="store_true", help="write to the record")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    data = generate(arguments.folder, arguments.rows, FEATURES)
    start = cpu_seconds()
    results = []
    with open_dataset(data, folder=arguments.folder) as rows:
        spill = cpu_seconds() - start
        print(f"{len(rows):,} rows, read from Parquet to a memory map in {spill:.1f} s of CPU", flush=True)
        for name in arguments.engines:
            result = compare(name, rows, arguments.iterations, arguments.rounds)
            results.append(result)
            print(
                f"{name:10s} {result['ratio']:.2f} x bare "
                f"({result['ratios'][0]:.2f} to {result['ratios'][-1]:.2f}); "
                f"{min(result['cpu_per_iteration']):.2f} s CPU, "
                f"{min(result['wall_per_iteration']):.2f} s elapsed; "
                f"{result['largest_worker_bytes'] / 1e6:.0f} MB in the largest process",
                flush=True,
            )
    fitted = [entry.pop("centers") for entry in results]
    fitted = [centers for centers in fitted if centers is not None]
    identical = all(centers == fitted[0] for centers in fitted)
    print("identical prototypes:", identical)
    if arguments.write:
        summary = {"rows": arguments.rows, "spill_cpu": spill, "identical": identical, "results": results}
        record.write("scale_engine", summary, packages=("dask", "distributed"))


if __name__ == "__main__":
    main()
