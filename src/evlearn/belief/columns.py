"""Reordering of mass columns, and expansion to larger families of focal sets."""

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.notation import Frame, SetLike, read_frame, read_set, read_table
from evlearn.belief.validation import as_mass_array
from evlearn.utils.typing import FloatArray


def reorder_masses(
    masses: npt.ArrayLike, sets: Collection[SetLike] | npt.NDArray[Any], frame: Frame
) -> tuple[FloatArray, FocalSets]:
    """Reorder masses from any list of sets to the order of `FocalSets`.

    Parameters
    ----------
    masses : array-like of shape (..., n_sets)
        Masses, one column for each entry of `sets`.
    sets : list of sets, or 0/1 array of shape (n_sets, n_elements)
        Sets of the columns, such as R's matrix ``F``.
    frame : int or sequence of str
        Number of elements of the frame, or their names.

    Returns
    -------
    masses : ndarray of shape (..., n_focal_sets)
        Reordered masses, with a column of zeros for the empty set if it was missing.
    focal_sets : FocalSets
        Sets of the columns.

    Examples
    --------
    >>> from evlearn.belief import reorder_masses
    >>> masses, focal_sets = reorder_masses([[0.3, 0.7]], [(0, 1), (1,)], frame=2)
    >>> focal_sets.labels
    ('∅', '{1}', 'Ω')
    >>> masses
    array([[0. , 0.7, 0.3]])
    """
    names, size = read_frame(frame)
    if isinstance(sets, np.ndarray):
        table = read_table(sets)
    else:
        rows = [read_set(subset, names, size) for subset in sets]
        table = np.array(rows, dtype=bool).reshape(-1, size)
    family = FocalSets.from_membership(table, frame)
    columns = family.positions(table)
    values = np.asarray(masses)
    if not np.issubdtype(values.dtype, np.floating):
        values = values.astype(float)
    if values.shape[-1] != len(columns):
        raise ValueError(f"masses has {values.shape[-1]} columns, but sets has {len(columns)} entries.")
    if len(np.unique(columns)) < len(columns):
        raise ValueError(
            "sets contains a set twice; add its columns of masses and list it once. "
            "A table of zeros and ones must be a NumPy array; a list is read as a list of sets."
        )
    reordered = np.zeros((*values.shape[:-1], len(family)), dtype=values.dtype)
    reordered[..., columns] = values
    return reordered, family


def expand_masses(masses: npt.ArrayLike, focal_sets: FocalSets, onto: FocalSets) -> FloatArray:
    """Expand mass functions to a larger family of focal sets.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns.
    onto : FocalSets
        Family that contains all sets of `focal_sets`.

    Returns
    -------
    ndarray of shape (..., len(onto))
        Masses, with zeros for the new sets.
    """
    values = as_mass_array(masses, focal_sets)
    columns = onto.positions(focal_sets.membership)
    if onto.frame_size != focal_sets.frame_size or (columns < 0).any():
        raise ValueError(
            "onto must contain all sets of focal_sets; extend it with `onto.with_sets(focal_sets)` "
            f"(it has {len(onto)} sets on {onto.frame_size} elements)."
        )
    expanded = np.zeros((*values.shape[:-1], len(onto)), dtype=values.dtype)
    expanded[..., columns] = values
    return expanded
