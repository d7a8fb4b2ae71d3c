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
#: So many samples are looked at, and k-means takes so many; or so many for each cluster, if that is more.
_SAMPLE_ROWS, _KMEANS_ROWS, _ROWS_EACH = 20_000, 5_000, 50
_PEAK_ROWS = 5_000
#: From how many clusters on k-means starts from more prototypes than it ends with, and how many times as many.
_MANY_CLUSTERS, _SURPLUS = 50, 3
_KMEANS_TOL, _KMEANS_ITERATIONS, _N_KMEANS = 1e-4, 100, 10
# As good as 1, at which masses are 0 or 1.
_HARD_BETA = 1.001
# Clusters of fewer samples than this share, of all or of what a cluster has on average, or of one among many, are
# outliers that k-means has fallen for.
_TINY, _TINY_OF_MANY, _MANY_EACH, _TRIMS, _TRIMS_OF_MANY = 0.001, 0.05, 10, 5, 2
# Solutions of k-means whose inertia differs by less than this share are taken for the same.
_SAME = 1e-3
_PAIRS, _PAIRS_PER_BLOCK = 100_000, 4096
_NEAR_AND_FAR = 0.95
# Weights beyond this are brought down, so that their products are numbers.
_HEAVIEST = 1e100


def draw(
    rows: Rows, weights: FloatArray | None, random: np.random.RandomState, n_clusters: int = 1
) -> tuple[FloatArray, FloatArray]:
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
    chosen = _choose(rows, random, n_clusters)
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


def _choose(rows: Rows, random: np.random.RandomState, n_clusters: int = 1) -> IntArray:
    n_rows = max(_SAMPLE_ROWS, _ROWS_EACH * n_clusters)
    if len(rows) <= n_rows:
        return np.arange(len(rows))
    return np.asarray(np.sort(sample_without_replacement(len(rows), n_rows, random_state=random)))


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
    quantile = weighted_quantile(squares, times, _NEAR_AND_FAR)
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
    n_rows = max(_KMEANS_ROWS, _ROWS_EACH * n_clusters)
    if len(sample) > n_rows:
        chosen = np.sort(random.permutation(len(sample))[:n_rows])
        sample, weights = sample[chosen], weights[chosen]
    coordinates = Coordinates.of(sample)
    rows = coordinates.enter(sample)
    found: list[tuple[FloatArray, float]] = []
    # Of many clusters every run misses some, and the best of ten runs as well; one from a surplus hardly any.
    few = n_clusters <= _MANY_CLUSTERS
    run, n_runs = (kmeans, n_init) if few else (kmeans_of_many, 1)
    for _ in range(_TRIMS if few else _TRIMS_OF_MANY):
        found = sorted((run(rows, weights, n_clusters, random) for _ in range(n_runs)), key=lambda one: one[1])
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
    return _lloyd(rows, weights, rows[_seeds(n_clusters, rows, weights, random)])[:2]


def kmeans_of_many(
    rows: FloatArray, weights: FloatArray, n_clusters: int, random: np.random.RandomState
) -> tuple[FloatArray, float]:
    """The same for many clusters: from more prototypes than that, of which near ones are merged."""
    n_seeds = min(_SURPLUS * n_clusters, len(rows))
    seeds = rows[_seeds(n_seeds, rows, weights, random, n_local_trials=1)]
    prototypes, _, counts = _lloyd(rows, weights, seeds, n_iterations=2)
    return _lloyd(rows, weights, _merged(prototypes, counts, n_clusters))[:2]


