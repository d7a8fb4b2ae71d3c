"""K-means on a sample in memory: runs from k-means++, with many clusters, and with a share of the rows trimmed."""

import numpy as np
from scipy.spatial.distance import cdist

from evlearn.belief import FocalSets
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
from evlearn.cluster.set_costs import SetCosts
from evlearn.utils.quantiles import weighted_quantile
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

#: The number of prototypes to start from for each cluster if there are many.
_SURPLUS = 3
_TOL, _ITERATIONS = 1e-4, 100
#: As good as 1, at which masses are 0 or 1.
_HARD_BETA = 1.001
#: Iterations of trimmed k-means, after which the sum of squares hardly changes.
_TRIMMED_ITERATIONS = 30


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
    return _lloyd(rows, weights, rows[seeds(n_clusters, rows, weights, random)])[:2]


def kmeans_of_many(
    rows: FloatArray, weights: FloatArray, n_clusters: int, random: np.random.RandomState
) -> tuple[FloatArray, float]:
    """The same for many clusters: from more prototypes than that, of which near ones are merged."""
    n_seeds = min(_SURPLUS * n_clusters, len(rows))
    first = rows[seeds(n_seeds, rows, weights, random, n_local_trials=1)]
    prototypes, _, counts = _lloyd(rows, weights, first, n_iterations=2)
    return _lloyd(rows, weights, _merged(prototypes, counts, n_clusters))[:2]


def trimmed_kmeans(
    rows: FloatArray, weights: FloatArray, near: BoolArray, prototypes: FloatArray, share: float
) -> FloatArray:
    """Return prototypes of k-means of which a share of the rows, the farthest ones, does not count.

    Parameters
    ----------
    rows : ndarray of shape (n, n_features)
        The rows.
    weights : ndarray of shape (n,)
        Their weights.
    near : ndarray of bool of shape (n,)
        The rows that count in the first iteration.
    prototypes : ndarray of shape (n_clusters, n_features)
        The prototypes to start from.
    share : float
        The share of the rows that does not count.

    Returns
    -------
    ndarray of shape (n_clusters, n_features)
        The prototypes.
    """
    counted, before = near, np.inf
    for _ in range(_TRIMMED_ITERATIONS):
        squares = squared_distances(rows, prototypes)
        nearest, least = squares.argmin(axis=1), squares.min(axis=1)
        if np.isfinite(before):
            counted = least <= weighted_quantile(least, weights, 1 - share)
        cost = float(weights[counted] @ least[counted])
        if before - cost <= _TOL * cost and np.isfinite(before):
            break
        before = cost
        members = np.zeros((len(prototypes), len(rows)))
        members[nearest[counted], np.flatnonzero(counted)] = weights[counted]
        totals = members.sum(axis=1, keepdims=True)
        means = np.divide(members @ rows, totals, out=prototypes.copy(), where=totals > 0)
        prototypes = means
    return prototypes


def _lloyd(
    rows: FloatArray, weights: FloatArray, prototypes: FloatArray, n_iterations: int = _ITERATIONS
) -> tuple[FloatArray, float, FloatArray]:
    """Where k-means ends, its inertia, and the weights of the clusters."""
    # The kernel of evidential c-means, with masses that are 0 or 1: its bits do not depend on threads.
    costs = SetCosts.ecm(FocalSets.singletons(len(prototypes)), alpha=1.0, beta=_HARD_BETA, delta=np.inf)
    origin = Coordinates(np.zeros(rows.shape[1]), 1.0)
    model = EuclideanModel(costs, origin, prototypes)
    before = np.inf
    for _ in range(n_iterations):
        told = model.collect(rows, weights)
        if before - told.cost <= _TOL * told.cost:
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


def seeds(
    n_clusters: int,
    sample: FloatArray,
    weights: FloatArray,
    random: np.random.RandomState,
    n_local_trials: int | None = None,
) -> IntArray:
    """Return the numbers of rows that are spread by k-means++."""
    from sklearn.cluster import kmeans_plusplus  # here, because it takes as long to import as all the rest

    unit = float(np.abs(sample - sample[0]).max(initial=0)) or 1.0
    moved = (sample - sample[0]) / unit
    settings = {"random_state": random, "n_local_trials": n_local_trials}
    return np.asarray(kmeans_plusplus(moved, n_clusters, sample_weight=weights, **settings)[1])


def spread(residuals: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return the mean square of residuals, and the effective number of directions in which they lie."""
    shares = weights / weights.sum()
    scaled = residuals * np.sqrt(shares)[:, None]
    mean = float((scaled**2).sum())
    n_rows, n_features = residuals.shape
    if mean <= np.finfo(float).tiny:
        return 0.0, 1.0
    scaled /= np.sqrt(mean)  # in units in which squares of squares are numbers
    # The product whose matrix is the smaller one has the same sum of squares.
    product = scaled.T @ scaled if n_features <= n_rows else scaled @ scaled.T
    # Less what chance adds to the squares of a sample covariance.
    squares = float((product**2).sum()) - float((shares**2).sum())
    return mean, float(np.clip(1 / max(squares, 1 / n_features), 1, n_features))
