"""Many clusters in many features, as embeddings are: ``python -m benchmarks.studies.scale.embeddings [--write]``.

An iteration of ECM beside one of scikit-learn's k-means (Lloyd), in turns, in CPU time and one thread; and beside
the two matrix products that an iteration cannot do without, one for distances and one for sums, where Lloyd has
only the first. Then what one row costs in a prediction, and eight threads that predict row by row. A few minutes.
"""

import threading
import time
import tracemalloc
import warnings

import numpy as np
import psutil
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from benchmarks.common import command_line, record
from evlearn.belief import FocalSets
from evlearn.cluster import ECM
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
from evlearn.cluster.set_costs import SetCosts

#: Samples, clusters, features, and the exponent: "auto" is near 1 in many features, and the paper's is 2.
SIZES = ((1_000_000, 200, 300, 1.1), (200_000, 50, 64, 1.1), (1_000_000, 10, 8, 1.1), (1_000_000, 10, 8, 2.0))
ROWS = ((100, 300), (200, 300), (500, 300))
ROUNDS = 3


def sample(n_samples, n_clusters, n_features, seed=0):
    random = np.random.default_rng(seed)
    centres = random.normal(size=(n_clusters, n_features)).astype(np.float32)
    X = np.empty((n_samples, n_features), dtype=np.float32)
    for start in range(0, n_samples, 100_000):  # noise in double precision would take twice the room
        some = X[start : start + 100_000]
        some[:] = centres[random.integers(n_clusters, size=len(some))]
        some += 0.8 * random.standard_normal(size=some.shape, dtype=np.float32)
    return X, centres


def cpu(call):
    start = time.process_time()
    call()
    return time.process_time() - start


def iteration(n_samples, n_clusters, n_features, beta):
    """CPU of an iteration of each, the least of some rounds in turns."""
    X, centres = sample(n_samples, n_clusters, n_features)
    coordinates = Coordinates.of(X[:20_000])
    costs = SetCosts.ecm(FocalSets.simple(n_clusters), alpha=1.0, beta=beta, delta=10.0)
    model = EuclideanModel(costs, coordinates, coordinates.enter(centres))
    shares = np.ones((2048, n_clusters), dtype=np.float32)

    def lloyd():
        """CPU of an iteration: what several take beyond one, where the start and the end are the same."""
        several = 4 if n_features > 100 else 31
        models = [KMeans(n_clusters, init=X[:n_clusters], n_init=1, max_iter=k, tol=0) for k in (1, several)]
        shorter, longer = (cpu(lambda one=one: one.fit(X)) for one in models)
        return (longer - shorter) / (models[1].n_iter_ - 1)

    def products():
        for start in range(0, n_samples, 2048):
            block = X[start : start + 2048]
            block @ centres.T
            shares[: len(block)].T @ block

    found = {"ecm": [], "lloyd": [], "products": []}
    for _ in range(ROUNDS):
        found["ecm"].append(cpu(lambda: model.collect(X)))
        found["lloyd"].append(lloyd())
        found["products"].append(cpu(products))
    ratios = sorted(one / other for one, other in zip(found["ecm"], found["lloyd"], strict=True))
    return {
        "samples": n_samples,
        "clusters": n_clusters,
        "features": n_features,
        "beta": beta,
        **{name: min(values) for name, values in found.items()},
        "ratio": ratios[len(ratios) // 2],
        "ratios": ratios,
    }


def one_row(n_clusters, n_features):
    """Time and memory of the prediction of one row, and of eight threads that do so."""
    X, centres = sample(3 * n_clusters, n_clusters, n_features)
    model = ECM(n_clusters, focal_sets="simple", init=centres, max_iter=1, random_state=0).fit(X)
    expected = model.predict_mass(X[:1]).masses
    times = sorted(cpu(lambda: model.predict_mass(X[:1])) for _ in range(200))
    tracemalloc.start()
    model.predict_mass(X[:1])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    before, most, wrong = psutil.Process().memory_info().rss, [0], []

    def serve():
        for _ in range(200):
            if not np.array_equal(model.predict_mass(X[:1]).masses, expected):
                wrong.append(1)
            most[0] = max(most[0], psutil.Process().memory_info().rss)

    threads = [threading.Thread(target=serve) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return {
        "clusters": n_clusters,
        "features": n_features,
        "median_seconds": times[len(times) // 2],
        "bytes": peak,
        "bytes_of_eight_threads": most[0] - before,
        "bytes_of_the_process": most[0],
        "wrong": len(wrong),
    }


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--write", action="store_true", help="write to the record")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        rows = [one_row(*size) for size in ROWS]
        for one in rows:
            print(one, flush=True)
        iterations = []
        for size in SIZES:
            iterations.append(iteration(*size))
            print(iterations[-1], flush=True)
    if arguments.write:
        record.write("scale_embeddings", {"rows": rows, "iterations": iterations})


if __name__ == "__main__":
    main()
