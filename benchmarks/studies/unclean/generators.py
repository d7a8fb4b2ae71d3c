"""Data with gross errors, outliers or clusters of very different sizes, drawn from a seeded generator.

Each generator takes a `numpy.random.Generator` first and returns a `Problem`. The label of errors and outliers is
-1. Standard deviations are those of the columns of the data without errors.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from evlearn.datasets import load_butterfly

KINDS = ("spread out", "few points", "single columns")
FAMILIES = ("Gaussian", "Student", "exponential", "lognormal")
SIZES = (0.4, 0.3, 0.2, 0.1)  # shares of the clusters with planted outliers
SPREADS = (1.0, 0.7, 1.3, 0.8)  # standard deviations of these clusters
LOG_SPREAD = 0.6  # standard deviation of the logarithms of lognormal clusters
UNBALANCED = (242, 48, 10)  # samples in each cluster
TOPICS, UNSEEN_TOPICS, FEATURES = 50, 8, 128  # of the embeddings


class Problem(NamedTuple):
    """Samples, their clusters (-1 for errors and outliers), and the number of clusters."""

    X: np.ndarray
    y: np.ndarray
    n_clusters: int

    @property
    def planted(self):
        """Mask of the errors or outliers."""
        return self.y < 0


def centers(random, n_clusters, d, gap):
    """Return Gaussian centers whose smallest distance is `gap`."""
    points = random.normal(size=(n_clusters, d))
    distances = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(n_clusters, 1)]
    return points * gap / distances.min()


def separated(random, n=1000, d=2, n_clusters=5, gap=8.0):
    """Draw Gaussian clusters of similar sizes with unit variances, `gap` standard deviations apart."""
    y = random.permutation(np.arange(n) % n_clusters)
    return Problem(centers(random, n_clusters, d, gap)[y] + random.normal(size=(n, d)), y, n_clusters)


def gross_errors(random, n=1000, d=2, share=0.01, size=30, kind="spread out"):
    """Draw 5 separated clusters, and replace a share of the rows by errors `size` standard deviations away.

    Kinds are "spread out" (a random direction for each row), "few points" (3 distinct rows) and "single columns"
    (1 column of each row has 1 of 2 values, such as 999 and -999).
    """
    X, y, c = separated(random, n, d)
    rows = random.choice(n, size=round(share * n), replace=False)
    middle, spread = X.mean(axis=0), X.std(axis=0)
    X, y = X.copy(), y.copy()
    if kind == "single columns":
        columns = random.integers(d, size=len(rows))
        X[rows, columns] = middle[columns] + size * spread[columns] * random.choice([-1, 1], size=len(rows))
    else:
        n_points = len(rows) if kind == "spread out" else 3
        directions = random.normal(size=(n_points, d))
        directions *= np.sqrt(d) / np.linalg.norm(directions, axis=1, keepdims=True)
        directions *= random.uniform(0.8, 1.25, size=(n_points, 1))
        X[rows] = (middle + size * spread * directions)[random.permutation(len(rows)) % n_points]
    y[rows] = -1
    return Problem(X, y, c)


def noise(random, family, shape):
    """Draw values with mean 0 and variance 1."""
    if family == "Gaussian":
        return random.normal(size=shape)
    if family == "Student":
        return random.standard_t(5, size=shape) / np.sqrt(5 / 3)
    if family == "exponential":
        return random.exponential(size=shape) - 1
    variance = LOG_SPREAD**2
    values = random.lognormal(-variance / 2, LOG_SPREAD, size=shape)
    return (values - 1) / np.sqrt(np.expm1(variance))


def planted_outliers(random, n=1000, d=2, family="Gaussian", share=0.05, gap=8.0):
    """Draw 4 clusters of different sizes and spreads, and outliers that are uniform in a box.

    The box is the range of the clusters, extended by 15 % on each side. In few dimensions some of these
    outliers lie inside clusters, where no method can detect them.
    """
    n_outliers = round(share * n)
    counts = np.round(np.array(SIZES) * (n - n_outliers)).astype(int)
    counts[0] += n - n_outliers - counts.sum()
    y = np.repeat(np.arange(len(SIZES)), counts)
    X = centers(random, len(SIZES), d, gap)[y] + np.array(SPREADS)[y, None] * noise(random, family, (len(y), d))
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.15 * (high - low)
    outliers = random.uniform(low - margin, high + margin, size=(n_outliers, d))
    order = random.permutation(n)
    return Problem(np.vstack([X, outliers])[order], np.append(y, np.full(n_outliers, -1))[order], len(SIZES))


def unbalanced(random, sizes=UNBALANCED, d=2, gap=8.0):
    """Draw Gaussian clusters with the given numbers of samples."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    return Problem(centers(random, len(sizes), d, gap)[y] + random.normal(size=(len(y), d)), y, len(sizes))


