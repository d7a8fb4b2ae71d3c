"""Epochs of NN-EVCLUS from memory and from Parquet: ``python -m benchmarks.studies.scale.epochs FOLDER``.

Seven minutes. Rows of eight features in four clusters, in mini-batches of 250. CPU of the first epoch, its
loss, and the peak of memory with pages of mapped files, each in a process of its own (the fastest of two for a
million rows); and what a hundred million rows would take at the same pace. FOLDER receives the data (480 MB). It
writes ``benchmarks/results/scale_epochs.json``.
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
    """Files of independent rows."""
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
    from evlearn.neural import NNEVCLUS, training

    X = path
    if way == "memory":
        import pyarrow.parquet as pq

        X = np.column_stack([column.to_numpy() for column in pq.read_table(path).columns])
    seconds = []
    epoch = training._Run.epoch

    def timed(run):
        begin = time.process_time()
        value = epoch(run)
        seconds.append(time.process_time() - begin)
        return value

    training._Run.epoch = timed
    begin = time.process_time()
    settings = {"solver": "rmsprop", "batch_size": 250, "max_iter": 1, "random_state": 0, "store_masses": False}
    model = NNEVCLUS(CLUSTERS, **settings).fit(X)
    return {
        "way": way,
        "rows": n_rows,
        "epoch_seconds": round(seconds[0], 2),
        "other_seconds": round(time.process_time() - begin - seconds[0], 2),
        "loss": model.objective_,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def run(folder, way, n_rows):
    """A measurement in a process of its own."""
    path = Path(folder) / str(n_rows)
    if not path.exists():
        write(path, n_rows)
    command = [sys.executable, "-m", "benchmarks.studies.scale.epochs", str(path), way, str(n_rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    print(found, flush=True)
    return found


def fastest(runs):
    return min(runs, key=lambda one: one["epoch_seconds"])


def main(folder):
    # In turns, because the machine has other work too.
    rounds = [[run(folder, way, SMALL) for way in ("memory", "parquet")] for _ in range(ROUNDS)]
    keep(*map(fastest, zip(*rounds, strict=True)), run(folder, "parquet", LARGE))


def keep(memory, small, large):
    hours = (large["epoch_seconds"] + large["other_seconds"]) * FORECAST / large["rows"] / 3600
    forecast = {"rows": FORECAST, "hours": round(hours, 2)}
    record.write("scale_epochs", {"runs": [memory, small, large], "forecast": forecast})


if __name__ == "__main__":
    if len(sys.argv) > 2:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))
    else:
        main(sys.argv[1])
