"""EK-NNclus: clusters found, speed compared with R, sizes up to a million samples, and the lower limit of a pass.

``python -m benchmarks.studies.scale.eknnclus [seeds] [speed] [sizes] [limit] [--write]``

There are 20 seeds, each with one start. Speed is CPU seconds of a fit including the neighbor search, with one BLAS
thread; those of R are in ``timings.csv``. R's criterion is a running one, which is correct for symmetric graphs
only, so both are compared by the objective of their labels. Sizes have a given graph with 30 neighbors, each in a
separate process; its peak memory excludes the graph. The limit is a loop that only reads the labels of all
neighbors.
"""

import json
import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from evlearn.kernels.label_search import agreement, gather, sweep
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from benchmarks.common import command_line, processes, reference
from benchmarks.common.measuring import best_time
from benchmarks.studies.scale.evclus import peak_memory
from evlearn.cluster import EKNNClus

SETTINGS = {"fourclass": {"n_neighbors": 60, "q": 0.9}, "s2": {"n_neighbors": 200, "q": 0.9}}
CLUSTERS = {"fourclass": 4, "s2": 15}


def load(name):
    return reference.read_table(name)[:, :2]


def seeds():
    """Return the number of clusters for 20 seeds, with each kind of graph."""
    results = {}
    for name, options in SETTINGS.items():
        X = load(name)
        for graph in ("directed", "union"):
            numbers = [
                EKNNClus(graph=graph, random_state=seed, **options).fit(X).n_clusters_ for seed in range(20)
            ]
            results[f"{name}, {graph}"] = {
                **options,
                "seeds": 20,
                f"seeds_with_{CLUSTERS[name]}_clusters": numbers.count(CLUSTERS[name]),
                "clusters": " ".join(map(str, numbers)),
            }
    return results


def speed():
    """Return CPU seconds of a fit of s2 and of R, with the objective of both."""
    seconds_of_r = [
        float(row["cpu_seconds"]) for row in reference.timings() if row["case"].startswith("EkNNclus_s2")
    ]
    with np.load(reference.results("EkNNclus_s2_K200.npz")) as case:
        y_init = case["y_pl_1b"]
    X = load("s2")
    r_objective = EKNNClus(y_init=y_init, random_state=0, **SETTINGS["s2"]).fit(X).objective_
    times, objectives = [], []
    for seed in range(9):
        start = time.process_time()
        model = EKNNClus(random_state=seed, **SETTINGS["s2"]).fit(X)
        times.append(time.process_time() - start)
        objectives.append(model.objective_)
    median = statistics.median(seconds_of_r)
    return {
        "r_cpu_seconds_median": median,
        "r_objective_of_its_labels": r_objective,
        "cpu_seconds_median": statistics.median(times),
        "cpu_seconds_least": min(times),
        "cpu_seconds_most": max(times),
        "ratio_median": median / statistics.median(times),
        "ratio_least": median / max(times),
        "objective_median": statistics.median(objectives),
        "objective_least": min(objectives),
        "seeds_not_worse_than_r": sum(value >= r_objective for value in objectives),
    }


def blobs(n, random):
    """Return 20 round clusters in the plane that touch each other."""
    return random.uniform(0, 40, size=(20, 2))[random.integers(20, size=n)] + random.standard_normal((n, 2))


def neighbor_graph(n, n_neighbors=30):
    X = blobs(n, np.random.default_rng(0))
    distances, indices = cKDTree(X).query(X, n_neighbors + 1)
    starts = np.arange(n + 1, dtype=np.int32) * n_neighbors
    return csr_array((distances[:, 1:].ravel(), indices[:, 1:].ravel().astype(np.int32), starts), shape=(n, n))


def measure_size(n):
    """Fit in this process, and print the results."""
    graph = neighbor_graph(n)
    initial_peak, after_graph = peak_memory(), current_memory()
    start = time.process_time()
    model = EKNNClus(metric="precomputed", y_init=50, random_state=0).fit(graph)
    seconds = time.process_time() - start
    result = {
        "n": n,
        "fit_cpu_seconds": seconds,
        "passes": model.n_iter_,
        "converged": bool(model.converged_),
        "clusters": model.n_clusters_,
        "graph_MB": (graph.data.nbytes + graph.indices.nbytes + graph.indptr.nbytes) / 1e6,
        "masses_MB": model.masses_.nbytes / 1e6,
        "peak_beyond_graph_MB": max(peak_memory(), initial_peak) - after_graph,
    }
    print(json.dumps(result))


def current_memory():
    """Return the current memory of this process, in MB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024 / 1e6


def sizes():
    """Return results with a given graph of 30 neighbors, up to a million samples, and log-log slopes."""
    runs = [processes.answer(__spec__.name, "--one-size", n) for n in (10_000, 100_000, 1_000_000)]
    counts = np.log([run["n"] for run in runs])
    fits = np.array([run["fit_cpu_seconds"] for run in runs])
    passes = fits / [run["passes"] for run in runs]
    return {
        "runs": runs,
        "slope_fit": float(np.polyfit(counts, np.log(fits), 1)[0]),
        "slope_per_pass": float(np.polyfit(counts, np.log(passes), 1)[0]),
    }


def limit():
    """Return the time of passes over a million samples, relative to a loop that only reads labels and weights."""
    graph = neighbor_graph(1_000_000)
    arrays = (graph.indptr, graph.indices, graph.data)
    random = np.random.RandomState(0)
    order = random.permutation(1_000_000).astype(np.int32)
    labels = random.randint(50, size=1_000_000).astype(np.int32)
    first, second, third = (cpu_seconds(lambda: sweep(labels, *arrays, order, 50), 1) for _ in range(3))
    gathers = cpu_seconds(lambda: gather(labels, *arrays, order))
    return {
        "gather_seconds": gathers,
        "first_pass_over_gather": first / gathers,
        "second_pass_over_gather": second / gathers,
        "third_pass_over_gather": third / gathers,
        "objective_over_gather": cpu_seconds(lambda: agreement(labels, *arrays)) / gathers,
    }


def cpu_seconds(call, rounds=3):
    """Return the CPU seconds of the fastest round."""
    return best_time(call, rounds, time.process_time)


PARTS = {"seeds": seeds, "speed": speed, "sizes": sizes, "limit": limit}


def main():
    if sys.argv[1:2] == ["--one-size"]:
        measure_size(int(sys.argv[2]))
        return
    command_line.run_parts(__doc__, PARTS, "scale_eknnclus")


if __name__ == "__main__":
    main()
