r"""Crisp clusters of dissimilarities, and isolated rows, which are far from every cluster.

A few gross errors would determine the scales and starts of methods for dissimilarities. Isolated rows are
excluded from the selection of these, and get masses at the end like all other rows. Clusters are those of k-means
without coordinates, in which the squared distance of row :math:`i` to the mean of a cluster :math:`C` is

.. math:: d_i^2=\operatorname{mean}_{j\in C}\Delta_{ij}-\tfrac12\operatorname{mean}_{j,l\in C}\Delta_{jl}

with :math:`\Delta` the squared dissimilarities. A row is isolated if its squared distances to all means exceed

.. math:: R^2=W+\max(36\,W/\nu,6\,S) ,

where :math:`W` and :math:`S` are the mean and the standard deviation of the squared distances of ordinary rows to
the nearest mean, and :math:`\nu` is the effective number of directions of their residuals, so that :math:`W/\nu`
is a variance. The standard deviation is decisive in more than about 20 dimensions. The loss is
:math:`\sum_i\min(d_i^2,R^2)`: the rows of a small cluster are not isolated if a separate mean for them lowers the
loss more than a second mean for the rows of a large cluster does. Squared distances to the mean of a small cluster
are divided by its width relative to the others, because small clusters may be wide; as in the likelihood of a
Gaussian, a width has a price.

`evlearn.cluster.centroids.kmeans` has the same purpose for weighted rows with coordinates. It cannot be used here,
because its candidates are sets of prototypes, and its bound depends on the covariance of residuals. The reverse
would need distances between rows, and masses of all centroid methods would change.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evlearn.cluster.dissimilarities import distances_between
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

#: Numbers of variances and of standard deviations above the mean squared distance beyond which a row is isolated.
_VARIANCES, _DEVIATIONS = 36.0, 6.0
#: Approximate number of rows for the estimate of the number of directions.
_DIRECTION_ROWS = 100
#: Maximum share of isolated rows; if there are more, no row is isolated.
_MAX_SHARE = 0.1
#: Size of the sample, or size per cluster if that is larger, minimum number of rows, and size of blocks.
_SAMPLE_ROWS, _ROWS_EACH, _MIN_ROWS, _BLOCK_ROWS = 300, 10, 10, 4096
#: Numbers of starts and iterations of k-means, of rounds of isolation, and of trials for a distant group.
_STARTS, _ITERATIONS, _ROUNDS, _TRIALS = 3, 20, 2, 3
#: Rank of the neighbor whose distance is large for single rows, and ratio of large distances to the median.
_NEIGHBOR, _DISTANCE_RATIO = 3, 5.0
#: Size relative to the mean size below which a cluster has a separate width, and maximum width.
_SMALL_SHARE, _MAX_WIDTH = 0.25, 30.0
#: Size relative to the mean size below which clusters are unbalanced.
_BALANCED_SHARE = 0.5
#: Ratio to the mean square below which a mean squared distance is a rounding error, and maximum distance in units.
_ROUNDING_SHARE, _FARTHEST = 1e-12, 1e6


#: Maximum ratio of an automatic distance to the empty set and the reach of clusters.
BEYOND_REACH = 1.25


@dataclass(frozen=True)
class CrispClusters:
    """Crisp clusters, and the rows that are far from all of them.

    Attributes
    ----------
    labels : ndarray of int of shape (n,)
        Nearest cluster of each row.
    isolated : ndarray of bool of shape (n,)
        Mask of isolated rows, at most 10 % of all rows.
    n_clusters : int
        Number of clusters.
    reach : float
        Distance to the mean of a cluster beyond which rows are isolated; infinite if no row can be isolated.
    """

    labels: IntArray
    isolated: BoolArray
    n_clusters: int
    reach: float

    @property
    def ordinary(self) -> BoolArray:
        """Mask of the rows that are not isolated."""
        return ~self.isolated

    @property
    def unbalanced(self) -> bool:
        """True if a cluster has less than half of the rows that clusters have on average."""
        sizes = np.bincount(self.labels[self.ordinary], minlength=self.n_clusters)
        return bool(sizes.min() * self.n_clusters < _BALANCED_SHARE * sizes.sum())


@dataclass(frozen=True)
class _Means:
    """Means of clusters, represented by weights of rows.

    Attributes
    ----------
    weights : ndarray of shape (n_clusters, n)
        Weights of the rows in each mean; they sum to 1.
    halves : ndarray of shape (n_clusters,)
        Half of the mean square within each cluster.
    widths : ndarray of shape (n_clusters,)
        Mean squared distance within small clusters, relative to that of the other clusters, whose width is 1.
    prices : ndarray of shape (n_clusters,)
        Price of each width, as in the likelihood of a Gaussian: the logarithm, in units of the other clusters.
    distances : ndarray of shape (n, n_clusters)
        Squared distances of the rows to the means.
    selected : ndarray of bool of shape (n,)
        Mask of the rows that contribute to the means.
    """

    weights: FloatArray
    halves: FloatArray
    widths: FloatArray
    prices: FloatArray
    distances: FloatArray
    selected: BoolArray

    @classmethod
    def of(cls, squares: FloatArray, labels: IntArray, selected: BoolArray, n_clusters: int) -> "_Means":
        """Return the means of the clusters of the selected rows."""
        rows = np.flatnonzero(selected)
        weights = np.zeros((n_clusters, len(labels)))
        weights[labels[rows], rows] = 1
        counts = weights.sum(axis=1)
        weights[counts == 0, rows[0]] = 1  # a cluster without rows has an arbitrary mean
        weights /= weights.sum(axis=1, keepdims=True)
        means = squares @ weights.T
        halves = np.einsum("ij,ji->i", weights, means) / 2
        distances = np.maximum(means - halves, 0)
        small, widths, others = counts * n_clusters < _SMALL_SHARE * len(rows), np.ones(n_clusters), 0.0
        if small.any():
            spreads = np.einsum("ij,ji->i", weights, distances)
            others = float(np.average(spreads, weights=np.where(small, 0, counts)))
            widths[small] = np.clip(spreads[small] / others, 1, _MAX_WIDTH) if others > 0 else 1
        return cls(weights, halves, widths, others * np.log(widths), distances, selected)

    @cached_property
    def costs(self) -> FloatArray:
        """Squared distances divided by the widths, plus the prices of the widths."""
        return np.asarray(self.distances / self.widths + self.prices)

    @cached_property
    def labels(self) -> IntArray:
        """Nearest mean of each row."""
        return np.asarray(self.costs.argmin(axis=1))

    @cached_property
    def nearest(self) -> FloatArray:
        """Squared distance of each row to its mean, divided by the width."""
        return self.distances[np.arange(len(self.distances)), self.labels] / self.widths[self.labels]

    def loss(self, bound: float) -> float:
        """Return the sum of bounded costs."""
        return float(np.minimum(self.costs.min(axis=1), bound).sum())

    def judge(self, squares: FloatArray, bound: float) -> tuple[IntArray, BoolArray]:
        """Return the nearest means of other rows, and a mask of isolated rows.

        Parameters
        ----------
        squares : ndarray of shape (n_rows, n)
            Squared dissimilarities of the rows to the rows of the sample.
        bound : float
            Squared distance beyond which rows are isolated.

        Returns
        -------
        labels : ndarray of int of shape (n_rows,)
            Nearest means.
        isolated : ndarray of bool of shape (n_rows,)
            Mask of isolated rows.
        """
        scaled = (squares @ self.weights.T - self.halves) / self.widths
        labels = np.asarray((scaled + self.prices).argmin(axis=1))
        return labels, scaled[np.arange(len(labels)), labels] > bound

    def bound(self, squares: FloatArray) -> float:
        """Return the squared distance beyond which rows are isolated, or 0 if all rows are at their means."""
        rows = np.flatnonzero(self.selected & (self.widths[self.labels] == 1))
        spread = float(self.nearest[rows].mean()) if len(rows) > 1 else 0.0
        if spread <= _ROUNDING_SHARE * float(squares.mean()):
            return 0.0
        deviation = float(self.nearest[rows].std())
        rows = rows[:: -(-len(rows) // _DIRECTION_ROWS)]
        labels, n = self.labels[rows], len(rows)
        row_distances = self.distances[np.ix_(rows, labels)]
        mean_distances = self.weights @ self.distances
        mean_distances -= np.diag(mean_distances)[:, None]
        # These are twice the products of residuals, whose mean square is the sum of squared variances.
        products = (
            squares[np.ix_(rows, rows)] - row_distances - row_distances.T + mean_distances[np.ix_(labels, labels)]
        )
        total = float(np.vdot(products, products)) / 4 - float((self.nearest[rows] ** 2).sum())
        variance = float(np.clip(total / (n * (n - 1)) / spread, spread / n, spread))
        return spread + max(_VARIANCES * variance, _DEVIATIONS * deviation)


def crisp_clusters(data: Any, n_clusters: int, metric: Any) -> CrispClusters:
    """Compute crisp clusters, and the rows that are far from all of them, relative to the widths of clusters.

    Parameters
    ----------
    data : array of shape (n, n_features) or (n, n), or sparse rows
        Features, or dissimilarities if `metric` is "precomputed".
    n_clusters : int
        Number of clusters.
    metric : str or callable
        Dissimilarity.

    Returns
    -------
    CrispClusters
        Clusters. Data without a scale, or with too many distant rows, are a single cluster.
    """
    n = len(data)
    single = CrispClusters(np.zeros(n, dtype=np.intp), np.zeros(n, dtype=bool), 1, np.inf)
    if n < _MIN_ROWS or n <= n_clusters:
        return single
    # The generator is separate, so that the random numbers of a fit do not depend on it.
    random = np.random.RandomState(0)
    chosen = np.sort(random.permutation(n)[: max(_SAMPLE_ROWS, _ROWS_EACH * n_clusters)])
    distances = _distances(data, chosen, chosen, metric)
    unit = float(np.median(distances[distances > 0])) if distances.any() else 0.0
    if unit <= 0:
        return single
    means, bound = _robust_means(_squares(distances, unit), n_clusters, random)
    if bound <= 0:
        return single
    labels, isolated = np.empty(n, dtype=np.intp), np.empty(n, dtype=bool)
    for block in row_blocks(n, _BLOCK_ROWS):
        squares = _squares(_distances(data, block, chosen, metric), unit)
        labels[block], isolated[block] = means.judge(squares, bound)
    if isolated.mean() > _MAX_SHARE:
        return single
    return CrispClusters(labels, isolated, n_clusters, unit * float(np.sqrt(bound)))


def _robust_means(squares: FloatArray, n_clusters: int, random: np.random.RandomState) -> tuple[_Means, float]:
    """Return the means with the least bounded loss, and the bound.

    Candidates are ordinary k-means, k-means without single rows, and k-means without the farthest 10 % of the
    rows. The best candidate is improved by means of groups that are far from all others.
    """
    n = len(squares)
    rank = min(_NEIGHBOR, n - 1)
    to_neighbor, to_middle = np.partition(squares, rank, axis=0)[rank], np.median(squares, axis=0)
    all_rows, grouped = np.ones(n, dtype=bool), to_neighbor <= _DISTANCE_RATIO**2 * np.median(to_neighbor)
    central = to_middle <= np.quantile(to_middle, 1 - _MAX_SHARE)
    starts = [(all_rows, 0.0), (grouped, 0.0), (central, _MAX_SHARE)]
    if grouped.all() or grouped.sum() <= n_clusters:
        del starts[1]
    candidates = [_kmeans(squares, n_clusters, rows, share, random) for rows, share in starts]
    bound = min(means.bound(squares) for means in candidates)
    means = min(candidates, key=lambda means: means.loss(bound))
    bound = means.bound(squares)
    for _ in range(n_clusters):
        other = _with_far_group(squares, means, bound)
        if other is None:
            break
        means, bound = _without_isolated(squares, other)
    return means, bound


def _kmeans(
    squares: FloatArray, n_clusters: int, rows: BoolArray, share: float, random: np.random.RandomState
) -> _Means:
    """Return the best of several runs of k-means on a subset of rows, without a share of the farthest rows."""
    subset, positions = squares[np.ix_(rows, rows)], np.flatnonzero(rows)
    runs = []
    for _ in range(_STARTS):
        labels, selected = squares[:, positions[_seeds(subset, n_clusters, random)]].argmin(axis=1), rows
        for _ in range(_ITERATIONS):
            means = _Means.of(squares, labels, selected, n_clusters)
            if share:
                selected = means.nearest <= np.quantile(means.nearest, 1 - share)
            if np.array_equal(means.labels, labels):
                break
            labels = means.labels
        runs.append(means)
    best = min(runs, key=lambda means: float(means.nearest[means.selected].sum()))
    return _without_isolated(squares, best)[0]


def _without_isolated(squares: FloatArray, means: _Means) -> tuple[_Means, float]:
    """Return the means of all rows except isolated rows, and the bound."""
    bound = means.bound(squares)
    for _ in range(_ROUNDS):
        if bound <= 0:
            break
        means = _Means.of(squares, means.labels, means.nearest <= bound, len(means.weights))
        bound = means.bound(squares)
    return means, bound


def _with_far_group(squares: FloatArray, means: _Means, bound: float) -> _Means | None:
    """Return means including that of a group of distant rows, or None if that does not lower the loss."""
    if bound <= 0:
        return None
    distant = np.flatnonzero(means.nearest > (bound + float(means.nearest[means.selected].mean())) / 2)
    if not len(distant):
        return None
    n_clusters, loss = len(means.weights), means.loss(bound)
    gains = np.maximum(np.minimum(means.nearest, bound) - squares[distant], 0)
    group = gains[gains.sum(axis=1).argmax()] > 0
    to_group = squares[:, group].mean(axis=1)
    to_group -= to_group[group].mean() / 2
    options = []
    for k in range(n_clusters):
        costs = means.costs.copy()
        costs[:, k] = to_group
        options.append((float(np.minimum(costs.min(axis=1), bound).sum()), k, costs))
    for _, _, costs in sorted(options, key=lambda option: option[:2])[:_TRIALS]:
        labels, selected = costs.argmin(axis=1), costs.min(axis=1) <= bound
        for _ in range(_TRIALS):
            other = _Means.of(squares, labels, selected, n_clusters)
            labels, selected = other.labels, other.nearest <= bound
        if other.loss(bound) < loss:
            return other
    return None


def _seeds(squares: FloatArray, n_clusters: int, random: np.random.RandomState) -> IntArray:
    """Return seeds of k-means++, each the best of a few draws."""
    seeds, n_draws = [int(random.randint(len(squares)))], 2 + int(np.log(n_clusters))
    nearest = squares[seeds[0]]
    for _ in range(1, n_clusters):
        ends = np.cumsum(nearest)
        draws = np.searchsorted(ends, random.uniform(size=n_draws) * ends[-1])
        options = np.minimum(nearest, squares[np.minimum(draws, len(squares) - 1)])
        best = int(options.sum(axis=1).argmin())
        seeds.append(int(draws[best]))
        nearest = options[best]
    return np.minimum(seeds, len(squares) - 1)


def _squares(distances: FloatArray, unit: float) -> FloatArray:
    """Return squares in a unit, bounded, because sums with huge squares would lose all other terms."""
    return np.asarray(np.minimum(distances / unit, _FARTHEST) ** 2)


def _distances(data: Any, rows: Any, others: IntArray, metric: Any) -> FloatArray:
    """Return the dissimilarities of rows to others."""
    if isinstance(metric, str) and metric == "precomputed":
        return np.asarray(data[rows][:, others], dtype=np.float64)
    return distances_between(data[rows], data[others], metric)
