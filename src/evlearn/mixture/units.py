"""Coordinates for EM: centered and of about unit size, so that squares neither underflow nor overflow."""

from typing import NamedTuple

import numpy as np

from evlearn.mixture.em import Mixture
from evlearn.storage import fields
from evlearn.utils.typing import FloatArray


@fields.stored
class Units(NamedTuple):
    """Origin and scale of coordinates.

    Attributes
    ----------
    center : ndarray of shape (n_features,)
        Origin, which is subtracted.
    scale : float
        Divisor, a power of 2, so that division is exact.
    """

    center: fields.Vector
    scale: fields.PositiveNumber

    @classmethod
    def of(cls, data: FloatArray) -> "Units":
        """Compute the units for data."""
        data = data.astype(np.float64, copy=False)
        scale = _power_of_two(data)
        constant = (data == data[0]).all(axis=0)
        # Exact for a constant feature, whose variance must be 0.
        return cls(np.where(constant, data[0], data.mean(axis=0)), scale)

    def to(self, data: FloatArray) -> FloatArray:
        """Convert data to coordinates in these units."""
        with np.errstate(over="ignore"):
            return np.asarray((data.astype(np.float64, copy=False) - self.center) / self.scale)

    def mixture_to(self, mixture: Mixture) -> Mixture:
        """Convert a mixture of data to these coordinates."""
        means = (mixture.means - self.center) / self.scale
        return Mixture(mixture.weights, means, mixture.covariances / self.scale**2)

    def mixture_from(self, mixture: Mixture) -> Mixture:
        """Convert a mixture in these coordinates to the units of the data."""
        means = mixture.means * self.scale + self.center
        return Mixture(mixture.weights, means, mixture.covariances * self.scale**2)


def _power_of_two(data: FloatArray) -> float:
    """Return a power of 2 close to the range of the data."""
    with np.errstate(over="ignore"):
        spread = float(np.ptp(data, axis=0).max())
    if spread == 0:
        return 1.0
    if not 1e-140 < spread < 1e140:
        raise ValueError(f"X has a range of {spread:g}, whose square overflows or underflows; change its units.")
    return float(2.0 ** np.round(np.log2(spread)))


__all__ = ["Units"]
