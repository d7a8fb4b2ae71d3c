"""EVCLUS: minima, speed compared with R, lower limits, and sizes up to ten million samples.

``python -m benchmarks.studies.scale.evclus [minima] [speed] [limits] [sizes] [slope] [--write]``

Speed is CPU seconds with one BLAS thread, median and minimum of several seeds and rounds; those of R are in
``timings.csv``. R has one start. Ours has up to 3 additional starts if clusters remain without samples, which
occurs with these settings for S2; ``one_start`` is the same without them. Limits are ratios in one run: a sweep
relative to a loop that only gathers the same rows and sums their products, and a landmark pass relative to its
products and exponentials. Each size runs in a separate process; its peak memory excludes the data.
"""

import json
import os
import statistics
import sys
import time
from pathlib import Path
from unittest import mock

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from evlearn.kernels.evclus import gather_graph, sweep_graph
from evlearn.kernels.simplex_qp import solve_many

from benchmarks.common import command_line, processes, record, reference
from benchmarks.common.measuring import best_time
from evlearn.belief import FocalSets
from evlearn.cluster import EVCLUS, Quantile
from evlearn.cluster.dissimilarities import squared_distances
from evlearn.cluster.pairwise import solvers
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.utils.chunks import row_blocks

ROUNDS, SEEDS = 5, 7
R_CASES = {
    "gauss4_n10000": "kevclus_gauss4_n10000_k100_c4_simple",
    "s2": "kevclus_s2_k100_c15_simple",
    "protein": "kevclus_protein_fullD_c4_simple",
}


def load(name):
    if name == "s2":
        return reference.read_table("s2")[:, :2]
    with np.load(reference.data("protein_D.npz" if name == "protein" else f"{name}.npz")) as file:
        return file["D"] if name == "protein" else file["x"]


def settings(name, X):
    return {
        "gauss4_n10000": {"n_clusters": 4, "d0": Quantile(0.9), "n_partners": 100},
        "s2": {"n_clusters": 15, "d0": Quantile(0.9), "n_partners": 100},
        "protein": {"n_clusters": 4, "metric": "precomputed", "d0": X.max()},
    }[name]


def minima():
    """Return the share of 20 seeds with one start that end near the best known stress."""
    X = load("gauss4_n10000")
    fits = [EVCLUS(random_state=seed, **settings("gauss4_n10000", X)).fit(X) for seed in range(20)]
    training = [model.objective_ for model in fits]
    held_out = [model.stress(X, n_pairs=500_000, random_state=99) for model in fits]
    return {
        "seeds": 20,
        "training_stress_best": min(training),
        "training_stress_worst": max(training),
        "within_2_percent_training": sum(value <= 1.02 * min(training) for value in training),
        "held_out_stress_best": min(held_out),
        "held_out_stress_worst": max(held_out),
        "within_2_percent_held_out": sum(value <= 1.02 * min(held_out) for value in held_out),
    }


def speed():
    """Return CPU seconds and stress of both implementations, in rounds to reduce disturbances."""
    recorded = reference.timings()
    tables = {name: load(name) for name in R_CASES}
    times, one_start = ({name: [] for name in R_CASES} for _ in range(2))
    models = {}
    for _ in range(ROUNDS):
        for name, X in tables.items():
            for seed in range(SEEDS):
                models[name, seed], seconds = timed_fit(seed, name, X)
                times[name].append(seconds)
            with mock.patch.object(solvers, "_MAX_RESTARTS", 0):
                one_start[name] += [timed_fit(seed, name, X)[1] for seed in range(SEEDS)]
    results = {}
    for name, X in tables.items():
        rows = [row for row in recorded if row["case"] == R_CASES[name]]
        r_seconds = statistics.median(float(row["cpu_seconds"]) for row in rows)
        fits = [models[name, seed] for seed in range(SEEDS)]
        results[name] = {
            "r_cpu_seconds": r_seconds,
            "r_stress": statistics.median(float(row["recomputed_stress"]) for row in rows),
            "cpu_seconds_median": statistics.median(times[name]),
            "cpu_seconds_least": min(times[name]),
            "ratio_median": r_seconds / statistics.median(times[name]),
            "ratio_least": r_seconds / min(times[name]),
            "one_start_ratio_median": r_seconds / statistics.median(one_start[name]),
            "one_start_ratio_least": r_seconds / min(one_start[name]),
            "stress_median": statistics.median(model.objective_ for model in fits),
            "held_out_stress_median": statistics.median(
                model.stress(X, n_pairs=300_000, random_state=99) for model in fits
            ),
        }
    return results


def timed_fit(seed, name, X):
    start = time.process_time()
    model = EVCLUS(random_state=seed, **settings(name, X)).fit(X)
    return model, time.process_time() - start


def limits():
    """Return the times of the row problem, a sweep and a landmark pass, relative to their lower limits."""
    random = np.random.default_rng(0)
    results = {}
    for f in (6, 17):
        rows = random.dirichlet(np.ones(f), size=(20_000, 100))
        Q = np.einsum("npi,npj->nij", rows, rows)
        u = -np.einsum("npi,np->ni", rows, random.random((20_000, 100)))
        cold = random.dirichlet(np.ones(f), size=20_000)
        results[f"row_problem_f{f}_cold_microseconds"] = 50 * best_solve(Q, u, cold)
        solve_many(Q, u, cold)
        nearby = u + 0.01 * random.standard_normal(u.shape)
        results[f"row_problem_f{f}_warm_microseconds"] = 50 * best_solve(Q, nearby, cold)
    n, p, focal_sets = 1_000_000, 100, FocalSets.simple(4)
    C = np.ascontiguousarray(focal_sets.conflict_matrix)
    M = random.dirichlet(np.full(6, 0.2), size=n)
    Y = np.ascontiguousarray(M @ C)
    graph = (
        np.arange(n + 1, dtype=np.intp) * p,
        random.integers(n, size=n * p, dtype=np.int32),
        random.random(n * p, dtype=np.float32),
    )
    order = random.permutation(n).astype(np.int32)
    empty = np.zeros(0, dtype=np.intp)
    terms = (np.zeros(n + 1, dtype=np.intp), empty, np.zeros(0, dtype=np.uint8), np.zeros((2, 6, 6)), 0.0)
    gathers, sweeps = [], []
    for _ in range(3):
        gathers.append(best_time(lambda: gather_graph(Y, *graph, order), 1))
        sweeps.append(best_time(lambda: sweep_graph(M, Y, C, *graph, order, *terms), 1))
    results["sweep_1e6_seconds"] = min(sweeps)
    results["sweep_over_gather"] = min(sweeps) / min(gathers)
    results |= landmark_limit(random)
    return results


