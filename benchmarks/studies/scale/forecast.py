"""Forecast of larger sizes from measurements of smaller ones and from the cost of tasks.

``python -m benchmarks.studies.scale FOLDER forecast`` runs it, and reads the results in `INPUTS`.

There are 2 ways: *files*, which each worker reads and stores on its local disk, and a *collection* in the memory
of the workers. For each, the CPU time per row in a stage (reading, a pass of the fit, masses) is the slope between
one million and ten million rows, which excludes the startup. The blocks are those of the library (for files
`evlearn.utils.chunks.task_rows`, for collections one per file of a million rows), and the cost of a task was
measured with the same way through Dask. The duration of a stage on W workers is the time for the rows of the
busiest worker, plus that of all tasks, which one scheduler and one client process sequentially.

The model is first compared with measurements of a hundred million rows on 2 workers, which it does not use;
then it forecasts one and ten billion rows on 10, 100 and 1000 workers. The bytes of the results are those of
all masses, and those of the 4 columns of `predict_frame`, which suffice for verdicts.
"""

import math

from benchmarks.common import record
from benchmarks.common.big_data import FILE_ROWS
from benchmarks.studies.scale.row_costs import epoch_terms
from evlearn.utils.chunks import task_rows

#: Results from which the forecast follows.
INPUTS = ("scale_sizes", "scale_engines", "scale_costs")
ROWS, WORKERS = (10**9, 10**10), (10, 100, 1000)
ITERATIONS = 15
SETS = {"ecm": 16}  # focal sets of 4 clusters
FEATURES = 8
#: Bytes of a row of `predict_frame` in a Parquet file, for any number of clusters.
FRAME_BYTES = 16
STAGES = ("read", "fit", "masses")
FITTED_ROWS, CHECKED_ROWS = (10**6, 10**7), 10**8
#: Memory of a worker for Python, the libraries and a task, in addition to the rows.
WORKER_BYTES = 2.5e8


class Costs:
    """CPU seconds per row in each stage, and seconds per task, for one way."""

    def __init__(self, runs, engines, method, way):
        small, large = (find(runs, method, way, n) for n in FITTED_ROWS)
        self.row = {}
        for stage in STAGES:
            difference = cpu(large, stage) - cpu(small, stage)
            self.row[stage] = max(difference, 0) / (FITTED_ROWS[1] - FITTED_ROWS[0])
        self.task = [(entry["workers"], 1e-3 * entry["milliseconds_per_task"]) for entry in engines["ways"][way]]
        # Additional workers increase the cost of tasks by the same factor as for empty tasks.
        base, *larger = sorted(
            (entry["workers"], entry["milliseconds_per_task"]) for entry in engines["many_workers"]
        )
        self.task += [(count, self.task[0][1] * value / base[1]) for count, value in larger]
        self.way = way

    def seconds_of_task(self, workers):
        """Return the seconds per task of the largest measured cluster that is not larger."""
        return max(value for count, value in self.task if count <= workers)

    def block(self, n, workers):
        """Return the number of rows per block: that of the library, or for files at least 2 blocks per worker."""
        if self.way == "collection":
            return FILE_ROWS
        return min(task_rows(n, 4 * FEATURES), math.ceil(n / (2 * workers)))


def find(runs, method, way, n):
    return next(run for run in runs if (run["method"], run["way"], run["rows"]) == (method, way, n))


def cpu(run, stage):
    """Return the CPU seconds of a stage; for a fit, per iteration."""
    seconds = run["laps"][stage]["cpu"]
    return seconds / (run["iterations"] + 1) if stage == "fit" else seconds


def run_time(costs, method, n, workers, iterations=ITERATIONS):
    """Return the elapsed seconds of all stages, and the required resources."""
    block = costs.block(n, workers)
    n_blocks = math.ceil(n / block)
    rows = math.ceil(n_blocks / workers) * block if n_blocks > workers else block
    scheduling = n_blocks * costs.seconds_of_task(workers)
    times = {"read": 1, "fit": iterations + 1, "masses": 1}
    parts = {stage: times[stage] * (rows * costs.row[stage] + scheduling) for stage in STAGES}
    total = sum(parts.values())
    f, bytes_per_worker = SETS[method], n * FEATURES * 4 / workers
    in_memory = (
        (bytes_per_worker if costs.way == "collection" else 0) + 2 * block * (FEATURES + f) * 4 + WORKER_BYTES
    )
    return {
        "method": method,
        "way": costs.way,
        "rows": n,
        "workers": workers,
        "block": block,
        **{name: round(value, 1) for name, value in parts.items()},
        "total": round(total, 1),
        "scheduling_share": round(sum(times.values()) * scheduling / total, 3),
        "worker_bytes": int(in_memory),
        "disk_bytes": int(bytes_per_worker if costs.way == "files" else 0),
        "written_bytes": n * f * 4,
        "frame_bytes": n * FRAME_BYTES,
        "write_bytes_per_second": int(n * f * 4 / parts["masses"]),
        "read_bytes_per_second": int(n * FEATURES * 4 / parts["read"]),
    }


def compare_with(costs, run):
    """Return the measured CPU seconds of all processes with those of the model."""
    iterations = run["iterations"]
    model = sum(costs.row[stage] * (iterations + 1 if stage == "fit" else 1) for stage in STAGES) * run["rows"]
    n_tasks = math.ceil(run["rows"] / costs.block(run["rows"], 2)) * (iterations + 3)
    model += n_tasks * costs.seconds_of_task(2)
    measured = sum(run["laps"][stage]["cpu"] for stage in STAGES)
    return {
        "method": run["method"],
        "way": run["way"],
        "rows": run["rows"],
        "model": round(model, 1),
        "measured": round(measured, 1),
        "ratio": round(measured / model, 2),
    }


def measure():
    """Return all comparisons and forecasts."""
    runs, engines, costs_of_rows = (record.load(name) for name in INPUTS)
    results = {"inputs": list(INPUTS), "check": [], "forecasts": []}
    for method in SETS:
        for way in ("files", "collection"):
            costs = Costs(runs["runs"], engines, method, way)
            results["check"].append(compare_with(costs, find(runs["runs"], method, way, CHECKED_ROWS)))
            results["forecasts"] += [run_time(costs, method, n, workers) for n in ROWS for workers in WORKERS]
    epoch = costs_of_rows["nn_evclus"]["coefficients"]
    terms = epoch_terms({"attributes": FEATURES, "clusters": 4, "sets": 6, "batch": 250})
    seconds = 1e-9 * sum(a * b for a, b in zip(epoch, terms, strict=True))
    results["epoch_of_1e10_hours"] = round(1e10 * seconds / 3600, 1)
    for result in results["check"] + results["forecasts"]:
        print(result, flush=True)
    return results
