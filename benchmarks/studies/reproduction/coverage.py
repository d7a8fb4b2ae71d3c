"""Calibration of the intervals of BootClus: Tables 2 to 4 of Denoeux (2020).

``python -m benchmarks.studies.reproduction.coverage [--datasets 100] [--bootstrap 1000] [--jobs 2]``

Data drawn from 3 mixtures, 4 assumed models and 2 confidence levels; coverage and length of the bootstrap
intervals (CI) and of belief and plausibility (BelPl), compared with the published values. It takes about 15
minutes on 2 cores, and writes results/reproduction_coverage.json.
"""

import csv
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from joblib import Parallel, delayed

from benchmarks.common import command_line, record, reference
from evlearn.belief import FocalSets
from evlearn.cluster.model_based.bootclus import masses_from_intervals, masses_of_probabilities
from evlearn.cluster.model_based.intervals import percentile_intervals
from evlearn.datasets import make_gaussian_mixture, same_cluster_probability
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.mixture.bootstrap import bootstrap
from evlearn.partition import CredalPartition

TRUE = {1: "EII", 2: "EEE", 3: "VVV"}
ASSUMED = {"EII": "EII", "EEE": "EEE", "VVV": "VVV", "Auto": "auto"}
LEVELS = (0.9, 0.95)


def measure(number, seed, n_bootstrap, assumed=ASSUMED, **settings):
    """Return coverage and length of both kinds of interval on one data set, for assumed models and all levels.

    `assumed` contains the covariance models by name, and `settings` those of the mixture. The last item of a row
    is the selected model.
    """
    X, _, posterior = make_gaussian_mixture(number, 300, random_state=seed)
    sets, pairs = FocalSets.pairs(3, include_omega=False), np.column_stack(np.triu_indices(300, k=1))
    truth = same_cluster_probability(posterior, pairs)
    rows = []
    # Repeats the fit of papers.bootclus with one bootstrap for both levels.
    for name, models in assumed.items():
        mixture = ParsimoniousGaussianMixture(
            3, covariance_models=models, variance_floor=0, random_state=seed, **settings
        ).fit(X)
        random = np.random.RandomState(seed)
        _, probabilities = bootstrap(mixture, X, n_bootstrap, random, reselect=False)
        for level in LEVELS:
            bounds = percentile_intervals(probabilities, probabilities, pairs, level)
            start = masses_of_probabilities(mixture.predict_proba(X), sets)
            masses = masses_from_intervals(pairs, *bounds, start, sets).state.masses
            pairwise = CredalPartition(masses, sets).relational(pairs)
            for kind, (low, high) in (
                ("CI", bounds),
                ("BelPl", (pairwise.same_cluster, pairwise.plausibility_same)),
            ):
                covered = float(((low <= truth) & (truth <= high)).mean())
                length = float((high - low).mean())
                rows.append((TRUE[number], level, name, kind, covered, length, mixture.model_))
    return rows


def coverage(n_datasets, n_bootstrap, n_jobs, numbers=tuple(TRUE)):
    """Return means over data sets with the published values, for some of the mixtures."""
    start = time.process_time()
    tasks = [(number, seed) for number in numbers for seed in range(n_datasets)]
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
    """Return the cells of Tables 2 to 4."""
    published = {}
    for number in (2, 3, 4):
        path = reference.results("seed_tables", f"bootclus_table{number:02}.csv")
        if not path.exists():
            continue
        for row in csv.DictReader(path.open()):
            key = row["true_model"], float(row["confidence"]), row["assumed_model"], row["interval"]
            published[key] = {name: float(row[name]) for name in ("coverage_mean", "length_mean") if row[name]}
    return published


def show_coverage(cells):
    """Print the cells, and the number of those within 0.03 of the published ones."""
    print("true level assumed interval   coverage published   length published")
    n_within = n_compared = 0
    for cell in cells:
        paper, length = cell["coverage_published"], cell["length_published"]
        n_within += paper is not None and abs(cell["coverage"] - paper) <= 0.03
        n_compared += paper is not None
        mark = "" if paper is None or abs(cell["coverage"] - paper) <= 0.03 else "  <- off"
        print(
            f"{cell['true_model']:>4} {cell['confidence']:.2f}  {cell['assumed_model']:>5}  {cell['interval']:>5}"
            f"     {cell['coverage']:.3f} ({cell['coverage_std']:.3f}) {paper}"
            f"      {cell['length']:.3f} {length}{mark}"
        )
    print(f"{n_within} of {n_compared} cells of coverage within 0.03")


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--datasets", type=int, default=100)
    parser.add_argument("--bootstrap", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    record.write("reproduction_coverage", coverage(options.datasets, options.bootstrap, options.jobs))


if __name__ == "__main__":
    main()
