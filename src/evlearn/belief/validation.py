"""Validation of mass arrays."""

from typing import NoReturn

import numpy as np
import numpy.typing as npt

from evlearn.belief.focal_sets import FocalSets
from evlearn.utils.chunks import row_blocks
from evlearn.utils.sparse_rows import SparseRows
from evlearn.utils.typing import FloatArray

#: Largest deviation of the sum of a row from 1, by item size (double and single precision).
_SUM_TOLERANCE = {8: 1e-6, 4: 1e-4}
# As objects, because the comparison with a type takes as long as a conversion of a row.
_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))


def check_masses(masses: npt.ArrayLike, focal_sets: FocalSets, *, name: str = "masses") -> FloatArray:
    """Check masses, and return them as a floating-point array.

    Masses must be finite, nonnegative and sum to 1. They are not corrected; float32, float64 and memory-mapped
    arrays are not copied, and read in blocks.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Masses, with a column for each focal set.
    focal_sets : FocalSets
        Sets of the columns.
    name : str, default="masses"
        Name of the parameter in error messages.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        Masses.

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
    unit_weights = np.ones(len(focal_sets), dtype=rows.dtype)
    for block in row_blocks(len(rows)):
        part = rows[block]
        with np.errstate(invalid="ignore"):
            deviations = np.abs(part @ unit_weights - 1)
        # NaN fails comparisons, so the condition is that of valid rows.
        if not (part.min() >= 0 and deviations.max() <= tolerance):
            is_valid = (part.min(axis=1) >= 0) & (deviations <= tolerance)
            _raise_for_row(rows, block.start + int(np.argmin(is_valid)), focal_sets, name)
    return values


def check_sparse_masses(masses: SparseRows, focal_sets: FocalSets) -> None:
    """Check masses that are stored as lists, without a table of all sets."""
    with np.errstate(invalid="ignore"):
        is_valid = np.abs(masses.sum_rows() - 1) <= _SUM_TOLERANCE[masses.dtype.itemsize]
    is_valid[masses.row_numbers[~(masses.values >= 0)]] = False
    if not is_valid.all():
        _raise_for_row(masses, int(np.argmin(is_valid)), focal_sets, "masses")


def as_mass_array(masses: npt.ArrayLike, focal_sets: FocalSets, *, name: str = "masses") -> FloatArray:
    """Return masses as a float32 or float64 array with the right number of columns; values are not checked."""
    if not isinstance(focal_sets, FocalSets):
        raise TypeError(
            f"focal_sets must be a FocalSets, got {type(focal_sets).__name__}; "
            "use, for example, FocalSets.full(3)."
        )
    try:
        values = masses if isinstance(masses, np.memmap) else np.asarray(masses)
        if values.dtype not in _DTYPES:
            values = values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a table of numbers with rows of the same length.") from None
    if values.ndim == 0 or values.shape[-1] != len(focal_sets):
        columns = 1 if values.ndim == 0 else values.shape[-1]
        raise ValueError(
            f"{name} must have one column for each of the {len(focal_sets)} focal sets, the empty set first, "
            f"but has {columns}. For another list of sets, use `evlearn.belief.reorder_masses`."
        )
    return values


def _raise_for_row(rows: FloatArray | SparseRows, row: int, focal_sets: FocalSets, name: str) -> NoReturn:
    values = rows[row]
    unusable = np.flatnonzero(~np.isfinite(values))
    if len(unusable):
        raise ValueError(
            f"{name} has {values[unusable[0]]} at row {row}, column {unusable[0]} "
            f"(the set {focal_sets.labels[unusable[0]]}). Every mass must be a finite number: "
            "remove such rows, or fix their computation."
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
