"""BootClus: whether its intervals are calibrated, and what it costs.

``python benchmarks/bootclus.py coverage [--datasets 100] [--bootstrap 1000] [--jobs 2]``

    Tables 2 to 4 of Denoeux (2020): data drawn from three mixtures, four assumed models, two levels of confidence;
    coverage and length of the bootstrap intervals (CI) and of belief and plausibility (BelPl), each beside the
    published one. A quarter of an hour or so on two cores.

``python benchmarks/bootclus.py speed``

    CPU seconds on Iris beside R's; time and memory for 2,000 objects (all pairs) and 20,000 (sampled pairs) beside
    the bare parts: EM runs, and products and sorts of the probabilities; the same with two workers.

Results go to benchmarks/results/ with the machine and versions.
"""

import argparse
import csv
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score

import record
from evlearn.belief import FocalSets
from evlearn.cluster import BootClus
from evlearn.cluster.model_based.bootclus import masses_from_intervals, on_single_clusters
from evlearn.cluster.model_based.intervals import percentile_intervals
from evlearn.datasets import make_gaussian_mixture, same_cluster_probability
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.mixture.bootstrap import bootstrap
from evlearn.partition import CredalPartition
from measuring import peak_bytes

TRUE = {1: "EII", 2: "EEE", 3: "VVV"}
ASSUMED = {"EII": "EII", "EEE": "EEE", "VVV": "VVV", "Auto": "auto"}
LEVELS = (0.9, 0.95)
SHARED = Path(__file__).resolve().parents[2] / "shared" / "reference"


def measure(number, seed, n_bootstrap, assumed=ASSUMED, **settings):
    """Coverage and length of both kinds of interval on one data set, for assumed models and all levels.

    `assumed` has the covariance models by name, and `settings` are those of the mixture. Last in a row is the
    model that was chosen.
    """
    X, _, posterior = make_gaussian_mixture(number, 300, random_state=seed)
    sets, pairs = FocalSets.pairs(3, include_omega=False), np.column_stack(np.triu_indices(300, k=1))
    truth = same_cluster_probability(posterior, pairs)
    rows = []
    # What BootClus.fit does, with one bootstrap for both levels.
    for name, models in assumed.items():
        mixture = ParsimoniousGaussianMixture(
            3, covariance_models=models, variance_floor=0, random_state=seed, **settings
        ).fit(X)
        _, probabilities = bootstrap(mixture, X, n_bootstrap, np.random.RandomState(seed))
        for level in LEVELS:
            bounds = percentile_intervals(probabilities, probabilities, pairs, level)
            start = on_single_clusters(mixture.predict_proba(X), sets)
            masses = masses_from_intervals(pairs, *bounds, start, sets).masses
            same = CredalPartition(masses, sets).relational(pairs)
            for kind, (low, high) in (("CI", bounds), ("BelPl", (same.same, same.plausibility_same))):
                inside = float(((low <= truth) & (truth <= high)).mean())
                length = float((high - low).mean())
                rows.append((TRUE[number], level, name, kind, inside, length, mixture.model_))
    return rows


def coverage(n_datasets, n_bootstrap, n_jobs):
    """Means over data sets, each beside the published one."""
    start = time.process_time()
    tasks = [(number, seed) for number in TRUE for seed in range(n_datasets)]
    rows = Parallel(n_jobs=n_jobs, verbose=1)(delayed(measure)(*task, n_bootstrap) for task in tasks)
    values = {}
    for row in (row for part in rows for row in part):
        values.setdefault(row[:4], []).append(row[4:6])
    published = read_published()
    cells = []
    for key, pairs in values.items():
        mean, spread = np.mean(pairs, axis=0), np.std(pairs, axis=0)
        paper = published.get(key, {})
        cells.append(
            {
                "true_model": key[0],
                "confidence": key[1],
                "assumed_model": key[2],
                "interval": key[3],
                "coverage": round(mean[0], 4),
                "coverage_std": round(spread[0], 4),
                "coverage_published": paper.get("coverage_mean"),
                "length": round(mean[1], 4),
                "length_std": round(spread[1], 4),
                "length_published": paper.get("length_mean"),
            }
        )
    show_coverage(cells)
    return {"datasets": n_datasets, "n_bootstrap": n_bootstrap, "cells": cells, "cpu": time.process_time() - start}


def read_published():
    """The cells of Tables 2 to 4."""
    published = {}
    for number in (2, 3, 4):
        path = SHARED / "seed_tables" / f"bootclus_table{number:02}.csv"
        if not path.exists():
            continue
        for row in csv.DictReader(path.open()):
            key = row["true_model"], float(row["confidence"]), row["assumed_model"], row["interval"]
            published[key] = {name: float(row[name]) for name in ("coverage_mean", "length_mean") if row[name]}
    return published


