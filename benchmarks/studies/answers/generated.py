"""Generated data for `answers.py`; a seed gives the same data."""

import numpy as np
from sklearn.metrics import pairwise_distances

FEATURES = {"low": (2, 8), "middle": (10, 25), "high": (30, 60)}


def problem(kind, size, seed):
    """Gaussian clusters whose closest centres are two and a half to five standard deviations apart.

    Parameters
    ----------
    kind : {"round", "unequal", "spreads", "long"}
        All alike; of sizes 1 to 8; of spreads 1 to 3; longer in one direction than in others.
    size : {"low", "middle", "high"}
        How many features: 2 to 8, 10 to 25, 30 to 60.
    seed : int
        The seed of everything.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The samples.
    y : ndarray of int
        Their clusters.
    """
    random = np.random.default_rng(seed)
    d, c = random.integers(*FEATURES[size], endpoint=True), random.integers(2, 10, endpoint=True)
    n = int(random.integers(600, 1500))
    shares = random.uniform(1, 8, size=c) if kind == "unequal" else np.ones(c)
    spreads = random.uniform(1, 3, size=c) if kind == "spreads" else np.ones(c)
    centres = apart(random.normal(size=(c, d)), random.uniform(2.5, 5) * np.sqrt(np.mean(spreads**2)))
    y = random.choice(c, size=n, p=shares / shares.sum())
    y[:c] = np.arange(c)
    noise = random.normal(size=(n, d)) * spreads[y, np.newaxis]
    if kind == "long":
        directions = random.normal(size=(c, d))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        noise += 2 * random.normal(size=(n, 1)) * directions[y]
    return centres[y] + noise, y


def apart(centres, gap):
    """Centres moved so that the closest two are so far apart."""
    return centres * gap / pairwise_distances(centres)[np.triu_indices(len(centres), 1)].min()


def customers(seed, n=5000):
    """A table of customers: seven numbers, three categories and a flag in 18 columns, four segments.

    One in twelve is between two segments, and 55 have unheard-of numbers.
    """
    random = np.random.default_rng(seed)
    segments = random.choice(4, size=n, p=[0.35, 0.3, 0.2, 0.15])
    partner = np.where(random.random(n) < 1 / 12, (segments + random.integers(1, 4, size=n)) % 4, segments)
    centres = np.random.default_rng(seed + 1).normal(scale=1.7, size=(4, 7))
    numbers = (centres[segments] + centres[partner]) / 2 + random.normal(size=(n, 7))
    tastes = np.random.default_rng(seed + 2)
    likes = [tastes.dirichlet(np.full(size, 0.8), size=4) for size in (4, 3, 3)]
    lived = np.where(random.random(n) < 0.5, segments, partner)
    flags = [np.eye(one.shape[1])[drawn(one[lived], random)] for one in likes]
    letters = random.random(n) < np.array([0.2, 0.4, 0.6, 0.8])[lived]
    strange = random.choice(n, size=round(0.011 * n), replace=False)
    numbers[strange] = random.normal(scale=9, size=(len(strange), 7))
    segments[strange] = -1
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    return np.column_stack([numbers, *flags, letters]), segments


def drawn(probabilities, random):
    """A category for each row of probabilities."""
    return (probabilities.cumsum(axis=1)[:, :-1] < random.random((len(probabilities), 1))).sum(axis=1)


def sensors(seed, n=5000, d=30):
    """Eight clear clusters with correlated noise; 3 % of samples are half way between two, 1 % fit nowhere."""
    random = np.random.default_rng(seed)
    centres = apart(random.normal(size=(8, d)), 7)
    y = random.choice(8, size=n, p=np.linspace(1, 3, 8) / np.linspace(1, 3, 8).sum())
    other = np.where(random.random(n) < 0.03, (y + random.integers(1, 8, size=n)) % 8, y)
    mixed = random.normal(size=(3, d)) / np.sqrt(d) * 2
    X = (centres[y] + centres[other]) / 2 + random.normal(size=(n, d)) + random.normal(size=(n, 3)) @ mixed
    strange = random.choice(n, size=n // 100, replace=False)
    X[strange] = random.normal(scale=4 * X.std(), size=(len(strange), d))
    y[strange] = -1
    return X, y


def latent_classes(c, d, seed, n=1000):
    """Columns of 0 and 1 that are independent within each class."""
    random = np.random.default_rng(seed)
    chances, y = random.beta(0.6, 0.6, size=(c, d)), random.integers(c, size=n)
    return (random.random((n, d)) < chances[y]).astype(float), y


def halfway(d, seed, n=1000, n_between=50):
    """Four Gaussians whose closest centres are five standard deviations apart, and samples in the middle of these.

    Parameters
    ----------
    d : int
        How many features.
    seed : int
        The seed of everything.
    n, n_between : int
        How many samples belong to the clusters, and how many lie between the closest two.

    Returns
    -------
    X : ndarray of shape (n + n_between, d)
        The samples, those between at the end.
    y : ndarray of int
        Their clusters; -1 for those between.
    """
    random = np.random.default_rng(seed)
    centres = apart(random.normal(size=(4, d)), 5)
    distances = pairwise_distances(centres) + np.diag(np.full(4, np.inf))
    pair = np.unravel_index(distances.argmin(), distances.shape)
    y = np.append(random.integers(4, size=n), np.full(n_between, -1))
    means = np.vstack([centres[y[:n]], np.tile(centres[list(pair)].mean(axis=0), (n_between, 1))])
    noise = random.normal(size=(n + n_between, d))
    # Exactly in the middle along the line between the two, and anywhere in all other directions.
    line = centres[pair[1]] - centres[pair[0]]
    line /= np.linalg.norm(line)
    noise[n:] -= np.outer(noise[n:] @ line, line)
    return means + noise, y


def cloud(d, seed, n=1000):
    """One Gaussian, in which there are no clusters."""
    return np.random.default_rng(seed).normal(size=(n, d)), np.zeros(n, dtype=int)
