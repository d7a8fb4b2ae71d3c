r"""Rule for outliers, for all methods with distances to clusters.

Each cluster k has a reach :math:`\tau_k`, the distance beyond which at most a small share of ordinary samples, the
`outlier_rate`, is expected. With :math:`\rho=\min_kd_k/\tau_k`, a sample has the mass

.. math:: o=\frac{\rho^p}{1+\rho^p}

on the empty set, which is at least 0.5 beyond the reach of every cluster. A second source of evidence with this
mass on the empty set, and the rest on all clusters, is combined with the masses of the method by the conjunctive
rule: the nonempty sets keep their proportions and are multiplied by :math:`1-o`. For one cluster and
:math:`p=2/(\beta-1)` this is the mass of the empty set in ECM with :math:`\delta=\tau`. A sample between two
clusters is torn and not an outlier: if they form a focal set, the distance to the segment between their prototypes
is treated like a distance to a cluster.

Reaches are learned from distances to the nearest cluster or segment. Their unit is the median distance of all
samples, if a common unit describes most clusters, and that of each cluster otherwise. The tail of the distances is
extrapolated from quantiles that are robust to outliers, in 2 steps: a lognormal tail identifies obvious outliers,
and the other samples determine the weight of the tail (the exponent for which 3 quantiles are those of a normal
distribution).
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from evlearn.belief import FocalSets
from evlearn.storage import fields
from evlearn.utils.quantiles import weighted_quantile, weighted_quantiles
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

#: Expected share of ordinary samples that are outliers.
OUTLIER_RATE = 0.003
#: Mass on the empty set of a sample at the median distance.
_TYPICAL_SCORE = 1e-3
#: Quantiles and rate of the first step, quantiles of the second step, and default range of its exponent.
_FIRST, _FIRST_RATE, _SECOND = (0.5, 0.8), 0.005, (0.5, 0.8, 0.95)
_EXPONENTS = (-0.25, 2.0)
#: Number of samples below which a cluster has the median distance of all samples.
_MIN_SAMPLES = 5
#: Conditions for a common unit: maximum ratio of log(reach / median) to its value with a unit for each cluster,
#: and share of samples beyond the reach above which a cluster has a separate unit.
_MAX_RATIO, _MAX_REMOTE_SHARE = 1.15, 0.1
#: Distance in units up to which a sample is on a segment, and minimum share of samples outside segments for which
#: distances to segments are used for the tail.
_ON_SEGMENT, _MIN_OUTSIDE_SHARE = 1e-3, 0.1
#: Minimum ratio of reach and median distance, for clusters whose samples are all at the same distance.
_MIN_REACH = 1.05


@fields.stored
@dataclass(frozen=True)
class OutlierRule:
    """Distances beyond which samples are outliers.

    Attributes
    ----------
    reaches : ndarray of shape (n_clusters,)
        Reach of each cluster, in the unit of the distances.
    steepness : float
        Exponent p, which determines how fast the mass on the empty set increases with the distance.
    """

    reaches: Annotated[FloatArray, fields.array(1, low=np.finfo(float).tiny, high=1e100)]
    steepness: fields.PositiveNumber

    @classmethod
    def learn(
        cls,
        distances: FloatArray,
        weights: FloatArray,
        rate: float,
        segments: "Segments",
        exponents: tuple[float, float] = _EXPONENTS,
    ) -> "OutlierRule | None":
        """Learn the rule from the samples of a fit.

        Parameters
        ----------
        distances : ndarray of shape (n, n_clusters)
            Distances of samples to clusters.
        weights : ndarray of shape (n,)
            Weights of the samples.
        rate : float
            Expected share of ordinary samples that are outliers.
        segments : Segments
            Segments between clusters.
        exponents : tuple of float, default=(-0.25, 2.0)
            Range of the exponent of the tail; the lower it is, the heavier are the tails that are possible.

        Returns
        -------
        OutlierRule or None
            Rule; None if all distances to the nearest cluster are 0.
        """
        # In column order, minima over the clusters and distances to segments are many times faster.
        distances, weights = np.asfortranarray(distances[weights > 0]), weights[weights > 0]
        if len(weights):
            weights = weights * max(1.0, len(weights) / weights.sum())  # weights that are shares become counts
        units = _units(distances, weights)
        if units is None:
            return None
        common, individual = units
        separate = cls._in_units(distances, weights, rate, segments, individual, exponents)
        while True:
            rule = cls._in_units(distances, weights, rate, segments, common, exponents)
            exceptions = rule._has_remote_samples(distances, weights) & (common != individual)
            if not exceptions.any():
                break
            common = np.where(exceptions, individual, common)
        return rule if rule._is_sharp(separate) else separate

    @classmethod
    def _in_units(
        cls,
        distances: FloatArray,
        weights: FloatArray,
        rate: float,
        segments: "Segments",
        units: FloatArray,
        exponents: tuple[float, float],
    ) -> "OutlierRule":
        """Return the rule whose reaches are multiples of the units of the clusters."""
        ratios = (distances / units).min(axis=1)
        positive = (ratios > 0) & np.isfinite(ratios)
        segment_ratios = np.sqrt(segments.ratios(distances**2, units))
        outside = positive & (segment_ratios > _ON_SEGMENT)  # with 1 feature, many samples are on a segment
        if outside.sum() >= _MIN_OUTSIDE_SHARE * positive.sum():
            ratios, positive = np.fmin(ratios, segment_ratios), outside
        order = np.argsort(ratios[positive], kind="stable")  # so that quantiles need no further sorting
        ratios, weights = ratios[positive][order], weights[positive][order]
        middle = weighted_quantile(ratios, weights, 0.5)
        factor = max(_tail(ratios, weights, rate, exponents), _MIN_REACH * middle)
        steepness = float(np.log(1 / _TYPICAL_SCORE - 1) / np.log(factor / middle))
        return cls(units * factor, steepness)

    def _is_sharp(self, other: "OutlierRule") -> bool:
        """Return True if reaches, relative to the median distance, are not much longer than in another rule."""
        return self.steepness * _MAX_RATIO >= other.steepness

    def _has_remote_samples(self, distances: FloatArray, weights: FloatArray) -> BoolArray:
        """Return True for clusters with many samples beyond the reach."""
        nearest = (distances / self.reaches).argmin(axis=1)
        remote = distances[np.arange(len(distances)), nearest] > self.reaches[nearest]
        sizes, counts = (
            np.bincount(nearest, values, distances.shape[1]) for values in (weights, weights * remote)
        )
        return np.asarray(counts > np.maximum(_MAX_REMOTE_SHARE * sizes, 1))

    def scores(self, squares: FloatArray, segments: "Segments") -> FloatArray:
        """Return the mass of each sample on the empty set, from its squared distances to the clusters."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            ratios = (squares / self.reaches**2).min(axis=1)
            if len(segments.pairs):
                ratios = np.fmin(ratios, segments.ratios(squares, self.reaches))
            return np.asarray(1 / (1 + ratios ** (-self.steepness / 2)))

    def apply(self, masses: FloatArray, squares: FloatArray, segments: "Segments") -> FloatArray:
        """Replace the mass of the empty set by the score of each sample."""
        scores = self.scores(squares, segments)
        nonempty = masses[:, 1:].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            result = masses * ((1 - scores) / nonempty)[:, None]
        result[:, 0] = scores
        remote = ~np.isfinite(result).all(axis=1)  # too far for the computation of masses of clusters
        result[remote] = 0
        result[remote, 0] = 1
        return np.asarray(result, dtype=masses.dtype)


