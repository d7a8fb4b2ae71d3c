"""CPU time of the scoring function in a gallery example: ``python -m benchmarks.studies.scale.service_example``.

A process of one thread runs ``examples/data/plot_scoring_service.py``, and then calls its function `score` for ten
thousand requests of one wine each, given and returned as JSON with the verdict, candidates and masses as text. The
server of the example is stopped at its end, and is not part of the measurement. The study has 5 such runs, because
virtual machines have slow periods, and the results are those of the run with the median 99th percentile. With
``--write``, they are written to ``benchmarks/results/scale_service_example.json``.
"""

import argparse
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.common import record
from benchmarks.studies.scale.one_row import REQUESTS, time_requests, wait_for_a_core

RUNS = 5
EXAMPLE = Path(__file__).parents[3] / "examples" / "data" / "plot_scoring_service.py"


def run_example(n_requests):
    """Return the times of requests."""
    example = runpy.run_path(str(EXAMPLE))
    bodies = [[json.dumps(wine)] for wine in example["wines"].data.to_dict("records")]
    wait_for_a_core()
    return time_requests(
        lambda body: json.dumps(example["score"](body.item())), np.array(bodies, dtype=object), n_requests
    )


def measure(n_requests=REQUESTS, n_runs=RUNS):
    """Return the results of the run with the median 99th percentile, and this percentile of all runs."""
    runs = sorted((run(n_requests) for _ in range(n_runs)), key=lambda entry: entry["cpu"]["p99_ms"])
    percentiles = [round(entry["cpu"]["p99_ms"], 3) for entry in runs]
    return {"requests": n_requests, "p99_ms_of_runs": percentiles, **runs[n_runs // 2]}


def run(n_requests):
    """Run the example in another process, with one thread and without figures on a screen."""
    command = [sys.executable, "-m", "benchmarks.studies.scale.service_example", "--score", str(n_requests)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    output = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    return json.loads(output.splitlines()[-1])


def main():
    reader = argparse.ArgumentParser(record.program())
    reader.add_argument("--write", action="store_true", help="write to results/scale_service_example.json")
    reader.add_argument("--score", type=int, help=argparse.SUPPRESS)
    arguments = reader.parse_args()
    if arguments.score:
        print(json.dumps(run_example(arguments.score)))
        return
    results = measure()
    print(json.dumps(results, indent=1))
    if arguments.write:
        record.write("scale_service_example", results)


if __name__ == "__main__":
    main()
