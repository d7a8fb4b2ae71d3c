r"""Confidence intervals on the probability that two samples belong to the same cluster.

Under replicate b of a mixture the probability is :math:`P_{ij}^{(b)}=\sum_kT_{ik}^{(b)}T_{jk}^{(b)}`, for any
order of its components. The interval of a pair is bounded by 2 percentiles over the replicates. Probabilities are
computed for blocks of pairs and reduced to 2 numbers for each pair.
"""

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from evlearn.kernels.same_cluster import same_cluster
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_shape

# Maximum number of probabilities per block.
_BLOCK_SIZE = 1 << 18


@dataclass(frozen=True)
class PairIntervals:
    """Bounds of the probability that 2 samples belong to the same cluster, for pairs of samples.

    Attributes
    ----------
    pairs : ndarray of int of shape (n_pairs, 2)
        Numbers of both samples.
    lower : ndarray of shape (n_pairs,)
        Lower bound of the bootstrap confidence interval on the probability.
    upper : ndarray of shape (n_pairs,)
        Upper bound of this interval.
    belief : ndarray of shape (n_pairs,)
        Lower bound from the mass functions, which is used for `coverage`.
    plausibility : ndarray of shape (n_pairs,)
        Upper bound from the mass functions.
    """

    pairs: IntArray
    lower: FloatArray
    upper: FloatArray
    belief: FloatArray
    plausibility: FloatArray

    def coverage(self, probabilities: FloatArray) -> float:
        """Return the share of pairs whose probability is between belief and plausibility.

        Parameters
        ----------
        probabilities : ndarray of shape (n_pairs,)
            True probabilities, which are known for generated data.

        Returns
        -------
        float
            Share, to be compared with the confidence level.
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
    """Compute 2 percentiles, over replicates, of the probability that samples are in the same cluster.

    Returns
    -------
    lower, upper : ndarray of float32 of shape (n_pairs,)
        Interpolated percentiles.
    """
    check_shape("right", right, (len(right), *left.shape[1:]))  # compiled code has no bounds checks
    n_replicates = left.shape[2]
    ranks = (n_replicates - 1) * np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    lower_ranks = np.floor(ranks).astype(np.intp)
    upper_ranks = np.ceil(ranks).astype(np.intp)
    parts = (ranks - lower_ranks).astype(np.float32)
    bounds = np.empty((len(pairs), 2), dtype=np.float32)
    first, second = np.ascontiguousarray(pairs.T, dtype=np.intp)

    def reduce(block: slice) -> None:
        values = replicate_probabilities(left, right, first[block], second[block])
        values.sort(axis=1)  # for short rows, sorting is faster than selection with NumPy
        low, high = values[:, lower_ranks], values[:, upper_ranks]
        bounds[block] = low + parts * (high - low)

    blocks = row_blocks(len(pairs), max(1, _BLOCK_SIZE // n_replicates))
    Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(reduce)(block) for block in blocks)
    return bounds[:, 0], bounds[:, 1]


def replicate_probabilities(left: FloatArray, right: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    """Compute the probabilities that samples are in the same cluster: rows are pairs, columns are replicates."""
    values = np.empty((len(first), left.shape[2]), dtype=np.float32)
    same_cluster(left, right, first, second, values)
    return values
