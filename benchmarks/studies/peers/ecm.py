"""ECM: iterations compared with k-means, and fits compared with R and with another Python package.

``python -m benchmarks.studies.peers.ecm [iteration] [fit] [--peer PYTHON] [--write]``

An iteration is the difference between a long and a short fit, in CPU seconds, of ECM with all sets of clusters and
of scikit-learn's KMeans (Lloyd) on the same data from the same start, in alternation. A fit is compared with the
recorded time of R, and with ``ecm`` of PyPI's ``evclust`` 0.2.1 in the same run if PYTHON is an interpreter with
that package; its objective is computed by our code.
"""

import statistics
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from benchmarks.common import command_line, record, reference
from benchmarks.common.measuring import per_iteration
from evlearn import papers
from evlearn.belief import FocalSets
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
from evlearn.cluster.set_costs import SetCosts
from evlearn.utils.parallel import one_blas_thread

SIZES = [(1_000_000, 10, 4), (1_000_000, 2, 3), (300_000, 50, 5)]
ROUNDS, ITERATIONS = 7, 20
PEER = """
import sys, time, numpy as np
from evclust.ecm import ecm
with np.load(sys.argv[1]) as file:
    x, g0, delta = file["x"], file["g0"], float(file["delta"])
start = time.process_time()
result = ecm(x, c=len(g0), g0=g0, delta=delta, disp=False)
seconds = time.process_time() - start
np.savez(sys.argv[2], seconds=seconds, g=np.asarray(result["g"]), mass=np.asarray(result["mass"]))
"""


def blobs(n, d, c, dtype=np.float64, seed=0):
    random = np.random.default_rng(seed)
    centers = random.normal(scale=3, size=(c, d))
    return (centers[random.integers(c, size=n)] + random.normal(size=(n, d))).astype(dtype)


def cpu(call):
    start = time.process_time()
    call()
    return time.process_time() - start


def iteration(dtype):
    """Return CPU milliseconds per iteration of both methods, in alternation, with one thread."""
    lines = []
    for n, d, c in SIZES:
        X = blobs(n, d, c, dtype)
        # Far from the clusters and close together, so that Lloyd's algorithm does not stop early.
        start = X[0] + 0.01 * np.random.default_rng(1).normal(size=(c, d)).astype(dtype)

        def lloyd(count, X=X, start=start, c=c):
            return KMeans(c, init=start, n_init=1, max_iter=count, tol=0, algorithm="lloyd").fit(X)

        def means(count, X=X, start=start, c=c):
            # The final pass for the masses, and the one for the first objective, are equal in both fits.
            return papers.ecm(c, init=start, delta=20, max_iter=count, tol=0).fit(X)

        with one_blas_thread():
            rounds = [(per_iteration(lloyd, ITERATIONS), per_iteration(means, ITERATIONS)) for _ in range(ROUNDS)]
        lloyd_time, ecm_time = (statistics.median(column) for column in zip(*rounds, strict=True))
        ratios = sorted(ecm_seconds / lloyd_seconds for lloyd_seconds, ecm_seconds in rounds)
        lines.append(
            {
                "n": n,
                "d": d,
                "c": c,
                "dtype": np.dtype(dtype).name,
                "lloyd_ms": 1e3 * lloyd_time,
                "ecm_ms": 1e3 * ecm_time,
                "ratio": ecm_time / lloyd_time,
                "ratios": ratios,
            }
        )
        print(
            f"{n:>9} x {d:<3} c = {c} {np.dtype(dtype).name}: Lloyd {1e3 * lloyd_time:6.1f} ms, "
            f"ECM {1e3 * ecm_time:6.1f} ms, "
            f"ratio {ecm_time / lloyd_time:4.2f} ({ratios[0]:4.2f} to {ratios[-1]:4.2f})",
            flush=True,
        )
    return lines


def objective(X, prototypes, delta):
    coordinates = Coordinates.of(X)
    costs = SetCosts.ecm(FocalSets.full(len(prototypes)), alpha=1, beta=2, delta=delta)
    return EuclideanModel(costs, coordinates, coordinates.transform(prototypes)).collect(X).cost


def fits(peer):
    """Return CPU seconds of complete fits, with default starts, masses and labels."""
    with np.load(reference.data("gauss4_n100000.npz")) as file:
        cases = {"gauss4_n100000": (file["x"], 10.0), "blobs_n100000_d10": (blobs(100_000, 10, 4), 10.0)}
    recorded = [line for line in reference.timings() if line["case"] == "ecm_gauss4_n100000_c4_full"]
    lines = []
    for name, (X, delta) in cases.items():
        seconds, models = [], []
        for seed in range(ROUNDS):
            model = papers.ecm(4, delta=delta, tol=1e-8, random_state=seed)  # reaches R's objective
            seconds.append(cpu(lambda model=model, X=X: model.fit(X)))
            models.append(model)
        line = {"case": name, "seconds": seconds, "objectives": [model.objective_ for model in models]}
        line["iterations"] = [model.n_iter_ for model in models]
        print(
            f"{name}: {statistics.median(seconds):.3f} s ({min(seconds):.3f} to {max(seconds):.3f}), objective "
            f"{min(line['objectives']):.2f} to {max(line['objectives']):.2f}, iterations {line['iterations']}",
            flush=True,
        )
        if name == "gauss4_n100000":
            line["r_seconds"] = [float(entry["cpu_seconds"]) for entry in recorded]
            line["r_objective"] = float(recorded[0]["crit"])
            line["r_ratio"] = statistics.median(line["r_seconds"]) / statistics.median(seconds)
            print(f"  R: {line['r_seconds']} s, objective {line['r_objective']:.2f}: {line['r_ratio']:.0f} times")
        elif peer:  # takes about 10 minutes
            line |= against_peer(peer, X, delta, statistics.median(seconds))
        lines.append(line)
    return lines


def against_peer(peer, X, delta, our_time):
    """Run the other package on the same data, from a k-means++ initialization."""
    start = papers.ecm(4, delta=delta, max_iter=1, tol=1, random_state=0).fit(X).cluster_centers_
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder, "in.npz"), x=X, g0=start, delta=delta)
        subprocess.run([peer, "-c", PEER, Path(folder, "in.npz"), Path(folder, "out.npz")], check=True)
        with np.load(Path(folder, "out.npz")) as file:
            seconds, prototypes, masses = float(file["seconds"]), file["g"], file["mass"]
    result = {
        "peer_seconds": seconds,
        "peer_objective": objective(X, prototypes, delta),
        "peer_ratio": seconds / our_time,
        "peer_smallest_mass": float(masses.min()),
    }
    print(
        f"  evclust 0.2.1: {seconds:.1f} s, objective {result['peer_objective']:.2f}: "
        f"{seconds / our_time:.0f} times",
        flush=True,
    )
    return result


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("parts", nargs="*", default=["iteration", "fit"])
    parser.add_argument("--peer", help="an interpreter with evclust 0.2.1")
    parser.add_argument("--write", action="store_true", help="write the parts to the record")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    results = {}
    if "iteration" in arguments.parts:
        results["scale_ecm_iteration"] = {"iteration": iteration(np.float64) + iteration(np.float32)}
    if "fit" in arguments.parts:
        results["peers_ecm_fit"] = {"fit": fits(arguments.peer)}
    for name, result in results.items() if arguments.write else ():
        record.write(name, result)


if __name__ == "__main__":
    main()
