"""Epochs of NN-EVCLUS from memory and from Parquet: ``python -m benchmarks.studies.scale.epochs FOLDER``.

Rows with 8 features in 4 clusters, in mini-batches of 250. CPU seconds of the first epoch, its loss, and the peak
of memory with pages of mapped files, each in a separate process (the faster of 2 runs for a million rows); and a
forecast for a hundred million rows. FOLDER receives the data (480 MB). It takes 7 minutes, and writes
``benchmarks/results/scale_epochs.json``.
"""

import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.common import record

SMALL, LARGE, ROUNDS = 1_000_000, 10_000_000, 2
BLOCK, FEATURES, CLUSTERS, FORECAST = 100_000, 8, 4, 100_000_000


def write(path, n_rows):
    """Write files of independent rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.mkdir(parents=True, exist_ok=True)
    centers = 4 * np.random.default_rng(7).standard_normal((CLUSTERS, FEATURES)) / np.sqrt(2)
    for number in range(n_rows // BLOCK):
        random = np.random.default_rng(number)
        X = centers[random.integers(CLUSTERS, size=BLOCK)] + random.standard_normal((BLOCK, FEATURES))
        table = pa.table({f"x{k}": column for k, column in enumerate(X.astype(np.float32).T)})
        pq.write_table(table, path / f"{number:05}.parquet")


def measure(path, way, n_rows):
    from evlearn.neural import NNEVCLUS, Solver, training

    X = path
    if way == "memory":
        import pyarrow.parquet as pq

        X = np.column_stack([column.to_numpy() for column in pq.read_table(path).columns])
    seconds = []
    epoch = training.BatchTraining.run_epoch

    def timed_epoch(run):
        begin = time.process_time()
        value = epoch(run)
        seconds.append(time.process_time() - begin)
        return value

    training.BatchTraining.run_epoch = timed_epoch
    begin = time.process_time()
    solver = Solver("rmsprop", batch_size=250)
    model = NNEVCLUS(CLUSTERS, solver=solver, max_iter=1, random_state=0, store_masses=False).fit(X)
    return {
        "way": way,
        "rows": n_rows,
        "epoch_seconds": round(seconds[0], 2),
        "other_seconds": round(time.process_time() - begin - seconds[0], 2),
        "loss": model.objective_,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def run(folder, way, n_rows):
    """Run a measurement in a separate process."""
    path = Path(folder) / str(n_rows)
    if not path.exists():
        write(path, n_rows)
    command = [sys.executable, "-m", "benchmarks.studies.scale.epochs", str(path), way, str(n_rows)]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    result = json.loads(process.stdout.splitlines()[-1])
    print(result, flush=True)
    return result


def fastest(runs):
    return min(runs, key=lambda run: run["epoch_seconds"])


def main(folder):
    # Runs alternate, because other processes may disturb them.
    rounds = [[run(folder, way, SMALL) for way in ("memory", "parquet")] for _ in range(ROUNDS)]
    write_record(*map(fastest, zip(*rounds, strict=True)), run(folder, "parquet", LARGE))


def write_record(memory, small, large):
    hours = (large["epoch_seconds"] + large["other_seconds"]) * FORECAST / large["rows"] / 3600
    forecast = {"rows": FORECAST, "hours": round(hours, 2)}
    record.write("scale_epochs", {"runs": [memory, small, large], "forecast": forecast})


if __name__ == "__main__":
    if len(sys.argv) > 2:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))
    else:
        main(sys.argv[1])
