"""Data of the study: those of the papers, from the reference folder, and generated data."""

import csv
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.common import reference
from evlearn.datasets import make_bananas, make_gaussian_mixture

FILES = {"glass": "glass_uci", "heart": "heart_statlog", "protein": "protein_D"}
OF_PAPERS = ("iris", "wine", "seeds", "fourclass", "protein", "heart", "glass", "ecoli", "segment", "d31", "s2")
GENERATED = ("bananas_1000", "gaussians_1000", "outliers_1000", "outliers_10000", "outliers_100000")
OUTLIERS = 0.03  # share of the other samples


class Data(NamedTuple):
    """Samples with their true classes; for some, also outliers and true posteriors."""

    y: Any
    X: Any = None
    D: Any = None
    outliers: Any = None
    posterior: Any = None

    @property
    def n_clusters(self):
        """Number of true clusters, without outliers."""
        labels = self.y if self.outliers is None else self.y[~self.outliers]
        return len(np.unique(labels))

    def first(self, n):
        """Return a random subset of the samples, to warm up."""
        rows = np.random.default_rng(0).permutation(len(self.y))[:n]
        if self.X is None:
            return Data(self.y[rows], D=self.D[np.ix_(rows, rows)])
        return Data(self.y[rows], self.X[rows])


def load(name):
    """Return standardized data, or dissimilarities, by name."""
    if name == "protein":
        with np.load(reference.data("protein_D.npz")) as file:
            return Data(codes(file["y"]), D=file["D"])
    family, _, size = name.partition("_")
    if family in ("gaussians", "outliers"):
        return gaussians(int(size), with_outliers=family == "outliers")
    X, y = make_bananas(int(size), random_state=0) if family == "bananas" else table(name)
    return Data(codes(y), StandardScaler().fit_transform(X))


def is_available(name):
    """Return True if data are generated or their file exists."""
    return name in GENERATED or reference.has(FILES.get(name, name))


def table(name):
    """Return the varying numeric features, and the classes, of a file of the papers."""
    with reference.data(f"{FILES.get(name, name)}.csv").open() as file:
        header, *rows = csv.reader(file)
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    y = np.array(columns.pop("y"))
    X = np.array([column for column in columns.values() if is_number(column[0])], dtype=float).T
    return X[:, np.ptp(X, axis=0) > 0], y


def is_number(text):
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


def gaussians(n, with_outliers):
    """Return 3 overlapping Gaussian clusters, with uniform outliers in a square without a central disc."""
    X, y, posterior = make_gaussian_mixture(3, n, random_state=0)
    if not with_outliers:
        return Data(y, StandardScaler().fit_transform(X), posterior=posterior)
    points = np.random.default_rng(0).uniform(-12, 14, size=(n, 2))
    distant = points[np.hypot(*(points - 1).T) > 7][: round(OUTLIERS * n)]
    X, outliers = np.vstack([X, distant]), np.arange(n + len(distant)) >= n
    y = np.append(y, np.full(len(distant), y.max() + 1))
    posterior = np.vstack([posterior, np.full((len(distant), 3), np.nan)])
    return Data(y, StandardScaler().fit_transform(X), outliers=outliers, posterior=posterior)


def codes(y):
    return np.unique(y, return_inverse=True)[1]
