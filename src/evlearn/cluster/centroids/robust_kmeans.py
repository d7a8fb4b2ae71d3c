r"""Starts that gross errors cannot capture: solutions of k-means, compared by a bounded loss.

A few rows far from all others capture prototypes of k-means, because their squares outweigh all others. Solutions
for all rows, for all but the farthest ones (trimmed k-means), and for all but isolated rows are compared by

.. math:: \sum_iw_i\min(d_i^2,R^2),\qquad R^2=W\,(1+\max(64/\nu,8\sqrt{2/\nu})),

with :math:`W` the mean squared distance of ordinary rows to the nearest prototype and :math:`\nu` the effective
number of directions in which they spread. A small cluster that is worth a prototype lowers this loss; errors,
however far away, cost no more than :math:`R^2` each. Small clusters may be wide: their squared distances are
divided by their width, which has a price as in the likelihood of a Gaussian. Rows beyond :math:`R` are left out
while scales are selected.
"""

from typing import NamedTuple

import numpy as np

from evlearn.cluster.centroids.kmeans import kmeans, kmeans_of_many, spread, squared_distances, trimmed_kmeans
from evlearn.cluster.centroids.model import Coordinates
from evlearn.utils.quantiles import weighted_quantile
from evlearn.utils.typing import BoolArray, FloatArray

#: The number of rows for k-means, or that for each cluster if it is more.
_ROWS, _ROWS_EACH = 5_000, 50
#: With more clusters, k-means starts once, from more prototypes than it ends with.
_MANY_CLUSTERS = 50
#: Solutions of k-means whose sums of squares differ by less than this share are the same.
_SAME = 1e-3
#: The share of rows that trimmed k-means leaves out, and its number of runs.
_TRIMMED, _N_TRIMMED = 0.1, 3
#: With fewer samples for each cluster, no rows are set aside.
_FEWEST_EACH = 5
#: A cluster smaller than this share of the average may consist of errors.
_SMALL = 0.7
#: The bound of the loss: this many standard deviations in one direction beyond a cluster, or of squared distances.
_BOUND = 8.0
#: A row is isolated if fewer rows than this are as near to it as members of one cluster are to each other.
_COMPANY = 3
#: Other solutions must be better by more than what splitting a cluster in the middle gains: so many variances in
#: one direction for each sample.
_SPLIT = 0.7
#: The share of an average cluster below which a cluster has a width of its own, and the largest such width.
_SMALL_CLUSTER, _WIDEST = 0.25, 30.0
#: Rows are gross errors from this many times the bound on.
_GROSS = 1.15


class Spread(NamedTuple):
    """The spread of ordinary rows about prototypes.

    Attributes
    ----------
    within : float
        The mean squared distance to the nearest prototype.
    dimension : float
        The effective number of directions.
    """

    within: float
    dimension: float

    @classmethod
    def of(cls, rows: FloatArray, weights: FloatArray, prototypes: FloatArray) -> "Spread":
        """Return the spread of all but the farthest tenth of the rows."""
        squares = squared_distances(rows, prototypes)
        nearest, least = squares.argmin(axis=1), squares.min(axis=1)
        counted = least <= weighted_quantile(least, weights, 1 - _TRIMMED)
        return cls(*spread(rows[counted] - prototypes[nearest[counted]], weights[counted]))

    @property
    def bound(self) -> float:
        """The squared distance beyond which a row belongs to no cluster."""
        return float(self.within * (1 + max(_BOUND**2 / self.dimension, _BOUND * np.sqrt(2 / self.dimension))))

    @property
    def variance(self) -> float:
        """The variance in one direction."""
        return self.within / self.dimension

    @property
    def company(self) -> float:
        """The squared distance within which a row has neighbors if it belongs to a cluster."""
        return float(2 * self.within * (1 + 2 / np.sqrt(self.dimension)))


