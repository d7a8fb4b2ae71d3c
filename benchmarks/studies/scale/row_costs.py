"""Cost per row: CPU of a pass by number of features, focal sets, landmarks and batches, with fitted models.

``python -m benchmarks.studies.scale FOLDER costs`` runs it. A model is a sum of terms with nonnegative
coefficients, fitted to relative errors; its terms are the products of the inner loops.
"""

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from benchmarks.common.big_data import generate, sample
from benchmarks.common.measuring import best_time
from evlearn import open_dataset, papers, watching
from evlearn.belief import FocalSets
from evlearn.blocks.targets import make_target
from evlearn.cluster import EVCLUS
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
from evlearn.cluster.set_costs import SetCosts

NUMBERS_OF_FEATURES = (2, 8, 32)
SETS = (("simple", 3), ("full", 3), ("full", 4), ("simple", 8), ("pairs", 8), ("full", 6))
ROUNDS = 3


def min_cpu(call, rounds=ROUNDS):
    """Return the CPU seconds of the fastest round."""
    return best_time(call, rounds, time.process_time)


def families():
    for kind, n_clusters in SETS:
        yield getattr(FocalSets, kind)(n_clusters)


def ecm_passes(n=200_000):
    """Yield costs of passes of ECM over rows in memory, the part of an iteration that grows with the data."""
    for d in NUMBERS_OF_FEATURES:
        for sets in families():
            c, X = sets.frame_size, sample(0, n, d)[0]
            coordinates = Coordinates.of(X[:10_000].astype(float))
            costs = SetCosts.ecm(sets, alpha=1, beta=2, delta=10.0)
            model = EuclideanModel(costs, coordinates, coordinates.transform(X[:c].astype(float)))
            seconds = min_cpu(lambda model=model, X=X: model.collect(X))
            yield {"attributes": d, "clusters": c, "sets": len(sets), "nanoseconds": 1e9 * seconds / n}


def ecm_terms(run):
    return [1, run["attributes"] * run["clusters"], run["sets"], run["sets"] * run["clusters"]]


def landmark_passes(n=20_000):
    """Yield costs of masses from landmarks."""
    for d in NUMBERS_OF_FEATURES:
        for sets in families():
            for landmarks in (100, 500):
                X, _ = sample(0, n, d)
                settings = {"solver": "landmark", "n_landmarks": landmarks, "max_iter": 3, "random_state": 0}
                model = EVCLUS(sets.frame_size, focal_sets=sets, **settings).fit(X[:2000])._model
                seconds = min_cpu(lambda model=model, X=X: model.assign(X))
                yield {
                    "attributes": d,
                    "clusters": sets.frame_size,
                    "sets": len(sets),
                    "landmarks": landmarks,
                    "nanoseconds": 1e9 * seconds / n,
                }


def landmark_terms(run):
    return [
        1,
        run["landmarks"],
        run["landmarks"] * run["attributes"],
        run["landmarks"] * run["sets"],
        run["sets"] ** 2,
    ]


def epoch_seconds(fit, rounds=2):
    """Return the CPU seconds per epoch of the fastest round of a fit, from the reports of its progress."""

    def measure_round():
        seconds = {}
        with watching(lambda progress: seconds.setdefault(progress.n_done, time.process_time())):
            fit()
        first, last = min(seconds), max(seconds)
        return (seconds[last] - seconds[first]) / (last - first)

    return min(measure_round() for _ in range(rounds))


def epochs(n=20_000):
    """Yield costs of epochs of NN-EVCLUS with mini-batches."""
    from evlearn.neural import NNEVCLUS, Solver

    for d in NUMBERS_OF_FEATURES:
        for sets in (FocalSets.simple(3), FocalSets.full(4), FocalSets.full(6)):
            for batch in (100, 250):
                X, _ = sample(0, n, d)
                solver = Solver("rmsprop", batch_size=batch)
                settings = {"solver": solver, "init": "random", "random_state": 0, "max_iter": 3}
                model = NNEVCLUS(sets.frame_size, focal_sets=sets, **settings)
                yield {
                    "attributes": d,
                    "clusters": sets.frame_size,
                    "sets": len(sets),
                    "batch": batch,
                    "nanoseconds": 1e9 * epoch_seconds(lambda model=model, X=X: model.fit(X)) / n,
                }


def epoch_terms(run):
    weights = 1.5 * run["sets"] * (run["attributes"] + run["sets"])
    return [1, 1 / run["batch"], run["batch"], run["batch"] * run["sets"], weights]


def fit_model(runs, terms):
    """Return coefficients in nanoseconds, and relative errors of the model."""
    measured = np.array([run["nanoseconds"] for run in runs])
    A = np.array([terms(run) for run in runs], dtype=float)
    coefficients, _ = nnls(A / measured[:, None], np.ones(len(runs)))
    errors = np.abs(A @ coefficients / measured - 1)
    return {
        "coefficients": coefficients.round(4).tolist(),
        "median_relative_error": round(float(np.median(errors)), 3),
        "largest_relative_error": round(float(errors.max()), 3),
        "runs": runs,
    }


def parquet(n=1_000_000, d=8):
    """Return the nanoseconds of CPU per number for reading Parquet to a memory map, and for writing."""
    with tempfile.TemporaryDirectory() as folder:
        data = generate(Path(folder), n, d)

        def read_all():
            with open_dataset(data, folder=folder):
                pass

        X, _ = sample(0, n, d)
        names = [f"x{k}" for k in range(d)]

        def write_all():
            target = make_target(Path(folder, f"{time.monotonic_ns()}.parquet"), n, names, X.dtype)
            for start in range(0, n, n // 4):
                target.write_rows(start, X[start : start + n // 4])
            target.finish()

        return {name: 1e9 * min_cpu(call) / X.size for name, call in (("read", read_all), ("write", write_all))}


def measure():
    """Measure all costs."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    papers.ecm(2, random_state=0).fit(sample(0, 1000, 2)[0])  # loads modules
    results = {"parquet_nanoseconds_per_number": parquet()}
    for name, runs, terms in (
        ("ecm", ecm_passes, ecm_terms),
        ("evclus", landmark_passes, landmark_terms),
        ("nn_evclus", epochs, epoch_terms),
    ):
        results[name] = fit_model(list(runs()), terms)
        print(name, {key: value for key, value in results[name].items() if key != "runs"}, flush=True)
    return results