def show_coverage(cells):
    """Print the cells, and how many are within 0.03 of the published ones."""
    print("true level assumed interval   coverage published   length published")
    near = compared = 0
    for cell in cells:
        paper, length = cell["coverage_published"], cell["length_published"]
        near += paper is not None and abs(cell["coverage"] - paper) <= 0.03
        compared += paper is not None
        mark = "" if paper is None or abs(cell["coverage"] - paper) <= 0.03 else "  <- off"
        print(
            f"{cell['true_model']:>4} {cell['confidence']:.2f}  {cell['assumed_model']:>5}  {cell['interval']:>5}"
            f"     {cell['coverage']:.3f} ({cell['coverage_std']:.3f}) {paper}"
            f"      {cell['length']:.3f} {length}{mark}"
        )
    print(f"{near} of {compared} cells of coverage within 0.03")


def speed():
    """Iris beside R, and larger data beside the bare parts."""
    results = {"iris": on_iris()}
    show(results["iris"])
    for n_objects, n_partners in ((2_000, "all"), (20_000, 200)):
        name = f"n{n_objects}"
        results[name] = on_blobs(n_objects, n_partners)
        show(results[name])
    return results


def on_iris():
    """CPU seconds of five fits, with the settings of R's recorded runs."""
    X, y = load_iris(return_X_y=True)
    seconds, aris = [], []
    for seed in range(6):
        start = time.process_time()
        model = BootClus(3, covariance_models="VEV", n_bootstrap=500, variance_floor=0, random_state=seed).fit(X)
        seconds.append(time.process_time() - start)
        aris.append(adjusted_rand_score(y, model.labels_))
    with (SHARED / "timings.csv").open() as file:
        recorded = [
            float(row["cpu_seconds"]) for row in csv.DictReader(file) if row["case"] == "bootclus_iris_G3_B500"
        ]
    ours = float(np.median(seconds[1:]))  # the first fit loads libraries
    return {
        "cpu_seconds": [round(value, 3) for value in seconds],
        "r_cpu_seconds": recorded,
        "times_less_cpu": round(float(np.median(recorded)) / ours, 1),
        "ari": [round(value, 3) for value in aris],
    }


def on_blobs(n_objects, n_partners):
    """Time, memory and the bare parts of a fit; and with two workers."""
    X, _ = make_blobs(n_objects, 4, centers=4, cluster_std=2.5, random_state=0)
    settings = {"covariance_models": "VVV", "n_bootstrap": 500, "n_partners": n_partners, "random_state": 0}
    marks = {}
    BootClus(2, n_bootstrap=200, n_jobs=2).fit(X[:200])  # workers start, and load what they need
    for n_jobs in (1, 2):
        wall, cpu = time.perf_counter(), time.process_time()
        model = BootClus(4, n_jobs=n_jobs, **settings).fit(X)
        marks[n_jobs] = time.perf_counter() - wall, time.process_time() - cpu
    memory = peak_bytes(lambda: BootClus(4, **settings).fit(X))
    mixture = ParsimoniousGaussianMixture(4, covariance_models="VVV", random_state=0).fit(X)
    start = time.perf_counter()
    _, probabilities = bootstrap(mixture, X, 500, np.random.RandomState(0))
    runs = time.perf_counter() - start
    start = time.perf_counter()
    percentile_intervals(probabilities, probabilities, model.intervals_.pairs, 0.9)
    reductions = time.perf_counter() - start
    n_pairs = len(model.intervals_.pairs)
    return {
        "n_objects": n_objects,
        "n_pairs": n_pairs,
        "objective": model.objective_,
        "seconds": round(marks[1][0], 2),
        "seconds_em": round(runs, 2),
        "seconds_intervals": round(reductions, 2),
        "seconds_two_workers": round(marks[2][0], 2),
        "parallel_efficiency": round(marks[1][0] / (2 * marks[2][0]), 2),
        "peak_megabytes": round(memory / 1e6),
        "n_n_B_megabytes": round(8 * n_objects**2 * 500 / 1e6),
    }


def show(result):
    for name, value in result.items():
        print(f"{name:>24}  {value}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("coverage", "speed"))
    parser.add_argument("--datasets", type=int, default=100)
    parser.add_argument("--bootstrap", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.what == "coverage":
        record.write("reproduction_coverage", coverage(options.datasets, options.bootstrap, options.jobs))
    else:
        record.write("scale_bootclus", speed())


if __name__ == "__main__":
    main()
