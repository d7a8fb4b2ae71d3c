r"""Parameters that "auto" derives from a sample: widths and distances of clusters, and a test for a single cloud.

With :math:`W` the mean squared distance of samples to the nearest prototype, :math:`\nu` the effective number of
directions in which they spread (:math:`(\sum\lambda)^2/\sum\lambda^2` over the variances :math:`\lambda` within
clusters), and :math:`g` the median squared distance of a prototype to the nearest other prototype,

.. math:: \beta=1+0.4\,\frac{2s^2}{g/4+W-s^2},\qquad s^2=W/\nu .

The denominator is the squared distance of a sample halfway between 2 clusters. There, masses fall as
:math:`d^{-2/(\beta-1)}`. Without the factor 0.4, they would fall as steeply as a Gaussian density with variance
:math:`s^2` in each direction, whatever the number of features. The factor compensates for the mass on pairs, which
already expresses doubt. A fixed exponent does not adapt: with :math:`\beta=2`, masses become equal and prototypes
coincide as the number of features grows.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.centroids.kmeans import kmeans, spread, squared_distances
from evlearn.cluster.set_costs import SetCosts
from evlearn.utils.typing import FloatArray

_MAX_ROWS = 1000
_STEEPNESS = 0.4
_MIN_EXCESS, _MAX_BETA, _MAX_CLOUD_BETA = 1e-3, 2.0, 3.0
#: Maximum of alpha.
_MAX_ALPHA = 30.0
#: Share of the distance between clusters that a pair must bridge before it costs as much as one of them.
_BRIDGE = 0.8
# Test for clusters: numbers of Gaussian clouds for comparison, and numbers of rows.
_N_CLOUDS, _MIN_CLOUDS, _CLOUD_ROWS, _MIN_ROWS = 10, 3, 1000, 20
#: Distance to the median beyond which a row may be an outlier, relative to its 90 % quantile; a Gaussian cloud has
#: no such rows.
_OUTLIER_RATIO = 3.0
# Standard deviations below the mean of the clouds: for a split that is better than 95 % of theirs, and for a split
# that is clearly better.
_BETTER_DEVIATIONS, _CLEAR_DEVIATIONS = 1.645, 10.0


class ResolvedParameters(NamedTuple):
    """Parameters of a fit, as given or as derived from the data.

    Attributes
    ----------
    delta : float
        Distance to the empty set.
    beta : float
        Exponent of the masses.
    alpha : float
        Exponent of the size of a set.
    width : float
        Standard deviation within a cluster, in one direction.
    cloud : bool
        Whether a single Gaussian cloud would be split as well as the data.
    """

    delta: float
    beta: float
    alpha: float = 1.0
    width: float = 0.0
    cloud: bool = False


def ecm_costs(focal_sets: FocalSets, parameters: ResolvedParameters) -> SetCosts:
    """Return the costs of ECM."""
    return SetCosts.ecm(focal_sets, alpha=parameters.alpha, beta=parameters.beta, delta=parameters.delta)


def ccm_costs(focal_sets: FocalSets, parameters: ResolvedParameters, *, gamma: float) -> SetCosts:
    """Return the costs of CCM."""
    return SetCosts.ccm(focal_sets, gamma=gamma, beta=parameters.beta, delta=parameters.delta)


def number_or_none(value: Any) -> float | None:
    """Return the value of a parameter, or None for "auto"."""
    return None if isinstance(value, str) else float(value)


@dataclass(frozen=True)
class Scales:
    """Widths and distances of clusters.

    Attributes
    ----------
    mean_square : float
        Mean squared distance of samples to the nearest prototype.
    variance : float
        Variance within clusters in one direction.
    separations : ndarray of shape (n_clusters,)
        Squared distance of each prototype to the nearest other prototype; empty for a single cluster.
    total : float
        Variance of all samples in one direction.
    """

    mean_square: float
    variance: float
    separations: FloatArray
    total: float

    @classmethod
    def of(
        cls, sample: FloatArray, weights: FloatArray, prototypes: FloatArray, *, offset: float = 0.0
    ) -> "Scales":
        """Return the scales of a sample, with a prototype for each cluster.

        Parameters
        ----------
        sample : ndarray of shape (n, n_features)
            Sample of the rows.
        weights : ndarray of shape (n,)
            Weights of these rows.
        prototypes : ndarray of shape (n_clusters, n_features)
            Prototypes.
        offset : float, default=0.0
            Mean squared distance of samples to all prototypes in an additional dimension.

        Returns
        -------
        Scales
            Scales.
        """
        step = -(-len(sample) // _MAX_ROWS)
        sample, weights = sample[::step], weights[::step]
        nearest = squared_distances(sample, prototypes).argmin(axis=1)
        mean_square, dimension = spread(sample - prototypes[nearest], weights)
        total, all_dimension = spread(sample - np.average(sample, axis=0, weights=weights), weights)
        squares = squared_distances(prototypes, prototypes)
        np.fill_diagonal(squares, np.inf)
        separations = squares.min(axis=1) if len(prototypes) > 1 else np.zeros(0)
        return cls(mean_square + offset, mean_square / dimension, separations, total / all_dimension)

    def choose(self, delta: float, beta: float | None, alpha: float | None, *, cloud: bool) -> ResolvedParameters:
        """Return the parameters of a fit; None is replaced by values that follow from these scales."""
        return ResolvedParameters(
            delta,
            self.beta(cloud=cloud) if beta is None else beta,
            self.alpha() if alpha is None else alpha,
            float(np.sqrt(self.variance)),
            cloud,
        )

    def beta(self, *, cloud: bool = False) -> float:
        """Return the exponent of the masses."""
        if self.mean_square <= 0 or not len(self.separations):
            return _MAX_BETA
        squared_midpoint = float(np.median(self.separations)) / 4 + self.mean_square - self.variance
        doubled_variance = 2 * self.total if cloud else _STEEPNESS * 2 * self.variance
        excess = doubled_variance / max(squared_midpoint, 1e-12 * self.mean_square)
        excess = float(np.clip(excess, _MIN_EXCESS, (_MAX_CLOUD_BETA if cloud else _MAX_BETA) - 1))
        # The kernel is 10 times faster if 1 / (beta - 1) is an integer.
        return 1 + (excess if excess > 1 else 1 / round(1 / excess))

    def alpha(self) -> float:
        """Return the exponent of the size of a set for which pairs win near the middle of the closest clusters."""
        if self.mean_square <= 0 or not len(self.separations):
            return 1.0
        return float(min(np.log2(1 + _BRIDGE * self.separations.min() / (4 * self.mean_square)), _MAX_ALPHA))


def is_one_cloud(sample: FloatArray, weights: FloatArray, n_clusters: int, random: np.random.RandomState) -> bool:
    """Return True if a Gaussian cloud with the same covariance would be split into clusters as well as the sample.

    Rows far from the median could make the clouds so wide that clusters vanish in them, but they may also be small
    clusters. Therefore the answer must be the same with and without them.
    """
    n_rows = min(len(sample), _CLOUD_ROWS)
    if n_clusters < 2 or n_rows < max(_MIN_ROWS, 4 * n_clusters):
        return False
    has_equal_weights = weights.min() == weights.max()
    chosen = random.choice(
        len(sample),
        n_rows,
        replace=not has_equal_weights,
        p=None if has_equal_weights else weights / weights.sum(),
    )
    subsample = sample[np.sort(chosen)]
    distances = np.linalg.norm(subsample - np.median(subsample, axis=0), axis=1)
    central = subsample[distances <= _OUTLIER_RATIO * np.quantile(distances, 0.9)]
    # Test twice even if both are equal, because a single run of k-means may miss clusters.
    return all(_is_split_like_clouds(rows, n_clusters, random) for rows in (central, subsample))


def _is_split_like_clouds(rows: FloatArray, n_clusters: int, random: np.random.RandomState) -> bool:
    n_rows = len(rows)
    centered = rows - rows.mean(axis=0)
    share = _unexplained_share(centered, n_clusters, random)
    # Any matrix with the same products of columns gives clouds with the covariance of the sample.
    root = np.linalg.qr(centered, mode="r") if centered.shape[1] < n_rows else centered
    cloud_shares: list[float] = []
    for number in range(_N_CLOUDS):
        cloud = random.standard_normal((n_rows, len(root))) @ root / np.sqrt(n_rows)
        cloud_shares.append(_unexplained_share(cloud, n_clusters, random))
        if number >= _MIN_CLOUDS - 1 and _deviations(share, cloud_shares) < -_CLEAR_DEVIATIONS:
            return False
    return _deviations(share, cloud_shares) > -_BETTER_DEVIATIONS


def _deviations(share: float, cloud_shares: list[float]) -> float:
    """Return the standardized difference between the logarithm of a share and those of the clouds."""
    logs = np.log(np.maximum([share, *cloud_shares], np.finfo(float).tiny))
    return float((logs[0] - logs[1:].mean()) / max(logs[1:].std(ddof=1), 1e-12))


def _unexplained_share(rows: FloatArray, n_clusters: int, random: np.random.RandomState) -> float:
    """Return the share of the variance that remains within the clusters of k-means."""
    total = float(((rows - rows.mean(axis=0)) ** 2).sum())
    if total <= 0:
        return 0.0
    return kmeans(rows, np.ones(len(rows)), n_clusters, random)[1] / total
