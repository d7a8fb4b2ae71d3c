"""ECM on the engines: CPU of an iteration on processes, Dask, Ray, Spark over a bare loop in the same run.

``python -m benchmarks.studies.scale.engine FOLDER [--rows N] [--iterations K] [--engines E ...] [--write]``

FOLDER receives the data, N x 10 float32 rows in Parquet files of a million rows each; they are made once and kept.
The bare loop reads the same memory map block after block, in one process and with no engine at all: once with the
library's kernel, so that the ratio is the engine's own cost, and once in plain NumPy, which is what one would
write without the library. Spark too runs the bare loop, one job for an iteration; processes, Dask and Ray run
the library's own fit. CPU is that of the client and all its children, in a fit of K iterations less one of a
single iteration.
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
from benchmarks.common.papers import ECM
from benchmarks.common.watching import cpu_seconds
from evlearn.belief import FocalSets
from evlearn.blocks import open_rows
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
from evlearn.cluster.set_costs import SetCosts
from evlearn.utils.chunks import row_blocks, task_slices

FEATURES, CLUSTERS, DELTA = 10, 4, 8.0


def starts(n_features):
    return sample(10**6, CLUSTERS, n_features)[0].astype(np.float64)


def estimator(n_features, max_iter):
    return ECM(CLUSTERS, init=starts(n_features), delta=DELTA, tol=0, max_iter=max_iter, random_state=0)


def measure(fit, iterations, clock=cpu_seconds):
    """CPU and wall seconds of an iteration: those of a long fit less those of a short one."""
    marks = []
    for count in (1, 1 + iterations):
        start = clock(), time.perf_counter()
        model = fit(count)
        marks.append((clock() - start[0], time.perf_counter() - start[1]))
        if getattr(model, "n_iter_", count) != count:
            raise RuntimeError(f"the fit ended after {model.n_iter_} of {count} iterations: ask for fewer.")
    return *((long - short) / iterations for short, long in zip(*marks, strict=True)), model


def in_order(collect, blocks):
    return [collect(block) for block in blocks]


def bare_kernel(rows, max_iter, run=in_order):
    """What ECM does, as a loop over slices of the memory map; `run` maps a function over them."""
    coordinates = Coordinates.of(rows.take(np.arange(20_000)))
    costs = SetCosts.ecm(FocalSets.full(CLUSTERS), alpha=1, beta=2, delta=DELTA)
    model = EuclideanModel(costs, coordinates, coordinates.enter(starts(rows.n_features)))
    for _ in range(max_iter + 1):
        collect = partial(collect_block, model, rows)
        model = model.solve(reduce(add, run(collect, task_slices(len(rows), 4 * rows.n_features))))
    return model


def collect_block(model, rows, block):
    return model.collect(rows.read(block.start, block.stop))


def bare_numpy(rows, max_iter):
    """One iteration after the other in plain NumPy, in blocks that stay in cache."""
    F = FocalSets.full(CLUSTERS).membership[1:].astype(np.float32)
    size = F.sum(axis=1)
    V = starts(rows.n_features).astype(np.float32)
    for _ in range(max_iter + 1):
        powers, sums = np.zeros(len(F)), np.zeros((CLUSTERS, rows.n_features))
        centres = F @ V / size[:, None]
        squares = (centres**2).sum(axis=1)
        for task in task_slices(len(rows), 4 * rows.n_features):
            whole = rows.read(task.start, task.stop)
            for block in row_blocks(len(whole), 4096):
                X = whole[block]
                M = X @ (-2 * centres.T)
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
    """A Spark of two processes of Python, whose workers find this module."""
    from pyspark.sql import SparkSession

    os.environ |= processes.environment() | {"PYSPARK_PYTHON": sys.executable}
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    return builder.config("spark.log.level", "ERROR").getOrCreate().sparkContext


@contextmanager
def spark_cluster():
    """The bare loop with Spark between: one job for an iteration, one task for a block."""
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
    """An engine and the bare loop in turns; the ratio is that to the bare loops before and after."""
    with ENGINES[name]() as fit:
        fit(rows, 1)  # workers start, and read what they import
        # The bare loop is this process alone; meanwhile an engine may end or begin processes of its own.
        bare = [measure(lambda count: bare_kernel(rows, count), iterations, time.process_time)[0]]
        engine, wall = [], []
        for _ in range(rounds):
            seconds, elapsed, model = measure(lambda count: fit(rows, count), iterations)
            engine.append(seconds)
            wall.append(elapsed)
            bare.append(measure(lambda count: bare_kernel(rows, count), iterations, time.process_time)[0])
        children = [child.memory_info().rss for child in psutil.Process().children(recursive=True)]
    around = [(before + after) / 2 for before, after in pairwise(bare)]
    ratios = sorted(one / other for one, other in zip(engine, around, strict=True))
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
    with open_rows(data, folder=arguments.folder) as rows:
        spill = cpu_seconds() - start
        print(f"{len(rows):,} rows, read from Parquet to a memory map in {spill:.1f} s of CPU", flush=True)
        for name in arguments.engines:
            one = compare(name, rows, arguments.iterations, arguments.rounds)
            results.append(one)
            print(
                f"{name:10s} {one['ratio']:.2f} x bare ({one['ratios'][0]:.2f} to {one['ratios'][-1]:.2f}); "
                f"{min(one['cpu_per_iteration']):.2f} s CPU, {min(one['wall_per_iteration']):.2f} s elapsed; "
                f"{one['largest_worker_bytes'] / 1e6:.0f} MB in the largest process",
                flush=True,
            )
    fitted = [one.pop("centers") for one in results]
    fitted = [one for one in fitted if one is not None]
    identical = all(one == fitted[0] for one in fitted)
    print("identical prototypes:", identical)
    if arguments.write:
        found = {"rows": arguments.rows, "spill_cpu": spill, "identical": identical, "results": results}
        record.write("scale_engine", found, packages=("dask", "distributed"))


if __name__ == "__main__":
    main()
