r"""Confidence intervals on the probability that two samples belong to the same cluster.

Under replicate b of a mixture the probability is :math:`P_{ij}^{(b)}=\sum_kT_{ik}^{(b)}T_{jk}^{(b)}`, whatever its
components are called. The interval of a pair runs between two percentiles over the replicates. Probabilities are
made for some pairs at a time, reduced to two numbers each, and forgotten.
"""

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from evlearn.kernels.same_cluster import same_cluster
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_shape

# Probabilities held at a time, of all replicates of some pairs.
_NUMBERS_AT_A_TIME = 1 << 18


@dataclass(frozen=True)
class PairIntervals:
    """What is known about pairs of samples: whether they belong to the same cluster.

    Attributes
    ----------
    pairs : ndarray of int of shape (n_pairs, 2)
        The numbers of both samples.
    lower : ndarray of shape (n_pairs,)
        The lower bound of the bootstrap confidence interval on the probability.
    upper : ndarray of shape (n_pairs,)
        The upper bound.
    belief : ndarray of shape (n_pairs,)
        The lower bound that the mass functions give: what to read, and what `coverage` counts.
    plausibility : ndarray of shape (n_pairs,)
        The upper bound that they give.
    """

    pairs: IntArray
    lower: FloatArray
    upper: FloatArray
    belief: FloatArray
    plausibility: FloatArray

    def coverage(self, probabilities: FloatArray) -> float:
        """The share of pairs whose probability lies between belief and plausibility.

        Parameters
        ----------
        probabilities : ndarray of shape (n_pairs,)
            The true probabilities, of data that were generated.

        Returns
        -------
        float
            The share, to be compared with the confidence.
        """
        return float(((self.belief <= probabilities) & (probabilities <= self.plausibility)).mean())


def percentile_intervals(
    left: FloatArray,
    right: FloatArray,
    pairs: IntArray,
    confidence: float,
    *,
    n_jobs: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Two percentiles, over replicates, of the probability that two samples are in the same cluster.

    Returns
    -------
    lower, upper : ndarray of float32 of shape (n_pairs,)
        The percentiles, interpolated.
    """
    check_shape("right", right, (len(right), *left.shape[1:]))  # compiled code does not look
    n_replicates = left.shape[2]
    places = (n_replicates - 1) * np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    below = np.floor(places).astype(np.intp)
    above = np.ceil(places).astype(np.intp)
    parts = (places - below).astype(np.float32)
    bounds = np.empty((len(pairs), 2), dtype=np.float32)
    first, second = np.ascontiguousarray(pairs.T, dtype=np.intp)

    def reduce(some: slice) -> None:
        values = replicated(left, right, first[some], second[some])
        values.sort(axis=1)  # whole, because NumPy sorts short rows faster than it selects from them
        low, high = values[:, below], values[:, above]
        bounds[some] = low + parts * (high - low)

    blocks = row_blocks(len(pairs), max(1, _NUMBERS_AT_A_TIME // n_replicates))
    Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(reduce)(some) for some in blocks)
    return bounds[:, 0], bounds[:, 1]


def replicated(left: FloatArray, right: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    """The probability that two samples are in the same cluster, for pairs as rows and replicates as columns."""
    values = np.empty((len(first), left.shape[2]), dtype=np.float32)
    same_cluster(left, right, first, second, values)
    return values


__all__ = ["PairIntervals", "percentile_intervals"]
