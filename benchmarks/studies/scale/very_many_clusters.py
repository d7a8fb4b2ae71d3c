"""Ten thousand clusters: ``python -m benchmarks.studies.scale.very_many_clusters [--rows N] [--write]``.

One iteration of CCM, and the masses of all rows, beside one iteration of k-means and a search of nearest centroids
by faiss, from the same prototypes: CPU time of one thread, and memory, in separate processes. Both
compute the distances of all rows to all prototypes. Starts are not measured: prototypes are the centers from which
the rows are drawn, moved by a small distance. 10 million rows on 2 workers are composed of these parts, with the
cost of reading and writing Parquet files. 100,000 rows take about 2 minutes of CPU time. It also measures the
memory of masses for 400 clusters that CCM finds itself.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.common import command_line, record

FEATURES, CLUSTERS, ROWS, PAIRS_EACH, OUTLIERS = 128, 10_000, 100_000, 2, 0.02
COMPOSED_ROWS, COMPOSED_ITERATIONS, WORKERS = 10_000_000, 10, 2


def draw(n_rows):
    """Return rows, the cluster of each row (-1 for outliers), and prototypes."""
    random = np.random.default_rng(0)
    centers = random.standard_normal((CLUSTERS, FEATURES), dtype=np.float32)
    clusters = random.integers(CLUSTERS, size=n_rows)
    clusters[random.random(n_rows) < OUTLIERS] = -1
    rows = random.standard_normal((n_rows, FEATURES), dtype=np.float32)
    rows *= np.where(clusters < 0, 4, 0.7)[:, None].astype(np.float32)
    rows += centers[clusters] * (clusters >= 0)[:, None]
    return rows, clusters, centers + 0.1 * random.standard_normal(centers.shape, dtype=np.float32)


def neighbors(prototypes, rows):
    """Return the pairs of prototypes that are most often the nearest 2 of a row, as CCM selects them."""
    counts = {}
    for start in range(0, len(rows), 1000):
        block = rows[start : start + 1000]
        squares = (prototypes**2).sum(axis=1) - 2 * block @ prototypes.T
        for pair in np.sort(np.argpartition(squares, 1, axis=1)[:, :2], axis=1).tolist():
            counts[tuple(pair)] = counts.get(tuple(pair), 0) + 1
    return sorted(counts, key=lambda pair: -counts[pair])[: PAIRS_EACH * CLUSTERS]


def make_model(rows, prototypes):
    """Return a model of CCM whose beta and rule for outliers follow from a sample."""
    from evlearn.belief import FocalSets
    from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
    from evlearn.cluster.centroids.scales import Scales
    from evlearn.cluster.centroids.starts import typical_distance
    from evlearn.cluster.outlier_rule import OutlierRule
    from evlearn.cluster.set_costs import SetCosts

    scales = Scales.of(rows[:1000].astype(float), np.ones(1000), prototypes[:2000].astype(float))
    beta = scales.beta()
    delta = typical_distance(rows[:20_000].astype(float), np.ones(20_000), np.random.RandomState(0))
    sets = FocalSets.pairs(CLUSTERS, neighbors(prototypes, rows[:20_000]), include_omega=False)
    costs = SetCosts.ccm(sets, gamma=1.0, beta=beta, delta=delta)
    origin = Coordinates(np.zeros(FEATURES), 1.0)
    rule = OutlierRule(np.full(CLUSTERS, 11.0), 20.0)
    return EuclideanModel(costs, origin, prototypes.astype(float), outliers=rule)


def timed(laps, name, function):
    start = time.process_time()
    result = function()
    laps[name] = round(time.process_time() - start, 2)
    return result


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def ccm(n_rows):
    """Measure an iteration and the masses."""
    from evlearn import CredalPartition
    from evlearn.blocks.targets import ParquetTarget

    rows, clusters, prototypes = draw(n_rows)
    laps = {}
    model = timed(laps, "model", lambda: make_model(rows, prototypes))
    before = peak()
    statistics = timed(laps, "collect", lambda: model.collect(rows))
    timed(laps, "solve", lambda: model.solve(statistics))
    after_iteration = peak()
    masses = timed(laps, "assign", lambda: model.assign_sparse(rows))
    after_masses = peak()
    partition = CredalPartition(masses, model.focal_sets, validate=False)
    labels = timed(laps, "labels", partition.to_hard)
    doubt = timed(laps, "doubt", partition.doubt)
    timed(laps, "summary", partition.summary)
    dense = model.assign(rows[:300]).astype(np.float64)
    difference = np.abs(masses[:300] - dense).max()
    in_double = model.assign_sparse(rows[:4096].astype(np.float64))
    is_clustered = clusters >= 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "masses.parquet")
        target = ParquetTarget(path, ("sets", "masses"))
        timed(laps, "write", lambda: target.write_rows(0, masses))
        target.finish()
        n_bytes = sum(file.stat().st_size for file in path.iterdir())
    return {
        "laps": laps,
        "peak_of_iteration": after_iteration - before,
        "peak_of_masses": after_masses - before,
        "beta": model.costs.beta,
        "delta": round(float(np.sqrt(model.costs.empty)), 2),
        "focal_sets": len(model.focal_sets),
        "bytes_per_row": round(masses.nbytes / n_rows, 1),
        "double_bytes_per_row": round(in_double.nbytes / len(in_double), 1),
        "file_bytes_per_row": round(n_bytes / n_rows, 1),
        "largest_difference_from_arrays": float(difference),
        "accuracy": round(float((labels[is_clustered] == clusters[is_clustered]).mean()), 4),
        "outliers_found": round(float(partition.outliers()[~is_clustered].mean()), 4),
        "mean_doubt": round(float(doubt.mean()), 4),
    }


def faiss_kmeans(n_rows):
    """Measure an iteration of k-means by faiss, and the search of the nearest centroids."""
    import faiss

    faiss.omp_set_num_threads(1)
    rows, clusters, prototypes = draw(n_rows)
    laps, before = {}, peak()
    options = {"niter": 1, "max_points_per_centroid": n_rows, "min_points_per_centroid": 1}
    kmeans = faiss.Kmeans(FEATURES, CLUSTERS, **options)
    timed(laps, "iteration", lambda: kmeans.train(rows, init_centroids=prototypes))
    index = faiss.IndexFlatL2(FEATURES)
    index.add(prototypes)
    labels = timed(laps, "search", lambda: index.search(rows, 1))[1][:, 0]
    is_clustered = clusters >= 0
    accuracy = round(float((labels[is_clustered] == clusters[is_clustered]).mean()), 4)
    return {"laps": laps, "peak_of_iteration": peak() - before, "accuracy": accuracy}


def parquet(n_rows):
    """Measure the reading of rows from a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from evlearn import open_dataset

    rows, laps = draw(n_rows)[0], {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        pq.write_table(pa.table({f"x{k}": column for k, column in enumerate(rows.T)}), path)
        n_bytes = path.stat().st_size
        with timed(laps, "read", lambda: open_dataset(path)) as opened:
            assert len(opened) == n_rows
    return {"laps": laps, "bytes": n_bytes}


def fitted(n_rows):
    """Measure the masses of 400 clusters after a fit, in single and double precision."""
    from sklearn.metrics import adjusted_rand_score

    from evlearn.cluster import CCM

    random, results = np.random.default_rng(0), {}
    centers = 4 * random.standard_normal((400, 16))
    clusters = random.integers(400, size=20_000)
    rows = centers[clusters] + random.standard_normal((20_000, 16))
    rows[:400] = random.uniform(-16, 16, size=(400, 16))
    for dtype in (np.float32, np.float64):
        start = time.process_time()
        model = CCM(400, random_state=0).fit(rows.astype(dtype))
        partition = model.credal_partition_
        results[np.dtype(dtype).name] = {
            "cpu": round(time.process_time() - start, 2),
            "focal_sets": len(partition.focal_sets),
            "bytes_per_row": round(partition.mass_table.nbytes / len(partition), 1),
            "array_bytes_per_row": len(partition.focal_sets) * np.dtype(dtype).itemsize,
            "ari": round(float(adjusted_rand_score(clusters[400:], model.labels_[400:])), 4),
        }
    return results


METHODS = {"ours": ccm, "faiss": faiss_kmeans, "parquet": parquet, "fitted": fitted}


def composed(results, n_rows):
    """Return CPU hours of 10 million rows on all workers, and elapsed hours with 2 workers."""
    factor = COMPOSED_ROWS / n_rows
    laps = results["ours"]["laps"]
    per_row = COMPOSED_ITERATIONS * laps["collect"] + laps["assign"] + laps["write"]
    seconds = factor * (per_row + results["parquet"]["laps"]["read"]) + COMPOSED_ITERATIONS * laps["solve"]
    faiss_seconds = factor * (
        COMPOSED_ITERATIONS * results["faiss"]["laps"]["iteration"] + results["faiss"]["laps"]["search"]
    )
    return {
        "rows": COMPOSED_ROWS,
        "iterations": COMPOSED_ITERATIONS,
        "workers": WORKERS,
        "cpu_hours": round(seconds / 3600, 2),
        "elapsed_hours": round(seconds / 3600 / WORKERS, 2),
        "faiss_cpu_hours": round(faiss_seconds / 3600, 2),
    }


def run(method, n_rows):
    """Run a method in a separate process."""
    command = [sys.executable, "-m", "benchmarks.studies.scale.very_many_clusters", "--rows", str(n_rows)]
    output = subprocess.run([*command, "--method", method], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.splitlines()[-1])


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=ROWS)
    parser.add_argument("--method", choices=METHODS, help="run one method, and print its results")
    parser.add_argument("--write", action="store_true", help="write to the record")
    arguments = parser.parse_args()
    if arguments.method:
        print(json.dumps(METHODS[arguments.method](arguments.rows)))
        return
    load = round(os.getloadavg()[0], 1)  # other processes increase CPU seconds
    results = {name: run(name, arguments.rows) for name in METHODS}
    results |= {"rows": arguments.rows, "features": FEATURES, "clusters": CLUSTERS, "load_before": load}
    results["composed"] = composed(results, arguments.rows)
    print(json.dumps(results, indent=1))
    if arguments.write:
        record.write("scale_very_many_clusters", results, ("faiss-cpu", "pyarrow"))


if __name__ == "__main__":
    main()
