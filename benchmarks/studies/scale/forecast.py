"""What sizes nobody here has run would need, from what smaller ones have taken and what a task costs.

``python -m benchmarks.studies.scale FOLDER forecast`` runs it, and reads results/scale_{sizes,engines,costs}.json.

There are two ways: *files*, which each worker reads for itself and keeps on its own disk, and a *collection* in
the memory of the workers. For each, the CPU of a row in a stage (reading, a pass of the fit, masses) is the slope
between a million and ten million rows: what starting costs is not in it. The blocks are those of the code (for
files `evlearn.utils.chunks.task_rows`, for collections one for each file of a million rows), and the cost of a
task is that of the code's own way through Dask. A stage on W workers takes the time of the rows of the busiest
worker, and that of all tasks, which one scheduler and one client deal with one after the other.

First the model is held against a hundred million rows on two workers, of which it knows nothing; then it is asked
about ten billion on 10, 100 and 1000.
"""

import math

from benchmarks.common import record
from benchmarks.common.big_data import FILE_ROWS
from benchmarks.studies.scale.row_costs import epoch_terms
from evlearn.utils.chunks import task_rows

WORKERS = (10, 100, 1000)
ITERATIONS = 15
SETS = {"ecm": 16}  # focal sets of four clusters
FEATURES = 8
STAGES = ("read", "fit", "masses")
KNOWN, HELD = (10**6, 10**7), 10**8
#: Beyond the rows, a worker has Python, the libraries and what a task needs.
WORKER_BYTES = 2.5e8


class Costs:
    """CPU seconds of a row in each stage, and seconds of a task, of one way."""

    def __init__(self, runs, engines, method, way):
        small, large = (find(runs, method, way, n) for n in KNOWN)
        self.row = {}
        for stage in STAGES:
            apart = cpu(large, stage) - cpu(small, stage)
            self.row[stage] = max(apart, 0) / (KNOWN[1] - KNOWN[0])
        self.task = [(one["workers"], 1e-3 * one["milliseconds_per_task"]) for one in engines["ways"][way]]
        # A worker more makes tasks dearer, as it did for tasks without a way of their own.
        two, *more = sorted((one["workers"], one["milliseconds_per_task"]) for one in engines["many_workers"])
        self.task += [(count, self.task[0][1] * value / two[1]) for count, value in more]
        self.way = way

    def seconds_of_task(self, workers):
        """Those of the largest cluster that was tried and is not larger."""
        return max(value for count, value in self.task if count <= workers)

    def block(self, n, workers):
        """The rows of a block: the code's own, or for files what gives each worker two."""
        if self.way == "collection":
            return FILE_ROWS
        return min(task_rows(n, 4 * FEATURES), math.ceil(n / (2 * workers)))


def find(runs, method, way, n):
    return next(one for one in runs if (one["method"], one["way"], one["rows"]) == (method, way, n))


def cpu(run, stage):
    """CPU seconds of a stage, of a fit those of one iteration."""
    seconds = run["laps"][stage]["cpu"]
    return seconds / (run["iterations"] + 1) if stage == "fit" else seconds


def run_time(costs, method, n, workers, iterations=ITERATIONS):
    """Elapsed seconds of all stages, and what is needed for it."""
    block = costs.block(n, workers)
    n_blocks = math.ceil(n / block)
    rows = math.ceil(n_blocks / workers) * block if n_blocks > workers else block
    scheduling = n_blocks * costs.seconds_of_task(workers)
    times = {"read": 1, "fit": iterations + 1, "masses": 1}
    parts = {stage: times[stage] * (rows * costs.row[stage] + scheduling) for stage in STAGES}
    total = sum(parts.values())
    f, here = SETS[method], n * FEATURES * 4 / workers
    in_memory = (here if costs.way == "collection" else 0) + 2 * block * (FEATURES + f) * 4 + WORKER_BYTES
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
        "disk_bytes": int(here if costs.way == "files" else 0),
        "written_bytes": n * f * 4,
        "write_bytes_per_second": int(n * f * 4 / parts["masses"]),
        "read_bytes_per_second": int(n * FEATURES * 4 / parts["read"]),
    }


def held_against(costs, run):
    """What was measured, in CPU seconds of all processes, beside what the model says."""
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
    """All of it."""
    runs, engines = record.read("scale_sizes")["runs"], record.read("scale_engines")
    found = {"check": [], "forecasts": []}
    for method in SETS:
        for way in ("files", "collection"):
            costs = Costs(runs, engines, method, way)
            found["check"].append(held_against(costs, find(runs, method, way, HELD)))
            found["forecasts"] += [run_time(costs, method, 10**10, workers) for workers in WORKERS]
    epoch = record.read("scale_costs")["nn_evclus"]["coefficients"]
    terms = epoch_terms({"attributes": FEATURES, "clusters": 4, "sets": 6, "batch": 250})
    seconds = 1e-9 * sum(a * b for a, b in zip(epoch, terms, strict=True))
    found["epoch_of_1e10_hours"] = round(1e10 * seconds / 3600, 1)
    for one in found["check"] + found["forecasts"]:
        print(one, flush=True)
    return found
