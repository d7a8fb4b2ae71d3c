"""What a mass array must be, and what to say when it is not."""

from typing import NoReturn

import numpy as np
import numpy.typing as npt

from evlearn.belief.focal_sets import FocalSets
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray

#: How far a row may be from summing to one, in double and in single precision.
_SUM_TOLERANCE = {8: 1e-6, 4: 1e-4}


def check_masses(masses: npt.ArrayLike, focal_sets: FocalSets, *, name: str = "masses") -> FloatArray:
    """Return `masses` as a floating point array, or say what is wrong with them.

    Each mass function must be finite, nonnegative and sum to one. Nothing is corrected and nothing is copied;
    float32, float64 and memory-mapped arrays pass as they are and are read in blocks.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The masses, one column for each focal set.
    focal_sets : FocalSets
        What the columns stand for.
    name : str, default="masses"
        The name of the parameter in error messages.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        The masses.

    Examples
    --------
    >>> from evlearn.belief import FocalSets, check_masses
    >>> check_masses([[0.2, 0.5, 0.2]], FocalSets.singletons(2))
    Traceback (most recent call last):
    ...
    ValueError: each row of masses must sum to 1, but row 0 sums to 0.9. If the
    values are rounded, divide each row by its sum.
    """
    values = as_mass_array(masses, focal_sets, name=name)
    rows = values.reshape(-1, len(focal_sets))
    tolerance = _SUM_TOLERANCE[rows.dtype.itemsize]
    ones = np.ones(len(focal_sets), dtype=rows.dtype)
    for block in row_blocks(len(rows)):
        part = rows[block]
        with np.errstate(invalid="ignore"):
            deviations = np.abs(part @ ones - 1)
        # NaN fails every comparison, so the test is for what is right.
        if not (part.min() >= 0 and deviations.max() <= tolerance):
            fine = (part.min(axis=1) >= 0) & (deviations <= tolerance)
            _explain(rows, block.start + int(np.argmin(fine)), focal_sets, name)
    return values


def as_mass_array(masses: npt.ArrayLike, focal_sets: FocalSets, *, name: str = "masses") -> FloatArray:
    """Return `masses` as a float32 or float64 array of the right width, without looking at the values."""
    if not isinstance(focal_sets, FocalSets):
        raise TypeError(
            f"focal_sets must be a FocalSets, got {type(focal_sets).__name__}; "
            "write for example FocalSets.full(3)."
        )
    try:
        values = masses if isinstance(masses, np.memmap) else np.asarray(masses)
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a table of numbers with rows of the same length.") from None
    if values.ndim == 0 or values.shape[-1] != len(focal_sets):
        columns = 1 if values.ndim == 0 else values.shape[-1]
        raise ValueError(
            f"{name} must have one column for each of the {len(focal_sets)} focal sets, the empty set first, "
            f"but has {columns}. If your columns follow a list of sets of your own, use `evlearn.belief.arrange`."
        )
    return values


def _explain(rows: FloatArray, row: int, focal_sets: FocalSets, name: str) -> NoReturn:
    values = rows[row]
    unusable = np.flatnonzero(~np.isfinite(values))
    if len(unusable):
        raise ValueError(
            f"{name} has {values[unusable[0]]} at row {row}, column {unusable[0]} "
            f"(the set {focal_sets.labels[unusable[0]]}). Every mass must be a finite number: "
            "drop such rows or fix what computed them."
        )
    lowest = int(values.argmin())
    if values[lowest] < 0:
        raise ValueError(
            f"{name} must not be negative, but is {values[lowest]:.6g} at row {row}, column {lowest} "
            f"(the set {focal_sets.labels[lowest]}). If it is rounding noise, set it to 0 and divide the row "
            "by its sum."
        )
    raise ValueError(
        f"each row of {name} must sum to 1, but row {row} sums to {values.sum():.6g}. If the values are "
        "rounded, divide each row by its sum."
    )
