"""EK-NNclus: clusters found, speed against R's recorded times, sizes up to a million objects, and the bare limit.

``python -m benchmarks.studies.scale.eknnclus [seeds] [speed] [sizes] [limit] [--write]``

Seeds are 20, each with one start. Speed is CPU seconds of a fit with the search of neighbours, one BLAS thread;
R's are those of ``timings.csv``. R's criterion is a running one, which is right for symmetric graphs only; both
are compared by the objective of their labels. Sizes are with a graph of 30 neighbours that is given, each in its
own process; its peak memory is what the fit adds to the graph. The limit is a loop that only looks at the labels
of all neighbours.
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
    """How many of 20 seeds find the clusters, with each kind of graph."""
    results = {}
    for name, own in SETTINGS.items():
        X = load(name)
        for graph in ("directed", "union"):
            found = [EKNNClus(graph=graph, random_state=seed, **own).fit(X).n_clusters_ for seed in range(20)]
            results[f"{name}, {graph}"] = {
                **own,
                "seeds": 20,
                f"seeds_with_{CLUSTERS[name]}_clusters": found.count(CLUSTERS[name]),
                "clusters": " ".join(map(str, found)),
            }
    return results


def speed():
    """CPU seconds of a fit of s2 against R's, with the objective of both."""
    of_r = [float(row["cpu_seconds"]) for row in reference.timings() if row["case"].startswith("EkNNclus_s2")]
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
    median = statistics.median(of_r)
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
    """Twenty round clusters in the plane, that touch each other."""
    return random.uniform(0, 40, size=(20, 2))[random.integers(20, size=n)] + random.standard_normal((n, 2))


def neighbor_graph(n, n_neighbors=30):
    X = blobs(n, np.random.default_rng(0))
    distances, indices = cKDTree(X).query(X, n_neighbors + 1)
    starts = np.arange(n + 1, dtype=np.int32) * n_neighbors
    return csr_array((distances[:, 1:].ravel(), indices[:, 1:].ravel().astype(np.int32), starts), shape=(n, n))


def one_size(n):
    """Fit in this process; print what it took."""
    graph = neighbor_graph(n)
    before, after_graph = peak_memory(), current_memory()
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
        "peak_beyond_graph_MB": max(peak_memory(), before) - after_graph,
    }
    print(json.dumps(result))


def current_memory():
    """What this process holds now, in MB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024 / 1e6


def sizes():
    """A given graph of 30 neighbours, up to a million objects; slopes on a log-log scale."""
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
    """A pass over a million objects against the loop that only looks at labels and weights."""
    graph = neighbor_graph(1_000_000)
    arrays = (graph.indptr, graph.indices, graph.data)
    random = np.random.RandomState(0)
    order = random.permutation(1_000_000).astype(np.int32)
    labels = random.randint(50, size=1_000_000).astype(np.int32)
    first, second, settled = (cpu_seconds(lambda: sweep(labels, *arrays, order, 50), 1) for _ in range(3))
    gathers = cpu_seconds(lambda: gather(labels, *arrays, order))
    return {
        "gather_seconds": gathers,
        "first_pass_over_gather": first / gathers,
        "second_pass_over_gather": second / gathers,
        "third_pass_over_gather": settled / gathers,
        "objective_over_gather": cpu_seconds(lambda: agreement(labels, *arrays)) / gathers,
    }


def cpu_seconds(call, rounds=3):
    """CPU seconds of the fastest round."""
    return best_time(call, rounds, time.process_time)


PARTS = {"seeds": seeds, "speed": speed, "sizes": sizes, "limit": limit}


def main():
    if sys.argv[1:2] == ["--one-size"]:
        one_size(int(sys.argv[2]))
        return
    command_line.run_parts(__doc__, PARTS, "scale_eknnclus")


if __name__ == "__main__":
    main()
