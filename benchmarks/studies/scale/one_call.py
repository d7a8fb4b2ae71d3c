"""Cost of the default `CredalEnsemble`, from 1,000 to 10 million rows.

``python -m benchmarks.studies.scale.one_call FOLDER``

Samples have 20 features (10 for 1,000 rows) from 4 Gaussian clusters with 2 % outliers (`common.big_data`). Each
case runs in a separate process. The number of clusters is known or estimated, and the data are an array in memory
or Parquet files in FOLDER. Masses of all rows are computed in the fit, or written to Parquet files after it. The
ARI is that of the first million rows without the outliers. It takes 10 minutes of CPU time, and 2 GB in FOLDER.
"""

import json
import multiprocessing
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from sklearn.metrics import adjusted_rand_score

from benchmarks.common import big_data, command_line, processes, record

NAME = "scale_one_call"
CLUSTERS = 4
#: Number of rows, number of features, number of clusters of the estimator, and source of the data.
CASES = (
    (1000, 10, CLUSTERS, "memory"),
    (1000, 10, "auto", "memory"),
    (100_000, 20, CLUSTERS, "memory"),
    (1_000_000, 20, CLUSTERS, "memory"),
    (1_000_000, 20, "auto", "memory"),
    (10_000_000, 20, CLUSTERS, "Parquet files"),
)


def measure(n_rows, n_features, n_clusters, source, folder):
    """Return CPU seconds, memory and accuracy of a fit and of the masses of all rows."""
    from evlearn.ensemble import CredalEnsemble

    X, y = big_data.sample(0, min(n_rows, big_data.FILE_ROWS), n_features, CLUSTERS)
    data = X if source == "memory" else big_data.generate(folder, n_rows, n_features, CLUSTERS)
    before, start = peak_megabytes(), time.process_time()
    model = CredalEnsemble(n_clusters=n_clusters, random_state=0).fit(data)
    fit_seconds = time.process_time() - start
    if source != "memory":
        model.predict_mass(data, out=folder / f"masses_{n_rows}.parquet")
    seconds, peak = time.process_time() - start, peak_megabytes()
    labels, is_inlier = model.labels_ if source == "memory" else model.predict(data)[: len(y)], y >= 0
    return {
        "rows": n_rows,
        "features": n_features,
        "n_clusters": n_clusters,
        "source": source,
        "fit_cpu_seconds": round(fit_seconds, 2),
        "cpu_seconds": round(seconds, 2),
        "megabytes_before": before,
        "peak_megabytes": peak,
        "found": int(model.n_clusters_),
        "ari": round(float(adjusted_rand_score(y[is_inlier], labels[is_inlier])), 4),
    }


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main():
    reader = command_line.parser(__doc__)
    reader.add_argument("folder", type=Path, help="folder for Parquet files")
    folder = reader.parse_args().folder
    processes.with_one_thread()
    entries = []
    for case in CASES:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
            entries.append(process.submit(measure, *case, folder).result())
        print(json.dumps(entries[-1]), flush=True)
    record.write(NAME, {"entries": entries})


if __name__ == "__main__":
    main()
