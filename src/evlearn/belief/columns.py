"""Moving masses between families: columns in any order into the one of `FocalSets`, and onto larger families."""

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.notation import Frame, SetLike, read_frame, read_set, read_table
from evlearn.belief.validation import as_mass_array
from evlearn.utils.typing import FloatArray


def arrange(
    masses: npt.ArrayLike, sets: Collection[SetLike] | npt.NDArray[Any], frame: Frame
) -> tuple[FloatArray, FocalSets]:
    """Bring masses whose columns follow any list of sets into the order of `FocalSets`.

    Parameters
    ----------
    masses : array-like of shape (..., n_sets)
        One column for each entry of `sets`.
    sets : list of sets, or 0/1 array of shape (n_sets, n_elements)
        What each column stands for. R's matrix ``F`` can be given as it is.
    frame : int or sequence of str
        The number of elements of the frame, or their names.

    Returns
    -------
    masses : ndarray of shape (..., n_focal_sets)
        The columns in order, with a column of zeros for the empty set if it was missing.
    focal_sets : FocalSets
        The family.

    Examples
    --------
    >>> from evlearn.belief import arrange
    >>> masses, focal_sets = arrange([[0.3, 0.7]], [(0, 1), (1,)], frame=2)
    >>> focal_sets.labels
    ('∅', '{1}', 'Ω')
    >>> masses
    array([[0. , 0.7, 0.3]])
    """
    names, size = read_frame(frame)
    if isinstance(sets, np.ndarray):
        table = read_table(sets)
    else:
        rows = [read_set(one, names, size) for one in sets]
        table = np.array(rows, dtype=bool).reshape(-1, size)
    family = FocalSets.from_membership(table, frame)
    columns = family.positions(table)
    values = np.asarray(masses)
    if not np.issubdtype(values.dtype, np.floating):
        values = values.astype(float)
    if values.shape[-1] != len(columns):
        raise ValueError(f"masses has {values.shape[-1]} columns but sets lists {len(columns)} sets.")
    if len(np.unique(columns)) < len(columns):
        raise ValueError(
            "sets lists a set twice; add the two columns of masses and list it once. "
            "A table of zeros and ones must be a NumPy array; a list is read as a list of sets."
        )
    arranged = np.zeros((*values.shape[:-1], len(family)), dtype=values.dtype)
    arranged[..., columns] = values
    return arranged, family


def expand(masses: npt.ArrayLike, focal_sets: FocalSets, onto: FocalSets) -> FloatArray:
    """The same mass functions on a larger family of focal sets.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.
    focal_sets : FocalSets
        What the columns stand for.
    onto : FocalSets
        A family that holds every set of `focal_sets`.

    Returns
    -------
    ndarray of shape (..., len(onto))
        The masses, with zeros for the new sets.
    """
    values = as_mass_array(masses, focal_sets)
    columns = onto.positions(focal_sets.membership)
    if onto.frame_size != focal_sets.frame_size or (columns < 0).any():
        raise ValueError(
            "onto must hold every set of focal_sets; extend it with `onto.with_sets(focal_sets)` "
            f"(it has {len(onto)} sets on {onto.frame_size} elements)."
        )
    expanded = np.zeros((*values.shape[:-1], len(onto)), dtype=values.dtype)
    expanded[..., columns] = values
    return expanded
