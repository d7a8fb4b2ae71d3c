r"""The rule that decides which samples are outliers, for all methods with distances to clusters.

Each cluster k has a reach :math:`\tau_k`, the distance beyond which at most a small share of ordinary samples is
expected: `outlier_rate`. With :math:`\rho=\min_kd_k/\tau_k`, a sample has the mass

.. math:: o=\frac{\rho^p}{1+\rho^p}

on the empty set, at least 0.5 if it is beyond the reach of every cluster. A second source of evidence with this
mass on the empty set, and the rest on all clusters, is combined with the masses of the method by the conjunctive
rule: the nonempty sets keep their proportions and are multiplied by :math:`1-o`. For one cluster and
:math:`p=2/(\beta-1)` this is the mass of the empty set in ECM with :math:`\delta=\tau`. A sample between two
clusters is torn and not an outlier: where they form a focal set, the distance to the segment between their
prototypes counts like that to a cluster.

Reaches are learned from distances to the nearest cluster or segment. Their unit is the median distance of all
samples, if one unit describes most clusters, and that of each cluster otherwise. The tail of the distances is
extrapolated from quantiles that a few outliers do not move, in two steps: a logarithmic normal tail finds obvious
outliers, and the others show how heavy the tail is (the exponent for which three quantiles are those of a normal
distribution).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from evlearn.belief import FocalSets
from evlearn.utils.quantiles import weighted_quantile, weighted_quantiles
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

#: The expected share of ordinary samples that are called outliers.
OUTLIER_RATE = 0.003
#: The mass on the empty set of a sample at the median distance.
_TYPICAL_SCORE = 1e-3
#: The quantiles and the rate of the first step, the quantiles of the second, and the range of its exponent.
_FIRST, _FIRST_RATE, _SECOND = (0.5, 0.8), 0.005, (0.5, 0.8, 0.95)
_EXPONENTS = (-0.25, 2.0)
#: A cluster with fewer samples has the median distance of all samples.
_FEWEST = 5
#: The conditions for a common unit: log(reach / median) is at most this factor larger than with a unit for each
#: cluster. A cluster with more than this share of its samples beyond the reach has its own unit.
_LONGER, _LOST = 1.15, 0.1
#: A sample is on a segment if its distance in units is not larger. Segments count in the tail if this share of the
#: samples is not on one.
_ON_SEGMENT, _OUTSIDE = 1e-3, 0.1
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
    def learn(
        cls, distances: FloatArray, weights: FloatArray, rate: float, between: "Segments"
    ) -> "OutlierRule | None":
        """Learn the rule from samples of a fit.

        Parameters
        ----------
        distances : ndarray of shape (n, n_clusters)
            The distances of samples to clusters.
        weights : ndarray of shape (n,)
            The weights of the samples.
        rate : float
            The expected share of ordinary samples that are outliers.
        between : Segments
            The segments between clusters.

        Returns
        -------
        OutlierRule or None
            The rule; None if no sample is apart from its cluster.
        """
        distances, weights = distances[weights > 0], weights[weights > 0]
        if len(weights):
            weights = weights * max(1.0, len(weights) / weights.sum())  # shares become counts
        units = _units(distances, weights)
        if units is None:
            return None
        common, own = units
        separate = cls._in_units(distances, weights, rate, between, own)
        while True:
            rule = cls._in_units(distances, weights, rate, between, common)
            lost = rule._loses(distances, weights) & (common != own)
            if not lost.any():
                break
            common = np.where(lost, own, common)
        return rule if rule._is_sharp(separate) else separate

    @classmethod
    def _in_units(
        cls, distances: FloatArray, weights: FloatArray, rate: float, between: "Segments", units: FloatArray
    ) -> "OutlierRule":
        """Return the rule whose reaches are multiples of given units, one for each cluster."""
        ratios = (distances / units).min(axis=1)
        positive = (ratios > 0) & np.isfinite(ratios)
        apart = np.sqrt(between.ratios(distances**2, units))
        outside = positive & (apart > _ON_SEGMENT)  # with 1 feature, many samples are on a segment
        if outside.sum() >= _OUTSIDE * positive.sum():
            ratios, positive = np.fmin(ratios, apart), outside
        order = np.argsort(ratios[positive], kind="stable")  # sorted only once
        ratios, weights = ratios[positive][order], weights[positive][order]
        middle = weighted_quantile(ratios, weights, 0.5)
        factor = max(_tail(ratios, weights, rate), _NEAREST * middle)
        steepness = float(np.log(1 / _TYPICAL_SCORE - 1) / np.log(factor / middle))
        return cls(units * factor, steepness)

    def _is_sharp(self, other: "OutlierRule") -> bool:
        """Whether the reaches are hardly longer, in units of the median distance, than those of another rule."""
        return self.steepness * _LONGER >= other.steepness

    def _loses(self, distances: FloatArray, weights: FloatArray) -> BoolArray:
        """Return True for clusters of which many samples are beyond the reach."""
        nearest = (distances / self.reaches).argmin(axis=1)
        beyond = distances[np.arange(len(distances)), nearest] > self.reaches[nearest]
        sizes, lost = (np.bincount(nearest, values, distances.shape[1]) for values in (weights, weights * beyond))
        return np.asarray(lost > np.maximum(_LOST * sizes, 1))

    def scores(self, squares: FloatArray, between: "Segments") -> FloatArray:
        """Return the mass of each sample on the empty set, from its squared distances to the clusters."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            ratios = (squares / self.reaches**2).min(axis=1)
            if len(between.pairs):
                ratios = np.fmin(ratios, between.ratios(squares, self.reaches))
            return np.asarray(1 / (1 + ratios ** (-self.steepness / 2)))

    def apply(self, masses: FloatArray, squares: FloatArray, between: "Segments") -> FloatArray:
        """Return masses whose empty set has the score of each sample, in place of what it had."""
        scores = self.scores(squares, between)
        inside = masses[:, 1:].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            result = masses * ((1 - scores) / inside)[:, None]
        result[:, 0] = scores
        lost = ~np.isfinite(result).all(axis=1)  # beyond what the masses of clusters can be computed for
        result[lost] = 0
        result[lost, 0] = 1
        return np.asarray(result, dtype=masses.dtype)


