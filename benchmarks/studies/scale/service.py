"""A scoring service under load: ``python -m benchmarks.studies.scale.service [--write]``, about two minutes.

A process of its own serves a model over HTTP (`scoring_server`). Ten thousand requests of one row each come from
eight threads of this process, over connections that stay open; a thousand come from one thread, to know what a
request takes when nobody else asks. Every answer is compared with `predict_mass`. It writes
``benchmarks/results/scale_service.json``.
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import evlearn
from benchmarks.common import record
from evlearn.cluster import ECM

SIZES = ((20, 30), (500, 300))
REQUESTS, THREADS = 10_000, 8
SERVER = Path(__file__).with_name("scoring_server.py")


def fitted(n_clusters, n_features, random):
    centres = 3 * random.normal(size=(n_clusters, n_features))
    X = centres[np.arange(4000) % n_clusters] + random.normal(size=(4000, n_features))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two iterations: what is learned does not matter here
        return ECM(n_clusters, focal_sets="simple", n_init=1, max_iter=2, random_state=0).fit(X), X


def ask(connection, rows):
    """Seconds until the answer, and the answer."""
    body = json.dumps({"rows": rows.tolist()}).encode()
    begin = time.perf_counter()
    connection.request("POST", "/", body)
    response = connection.getresponse()
    sent = response.read()
    seconds = time.perf_counter() - begin
    assert response.status == 200, sent
    return seconds, json.loads(sent)


def state(port):
    """What the process says of itself."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/")
    found = json.loads(connection.getresponse().read())
    connection.close()
    return found


def load(port, rows, expected, n_requests, n_threads):
    """The seconds of each request, from threads that each have a connection, and how many answers were right."""

    def client(number):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        seconds, right = [], 0
        for i in range(number, n_requests, n_threads):
            at = i % len(rows)
            taken, said = ask(connection, rows[at : at + 1])
            seconds.append(taken)
            right += np.array_equal(np.array(said["masses"][0]), expected[at])
        connection.close()
        return seconds, right

    begin = time.perf_counter()
    with ThreadPoolExecutor(n_threads) as pool:
        parts = list(pool.map(client, range(n_threads)))
    whole = time.perf_counter() - begin
    seconds = np.concatenate([part[0] for part in parts])
    p50, p99 = np.quantile(seconds, [0.5, 0.99]).tolist()
    return {
        "requests": n_requests,
        "threads": n_threads,
        "p50_ms": 1e3 * p50,
        "p99_ms": 1e3 * p99,
        "per_second": n_requests / whole,
        "equal": sum(part[1] for part in parts),
    }


def serve(n_clusters, n_features, n_requests=REQUESTS):
    """Start the service, ask it, and see that it has not changed."""
    model, X = fitted(n_clusters, n_features, np.random.default_rng(0))
    # One row at a time, as the service gets them.
    expected = np.stack([model.predict_mass(X[i : i + 1]).masses[0] for i in range(min(n_requests, 1000))])
    rows = X[: len(expected)]
    begin = time.perf_counter()
    for i in range(len(rows)):
        model.predict_mass(rows[i : i + 1])
    direct = (time.perf_counter() - begin) / len(rows)
    with tempfile.TemporaryDirectory() as folder:
        evlearn.save_model(model, Path(folder) / "model.json")
        # Two threads of BLAS, so that one left at one would be seen.
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
        command = [sys.executable, str(SERVER), str(Path(folder) / "model.json"), "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            try:
                port = int(process.stdout.readline())
                alone = load(port, rows, expected, n_requests // 10, 1)
                load(port, rows, expected, n_requests // 20, THREADS)  # threads and their memory are there now
                before = state(port)
                busy = load(port, rows, expected, n_requests, THREADS)
                after = state(port)
            finally:
                process.terminate()
    return {
        "clusters": n_clusters,
        "features": n_features,
        "direct_ms": 1e3 * direct,
        "server_cpu_ms": 1e3 * (after["cpu_seconds"] - before["cpu_seconds"]) / n_requests,
        "alone": alone,
        "busy": busy,
        "resident_bytes": [before["resident_bytes"], after["resident_bytes"]],
        "blas_threads": [before["blas_threads"], after["blas_threads"]],
    }


def main():
    reader = argparse.ArgumentParser(record.program())
    reader.add_argument("--write", action="store_true", help="write to results/scale_service.json")
    given = reader.parse_args()
    runs = [serve(*size) for size in SIZES]
    for run in runs:
        print(json.dumps(run, indent=1), flush=True)
    if given.write:
        record.write("scale_service", {"runs": runs})


if __name__ == "__main__":
    main()
