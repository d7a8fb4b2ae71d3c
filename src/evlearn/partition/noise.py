"""Classification of HDBSCAN noise: samples of a cluster, samples between clusters, and outliers."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import check_integer

# The mass of the empty set increases linearly with the outlier scale, from 0 at a scale of 1, which 5 % of the
# clustered samples exceed, and is 0.5 at 3. It is less than 1, so that the nearest cluster remains identifiable.
_EXCESS_FROM, _EMPTY_MASS_PER_UNIT, _MAX_EMPTY_MASS = 1.0, 0.25, 0.95
_QUANTILE = 0.95
# Minimum spread: in a regular grid all ratios are equal, and their differences are rounding errors.
_MIN_SPREAD = 0.05
# Labels of scikit-learn's HDBSCAN for rows with infinite and with missing values.
_INFINITE, _MISSING = -2, -3


def degrees_of_membership(clusterer: Any, X: ArrayLike, n_neighbors: int) -> FloatArray:
    """Return degrees of membership, also for samples that are labeled as noise.

    The degrees of an outlier sum to less than 1. See `CredalPartition.from_hdbscan`.
    """
    check_integer("n_neighbors", n_neighbors, 1)
    labels, strengths = _labels_and_strengths(clusterer)
    data = np.asarray(X, dtype=np.float64)
    if data.ndim != 2 or len(data) != len(labels):
        raise ValueError(f"X must have a row for each of the {len(labels)} labels, got shape {data.shape}.")
    present, codes = np.unique(labels, return_inverse=True)
    codes = codes - int((present < 0).sum())
    n_clusters = int(codes.max()) + 1
    if n_clusters == 0:
        raise ValueError("clusterer labels all samples as noise; change its parameters.")
    shares, empty = np.full((len(data), n_clusters), 1 / n_clusters), np.zeros(len(data))
    is_finite = np.isfinite(data).all(axis=1)
    shares[is_finite], empty[is_finite] = _shares(
        _outlier_scales(data[is_finite], codes[is_finite], n_clusters, n_neighbors)
    )
    empty[(labels >= 0) | (labels == _MISSING)] = 0
    empty[labels == _INFINITE] = 1
    degrees = shares * (1 - strengths - empty)[:, None]
    degrees[labels >= 0, codes[labels >= 0]] += strengths[labels >= 0]
    return degrees


def _labels_and_strengths(clusterer: Any) -> tuple[IntArray, FloatArray]:
    """Return labels and their strengths, which are 0 for noise."""
    labels = np.asarray(getattr(clusterer, "labels_", clusterer))
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            "clusterer must be a fitted estimator with labels_, or integer labels of shape (n_samples,) with "
            f"noise below 0; got {clusterer!r}."
        )
    probabilities = getattr(clusterer, "probabilities_", None)
    strengths = (
        np.ones(len(labels))
        if probabilities is None
        else np.nan_to_num(np.asarray(probabilities, dtype=np.float64))
    )
    return labels, np.where(labels < 0, 0, strengths)


def _outlier_scales(data: FloatArray, codes: IntArray, n_clusters: int, n_neighbors: int) -> FloatArray:
    """Return the scale of each sample as an outlier of each cluster; 5 % of the clustered samples exceed 1."""
    ratios = np.empty((len(data), n_clusters))
    for cluster in range(n_clusters):
        ratios[:, cluster] = _log_ratios(data, codes == cluster, n_neighbors)
    clustered = np.flatnonzero(codes >= 0)
    spread = float(np.quantile(ratios[clustered, codes[clustered]], _QUANTILE))
    return ratios / max(spread, _MIN_SPREAD)


def _log_ratios(data: FloatArray, members: BoolArray, n_neighbors: int) -> FloatArray:
    """Return log ratios of distances to members of a cluster and distances between these members."""
    from sklearn.neighbors import NearestNeighbors

    cluster = data[members]
    if len(cluster) < 2:
        raise ValueError("clusterer has a cluster with a single sample; label this sample as noise (-1).")
    search = NearestNeighbors(n_neighbors=min(n_neighbors, len(cluster) - 1)).fit(cluster)
    member_distances, member_neighbors = search.kneighbors()
    other_distances, other_neighbors = search.kneighbors(data[~members])
    widths = member_distances.mean(axis=1)
    distances, typical_distances = np.empty(len(data)), np.empty(len(data))
    distances[members], typical_distances[members] = widths, widths[member_neighbors].mean(axis=1)
    distances[~members], typical_distances[~members] = (
        other_distances.mean(axis=1),
        widths[other_neighbors].mean(axis=1),
    )
    smallest = 1e-6 * float(distances.mean()) + float(
        np.finfo(float).tiny
    )  # avoids division by 0 if samples are equal
    return np.asarray(np.log((distances + smallest) / (typical_distances + smallest)))


def _shares(scales: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the shares of clusters, and the mass of the empty set."""
    nearest = scales.min(axis=1)
    shares = np.exp(nearest[:, None] - scales)
    return shares / shares.sum(axis=1, keepdims=True), np.clip(
        _EMPTY_MASS_PER_UNIT * (nearest - _EXCESS_FROM), 0, _MAX_EMPTY_MASS
    )
