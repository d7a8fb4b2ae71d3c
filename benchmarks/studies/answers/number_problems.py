"""Generated problems for the number of clusters: families for training, and families for judging only.

A family is a function of a random number generator that returns samples and their clusters. There are 2 to 10
clusters, or 1 in the families of `SINGLE`, 150 to 600 samples, and 2 to 30 features. Clusters overlap so that most
samples can be assigned correctly.
"""

import zlib
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from benchmarks.studies.answers.generated import scale_centers

DIMENSIONS = (2, 3, 4, 6, 10, 15, 20, 30)
MIN_SIZE = 10
#: Largest number of draws of centers, among which the most regular is used.
MAX_DRAWS = 8


class Outline(NamedTuple):
    """Clusters of the samples, number of clusters and number of features."""

    y: np.ndarray
    c: int
    d: int


def problem(family, seed):
    """Return samples, in random order, and their clusters.

    Parameters
    ----------
    family : callable
        Function of this module.
    seed : int
        Seed; together with the name of the family, it determines the data.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Samples.
    y : ndarray of int of shape (n_samples,)
        Clusters, numbered from 0.
    """
    random = np.random.default_rng([zlib.crc32(family.__name__.encode()), seed])
    X, y = family(random)
    X = X[:, np.ptp(X, axis=0) > 0]
    order = random.permutation(len(X))
    return X[order], np.unique(y[order], return_inverse=True)[1].ravel()


def outline(random, *, clusters=(2, 10), dimensions=DIMENSIONS, evenness=8.0):
    """Draw the number of samples, clusters and features, and the clusters of samples."""
    c, n = int(random.integers(*clusters, endpoint=True)), int(random.integers(150, 600, endpoint=True))
    shares = random.dirichlet(np.full(c, evenness))
    y = random.choice(c, size=n, p=shares)
    y[: c * MIN_SIZE] = np.repeat(np.arange(c), MIN_SIZE)
    return Outline(y, c, int(random.choice(dimensions)))


def draw_centers(random, c, d, gap):
    """Return centers whose smallest distance is `gap`."""
    draws = [random.normal(size=(c, d)) for _ in range(int(random.integers(1, MAX_DRAWS, endpoint=True)))]
    scaled = [scale_centers(draw, gap) for draw in draws]
    return min(scaled, key=lambda draw: draw.std())


def draw_gap(random):
    """Draw the smallest distance of centers in standard deviations."""
    return random.uniform(3, 6.5)


def standardize(X):
    """Scale columns to mean 0 and standard deviation 1."""
    scales = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(scales > 0, scales, 1)


def rotate(random, X):
    """Rotate the space of features."""
    return X @ np.linalg.qr(random.normal(size=(X.shape[1], X.shape[1])))[0]


def embed(random, X, noise):
    """Rotate samples in a space with more features, most of which are noise."""
    extra = int(random.choice((0, 0, 2, 6, 12)))
    return rotate(random, np.hstack([X, noise * random.normal(size=(len(X), extra))])) if extra else X


def fraction(random, y):
    """Return positions along clusters, between 0 and 1."""
    return random.uniform(size=len(y))


# Families for training


def gaussians(random):
    y, c, d = outline(random)
    return draw_centers(random, c, d, draw_gap(random))[y] + random.normal(size=(len(y), d)), y


def spreads(random):
    y, c, d = outline(random)
    scales = random.uniform(0.4, 2, size=c)
    centers = draw_centers(random, c, d, draw_gap(random) * np.sqrt(np.mean(scales**2)))
    return centers[y] + scales[y, None] * random.normal(size=(len(y), d)), y


def ellipsoids(random):
    y, c, d = outline(random)
    shapes = random.normal(size=(c, d, d)) * random.uniform(0.2, 2, size=(c, 1, d))
    shapes /= np.sqrt(np.mean(shapes**2) * d)
    centers = draw_centers(random, c, d, draw_gap(random))
    return centers[y] + np.einsum("nij,nj->ni", shapes[y], random.normal(size=(len(y), d))), y


def parallel_ellipsoids(random):
    y, c, d = outline(random)
    X = draw_centers(random, c, d, draw_gap(random))[y] + random.normal(size=(len(y), d))
    return rotate(random, X * random.uniform(0.2, 2, size=d)), y


def students(random):
    y, c, d = outline(random)
    return draw_centers(random, c, d, 1.2 * draw_gap(random))[y] + random.standard_t(3, size=(len(y), d)), y