def best_solve(Q, u, start):
    return best_time(lambda: solve_many(Q, u, start.copy()), rounds=5)


def landmark_limit(random):
    X = clusters(500_000, random)
    model = EVCLUS(4, solver="landmark", random_state=0).fit(X[:20_000])
    inner = model._model
    seconds = best_time(lambda: inner.assign(X))
    center = inner.landmarks.mean(axis=0)
    landmarks = inner.landmarks - center
    squares = np.einsum("ij,ij->i", landmarks, landmarks)
    Y = (inner.masses @ inner.focal_sets.conflict_matrix).astype(np.float32)
    transform = Transform("exponential", model.d0_)

    def bare():
        for block in row_blocks(len(X), 2048):
            transform.of_squares(squared_distances(X[block] - center, landmarks, squares)) @ Y

    return {"landmark_pass_over_bare_arithmetic": seconds / best_time(bare)}


def clusters(n, random):
    """Return samples with 10 features in single precision, with 4 clusters in 2 of them."""
    X = random.standard_normal((n, 10), dtype=np.float32)
    labels = random.integers(4, size=n)
    X[:, 0] += 6 * (labels % 2)
    X[:, 1] += 6 * (labels // 2)
    return X


def peak_memory():
    """Return the peak memory of this process in MB; unlike that of getrusage, it excludes the parent."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


def measure_size(solver, n, n_jobs):
    """Fit in this process, predict with landmarks, and print the results."""
    X = clusters(n, np.random.default_rng(0))
    initial_peak = peak_memory()
    start, cpu = time.perf_counter(), time.process_time()
    extra = {"n_partners": 100} if solver != "landmark" else {"n_landmarks": 500}
    model = EVCLUS(4, solver=solver, n_jobs=n_jobs, random_state=0, **extra).fit(X)
    result = {
        "n": n,
        "fit_seconds": time.perf_counter() - start,
        "fit_cpu_seconds": time.process_time() - cpu,
        "sweeps": model.n_iter_,
        "converged": bool(model.converged_),
    }
    result["peak_beyond_data_MB"] = peak_memory() - initial_peak
    result["masses_MB"] = model.masses_.nbytes / 1e6
    result["objective"] = float(model.objective_)
    result["held_out_stress"] = model.stress(X, n_pairs=500_000, random_state=99)
    if solver == "landmark":
        start = time.perf_counter()
        model.predict_mass(X)
        result["predict_seconds"] = time.perf_counter() - start
    print(json.dumps(result))


def run_in_process(solver, n, n_jobs=1):
    return processes.answer(__spec__.name, "--one-size", solver, n, n_jobs)


def sizes():
    """Return results for a million samples, ten million with landmarks, and the exact solver on a subset."""
    return {
        "exact_1e6": run_in_process("exact", 1_000_000),
        "landmark_1e7": run_in_process("landmark", 10_000_000, 2),
        "exact_on_20000_of_the_same": run_in_process("exact", 20_000),
    }


def slope():
    """Return times by size for each solver, with the slope on a log-log scale."""
    results = {}
    for solver, counts in {
        "exact": (10_000, 100_000, 1_000_000),
        "stochastic": (10_000, 30_000, 100_000),
        "landmark": (10_000, 100_000, 1_000_000, 10_000_000),
    }.items():
        runs = [run_in_process(solver, n) for n in counts]
        times = [run["fit_cpu_seconds"] / (run["sweeps"] if solver != "landmark" else 1) for run in runs]
        results[solver] = {
            "runs": runs,
            "slope_fit": float(np.polyfit(np.log(counts), np.log([run["fit_cpu_seconds"] for run in runs]), 1)[0]),
            "slope_per_sweep": float(np.polyfit(np.log(counts), np.log(times), 1)[0]),
        }
    return results


def draw(results, path):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
    for (solver, result), color, marker in zip(
        results.items(), ("#0072B2", "#D55E00", "#009E73"), "osD", strict=True
    ):
        counts = [run["n"] for run in result["runs"]]
        seconds = [run["fit_cpu_seconds"] for run in result["runs"]]
        axes.loglog(
            counts, seconds, marker=marker, color=color, label=f"{solver} (slope {result['slope_fit']:.2f})"
        )
    axes.set(xlabel="samples", ylabel="CPU seconds per fit", title="EVCLUS, 10 features, 4 clusters")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)


PARTS = {"minima": minima, "speed": speed, "limits": limits, "sizes": sizes, "slope": slope}


def main():
    if sys.argv[1:2] == ["--one-size"]:
        measure_size(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return
    results = command_line.run_parts(__doc__, PARTS, "scale_evclus")
    if "slope" in results and "--write" in sys.argv:
        draw(results["slope"], record.RESULTS / "scale_evclus.png")


if __name__ == "__main__":
    main()
