"""Evidential k-nearest neighbors: CPU seconds per fit, compared with PyPI's ``evtools-dst`` 0.27.1.

``python -m benchmarks.studies.peers.eknn [--sizes N ...] [--peer PYTHON] [--write]``

Both learn a scale per class from 5 neighbors with the same loss, on generated data with 10 features and 4
overlapping classes. The other package runs with its defaults except for the loss, if PYTHON is an interpreter with
that package; the loss at its scales is computed by our code. Rounds alternate, with one thread.
"""

import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.common import command_line, record
from evlearn.classify import EvidentialKNNClassifier

N_NEIGHBORS, N_CLASSES, N_FEATURES, ROUNDS = 5, 4, 10, 5
PEER = """
import sys, time, numpy as np
from evtools.classifiers import EkNN
with np.load(sys.argv[1]) as file:
    X, y = file["X"], file["y"]
EkNN(k=int(sys.argv[3]), lambda_=float(sys.argv[4])).fit(X[:200], y[:200])
start = time.process_time()
model = EkNN(k=int(sys.argv[3]), lambda_=float(sys.argv[4])).fit(X, y)
np.savez(sys.argv[2], seconds=time.process_time() - start, gamma=model.gamma_, classes=model.classes_)
"""


def overlapping_classes(n, seed):
    random = np.random.default_rng(seed)
    centers = random.normal(scale=1.5, size=(N_CLASSES, N_FEATURES))
    y = random.integers(N_CLASSES, size=n)
    return centers[y] + random.normal(size=(n, N_FEATURES)), y


def time_fit(X, y):
    start = time.process_time()
    model = EvidentialKNNClassifier(N_NEIGHBORS, alpha=0.95).fit(X, y)
    return time.process_time() - start, model.objective_


def time_peer(peer, X, y):
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as folder:
        data, result = Path(folder, "in.npz"), Path(folder, "out.npz")
        np.savez(data, X=X, y=y)
        words = [peer, "-c", PEER, data, result, str(N_NEIGHBORS), str(1 / N_CLASSES)]
        subprocess.run(words, check=True, env={**os.environ, **one_thread})
        with np.load(result) as file:
            seconds, gamma = float(file["seconds"]), file["gamma"][np.argsort(file["classes"])]
    model = EvidentialKNNClassifier(N_NEIGHBORS, alpha=0.95, gamma=gamma, optimize=False).fit(X, y)
    return seconds, model.objective_


def compare(n, peer):
    EvidentialKNNClassifier().fit(*overlapping_classes(200, 0))  # loads modules
    rounds = []
    for seed in range(ROUNDS):
        X, y = overlapping_classes(n, seed)
        seconds, loss = time_fit(X, y)
        line = {"seed": seed, "seconds": seconds, "loss": loss}
        if peer:
            line["peer_seconds"], line["peer_loss"] = time_peer(peer, X, y)
            line["ratio"] = line["peer_seconds"] / seconds
        print(n, line, flush=True)
        rounds.append(line)
    summary = {"n": n, "rounds": rounds, "seconds": statistics.median(line["seconds"] for line in rounds)}
    if peer:
        summary["ratio"] = statistics.median(line["ratio"] for line in rounds)
        summary["worst_ratio"] = min(line["ratio"] for line in rounds)
        summary["worst_loss_difference"] = max(line["loss"] - line["peer_loss"] for line in rounds)
        print(f"n = {n}: {summary['ratio']:.1f} times, minimum {summary['worst_ratio']:.1f}", flush=True)
    return summary


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[5_000, 20_000, 50_000])
    parser.add_argument("--peer", help="an interpreter with evtools-dst 0.27.1")
    parser.add_argument("--write", action="store_true", help="write to the record")
    arguments = parser.parse_args()
    results = {"n_neighbors": N_NEIGHBORS, "n_features": N_FEATURES, "n_classes": N_CLASSES}
    results["sizes"] = [compare(n, arguments.peer) for n in arguments.sizes]
    if arguments.write:
        record.write("peers_eknn", results)


if __name__ == "__main__":
    main()