def laplace(random):
    y, c, d = outline(random)
    return draw_centers(random, c, d, draw_gap(random))[y] + random.laplace(scale=0.7, size=(len(y), d)), y


def lognormals(random):
    y, c, d = outline(random)
    X = draw_centers(random, c, d, draw_gap(random))[y] + random.normal(size=(len(y), d))
    return standardize(np.exp(X * random.uniform(0.1, 0.3))), y


def skewed(random):
    y, c, d = outline(random)
    shape = random.uniform(1.5, 5)
    noise = (random.gamma(shape, size=(len(y), d)) - shape) / np.sqrt(shape)
    return draw_centers(random, c, d, 1.1 * draw_gap(random))[y] + noise * random.choice([-1, 1], size=d), y


def unequal_sizes(random):
    y, c, d = outline(random, evenness=1.0)
    return draw_centers(random, c, d, draw_gap(random))[y] + random.normal(size=(len(y), d)), y


def noise_features(random):
    y, c, d = outline(random, dimensions=(2, 3, 4, 6, 10, 15))
    X = draw_centers(random, c, d, draw_gap(random))[y] + random.normal(size=(len(y), d))
    return np.hstack([X, X.std() * random.uniform(0.3, 0.7) * random.normal(size=(len(y), d))]), y


def scattered(random):
    """Return Gaussian clusters and up to 5 % of samples anywhere, which belong to the nearest center."""
    y, c, d = outline(random)
    centers = draw_centers(random, c, d, draw_gap(random))
    X = centers[y] + random.normal(size=(len(y), d))
    anywhere = random.random(len(y)) < random.uniform(0.01, 0.05)
    X[anywhere] = random.uniform(1.3 * X.min(axis=0), 1.3 * X.max(axis=0), size=(anywhere.sum(), d))
    return X, np.where(anywhere, cdist(X, centers).argmin(axis=1), y)


