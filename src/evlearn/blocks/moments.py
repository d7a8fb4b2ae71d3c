"""Means and variances of features in a single pass over blocks."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from evlearn.utils.typing import FloatArray


@dataclass(frozen=True)
class Moments:
    """Number of rows, and sums over them. Moments of two blocks can be added.

    Attributes
    ----------
    count : int
        Number of rows.
    sums, squares : ndarray of shape (n_features,)
        Sums of differences from a reference point, and of their squares.
    """

    count: int
    sums: FloatArray
    squares: FloatArray

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(self.count + other.count, self.sums + other.sums, self.squares + other.squares)

    @property
    def mean(self) -> FloatArray:
        """Mean, relative to the reference point."""
        return self.sums / self.count

    @property
    def variance(self) -> FloatArray:
        """Variance."""
        return np.maximum(self.squares / self.count - self.mean**2, 0)


class MomentsFrom:
    """Function that returns the moments of a block of rows.

    Parameters
    ----------
    point : ndarray of shape (n_features,)
        Reference point near the data, so that squares of large numbers do not lose digits.
    limit : float, default=inf
        Rows that are farther from the point than this in a feature are ignored.
    """

    def __init__(self, point: FloatArray, limit: float = np.inf) -> None:
        self._point, self._limit = point, limit

    def __call__(self, rows: Any, weights: Any = None) -> Moments:
        """Return the moments of a block."""
        with np.errstate(over="ignore"):
            differences = np.asarray(rows, dtype=np.float64) - self._point
            is_close = np.abs(differences).max(axis=1) <= self._limit
        differences = differences if is_close.all() else differences[is_close]
        return Moments(len(differences), differences.sum(axis=0), (differences**2).sum(axis=0))