class Segments(NamedTuple):
    """Segments between the prototypes of clusters that form pairs, near which samples are torn and not outliers.

    Attributes
    ----------
    pairs : ndarray of int of shape (n_pairs, 2)
        Clusters of each pair.
    squares : ndarray of shape (n_pairs,)
        Squared lengths of the segments.
    """

    pairs: IntArray
    squares: FloatArray

    @classmethod
    def empty(cls) -> "Segments":
        """Return an empty set of segments, for methods without prototypes."""
        return cls(np.empty((0, 2), dtype=np.intp), np.empty(0))

    @classmethod
    def of(cls, focal_sets: FocalSets, squares: FloatArray) -> "Segments":
        """Return the segments of the pairs among focal sets, from squared distances between prototypes."""
        sets = np.flatnonzero(focal_sets.sizes == 2)
        pairs = focal_sets.members_of(sets)[1].reshape(len(sets), 2)
        lengths = squares[pairs[:, 0], pairs[:, 1]]
        return cls(pairs[lengths > 0], lengths[lengths > 0])

    @classmethod
    def of_prototypes(cls, focal_sets: FocalSets, prototypes: FloatArray) -> "Segments":
        """Return these segments for the Euclidean metric, without distances between all prototypes."""
        sets = np.flatnonzero(focal_sets.sizes == 2)
        pairs = focal_sets.members_of(sets)[1].reshape(len(sets), 2)
        lengths = ((prototypes[pairs[:, 0]] - prototypes[pairs[:, 1]]) ** 2).sum(axis=1)
        return cls(pairs[lengths > 0], lengths[lengths > 0])

    def ratios(self, squares: FloatArray, reaches: FloatArray) -> FloatArray:
        """Return the minimum squared ratio of the distance to a segment and the smaller reach of its ends."""
        smallest = np.full(len(squares), np.inf)
        for (first, second), length in zip(self.pairs, self.squares, strict=True):
            to_first, step = squares[:, first], squares[:, first] - squares[:, second]
            # For other samples, the foot of the perpendicular is not between the ends of the segment.
            to_segment = np.where(np.abs(step) < length, to_first - (step + length) ** 2 / (4 * length), np.inf)
            np.fmin(smallest, np.maximum(to_segment, 0) / min(reaches[first], reaches[second]) ** 2, out=smallest)
        return smallest


