"""Squared dissimilarities: their unit, and a shift that makes them Euclidean."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from evlearn.storage import fields
from evlearn.utils.typing import FloatArray

#: Eigenvalue, relative to the largest possible one, below which it is a rounding error.
_ROUNDING = 1e-13
#: Square, relative to the mean of the squares, below which it is that of a sample and itself.
_ZERO = 1e-14


@fields.stored
@dataclass(frozen=True)
class Squares:
    """Transform of dissimilarities to squares in another unit.

    Attributes
    ----------
    scale : float
        Factor of dissimilarities; a power of 2, so that scaling has no rounding errors.
    squared : bool
        Whether the input is already squared.
    mean : float
        Mean of the squares of the training set, before the shift.
    shift : float
        Number that is added to all squares except those of a sample and itself.
    """

    scale: fields.PositiveNumber
    squared: bool
    mean: fields.NonnegativeNumber
    shift: fields.NonnegativeNumber = 0.0

    @classmethod
    def of(cls, dissimilarities: FloatArray, *, squared: bool, shifted: bool) -> tuple["Squares", FloatArray]:
        """Return the transform for a training set, and the squares of the training set.

        Returns
        -------
        unit : Squares
            Transform.
        squares : ndarray of shape (n, n)
            Squares.
        """
        largest = float(dissimilarities.max(initial=0))
        exponent = np.log2(largest) / (2 if squared else 1) if largest > 0 else 0.0
        plain = cls(float(2.0 ** -np.clip(np.round(exponent), -1000, 1000)), squared, 0.0)
        squares = plain(dissimilarities)
        unit = replace(plain, mean=float(squares.mean()))
        if shifted:
            unit = replace(unit, shift=euclidean_shift(squares))
            unit._add(squares)
        return unit, squares

    def __call__(self, dissimilarities: FloatArray) -> FloatArray:
        """Return the squares of dissimilarities, as a new array."""
        squares = dissimilarities.astype(np.float64)
        # The square of the factor may overflow, so the squares are multiplied by the factor 2 times.
        squares *= self.scale
        squares *= self.scale if self.squared else squares
        self._add(squares)
        return squares

    def _add(self, squares: FloatArray) -> None:
        if self.shift > 0:
            squares[squares > _ZERO * self.mean] += self.shift

    def distance(self, square: float) -> float:
        """Convert a square to a distance in the unit of the input."""
        return float(np.sqrt(square)) / self.scale

    def total(self, squares: float) -> float:
        """Convert a sum of squares to squared units of the input."""
        with np.errstate(over="ignore"):
            return float(np.float64(squares) / self.scale / self.scale)


def euclidean_shift(squares: FloatArray) -> float:
    r"""Return the smallest number that, added to all nonzero squares, makes them squared Euclidean distances."""
    products = -0.5 * (squares - squares.mean(axis=0))
    products -= products.mean(axis=1, keepdims=True)
    bound = float(np.abs(products).sum(axis=1).max(initial=0))  # of all eigenvalues
    smallest = float(eigh(products, eigvals_only=True, subset_by_index=[0, 0], overwrite_a=True)[0])
    return -2 * smallest if smallest < -_ROUNDING * bound else 0.0


def coordinates_of(squares: FloatArray) -> FloatArray:
    """Return points whose squared distances approximate given squares, by classical multidimensional scaling."""
    centered = squares - squares.mean(axis=0)
    centered = -(centered - centered.mean(axis=1, keepdims=True)) / 2
    variances, directions = eigh((centered + centered.T) / 2)
    is_positive = variances > max(variances[-1], 0) * _ROUNDING * len(squares)
    if not is_positive.any():
        return np.zeros((len(squares), 1))
    return np.asarray(directions[:, is_positive] * np.sqrt(variances[is_positive]))
