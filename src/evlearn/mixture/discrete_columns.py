"""Columns with few frequent values: their levels, and noise that closes the gaps between these."""

import numpy as np

from evlearn.utils.typing import BoolArray, FloatArray

#: Minimum number of rows of a level, maximum number of levels of a discrete column, and minimum share of rows.
_ROWS_EACH, _MAX_LEVELS, _LEVEL_SHARE = 5, 12, 0.75
#: Standard deviation of the noise, relative to the gap between levels.
_BLUR = 0.5


def levels_of(column: FloatArray) -> FloatArray:
    """Return the frequent values of a discrete column; an empty array for other columns.

    Other values, such as those that replace missing ones, may occur in a quarter of the rows.
    """
    values, counts = np.unique(column, return_counts=True)
    frequent = counts >= _ROWS_EACH
    is_discrete = frequent.sum() <= _MAX_LEVELS and counts[frequent].sum() >= _LEVEL_SHARE * len(column)
    return values[frequent] if is_discrete else np.empty(0)


def discrete_columns(data: FloatArray) -> BoolArray:
    """Return True for columns with few frequent values."""
    return np.array([len(levels_of(column)) > 0 for column in data.T], dtype=bool)


def blur_discrete_columns(data: FloatArray, random: np.random.RandomState) -> FloatArray:
    """Return the data with noise in discrete columns, whose standard deviation is half the gap between levels."""
    blurred = data.copy()
    for j, column in enumerate(data.T):
        levels = levels_of(column)
        if len(levels) > 1:
            blurred[:, j] += _BLUR * np.median(np.diff(levels)) * random.normal(size=len(data))
    return blurred
