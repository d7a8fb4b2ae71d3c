"""K-means for a sample in memory: runs from k-means++, runs for many clusters, and trimmed k-means."""

import numpy as np
from scipy.spatial.distance import cdist

from evlearn.belief import FocalSets
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
from evlearn.cluster.set_costs import SetCosts
from evlearn.utils.quantiles import weighted_quantile
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

#: Number of initial prototypes per cluster if there are many clusters.
_SURPLUS = 3
_TOL, _MAX_ITER = 1e-4, 100
#: Exponent close to 1, so that masses are 0 or 1.
_HARD_BETA = 1.001
#: Maximum number of iterations of trimmed k-means, after which the sum of squares hardly changes.
_TRIMMED_ITERATIONS = 30


def kmeans(
    rows: FloatArray, weights: FloatArray, n_clusters: int, random: np.random.RandomState
) -> tuple[FloatArray, float]:
    """Run k-means once, from samples selected by k-means++.

    Returns
    -------
    prototypes : ndarray of shape (n_clusters, n_features)
        Means of the clusters.
    inertia : float
        Sum of squared distances to the nearest prototype.
    """
    return _lloyd(rows, weights, rows[seeds(n_clusters, rows, weights, random)])[:2]


def kmeans_of_many(
    rows: FloatArray, weights: FloatArray, n_clusters: int, random: np.random.RandomState
) -> tuple[FloatArray, float]:
    """Run k-means once for many clusters, from a surplus of prototypes of which close ones are merged."""
    n_seeds = min(_SURPLUS * n_clusters, len(rows))
    first = rows[seeds(n_seeds, rows, weights, random, n_local_trials=1)]
    prototypes, _, counts = _lloyd(rows, weights, first, n_iterations=2)
    return _lloyd(rows, weights, _merge(prototypes, counts, n_clusters))[:2]


def trimmed_kmeans(
    rows: FloatArray, weights: FloatArray, selected: BoolArray, prototypes: FloatArray, share: float
) -> FloatArray:
    """Return prototypes of k-means that ignores a share of the rows, the farthest ones.

    Parameters
    ----------
    rows : ndarray of shape (n, n_features)
        Rows.
    weights : ndarray of shape (n,)
        Weights of the rows.
    selected : ndarray of bool of shape (n,)
        Whether a row counts in the first iteration.
    prototypes : ndarray of shape (n_clusters, n_features)
        Initial prototypes.
    share : float
        Share of the rows that is ignored.

    Returns
    -------
    ndarray of shape (n_clusters, n_features)
        Prototypes.
    """
    is_counted, before = selected, np.inf
    for _ in range(_TRIMMED_ITERATIONS):
        squares = squared_distances(rows, prototypes)
        nearest, smallest = squares.argmin(axis=1), squares.min(axis=1)
        if np.isfinite(before):
            is_counted = smallest <= weighted_quantile(smallest, weights, 1 - share)
        cost = float(weights[is_counted] @ smallest[is_counted])
        if before - cost <= _TOL * cost and np.isfinite(before):
            break
        before = cost
        members = np.zeros((len(prototypes), len(rows)))
        members[nearest[is_counted], np.flatnonzero(is_counted)] = weights[is_counted]
        totals = members.sum(axis=1, keepdims=True)
        means = np.divide(members @ rows, totals, out=prototypes.copy(), where=totals > 0)
        prototypes = means
    return prototypes


def _lloyd(
    rows: FloatArray, weights: FloatArray, prototypes: FloatArray, n_iterations: int = _MAX_ITER
) -> tuple[FloatArray, float, FloatArray]:
    """Return the prototypes of k-means, their inertia, and the weights of the clusters."""
    # The kernel of evidential c-means with masses that are 0 or 1: its result does not depend on threads.
    costs = SetCosts.ecm(FocalSets.singletons(len(prototypes)), alpha=1.0, beta=_HARD_BETA, delta=np.inf)
    origin = Coordinates(np.zeros(rows.shape[1]), 1.0)
    model = EuclideanModel(costs, origin, prototypes)
    before = np.inf
    for _ in range(n_iterations):
        statistics = model.collect(rows, weights)
        if before - statistics.cost <= _TOL * statistics.cost:
            break
        is_nonempty = statistics.powers[1:, None] > 0  # the prototype of an empty cluster does not move
        means = np.divide(
            statistics.sums, statistics.powers[1:, None], out=model.prototypes.copy(), where=is_nonempty
        )
        before, model = statistics.cost, EuclideanModel(costs, origin, means)
    return model.prototypes, statistics.cost, statistics.powers[1:]


def _merge(prototypes: FloatArray, counts: FloatArray, n_clusters: int) -> FloatArray:
    """Merge prototypes in pairs, always those that add least to the inertia, until `n_clusters` are left."""
    places, counts = prototypes.copy(), np.maximum(counts, np.finfo(np.float64).tiny)

    def nearest(index: int) -> tuple[int, float]:
        added = ((places - places[index]) ** 2).sum(axis=1) * (counts * counts[index] / (counts + counts[index]))
        added[index], added[is_removed] = np.inf, np.inf
        partner = int(added.argmin())
        return partner, float(added[partner])

    is_removed = np.zeros(len(places), dtype=bool)
    partners, added = map(np.array, zip(*map(nearest, range(len(places))), strict=True))
    for _ in range(len(places) - n_clusters):
        first = int(added.argmin())
        second = partners[first]
        total = counts[first] + counts[second]
        places[first] += (places[second] - places[first]) * (counts[second] / total)
        counts[first], is_removed[second], added[second] = total, True, np.inf
        # Other clusters keep their partners, because merging the nearest 2 brings these nearer to no other
        # cluster.
        for cluster in [
            *np.flatnonzero(~is_removed & ((partners == first) | (partners == second))).tolist(),
            first,
        ]:
            partners[cluster], added[cluster] = nearest(cluster)
    return places[~is_removed]


def squared_distances(rows: FloatArray, prototypes: FloatArray) -> FloatArray:
    """Return the squared distances of rows to prototypes."""
    return np.asarray(cdist(rows, prototypes, "sqeuclidean"))


def seeds(
    n_clusters: int,
    sample: FloatArray,
    weights: FloatArray,
    random: np.random.RandomState,
    n_local_trials: int | None = None,
) -> IntArray:
    """Return the indices of rows that k-means++ selects."""
    from sklearn.cluster import kmeans_plusplus  # imported here, because this import is slow

    unit = float(np.abs(sample - sample[0]).max(initial=0)) or 1.0
    scaled = (sample - sample[0]) / unit
    settings = {"random_state": random, "n_local_trials": n_local_trials}
    return np.asarray(kmeans_plusplus(scaled, n_clusters, sample_weight=weights, **settings)[1])


def spread(residuals: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return the mean square of residuals, and the effective number of directions in which they spread."""
    shares = weights / weights.sum()
    scaled = residuals * np.sqrt(shares)[:, None]
    mean = float((scaled**2).sum())
    n_rows, n_features = residuals.shape
    if mean <= np.finfo(float).tiny:
        return 0.0, 1.0
    scaled /= np.sqrt(mean)  # so that fourth powers neither overflow nor underflow
    # Both products have the same sum of squares; use the smaller matrix.
    product = scaled.T @ scaled if n_features <= n_rows else scaled @ scaled.T
    # Subtract the expected excess of the squares of a sample covariance.
    squares = float((product**2).sum()) - float((shares**2).sum())
    return mean, float(np.clip(1 / max(squares, 1 / n_features), 1, n_features))
