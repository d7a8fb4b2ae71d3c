r"""The δ-Bel graph, for the centers and the number of clusters.

The neighbors of a sample are evidence that it is the center of a cluster; the evidence of a neighbor increases as
its distance decreases relative to its scale. With :math:`N_K(i)` the :math:`K` nearest neighbors of sample
:math:`i` without the sample itself, and :math:`1/\gamma_j` the :math:`q`-quantile of the distances of sample
:math:`j` to its neighbors,

.. math::

   Bel_i=1-\prod_{j\in N_K(i)}\Big(1-\frac1Ke^{-\gamma_j^2d_{ij}^2}\Big),\qquad
   \delta_i=\min\{d_{ij}:Bel_j>Bel_i\} .

A center has a large belief, and is far from all samples with larger belief.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from evlearn.cluster.dissimilarities import (
    distances_between,
    read_precomputed,
)
from evlearn.neighbors import BLOCK, Neighbors, check_finite, find_neighbors, is_metric
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, IntArray, Metric
from evlearn.utils.validation import check_integer, check_real

#: Number of scores among which "auto" selects peaks, and lower bound of scores relative to the largest score.
#: Without the bound, the logarithms of scores near zero would differ widely, although these samples are no
#: candidates.
_MAX_SCORES = 50
_FLOOR = 1e-3
#: Largest value whose square does not overflow, with a safety margin.
_LARGEST = 1e150


@dataclass(frozen=True, eq=False, repr=False)
class BeliefPeaks:
    """The δ-Bel graph of data, returned by `belief_peaks`.

    Attributes
    ----------
    bel : ndarray of shape (n_samples,)
        Degree of belief that the sample is the center of a cluster, from 0 to 1.
    delta : ndarray of shape (n_samples,)
        Distance to the nearest sample with larger belief; for the sample with the largest belief, the largest
        such distance of all other samples.
    n_neighbors : int
        Number of neighbors.

    See Also
    --------
    evlearn.plotting.BeliefPeaksDisplay : Plot of the graph.
    """

    bel: FloatArray
    delta: FloatArray
    n_neighbors: int

    def __repr__(self) -> str:
        return f"BeliefPeaks({len(self.bel)} samples, n_neighbors={self.n_neighbors})"

    @property
    def scores(self) -> FloatArray:
        """Scores of samples as centers: belief, scaled to [0, 1] over all samples, times delta."""
        low, high = self.bel.min(), self.bel.max()
        if low == high:  # only distances are informative
            return self.delta.copy()
        return np.asarray((self.bel - low) / (high - low) * self.delta)

    @property
    def gaps(self) -> FloatArray:
        """Decreases of the logarithm of the score after 1, 2, ... peaks.

        The largest scores are used, at most 50 and at most 1 more than half the number of samples; scores below
        0.001 times the largest are set to this value.
        """
        ordered = np.sort(self.scores)[::-1]
        largest = ordered[: min(_MAX_SCORES, len(ordered) // 2 + 1)]
        if largest[0] == 0:
            return np.zeros(len(largest) - 1)
        logs = np.log(np.maximum(largest / largest[0], _FLOOR))
        return np.asarray(logs[:-1] - logs[1:])

    def peaks(
        self,
        *,
        n_peaks: int | Literal["auto"] = "auto",
        min_bel: float | None = None,
        min_delta: float | None = None,
    ) -> IntArray:
        """Select the samples that stand out as centers.

        Parameters
        ----------
        n_peaks : int or "auto", default="auto"
            Number of peaks, which are the samples with the largest scores. "auto" selects the number before the
            largest decrease of the logarithm of the score, among the 50 largest scores, and at most half the
            number of samples. Not used with a threshold.
        min_bel : float or None, default=None
            Threshold: all samples with a larger belief are peaks.
        min_delta : float or None, default=None
            Threshold: all samples with a larger delta are peaks. If `min_bel` is given, too, both must hold.

        Returns
        -------
        ndarray of int of shape (n_peaks,)
            Sample numbers, in descending order of scores; ties are in ascending order of numbers.

        Examples
        --------
        >>> from evlearn.cluster import belief_peaks
        >>> from evlearn.datasets import load_butterfly
        >>> graph = belief_peaks(load_butterfly().data, n_neighbors=4)
        >>> graph.peaks()
        array([2, 8])
        >>> graph.peaks(min_bel=0.3, min_delta=2)
        array([2, 8])
        """
        scores = self.scores
        order = np.argsort(-scores, kind="stable")
        if min_bel is not None or min_delta is not None:
            if not (isinstance(n_peaks, str) and n_peaks == "auto"):
                raise ValueError(
                    f"give n_peaks or thresholds, not both; got n_peaks={n_peaks!r}, min_bel={min_bel} and "
                    f"min_delta={min_delta}."
                )
            return np.asarray(order[self._select_above(min_bel, min_delta)[order]])
        check_integer("n_peaks", n_peaks, 1, or_auto=True)
        if isinstance(n_peaks, str):
            return order[: int(self.gaps.argmax()) + 1]
        if n_peaks > len(order):
            raise ValueError(f"n_peaks must be at most {len(order)}, the number of samples, got {n_peaks}.")
        return order[:n_peaks]

    def _select_above(self, min_bel: float | None, min_delta: float | None) -> npt.NDArray[np.bool_]:
        selected = np.ones(len(self.bel), dtype=bool)
        for name, threshold, values in (("min_bel", min_bel, self.bel), ("min_delta", min_delta, self.delta)):
            if threshold is not None:
                check_real(name, threshold, 0)
                selected &= values > threshold
        if not selected.any():
            raise ValueError(
                f"no sample lies above min_bel={min_bel} and min_delta={min_delta}; the largest belief is "
                f"{self.bel.max():.3g} and the largest delta {self.delta.max():.3g}; use lower thresholds."
            )
        return selected


def belief_peaks(
    X: ArrayLike,
    *,
    n_neighbors: int | Literal["auto"] = "auto",
    q: float | None = 0.9,
    metric: Metric = "euclidean",
    n_jobs: int | None = None,
) -> BeliefPeaks:
    """Compute the δ-Bel graph: belief in samples as centers, and distances to samples with larger belief.

    Centers of clusters have a large belief and a large delta. Their number is a suggestion for ``n_clusters``, and
    they are good initial prototypes.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
        Features, or dissimilarities if `metric` is "precomputed".
    n_neighbors : int or "auto", default="auto"
        Number of neighbors of each sample, at most all others. "auto" is 10 % of the number of samples, but at
        least 10 and at most 100. Good values are between about 20 and the size of the smallest cluster: more
        neighbors blur the clusters, fewer increase the influence of noise. Large clusters need more; 10 % of their
        size is sufficient.
    q : float or None, default=0.9
        Quantile of the distances of a sample to its neighbors that is its scale. With None, all scales are 1.
    metric : str or callable, default="euclidean"
        "precomputed" for a square matrix of dissimilarities, or a metric of `sklearn.neighbors.NearestNeighbors`
        that needs no parameters.
    n_jobs : int or None, default=None
        Number of threads for the neighbor search.

    Returns
    -------
    BeliefPeaks
        Belief and delta of each sample, and a method that selects peaks.

    Notes
    -----
    Samples with the same belief are ranked in ascending order of their numbers. If most neighbors of a sample
    coincide with it, its scale is zero, and it supports only samples that coincide with it.

    In addition to the data, the memory contains `n_neighbors` values of 4 bytes for each sample, or of 12 bytes
    with more than 15 features or a metric that is not Euclidean.

    References
    ----------
    Su and Denœux (2019), BPEC: belief-peaks evidential clustering, IEEE Transactions on
    Fuzzy Systems 27, doi:10.1109/TFUZZ.2018.2869125.

    Examples
    --------
    There are 4 peaks for 4 clusters:

    >>> from evlearn.cluster import belief_peaks
    >>> from evlearn.datasets import make_fourclass
    >>> X, y = make_fourclass(400, random_state=0)
    >>> graph = belief_peaks(X, n_neighbors=50)
    >>> peaks = graph.peaks()
    >>> y[peaks]
    array([3, 0, 2, 1])
    """
    if q is not None:
        check_real("q", q, 0, 1, open_low=True)
    data = _read_data(X, metric)
    width = count_neighbors(n_neighbors, len(data))
    return graph_of(find_neighbors(data, width, metric=metric, n_jobs=n_jobs), q)


def graph_of(neighbors: Neighbors, q: float | None = 0.9) -> BeliefPeaks:
    """Return the δ-Bel graph of samples and their neighbors."""
    bel = _belief(neighbors, q)
    delta = _delta(neighbors, bel)
    check_finite(delta, neighbors.metric)
    return BeliefPeaks(bel, delta, neighbors.indices.shape[1])


def _belief(neighbors: Neighbors, q: float | None) -> FloatArray:
    n_samples, width = neighbors.indices.shape
    scales = np.ones(n_samples)
    if q is not None:
        for rows, _, distances in neighbors.blocks():
            scales[rows] = np.quantile(distances, q, axis=1)
        # A scale of zero is a limit: the support is full at distance zero, and zero at larger distances.
        np.maximum(scales, np.finfo(np.float64).tiny, out=scales)
    bel = np.empty(n_samples)
    # The support is zero far beyond a small scale, and the belief is 1 with a single neighbor at distance zero.
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        for rows, indices, distances in neighbors.blocks():
            supports = np.exp(-np.square(distances / scales[indices])) / width
            bel[rows] = -np.expm1(np.log1p(-supports).sum(axis=1))
    return bel


def _delta(neighbors: Neighbors, bel: FloatArray) -> FloatArray:
    order = np.argsort(-bel, kind="stable")
    rank = np.empty(len(bel), dtype=np.int32)
    rank[order] = np.arange(len(bel))
    delta = np.empty(len(bel))
    for rows, indices, distances in neighbors.blocks():
        delta[rows] = np.where(rank[indices] < rank[rows, None], distances, np.inf).min(axis=1)
    pending = np.flatnonzero(np.isinf(delta[order]))[1:]
    delta[order[pending]] = _search_all(neighbors, order, pending)
    delta[order[0]] = delta[order[1:]].max()
    return delta


def _search_all(neighbors: Neighbors, order: IntArray, pending: IntArray) -> FloatArray:
    """Compute delta at pending positions of the order, from the distances to all samples of higher rank."""
    # The data are sorted in advance, because indexing in each block would take longer than the distances.
    ordered = None if is_metric(neighbors.metric, "precomputed") else neighbors.data[order]
    delta = np.empty(len(pending))
    for block in row_blocks(len(pending), max(BLOCK // len(order), 1)):
        positions, n_higher = pending[block], pending[block.stop - 1]
        if ordered is None:
            distances = neighbors.data[np.ix_(order[positions], order[:n_higher])]
        else:
            distances = distances_between(ordered[positions], ordered[:n_higher], neighbors.pairwise_metric)
        distances[np.arange(n_higher) >= positions[:, None]] = np.inf
        delta[block] = distances.min(axis=1)
    return delta


def _read_data(X: Any, metric: Any) -> FloatArray:
    if is_metric(metric, "seuclidean", "mahalanobis"):
        raise ValueError(
            f"metric={metric!r} needs parameters; scale X, or pass a matrix with metric='precomputed'."
        )
    data: FloatArray = check_array(X, dtype=np.float64, ensure_min_samples=2, input_name="X")
    if not is_metric(metric, "precomputed"):
        if np.abs(data).max() > _LARGEST:
            raise ValueError(f"X has values beyond {_LARGEST:g}, whose squares overflow; divide X by a constant.")
        return data
    return read_precomputed(data, reset=True, squares=False).data


def count_neighbors(n_neighbors: int | str, n_samples: int) -> int:
    """Return the number of neighbors of each sample."""
    check_integer("n_neighbors", n_neighbors, 1, or_auto=True)
    if isinstance(n_neighbors, str):
        n_neighbors = min(100, max(10, -(-n_samples // 10)))
    return min(int(n_neighbors), n_samples - 1)
