"""Scale study: ten thousand to a hundred million rows on Dask, costs, and a forecast of larger sizes.

``python -m benchmarks.studies.scale FOLDER [PART ...] [--rows N ...] [--methods M ...] [--engines E ...]
[--limit BYTES]`` with the parts

- costs: CPU per row by number of features, focal sets, landmarks and batches, with fitted models.
- engines: costs of Dask, Ray and Spark for the start, tasks and iterations. Requires pyspark and ray.
- small: costs with small data: imports, a first fit, and extras (none is loaded).
- sizes: from Parquet files to Parquet files of masses, each size in a separate process, on a Dask cluster of 2
  processes: time, CPU, memory, objective, agreement with the truth. With ``--limit`` the kernel limits the memory
  of the processes of a run, including mapped files.
- forecast: resources for one and ten billion rows, from the other parts.

FOLDER receives the data (3.2 GB for a hundred million rows), temporary files and masses. Results are written to
benchmarks/results/scale_PART.json. All parts take about 75 minutes on 2 cores, including 30 minutes for the
hundred million rows of NN-EVCLUS.
"""

import argparse
import datetime
import json
import os
import subprocess
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.common import command_line, processes, record
from benchmarks.common.watching import Watch, clock_times, limited

FEATURES, CLUSTERS = 8, 4
ROWS = (10**4, 10**5, 10**6, 10**7, 10**8)
METHODS = ("ecm", "evclus", "nn_evclus")
WAYS = ("files", "collection")


def estimator(method):
    """Return an estimator with the parameters of the papers."""
    if method == "ecm":
        from evlearn import papers

        return papers.ecm(CLUSTERS, random_state=0)
    if method == "evclus":
        from evlearn import papers

        return papers.evclus(CLUSTERS, solver="landmark", random_state=0)
    from evlearn.neural import NNEVCLUS, Solver

    # One epoch is sufficient at these sizes.
    return NNEVCLUS(CLUSTERS, solver=Solver("rmsprop", batch_size=250), max_iter=1, random_state=0)


def measure_size(method, way, n_rows, folder):
    """Process files in this process and 2 workers; print the results as JSON."""
    start = clock_times()
    import warnings

    import dask.dataframe as dd
    from distributed import Client, LocalCluster
    from sklearn.exceptions import ConvergenceWarning

    from benchmarks.common.big_data import generate
    from evlearn import open_dataset

    warnings.simplefilter("ignore", ConvergenceWarning)  # after one epoch
    data, out = generate(folder, n_rows, FEATURES), folder / f"masses_{os.getpid()}.parquet"
    result = {"method": method, "way": way, "rows": n_rows}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        Client(cluster),
        Watch(since=start) as watch,
    ):
        watch.lap("start")
        # Training reads random rows from one copy; passes read parts, which remain in the workers.
        options = {"folder": folder} if method == "nn_evclus" else {}
        source = dd.read_parquet(data) if way == "collection" else data
        with open_dataset(source, **options) as rows:
            assert rows.add(count_rows) == n_rows
            watch.lap("read")
            model = estimator(method).fit(rows)
            watch.lap("fit")
            model.predict_mass(rows, out=out)
            watch.lap("masses")
        result |= {"laps": watch.laps, "peak_bytes": watch.peak, "peak_private_bytes": watch.peak_private}
    result |= {"iterations": int(model.n_iter_), "objective": float(model.objective_)}
    result |= check_masses(out, n_rows, model.focal_sets_)
    print(json.dumps(result))


def count_rows(block, weights=None):
    """Count rows, so that the workers read their parts."""
    return len(block)


def check_masses(out, n_rows, focal_sets):
    """Check that all rows have masses, compare them with the true clusters and outliers, and remove the files."""
    import shutil

    import numpy as np
    import pyarrow.dataset as ds
    from sklearn.metrics import adjusted_rand_score

    from benchmarks.common.big_data import FILE_ROWS, sample
    from evlearn import CredalPartition

    dataset = ds.dataset(out)
    table = dataset.head(FILE_ROWS)  # rows of the first block
    count, largest = 0, 0.0
    for batch in dataset.to_batches():
        sums = np.sum([column.to_numpy() for column in batch.columns], axis=0, dtype=np.float64)
        minimum = min(float(column.to_numpy().min()) for column in batch.columns)
        largest = max(largest, float(np.abs(sums - 1).max()), -minimum)
        count += len(batch)
    assert count == n_rows, (count, n_rows)
    masses = np.column_stack([column.to_numpy() for column in table.columns]).astype(np.float64)
    partition = CredalPartition(masses, focal_sets, validate=False)
    _, y = sample(0, min(n_rows, FILE_ROWS), FEATURES, CLUSTERS)
    # Outliers by the largest mass, as in the papers.
    labels, outliers = partition.to_hard(), ~partition.to_rough().any(axis=1)
    size = sum(file.stat().st_size for file in out.iterdir())
    shutil.rmtree(out)
    return {
        "largest_error_of_masses": largest,
        "ari": round(float(adjusted_rand_score(y[y >= 0], labels[y >= 0])), 4),
        "outliers_found": round(float(outliers[y < 0].mean()), 4),
        "false_outliers": round(float(outliers[y >= 0].mean()), 6),
        "bytes_written": size,
    }


