"""Medians, shares and differences of values weighted by degrees of membership."""

from dataclasses import dataclass

import numpy as np

from evlearn.utils.typing import FloatArray

#: Minimum difference between the shares of a cluster and of all other samples that is reported.
MIN_EFFECT = 0.1
_CRITICAL_VALUE = 1.63  # of the Kolmogorov-Smirnov test at the 1 % level
_ROUNDING = 1e-9


@dataclass(frozen=True)
class RankedValues:
    """Values in ascending order, with the shares of each cluster and of all samples at or below each value.

    Attributes
    ----------
    values : ndarray of shape (n_present,)
        Values that are not missing, sorted.
    below : ndarray of shape (n_present, n_clusters + 1)
        Shares of the clusters and, in the last column, of all samples. Zero for clusters without values.
    """

    values: FloatArray
    below: FloatArray

    @classmethod
    def of(cls, values: FloatArray, weights: FloatArray) -> "RankedValues":
        """Sort values; `weights` has a column for each cluster."""
        order = np.argsort(values, kind="stable")
        sums = np.cumsum(append_all_samples(weights[order]), axis=0)
        return cls(values[order], np.divide(sums, sums[-1], out=np.zeros_like(sums), where=sums[-1] > 0))

    def quantile(self, share: float) -> FloatArray:
        """Return a quantile of each cluster and of all samples; ties between 2 values give their midpoint."""
        quantiles = np.empty(self.below.shape[1])
        for k, column in enumerate(self.below.T):
            last = len(column) - 1
            low = min(int(np.searchsorted(column, share - _ROUNDING)), last)
            high = min(int(np.searchsorted(column, share + _ROUNDING, side="right")), last)
            # Halves are added, because the sum of both values may overflow.
            quantiles[k] = self.values[low] / 2 + self.values[high] / 2 if column[-1] > 0 else np.nan
        return quantiles

    def largest_differences(self, sizes: FloatArray) -> FloatArray:
        """Return the Kolmogorov-Smirnov distance between each cluster and all other samples."""
        ends = np.append(self.values[1:] != self.values[:-1], True)
        return largest_difference(self.below[ends], sizes)


def append_all_samples(weights: FloatArray) -> FloatArray:
    """Append a column in which each sample has weight 1."""
    return np.column_stack([weights, np.ones(len(weights))])


def largest_difference(shares: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the largest difference between the shares of each cluster and of all other samples.

    Let p be the share of a property in the cluster, q its share in all samples, and s the size of the cluster as a
    share of all samples. The share in the other samples is (q - s p) / (1 - s). The difference is
    (p - q) / (1 - s).
    """
    distances = np.abs(shares[:, :-1] - shares[:, -1:]).max(axis=0, initial=0)
    return differences_from_others(distances, sizes)


def differences_from_others(differences: FloatArray, sizes: FloatArray) -> FloatArray:
    """Convert differences from all samples to differences from all other samples."""
    others = 1 - sizes
    is_partial = (others > _ROUNDING) & (sizes > _ROUNDING)
    return np.where(is_partial, np.clip(differences / np.where(is_partial, others, 1), -1, 1), 0)


def minimum_effects(weights: FloatArray) -> FloatArray:
    """Return the minimum effect to report for each cluster; it is larger for small clusters."""
    squares = (weights**2).sum(axis=0)
    n_inside = np.divide(weights.sum(axis=0) ** 2, squares, out=np.zeros_like(squares), where=squares > 0)
    rest = 1 - weights
    n_outside = rest.sum(axis=0) ** 2 / np.maximum((rest**2).sum(axis=0), _ROUNDING)
    noise = np.sqrt(1 / np.maximum(n_inside, _ROUNDING) + 1 / np.maximum(n_outside, _ROUNDING))
    return np.asarray(np.maximum(MIN_EFFECT, _CRITICAL_VALUE * noise))
