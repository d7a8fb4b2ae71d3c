"""Predictions for one row by a loaded model: ``python -m benchmarks.studies.scale.one_row [--write]``.

Each model is fitted, written with `save_model` and loaded by another process, which scores ten thousand rows one
by one: with `predict_mass`, and with onnxruntime if `to_onnx` supports the model. Then a server processes ten
thousand requests. Elapsed times include other programs, so the study waits for a free core first, at most a
minute, and reports the number of cores used by others. It takes at least 5 minutes, and writes
``benchmarks/results/scale_one_row.json``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import evlearn
from benchmarks.common import record
from benchmarks.studies.scale import service
from evlearn.classify import EvidentialKNNClassifier, EvidentialNeuralClassifier, EvidentialRBFClassifier
from evlearn.cluster import ECM, EVCLUS, MergedMixture

REQUESTS, EARLY = 10_000, 1_000
#: The standardized mean features of 569 biopsies; real data, so that masses vary.
MODELS = {
    "ECM": lambda: ECM(3, random_state=0),
    "ECM, adaptive": lambda: ECM(3, metric="adaptive", random_state=0),
    "EVCLUS": lambda: EVCLUS(3, random_state=0),
    "MergedMixture": lambda: MergedMixture(2, random_state=0),
    "EvidentialKNNClassifier": lambda: EvidentialKNNClassifier(),
    "EvidentialNeuralClassifier": lambda: EvidentialNeuralClassifier(random_state=0),
    "EvidentialRBFClassifier": lambda: EvidentialRBFClassifier(random_state=0),
    "StandardScaler and ECM": lambda: make_pipeline(StandardScaler(), ECM(3, random_state=0)),
}
SERVED = ("ECM", "EvidentialKNNClassifier")
#: Models that `to_onnx` does not support.
PYTHON_ONLY = ("EVCLUS",)


def data():
    """Return rows and classes."""
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X[:, :10]), y


def resident():
    """Return the resident memory of this process in bytes."""
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])


def busy_seconds():
    """Return the CPU seconds of all programs of this machine since its start."""
    user, nice, system, _, _, irq, softirq, *_ = map(
        int, Path("/proc/stat").read_text().split("\n")[0].split()[1:]
    )
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def wait_for_a_core(timeout=60):
    """Wait until other programs leave a core free for some seconds, or until a timeout."""
    end, n_calm = time.monotonic() + timeout, 0
    while n_calm < 3 and time.monotonic() < end:
        begin, busy = time.monotonic(), busy_seconds()
        time.sleep(2)
        n_cores = (busy_seconds() - busy) / (time.monotonic() - begin)
        n_calm = n_calm + 1 if n_cores < os.cpu_count() - 1 + 0.1 else 0


def percentiles(seconds):
    p50, p99 = np.quantile(seconds, [0.5, 0.99]).tolist()
    return {"p50_ms": 1e3 * p50, "p99_ms": 1e3 * p99}


def time_requests(score, rows, n_requests):
    """Return the times per row, elapsed and CPU, and the memory at an early and a late moment."""
    for i in range(100):  # warm up
        score(rows[i : i + 1])
    clock, cpu, memory = np.empty(n_requests), np.empty(n_requests), []
    start, busy, cpu_start = time.perf_counter(), busy_seconds(), time.process_time()
    for i in range(n_requests):
        row = rows[i % len(rows)][None]
        begin, cpu_begin = time.perf_counter(), time.thread_time()
        score(row)
        cpu[i], clock[i] = time.thread_time() - cpu_begin, time.perf_counter() - begin
        if i + 1 in (n_requests // 10, n_requests):
            memory.append(resident())
    others = (busy_seconds() - busy - time.process_time() + cpu_start) / (time.perf_counter() - start)
    results = {"clock": percentiles(clock), "cpu": percentiles(cpu), "resident_bytes": memory}
    return results | {"cores_of_others": round(max(others, 0), 2)}


def score_rows(path, n_requests):
    """Measure `predict_mass` and onnxruntime in a process that contains only the model."""
    model = evlearn.load_model(path)
    rows, _ = data()
    wait_for_a_core()
    results = {"evlearn": time_requests(lambda row: evlearn.predict_mass(model, row), rows, n_requests)}
    onnx_path = path.with_suffix(".onnx")
    if onnx_path.exists():
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(onnx_path), options, providers=["CPUExecutionProvider"])
        results["onnxruntime"] = time_requests(lambda row: session.run(None, {"X": row}), rows, n_requests)
        masses = session.run(None, {"X": rows})[0]
        results["difference"] = float(np.abs(masses - evlearn.predict_mass(model, rows).masses).max())
        results["onnx_bytes"] = onnx_path.stat().st_size
    return results


def measure(name, folder, n_requests=REQUESTS):
    """Fit and write a model, and measure it in another process."""
    X, y = data()
    model = MODELS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    path = Path(folder) / "model.json"
    evlearn.save_model(model, path)
    path.with_suffix(".onnx").unlink(missing_ok=True)
    if name not in PYTHON_ONLY:
        path.with_suffix(".onnx").write_bytes(evlearn.to_onnx(model))
    command = [sys.executable, "-m", "benchmarks.studies.scale.one_row", "--score", str(path), str(n_requests)]
    # One thread, as in a service with one process per core.
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    output = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    results = {"model": name, **json.loads(output)}
    if name in SERVED:
        results["http"] = over_http(model, path, X, n_requests)
    return results


def over_http(model, path, X, n_requests):
    """Return times of requests of one row, from one client, to a server in another process."""
    expected = np.stack([model.predict_mass(row[None]).masses[0] for row in X])
    with subprocess.Popen(
        [sys.executable, str(service.SERVER), str(path), "0"], stdout=subprocess.PIPE
    ) as process:
        try:
            port = int(process.stdout.readline())
            wait_for_a_core()
            early = service.load(port, X, expected, n_requests // 10, 1)
            initial_bytes = service.state(port)["resident_bytes"]
            late = service.load(port, X, expected, n_requests - n_requests // 10, 1)
            final_bytes = service.state(port)["resident_bytes"]
        finally:
            process.terminate()
    return late | {"equal": early["equal"] + late["equal"], "resident_bytes": [initial_bytes, final_bytes]}


def main():
    reader = argparse.ArgumentParser(record.program())
    reader.add_argument("--write", action="store_true", help="write to results/scale_one_row.json")
    reader.add_argument("--score", nargs=2, help=argparse.SUPPRESS)
    arguments = reader.parse_args()
    if arguments.score:
        print(json.dumps(score_rows(Path(arguments.score[0]), int(arguments.score[1]))))
        return
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            runs.append(measure(name, folder))
            print(json.dumps(runs[-1]), flush=True)
    if arguments.write:
        record.write("scale_one_row", {"requests": REQUESTS, "runs": runs}, ["onnx", "onnxruntime"])


if __name__ == "__main__":
    main()
