r"""The rule that decides which samples are outliers, for all methods with distances to clusters.

Each cluster k has a reach :math:`\tau_k`, the distance beyond which at most a small share of ordinary samples is
expected: `outlier_rate`. With :math:`\rho=\min_kd_k/\tau_k`, a sample has the mass

.. math:: o=\frac{\rho^p}{1+\rho^p}

on the empty set, at least 0.5 if it is beyond the reach of every cluster. A second source of evidence with this mass on
the empty set, and the rest on all clusters, is combined with the masses of the method by the conjunctive rule: the
nonempty sets keep their proportions and are multiplied by :math:`1-o`. For one cluster and :math:`p=2/(\beta-1)` this is
the mass of the empty set in ECM with :math:`\delta=\tau`.

Reaches are learned from distances to the nearest cluster, in units of the median of each cluster. Their tail is
extrapolated from quantiles that a few outliers do not move, in two steps: a logarithmic normal tail finds obvious
outliers, and the others show how heavy the tail is (the exponent for which three quantiles are those of a normal
distribution).
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from evlearn.utils.quantiles import weighted_quantile
from evlearn.utils.typing import FloatArray

#: The expected share of ordinary samples that are called outliers.
OUTLIER_RATE = 0.005
#: The mass on the empty set of a sample at the median distance.
_TYPICAL_SCORE = 1e-3
#: The quantiles of the first step, and of the second, and the range of the exponent of the tail.
_FIRST, _SECOND = (0.5, 0.8), (0.5, 0.75, 0.9)
_EXPONENTS = (-0.25, 2.0)
#: A cluster with fewer samples has the median distance of all samples.
_FEWEST = 5
#: The smallest ratio of reach and median distance, for clusters whose samples are all at the same distance.
_NEAREST = 1.05


@dataclass(frozen=True)
class OutlierRule:
    """The distances beyond which samples are outliers.

    Attributes
    ----------
    reaches : ndarray of shape (n_clusters,)
        The reach of each cluster, in the unit of the distances.
    steepness : float
        The exponent p: how fast the mass on the empty set rises with the distance.
    """

    reaches: FloatArray
    steepness: float

    @classmethod
    def learn(cls, distances: FloatArray, weights: FloatArray, rate: float) -> "OutlierRule | None":
        """Learn the rule from samples of a fit.

        Parameters
        ----------
        distances : ndarray of shape (n, n_clusters)
            The distances of samples to clusters.
        weights : ndarray of shape (n,)
            The weights of the samples.
        rate : float
            The expected share of ordinary samples that are outliers.

        Returns
        -------
        OutlierRule or None
            The rule; None if the rate is 0, or if no sample is apart from its cluster.
        """
        units = _units(distances, weights)
        if rate == 0 or units is None:
            return None
        ratios = (distances / units).min(axis=1)
        positive = (ratios > 0) & np.isfinite(ratios)
        ratios, weights = ratios[positive], weights[positive]
        factor = _tail(ratios, weights, rate)
        middle = weighted_quantile(ratios, weights, 0.5)
        factor = max(factor, _NEAREST * middle)
        steepness = float(np.log(1 / _TYPICAL_SCORE - 1) / np.log(factor / middle))
        return cls(units * factor, steepness)

    def scores(self, distances: FloatArray) -> FloatArray:
        """Return the mass of each sample on the empty set, from its distances to the clusters."""
        with np.errstate(over="ignore", divide="ignore"):
            ratios = (distances / self.reaches).min(axis=1)
            return np.asarray(1 / (1 + ratios**-self.steepness))

    def apply(self, masses: FloatArray, distances: FloatArray) -> FloatArray:
        """Return masses whose empty set has the score of each sample, in place of what it had."""
        scores = self.scores(distances)
        inside = masses[:, 1:].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            result = masses * ((1 - scores) / inside)[:, None]
        result[:, 0] = scores
        lost = ~np.isfinite(result).all(axis=1)  # beyond what the masses of clusters can be computed for
        result[lost] = 0
        result[lost, 0] = 1
        return np.asarray(result, dtype=masses.dtype)


def _units(distances: FloatArray, weights: FloatArray) -> FloatArray | None:
    """Return the median distance of the samples of each cluster; None if all distances are 0."""
    nearest = distances.argmin(axis=1)
    least = distances[np.arange(len(distances)), nearest]
    positive = least > 0
    if not positive.any():
        return None
    common = weighted_quantile(least[positive], weights[positive], 0.5)
    units = np.full(distances.shape[1], common)
    for k in range(len(units)):
        members = positive & (nearest == k)
        if np.count_nonzero(members) >= _FEWEST:
            units[k] = weighted_quantile(least[members], weights[members], 0.5)
    return units


def _tail(ratios: FloatArray, weights: FloatArray, rate: float) -> float:
    """Return the ratio that a share `rate` of the ordinary samples exceeds."""
    middle, high = (weighted_quantile(ratios, weights, q) for q in _FIRST)
    z = float(-ndtri(rate))
    first = middle * np.exp(np.log(high / middle) * (z / ndtri(_FIRST[1])))
    ordinary = ratios <= first
    quantiles = [weighted_quantile(ratios[ordinary], weights[ordinary], q) for q in _SECOND]
    scores = [float(ndtri(q)) for q in _SECOND]
    return _extrapolate(quantiles, scores, z)


def _extrapolate(quantiles: list[float], scores: list[float], z: float) -> float:
    """Return the quantile at z if a power of the ratios is normal; the power makes the 3 quantiles agree."""
    low, middle, high = quantiles
    if not low < middle < high:
        return high

    def power(ratio: float, exponent: float) -> float:
        return float(np.log(ratio) if exponent == 0 else np.expm1(exponent * np.log(ratio)) / exponent)

    def excess(exponent: float) -> float:
        agreed = (scores[2] - scores[0]) / (scores[1] - scores[0])
        return power(high / low, exponent) - agreed * power(middle / low, exponent)

    least, most = _EXPONENTS
    if excess(least) >= 0:
        exponent = least
    elif excess(most) <= 0:
        exponent = most
    else:
        exponent = float(brentq(excess, least, most))
    value = power(high / low, exponent) / (scores[2] - scores[0]) * (z - scores[0])
    if exponent == 0:
        return float(low * np.exp(value))
    base = 1 + exponent * value
    return float(low * base ** (1 / exponent)) if base > 0 else np.inf