def nested_groups(random):
    y, c, d = outline(random, clusters=(3, 10))
    n_groups = max(2, c // 2)
    groups = np.append(np.arange(n_groups), random.integers(n_groups, size=c - n_groups))
    gap = draw_gap(random)
    centers = draw_centers(random, n_groups, d, random.uniform(2, 3.5) * gap)[groups]
    members = [draw_centers(random, max((groups == k).sum(), 2), d, gap) for k in range(n_groups)]
    for k, places in enumerate(members):
        centers[groups == k] += places[: (groups == k).sum()]
    return centers[y] + random.normal(size=(len(y), d)), y


def lattice(random):
    y, c, d = outline(random, dimensions=(2, 3))
    side = int(np.ceil(c ** (1 / d)))
    cells = np.stack(np.meshgrid(*[np.arange(side)] * d), axis=-1).reshape(-1, d)
    centers = draw_gap(random) * random.permutation(cells)[:c]
    return embed(random, centers[y] + random.normal(size=(len(y), d)), 1.0), y


def counts(random):
    y, c, d = outline(random, dimensions=(6, 10, 15, 20, 30))
    rates = random.gamma(random.uniform(0.7, 2), random.uniform(4, 8), size=(c, d)) + 0.2
    X = random.poisson(rates[y]).astype(float)
    return (np.sqrt(X) if random.random() < 0.5 else standardize(X)), y


def binary(random):
    y, c, d = outline(random, dimensions=(12, 15, 20, 30))
    return (random.random((len(y), d)) < random.beta(0.4, 0.4, size=(c, d))[y]).astype(float), y


def boxes(random):
    y, c, d = outline(random)
    widths = random.uniform(0.6, 1.6, size=(c, d))
    return draw_centers(random, c, d, draw_gap(random))[y] + widths[y] * random.uniform(-1.7, 1.7, (len(y), d)), y


def mixed_units(random):
    y, c, d = outline(random, dimensions=(3, 4, 6, 10, 15, 20))
    X = draw_centers(random, c, d, draw_gap(random))[y] + random.normal(size=(len(y), d))
    levels = random.choice(4, size=(len(y), max(1, d // 4)), p=[0.4, 0.3, 0.2, 0.1])
    return standardize(np.hstack([X * random.lognormal(sigma=2, size=d), levels])), y


def mixed_shapes(random):
    y, c, d = outline(random, dimensions=(2, 3, 4, 6, 10))
    noise = random.normal(size=(len(y), d))
    shapes = (
        noise,
        random.uniform(-1.7, 1.7, size=noise.shape),
        random.laplace(scale=0.7, size=noise.shape),
        noise * np.append(1.6, np.full(d - 1, 0.5)),
        random.gamma(2, 0.7, size=noise.shape) - 1.4,
    )
    kinds = random.integers(len(shapes), size=c)[y]
    return draw_centers(random, c, d, draw_gap(random))[y] + np.choose(kinds[:, None], shapes), y


def subspaces(random):
    """Return clusters that differ from the rest in few features each."""
    y, c, d = outline(random, dimensions=(10, 15, 20, 30))
    is_special = random.permuted(np.tile(np.arange(d) < max(2, d // 5), (c, 1)), axis=1)
    centers = np.where(is_special, random.choice([-1, 1], size=(c, d)) * random.uniform(2.5, 5, size=(c, d)), 0)
    noise = np.where(is_special, random.uniform(0.3, 0.8), 1.0)
    return centers[y] + noise[y] * random.normal(size=(len(y), d)), y


def densities(random):
    """Return clusters of very different densities, with gaps in proportion to their widths."""
    y, c, d = outline(random, dimensions=(2, 3, 4, 6, 10), evenness=3.0)
    widths = np.exp(random.uniform(np.log(0.25), np.log(2.5), size=c))
    gap, centers = draw_gap(random), random.normal(size=(c, d))
    distances = gap / 2 * (widths[:, None] + widths)
    ratios = cdist(centers, centers) / distances + np.diag(np.full(c, np.inf))
    return centers[y] / ratios.min() + widths[y, None] * random.normal(size=(len(y), d)), y


def unit_vectors(random):
    y, c, d = outline(random, dimensions=(3, 6, 10, 15, 20, 30))
    directions = draw_centers(random, c, d, draw_gap(random))
    directions *= draw_gap(random) / np.linalg.norm(directions, axis=1, keepdims=True)
    directions *= max(1, draw_gap(random) / closest(directions))
    X = directions[y] + random.normal(size=(len(y), d))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def closest(points):
    """Return the smallest distance between points."""
    distances = cdist(points, points)
    return distances[np.triu_indices(len(points), 1)].min()


def common_factors(random):
    """Return clusters with a common covariance of few factors, so that features are correlated."""
    y, c, d = outline(random, dimensions=(6, 10, 15, 20, 30))
    loadings = random.normal(size=(2, d)) * random.uniform(0.5, 2)
    noise = random.normal(size=(len(y), d)) + random.normal(size=(len(y), 2)) @ loadings
    return draw_centers(random, c, d, draw_gap(random))[y] + noise, y


def arcs(random):
    y, c, _ = outline(random, clusters=(2, 5))
    width, t = random.uniform(0.05, 0.2), fraction(random, y)
    starts, lengths = random.uniform(0, 2 * np.pi, size=c), random.uniform(1.2, 3.3, size=c)
    centers = draw_centers(random, c, 2, random.uniform(1.4, 2.6))
    angles = starts[y] + lengths[y] * t
    X = centers[y] + np.column_stack([np.cos(angles), np.sin(angles)])
    return embed(random, X + width * random.normal(size=X.shape), width), y


def moons(random):
    """Return rows of interlocked half circles."""
    y, _, _ = outline(random, clusters=(2, 6))
    width, angles = random.uniform(0.05, 0.16), np.pi * fraction(random, y)
    flipped = np.where(y % 2, -1, 1)
    X = np.column_stack([np.cos(angles) + y, flipped * np.sin(angles) + np.where(y % 2, 0.5, 0)])
    return embed(random, X + width * random.normal(size=X.shape), width), y


def rings(random):
    y, c, _ = outline(random, clusters=(2, 4))
    radii = np.cumsum(random.uniform(0.7, 1.2, size=c)) - random.choice([0, 0.5])
    angles, width = 2 * np.pi * fraction(random, y), random.uniform(0.05, 0.15)
    X = radii[y, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    return embed(random, X + width * random.normal(size=X.shape), width), y


def bananas(random):
    """Return parabolas with Gaussian noise."""
    y, c, _ = outline(random, clusters=(2, 7))
    width, t = random.uniform(0.1, 0.35), random.normal(size=len(y))
    turns = random.uniform(0, 2 * np.pi, size=c)[y]
    bent = np.column_stack([t, random.uniform(0.3, 0.8) * (t**2 - 1)])
    X = np.column_stack(
        [
            bent[:, 0] * np.cos(turns) - bent[:, 1] * np.sin(turns),
            bent[:, 0] * np.sin(turns) + bent[:, 1] * np.cos(turns),
        ]
    )
    X += draw_centers(random, c, 2, random.uniform(3, 5))[y] + width * random.normal(size=X.shape)
    return embed(random, X, width), y


def ribbons(random):
    """Return noisy cubic curves in 2 to 4 dimensions."""
    y, c, d = outline(random, clusters=(2, 7), dimensions=(2, 3, 4))
    width, t = random.uniform(0.05, 0.2), 2 * fraction(random, y)[:, None] - 1
    linear, squared, cubic = random.normal(size=(3, c, d)) * np.array([1.0, 1.0, 1.5])[:, None, None]
    X = linear[y] * t + squared[y] * t**2 + cubic[y] * (t**3 - t)
    X += draw_centers(random, c, d, random.uniform(2, 3.5))[y]
    return embed(random, X + width * random.normal(size=X.shape), width), y


def chains(random):
    """Return linked circles in 3 dimensions."""
    y, _, _ = outline(random, clusters=(2, 6))
    angles, width = 2 * np.pi * fraction(random, y), random.uniform(0.04, 0.14)
    lying, up = y % 2 == 0, np.sin(angles)
    shift = np.cos(angles) + random.uniform(1, 1.3) * y
    X = np.column_stack([shift, np.where(lying, up, 0), np.where(lying, 0, up)])
    return embed(random, X + width * random.normal(size=X.shape), width), y


def surrounded(random):
    """Return Gaussian clusters within a ring, which is cluster 0."""
    y, c, _ = outline(random, clusters=(2, 5))
    centers = draw_centers(random, c, 2, draw_gap(random))
    centers -= centers[1:].mean(axis=0)
    radius = np.linalg.norm(centers[1:], axis=1).max() + random.uniform(4, 6)
    angles = 2 * np.pi * fraction(random, y)
    ring = radius * np.column_stack([np.cos(angles), np.sin(angles)]) + 0.5 * random.normal(size=(len(y), 2))
    X = np.where((y == 0)[:, None], ring, centers[y] + random.normal(size=(len(y), 2)))
    return embed(random, X, 1.0), y


# Families of a single cluster


def single(random, dimensions=DIMENSIONS):
    """Draw the numbers of samples and features of a single cluster."""
    return outline(random, clusters=(1, 1), dimensions=dimensions)


def single_gaussian(random):
    y, _, d = single(random)
    return random.normal(size=(len(y), d)), y


def single_ellipsoid(random):
    y, _, d = single(random)
    return rotate(random, random.normal(size=(len(y), d)) * random.uniform(0.1, 2, size=d)), y


def single_uniform(random):
    y, _, d = single(random, dimensions=(2, 3, 4, 6, 10))
    return random.uniform(size=(len(y), d)) * random.uniform(0.3, 1, size=d), y


def single_skewed(random):
    y, _, d = single(random)
    return random.gamma(random.uniform(1, 4), size=(len(y), d)), y


def single_student(random):
    y, _, d = single(random)
    return random.standard_t(4, size=(len(y), d)), y


def single_arc(random):
    y, _, _ = single(random)
    angles, width = random.uniform(1.2, 3.3) * fraction(random, y), random.uniform(0.05, 0.2)
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    return embed(random, X + width * random.normal(size=X.shape), width), y


def single_ring(random):
    y, _, _ = single(random)
    angles, width = 2 * np.pi * fraction(random, y), random.uniform(0.05, 0.25)
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    return embed(random, X + width * random.normal(size=X.shape), width), y


def single_ribbon(random):
    y, _, _ = single(random)
    d, width, t = int(random.integers(2, 5)), random.uniform(0.05, 0.2), 2 * fraction(random, y)[:, None] - 1
    linear, squared, cubic = random.normal(size=(3, d))
    X = linear * t + squared * t**2 + 1.5 * cubic * (t**3 - t)
    return embed(random, X + width * random.normal(size=X.shape), width), y


# Families for judging


def spirals(random):
    y, c, _ = outline(random, clusters=(2, 4), dimensions=(2,))
    t, width = np.sqrt(random.uniform(0.05, 1, size=len(y))), random.uniform(0.02, 0.05)
    angles = 2 * np.pi * (random.uniform(0.6, 1.1) * t + y / c)
    X = t[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    return embed(random, X + width * random.normal(size=X.shape), width), y


def strokes(random):
    """Return noisy line segments."""
    y, c, d = outline(random, clusters=(2, 8), dimensions=(2, 3, 4, 6))
    directions = random.normal(size=(c, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    shift = random.uniform(-1, 1, size=(len(y), 1)) * random.uniform(2, 5, size=c)[y, None]
    X = draw_centers(random, c, d, random.uniform(5, 9))[y] + shift * directions[y]
    return X + 0.5 * random.normal(size=(len(y), d)), y


def waves(random):
    """Return sine curves above each other."""
    y, _, _ = outline(random, clusters=(2, 6))
    t, width = fraction(random, y), random.uniform(0.06, 0.14)
    heights = y + random.uniform(0.3, 1) * np.sin(2 * np.pi * random.uniform(0.7, 1.5) * t)
    X = np.column_stack([random.uniform(3, 6) * t, heights])
    return embed(random, X + width * random.normal(size=X.shape), width), y


def topics(random):
    """Return counts of terms in documents, of which most are about one topic, in units of length 1."""
    y, c, _ = outline(random, clusters=(2, 8))
    terms = random.dirichlet(np.full(30, random.uniform(0.1, 0.3)), size=c)
    shares = 0.85 * np.eye(c)[y] + 0.15 * random.dirichlet(np.ones(c), size=len(y))
    X = random.poisson(random.integers(30, 90, size=(len(y), 1)) * (shares @ terms)).astype(float)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1), y


def customers(random):
    """Return segments in skewed amounts, counts, categories and flags, standardized."""
    y, c, _ = outline(random, clusters=(2, 7), evenness=4.0)
    amounts = np.exp(draw_centers(random, c, 4, 3.5)[y] * 0.4 + 0.4 * random.normal(size=(len(y), 4)))
    visits = random.poisson(random.gamma(1.5, 6, size=(c, 2))[y])
    tastes = random.dirichlet(np.full(4, 0.4), size=c).cumsum(axis=1)[y]
    categories = np.eye(4)[(tastes[:, :3] < random.random((len(y), 1))).sum(axis=1)]
    flags = random.random((len(y), 2)) < random.beta(0.5, 0.5, size=(c, 2))[y]
    numbers = standardize(np.hstack([np.log1p(amounts), np.log1p(visits)]))
    return np.hstack([numbers, categories, flags]), y


def exponentials(random):
    """Return clusters with an exponential tail on one side of every feature."""
    y, c, d = outline(random, dimensions=(2, 3, 4, 6, 10, 15))
    signs = random.choice([-1, 1], size=(c, d))
    tails = signs[y] * random.exponential(size=(len(y), d))
    return draw_centers(random, c, d, 1.2 * draw_gap(random))[y] + tails, y


def sheets(random):
    """Return parallel bent sheets in 3 dimensions."""
    y, _, _ = outline(random, clusters=(2, 5))
    u, v = random.uniform(-1, 1, size=(2, len(y)))
    heights = random.uniform(0.5, 0.8) * y + random.uniform(0.2, 0.8) * u**2
    X = np.column_stack([u, v, heights])
    return embed(random, X + 0.05 * random.normal(size=X.shape), 0.05), y


def shells(random):
    """Return concentric spheres."""
    y, c, d = outline(random, clusters=(2, 3), dimensions=(3, 4))
    directions = random.normal(size=(len(y), d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radii = np.cumsum(random.uniform(0.9, 1.4, size=c)) - 0.7
    return radii[y, None] * directions + 0.06 * random.normal(size=(len(y), d)), y


def single_triangle(random):
    y, _, _ = single(random)
    corners = random.normal(size=(3, 2))
    return random.dirichlet(np.ones(3), size=len(y)) @ corners, y


SINGLE = (
    *(single_gaussian, single_ellipsoid, single_uniform, single_skewed, single_student),
    *(single_arc, single_ring, single_ribbon),
)
TRAINING = (
    *(gaussians, spreads, ellipsoids, parallel_ellipsoids, students, laplace, lognormals, skewed, unequal_sizes),
    *(noise_features, scattered, nested_groups, lattice, counts, binary, boxes, mixed_units, mixed_shapes),
    *(subspaces, densities, unit_vectors, common_factors, arcs, moons, rings),
    *(bananas, ribbons, chains, surrounded),
    *SINGLE,
)
JUDGING = (spirals, strokes, waves, topics, customers, exponentials, sheets, shells, single_triangle)
