r"""K-means for a sample in memory, and solutions that are robust to gross errors, selected by a bounded loss.

A few rows far from all others capture prototypes of k-means, because their squares dominate the sum. Solutions for
all rows, for all rows except the farthest ones (trimmed k-means), and for all rows except isolated ones are
compared by

.. math:: \sum_iw_i\min(d_i^2,R^2),\qquad R^2=W\,(1+\max(64/\nu,8\sqrt{2/\nu})),

with :math:`W` the mean squared distance of ordinary rows to the nearest prototype and :math:`\nu` the effective
number of directions in which they spread. A prototype for a real small cluster lowers this loss. Gross errors, at
any distance, cost at most :math:`R^2` each. Small clusters may be wide: their squared distances are divided by
their width, with a penalty for the width as in a Gaussian likelihood. Rows beyond :math:`R` are ignored in the
selection of scales.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

import evlearn.kernels.prototypes as kernel
from evlearn.belief import FocalSets
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel, uses_products
from evlearn.cluster.set_costs import SetCosts
from evlearn.kernels.seeds import BLOCK, choose_seeds
from evlearn.utils.quantiles import weighted_quantile
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

#: Number of initial prototypes per cluster if there are many clusters.
_SURPLUS = 3
_TOL, _MAX_ITER = 1e-4, 100
#: Exponent close to 1, so that masses are 0 or 1.
_HARD_BETA = 1.001
#: Maximum number of iterations of trimmed k-means, after which the sum of squares hardly changes.
_TRIMMED_ITERATIONS = 30
#: Maximum number of rows for k-means, or number per cluster if that is larger.
_MAX_ROWS, _ROWS_EACH = 5_000, 50
#: Number of clusters above which k-means runs once, from a surplus of prototypes.
_MANY_CLUSTERS = 50
#: Relative difference of inertias below which solutions of k-means are equal.
_INERTIA_TOL = 1e-3
#: Share of rows that trimmed k-means ignores, and its number of runs.
_TRIMMED_SHARE, _N_TRIMMED = 0.1, 3
#: Minimum number of samples per cluster for the removal of gross errors.
_MIN_ROWS_EACH = 5
#: Share of the average cluster size below which a cluster may consist of errors.
_SUSPICIOUS_SHARE = 0.7
#: Bound of the loss in standard deviations: of a cluster in one direction, or of squared distances.
_N_DEVIATIONS = 8.0
#: Minimum number of neighbors, within the distance of members of the same cluster, of rows that are not isolated.
_MIN_NEIGHBORS = 3
#: Variances in one direction, per sample, that splitting a cluster in the middle gains; other solutions must be
#: better by more than that.
_SPLIT_GAIN = 0.7
#: Share of the average cluster size below which clusters have a separate width, and the maximum of that width.
_SMALL_CLUSTER, _MAX_WIDTH = 0.25, 30.0
#: Multiple of the bound beyond which rows are gross errors.
_GROSS_FACTOR = 1.15


def kmeans(
    rows: FloatArray,
    weights: FloatArray,
    n_clusters: int,
    random: np.random.RandomState,
    points: FloatArray | None = None,
) -> tuple[FloatArray, float]:
    """Run k-means once, from samples selected by k-means++; `points` are those of `seeds`.

    Returns
    -------
    prototypes : ndarray of shape (n_clusters, n_features)
        Means of the clusters.
    inertia : float
        Sum of squared distances to the nearest prototype.
    """
    return _lloyd(rows, weights, rows[seeds(n_clusters, rows, weights, random, points=points)])[:2]


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
        nearest, smallest = Nearest.of(rows, prototypes)
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
    if not uses_products(prototypes):
        means, powers = np.array(prototypes), np.empty(len(prototypes) + 1)
        cost = kernel.lloyd(
            np.ascontiguousarray(rows),
            np.ascontiguousarray(weights, dtype=np.float64),
            *(means, _HARD_BETA, n_iterations, _TOL, powers),
        )
        return means, cost, powers[1:]
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
    """Return the squared distances of rows to prototypes, with the values of a prototype next to each other.

    In this order, minima over the prototypes are many times faster.
    """
    return np.asarray(cdist(prototypes, rows, "sqeuclidean").T)


def seeds(
    n_clusters: int,
    sample: FloatArray,
    weights: FloatArray,
    random: np.random.RandomState,
    n_local_trials: int | None = None,
    points: FloatArray | None = None,
) -> IntArray:
    """Return the indices of rows that k-means++ selects: each is the best of some rows drawn by squared distance.

    By default, there are 2 + log(n_clusters) draws for each. `points` are those of the sample by `points_of`; they
    are computed if they are not given.
    """
    points = points_of(sample) if points is None else points
    if n_local_trials is None:
        n_local_trials = 2 + int(np.log(n_clusters))
    chosen = np.empty(n_clusters, dtype=np.intp)
    ends = np.cumsum(weights / weights.sum())
    # The result of `random.choice` for these probabilities, without its checks.
    chosen[0] = np.searchsorted(ends / ends[-1], random.random_sample(), side="right")
    draws = random.uniform(size=(n_clusters - 1, n_local_trials))
    choose_seeds(points, np.ascontiguousarray(weights, dtype=np.float64), draws, chosen)
    return chosen


def points_of(sample: FloatArray) -> FloatArray:
    """Return rows relative to the first one, in a unit that prevents overflow, as columns of blocks."""
    n_rows, n_features = sample.shape
    differences = np.zeros((-(-n_rows // BLOCK) * BLOCK, n_features))
    np.subtract(sample, sample[0], out=differences[:n_rows])
    unit = max(float(differences.max(initial=0)), -float(differences.min(initial=0))) or 1.0
    differences /= unit
    return np.ascontiguousarray(differences.reshape(-1, BLOCK, n_features).transpose(0, 2, 1))


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


class Nearest(NamedTuple):
    """Nearest prototypes of rows, and squared distances to these.

    Attributes
    ----------
    clusters : ndarray of int of shape (n,)
        Number of the nearest prototype of each row.
    squares : ndarray of shape (n,)
        Squared distance to this prototype.
    """

    clusters: IntArray
    squares: FloatArray

    @classmethod
    def of(cls, rows: FloatArray, prototypes: FloatArray) -> "Nearest":
        """Return the nearest prototypes of rows."""
        squares = squared_distances(rows, prototypes)
        return cls(squares.argmin(axis=1), squares.min(axis=1))


class Spread(NamedTuple):
    """Spread of ordinary rows about prototypes.

    Attributes
    ----------
    mean_square : float
        Mean squared distance to the nearest prototype.
    dimension : float
        Effective number of directions.
    """

    mean_square: float
    dimension: float

    @classmethod
    def of(
        cls, rows: FloatArray, weights: FloatArray, prototypes: FloatArray, nearest: Nearest | None = None
    ) -> "Spread":
        """Return the spread of the rows, without the farthest 10 %; `nearest` is computed if it is not given."""
        clusters, squares = nearest or Nearest.of(rows, prototypes)
        is_counted = squares <= weighted_quantile(squares, weights, 1 - _TRIMMED_SHARE)
        return cls(*spread(rows[is_counted] - prototypes[clusters[is_counted]], weights[is_counted]))

    @property
    def bound(self) -> float:
        """Squared distance beyond which a row does not belong to a cluster."""
        return float(
            self.mean_square
            * (1 + max(_N_DEVIATIONS**2 / self.dimension, _N_DEVIATIONS * np.sqrt(2 / self.dimension)))
        )

    @property
    def variance(self) -> float:
        """Variance in one direction."""
        return self.mean_square / self.dimension

    @property
    def squared_radius(self) -> float:
        """Squared distance within which members of a cluster have neighbors."""
        return float(2 * self.mean_square * (1 + 2 / np.sqrt(self.dimension)))


def kmeans_solutions(
    n_clusters: int, sample: FloatArray, weights: FloatArray, random: np.random.RandomState, *, n_init: int
) -> list[FloatArray]:
    """Return different solutions of k-means, best first, whose prototypes are not captured by gross errors."""
    if len(sample) <= n_clusters:
        return [np.resize(sample, (n_clusters, sample.shape[1]))]
    n_rows = max(_MAX_ROWS, _ROWS_EACH * n_clusters)
    if len(sample) > n_rows:
        chosen = np.sort(random.permutation(len(sample))[:n_rows])
        sample, weights = sample[chosen], weights[chosen]
    coordinates = Coordinates.of(sample)
    rows = coordinates.transform(sample)
    solutions = _run_kmeans(rows, weights, n_clusters, random, n_init)
    if len(rows) >= _MIN_ROWS_EACH * n_clusters:
        solutions = _select_robust(rows, _to_counts(weights), solutions, random, n_init)
    return [coordinates.inverse_transform(prototypes) for prototypes in solutions]


def ordinary_rows(sample: FloatArray, weights: FloatArray, prototypes: FloatArray) -> BoolArray:
    """Return True for ordinary rows, which are not far from all prototypes and determine scales."""
    if len(sample) < _MIN_ROWS_EACH * len(prototypes):
        return np.ones(len(sample), dtype=bool)
    return _is_within_bound(sample, weights, prototypes, 1.0)


def rows_to_fit(data: FloatArray, n_clusters: int) -> BoolArray:
    """Return True for rows that are not gross errors, for methods that fit a distribution.

    Gross errors are beyond 1.15 times the bound of the loss. The result does not depend on a random state.
    """
    all_rows = np.ones(len(data), dtype=bool)
    if len(data) < _MIN_ROWS_EACH * n_clusters:
        return all_rows
    rows, weights = Coordinates.of(data).transform(data), np.ones(len(data))
    prototypes = kmeans_solutions(n_clusters, rows, weights, np.random.RandomState(0), n_init=_N_TRIMMED)[0]
    return _is_within_bound(rows, weights, prototypes, _GROSS_FACTOR)


def _is_within_bound(rows: FloatArray, weights: FloatArray, prototypes: FloatArray, factor: float) -> BoolArray:
    """Return True for rows that are not farther from all prototypes than a multiple of the bound."""
    nearest = Nearest.of(rows, prototypes)
    squares = _ScaledDistances.of(nearest, weights, len(prototypes)).squares
    bound = factor**2 * Spread.of(rows, _to_counts(weights), prototypes, nearest).bound
    return np.asarray(squares <= bound) if bound > 0 else np.ones(len(rows), dtype=bool)


def _run_kmeans(
    rows: FloatArray, weights: FloatArray, n_clusters: int, random: np.random.RandomState, n_init: int
) -> list[FloatArray]:
    """Return solutions of k-means for all rows, best first."""
    # With many clusters every run misses some of them, and so does the best of 10 runs; a run from a surplus of
    # prototypes hardly misses any. With few clusters, such a run also finds small clusters.
    n_runs = n_init if n_clusters <= _MANY_CLUSTERS else 0
    points = points_of(rows) if n_runs else None
    ends = [kmeans(rows, weights, n_clusters, random, points) for _ in range(n_runs)]
    if n_runs != 1:
        ends.append(kmeans_of_many(rows, weights, n_clusters, random))
    ends.sort(key=lambda end: end[1])
    solutions = [ends[0]]
    for end in ends[1:]:
        if end[1] > solutions[-1][1] * (1 + _INERTIA_TOL):
            solutions.append(end)
    return [prototypes for prototypes, _ in solutions]


def _select_robust(
    rows: FloatArray,
    weights: FloatArray,
    solutions: list[FloatArray],
    random: np.random.RandomState,
    n_init: int,
) -> list[FloatArray]:
    """Return the solutions for all rows, or better ones if remote rows have captured prototypes."""
    n_clusters = len(solutions[0])
    nearest = Nearest.of(rows, solutions[0])
    first_spread = Spread.of(rows, weights, solutions[0], nearest)
    if not _are_suspicious(weights, nearest, n_clusters, first_spread):
        return solutions
    trimmed, trimmed_spread = _run_trimmed_kmeans(rows, weights, n_clusters, random)
    narrow = min(first_spread, trimmed_spread, key=lambda candidate: candidate.mean_square)
    candidates, all_nearest = [solutions, [trimmed]], [nearest, Nearest.of(rows, trimmed)]
    isolated = _find_isolated(rows, all_nearest[1], narrow)
    if isolated.any() and len(rows) - isolated.sum() > n_clusters:
        candidates.append(_run_kmeans(rows[~isolated], weights[~isolated], n_clusters, random, n_init))
        all_nearest.append(Nearest.of(rows, candidates[-1][0]))
    losses = np.array([_loss(weights, candidate, n_clusters, narrow) for candidate in all_nearest])
    losses[1:] += _SPLIT_GAIN * narrow.variance * weights.sum()
    if np.bincount(nearest.clusters, minlength=n_clusters).min() < _MIN_NEIGHBORS:
        losses[0] = np.inf
    return candidates[int(np.argmin(losses))]


def _are_suspicious(weights: FloatArray, nearest: Nearest, n_clusters: int, spread: Spread) -> bool:
    """Return True if a cluster is small, or if there are rows far from all prototypes."""
    sizes = np.bincount(nearest.clusters, weights, minlength=n_clusters)
    return bool(sizes.min() < _SUSPICIOUS_SHARE * sizes.mean() or nearest.squares.max() > spread.bound)


def _run_trimmed_kmeans(
    rows: FloatArray, weights: FloatArray, n_clusters: int, random: np.random.RandomState
) -> tuple[FloatArray, Spread]:
    """Return the best result of runs of trimmed k-means that start with rows near the median, and its spread."""
    middle = np.median(rows, axis=0)
    deviations = np.abs(rows - middle)
    unit = np.median(deviations, axis=0)
    unit[unit == 0] = float(unit[unit > 0].mean()) if unit.any() else 1.0
    remoteness = ((deviations / unit) ** 2).mean(axis=1)
    is_central = remoteness <= weighted_quantile(remoteness, weights, 1 - _TRIMMED_SHARE)
    run = kmeans if n_clusters <= _MANY_CLUSTERS else kmeans_of_many
    results = []
    for _ in range(_N_TRIMMED if n_clusters <= _MANY_CLUSTERS else 1):
        start = run(rows[is_central], weights[is_central], n_clusters, random)[0]
        prototypes = trimmed_kmeans(rows, weights, is_central, start, _TRIMMED_SHARE)
        results.append((prototypes, Spread.of(rows, weights, prototypes)))
    return min(results, key=lambda result: result[1].mean_square)


def _find_isolated(rows: FloatArray, nearest: Nearest, narrow: Spread) -> BoolArray:
    """Return True for rows that are far from all prototypes and have few neighbors."""
    remote = np.flatnonzero(nearest.squares > narrow.bound)
    isolated = np.zeros(len(rows), dtype=bool)
    # Each row is a neighbor of itself.
    n_neighbors = (squared_distances(rows[remote], rows) <= narrow.squared_radius).sum(axis=1) - 1
    isolated[remote[n_neighbors < _MIN_NEIGHBORS]] = True
    return isolated


def _loss(weights: FloatArray, nearest: Nearest, n_clusters: int, narrow: Spread) -> float:
    """Return the sum of bounded squares in units of cluster widths, with the penalties for these widths."""
    scaled = _ScaledDistances.of(nearest, weights, n_clusters)
    costs = scaled.squares + narrow.mean_square * np.log(scaled.widths)
    return float(weights @ np.minimum(costs, narrow.bound))


class _ScaledDistances(NamedTuple):
    """Squared distances to the nearest prototypes, scaled by the widths of small clusters.

    Attributes
    ----------
    squares : ndarray of shape (n,)
        Squared distances, divided by the widths.
    widths : ndarray of shape (n,)
        Mean squared distance within the cluster of each row, relative to large clusters; 1 for these.
    """

    squares: FloatArray
    widths: FloatArray

    @classmethod
    def of(cls, nearest: Nearest, weights: FloatArray, n_clusters: int) -> "_ScaledDistances":
        """Return the scaled distances of rows."""
        clusters, squares = nearest
        sizes = np.bincount(clusters, weights, minlength=n_clusters)
        is_small = (sizes > 0) & (sizes < _SMALL_CLUSTER * sizes.mean())
        widths = np.ones(n_clusters)
        if is_small.any():
            means = np.bincount(clusters, weights * squares, minlength=n_clusters) / np.maximum(sizes, 1e-300)
            others = float(np.average(means, weights=np.where(is_small, 0, sizes)))
            widths[is_small] = np.clip(means[is_small] / others, 1, _MAX_WIDTH) if others > 0 else 1
        return cls(squares / widths[clusters], widths[clusters])


def _to_counts(weights: FloatArray) -> FloatArray:
    """Return weights as counts: weights that sum to 1 are scaled to a mean of at least 1."""
    return np.asarray(weights * max(1.0, len(weights) / weights.sum()))