def similar_sizes(random):
    """Return numbers of samples such as 242, 48 and 10: 300 in total, the last between 3 and 5 %."""
    smallest, middle = random.integers(9, 16), random.integers(35, 65)
    return (300 - smallest - middle, middle, smallest)


def uniform_outliers(random, n=1000, d=8, share=0.02, gap=8.0):
    """Draw 5 Gaussian clusters with outliers uniformly in a box of 3 times their range."""
    n_outliers = round(share * n)
    X, y, c = separated(random, n - n_outliers, d, gap=gap)
    low, high = X.min(axis=0), X.max(axis=0)
    outliers = random.uniform(2 * low - high, 2 * high - low, size=(n_outliers, d))
    return Problem(np.vstack([X, outliers]), np.append(y, np.full(n_outliers, -1)), c)


def iris(typo=False):
    """Return the Iris data, with a typo of 51 instead of 5.1 in the first row."""
    X, y = load_iris(return_X_y=True)
    if typo:
        X[0, 0] *= 10
        y[0] = -1
    return Problem(X, y, 3)


def butterfly():
    """Return the butterfly data: 2 wings, sample 6 between them (label -2), and an outlier."""
    return Problem(load_butterfly().data, np.repeat([0, -2, 1, -1], [5, 1, 5, 1]), 2)


def raw_table(random, n=1000, n_columns=20, gaps=0.05, share=0.01, factor=60):
    """Draw a table of 4 classes in columns of different units, with missing values and multiplied rows.

    Half of the columns are measurements with an offset, the other half are positive and skewed.
    """
    y = random.permutation(np.arange(n) % 4)
    values = centers(random, 4, n_columns, 8.0)[y] + random.normal(size=(n, n_columns))
    half = n_columns // 2
    values[:, :half] += random.uniform(20, 100, size=half)
    values[:, half:] = np.exp(values[:, half:] * 0.3 + random.uniform(1, 3, size=n_columns - half))
    values *= 10.0 ** random.integers(-2, 4, size=n_columns)
    rows = random.choice(n, size=round(share * n), replace=False)
    values[rows] *= factor
    values[random.random(values.shape) < gaps] = np.nan
    y[rows] = -1
    return Problem(pd.DataFrame(values, columns=[f"column {k + 1}" for k in range(n_columns)]), y, 4)


class Embeddings:
    """Unit vectors of 50 topics, 10 of which are related to another topic, with mixtures, and 8 unseen topics.

    Topics have different frequencies, 5 % of the vectors are mixtures of 2 topics, and all share 12 directions of
    style.
    """

    def __init__(self, random):
        topics = random.normal(size=(TOPICS + UNSEEN_TOPICS, FEATURES))
        topics /= np.linalg.norm(topics, axis=1, keepdims=True)
        for k in range(4, TOPICS, 5):
            topics[k] = 0.75 * topics[k - 1] + 0.66 * topics[k]
        self.topics = topics / np.linalg.norm(topics, axis=1, keepdims=True)
        self.style = random.normal(size=(12, FEATURES)) / np.sqrt(FEATURES)

    def draw(self, random, n, unseen=0.0):
        """Draw vectors in single precision, a share of them from unseen topics."""
        frequencies = np.arange(1, TOPICS + 1) ** -0.6
        y = random.choice(TOPICS, n, p=frequencies / frequencies.sum())
        new = random.random(n) < unseen
        topics = np.where(new, TOPICS + random.integers(0, UNSEEN_TOPICS, n), y)
        weights = np.where(random.random(n) < 0.05, random.uniform(0.35, 0.5, n), 0)[:, None]
        X = (1 - weights) * self.topics[topics] + weights * self.topics[random.integers(0, TOPICS, n)]
        X += 0.06 * random.normal(size=(n, FEATURES)) + 0.35 * random.normal(size=(n, 12)) @ self.style
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        return Problem(X.astype(np.float32), np.where(new, -1, y), TOPICS)
