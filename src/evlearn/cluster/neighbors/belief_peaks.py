r"""The δ-Bel graph: which samples look like centres of clusters, and how many clusters there are.

The neighbours of a sample are witnesses for "this sample is a centre": the nearer they are, each on its own
scale, the more they say so. With :math:`N_K(i)` the :math:`K` nearest neighbours of sample :math:`i`, itself
excluded, and :math:`1/\gamma_j` the :math:`q`-quantile of the distances of sample :math:`j` to its own neighbours,

.. math::

   Bel_i=1-\prod_{j\in N_K(i)}\Big(1-\frac1Ke^{-\gamma_j^2d_{ij}^2}\Big),\qquad
   \delta_i=\min\{d_{ij}:Bel_j>Bel_i\} .

A centre has a large belief, and is far from every sample of larger belief.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from evlearn.cluster.dissimilarities import check_dissimilarities, distances_between, symmetric_dissimilarities
from evlearn.cluster.neighbors.search import BLOCK, Neighbors, check_finite, find_neighbors, is_metric
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, IntArray, Metric
from evlearn.utils.validation import check_integer, check_real

#: "auto" peaks: how many scores are looked at, and below what share of the largest they all count the same. Scores
#: of hopeless candidates come close to zero, where their logarithms are far apart and mean nothing.
_MOST_SCORES = 50
_FLOOR = 1e-3
_LARGEST = 1e150


@dataclass(frozen=True, eq=False, repr=False)
class DeltaBel:
    """The δ-Bel graph of data; made by `delta_bel`.

    Attributes
    ----------
    bel : ndarray of shape (n_samples,)
        The degree of belief that the sample is the centre of a cluster, from 0 to 1.
    delta : ndarray of shape (n_samples,)
        The distance to the nearest sample of larger belief; for the sample of largest belief, the largest such
        distance of all others.
    n_neighbors : int
        The number of neighbours used.

    See Also
    --------
    evlearn.plotting.DeltaBelDisplay : The picture.
    """

    bel: FloatArray
    delta: FloatArray
    n_neighbors: int

    def __repr__(self) -> str:
        return f"DeltaBel({len(self.bel)} samples, n_neighbors={self.n_neighbors})"

    @property
    def scores(self) -> FloatArray:
        """How good a centre each sample is: its belief, scaled to [0, 1] over all samples, times its delta."""
        low, high = self.bel.min(), self.bel.max()
        if low == high:  # then distances decide
            return self.delta.copy()
        return np.asarray((self.bel - low) / (high - low) * self.delta)

    @property
    def gaps(self) -> FloatArray:
        """How far scores fall after each number of peaks, from one on: differences of their logarithms.

        These are the 50 largest scores, of at most half the samples and one; below a thousandth of the largest
        they all count the same.
        """
        ordered = np.sort(self.scores)[::-1]
        looked_at = ordered[: min(_MOST_SCORES, len(ordered) // 2 + 1)]
        if looked_at[0] == 0:
            return np.zeros(len(looked_at) - 1)
        logs = np.log(np.maximum(looked_at / looked_at[0], _FLOOR))
        return np.asarray(logs[:-1] - logs[1:])

    def peaks(
        self,
        *,
        n_peaks: int | Literal["auto"] = "auto",
        min_bel: float | None = None,
        min_delta: float | None = None,
    ) -> IntArray:
        """The samples that stand out as centres.

        Parameters
        ----------
        n_peaks : int or "auto", default="auto"
            How many; those of the largest scores. "auto" looks for the largest gap between the logarithms of
            successive scores, among the 50 largest, and finds at most one peak for every two samples. It is not
            used where a threshold is given.
        min_bel : float or None, default=None
            Use all samples whose belief is above this.
        min_delta : float or None, default=None
            Use all samples whose delta is above this; with `min_bel` too, both must hold.

        Returns
        -------
        ndarray of int of shape (n_peaks,)
            Sample numbers, the largest score first; of equal scores the lower number first.

        Examples
        --------
        >>> from evlearn.cluster import delta_bel
        >>> from evlearn.datasets import load_butterfly
        >>> graph = delta_bel(load_butterfly().data, n_neighbors=4)
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
                    f"give n_peaks or thresholds, not both; got n_peaks={n_peaks!r} with a threshold."
                )
            return np.asarray(order[self._above(min_bel, min_delta)[order]])
        check_integer("n_peaks", n_peaks, 1, or_auto=True)
        if isinstance(n_peaks, str):
            return order[: int(self.gaps.argmax()) + 1]
        if n_peaks > len(order):
            raise ValueError(f"n_peaks must be at most {len(order)}, the number of samples, got {n_peaks}.")
        return order[:n_peaks]

    def _above(self, min_bel: float | None, min_delta: float | None) -> npt.NDArray[np.bool_]:
        chosen = np.ones(len(self.bel), dtype=bool)
        for name, least, values in (("min_bel", min_bel, self.bel), ("min_delta", min_delta, self.delta)):
            if least is not None:
                check_real(name, least, 0)
                chosen &= values > least
        if not chosen.any():
            raise ValueError(
                f"no sample lies above min_bel={min_bel} and min_delta={min_delta}; the largest belief is "
                f"{self.bel.max():.3g} and the largest delta {self.delta.max():.3g}, lower the thresholds."
            )
        return chosen


