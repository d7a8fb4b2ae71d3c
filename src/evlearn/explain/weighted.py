"""Medians, shares and differences of values that belong to clusters by degrees."""

from dataclasses import dataclass

import numpy as np

from evlearn.utils.typing import FloatArray

#: Of a cluster and all others: how far apart their shares must be, and how surely, to be worth a sentence.
LEAST_EFFECT = 0.1
_SURELY = 1.63  # the factor of Kolmogorov and Smirnov for one error in a hundred
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Ranked:
    """Values in ascending order, with how much of each cluster, and of all samples, lies at or below each.

    Attributes
    ----------
    values : ndarray of shape (n_present,)
        The values that are there, sorted.
    below : ndarray of shape (n_present, n_clusters + 1)
        Shares of the clusters and, in the last column, of all samples. Zero for clusters without any.
    """

    values: FloatArray
    below: FloatArray

    @classmethod
    def of(cls, values: FloatArray, weights: FloatArray) -> "Ranked":
        """Rank values; `weights` has a column for each cluster."""
        order = np.argsort(values, kind="stable")
        sums = np.cumsum(with_all(weights[order]), axis=0)
        return cls(values[order], np.divide(sums, sums[-1], out=np.zeros_like(sums), where=sums[-1] > 0))

    def quantile(self, share: float) -> FloatArray:
        """A quantile of each cluster and of all; halfway between two values where both are meant."""
        found = np.empty(self.below.shape[1])
        for k, column in enumerate(self.below.T):
            last = len(column) - 1
            low = min(int(np.searchsorted(column, share - _ROUNDING)), last)
            high = min(int(np.searchsorted(column, share + _ROUNDING, side="right")), last)
            # As half of each, because a sum may overflow.
            found[k] = self.values[low] / 2 + self.values[high] / 2 if column[-1] > 0 else np.nan
        return found

    def gaps(self, sizes: FloatArray) -> FloatArray:
        """The largest difference between what lies below a value in a cluster and in all others."""
        ends = np.append(self.values[1:] != self.values[:-1], True)
        return largest_gap(self.below[ends], sizes)


def with_all(weights: FloatArray) -> FloatArray:
    """A last column for all samples, each of which counts once."""
    return np.column_stack([weights, np.ones(len(weights))])


def largest_gap(shares: FloatArray, sizes: FloatArray) -> FloatArray:
    """For each cluster, the largest difference from all others, from shares of clusters and of all.

    What is true of a share p of the cluster and of a share q of all is true of (q - s p) / (1 - s) of the others,
    if s is the size of the cluster as a share of all; so that they differ by (p - q) / (1 - s).
    """
    apart = np.abs(shares[:, :-1] - shares[:, -1:]).max(axis=0, initial=0)
    return against_others(apart, sizes)


def against_others(differences: FloatArray, sizes: FloatArray) -> FloatArray:
    """Differences from all others, from differences from all."""
    others = 1 - sizes
    told = (others > _ROUNDING) & (sizes > _ROUNDING)
    return np.where(told, np.clip(differences / np.where(told, others, 1), -1, 1), 0)


def least_effects(weights: FloatArray) -> FloatArray:
    """For each cluster, the effect that is worth a sentence: few samples may differ by chance."""
    squares = (weights**2).sum(axis=0)
    own = np.divide(weights.sum(axis=0) ** 2, squares, out=np.zeros_like(squares), where=squares > 0)
    rest = 1 - weights
    others = rest.sum(axis=0) ** 2 / np.maximum((rest**2).sum(axis=0), _ROUNDING)
    few = np.sqrt(1 / np.maximum(own, _ROUNDING) + 1 / np.maximum(others, _ROUNDING))
    return np.asarray(np.maximum(LEAST_EFFECT, _SURELY * few))
