"""What hdbscan and its kind call noise, told apart: samples of a cluster after all, between clusters, or odd."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evlearn.partition.credal_partition import CredalPartition
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import check_integer

# Up to 1, which one clustered sample in twenty exceeds, nothing is odd; from 3 on a sample is an outlier. A little
# is left for the nearest cluster, so that it is known.
_USUAL, _BY_UNIT, _MOST_ODD = 1.0, 0.25, 0.95
_ONE_IN_TWENTY = 0.95
# In a grid all samples are equally remote; differences below this mean nothing.
_SMALLEST_SPREAD = 0.05
# What scikit-learn's HDBSCAN writes for rows with infinite and with missing values.
_INFINITE, _MISSING = -2, -3


def from_hdbscan(clusterer: Any, X: ArrayLike, *, n_neighbors: int = 10) -> CredalPartition:
    """A credal partition from labels with noise, in which noise is told apart.

    Noise that lies close to one cluster belongs to it; what lies between clusters is torn between them; and what
    is far from all is odd, with mass on the empty set. Every sample gets an answer.

    Parameters
    ----------
    clusterer : fitted estimator or array-like of int of shape (n_samples,)
        HDBSCAN from scikit-learn or hdbscan, or any other that has ``labels_`` with noise below 0; or
        such labels, for example the topics of BERTopic.
    X : array-like of shape (n_samples, n_features)
        The samples that it was fitted to, or the embeddings of documents; compared by Euclidean distances.
    n_neighbors : int, default=10
        How many samples of a cluster a sample is compared with.

    Returns
    -------
    CredalPartition
        Masses on single clusters, in the order of their labels, and on the empty set.

    See Also
    --------
    as_credal : Labels as they are, with all noise on the empty set.

    Notes
    -----
    A sample's mean distance to its nearest samples of a cluster is divided by what these have among themselves.
    The logarithm, in units that only one clustered sample in twenty exceeds, is how remote the sample is from the
    cluster. Clusters have shares proportional to exp(-remoteness). The mass of the empty set is a quarter of what
    the remoteness from the nearest cluster has beyond 1, and at most 0.95. Clustered samples keep their label with
    the strength that ``probabilities_`` tells (fully, without them), share the rest, and are never odd. Samples
    with infinite values are odd; with missing values, as likely in one cluster as in another.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import HDBSCAN
    >>> from evlearn.partition import from_hdbscan
    >>> left, right = np.random.default_rng(0).normal(
    ...     [[[-2, 0]], [[2, 0]]], 0.8, size=(2, 100, 2)
    ... )
    >>> X = np.vstack([left, right, [[0, 0], [0, 40]]])
    >>> found = from_hdbscan(HDBSCAN(min_cluster_size=20, copy=True).fit(X), X)
    >>> print(*found.verdict().labels()[-2:])
    Ω outlier
    """
    check_integer("n_neighbors", n_neighbors, 1)
    labels, strengths = _read(clusterer)
    data = np.asarray(X, dtype=np.float64)
    if data.ndim != 2 or len(data) != len(labels):
        raise ValueError(f"X must have a row for each of the {len(labels)} labels, got shape {data.shape}.")
    present, codes = np.unique(labels, return_inverse=True)
    codes = codes - int((present < 0).sum())
    n_clusters = int(codes.max()) + 1
    if n_clusters == 0:
        raise ValueError("clusterer labels all samples as noise; change its parameters.")
    shares, odd = np.full((len(data), n_clusters), 1 / n_clusters), np.zeros(len(data))
    usable = np.isfinite(data).all(axis=1)
    shares[usable], odd[usable] = _shares(_remoteness(data[usable], codes[usable], n_clusters, n_neighbors))
    odd[(labels >= 0) | (labels == _MISSING)] = 0
    odd[labels == _INFINITE] = 1
    degrees = shares * (1 - strengths - odd)[:, None]
    degrees[labels >= 0, codes[labels >= 0]] += strengths[labels >= 0]
    from evlearn.partition.estimators import with_names_of  # which loads scikit-learn

    return with_names_of(X, CredalPartition.from_fuzzy(degrees))


def _read(clusterer: Any) -> tuple[IntArray, FloatArray]:
    """Labels, and how much each of them holds: nothing for noise."""
    labels = np.asarray(getattr(clusterer, "labels_", clusterer))
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            "clusterer must be fitted and have labels_, or be labels of shape (n_samples,), whole numbers with "
            f"noise below 0; got {clusterer!r}."
        )
    found = getattr(clusterer, "probabilities_", None)
    strengths = np.ones(len(labels)) if found is None else np.nan_to_num(np.asarray(found, dtype=np.float64))
    return labels, np.where(labels < 0, 0, strengths)


def _remoteness(data: FloatArray, codes: IntArray, n_clusters: int, n_neighbors: int) -> FloatArray:
    """How remote each sample is from each cluster, in units that one clustered sample in twenty exceeds."""
    found = np.empty((len(data), n_clusters))
    for cluster in range(n_clusters):
        found[:, cluster] = _log_ratios(data, codes == cluster, n_neighbors)
    inside = np.flatnonzero(codes >= 0)
    spread = float(np.quantile(found[inside, codes[inside]], _ONE_IN_TWENTY))
    return found / max(spread, _SMALLEST_SPREAD)


def _log_ratios(data: FloatArray, members: BoolArray, n_neighbors: int) -> FloatArray:
    """How far samples are from members of a cluster, beside how far these are from each other."""
    from sklearn.neighbors import NearestNeighbors

    known = data[members]
    if len(known) < 2:
        raise ValueError("clusterer has a cluster of one sample, which has no width; give it the label -1.")
    search = NearestNeighbors(n_neighbors=min(n_neighbors, len(known) - 1)).fit(known)
    own, near_own = search.kneighbors()
    others, near_others = search.kneighbors(data[~members])
    widths = own.mean(axis=1)
    far, usual = np.empty(len(data)), np.empty(len(data))
    far[members], usual[members] = widths, widths[near_own].mean(axis=1)
    far[~members], usual[~members] = others.mean(axis=1), widths[near_others].mean(axis=1)
    smallest = 1e-6 * float(far.mean()) + float(np.finfo(float).tiny)  # where samples are equal
    return np.asarray(np.log((far + smallest) / (usual + smallest)))


def _shares(remoteness: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The shares of clusters, and the mass of the empty set."""
    nearest = remoteness.min(axis=1)
    shares = np.exp(nearest[:, None] - remoteness)
    return shares / shares.sum(axis=1, keepdims=True), np.clip(_BY_UNIT * (nearest - _USUAL), 0, _MOST_ODD)


__all__ = ["from_hdbscan"]