def _units(distances: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the median distance of all samples and that of each cluster; None if all distances are 0."""
    nearest = distances.argmin(axis=1)
    smallest = distances[np.arange(len(distances)), nearest]
    positive = smallest > 0
    if not positive.any():
        return None
    common = np.full(distances.shape[1], weighted_quantile(smallest[positive], weights[positive], 0.5))
    individual = common.copy()
    for k in range(len(individual)):
        members = positive & (nearest == k)
        if weights[members].sum() >= _MIN_SAMPLES:
            individual[k] = weighted_quantile(smallest[members], weights[members], 0.5)
    return common, individual


def _tail(ratios: FloatArray, weights: FloatArray, rate: float, exponents: tuple[float, float]) -> float:
    """Return the ratio that a share `rate` of the ordinary samples exceeds."""
    middle, high = weighted_quantiles(ratios, weights, _FIRST)
    first = middle * (high / middle) ** (ndtri(1 - _FIRST_RATE) / ndtri(_FIRST[1]))
    ordinary = ratios <= first
    quantiles = weighted_quantiles(ratios[ordinary], weights[ordinary], _SECOND)
    scores = [float(ndtri(q)) for q in _SECOND]
    return _extrapolate(quantiles, scores, float(-ndtri(rate)), exponents)


def _extrapolate(quantiles: list[float], scores: list[float], z: float, exponents: tuple[float, float]) -> float:
    """Return the quantile at z if a power of the ratios is normal; 3 quantiles determine the power."""
    low, middle, high = quantiles
    if not low < middle < high:  # discrete data can have few distinct distances
        return float(high * max(high / low, _MIN_REACH))

    def power(ratio: float, exponent: float) -> float:
        return float(np.log(ratio) if exponent == 0 else np.expm1(exponent * np.log(ratio)) / exponent)

    def excess(exponent: float) -> float:
        target = (scores[2] - scores[0]) / (scores[1] - scores[0])
        return power(high / low, exponent) - target * power(middle / low, exponent)

    smallest, largest = exponents
    if excess(smallest) >= 0:
        exponent = smallest
    elif excess(largest) <= 0:
        exponent = largest
    else:
        exponent = float(brentq(excess, smallest, largest))
    value = power(high / low, exponent) / (scores[2] - scores[0]) * (z - scores[0])
    if exponent == 0:
        return float(low * np.exp(value))
    base = 1 + exponent * value
    return float(low * base ** (1 / exponent)) if base > 0 else np.inf
