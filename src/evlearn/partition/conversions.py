"""From hard, fuzzy, possibilistic and rough partitions to masses."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evlearn.belief import FocalSets
from evlearn.belief.notation import Frame
from evlearn.utils.typing import FloatArray


def hard_masses(
    labels: npt.ArrayLike, noise_label: Any, names: Sequence[str] | None
) -> tuple[FloatArray, FocalSets]:
    """Certain masses: all on the singleton of the sample's cluster.

    Returns
    -------
    masses : ndarray of shape (n_samples, n_clusters + 1)
        The masses.
    focal_sets : FocalSets
        The empty set and the singletons.
    """
    given = read_labels(labels, "labels")
    if given.ndim != 1 or len(given) == 0:
        raise ValueError(f"labels must be one label per sample, got an array of shape {given.shape}.")
    noise = np.zeros(len(given), dtype=bool) if noise_label is None else given == noise_label
    classes, codes = np.unique(given[~noise], return_inverse=True)
    if len(classes) == 0:
        raise ValueError(f"labels holds nothing but noise_label={noise_label!r}; there is no cluster to describe.")
    focal_sets = FocalSets.singletons(_frame_of(classes) if names is None else names)
    if focal_sets.frame_size != len(classes):
        raise ValueError(
            f"cluster_names has {focal_sets.frame_size} names but labels has {len(classes)} clusters."
        )
    masses = np.zeros((len(given), len(focal_sets)))
    masses[noise, 0] = 1
    masses[np.flatnonzero(~noise), 1 + codes] = 1
    return masses, focal_sets


def read_labels(labels: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """Labels as an array in which none is missing."""
    given = np.asarray(labels)
    if not isinstance(labels, np.ndarray):  # a list of text and NaN would become text
        given = np.asarray(labels, dtype=object if given.dtype.kind in "US" else None)
    missing = given.dtype.kind in "fmM" and bool((given != given).any())
    if missing or (given.dtype.kind == "O" and any(_is_missing(one) for one in given.flat)):
        raise ValueError(f"{name} has missing values; drop these samples or give them a label.")
    return given


def fuzzy_masses(memberships: npt.ArrayLike, names: Sequence[str] | None) -> tuple[FloatArray, FocalSets]:
    """Bayesian masses: the memberships on the singletons, what they lack to one on the empty set.

    Returns
    -------
    masses : ndarray of shape (n_samples, n_clusters + 1)
        The masses.
    focal_sets : FocalSets
        The empty set and the singletons.
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
    """Consonant masses: on the nested sets of the most possible clusters.

    Returns
    -------
    masses : ndarray of shape (n_samples, n_focal_sets)
        The masses.
    focal_sets : FocalSets
        The sets that occur.
    """
    values = _read_degrees(possibilities, "possibilities")
    n_samples, n_clusters = values.shape
    order = np.argsort(-values, axis=1, kind="stable")
    falling = np.take_along_axis(values, order, axis=1)
    steps = falling - np.column_stack([falling[:, 1:], np.zeros(n_samples, dtype=values.dtype)])
    objects, lengths = np.nonzero(steps > 0)
    # The set of the (length + 1) most possible clusters of each such sample.
    ranks = np.argsort(order, axis=1)
    sets = ranks[objects] <= lengths[:, None]
    focal_sets = FocalSets.from_membership(sets.reshape(-1, n_clusters), _frame(names, values))
    masses = np.zeros((n_samples, len(focal_sets)), dtype=values.dtype)
    masses[:, 0] = 1 - falling[:, 0]
    masses[objects, focal_sets.positions(sets)] = steps[objects, lengths]
    return masses, focal_sets


def rough_masses(candidates: npt.ArrayLike, names: Sequence[str] | None) -> tuple[FloatArray, FocalSets]:
    """Logical masses: all on the set of the sample's possible clusters.

    Returns
    -------
    masses : ndarray of shape (n_samples, n_focal_sets)
        The masses.
    focal_sets : FocalSets
        The sets that occur.
    """
    values = _read_degrees(candidates, "candidates")
    if not np.isin(values, (0, 1)).all():
        raise ValueError("candidates must be True or False; for degrees between them use from_possibilistic.")
    focal_sets = FocalSets.from_membership(np.unique(values, axis=0), _frame(names, values))
    masses = np.zeros((len(values), len(focal_sets)))
    masses[np.arange(len(values)), focal_sets.positions(values)] = 1
    return masses, focal_sets


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA does not know whether it equals itself
        return True


def _frame_of(classes: npt.NDArray[Any]) -> Frame:
    if np.array_equal(classes, np.arange(len(classes))):
        return len(classes)
    return [str(one) for one in classes.tolist()]


def _frame(names: Sequence[str] | None, values: FloatArray) -> Frame:
    if names is not None and len(names) != values.shape[1]:
        raise ValueError(f"cluster_names has {len(names)} names but there are {values.shape[1]} clusters.")
    return int(values.shape[1]) if names is None else names


def _read_degrees(values: npt.ArrayLike, name: str) -> FloatArray:
    given = np.asarray(values)
    if given.dtype not in (np.float32, np.float64):
        given = given.astype(np.float64)
    if given.ndim != 2 or 0 in given.shape:
        raise ValueError(
            f"{name} must have a row for each sample and a column for each cluster, got {given.shape}."
        )
    if not ((given >= 0) & (given <= 1)).all():
        raise ValueError(
            f"{name} must lie between 0 and 1, got values from {given.min():.6g} to {given.max():.6g}."
        )
    return given
