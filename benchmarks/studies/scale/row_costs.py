"""What a row costs: CPU of a pass against attributes, focal sets, landmarks and batches, and models fitted to it.

``python -m benchmarks.studies.scale FOLDER costs`` runs it. A model is a sum of terms with nonnegative
coefficients, fitted to relative errors; its terms are the products that the inner loops make.
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
from benchmarks.common.papers import ECM
from evlearn.belief import FocalSets
from evlearn.blocks import open_rows
from evlearn.blocks.targets import make_target
from evlearn.cluster import EVCLUS
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
from evlearn.cluster.set_costs import SetCosts

ATTRIBUTES = (2, 8, 32)
SETS = (("simple", 3), ("full", 3), ("full", 4), ("simple", 8), ("pairs", 8), ("full", 6))
ROUNDS = 3


def least_cpu(call, rounds=ROUNDS):
    """CPU seconds of the round that took the fewest."""
    return best_time(call, rounds, time.process_time)


def families():
    for kind, n_clusters in SETS:
        yield getattr(FocalSets, kind)(n_clusters)


def ecm_passes(n=200_000):
    """A pass of ECM over rows in memory: its half of an iteration that grows with the data."""
    for d in ATTRIBUTES:
        for sets in families():
            c, X = sets.frame_size, sample(0, n, d)[0]
            coordinates = Coordinates.of(X[:10_000].astype(float))
            costs = SetCosts.ecm(sets, alpha=1, beta=2, delta=10.0)
            model = EuclideanModel(costs, coordinates, coordinates.enter(X[:c].astype(float)))
            seconds = least_cpu(lambda model=model, X=X: model.collect(X))
            yield {"attributes": d, "clusters": c, "sets": len(sets), "nanoseconds": 1e9 * seconds / n}


def ecm_terms(one):
    return [1, one["attributes"] * one["clusters"], one["sets"], one["sets"] * one["clusters"]]


def landmark_passes(n=20_000):
    """Masses of rows from landmarks."""
    for d in ATTRIBUTES:
        for sets in families():
            for landmarks in (100, 500):
                X, _ = sample(0, n, d)
                settings = {"solver": "landmark", "n_landmarks": landmarks, "max_iter": 3, "random_state": 0}
                model = EVCLUS(sets.frame_size, focal_sets=sets, **settings).fit(X[:2000])._model
                seconds = least_cpu(lambda model=model, X=X: model.assign(X))
                yield {
                    "attributes": d,
                    "clusters": sets.frame_size,
                    "sets": len(sets),
                    "landmarks": landmarks,
                    "nanoseconds": 1e9 * seconds / n,
                }


def landmark_terms(one):
    return [
        1,
        one["landmarks"],
        one["landmarks"] * one["attributes"],
        one["landmarks"] * one["sets"],
        one["sets"] ** 2,
    ]


def epochs(n=20_000):
    """An epoch of NN-EVCLUS with mini-batches: two epochs less one."""
    from evlearn.neural import NNEVCLUS

    for d in ATTRIBUTES:
        for sets in (FocalSets.simple(3), FocalSets.full(4), FocalSets.full(6)):
            for batch in (100, 250):
                X, _ = sample(0, n, d)
                settings = {"solver": "rmsprop", "batch_size": batch, "init": "random", "random_state": 0}

                def fit(count, X=X, sets=sets, settings=settings):
                    NNEVCLUS(sets.frame_size, focal_sets=sets, max_iter=count, **settings).fit(X)

                seconds = least_cpu(lambda fit=fit: fit(3), 2) - least_cpu(lambda fit=fit: fit(1), 2)
                yield {
                    "attributes": d,
                    "clusters": sets.frame_size,
                    "sets": len(sets),
                    "batch": batch,
                    "nanoseconds": 1e9 * seconds / (2 * n),
                }


def epoch_terms(one):
    weights = 1.5 * one["sets"] * (one["attributes"] + one["sets"])
    return [1, 1 / one["batch"], one["batch"], one["batch"] * one["sets"], weights]


def fit_model(runs, terms):
    """Coefficients in nanoseconds, and how far the model is from what was measured."""
    measured = np.array([one["nanoseconds"] for one in runs])
    A = np.array([terms(one) for one in runs], dtype=float)
    coefficients, _ = nnls(A / measured[:, None], np.ones(len(runs)))
    errors = np.abs(A @ coefficients / measured - 1)
    return {
        "coefficients": coefficients.round(4).tolist(),
        "median_relative_error": round(float(np.median(errors)), 3),
        "largest_relative_error": round(float(errors.max()), 3),
        "runs": runs,
    }


def parquet(n=1_000_000, d=8):
    """Nanoseconds of CPU to read a number from Parquet to a memory map, and to write one."""
    with tempfile.TemporaryDirectory() as folder:
        data = generate(Path(folder), n, d)

        def read():
            with open_rows(data, folder=folder):
                pass

        X, _ = sample(0, n, d)
        names = [f"x{k}" for k in range(d)]

        def write():
            target = make_target(Path(folder, f"{time.monotonic_ns()}.parquet"), n, names, X.dtype)
            for start in range(0, n, n // 4):
                target.put(start, X[start : start + n // 4])
            target.finish()

        return {name: 1e9 * least_cpu(call) / X.size for name, call in (("read", read), ("write", write))}


def measure():
    """All of it."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    ECM(2, random_state=0).fit(sample(0, 1000, 2)[0])  # libraries load
    found = {"parquet_nanoseconds_per_number": parquet()}
    for name, runs, terms in (
        ("ecm", ecm_passes, ecm_terms),
        ("evclus", landmark_passes, landmark_terms),
        ("nn_evclus", epochs, epoch_terms),
    ):
        found[name] = fit_model(list(runs()), terms)
        print(name, {key: value for key, value in found[name].items() if key != "runs"}, flush=True)
    return found
