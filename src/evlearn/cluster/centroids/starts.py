"""Where prototypes start: a sample of the rows, its scale, and some of its points."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils.random import sample_without_replacement

from evlearn.belief import FocalSets
from evlearn.blocks import Rows
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
from evlearn.cluster.neighbors.belief_peaks import delta_bel
from evlearn.cluster.set_costs import SetCosts
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import REMOTE, check_choice, remoteness

STARTS = ("kmeans", "k-means++", "random", "peaks")
_SAMPLE_ROWS = 20_000
_PEAK_ROWS = 5_000
#: k-means takes so many samples, or so many for each cluster, if that is more.
_KMEANS_ROWS, _KMEANS_ROWS_EACH = 5_000, 20
_KMEANS_TOL, _KMEANS_ITERATIONS, _N_KMEANS = 1e-4, 100, 10
# As good as 1, at which masses are 0 or 1.
_HARD_BETA = 1.001
# Clusters of fewer samples than this share, or of one among many, are outliers that k-means has fallen for.
_TINY, _MANY_EACH, _TRIMS = 0.001, 10, 5
# Solutions of k-means whose inertia differs by less than this share are taken for the same.
_SAME = 1e-3
_PAIRS, _PAIRS_PER_BLOCK = 100_000, 4096
_NEAR_AND_FAR = 0.95
# Weights beyond this are brought down, so that their products are numbers.
_HEAVIEST = 1e100


def draw(rows: Rows, weights: FloatArray | None, random: np.random.RandomState) -> tuple[FloatArray, FloatArray]:
    """Some rows, all of them if there are few: each once, in order, and how much it counts.

    Sorted, so that what follows from them does not depend on the order of the rows, and a row of weight two is
    the same as two rows. Without the few that are remote from all others: they would be all that is seen of the
    sample, and are outliers in any case.

    Returns
    -------
    sample : ndarray of shape (n, n_features)
        The distinct rows, in double precision, as the user has them.
    weights : ndarray of shape (n,)
        Their weights.
    """
    chosen = _choose(rows, random)
    sample = rows.take(chosen).astype(np.float64)
    counts = np.ones(len(chosen)) if weights is None else np.asarray(weights, dtype=np.float64)[chosen]
    counts = counts * min(1.0, _HEAVIEST / counts.max(initial=1.0))
    distinct, places = np.unique(sample[counts > 0], axis=0, return_inverse=True)
    counts = np.asarray(np.bincount(places.ravel(), counts[counts > 0]), dtype=np.float64)
    near = remoteness(distinct) <= REMOTE
    return (distinct, counts) if near.all() else (distinct[near], counts[near])


def draw_plain(rows: Rows, random: np.random.RandomState) -> FloatArray:
    """Some rows as they are, all of them if there are few, without the few that are remote from all others."""
    some = np.asarray(rows.take(_choose(rows, random)).astype(np.float64))
    near = remoteness(some) <= REMOTE
    return some if near.all() else some[near]


def _choose(rows: Rows, random: np.random.RandomState) -> IntArray:
    if len(rows) <= _SAMPLE_ROWS:
        return np.arange(len(rows))
    return np.asarray(np.sort(sample_without_replacement(len(rows), _SAMPLE_ROWS, random_state=random)))


def typical_distance(sample: FloatArray, weights: FloatArray, random: np.random.RandomState) -> float:
    """The distance that 95 of 100 pairs of samples do not exceed, as the default for outliers."""
    n = len(sample)
    if n * n <= 2 * _PAIRS:
        first, second = np.divmod(np.arange(n * n), n)
    else:
        first, second = random.randint(n, size=_PAIRS), random.randint(n - 1, size=_PAIRS)
        second += second >= first
    # Weights that are shares rather than numbers, as those that sum to one, are numbers in the same proportions.
    weights = weights * max(1.0, n / weights.sum())
    # A row that counts twice makes a pair with itself.
    times = weights[first] * np.where(first == second, np.maximum(weights[first] - 1, 0), weights[second])
    unit = float(np.ptp(sample, axis=0).max(initial=0))
    if not (unit > 0 and times.sum() > 0):
        return 1.0
    scaled, squares = sample / unit, np.empty(len(first))
    for block in row_blocks(len(first), _PAIRS_PER_BLOCK):
        squares[block] = ((scaled[first[block]] - scaled[second[block]]) ** 2).sum(axis=1)
    quantile = _weighted_quantile(squares, times, _NEAR_AND_FAR)
    # More than 95 of 100 pairs are duplicates: any positive scale tells them from the rest.
    return unit * float(np.sqrt(quantile if quantile > 0 else squares.max()))


def make_prototypes(
    init: Any, n_clusters: int, sample: FloatArray, weights: FloatArray, random: np.random.RandomState
) -> FloatArray:
    """Prototypes to start from."""
    if not isinstance(init, str):
        return given_prototypes(init, n_clusters, sample.shape[1])
    check_choice("init", init, STARTS)
    if len(sample) <= n_clusters:
        return np.resize(sample, (n_clusters, sample.shape[1]))
    if init == "kmeans":
        return kmeans_solutions(n_clusters, sample, weights, random, n_init=_N_KMEANS)[0]
    if init == "random":
        return sample[random.choice(len(sample), n_clusters, replace=False, p=weights / weights.sum())]
    if init == "peaks":
        some = sample
        if len(sample) > _PEAK_ROWS:
            some = sample[np.sort(random.permutation(len(sample))[:_PEAK_ROWS])]
        return some[delta_bel(some).peaks(n_peaks=n_clusters)]
    return sample[_seeds(n_clusters, sample, weights, random)]


def given_prototypes(init: Any, n_clusters: int, n_features: int) -> FloatArray:
    """Prototypes that the user gives."""
    try:
        given = np.array(init, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"init must be one of {list(STARTS)} or an array of numbers, got {init!r}.") from error
    if given.shape != (n_clusters, n_features) or not np.isfinite(given).all():
        raise ValueError(
            f"init must have shape ({n_clusters}, {n_features}), a prototype for each of n_clusters={n_clusters} "
            f"clusters, and finite numbers; got shape {given.shape}."
        )
    return given


def kmeans_solutions(
    n_clusters: int, sample: FloatArray, weights: FloatArray, random: np.random.RandomState, *, n_init: int
) -> list[FloatArray]:
    """Different solutions of k-means, the best first, with prototypes that no handful of outliers has caught."""
    if len(sample) <= n_clusters:
        return [np.resize(sample, (n_clusters, sample.shape[1]))]
    n_rows = max(_KMEANS_ROWS, _KMEANS_ROWS_EACH * n_clusters)
    if len(sample) > n_rows:
        chosen = np.sort(random.permutation(len(sample))[:n_rows])
        sample, weights = sample[chosen], weights[chosen]
    coordinates = Coordinates.of(sample)
    rows = coordinates.enter(sample)
    found: list[tuple[FloatArray, float]] = []
    for _ in range(_TRIMS):
        found = sorted((kmeans(rows, weights, n_clusters, random) for _ in range(n_init)), key=lambda one: one[1])
        tiny = _in_tiny_clusters(rows, weights, found[0][0])
        if not tiny.any() or len(rows) - tiny.sum() <= n_clusters:
            break
        rows, weights = rows[~tiny], weights[~tiny]
    kept = [0]
    for k in range(1, len(found)):
        if found[k][1] > found[kept[-1]][1] * (1 + _SAME):
            kept.append(k)
    return [coordinates.leave(found[k][0]) for k in kept]


def kmeans(
    rows: FloatArray, weights: FloatArray, n_clusters: int, random: np.random.RandomState
) -> tuple[FloatArray, float]:
    """One run of k-means, from points spread by k-means++.

    Returns
    -------
    prototypes : ndarray of shape (n_clusters, n_features)
        The means of the clusters.
    inertia : float
        The sum of squared distances to the nearest of them.
    """
    # The kernel of evidential c-means, with masses that are 0 or 1: its bits do not depend on threads.
    costs = SetCosts.ecm(FocalSets.singletons(n_clusters), alpha=1.0, beta=_HARD_BETA, delta=np.inf)
    origin = Coordinates(np.zeros(rows.shape[1]), 1.0)
    model = EuclideanModel(costs, origin, rows[_seeds(n_clusters, rows, weights, random)])
    before = np.inf
    for _ in range(_KMEANS_ITERATIONS):
        told = model.collect(rows, weights)
        if before - told.cost <= _KMEANS_TOL * told.cost:
            break
        held = told.powers[1:, None] > 0  # a cluster that nobody belongs to stays where it is
        means = np.divide(told.sums, told.powers[1:, None], out=model.prototypes.copy(), where=held)
        before, model = told.cost, EuclideanModel(costs, origin, means)
    return model.prototypes, told.cost


def squared_distances(rows: FloatArray, prototypes: FloatArray) -> FloatArray:
    """The squared distances of rows to prototypes."""
    return np.asarray(cdist(rows, prototypes, "sqeuclidean"))


def _in_tiny_clusters(rows: FloatArray, weights: FloatArray, prototypes: FloatArray) -> BoolArray:
    nearest = squared_distances(rows, prototypes).argmin(axis=1)
    shares = np.bincount(nearest, weights, minlength=len(prototypes)) / weights.sum()
    alone = (np.bincount(nearest, minlength=len(prototypes)) == 1) & (shares * len(prototypes) < 1 / _MANY_EACH)
    return np.asarray((alone | (shares <= _TINY))[nearest])


def _seeds(n_clusters: int, sample: FloatArray, weights: FloatArray, random: np.random.RandomState) -> IntArray:
    from sklearn.cluster import kmeans_plusplus  # here, because it takes as long to import as all the rest

    unit = float(np.abs(sample - sample[0]).max(initial=0)) or 1.0
    moved = (sample - sample[0]) / unit
    chosen = kmeans_plusplus(moved, n_clusters, sample_weight=weights, random_state=random)[1]
    return np.asarray(chosen)


def _weighted_quantile(values: FloatArray, times: FloatArray, q: float) -> float:
    """The quantile, with linear interpolation, of values that are there several times each."""
    order = np.argsort(values, kind="stable")
    values, ends = values[order], np.cumsum(times[order])
    place = q * (ends[-1] - 1)
    if place <= 0:
        return float(values[times[order] > 0][0])
    low = values[min(np.searchsorted(ends, np.floor(place), side="right"), len(values) - 1)]
    high = values[min(np.searchsorted(ends, np.floor(place) + 1, side="right"), len(values) - 1)]
    return float(low + (place - np.floor(place)) * (high - low))
