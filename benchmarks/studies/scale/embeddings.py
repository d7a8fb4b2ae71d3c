"""Many clusters and features, as for embeddings: ``python -m benchmarks.studies.scale.embeddings [--write]``.

An iteration of ECM is compared with one of scikit-learn's k-means (Lloyd), in alternation, in CPU time with one
thread; and with the 2 matrix products that an iteration requires, one for distances and one for sums (Lloyd
requires only the first). Further results are the cost of predictions for one row, and of 8 threads that predict
row by row. It takes a few minutes.
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

#: Samples, clusters, features, and the exponent: "auto" is close to 1 with many features; the paper uses 2.
SIZES = ((1_000_000, 200, 300, 1.1), (200_000, 50, 64, 1.1), (1_000_000, 10, 8, 1.1), (1_000_000, 10, 8, 2.0))
ROWS = ((100, 300), (200, 300), (500, 300))
ROUNDS = 3


def sample(n_samples, n_clusters, n_features, seed=0):
    random = np.random.default_rng(seed)
    centers = random.normal(size=(n_clusters, n_features)).astype(np.float32)
    X = np.empty((n_samples, n_features), dtype=np.float32)
    for start in range(0, n_samples, 100_000):  # noise in double precision would double the memory
        block = X[start : start + 100_000]
        block[:] = centers[random.integers(n_clusters, size=len(block))]
        block += 0.8 * random.standard_normal(size=block.shape, dtype=np.float32)
    return X, centers


def cpu(call):
    start = time.process_time()
    call()
    return time.process_time() - start


def iteration(n_samples, n_clusters, n_features, beta):
    """Return the CPU seconds of an iteration of each, minimum over alternating rounds."""
    X, centers = sample(n_samples, n_clusters, n_features)
    coordinates = Coordinates.of(X[:20_000])
    costs = SetCosts.ecm(FocalSets.simple(n_clusters), alpha=1.0, beta=beta, delta=10.0)
    model = EuclideanModel(costs, coordinates, coordinates.transform(centers))
    shares = np.ones((2048, n_clusters), dtype=np.float32)

    def lloyd():
        """Return the CPU seconds of an iteration, from the difference between a long and a short fit."""
        n_long = 4 if n_features > 100 else 31
        models = [KMeans(n_clusters, init=X[:n_clusters], n_init=1, max_iter=k, tol=0) for k in (1, n_long)]
        shorter, longer = (cpu(lambda model=model: model.fit(X)) for model in models)
        return (longer - shorter) / (models[1].n_iter_ - 1)

    def products():
        for start in range(0, n_samples, 2048):
            block = X[start : start + 2048]
            block @ centers.T
            shares[: len(block)].T @ block

    times = {"ecm": [], "lloyd": [], "products": []}
    for _ in range(ROUNDS):
        times["ecm"].append(cpu(lambda: model.collect(X)))
        times["lloyd"].append(lloyd())
        times["products"].append(cpu(products))
    ratios = sorted(first / second for first, second in zip(times["ecm"], times["lloyd"], strict=True))
    return {
        "samples": n_samples,
        "clusters": n_clusters,
        "features": n_features,
        "beta": beta,
        **{name: min(values) for name, values in times.items()},
        "ratio": ratios[len(ratios) // 2],
        "ratios": ratios,
    }


def measure_row(n_clusters, n_features):
    """Return time and memory of predictions for one row, and with 8 threads."""
    X, centers = sample(3 * n_clusters, n_clusters, n_features)
    model = ECM(n_clusters, focal_sets="simple", init=centers, max_iter=1, random_state=0).fit(X)
    expected = model.predict_mass(X[:1]).masses
    times = sorted(cpu(lambda: model.predict_mass(X[:1])) for _ in range(200))
    tracemalloc.start()
    model.predict_mass(X[:1])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    initial_memory, peak_memory, errors = psutil.Process().memory_info().rss, [0], []

    def serve():
        for _ in range(200):
            if not np.array_equal(model.predict_mass(X[:1]).masses, expected):
                errors.append(1)
            peak_memory[0] = max(peak_memory[0], psutil.Process().memory_info().rss)

    threads = [threading.Thread(target=serve) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {
        "clusters": n_clusters,
        "features": n_features,
        "median_seconds": times[len(times) // 2],
        "bytes": peak,
        "bytes_of_eight_threads": peak_memory[0] - initial_memory,
        "bytes_of_the_process": peak_memory[0],
        "wrong": len(errors),
    }


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--write", action="store_true", help="write to the record")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        rows = [measure_row(*size) for size in ROWS]
        for row in rows:
            print(row, flush=True)
        iterations = []
        for size in SIZES:
            iterations.append(iteration(*size))
            print(iterations[-1], flush=True)
    if arguments.write:
        record.write("scale_embeddings", {"rows": rows, "iterations": iterations})


if __name__ == "__main__":
    main()
