r"""How wide clusters are, how far apart, and whether there are any: what "auto" makes of a sample.

With :math:`W` the mean squared distance of samples to the nearest prototype, :math:`\nu` the effective number of
directions in which they spread (:math:`(\sum\lambda)^2/\sum\lambda^2` over the variances :math:`\lambda` within
clusters), and :math:`g` the median squared distance of a prototype to the nearest other,

.. math:: \beta=1+0.4\,\frac{2s^2}{g/4+W-s^2},\qquad s^2=W/\nu .

The denominator is the squared distance of a sample halfway between two clusters. There masses fall as
:math:`d^{-2/(\beta-1)}`, and without the factor 0.4 they would fall as steeply as a Gaussian density of variance
:math:`s^2` in each direction, whatever the number of features. The factor makes up for the mass on pairs, which is
caution enough. A fixed exponent knows none of this: with :math:`\beta=2`, masses become equal and prototypes
coincide as the number of features grows.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evlearn.cluster.centroids.kmeans import kmeans, spread, squared_distances
from evlearn.utils.typing import FloatArray

_ROWS = 1000
_STEEP = 0.4
_LEAST_EXCESS, _LARGEST_BETA, _VAGUE_BETA = 1e-3, 2.0, 3.0
#: The largest set costs the distance to the barycentre this many times at most.
_LARGEST_ALPHA = 30.0
#: What share of the gap between clusters a pair has to bridge before it costs as much as one of them.
_BRIDGE = 0.8
# A test whether there are clusters at all: against this many Gaussian clouds, of at most so many samples.
_CLOUDS, _FEWEST_CLOUDS, _CLOUD_ROWS, _FEWEST_ROWS = 10, 3, 1000, 20
#: Rows so many times as far from the median as 9 in 10 rows are far; a Gaussian cloud has none.
_FAR = 3.0
# How many standard deviations below the mean of the clouds is better than 19 in 20, and how many beyond doubt.
_BETTER, _CLEARLY = 1.645, 10.0


class Chosen(NamedTuple):
    """Parameters of a fit, as given or as the data decided.

    Attributes
    ----------
    delta : float
        The distance to the empty set.
    beta : float
        The exponent of the masses.
    alpha : float
        The exponent of the size of a set.
    width : float
        The standard deviation within a cluster, in one direction.
    cloud : bool
        Whether one Gaussian cloud would be split as well as the data.
    """

    delta: float
    beta: float
    alpha: float = 1.0
    width: float = 0.0
    cloud: bool = False


@dataclass(frozen=True)
class Scales:
    """How wide clusters are and how far apart.

    Attributes
    ----------
    within : float
        The mean squared distance of samples to the nearest prototype.
    variance : float
        The variance within clusters in one direction.
    gaps : ndarray of shape (n_clusters,)
        The squared distance of each prototype to the nearest other; empty for one cluster.
    total : float
        The variance of all samples in one direction.
    """

    within: float
    variance: float
    gaps: FloatArray
    total: float

    @classmethod
    def of(
        cls, sample: FloatArray, weights: FloatArray, prototypes: FloatArray, *, beyond: float = 0.0
    ) -> "Scales":
        """The scales of a sample, with a prototype for each cluster.

        Parameters
        ----------
        sample : ndarray of shape (n, n_features)
            Some rows.
        weights : ndarray of shape (n,)
            Their weights.
        prototypes : ndarray of shape (n_clusters, n_features)
            The prototypes.
        beyond : float, default=0.0
            The mean squared distance that samples have to all prototypes, besides.

        Returns
        -------
        Scales
            The scales.
        """
        step = -(-len(sample) // _ROWS)
        sample, weights = sample[::step], weights[::step]
        nearest = squared_distances(sample, prototypes).argmin(axis=1)
        within, dimension = spread(sample - prototypes[nearest], weights)
        total, all_dimension = spread(sample - np.average(sample, axis=0, weights=weights), weights)
        apart = squared_distances(prototypes, prototypes)
        np.fill_diagonal(apart, np.inf)
        gaps = apart.min(axis=1) if len(prototypes) > 1 else np.zeros(0)
        return cls(within + beyond, within / dimension, gaps, total / all_dimension)

    def choose(self, delta: float, beta: Any, alpha: Any, *, cloud: bool) -> Chosen:
        """The parameters as they are given, or as these scales decide."""
        return Chosen(
            delta,
            self.beta(cloud=cloud) if isinstance(beta, str) else float(beta),
            self.alpha() if isinstance(alpha, str) else float(alpha),
            float(np.sqrt(self.variance)),
            cloud,
        )

    def beta(self, *, cloud: bool = False) -> float:
        """The exponent of the masses."""
        if self.within <= 0 or not len(self.gaps):
            return _LARGEST_BETA
        half_way = float(np.median(self.gaps)) / 4 + self.within - self.variance
        spread = 2 * self.total if cloud else _STEEP * 2 * self.variance
        excess = spread / max(half_way, 1e-12 * self.within)
        excess = float(np.clip(excess, _LEAST_EXCESS, (_VAGUE_BETA if cloud else _LARGEST_BETA) - 1))
        # The kernel is ten times faster if 1 / (beta - 1) is a whole number.
        return 1 + (excess if excess > 1 else 1 / round(1 / excess))

    def alpha(self) -> float:
        """The exponent of the size of a set at which a pair wins near the middle of the closest clusters."""
        if self.within <= 0 or not len(self.gaps):
            return 1.0
        return float(min(np.log2(1 + _BRIDGE * self.gaps.min() / (4 * self.within)), _LARGEST_ALPHA))


def is_one_cloud(sample: FloatArray, weights: FloatArray, n_clusters: int, random: np.random.RandomState) -> bool:
    """Return True if a Gaussian cloud with the same covariance would be split into clusters as well as the sample.

    Rows far from the median would make the clouds so wide that clusters vanish in them; but such rows may also be
    small clusters. So the answer must be the same with and without them.
    """
    n_rows = min(len(sample), _CLOUD_ROWS)
    if n_clusters < 2 or n_rows < max(_FEWEST_ROWS, 4 * n_clusters):
        return False
    even = weights.min() == weights.max()
    chosen = random.choice(len(sample), n_rows, replace=not even, p=None if even else weights / weights.sum())
    some = sample[np.sort(chosen)]
    central = _without_outliers(some)
    # Also if both are the same, because one run of k-means may miss clusters that are there.
    return all(_is_split_like_clouds(rows, n_clusters, random) for rows in (central, some))


def _is_split_like_clouds(rows: FloatArray, n_clusters: int, random: np.random.RandomState) -> bool:
    n_rows = len(rows)
    centred = rows - rows.mean(axis=0)
    left = _unexplained(centred, n_clusters, random)
    # Any matrix with the same products of columns gives clouds with the covariance of the sample.
    root = np.linalg.qr(centred, mode="r") if centred.shape[1] < n_rows else centred
    of_clouds: list[float] = []
    for number in range(_CLOUDS):
        cloud = random.standard_normal((n_rows, len(root))) @ root / np.sqrt(n_rows)
        of_clouds.append(_unexplained(cloud, n_clusters, random))
        if number >= _FEWEST_CLOUDS - 1 and _deviations(left, of_clouds) < -_CLEARLY:
            return False
    return _deviations(left, of_clouds) > -_BETTER


def _without_outliers(rows: FloatArray) -> FloatArray:
    """Return the rows that are not far from the median."""
    apart = np.linalg.norm(rows - np.median(rows, axis=0), axis=1)
    return np.asarray(rows[apart <= _FAR * np.quantile(apart, 0.9)])


def _deviations(left: float, of_clouds: list[float]) -> float:
    """How many standard deviations the logarithm of a share is above those of the clouds."""
    logs = np.log(np.maximum([left, *of_clouds], np.finfo(float).tiny))
    return float((logs[0] - logs[1:].mean()) / max(logs[1:].std(ddof=1), 1e-12))


def _unexplained(rows: FloatArray, n_clusters: int, random: np.random.RandomState) -> float:
    """The share of the variance that k-means leaves within clusters."""
    everything = float(((rows - rows.mean(axis=0)) ** 2).sum())
    if everything <= 0:
        return 0.0
    return kmeans(rows, np.ones(len(rows)), n_clusters, random)[1] / everything