def sizes(arguments):
    """Run all methods at all sizes, both ways; other results on record are kept."""
    former = former_results("sizes", arguments)
    runs = {(run["method"], run["way"], run["rows"]): run for run in former.get("runs", [])}
    for method in arguments.methods:
        for n_rows in arguments.rows:
            for way in WAYS if method != "nn_evclus" else WAYS[:1]:
                runs[method, way, n_rows] = run_in_process(arguments, method, way, n_rows)
                show(runs[method, way, n_rows])
                # An interrupt keeps the results so far.
                record.write("scale_sizes", sorted_results(runs), PACKAGES["sizes"], former=former, complete=False)
    return sorted_results(runs)


def sorted_results(runs):
    """Return the results in a fixed order."""
    order = [
        (method, way, n_rows) for method in METHODS for way in WAYS for n_rows in sorted({key[2] for key in runs})
    ]
    return {"features": FEATURES, "clusters": CLUSTERS, "runs": [runs[key] for key in order if key in runs]}


def run_in_process(arguments, method, way, n_rows):
    """Run one size; a process that the kernel kills for its memory is a result too."""
    command = processes.command(__name__, arguments.folder, "--one", method, way, n_rows)
    # Other processes increase elapsed seconds, and CPU seconds slightly.
    run = {"method": method, "way": way, "rows": n_rows, "date": datetime.date.today().isoformat()}
    run["load_before"] = round(os.getloadavg()[0], 1)
    with limited(arguments.limit) as enter:
        run["held_to_bytes"] = arguments.limit if enter else None
        process = subprocess.run(
            command, check=False, stdout=subprocess.PIPE, text=True, preexec_fn=enter, env=processes.environment()
        )
    return run | (
        json.loads(process.stdout.splitlines()[-1]) if not process.returncode else {"failed": process.returncode}
    )


def show(run):
    if "failed" in run:
        print(f"{run['method']:>9} {run['way']:>10} {run['rows']:>11,} failed ({run['failed']})", flush=True)
        return
    laps = "  ".join(f"{name} {lap['wall']:.1f}/{lap['cpu']:.1f}" for name, lap in run["laps"].items())
    print(
        f"{run['method']:>9} {run['way']:>10} {run['rows']:>11,}  {laps} s (elapsed/CPU); {run['iterations']} it.;"
        f" {run['peak_bytes'] / 1e9:.2f} GB ({run['peak_private_bytes'] / 1e9:.2f} private); ARI {run['ari']}",
        flush=True,
    )


def costs(arguments):
    from benchmarks.studies.scale import row_costs

    return row_costs.measure()


def engines(arguments):
    from benchmarks.studies.scale import engine_costs

    return engine_costs.measure(arguments.folder, arguments.engines or engine_costs.ENGINES)


def small(arguments):
    from benchmarks.studies.scale import small_data

    return small_data.measure()


def forecast(arguments):
    from benchmarks.studies.scale import forecast

    return forecast.measure()


def former_results(name, arguments):
    """Return the recorded results of a part if only some of them are repeated."""
    is_selection = {
        "sizes": (arguments.rows, arguments.methods) != (ROWS, METHODS),
        "engines": bool(arguments.engines),
    }
    return record.load_if_recorded(f"scale_{name}") if is_selection.get(name) else {}


PARTS = {"costs": costs, "engines": engines, "small": small, "sizes": sizes, "forecast": forecast}
PACKAGES = {
    "costs": ("torch", "pyarrow"),
    "engines": ("dask", "distributed", "ray", "pyspark"),
    "small": ("dask", "torch"),
    "sizes": ("dask", "distributed", "pyarrow", "torch"),
    "forecast": (),
}


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="parts to run (default: all)")
    parser.add_argument("--rows", type=lambda text: int(float(text)), nargs="+", default=ROWS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--engines", nargs="+", help="engines of the part engines; results of others are kept")
    parser.add_argument("--limit", type=lambda text: int(float(text)), default=0)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        method, way, n_rows = arguments.one
        measure_size(method, way, int(n_rows), arguments.folder)
        return
    arguments.folder.mkdir(exist_ok=True)
    for name in arguments.parts or PARTS:
        former = former_results(name, arguments)
        record.write(f"scale_{name}", PARTS[name](arguments), PACKAGES[name], former=former)


if __name__ == "__main__":
    main()
