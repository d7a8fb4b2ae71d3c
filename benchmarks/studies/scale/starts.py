"""Initialization of many prototypes: ``python -m benchmarks.studies.scale.starts``, about a minute.

500,000 samples with 16 features in 500 separated clusters of equal or unequal sizes. The study measures the share
of clusters without a prototype and the CPU time before the first iteration, compared with that of an iteration of
scikit-learn's k-means. The same for the best of 10 runs of k-means on 20 rows per cluster. It writes
``benchmarks/results/scale_starts.json``.
"""

import time

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from benchmarks.common import record
from evlearn.blocks.dataset import ArrayDataset
from evlearn.cluster import ECM
from evlearn.cluster.centroids.fit import first_state
from evlearn.cluster.centroids.kmeans import kmeans, squared_distances
from evlearn.cluster.centroids.starts import draw

ROWS, FEATURES, CLUSTERS, ROWS_EACH, RUNS = 500_000, 16, 500, 20, 10
#: Concentration of the sizes: a large value yields nearly equal sizes.
SIZES = {"equal": 1e6, "unequal": 2.0}


def data(sizes, seed=0):
    random = np.random.default_rng(seed)
    centers = 3 * random.standard_normal((CLUSTERS, FEATURES))
    y = random.choice(CLUSTERS, size=ROWS, p=random.dirichlet(np.full(CLUSTERS, SIZES[sizes])))
    return centers, (centers[y] + random.standard_normal((ROWS, FEATURES))).astype(np.float32)


def time_call(call):
    begin = time.process_time()
    result = call()
    return result, round(time.process_time() - begin, 2)


def best_of_ten(X):
    random = check_random_state(0)
    sample, counts = draw(ArrayDataset(X[: ROWS_EACH * CLUSTERS]), None, random)
    return min((kmeans(sample, counts, CLUSTERS, random) for _ in range(RUNS)), key=lambda run: run[1])[0]


def measure(sizes):
    centers, X = data(sizes)

    def missed_share(prototypes):
        return round(1 - len(set(squared_distances(prototypes, centers).argmin(axis=1))) / CLUSTERS, 3)

    model = ECM(CLUSTERS, focal_sets="simple", random_state=0)
    state, seconds = time_call(lambda: first_state(model._settings(), ArrayDataset(X), None))
    best_of_runs, seconds_before = time_call(lambda: best_of_ten(X))
    longer, shorter = (
        time_call(lambda n=n: KMeans(CLUSTERS, init=centers.astype(X.dtype), n_init=1, max_iter=n, tol=0).fit(X))[
            1
        ]
        for n in (2, 1)
    )
    return {
        "sizes": sizes,
        "missed": missed_share(state.starts[0]),
        "seconds": seconds,
        "missed_by_best_of_ten": missed_share(best_of_runs),
        "seconds_of_best_of_ten": seconds_before,
        "lloyd_seconds": round(longer - shorter, 2),
    }


if __name__ == "__main__":
    runs = [measure(sizes) for sizes in SIZES]
    for run in runs:
        print(run, flush=True)
    settings = {"rows": ROWS, "features": FEATURES, "clusters": CLUSTERS}
    record.write("scale_starts", {**settings, "runs": runs})