def kmeans_solutions(
    n_clusters: int, sample: FloatArray, weights: FloatArray, random: np.random.RandomState, *, n_init: int
) -> list[FloatArray]:
    """Return different solutions of k-means, the best first, with prototypes that no errors have captured."""
    if len(sample) <= n_clusters:
        return [np.resize(sample, (n_clusters, sample.shape[1]))]
    n_rows = max(_ROWS, _ROWS_EACH * n_clusters)
    if len(sample) > n_rows:
        chosen = np.sort(random.permutation(len(sample))[:n_rows])
        sample, weights = sample[chosen], weights[chosen]
    coordinates = Coordinates.of(sample)
    rows = coordinates.enter(sample)
    solutions = _solutions(rows, weights, n_clusters, random, n_init)
    if len(rows) >= _FEWEST_EACH * n_clusters:
        solutions = _robust(rows, _counts(weights), solutions, random, n_init)
    return [coordinates.leave(prototypes) for prototypes in solutions]


def ordinary_rows(sample: FloatArray, weights: FloatArray, prototypes: FloatArray) -> BoolArray:
    """Return True for rows that are not far from all prototypes, which decide on scales."""
    if len(sample) < _FEWEST_EACH * len(prototypes):
        return np.ones(len(sample), dtype=bool)
    return _within(sample, weights, prototypes, 1.0)


def rows_to_fit(data: FloatArray, n_clusters: int) -> BoolArray:
    """Return True for rows that are no gross errors, for methods that fit a distribution to their rows.

    Rows beyond 1.15 times the bound of the loss are gross errors. The result does not depend on a random state.
    """
    everything = np.ones(len(data), dtype=bool)
    if len(data) < _FEWEST_EACH * n_clusters:
        return everything
    rows, weights = Coordinates.of(data).enter(data), np.ones(len(data))
    prototypes = kmeans_solutions(n_clusters, rows, weights, np.random.RandomState(0), n_init=_N_TRIMMED)[0]
    return _within(rows, weights, prototypes, _GROSS)


def _within(rows: FloatArray, weights: FloatArray, prototypes: FloatArray, factor: float) -> BoolArray:
    """Return True for rows that are not farther from all prototypes than a multiple of the bound."""
    squares = _Scaled.of(rows, weights, prototypes).squares
    bound = factor**2 * Spread.of(rows, _counts(weights), prototypes).bound
    return np.asarray(squares <= bound) if bound > 0 else np.ones(len(rows), dtype=bool)


def _solutions(
    rows: FloatArray, weights: FloatArray, n_clusters: int, random: np.random.RandomState, n_init: int
) -> list[FloatArray]:
    """Return solutions of k-means for all rows, the best first."""
    # With many clusters every run misses some, and so does the best of 10 runs; one from a surplus hardly any.
    # With few clusters, such a run is the one that finds small clusters.
    n_runs = n_init if n_clusters <= _MANY_CLUSTERS else 0
    ends = [kmeans(rows, weights, n_clusters, random) for _ in range(n_runs)]
    if n_runs != 1:
        ends.append(kmeans_of_many(rows, weights, n_clusters, random))
    ends.sort(key=lambda end: end[1])
    kept = [ends[0]]
    for end in ends[1:]:
        if end[1] > kept[-1][1] * (1 + _SAME):
            kept.append(end)
    return [prototypes for prototypes, _ in kept]


def _robust(
    rows: FloatArray,
    weights: FloatArray,
    solutions: list[FloatArray],
    random: np.random.RandomState,
    n_init: int,
) -> list[FloatArray]:
    """Return the solutions for all rows, or better ones if rows far from all others have captured prototypes."""
    n_clusters = len(solutions[0])
    if not _are_suspicious(rows, weights, solutions[0]):
        return solutions
    trimmed = _trimmed(rows, weights, n_clusters, random)
    candidates = [solutions, [trimmed]]
    bounds = [Spread.of(rows, weights, prototypes[0]) for prototypes in candidates]
    narrow = min(bounds, key=lambda bound: bound.within)
    isolated = _isolated(rows, trimmed, narrow)
    if isolated.any() and len(rows) - isolated.sum() > n_clusters:
        candidates.append(_solutions(rows[~isolated], weights[~isolated], n_clusters, random, n_init))
    losses = np.array([_loss(rows, weights, starts[0], narrow) for starts in candidates])
    losses[1:] += _SPLIT * narrow.variance * weights.sum()
    if np.bincount(squared_distances(rows, solutions[0]).argmin(axis=1), minlength=n_clusters).min() < _COMPANY:
        losses[0] = np.inf
    return candidates[int(np.argmin(losses))]


