"""Generated data of the study; a seed determines the data."""

import numpy as np
from sklearn.metrics import pairwise_distances

FEATURES = {"low": (2, 8), "middle": (10, 25), "high": (30, 60)}


def problem(kind, size, seed):
    """Return Gaussian clusters whose closest centers are 2.5 to 5 standard deviations apart.

    Parameters
    ----------
    kind : {"round", "unequal", "spreads", "long"}
        Equal clusters; sizes from 1 to 8; spreads from 1 to 3; clusters elongated in one direction.
    size : {"low", "middle", "high"}
        Range of the number of features: 2 to 8, 10 to 25, 30 to 60.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Samples.
    y : ndarray of int
        Clusters of the samples.
    """
    random = np.random.default_rng(seed)
    d, c = random.integers(*FEATURES[size], endpoint=True), random.integers(2, 10, endpoint=True)
    n = int(random.integers(600, 1500))
    shares = random.uniform(1, 8, size=c) if kind == "unequal" else np.ones(c)
    spreads = random.uniform(1, 3, size=c) if kind == "spreads" else np.ones(c)
    centers = scale_centers(random.normal(size=(c, d)), random.uniform(2.5, 5) * np.sqrt(np.mean(spreads**2)))
    y = random.choice(c, size=n, p=shares / shares.sum())
    y[:c] = np.arange(c)
    noise = random.normal(size=(n, d)) * spreads[y, np.newaxis]
    if kind == "long":
        directions = random.normal(size=(c, d))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        noise += 2 * random.normal(size=(n, 1)) * directions[y]
    return centers[y] + noise, y


def scale_centers(centers, gap):
    """Scale centers so that `gap` is the smallest distance."""
    return centers * gap / pairwise_distances(centers)[np.triu_indices(len(centers), 1)].min()


def customers(seed, n=5000):
    """Return a customer table with 7 numbers, 3 categories and a flag in 18 columns, and 4 segments.

    8 % of the customers are between 2 segments, and 55 have extreme values.
    """
    random = np.random.default_rng(seed)
    segments = random.choice(4, size=n, p=[0.35, 0.3, 0.2, 0.15])
    partner = np.where(random.random(n) < 1 / 12, (segments + random.integers(1, 4, size=n)) % 4, segments)
    centers = np.random.default_rng(seed + 1).normal(scale=1.7, size=(4, 7))
    numbers = (centers[segments] + centers[partner]) / 2 + random.normal(size=(n, 7))
    tastes = np.random.default_rng(seed + 2)
    tables = [tastes.dirichlet(np.full(size, 0.8), size=4) for size in (4, 3, 3)]
    sources = np.where(random.random(n) < 0.5, segments, partner)
    flags = [np.eye(table.shape[1])[draw_categories(table[sources], random)] for table in tables]
    letters = random.random(n) < np.array([0.2, 0.4, 0.6, 0.8])[sources]
    outliers = random.choice(n, size=round(0.011 * n), replace=False)
    numbers[outliers] = random.normal(scale=9, size=(len(outliers), 7))
    segments[outliers] = -1
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    return np.column_stack([numbers, *flags, letters]), segments


def draw_categories(probabilities, random):
    """Draw a category for each row of probabilities."""
    return (probabilities.cumsum(axis=1)[:, :-1] < random.random((len(probabilities), 1))).sum(axis=1)


def sensors(seed, n=5000, d=30):
    """Return 8 clear clusters with correlated noise, 3 % of samples between 2 clusters, and 1 % outliers."""
    random = np.random.default_rng(seed)
    centers = scale_centers(random.normal(size=(8, d)), 7)
    y = random.choice(8, size=n, p=np.linspace(1, 3, 8) / np.linspace(1, 3, 8).sum())
    other = np.where(random.random(n) < 0.03, (y + random.integers(1, 8, size=n)) % 8, y)
    mixed = random.normal(size=(3, d)) / np.sqrt(d) * 2
    X = (centers[y] + centers[other]) / 2 + random.normal(size=(n, d)) + random.normal(size=(n, 3)) @ mixed
    outliers = random.choice(n, size=n // 100, replace=False)
    X[outliers] = random.normal(scale=4 * X.std(), size=(len(outliers), d))
    y[outliers] = -1
    return X, y


def latent_classes(c, d, seed, n=1000):
    """Return binary columns that are independent within each class."""
    random = np.random.default_rng(seed)
    chances, y = random.beta(0.6, 0.6, size=(c, d)), random.integers(c, size=n)
    return (random.random((n, d)) < chances[y]).astype(float), y


def halfway(d, seed, n=1000, n_between=50):
    """Return 4 Gaussian clusters and samples in the middle between the closest two.

    Parameters
    ----------
    d : int
        Number of features.
    seed : int
        Seed of the random numbers.
    n, n_between : int
        Number of samples in the clusters, and between the closest two.

    Returns
    -------
    X : ndarray of shape (n + n_between, d)
        Samples; those between clusters are last.
    y : ndarray of int
        Clusters of the samples; -1 for those between clusters.
    """
    random = np.random.default_rng(seed)
    centers = scale_centers(random.normal(size=(4, d)), 5)
    distances = pairwise_distances(centers) + np.diag(np.full(4, np.inf))
    pair = np.unravel_index(distances.argmin(), distances.shape)
    y = np.append(random.integers(4, size=n), np.full(n_between, -1))
    means = np.vstack([centers[y[:n]], np.tile(centers[list(pair)].mean(axis=0), (n_between, 1))])
    noise = random.normal(size=(n + n_between, d))
    # Exactly in the middle along the line between the centers, and random in all other directions.
    line = centers[pair[1]] - centers[pair[0]]
    line /= np.linalg.norm(line)
    noise[n:] -= np.outer(noise[n:] @ line, line)
    return means + noise, y


def cloud(d, seed, n=1000):
    """Return a single Gaussian, without clusters."""
    return np.random.default_rng(seed).normal(size=(n, d)), np.zeros(n, dtype=int)