def _lloyd(
    rows: FloatArray, weights: FloatArray, prototypes: FloatArray, n_iterations: int = _KMEANS_ITERATIONS
) -> tuple[FloatArray, float, FloatArray]:
    """Where k-means ends, its inertia, and the weights of the clusters."""
    # The kernel of evidential c-means, with masses that are 0 or 1: its bits do not depend on threads.
    costs = SetCosts.ecm(FocalSets.singletons(len(prototypes)), alpha=1.0, beta=_HARD_BETA, delta=np.inf)
    origin = Coordinates(np.zeros(rows.shape[1]), 1.0)
    model = EuclideanModel(costs, origin, prototypes)
    before = np.inf
    for _ in range(n_iterations):
        told = model.collect(rows, weights)
        if before - told.cost <= _KMEANS_TOL * told.cost:
            break
        held = told.powers[1:, None] > 0  # a cluster that nobody belongs to stays where it is
        means = np.divide(told.sums, told.powers[1:, None], out=model.prototypes.copy(), where=held)
        before, model = told.cost, EuclideanModel(costs, origin, means)
    return model.prototypes, told.cost, told.powers[1:]


def _merged(prototypes: FloatArray, counts: FloatArray, n_clusters: int) -> FloatArray:
    """So many means of prototypes: the two whose merging adds least to the inertia become one, again and again."""
    places, counts = prototypes.copy(), np.maximum(counts, np.finfo(np.float64).tiny)

    def nearest(one: int) -> tuple[int, float]:
        added = ((places - places[one]) ** 2).sum(axis=1) * (counts * counts[one] / (counts + counts[one]))
        added[one], added[gone] = np.inf, np.inf
        other = int(added.argmin())
        return other, float(added[other])

    gone = np.zeros(len(places), dtype=bool)
    partners, added = map(np.array, zip(*map(nearest, range(len(places))), strict=True))
    for _ in range(len(places) - n_clusters):
        one = int(added.argmin())
        other = partners[one]
        total = counts[one] + counts[other]
        places[one] += (places[other] - places[one]) * (counts[other] / total)
        counts[one], gone[other], added[other] = total, True, np.inf
        # Those with other partners keep them: merging the nearest two brings them nearer to nobody.
        for who in [*np.flatnonzero(~gone & ((partners == one) | (partners == other))).tolist(), one]:
            partners[who], added[who] = nearest(who)
    return places[~gone]


def squared_distances(rows: FloatArray, prototypes: FloatArray) -> FloatArray:
    """The squared distances of rows to prototypes."""
    return np.asarray(cdist(rows, prototypes, "sqeuclidean"))


def _in_tiny_clusters(rows: FloatArray, weights: FloatArray, prototypes: FloatArray) -> BoolArray:
    nearest = squared_distances(rows, prototypes).argmin(axis=1)
    shares = np.bincount(nearest, weights, minlength=len(prototypes)) / weights.sum()
    alone = (np.bincount(nearest, minlength=len(prototypes)) == 1) & (shares * len(prototypes) < 1 / _MANY_EACH)
    return np.asarray((alone | (shares <= min(_TINY, _TINY_OF_MANY / len(prototypes))))[nearest])


def _seeds(
    n_clusters: int,
    sample: FloatArray,
    weights: FloatArray,
    random: np.random.RandomState,
    n_local_trials: int | None = None,
) -> IntArray:
    from sklearn.cluster import kmeans_plusplus  # here, because it takes as long to import as all the rest

    unit = float(np.abs(sample - sample[0]).max(initial=0)) or 1.0
    moved = (sample - sample[0]) / unit
    settings = {"random_state": random, "n_local_trials": n_local_trials}
    return np.asarray(kmeans_plusplus(moved, n_clusters, sample_weight=weights, **settings)[1])


def weighted_quantile(values: FloatArray, times: FloatArray, q: float) -> float:
    """The quantile, with linear interpolation, of values that are there several times each."""
    order = np.argsort(values, kind="stable")
    values, ends = values[order], np.cumsum(times[order])
    place = q * (ends[-1] - 1)
    if place <= 0:
        return float(values[times[order] > 0][0])
    low = values[min(np.searchsorted(ends, np.floor(place), side="right"), len(values) - 1)]
    high = values[min(np.searchsorted(ends, np.floor(place) + 1, side="right"), len(values) - 1)]
    return float(low + (place - np.floor(place)) * (high - low))
