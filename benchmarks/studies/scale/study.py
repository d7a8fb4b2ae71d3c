"""The scale study: rows from ten thousand to a hundred million on Dask, what they cost, and what more would need.

``python -m benchmarks.studies.scale FOLDER [PART ...] [--rows N ...] [--methods M ...] [--engines E ...]
[--limit BYTES]`` with the parts

- costs: CPU of a row against attributes, focal sets, landmarks and batches, and a model fitted to it.
- engines: what Dask, Ray and Spark cost to start, for a task and for an iteration. Needs pyspark and ray.
- small: what users of small data pay: imports, a first fit, and that no extra is loaded.
- sizes: from Parquet files to Parquet files of masses, each size in a process of its own, on a Dask cluster of two
  processes: time, CPU, memory, objective, agreement with the truth. With ``--limit`` the kernel holds the
  processes of a run, with the files they map, to so many bytes.
- forecast: from the other parts, what ten billion rows need.

FOLDER receives the data (3.2 GB for a hundred million rows), temporary files and masses. Results go to
benchmarks/results/scale_PART.json. All parts together take about an hour and a quarter on two cores,
half an hour of it the hundred million rows of NN-EVCLUS.
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
from benchmarks.common.watching import Watch, limited, now

FEATURES, CLUSTERS = 8, 4
ROWS = (10**4, 10**5, 10**6, 10**7, 10**8)
METHODS = ("ecm", "evclus", "nn_evclus")
WAYS = ("files", "collection")


def estimator(method):
    """An estimator with the parameters of the papers."""
    if method == "ecm":
        from benchmarks.common import papers

        return papers.ECM(CLUSTERS, random_state=0)
    if method == "evclus":
        from benchmarks.common import papers

        return papers.EVCLUS(CLUSTERS, solver="landmark", random_state=0)
    from evlearn.neural import NNEVCLUS

    # One epoch: at these sizes every cluster has been seen thousands of times by then.
    return NNEVCLUS(CLUSTERS, solver="rmsprop", batch_size=250, max_iter=1, random_state=0)


def one_size(method, way, n_rows, folder):
    """From files to files in this process and two others; what it took, as JSON on standard output."""
    start = now()
    import warnings

    import dask.dataframe as dd
    from distributed import Client, LocalCluster
    from sklearn.exceptions import ConvergenceWarning

    from benchmarks.common.big_data import generate
    from evlearn.blocks import open_rows

    warnings.simplefilter("ignore", ConvergenceWarning)  # one epoch
    data, out = generate(folder, n_rows, FEATURES), folder / f"masses_{os.getpid()}.parquet"
    found = {"method": method, "way": way, "rows": n_rows}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        Client(cluster),
        Watch(since=start) as watch,
    ):
        watch.lap("start")
        # Training picks rows at random, from one copy; passes read parts, which stay with the workers.
        copied = {"folder": folder} if method == "nn_evclus" else {}
        given = dd.read_parquet(data) if way == "collection" else data
        with open_rows(given, **copied) as rows:
            assert rows.add(count_rows) == n_rows
            watch.lap("read")
            model = estimator(method).fit(rows)
            watch.lap("fit")
            model.predict_mass(rows, out=out)
            watch.lap("masses")
        found |= {"laps": watch.laps, "peak_bytes": watch.peak, "peak_private_bytes": watch.peak_private}
    found |= {"iterations": int(model.n_iter_), "objective": float(model.objective_)}
    found |= check_masses(out, n_rows, model.focal_sets_)
    print(json.dumps(found))


def count_rows(block, weights=None):
    """A pass that does nothing: the workers read their parts."""
    return len(block)


def check_masses(out, n_rows, focal_sets):
    """That every row has a mass function, and how well they tell clusters and outliers; removes the files."""
    import shutil

    import numpy as np
    import pyarrow.dataset as ds
    from sklearn.metrics import adjusted_rand_score

    from benchmarks.common.big_data import FILE_ROWS, sample
    from evlearn import CredalPartition

    written = ds.dataset(out)
    table = written.head(FILE_ROWS)  # the rows of the first block
    count, largest = 0, 0.0
    for batch in written.to_batches():
        sums = np.sum([column.to_numpy() for column in batch.columns], axis=0, dtype=np.float64)
        least = min(float(column.to_numpy().min()) for column in batch.columns)
        largest = max(largest, float(np.abs(sums - 1).max()), -least)
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
    """Every method at every size, both ways; what was not asked for stays as it was found before."""
    runs = earlier_runs()
    for method in arguments.methods:
        for n_rows in arguments.rows:
            for way in WAYS if method != "nn_evclus" else WAYS[:1]:
                runs[method, way, n_rows] = in_a_process(arguments, method, way, n_rows)
                show(runs[method, way, n_rows])
                record.write("scale_sizes", in_order(runs), PACKAGES["sizes"])  # if it is stopped, not all is lost
    return in_order(runs)


def in_order(runs):
    """What the part writes."""
    order = [
        (method, way, n_rows) for method in METHODS for way in WAYS for n_rows in sorted({key[2] for key in runs})
    ]
    return {"features": FEATURES, "clusters": CLUSTERS, "runs": [runs[key] for key in order if key in runs]}


def earlier_runs():
    if not (record.RESULTS / "scale_sizes.json").exists():
        return {}
    return {(run["method"], run["way"], run["rows"]): run for run in record.read("scale_sizes")["runs"]}


def in_a_process(arguments, method, way, n_rows):
    """One size; a run that the kernel ends, because it takes too much memory, is a result too."""
    command = processes.command(__name__, arguments.folder, "--one", method, way, n_rows)
    # Other work on the machine makes elapsed seconds long, and CPU seconds a little.
    run = {"method": method, "way": way, "rows": n_rows, "date": datetime.date.today().isoformat()}
    run["load_before"] = round(os.getloadavg()[0], 1)
    with limited(arguments.limit) as enter:
        run["held_to_bytes"] = arguments.limit if enter else None
        done = subprocess.run(
            command, check=False, stdout=subprocess.PIPE, text=True, preexec_fn=enter, env=processes.environment()
        )
    return run | (json.loads(done.stdout.splitlines()[-1]) if not done.returncode else {"failed": done.returncode})


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
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all of them if none is named")
    parser.add_argument("--rows", type=lambda text: int(float(text)), nargs="+", default=ROWS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--engines", nargs="+", help="of the part engines; others stay as they were")
    parser.add_argument("--limit", type=lambda text: int(float(text)), default=0)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        method, way, n_rows = arguments.one
        one_size(method, way, int(n_rows), arguments.folder)
        return
    arguments.folder.mkdir(exist_ok=True)
    for name in arguments.parts or PARTS:
        record.write(f"scale_{name}", PARTS[name](arguments), PACKAGES[name])


if __name__ == "__main__":
    main()