def _are_suspicious(rows: FloatArray, weights: FloatArray, prototypes: FloatArray) -> bool:
    """Return True if a cluster is small, or if there are rows far from all prototypes."""
    squares = squared_distances(rows, prototypes)
    sizes = np.bincount(squares.argmin(axis=1), weights, minlength=len(prototypes))
    if sizes.min() < _SMALL * sizes.mean():
        return True
    return bool(squares.min(axis=1).max() > Spread.of(rows, weights, prototypes).bound)


def _trimmed(rows: FloatArray, weights: FloatArray, n_clusters: int, random: np.random.RandomState) -> FloatArray:
    """Return the best of some runs of trimmed k-means, which start with rows that are near to the median."""
    middle = np.median(rows, axis=0)
    apart = np.abs(rows - middle)
    unit = np.median(apart, axis=0)
    unit[unit == 0] = float(unit[unit > 0].mean()) if unit.any() else 1.0
    remoteness = ((apart / unit) ** 2).mean(axis=1)
    near = remoteness <= weighted_quantile(remoteness, weights, 1 - _TRIMMED)
    run = kmeans if n_clusters <= _MANY_CLUSTERS else kmeans_of_many
    best, least = None, np.inf
    for _ in range(_N_TRIMMED if n_clusters <= _MANY_CLUSTERS else 1):
        start = run(rows[near], weights[near], n_clusters, random)[0]
        prototypes = trimmed_kmeans(rows, weights, near, start, _TRIMMED)
        within = Spread.of(rows, weights, prototypes).within
        if best is None or within < least:
            best, least = prototypes, within
    assert best is not None
    return best


def _isolated(rows: FloatArray, prototypes: FloatArray, narrow: Spread) -> BoolArray:
    """Return True for rows far from all prototypes that have little company of other rows."""
    far = np.flatnonzero(squared_distances(rows, prototypes).min(axis=1) > narrow.bound)
    isolated = np.zeros(len(rows), dtype=bool)
    # Each row is near to itself.
    company = (squared_distances(rows[far], rows) <= narrow.company).sum(axis=1) - 1
    isolated[far[company < _COMPANY]] = True
    return isolated


def _loss(rows: FloatArray, weights: FloatArray, prototypes: FloatArray, narrow: Spread) -> float:
    """Return the sum of squares in units of widths, with the prices of these, each at most the bound."""
    scaled = _Scaled.of(rows, weights, prototypes)
    costs = scaled.squares + narrow.within * np.log(scaled.widths)
    return float(weights @ np.minimum(costs, narrow.bound))


class _Scaled(NamedTuple):
    """Squared distances to the nearest prototypes, in units of the width of small clusters, which may be wide.

    Attributes
    ----------
    squares : ndarray of shape (n,)
        The squared distances, divided by the widths.
    widths : ndarray of shape (n,)
        The mean squared distance within the cluster of each row, relative to large clusters; 1 for these.
    """

    squares: FloatArray
    widths: FloatArray

    @classmethod
    def of(cls, rows: FloatArray, weights: FloatArray, prototypes: FloatArray) -> "_Scaled":
        """Return the distances of rows."""
        squares = squared_distances(rows, prototypes)
        nearest, least = squares.argmin(axis=1), squares.min(axis=1)
        sizes = np.bincount(nearest, weights, minlength=len(prototypes))
        small = (sizes > 0) & (sizes < _SMALL_CLUSTER * sizes.mean())
        widths = np.ones(len(prototypes))
        if small.any():
            within = np.bincount(nearest, weights * least, minlength=len(prototypes)) / np.maximum(sizes, 1e-300)
            others = float(np.average(within, weights=np.where(small, 0, sizes)))
            widths[small] = np.clip(within[small] / others, 1, _WIDEST) if others > 0 else 1
        return cls(least / widths[nearest], widths[nearest])


def _counts(weights: FloatArray) -> FloatArray:
    """Return weights as counts: shares that sum to 1 become counts in the same proportions."""
    return np.asarray(weights * max(1.0, len(weights) / weights.sum()))
