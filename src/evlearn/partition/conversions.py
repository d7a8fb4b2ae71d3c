"""Conversion of hard, fuzzy, possibilistic and rough partitions to masses."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evlearn.belief import FocalSets
from evlearn.belief.notation import Frame
from evlearn.utils.sparse_rows import MIN_COLUMNS, SparseRows
from evlearn.utils.typing import FloatArray, IntArray


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
    columns = np.zeros(len(values), dtype=np.intp)
    columns[~noise] = 1 + codes
    return certain_masses(columns, focal_sets), focal_sets


def certain_masses(columns: IntArray, focal_sets: FocalSets) -> Any:
    """Return masses of 1 on the given set of each sample, as lists if there are many sets."""
    rows, shape = np.arange(len(columns)), (len(columns), len(focal_sets))
    if len(focal_sets) >= MIN_COLUMNS:
        return SparseRows.from_entries(rows, columns, np.ones(len(columns)), shape)
    masses = np.zeros(shape)
    masses[rows, columns] = 1
    return masses


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
    return certain_masses(focal_sets.positions(values), focal_sets), focal_sets


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
