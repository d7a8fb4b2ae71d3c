"""NN-EVCLUS: a training step against the bare torch loop, fits against R's recorded seconds, and a million rows.

``python -m benchmarks.studies.peers.nn_evclus [step] [fit] [disk] [processes] [--write]``

A step is the CPU time of an epoch of mini-batches, divided by their number, in turns with a loop in plain torch
with the same network, loss, optimiser and batches. Fits are compared at the loss that R's package reached. A
million rows of ten attributes are trained from a Parquet file in a process of its own, whose largest memory is
read. Two processes of ``torch.distributed`` train on the same data as one.
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
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.datasets import make_fourclass
from evlearn.neural import NNEVCLUS
from evlearn.neural.dissimilarity import Dissimilarity
from evlearn.neural.losses import Losses
from evlearn.neural.network import EvidentialNetwork, layers
from evlearn.neural.objects import ArrayObjects
from evlearn.neural.reading import Reader
from evlearn.neural.side_information import Known
from evlearn.neural.training import Batches, _Run

ROUNDS = 9
STEPS = [(5000, 2, 15, 250), (5000, 2, 15, 100), (20_000, 10, 5, 250), (20_000, 10, 5, 500)]
DISK = """
import json, resource, sys, time, warnings
warnings.simplefilter("ignore")
from evlearn.neural import NNEVCLUS
before = time.process_time()
model = NNEVCLUS(5, d0_quantile=0.5, max_iter=3, random_state=0).fit(sys.argv[1])
seconds = time.process_time() - before
model.predict(sys.argv[1])
peak = max(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1e6
print(json.dumps({"cpu_seconds": seconds, "epochs": model.n_iter_, "loss": model.objective_, "peak_gb": peak}))
"""
PROCESSES = """
import sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np, torch.distributed as dist
from evlearn.neural import NNEVCLUS
if len(sys.argv) > 2:
    dist.init_process_group("gloo")
X = np.load(sys.argv[1])
start = time.perf_counter()
settings = {"batch_size": 500, "d0_quantile": 0.9, "dtype": "float64", "random_state": 0}
model = NNEVCLUS(4, focal_sets="pairs", max_iter=10, **settings).fit(X)
if len(sys.argv) == 2 or dist.get_rank() == 0:
    print("result", repr(model.objective_), time.perf_counter() - start)
"""


def step():
    """CPU time of a step, ours and bare, in turns."""
    found = []
    for n, d, c, size in STEPS:
        random = np.random.default_rng(0)
        X = random.normal(scale=3, size=(c, d))[random.integers(c, size=n)] + random.normal(size=(n, d))
        sets = FocalSets.simple(c)
        ours, bare = make_run(X, sets, size), make_bare(X, sets, size)
        ours.epoch(), bare()
        times = []
        for _ in range(ROUNDS):
            times.append((cpu(ours.epoch), cpu(bare)))
        ratios = [a / b for a, b in times]
        middle = [1000 * statistics.median(one) * size / n for one in zip(*times, strict=True)]
        print(
            f"n={n} d={d} c={c} batch={size}: {middle[0]:.3f} ms a step, bare {middle[1]:.3f} ms, ratio "
            f"{statistics.median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )
        found.append({"n": n, "d": d, "c": c, "batch": size, "ms": middle, "ratios": ratios})
    return found


def cpu(call):
    start = time.process_time()
    call()
    return time.process_time() - start


def make_network(X, sets):
    torch.manual_seed(0)
    return EvidentialNetwork(layers(X.shape[1], [30], len(sets)), None)


def make_run(X, sets, size):
    like = torch.zeros(())
    reader = Reader(X.mean(axis=0), None, X.std(axis=0))
    objects = ArrayObjects(X, reader, Dissimilarity(None, "euclidean"), Transform("exponential", 5.0), like)
    nothing = np.empty(0, dtype=int)
    known = Known(nothing, nothing, nothing.reshape(0, 2), nothing.astype(bool))
    batches = Batches(size, 0.0, 1e-3, 0.9, 1e-8, 1000, 1000, 1e-4, 0)
    return _Run(make_network(X, sets), objects, Losses.of(sets, like), known, batches)


def make_bare(X, sets, size):
    """What one would write by hand."""
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
    """Whole fits against R's recorded seconds at R's loss."""
    found = []
    seconds = {}
    for row in reference.timings():
        if row["case"].startswith("nnevclus"):
            seconds.setdefault(row["case"], []).append((float(row["cpu_seconds"]), float(row["crit"])))
    table = reference.read_table("fourclass")
    X = (table[:, :2] - table[:, :2].mean(axis=0)) / table[:, :2].std(axis=0, ddof=1)
    ours = []
    for seed in range(5):
        settings = {"focal_sets": "pairs", "network": (20,), "n_partners": 100, "d0_quantile": 0.9, "tol": 1e-3}
        model = NNEVCLUS(4, outlier_model="svm", random_state=seed, **settings)
        ours.append((cpu(lambda model=model: model.fit(X)), model.objective_))
    theirs = seconds["nnevclus_fourclass_k100_c4_pairs_nH20_fhat"]
    report(found, "fourclass, to convergence", ours, theirs)
    table = reference.read_table("s2")
    ours, scores = [], []
    for seed in range(5):
        model = NNEVCLUS(15, d0_quantile=0.1, network=(20,), random_state=seed)
        ours.append((cpu(lambda model=model: model.fit(table[:, :2])), model.objective_))
        scores.append(adjusted_rand_score(table[:, 2], model.labels_))
        print(f"  s2: {model.n_iter_} epochs, settled: {model.converged_}, ARI {scores[-1]:.3f}")
    report(
        found, "s2 to convergence (R: 6 epochs)", ours, seconds["nnevclus_mb_s2_c15_simple_nH20_nbatch50_5epochs"]
    )
    found[-1]["ari"] = scores
    return found


def report(found, name, ours, theirs):
    mine, other = (statistics.median(one[0] for one in runs) for runs in (ours, theirs))
    print(
        f"{name}: {mine:.2f} s CPU ({min(ours)[0]:.2f} to {max(ours)[0]:.2f}), loss "
        f"{min(one[1] for one in ours):.3g} to {max(one[1] for one in ours):.3g}; R {other:.1f} s, loss "
        f"{min(one[1] for one in theirs):.3g} to {max(one[1] for one in theirs):.3g}: {other / mine:.0f} times"
    )
    found.append({"case": name, "ours": ours, "r": theirs})


def disk():
    """A million rows of ten attributes from a Parquet file."""
    found = []
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
    found.append(json.loads(outcome.stdout))
    print("a million rows from Parquet:", found[-1])
    return found


def processes():
    """Two processes against one."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "x.npy", make_fourclass(20_000, random_state=0)[0])
        script = Path(folder) / "train.py"
        script.write_text(PROCESSES)
        several = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
        for name, before, after in (("one", [], []), ("two", several, ["together"])):
            command = [sys.executable, *before, str(script), str(Path(folder) / "x.npy"), *after]
            outcome = subprocess.run(command, capture_output=True, text=True, check=True)
            _, loss, seconds = next(line for line in outcome.stdout.splitlines() if "result" in line).split()
            found.append({"processes": name, "loss": float(loss), "seconds": float(seconds)})
            print(f"{name}: loss {loss}, {float(seconds):.1f} s")
    return found


PARTS = {"step": step, "fit": fit, "disk": disk, "processes": processes}


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    torch.set_num_threads(1)
    command_line.run_parts(__doc__, PARTS, "peers_nn_evclus", packages=("torch",))


if __name__ == "__main__":
    main()
