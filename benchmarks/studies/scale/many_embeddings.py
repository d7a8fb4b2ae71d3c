"""Ten million embeddings: ``python -m benchmarks.studies.scale.many_embeddings [--rows N ...] [--write]``.

ECM with 200 clusters and 300 features on a Dask cluster of 2 processes, which generate and store the rows: time,
CPU and memory of one million and of ten million rows (12 GB), and their growth. It takes about 20 minutes on 2
cores, and 16 GB of memory.
"""

import os
import warnings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.common import command_line, record
from benchmarks.common.big_data import sample
from benchmarks.common.watching import Watch, clock_times
from evlearn import open_dataset
from evlearn.cluster import ECM

FEATURES, CLUSTERS, ITERATIONS = 300, 200, 5
ROWS, CHUNK = (10**6, 10**7), 50_000


def rows_of(number):
    return sample(number, CHUNK, FEATURES, CLUSTERS)[0]


def collection(n_rows):
    """Return a Dask array that workers generate from block numbers."""
    import dask.array as da
    from dask import delayed

    make = delayed(rows_of, pure=True)
    return da.concatenate(
        [da.from_delayed(make(k), (CHUNK, FEATURES), dtype=np.float32) for k in range(n_rows // CHUNK)]
    )


def measure(n_rows):
    """Measure one size: start, iterations, and the labels of all rows."""
    from distributed import Client, LocalCluster

    start = clock_times()
    load = round(os.getloadavg()[0], 1)  # other processes increase elapsed seconds, and CPU seconds slightly
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        Client(cluster),
        Watch(since=start) as watch,
    ):
        watch.lap("start")
        with open_dataset(collection(n_rows)) as rows:
            assert len(rows) == n_rows
            watch.lap("rows")
            model = ECM(CLUSTERS, max_iter=ITERATIONS, tol=0, store_masses=False, random_state=0).fit(rows)
            watch.lap("fit")
            labels = np.asarray(model.predict(rows))
            watch.lap("labels")
    truth = np.concatenate([sample(k, CHUNK, FEATURES, CLUSTERS)[1] for k in range(4)])
    is_clustered = truth >= 0
    return {
        "rows": n_rows,
        "load_before": load,
        "laps": watch.laps,
        "peak_bytes": watch.peak,
        "iterations": int(model.n_iter_),
        "focal_sets": len(model.focal_sets_),
        "ari": round(float(adjusted_rand_score(truth[is_clustered], labels[: len(truth)][is_clustered])), 4),
    }


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--rows", type=lambda text: int(float(text)), nargs="+", default=ROWS)
    parser.add_argument("--write", action="store_true", help="write to the record")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    runs = []
    for n_rows in arguments.rows:
        runs.append(measure(n_rows))
        print(runs[-1], flush=True)
    if arguments.write:
        results = {"features": FEATURES, "clusters": CLUSTERS, "runs": runs}
        record.write("scale_many_embeddings", results, ("dask", "distributed"))


if __name__ == "__main__":
    main()
