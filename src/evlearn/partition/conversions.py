"""Conversion of hard, fuzzy, possibilistic and rough partitions, and of HDBSCAN's labels, to masses."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from evlearn.belief import FocalSets
from evlearn.belief.notation import Frame
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


def hard_masses(
    labels: npt.ArrayLike, noise_label: Any, names: Sequence[str] | None
) -> tuple[FloatArray, FocalSets]:
    """Return certain masses: all mass of a sample on the singleton of its cluster.

    Returns
    -------
    masses : ndarray of shape (n_samples, n_clusters + 1)
        Masses.
    focal_sets : FocalSets
        Empty set and singletons.
    """
    values = read_labels(labels, "labels")
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"labels must be one label per sample, got an array of shape {values.shape}.")
    noise = np.zeros(len(values), dtype=bool) if noise_label is None else values == noise_label
    classes, codes = np.unique(values[~noise], return_inverse=True)
    if len(classes) == 0:
        raise ValueError(
            f"labels contains nothing but noise_label={noise_label!r}; at least one sample must be in a cluster."
        )
    focal_sets = FocalSets.singletons(_frame_of(classes) if names is None else names)
    if focal_sets.frame_size != len(classes):
        raise ValueError(
            f"cluster_names has {focal_sets.frame_size} names but labels has {len(classes)} clusters."
        )
    masses = np.zeros((len(values), len(focal_sets)))
    masses[noise, 0] = 1
    masses[np.flatnonzero(~noise), 1 + codes] = 1
    return masses, focal_sets


def read_labels(labels: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """Return labels as an array, and raise a ValueError if any is missing."""
    values = np.asarray(labels)
    if not isinstance(labels, np.ndarray):  # NumPy converts a list of text and NaN to text
        values = np.asarray(labels, dtype=object if values.dtype.kind in "US" else None)
    missing = values.dtype.kind in "fmM" and bool((values != values).any())
    if missing or (values.dtype.kind == "O" and any(is_missing(label) for label in values.flat)):
        raise ValueError(f"{name} has missing values; drop these samples or assign labels to them.")
    return values


def fuzzy_masses(memberships: npt.ArrayLike, names: Sequence[str] | None) -> tuple[FloatArray, FocalSets]:
    """Return Bayesian masses: the memberships on the singletons, and the rest up to 1 on the empty set.

    Returns
    -------
    masses : ndarray of shape (n_samples, n_clusters + 1)
        Masses.
    focal_sets : FocalSets
        Empty set and singletons.
    """
    values = _read_degrees(memberships, "memberships")
    totals = values.sum(axis=1, keepdims=True)
    tolerance = 1e-9 if values.dtype == np.float64 else 1e-5
    if (totals > 1 + tolerance).any():
        row = int(totals.argmax())
        raise ValueError(
            f"memberships of a sample must not sum to more than 1, but row {row} sums to {totals[row, 0]:.6g}; "
            "divide by the sums, or use from_possibilistic if they are degrees of possibility."
        )
    empty = 1 - totals
    empty[np.abs(empty) <= tolerance] = 0
    return np.hstack([empty, values]), FocalSets.singletons(_frame(names, values))


def possibilistic_masses(
    possibilities: npt.ArrayLike, names: Sequence[str] | None
) -> tuple[FloatArray, FocalSets]:
    """Return consonant masses, on nested sets of the most possible clusters.

    Returns
    -------
    masses : ndarray of shape (n_samples, n_focal_sets)
        Masses.
    focal_sets : FocalSets
        Sets that occur.
    """
    values = _read_degrees(possibilities, "possibilities")
    n_samples, n_clusters = values.shape
    order = np.argsort(-values, axis=1, kind="stable")
    descending = np.take_along_axis(values, order, axis=1)
    steps = descending - np.column_stack([descending[:, 1:], np.zeros(n_samples, dtype=values.dtype)])
    samples, lengths = np.nonzero(steps > 0)
    # Sets of the (length + 1) most possible clusters.
    ranks = np.argsort(order, axis=1)
    sets = ranks[samples] <= lengths[:, None]
    focal_sets = FocalSets.from_membership(sets.reshape(-1, n_clusters), _frame(names, values))
    masses = np.zeros((n_samples, len(focal_sets)), dtype=values.dtype)
    masses[:, 0] = 1 - descending[:, 0]
    masses[samples, focal_sets.positions(sets)] = steps[samples, lengths]
    return masses, focal_sets


def rough_masses(candidates: npt.ArrayLike, names: Sequence[str] | None) -> tuple[FloatArray, FocalSets]:
    """Return logical masses: all mass of a sample on the set of its possible clusters.

    Returns
    -------
    masses : ndarray of shape (n_samples, n_focal_sets)
        Masses.
    focal_sets : FocalSets
        Sets that occur.
    """
    values = _read_degrees(candidates, "candidates")
    if not np.isin(values, (0, 1)).all():
        raise ValueError("candidates must be True or False; for degrees between them use from_possibilistic.")
    focal_sets = FocalSets.from_membership(np.unique(values, axis=0), _frame(names, values))
    masses = np.zeros((len(values), len(focal_sets)))
    masses[np.arange(len(values)), focal_sets.positions(values)] = 1
    return masses, focal_sets


def is_missing(label: Any) -> bool:
    """Return True if a label is None, NaN or another missing value."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # a comparison with pandas.NA has no truth value
        return True


def _frame_of(classes: npt.NDArray[Any]) -> Frame:
    if np.array_equal(classes, np.arange(len(classes))):
        return len(classes)
    return [str(name) for name in classes.tolist()]


def _frame(names: Sequence[str] | None, values: FloatArray) -> Frame:
    if names is not None and len(names) != values.shape[1]:
        raise ValueError(f"cluster_names has {len(names)} names but there are {values.shape[1]} clusters.")
    return int(values.shape[1]) if names is None else names


def _read_degrees(values: npt.ArrayLike, name: str) -> FloatArray:
    degrees = np.asarray(values)
    if degrees.dtype not in (np.float32, np.float64):
        degrees = degrees.astype(np.float64)
    if degrees.ndim != 2 or 0 in degrees.shape:
        raise ValueError(
            f"{name} must have a row for each sample and a column for each cluster, got {degrees.shape}."
        )
    if not ((degrees >= 0) & (degrees <= 1)).all():
        raise ValueError(
            f"{name} must lie between 0 and 1, got values from {degrees.min():.6g} to {degrees.max():.6g}."
        )
    return degrees


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
