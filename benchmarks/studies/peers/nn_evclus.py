"""NN-EVCLUS: training steps compared with a bare torch loop, fits compared with R, and a million rows.

``python -m benchmarks.studies.peers.nn_evclus [step] [fit] [disk] [processes] [--write]``

The time of a step is the CPU time of an epoch divided by the number of mini-batches, in alternation with a loop in
plain torch with the same network, loss, optimizer and batches. Fits are compared at the loss that the R package
reached. A million rows with 10 features are trained from a Parquet file in a separate process, with its peak
memory. Two processes of ``torch.distributed`` train on the same data as one.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from benchmarks.common import command_line, reference
from evlearn.belief import FocalSets
from evlearn.cluster import Quantile
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.datasets import make_fourclass
from evlearn.neural import NNEVCLUS
from evlearn.neural.dissimilarity import Dissimilarity
from evlearn.neural.losses import Losses, SideInformation
from evlearn.neural.network import EvidentialNetwork, layers
from evlearn.neural.reading import Reader
from evlearn.neural.training import Batches, BatchTraining
from evlearn.neural.training_samples import ArraySamples

ROUNDS = 9
STEPS = [(5000, 2, 15, 250), (5000, 2, 15, 100), (20_000, 10, 5, 250), (20_000, 10, 5, 500)]
DISK = """
import json, resource, sys, time, warnings
warnings.simplefilter("ignore")
from evlearn.cluster import Quantile
from evlearn.neural import NNEVCLUS
before = time.process_time()
model = NNEVCLUS(5, d0=Quantile(0.5), max_iter=3, random_state=0).fit(sys.argv[1])
seconds = time.process_time() - before
model.predict(sys.argv[1])
peak = max(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1e6
print(json.dumps({"cpu_seconds": seconds, "epochs": model.n_iter_, "loss": model.objective_, "peak_gb": peak}))
"""
PROCESSES = """
import sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np, torch.distributed as dist
from evlearn.cluster import Quantile
from evlearn.neural import NNEVCLUS, Solver
if len(sys.argv) > 2:
    dist.init_process_group("gloo")
X = np.load(sys.argv[1])
start = time.perf_counter()
settings = {"solver": Solver(batch_size=500), "d0": Quantile(0.9), "dtype": "float64", "random_state": 0}
model = NNEVCLUS(4, focal_sets="pairs", max_iter=10, **settings).fit(X)
if len(sys.argv) == 2 or dist.get_rank() == 0:
    print("result", repr(model.objective_), time.perf_counter() - start)
"""


def step():
    """Return the CPU time of steps of the estimator and of the bare loop, in alternation."""
    results = []
    for n, d, c, size in STEPS:
        random = np.random.default_rng(0)
        X = random.normal(scale=3, size=(c, d))[random.integers(c, size=n)] + random.normal(size=(n, d))
        sets = FocalSets.simple(c)
        run, bare = make_run(X, sets, size), make_bare(X, sets, size)
        run.run_epoch(), bare()
        times = []
        for _ in range(ROUNDS):
            times.append((cpu(run.run_epoch), cpu(bare)))
        ratios = [a / b for a, b in times]
        medians = [1000 * statistics.median(column) * size / n for column in zip(*times, strict=True)]
        print(
            f"n={n} d={d} c={c} batch={size}: {medians[0]:.3f} ms a step, bare {medians[1]:.3f} ms, ratio "
            f"{statistics.median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )
        results.append({"n": n, "d": d, "c": c, "batch": size, "ms": medians, "ratios": ratios})
    return results


def cpu(call):
    start = time.process_time()
    call()
    return time.process_time() - start


def make_network(X, sets):
    torch.manual_seed(0)
    return EvidentialNetwork(layers(X.shape[1], [30], len(sets)), None)


def make_run(X, sets, size):
    reference_tensor = torch.zeros(())
    reader = Reader(X.mean(axis=0), None, X.std(axis=0))
    samples = ArraySamples(
        X, reader, Dissimilarity(None, "euclidean"), Transform("exponential", 5.0), reference_tensor
    )
    empty = np.empty(0, dtype=int)
    side_information = SideInformation(empty, empty, empty.reshape(0, 2), empty.astype(bool))
    batches = Batches(size, 0.0, 1e-3, 1000, 1000, 1e-4, 0, False)
    return BatchTraining(
        make_network(X, sets), samples, Losses.of(sets, reference_tensor), side_information, batches
    )


def make_bare(X, sets, size):
    """Return an epoch in plain torch."""
    network = make_network(X, sets).body
    inputs = torch.as_tensor((X - X.mean(axis=0)) / X.std(axis=0), dtype=torch.float32)
    features = torch.as_tensor((X - X.mean(axis=0)) / 5.0, dtype=torch.float32)
    conflict = torch.as_tensor(sets.conflict_matrix.copy(), dtype=torch.float32)
    optimizer = torch.optim.RMSprop(network.parameters(), lr=1e-3, alpha=0.9, eps=1e-8)
    rate = float(np.log(0.05))

    def epoch():
        for part in torch.randperm(len(X)).chunk(len(X) // size):
            z = features[part]
            squares = (z * z).sum(dim=1)
            targets = -torch.expm1(rate * (squares[:, None] + squares[None, :] - 2 * z @ z.T).clamp(min=0))
            optimizer.zero_grad()
            masses = torch.softmax(network(inputs[part]), dim=1)
            errors = (masses @ conflict @ masses.T - targets) ** 2
            loss = (errors.sum() - errors.diagonal().sum()) / (len(part) * (len(part) - 1))
            loss.backward()
            optimizer.step()

    return epoch


def fit():
    """Return CPU seconds of complete fits at the loss of R, compared with R's recorded runs."""
    results = []
    seconds = {}
    for row in reference.timings():
        if row["case"].startswith("nnevclus"):
            seconds.setdefault(row["case"], []).append((float(row["cpu_seconds"]), float(row["crit"])))
    table = reference.read_table("fourclass")
    X = (table[:, :2] - table[:, :2].mean(axis=0)) / table[:, :2].std(axis=0, ddof=1)
    runs = []
    for seed in range(5):
        settings = {"focal_sets": "pairs", "network": (20,), "n_partners": 100, "d0": Quantile(0.9), "tol": 1e-3}
        model = NNEVCLUS(4, outlier_model="svm", random_state=seed, **settings)
        runs.append((cpu(lambda model=model: model.fit(X)), model.objective_))
    runs_of_r = seconds["nnevclus_fourclass_k100_c4_pairs_nH20_fhat"]
    report(results, "fourclass, to convergence", runs, runs_of_r)
    table = reference.read_table("s2")
    runs, scores = [], []
    for seed in range(5):
        model = NNEVCLUS(15, d0=Quantile(0.1), network=(20,), random_state=seed)
        runs.append((cpu(lambda model=model: model.fit(table[:, :2])), model.objective_))
        scores.append(adjusted_rand_score(table[:, 2], model.labels_))
        print(f"  s2: {model.n_iter_} epochs, converged: {model.converged_}, ARI {scores[-1]:.3f}")
    report(
        results,
        "s2 to convergence (R: 6 epochs)",
        runs,
        seconds["nnevclus_mb_s2_c15_simple_nH20_nbatch50_5epochs"],
    )
    results[-1]["ari"] = scores
    return results


def report(results, name, runs, runs_of_r):
    median, median_of_r = (statistics.median(entry[0] for entry in values) for values in (runs, runs_of_r))
    print(
        f"{name}: {median:.2f} s CPU ({min(runs)[0]:.2f} to {max(runs)[0]:.2f}), loss "
        f"{min(entry[1] for entry in runs):.3g} to {max(entry[1] for entry in runs):.3g}; "
        f"R {median_of_r:.1f} s, loss {min(entry[1] for entry in runs_of_r):.3g} "
        f"to {max(entry[1] for entry in runs_of_r):.3g}: {median_of_r / median:.0f} times"
    )
    results.append({"case": name, "ours": runs, "r": runs_of_r})


def disk():
    """Train on a million rows with 10 features from a Parquet file."""
    results = []
    import pyarrow
    import pyarrow.parquet

    random = np.random.default_rng(0)
    centers = 4 * random.normal(size=(5, 10))
    X = (centers[random.integers(5, size=1_000_000)] + random.normal(size=(1_000_000, 10))).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.parquet"
        pyarrow.parquet.write_table(pyarrow.table({f"x{k}": X[:, k] for k in range(10)}), path)
        del X
        command = [sys.executable, "-c", DISK, str(path)]
        outcome = subprocess.run(command, capture_output=True, text=True, check=True)
    results.append(json.loads(outcome.stdout))
    print("a million rows from Parquet:", results[-1])
    return results


def processes():
    """Train with 2 processes and with one."""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "x.npy", make_fourclass(20_000, random_state=0)[0])
        script = Path(folder) / "train.py"
        script.write_text(PROCESSES)
        launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
        for name, before, after in (("one", [], []), ("two", launcher, ["together"])):
            command = [sys.executable, *before, str(script), str(Path(folder) / "x.npy"), *after]
            outcome = subprocess.run(command, capture_output=True, text=True, check=True)
            _, loss, seconds = next(line for line in outcome.stdout.splitlines() if "result" in line).split()
            results.append({"processes": name, "loss": float(loss), "seconds": float(seconds)})
            print(f"{name}: loss {loss}, {float(seconds):.1f} s")
    return results


PARTS = {"step": step, "fit": fit, "disk": disk, "processes": processes}


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    torch.set_num_threads(1)
    command_line.run_parts(__doc__, PARTS, "peers_nn_evclus", packages=("torch",))


if __name__ == "__main__":
    main()
