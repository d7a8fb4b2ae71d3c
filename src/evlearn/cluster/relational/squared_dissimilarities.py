"""Dissimilarities as squares: in a unit of their own, and made Euclidean where that is asked for."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from evlearn.utils.typing import FloatArray

#: An eigenvalue that is smaller than this share of the largest possible is rounding.
_LOST = 1e-13
#: Squares below this share of their mean are those of a sample and itself, in whatever way they were computed.
_SAME = 1e-14


@dataclass(frozen=True)
class Squares:
    """From dissimilarities, as the user has them, to squares in a unit of their own.

    Attributes
    ----------
    scale : float
        The factor of dissimilarities; a power of two, so that scaling rounds nothing.
    squared : bool
        Whether the user's numbers are squares already.
    mean : float
        The mean of the squares of the training set, before any shift.
    shift : float
        What is added to all squares but those of a sample and itself.
    """

    scale: float
    squared: bool
    mean: float
    shift: float = 0.0

    @classmethod
    def of(cls, dissimilarities: FloatArray, *, squared: bool, shifted: bool) -> tuple["Squares", FloatArray]:
        """The unit that suits a training set, and its squares.

        Returns
        -------
        unit : Squares
            The unit.
        squares : ndarray of shape (n, n)
            The squares.
        """
        largest = float(dissimilarities.max(initial=0))
        exponent = np.log2(largest) / (2 if squared else 1) if largest > 0 else 0.0
        plain = cls(float(2.0 ** -np.clip(np.round(exponent), -1000, 1000)), squared, 0.0)
        squares = plain(dissimilarities)
        unit = replace(plain, mean=float(squares.mean()))
        if shifted:
            unit = replace(unit, shift=missing_to_euclidean(squares))
            unit._add(squares)
        return unit, squares

    def __call__(self, dissimilarities: FloatArray) -> FloatArray:
        """The squares of dissimilarities, as a new array."""
        squares = dissimilarities.astype(np.float64)
        # Twice by the factor: its square may be beyond what doubles hold.
        squares *= self.scale
        squares *= self.scale if self.squared else squares
        self._add(squares)
        return squares

    def _add(self, squares: FloatArray) -> None:
        if self.shift > 0:
            squares[squares > _SAME * self.mean] += self.shift

    def distance(self, square: float) -> float:
        """What a square is as a distance of the user."""
        return float(np.sqrt(square)) / self.scale

    def total(self, squares: float) -> float:
        """What a sum of squares is in squared units of the user."""
        with np.errstate(over="ignore"):
            return float(np.float64(squares) / self.scale / self.scale)


def missing_to_euclidean(squares: FloatArray) -> float:
    r"""The least that, added to the squares of all pairs, makes them squares of Euclidean distances."""
    products = -0.5 * (squares - squares.mean(axis=0))
    products -= products.mean(axis=1, keepdims=True)
    size = float(np.abs(products).sum(axis=1).max(initial=0))  # no eigenvalue is larger
    least = float(eigh(products, eigvals_only=True, subset_by_index=[0, 0], overwrite_a=True)[0])
    return -2 * least if least < -_LOST * size else 0.0


def coordinates_of(squares: FloatArray) -> FloatArray:
    """Points whose squared distances are as near to given squares as Euclidean distances can be."""
    centred = squares - squares.mean(axis=0)
    centred = -(centred - centred.mean(axis=1, keepdims=True)) / 2
    variances, directions = eigh((centred + centred.T) / 2)
    kept = variances > max(variances[-1], 0) * _LOST * len(squares)
    if not kept.any():
        return np.zeros((len(squares), 1))
    return np.asarray(directions[:, kept] * np.sqrt(variances[kept]))
