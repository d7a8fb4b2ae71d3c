"""CredalEnsemble: detection of errors on digits by its doubt, its cost, and sizes up to a million samples.

``python -m benchmarks.studies.scale.ensemble``

Digits: the area under the risk-coverage curve of labels matched to classes by majority, for 5 seeds; in 64 pixels
or 20 principal components. Sizes: 10 runs of k-means with 20 clusters, combined to 10; samples with 10 features
from 10 slightly overlapping Gaussians. Each size runs in a separate process to measure its memory. Others: the
same ensembles on data in the reference folder, compared with single fits.
"""

import math
import multiprocessing
import os
import resource
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from benchmarks.common import record
from benchmarks.studies.answers import data
from benchmarks.studies.answers.methods import gaussian_mixture, k_means, to_answer
from evlearn.cluster import ECM
from evlearn.ensemble import CredalEnsemble
from evlearn.metrics import aurc_score
from evlearn.metrics.risk_coverage import majority_classes

SEEDS = range(5)
SIZES = {10_000: 0.5, 100_000: 0.5, 1_000_000: 20_000}  # numbers of samples, and max_samples
CLUSTERS, FEATURES = 10, 10
OTHERS = ("iris", "wine", "seeds", "wdbc", "ecoli", "yeast", "segment", "vehicles_evclass", "vowel_train", "glass")
OTHERS += ("s2", "a1", "aggregation", "flame", "compound", "jain", "unbalance", "banana_keel", "fourclass")
ENSEMBLES = {
    "15 Gaussians, 10 halves": ("components", lambda: CredalEnsemble(GaussianMixture(15), n_clusters=10)),
    "k-means with 20 clusters, 10 halves": ("pixels", lambda: CredalEnsemble(KMeans(20), n_clusters=10)),
    "k-means, mixture, Ward and ECM": (
        "components",
        lambda: CredalEnsemble(
            [KMeans(10, n_init=10), GaussianMixture(10), AgglomerativeClustering(10), ECM(10)], n_clusters=10
        ),
    ),
}


def digits():
    """Return the scores of each ensemble and of k-means for each seed."""
    pixels, y = load_digits(return_X_y=True)
    spaces = {"pixels": pixels, "components": PCA(20, random_state=0).fit_transform(pixels)}
    rows = [of_answer("k-means", "pixels", y, seed, partial(k_means, pixels, 10, seed)) for seed in SEEDS]
    for name, (space, make) in ENSEMBLES.items():
        for seed in SEEDS:
            model = make().set_params(random_state=seed)
            rows.append(of_answer(name, space, y, seed, partial(fit_ensemble, model, spaces[space])))
    return rows


def fit_ensemble(model, X):
    return to_answer(model.fit(X).credal_partition_)


def of_answer(name, space, y, seed, compute):
    start = time.process_time()
    result = compute()
    seconds = time.process_time() - start
    predicted = majority_classes(y, result.labels)
    return {
        "method": name,
        "features": space,
        "seed": seed,
        "ari": round(float(adjusted_rand_score(y, result.labels)), 4),
        "error": round(float((predicted != y).mean()), 4),
        "aurc": round(aurc_score(y, predicted, result.doubt), 4),
        "cpu_seconds": round(seconds, 2),
    }


def means(rows):
    """Return the mean of each method over seeds, its worst area, and its least CPU time."""
    summary = {}
    for name in dict.fromkeys(row["method"] for row in rows):
        selected = [row for row in rows if row["method"] == name]
        summary[name] = {
            key: round(float(np.mean([row[key] for row in selected])), 4) for key in ("ari", "error", "aurc")
        }
        summary[name] |= {
            "worst_aurc": max(row["aurc"] for row in selected),
            "least_cpu_seconds": min(row["cpu_seconds"] for row in selected),
        }
    return summary


def others():
    """Return the same on other data sets, which were used after the ensembles for digits had been chosen."""
    rows = []
    for problem in (data.load("design", name) for name in OTHERS):
        X, c = problem.X, problem.n_clusters
        pieces = GaussianMixture(math.ceil(1.5 * c), reg_covar=1e-3)  # some columns have few distinct values
        ensembles = {"mixture of 1.5 c, 10 halves": pieces, "k-means of 2 c, 10 halves": KMeans(2 * c)}
        for seed in SEEDS[:2]:
            answers = {"k-means": partial(k_means, X, c, seed), "mixture": partial(gaussian_mixture, X, c, seed)}
            for name, estimator in ensembles.items():
                answers[name] = partial(
                    fit_ensemble, CredalEnsemble(estimator, n_clusters=c, random_state=seed), X
                )
            for name, answer in answers.items():
                rows.append({"data": problem.name} | of_answer(name, "all", problem.y, seed, answer))
    return rows


def size(n_samples, max_samples):
    """Return CPU seconds and memory of a fit, and its accuracy."""
    X, y = make_blobs(n_samples, FEATURES, centers=CLUSTERS, cluster_std=3.0, random_state=0)
    model = CredalEnsemble(KMeans(20), n_clusters=CLUSTERS, max_samples=max_samples, random_state=0)
    start = time.process_time()
    model.fit(X)
    seconds = time.process_time() - start
    verdict, is_wrong = model.credal_partition_.verdict(), majority_classes(y, model.labels_) != y
    return {
        "n_samples": n_samples,
        "max_samples": max_samples,
        "cpu_seconds": round(seconds, 2),
        "peak_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
        "ari": round(float(adjusted_rand_score(y, model.labels_)), 4),
        "torn": round(float(verdict.torn.mean()), 4),
        "error_of_sure": round(float(is_wrong[verdict.sure].mean()), 4),
        "error_of_torn": round(float(is_wrong[verdict.torn].mean()), 4),
    }


def main():
    warnings.simplefilter("ignore")
    rows = digits()
    summary = means(rows)
    for name, row in summary.items():
        print(name, row)
    sizes = []
    for n_samples, max_samples in SIZES.items():
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
            sizes.append(process.submit(size, n_samples, max_samples).result())
        print(sizes[-1])
    results = {"digits": rows, "means": summary, "sizes": sizes}
    if set(OTHERS) <= set(data.names("design")):
        results["others"] = others()
        results["means_of_others"] = means(results["others"])
        for name, row in results["means_of_others"].items():
            print(name, row)
    record.write("scale_ensemble", results)


if __name__ == "__main__":
    main()
