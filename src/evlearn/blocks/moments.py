"""Sums of rows and of their squares, from which means and deviations are made, in one pass over blocks."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from evlearn.utils.typing import FloatArray


@dataclass(frozen=True)
class Moments:
    """How many rows there are, and sums over them. Moments of two blocks add up.

    Attributes
    ----------
    count : int
        The number of rows.
    sums, squares : ndarray of shape (n_features,)
        Sums of differences from a point, and of their squares.
    """

    count: int
    sums: FloatArray
    squares: FloatArray

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(self.count + other.count, self.sums + other.sums, self.squares + other.squares)

    @property
    def mean(self) -> FloatArray:
        """The mean, from the point."""
        return self.sums / self.count

    @property
    def variance(self) -> FloatArray:
        """The variance."""
        return np.maximum(self.squares / self.count - self.mean**2, 0)


class MomentsFrom:
    """From a block of rows to its moments.

    Parameters
    ----------
    point : ndarray of shape (n_features,)
        A point amid the data, so that squares of large numbers lose no digits.
    limit : float, default=inf
        Rows that are farther from the point than this in a feature do not count.
    """

    def __init__(self, point: FloatArray, limit: float = np.inf) -> None:
        self._point, self._limit = point, limit

    def __call__(self, rows: Any, weights: Any = None) -> Moments:
        """The moments of a block."""
        with np.errstate(over="ignore"):
            apart = np.asarray(rows, dtype=np.float64) - self._point
            near = np.abs(apart).max(axis=1) <= self._limit
        apart = apart if near.all() else apart[near]
        return Moments(len(apart), apart.sum(axis=0), (apart**2).sum(axis=0))
