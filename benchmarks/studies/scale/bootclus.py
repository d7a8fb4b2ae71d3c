"""Cost of BootClus: ``python -m benchmarks.studies.scale.bootclus [iris] [wine] [n2000] [n20000] [--write]``.

CPU seconds on Iris compared with those of R, and on Wine with defaults; time and memory for 2,000 samples (all
pairs) and 20,000 (sampled pairs) compared with the main steps: EM runs, and products and sorts of the
probabilities; the same with 2 workers.
"""

import os
import time
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from benchmarks.common import command_line, reference
from benchmarks.common.measuring import peak_bytes
from evlearn import papers
from evlearn.cluster import BootClus
from evlearn.cluster.model_based.intervals import percentile_intervals
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.mixture.bootstrap import bootstrap


def fits(X, y, n_fits, kind=BootClus, **settings):
    """Return CPU seconds of fits with different seeds, and their adjusted Rand indices."""
    seconds, aris = [], []
    for seed in range(n_fits):
        start = time.process_time()
        model = kind(3, n_bootstrap=500, random_state=seed, **settings).fit(X)
        seconds.append(round(time.process_time() - start, 3))
        aris.append(round(adjusted_rand_score(y, model.labels_), 3))
    return seconds, aris


def on_iris():
    """Return CPU seconds of 5 fits, with the settings of R's recorded runs."""
    seconds, aris = fits(*load_iris(return_X_y=True), 6, papers.bootclus, model="VEV", n_bootstrap=500)
    recorded = [float(row["cpu_seconds"]) for row in reference.timings() if row["case"] == "bootclus_iris_G3_B500"]
    median = float(np.median(seconds[1:]))  # the first fit loads libraries
    return {
        "cpu_seconds": seconds,
        "r_cpu_seconds": recorded,
        "times_less_cpu": round(float(np.median(recorded)) / median, 1),
        "ari": aris,
    }


def on_wine():
    """Return CPU seconds of fits with defaults otherwise, including the choice of the covariance model."""
    X, y = load_wine(return_X_y=True)
    seconds, aris = fits(StandardScaler().fit_transform(X), y, 4)
    return {"cpu_seconds": seconds, "median": float(np.median(seconds[1:])), "ari": aris}


def on_blobs(n_samples, n_partners):
    """Return time and memory of a fit and the time of its main steps, and the time with 2 workers."""
    X, _ = make_blobs(n_samples, 4, centers=4, cluster_std=2.5, random_state=0)
    settings = {"covariance_models": "VVV", "n_bootstrap": 500, "n_partners": n_partners, "random_state": 0}
    marks = {}
    BootClus(2, n_bootstrap=200, n_jobs=2).fit(X[:200])  # workers start and load modules
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
        "n_objects": n_samples,
        "n_pairs": n_pairs,
        "objective": model.objective_,
        "seconds": round(marks[1][0], 2),
        "seconds_em": round(runs, 2),
        "seconds_intervals": round(reductions, 2),
        "seconds_two_workers": round(marks[2][0], 2),
        "parallel_efficiency": round(marks[1][0] / (2 * marks[2][0]), 2),
        "peak_megabytes": round(memory / 1e6),
        "n_n_B_megabytes": round(8 * n_samples**2 * 500 / 1e6),
    }


PARTS = {
    "iris": on_iris,
    "wine": on_wine,
    "n2000": partial(on_blobs, 2_000, "all"),
    "n20000": partial(on_blobs, 20_000, 200),
}

if __name__ == "__main__":
    command_line.run_parts(__doc__, PARTS, "scale_bootclus")
