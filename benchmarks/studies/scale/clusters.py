"""Cost of a fit by the number of clusters: ``python -m benchmarks.studies.scale.clusters``, about a minute.

20,000 samples with 10 features in 50 round groups. CPU time of a pass over the data and bytes of masses by the
number of clusters, compared with an iteration of scikit-learn's k-means. It writes
``benchmarks/results/scale_clusters.json``.
"""

import time

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.common import record
from benchmarks.common.measuring import best_time
from evlearn.cluster import ECM

ROWS, FEATURES, GROUPS = 20_000, 10, 50
NUMBERS = (2, 5, 10, 20, 30, 40, 50)
ROUNDS = 5


def data(seed=0):
    random = np.random.default_rng(seed)
    centers = 6 * random.normal(size=(GROUPS, FEATURES))
    return centers[random.integers(GROUPS, size=ROWS)] + random.normal(size=(ROWS, FEATURES))


def cpu(call):
    return best_time(call, ROUNDS, time.process_time)


def lloyd(X, n_clusters):
    """Return CPU seconds of an iteration of k-means, from the difference between a long and a short fit."""
    start = X[:n_clusters]
    long, short = (KMeans(n_clusters, init=start, n_init=1, max_iter=n, tol=0) for n in (8, 1))
    longer, shorter = cpu(lambda: long.fit(X)), cpu(lambda: short.fit(X))
    return (longer - shorter) / max(long.n_iter_ - 1, 1)


def measure(X, n_clusters):
    begin = time.process_time()
    model = ECM(n_clusters, random_state=0).fit(X)
    return {
        "clusters": n_clusters,
        "sets": len(model.focal_sets_),
        "fit_seconds": time.process_time() - begin,
        "iterations": model.n_iter_,
        "bytes": model.masses_.nbytes,
        "pass_seconds": cpu(lambda: model._model.collect(X)),
        "lloyd_seconds": lloyd(X, n_clusters),
    }


if __name__ == "__main__":
    X = data()
    runs = [measure(X, n_clusters) for n_clusters in NUMBERS]
    for run in runs:
        print({name: round(value, 4) for name, value in run.items()}, flush=True)
    record.write("scale_clusters", {"rows": ROWS, "features": FEATURES, "runs": runs})