def delta_bel(
    X: ArrayLike,
    *,
    n_neighbors: int | Literal["auto"] = "auto",
    q: float | None = 0.9,
    metric: Metric = "euclidean",
    n_jobs: int | None = None,
) -> DeltaBel:
    """The δ-Bel graph: for each sample, how much its neighbours consider it a centre, and how far the next one is.

    Centres of clusters have a large belief and a large delta. Their number is a suggestion for ``n_clusters``, and
    they are good starting points for methods with prototypes.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
        Features, or dissimilarities if `metric` is "precomputed".
    n_neighbors : int or "auto", default="auto"
        How many neighbours each sample has, at most all others. "auto" is a tenth of the samples, but at least 10
        and at most 100. Good values are some tens, up to the size of the smallest cluster: more blur the clusters,
        fewer follow chance. Large clusters need more; a tenth of their size is enough.
    q : float or None, default=0.9
        The quantile of a sample's distances to its neighbours that is its scale. None means the scale 1 for all.
    metric : str or callable, default="euclidean"
        "precomputed" for a square matrix of dissimilarities, or a metric of `sklearn.neighbors.NearestNeighbors`
        that needs no parameters.
    n_jobs : int or None, default=None
        Threads for the neighbour search.

    Returns
    -------
    DeltaBel
        Belief and delta of each sample, and a method for choosing peaks.

    Notes
    -----
    Of samples with the same belief, the one with the lowest number counts as higher. A neighbour whose own
    neighbours mostly coincide with it has the scale zero: it supports those that coincide with it, and no other.

    Beside the data, memory holds `n_neighbors` numbers of 4 bytes for each sample, or of 12 bytes with more than
    15 features or other metrics than Euclidean.

    References
    ----------
    Su and Denœux (2019).

    Examples
    --------
    Four clusters, four peaks:

    >>> from evlearn.cluster import delta_bel
    >>> from evlearn.datasets import make_fourclass
    >>> X, y = make_fourclass(400, random_state=0)
    >>> graph = delta_bel(X, n_neighbors=50)
    >>> peaks = graph.peaks()
    >>> y[peaks]
    array([3, 0, 2, 1])
    """
    if q is not None:
        check_real("q", q, 0, 1, open_low=True)
    data = _read(X, metric)
    width = _width(n_neighbors, len(data))
    return _graph(find_neighbors(data, width, metric=metric, n_jobs=n_jobs), q)


def _graph(neighbors: Neighbors, q: float | None) -> DeltaBel:
    bel = _belief(neighbors, q)
    delta = _delta(neighbors, bel)
    check_finite(delta, neighbors.metric)
    return DeltaBel(bel, delta, neighbors.indices.shape[1])


def _belief(neighbors: Neighbors, q: float | None) -> FloatArray:
    n_samples, width = neighbors.indices.shape
    scales = np.ones(n_samples)
    if q is not None:
        for rows, _, distances in neighbors.blocks():
            scales[rows] = np.quantile(distances, q, axis=1)
        # A scale of zero as a limit: full support at distance zero, and none beyond.
        np.maximum(scales, np.finfo(np.float64).tiny, out=scales)
    bel = np.empty(n_samples)
    # Far beyond a tiny scale a support is zero, and with one neighbour at distance zero belief is one.
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        for rows, found, distances in neighbors.blocks():
            supports = np.exp(-np.square(distances / scales[found])) / width
            bel[rows] = -np.expm1(np.log1p(-supports).sum(axis=1))
    return bel


def _delta(neighbors: Neighbors, bel: FloatArray) -> FloatArray:
    order = np.argsort(-bel, kind="stable")
    rank = np.empty(len(bel), dtype=np.int32)
    rank[order] = np.arange(len(bel))
    delta = np.empty(len(bel))
    for rows, found, distances in neighbors.blocks():
        delta[rows] = np.where(rank[found] < rank[rows, None], distances, np.inf).min(axis=1)
    pending = np.flatnonzero(np.isinf(delta[order]))[1:]
    delta[order[pending]] = _look_at_all(neighbors, order, pending)
    delta[order[0]] = delta[order[1:]].max()
    return delta


def _look_at_all(neighbors: Neighbors, order: IntArray, pending: IntArray) -> FloatArray:
    """The delta of samples without a higher neighbour, at these places of the order: all higher ones are asked."""
    # In order once and for all: picking the higher ones for each block would take longer than their distances.
    ordered = None if is_metric(neighbors.metric, "precomputed") else neighbors.data[order]
    delta = np.empty(len(pending))
    for block in row_blocks(len(pending), max(BLOCK // len(order), 1)):
        places, n_higher = pending[block], pending[block.stop - 1]
        if ordered is None:
            distances = neighbors.data[np.ix_(order[places], order[:n_higher])]
        else:
            distances = distances_between(ordered[places], ordered[:n_higher], neighbors.pairwise_metric)
        distances[np.arange(n_higher) >= places[:, None]] = np.inf
        delta[block] = distances.min(axis=1)
    return delta


def _read(X: Any, metric: Any) -> FloatArray:
    if is_metric(metric, "seuclidean", "mahalanobis"):
        raise ValueError(f"metric={metric!r} needs parameters; scale X first, or give a matrix as 'precomputed'.")
    data: FloatArray = check_array(X, dtype=np.float64, ensure_min_samples=2, input_name="X")
    if not is_metric(metric, "precomputed"):
        if np.abs(data).max() > _LARGEST:
            raise ValueError(f"X has values beyond {_LARGEST:g}, whose squares overflow; divide it by a constant.")
        return data
    check_dissimilarities(data, square=True)
    return symmetric_dissimilarities(data)


def _width(n_neighbors: int | str, n_samples: int) -> int:
    check_integer("n_neighbors", n_neighbors, 1, or_auto=True)
    if isinstance(n_neighbors, str):
        n_neighbors = min(100, max(10, -(-n_samples // 10)))
    return min(int(n_neighbors), n_samples - 1)


__all__ = ["DeltaBel", "delta_bel"]