class Segments(NamedTuple):
    """The segments between the prototypes of clusters that form pairs: samples near to them are torn, no outliers.

    Attributes
    ----------
    pairs : ndarray of int of shape (n_pairs, 2)
        The clusters of each pair.
    squares : ndarray of shape (n_pairs,)
        The squared lengths of the segments.
    """

    pairs: IntArray
    squares: FloatArray

    @classmethod
    def none(cls) -> "Segments":
        """Return no segments, for methods whose clusters have no prototypes to connect."""
        return cls(np.empty((0, 2), dtype=np.intp), np.empty(0))

    @classmethod
    def of(cls, focal_sets: FocalSets, squares: FloatArray) -> "Segments":
        """Return the segments of the pairs among focal sets, from squared distances between prototypes."""
        members = focal_sets.membership[focal_sets.sizes == 2]
        pairs = np.nonzero(members)[1].reshape(len(members), 2)
        lengths = squares[pairs[:, 0], pairs[:, 1]]
        return cls(pairs[lengths > 0], lengths[lengths > 0])

    def ratios(self, squares: FloatArray, reaches: FloatArray) -> FloatArray:
        """Return the least squared ratio of the distance to a segment and the smaller reach of its ends."""
        least = np.full(len(squares), np.inf)
        for (first, second), length in zip(self.pairs, self.squares, strict=True):
            near, step = squares[:, first], squares[:, first] - squares[:, second]
            # The foot of the perpendicular is beyond the ends of the segment elsewhere.
            apart = np.where(np.abs(step) < length, near - (step + length) ** 2 / (4 * length), np.inf)
            np.fmin(least, np.maximum(apart, 0) / min(reaches[first], reaches[second]) ** 2, out=least)
        return least


def _units(distances: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the median distance of all samples and that of each cluster; None if all distances are 0."""
    nearest = distances.argmin(axis=1)
    least = distances[np.arange(len(distances)), nearest]
    positive = least > 0
    if not positive.any():
        return None
    common = np.full(distances.shape[1], weighted_quantile(least[positive], weights[positive], 0.5))
    own = common.copy()
    for k in range(len(own)):
        members = positive & (nearest == k)
        if weights[members].sum() >= _FEWEST:
            own[k] = weighted_quantile(least[members], weights[members], 0.5)
    return common, own


def _tail(ratios: FloatArray, weights: FloatArray, rate: float) -> float:
    """Return the ratio that a share `rate` of the ordinary samples exceeds."""
    middle, high = weighted_quantiles(ratios, weights, _FIRST)
    first = middle * (high / middle) ** (ndtri(1 - _FIRST_RATE) / ndtri(_FIRST[1]))
    ordinary = ratios <= first
    quantiles = weighted_quantiles(ratios[ordinary], weights[ordinary], _SECOND)
    scores = [float(ndtri(q)) for q in _SECOND]
    return _extrapolate(quantiles, scores, float(-ndtri(rate)))


def _extrapolate(quantiles: list[float], scores: list[float], z: float) -> float:
    """Return the quantile at z if a power of the ratios is normal; the power makes the 3 quantiles agree."""
    low, middle, high = quantiles
    if not low < middle < high:  # few distinct distances, as of discrete data
        return float(high * max(high / low, _NEAREST))

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
