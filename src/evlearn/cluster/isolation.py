r"""Crisp clusters of dissimilarities, and isolated rows: those that are far from every cluster.

A few gross errors would decide the scales and starts of methods that look at dissimilarities. Isolated rows are
set aside while these are selected, and get masses at the end like all others. Clusters are those of k-means
without coordinates, in which the squared distance of row :math:`i` to the mean of a cluster :math:`C` is

.. math:: d_i^2=\operatorname{mean}_{j\in C}\Delta_{ij}-\tfrac12\operatorname{mean}_{j,l\in C}\Delta_{jl}

with :math:`\Delta` the squared dissimilarities. A row is isolated if its squared distances to all means exceed

.. math:: R^2=W+\max(36\,W/\nu,6\,S) ,

where :math:`W` and :math:`S` are the mean and the standard deviation of the squared distances of ordinary rows to
the nearest mean, and :math:`\nu` is the effective number of directions of their residuals, so that :math:`W/\nu`
is a variance. The standard deviation counts in more than 20 dimensions or so. The loss is
:math:`\sum_i\min(d_i^2,R^2)`: the rows of a small cluster are not isolated if a mean of their own lowers it more
than a second mean for the rows of a large cluster does. Squared distances to the mean of a small cluster are
divided by its width relative to the others, because small clusters may be wide; a width has a price, as in the
likelihood of a Gaussian.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evlearn.cluster.dissimilarities import distances_between
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

#: Variances, or standard deviations, beyond the mean squared distance at which a row is isolated.
_VARIANCES, _DEVIATIONS = 36.0, 6.0
#: About so many rows are compared for the number of directions.
_DIRECTION_ROWS = 100
#: The largest share of isolated rows: if there are more, they are no exceptions.
_LARGEST_SHARE = 0.1
#: The rows that are compared with each other, at least or for each cluster, and the fewest that show anything.
_SAMPLE_ROWS, _ROWS_EACH, _FEWEST_ROWS, _BLOCK_ROWS = 300, 10, 10, 4096
_STARTS, _ITERATIONS, _ROUNDS, _OTHERS = 3, 20, 2, 3
#: The neighbor whose distance tells a single row from one in a group, and the multiple of its median that is far.
_NEIGHBOR, _TIMES = 3, 5.0
#: The share of an average cluster below which a cluster has a width of its own, and the largest such width.
_SMALL, _WIDEST = 0.25, 30.0
#: The share of an average cluster below which clusters are unbalanced.
_UNBALANCED = 0.5
#: A mean squared distance below this share of the mean square is rounding, and a multiple beyond which all is far.
_LOST, _FARTHEST = 1e-12, 1e6


#: The distance to the empty set that is selected is at most this many times the reach of clusters.
BEYOND_REACH = 1.25


@dataclass(frozen=True)
class CrispClusters:
    """Crisp clusters, and the rows that are far from all of them.

    Attributes
    ----------
    labels : ndarray of int of shape (n,)
        The nearest cluster of each row.
    isolated : ndarray of bool of shape (n,)
        The mask of isolated rows, at most 1 in 10.
    n_clusters : int
        The number of clusters.
    reach : float
        The distance to the mean of a cluster beyond which rows are isolated; infinite if none can be.
    """

    labels: IntArray
    isolated: BoolArray
    n_clusters: int
    reach: float

    @property
    def ordinary(self) -> BoolArray:
        """The mask of the rows that are not isolated."""
        return ~self.isolated

    @property
    def unbalanced(self) -> bool:
        """True if a cluster has less than half of the rows that clusters have on average."""
        sizes = np.bincount(self.labels[self.ordinary], minlength=self.n_clusters)
        return bool(sizes.min() * self.n_clusters < _UNBALANCED * sizes.sum())


@dataclass(frozen=True)
class _Means:
    """Means of clusters, as weights of rows.

    Attributes
    ----------
    weights : ndarray of shape (n_clusters, n)
        The weights of the rows in each mean; they sum to 1.
    halves : ndarray of shape (n_clusters,)
        Half of the mean square within each cluster.
    widths : ndarray of shape (n_clusters,)
        The mean squared distance within small clusters, relative to that of the others; 1 for these.
    prices : ndarray of shape (n_clusters,)
        The price of each width, as in the likelihood of a Gaussian: the logarithm, in units of the other clusters.
    apart : ndarray of shape (n, n_clusters)
        The squared distances of the rows to the means.
    kept : ndarray of bool of shape (n,)
        The rows that count in the means.
    """

    weights: FloatArray
    halves: FloatArray
    widths: FloatArray
    prices: FloatArray
    apart: FloatArray
    kept: BoolArray

    @classmethod
    def of(cls, squares: FloatArray, labels: IntArray, kept: BoolArray, n_clusters: int) -> "_Means":
        """Return the means of the clusters of the rows that count."""
        rows = np.flatnonzero(kept)
        weights = np.zeros((n_clusters, len(labels)))
        weights[labels[rows], rows] = 1
        counts = weights.sum(axis=1)
        weights[counts == 0, rows[0]] = 1  # any row, for a cluster without rows
        weights /= weights.sum(axis=1, keepdims=True)
        means = squares @ weights.T
        halves = np.einsum("ij,ji->i", weights, means) / 2
        apart = np.maximum(means - halves, 0)
        small, widths, others = counts * n_clusters < _SMALL * len(rows), np.ones(n_clusters), 0.0
        if small.any():
            within = np.einsum("ij,ji->i", weights, apart)
            others = float(np.average(within, weights=np.where(small, 0, counts)))
            widths[small] = np.clip(within[small] / others, 1, _WIDEST) if others > 0 else 1
        return cls(weights, halves, widths, others * np.log(widths), apart, kept)

    @cached_property
    def costs(self) -> FloatArray:
        """The squared distances, divided by the widths, and the price of these."""
        return np.asarray(self.apart / self.widths + self.prices)

    @cached_property
    def labels(self) -> IntArray:
        """The mean of each row."""
        return np.asarray(self.costs.argmin(axis=1))

    @cached_property
    def nearest(self) -> FloatArray:
        """The squared distance of each row to its mean, divided by the width."""
        return self.apart[np.arange(len(self.apart)), self.labels] / self.widths[self.labels]

    def loss(self, bound: float) -> float:
        """Return the sum of bounded costs."""
        return float(np.minimum(self.costs.min(axis=1), bound).sum())

    def judge(self, squares: FloatArray, bound: float) -> tuple[IntArray, BoolArray]:
        """Return the means of other rows, and True for those that are isolated.

        Parameters
        ----------
        squares : ndarray of shape (n_rows, n)
            Squared dissimilarities of the rows to those of the sample.
        bound : float
            The squared distance beyond which rows are isolated.

        Returns
        -------
        labels : ndarray of int of shape (n_rows,)
            The means.
        isolated : ndarray of bool of shape (n_rows,)
            The mask.
        """
        scaled = (squares @ self.weights.T - self.halves) / self.widths
        labels = np.asarray((scaled + self.prices).argmin(axis=1))
        return labels, scaled[np.arange(len(labels)), labels] > bound

    def bound(self, squares: FloatArray) -> float:
        """Return the squared distance beyond which rows are isolated, or 0 if all rows are at their means."""
        rows = np.flatnonzero(self.kept & (self.widths[self.labels] == 1))
        within = float(self.nearest[rows].mean()) if len(rows) > 1 else 0.0
        if within <= _LOST * float(squares.mean()):
            return 0.0
        deviation = float(self.nearest[rows].std())
        rows = rows[:: -(-len(rows) // _DIRECTION_ROWS)]
        labels, n = self.labels[rows], len(rows)
        across = self.apart[np.ix_(rows, labels)]
        between = self.weights @ self.apart
        between -= np.diag(between)[:, None]
        # Twice the products of residuals, whose squares are on average the sum of squared variances.
        products = squares[np.ix_(rows, rows)] - across - across.T + between[np.ix_(labels, labels)]
        total = float(np.vdot(products, products)) / 4 - float((self.nearest[rows] ** 2).sum())
        variance = float(np.clip(total / (n * (n - 1)) / within, within / n, within))
        return within + max(_VARIANCES * variance, _DEVIATIONS * deviation)


def crisp_clusters(data: Any, n_clusters: int, metric: Any) -> CrispClusters:
    """Return crisp clusters, and the rows that are far from all of them, compared with the widths of clusters.

    Parameters
    ----------
    data : array of shape (n, n_features) or (n, n), or sparse rows
        Features, or dissimilarities if `metric` is "precomputed".
    n_clusters : int
        The number of clusters.
    metric : str or callable
        The dissimilarity.

    Returns
    -------
    CrispClusters
        The clusters. Data without any scale, or with too many rows that are far away, are 1 cluster.
    """
    n = len(data)
    single = CrispClusters(np.zeros(n, dtype=np.intp), np.zeros(n, dtype=bool), 1, np.inf)
    if n < _FEWEST_ROWS or n <= n_clusters:
        return single
    # A stream of its own: the draws of a fit do not depend on it.
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
    if isolated.mean() > _LARGEST_SHARE:
        return single
    return CrispClusters(labels, isolated, n_clusters, unit * float(np.sqrt(bound)))


def _robust_means(squares: FloatArray, n_clusters: int, random: np.random.RandomState) -> tuple[_Means, float]:
    """Return the means with the least bounded loss, and the bound.

    Candidates are plain k-means, k-means without single rows, and k-means of which the farthest tenth of the rows
    does not count. The best of them is improved by means of groups that are far from all others.
    """
    n = len(squares)
    place = min(_NEIGHBOR, n - 1)
    near, middle = np.partition(squares, place, axis=0)[place], np.median(squares, axis=0)
    everyone, grouped = np.ones(n, dtype=bool), near <= _TIMES**2 * np.median(near)
    central = middle <= np.quantile(middle, 1 - _LARGEST_SHARE)
    starts = [(everyone, 0.0), (grouped, 0.0), (central, _LARGEST_SHARE)]
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
    """Return the best of several runs of k-means on some rows, of which the farthest share does not count."""
    inside, positions = squares[np.ix_(rows, rows)], np.flatnonzero(rows)
    runs = []
    for _ in range(_STARTS):
        labels, kept = squares[:, positions[_seeds(inside, n_clusters, random)]].argmin(axis=1), rows
        for _ in range(_ITERATIONS):
            means = _Means.of(squares, labels, kept, n_clusters)
            if share:
                kept = means.nearest <= np.quantile(means.nearest, 1 - share)
            if np.array_equal(means.labels, labels):
                break
            labels = means.labels
        runs.append(means)
    best = min(runs, key=lambda means: float(means.nearest[means.kept].sum()))
    return _without_isolated(squares, best)[0]


def _without_isolated(squares: FloatArray, means: _Means) -> tuple[_Means, float]:
    """Return the means of all rows but those that are isolated, and the bound."""
    bound = means.bound(squares)
    for _ in range(_ROUNDS):
        if bound <= 0:
            break
        means = _Means.of(squares, means.labels, means.nearest <= bound, len(means.weights))
        bound = means.bound(squares)
    return means, bound


def _with_far_group(squares: FloatArray, means: _Means, bound: float) -> _Means | None:
    """Return means of which 1 is that of a group of distant rows, or None if that does not lower the loss."""
    if bound <= 0:
        return None
    far = np.flatnonzero(means.nearest > (bound + float(means.nearest[means.kept].mean())) / 2)
    if not len(far):
        return None
    n_clusters, loss = len(means.weights), means.loss(bound)
    gains = np.maximum(np.minimum(means.nearest, bound) - squares[far], 0)
    group = gains[gains.sum(axis=1).argmax()] > 0
    to_group = squares[:, group].mean(axis=1)
    to_group -= to_group[group].mean() / 2
    options = []
    for k in range(n_clusters):
        costs = means.costs.copy()
        costs[:, k] = to_group
        options.append((float(np.minimum(costs.min(axis=1), bound).sum()), k, costs))
    for _, _, costs in sorted(options, key=lambda option: option[:2])[:_OTHERS]:
        labels, kept = costs.argmin(axis=1), costs.min(axis=1) <= bound
        for _ in range(_OTHERS):
            other = _Means.of(squares, labels, kept, n_clusters)
            labels, kept = other.labels, other.nearest <= bound
        if other.loss(bound) < loss:
            return other
    return None


def _seeds(squares: FloatArray, n_clusters: int, random: np.random.RandomState) -> IntArray:
    """Return rows far apart, as k-means++ draws them; each is the best of a few draws."""
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
    """Return squares in a unit, bounded, because squares of huge numbers leave nothing of others."""
    return np.asarray(np.minimum(distances / unit, _FARTHEST) ** 2)


def _distances(data: Any, rows: Any, others: IntArray, metric: Any) -> FloatArray:
    """Return the dissimilarities of some rows to others."""
    if isinstance(metric, str) and metric == "precomputed":
        return np.asarray(data[rows][:, others], dtype=np.float64)
    return distances_between(data[rows], data[others], metric)
