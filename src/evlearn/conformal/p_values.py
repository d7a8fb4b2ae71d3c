"""From scores to p-values, and from p-values to plausibilities."""

from dataclasses import dataclass

import numpy as np

from evlearn.utils.typing import BoolArray, FloatArray, IntArray

#: With more clusters than this, masses are on the nested sets of so many most plausible ones, and on all clusters.
MOST_CLUSTERS, LONGEST_CHAIN = 10, 3


def nonconformity(support: FloatArray) -> FloatArray:
    """How strange each cluster is for each sample: below zero for the best cluster, and minus log support else.

    So no other cluster enters a set before every sample has its best one. Logarithms keep clusters apart that have
    next to no support; with one p-value for all of them, sets would soon hold all clusters.
    """
    best = support >= support.max(axis=1, keepdims=True, initial=0)
    return np.asarray(np.where(best, -support, -np.log(np.maximum(support, np.finfo(np.float64).tiny))))


@dataclass(frozen=True)
class Scores:
    """Sorted scores, some of them of the same samples, to which others are compared."""

    values: FloatArray
    n_samples: int

    @classmethod
    def of(cls, values: FloatArray, samples: IntArray) -> "Scores":
        """Scores and the samples that have them."""
        return cls(np.sort(values), len(np.unique(samples)))

    def p_values(self, values: FloatArray) -> FloatArray:
        """The share of samples, the new one among them, whose scores are at least as large."""
        larger = 1 - np.searchsorted(self.values, values, side="left") / len(self.values)
        return np.asarray((1 + self.n_samples * larger) / (self.n_samples + 1))


def contour(p_values: FloatArray, best: BoolArray, outlier: FloatArray, level: float) -> FloatArray:
    """The plausibilities of clusters: valid, one for the best cluster of samples that are no outliers.

    The errors that outliers may be, `level`, are added to the p-values, so that both together are not too many.
    The plausibilities of outliers, whose p-values are at most `level`, are at most one half.
    """
    plausible = np.where(best, 1, np.minimum(p_values + level, 1))
    odd = outlier <= level
    plausible[odd] = (outlier[odd] / (2 * level))[:, None] * (1 + plausible[odd]) / 2 if level > 0 else 0
    return np.asarray(plausible)


def shortened(plausible: FloatArray) -> FloatArray:
    """Plausibilities that few nested sets can hold: of many clusters, the least plausible are made alike."""
    if plausible.shape[1] <= MOST_CLUSTERS:
        return plausible
    rest = -np.partition(-plausible, LONGEST_CHAIN, axis=1)[:, LONGEST_CHAIN, None]
    return np.maximum(plausible, rest)
