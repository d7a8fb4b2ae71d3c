"""Calibration of the intervals of BootClus: Tables 2 to 4 of Denoeux (2020).

``python -m benchmarks.studies.reproduction.coverage [--datasets 100] [--bootstrap 1000] [--jobs 2]``

Data drawn from 3 mixtures, 4 assumed models and 2 confidence levels; coverage and length of the bootstrap
intervals (CI) and of belief and plausibility (BelPl), compared with the published values. It takes about 20
minutes on 2 cores, and writes results/reproduction_coverage.json. With ``--models Auto``, the cells of the other
models are copied from this file.

"Auto" is the method of the paper: the covariance model is selected once, and is the same for all resamples
(`evlearn.papers.bootclus`). ``--own 20`` also measures the default of `evlearn.cluster.BootClus`, which selects
the model again in each resample, on the first 20 data sets with 200 resamples.
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
NAME = "reproduction_coverage"


def measure(number, seed, n_bootstrap, assumed=ASSUMED, *, reselect=False, **settings):
    """Return coverage and length of both kinds of interval on one data set, for assumed models and all levels.

    `assumed` contains the covariance models by name, and `settings` those of the mixture. With `reselect`, each
    resample selects its model. The last item of a row is the model selected for the data.
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
        _, probabilities = bootstrap(mixture, X, n_bootstrap, random, reselect=reselect)
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


def coverage(n_datasets, n_bootstrap, n_jobs, numbers=tuple(TRUE), names=tuple(ASSUMED)):
    """Return means over data sets with the published values, for some of the mixtures and assumed models."""
    start = time.perf_counter()
    assumed = {name: ASSUMED[name] for name in names}
    cells = means(n_datasets, n_bootstrap, n_jobs, numbers, assumed, reselect=False)
    show_coverage(cells)
    seconds = time.perf_counter() - start
    return {"datasets": n_datasets, "n_bootstrap": n_bootstrap, "cells": cells, "seconds": round(seconds)}


def means(n_datasets, n_bootstrap, n_jobs, numbers, assumed, *, reselect):
    """Return a cell for each mixture, confidence level, assumed model and kind of interval."""
    values = {}
    for part in Parallel(n_jobs=n_jobs, verbose=1)(
        delayed(measure)(number, seed, n_bootstrap, assumed, reselect=reselect)
        for number in numbers
        for seed in range(n_datasets)
    ):
        for row in part:
            values.setdefault(row[:4], []).append(row[4:6])
    published = read_published()
    cells = []
    for key, pairs in values.items():
        mean, spread = np.mean(pairs, axis=0), np.std(pairs, axis=0, ddof=1)
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
    return cells


def of_default(n_datasets, n_jobs):
    """Return the cells of the default of BootClus, which selects a model in each resample."""
    cells = means(n_datasets, 200, n_jobs, tuple(TRUE), {"Auto": "auto"}, reselect=True)
    show_coverage(cells)
    return {"datasets": n_datasets, "n_bootstrap": 200, "cells": cells}


def with_stored(results, stored):
    """Return results with the stored cells of other models, and of the default of BootClus."""
    measured = {cell["assumed_model"] for cell in results["cells"]}
    others = [cell for cell in stored.get("cells", []) if cell["assumed_model"] not in measured]
    if others:
        results = results | {"cells": others + results["cells"]}
        results["kept"] = {
            "models": sorted({cell["assumed_model"] for cell in others}),
            "date": stored.get("kept", stored)["date"],
        }
    return {name: stored[name] for name in ("own",) if name in stored} | results


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
    parser.add_argument("--models", nargs="+", choices=ASSUMED, default=tuple(ASSUMED))
    parser.add_argument("--own", type=int, metavar="DATASETS", help="also measure the default of BootClus")
    options = parser.parse_args()
    results = coverage(options.datasets, options.bootstrap, options.jobs, names=options.models)
    if options.own:
        results["own"] = of_default(options.own, options.jobs)
    former = {} if options.own and set(options.models) == set(ASSUMED) else record.load_if_recorded(NAME)
    record.write(NAME, with_stored(results, former), former=former)


if __name__ == "__main__":
    main()
