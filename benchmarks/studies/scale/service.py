"""A scoring service under load: ``python -m benchmarks.studies.scale.service [--write]``, about 2 minutes.

A separate process serves a model over HTTP (`scoring_server`). Ten thousand requests of one row each come from 8
threads of this process, over persistent connections; a thousand come from one thread, to measure requests without
other load. All answers are compared with `predict_mass`. The results are written to
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


def fit_model(n_clusters, n_features, random):
    centers = 3 * random.normal(size=(n_clusters, n_features))
    X = centers[np.arange(4000) % n_clusters] + random.normal(size=(4000, n_features))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two iterations are sufficient for this study
        return ECM(n_clusters, focal_sets="simple", n_init=1, max_iter=2, random_state=0).fit(X), X


def send_request(connection, rows):
    """Return the seconds until the answer, and the answer."""
    body = json.dumps({"rows": rows.tolist()}).encode()
    begin = time.perf_counter()
    connection.request("POST", "/", body)
    response = connection.getresponse()
    content = response.read()
    seconds = time.perf_counter() - begin
    assert response.status == 200, content
    return seconds, json.loads(content)


def state(port):
    """Return the state reported by the process."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/")
    result = json.loads(connection.getresponse().read())
    connection.close()
    return result


def load(port, rows, expected, n_requests, n_threads):
    """Return statistics of requests from several threads, and the number of correct answers."""

    def client(number):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        seconds, n_correct = [], 0
        for i in range(number, n_requests, n_threads):
            row = i % len(rows)
            elapsed, result = send_request(connection, rows[row : row + 1])
            seconds.append(elapsed)
            n_correct += np.array_equal(np.array(result["masses"][0]), expected[row])
        connection.close()
        return seconds, n_correct

    begin = time.perf_counter()
    with ThreadPoolExecutor(n_threads) as pool:
        parts = list(pool.map(client, range(n_threads)))
    total = time.perf_counter() - begin
    seconds = np.concatenate([part[0] for part in parts])
    p50, p99 = np.quantile(seconds, [0.5, 0.99]).tolist()
    return {
        "requests": n_requests,
        "threads": n_threads,
        "p50_ms": 1e3 * p50,
        "p99_ms": 1e3 * p99,
        "per_second": n_requests / total,
        "equal": sum(part[1] for part in parts),
    }


def serve(n_clusters, n_features, n_requests=REQUESTS):
    """Start the service, send requests, and compare its state before and after."""
    model, X = fit_model(n_clusters, n_features, np.random.default_rng(0))
    # One row at a time, as in the service.
    expected = np.stack([model.predict_mass(X[i : i + 1]).masses[0] for i in range(min(n_requests, 1000))])
    rows = X[: len(expected)]
    begin = time.perf_counter()
    for i in range(len(rows)):
        model.predict_mass(rows[i : i + 1])
    direct = (time.perf_counter() - begin) / len(rows)
    with tempfile.TemporaryDirectory() as folder:
        evlearn.save_model(model, Path(folder) / "model.json")
        # With 2 BLAS threads, a limit of one that remained in effect would be detected.
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
        command = [sys.executable, str(SERVER), str(Path(folder) / "model.json"), "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            try:
                port = int(process.stdout.readline())
                single = load(port, rows, expected, n_requests // 10, 1)
                load(
                    port, rows, expected, n_requests // 20, THREADS
                )  # starts the threads and allocates their memory
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
        "alone": single,
        "busy": busy,
        "resident_bytes": [before["resident_bytes"], after["resident_bytes"]],
        "blas_threads": [before["blas_threads"], after["blas_threads"]],
    }


def main():
    reader = argparse.ArgumentParser(record.program())
    reader.add_argument("--write", action="store_true", help="write to results/scale_service.json")
    arguments = reader.parse_args()
    runs = [serve(*size) for size in SIZES]
    for run in runs:
        print(json.dumps(run, indent=1), flush=True)
    if arguments.write:
        record.write("scale_service", {"runs": runs})


if __name__ == "__main__":
    main()
