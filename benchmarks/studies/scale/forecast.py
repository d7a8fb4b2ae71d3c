"""What sizes nobody here has run would need, from the measured costs of rows, tasks and files.

``python -m benchmarks.studies.scale FOLDER forecast`` runs it, and reads results/scale_{costs,engines,sizes}.json.
First the model is held against what was measured on two workers, then asked about ten billion rows on 10, 100,
1000. The costs of rows are those of rows in memory; from files to files, work has taken more, and forecasts are
raised by as much as at the largest size that was run.

A pass over n rows on W workers takes n times the cost of a row, over W, in whole blocks, and T times the cost of a
task, where T is the number of blocks: one scheduler and one client deal with all of them, one after the other.
"""

import math

from benchmarks.common import record
from benchmarks.studies.scale.row_costs import ecm_terms, epoch_terms, landmark_terms

BLOCKS = (250_000, 1_000_000, 4_000_000, 16_000_000)
WORKERS = (10, 100, 1000)
ITERATIONS = 15
SETS = {"ecm": 16, "evclus": 6}  # focal sets of four clusters


class Costs:
    """The measured costs, in seconds."""

    def __init__(self):
        rows, engines = record.read("scale_costs"), record.read("scale_engines")
        self._rows = rows
        files = rows["parquet_nanoseconds_per_number"]
        self.read, self.write = 1e-9 * files["read"], 1e-9 * files["write"]
        dask = next(one for one in engines["engines"] if one["engine"] == "dask")
        self._many = [(2, dask["milliseconds_per_task"])]
        self._many += [(one["workers"], one["milliseconds_per_task"]) for one in engines["many_workers"]]
        self.overhead = next(one for one in engines["iterations"] if one["engine"] == "dask")["ratio"]

    def row(self, method, **size):
        """CPU seconds of a row in a pass."""
        terms = {"ecm": ecm_terms, "evclus": landmark_terms, "nn_evclus": epoch_terms}[method](size)
        return 1e-9 * sum(a * b for a, b in zip(self._rows[method]["coefficients"], terms, strict=True))

    def task(self, workers):
        """Seconds of a task: those of the largest cluster that was tried and is not larger."""
        return 1e-3 * max(value for count, value in self._many if count <= workers)


def run_time(costs, method, n, workers, *, block, d, c, f, iterations=ITERATIONS, landmarks=500, factor=1.0):
    """Seconds of reading, fitting and writing masses; `factor` is how much more than its model work has taken."""
    n_blocks = math.ceil(n / block)
    rounds = math.ceil(n_blocks / workers) * block if n_blocks > workers else block
    each = costs.row(method, attributes=d, clusters=c, sets=f, landmarks=landmarks) * costs.overhead
    scheduling = n_blocks * costs.task(workers)
    passes = iterations if method == "ecm" else 0
    parts = {
        "read": factor * rounds * d * costs.read + scheduling,
        "fit": passes * (factor * rounds * each + scheduling),
        "masses": factor * rounds * (each + f * costs.write) + scheduling,
    }
    total = sum(parts.values())
    return {
        "method": method,
        "rows": n,
        "workers": workers,
        "block": block,
        **{name: round(value, 1) for name, value in parts.items()},
        "total": round(total, 1),
        "scheduling_share": round((passes + 2) * scheduling / total, 3),
        "worker_bytes": int(n * d * 4 / workers + 2 * block * (d + f) * 4 + 2.5e8),
        "written_bytes": n * f * 4,
    }


def held_against(costs, runs):
    """What was measured with files, in CPU seconds of all processes, beside what the model says."""
    for run in runs:
        if run["way"] != "files" or run["method"] not in SETS or "failed" in run or run["rows"] < 10**7:
            continue
        block = min(run["rows"] // 16, 2**27 // 32)
        size = {"block": block, "d": 8, "c": 4, "f": SETS[run["method"]], "iterations": run["iterations"]}
        model = 2 * run_time(costs, run["method"], run["rows"], 2, **size)["total"]
        measured = sum(run["laps"][name]["cpu"] for name in ("read", "fit", "masses"))
        yield {
            "method": run["method"],
            "rows": run["rows"],
            "model": round(model, 1),
            "measured": round(measured, 1),
            "ratio": round(measured / model, 2),
        }


def measure():
    """All of it."""
    costs = Costs()
    found = {"check": list(held_against(costs, record.read("scale_sizes")["runs"])), "forecasts": []}
    for method, f in SETS.items():
        factor = max((one["rows"], one["ratio"]) for one in found["check"] if one["method"] == method)[1]
        for workers in WORKERS:
            size = {"d": 8, "c": 4, "f": f, "factor": factor}
            choices = [run_time(costs, method, 10**10, workers, block=block, **size) for block in BLOCKS]
            found["forecasts"].append(min(choices, key=lambda one: one["total"]))
    epoch = costs.row("nn_evclus", attributes=8, clusters=4, sets=6, batch=250)
    found["epoch_of_1e10_hours"] = round(1e10 * epoch / 3600, 1)
    found["order_of_1e10_bytes"] = 8 * 10**10
    for one in found["check"] + found["forecasts"]:
        print(one, flush=True)
    return found
