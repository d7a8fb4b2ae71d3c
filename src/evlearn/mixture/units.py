"""Coordinates in which EM runs: centred, and of about unit size, so that squares neither vanish nor overflow."""

from typing import NamedTuple

import numpy as np

from evlearn.mixture.em import Mixture
from evlearn.utils.typing import FloatArray


class Units(NamedTuple):
    """Where coordinates begin, and what they are measured in.

    Attributes
    ----------
    centre : ndarray of shape (n_features,)
        What is subtracted.
    scale : float
        What is divided by: a power of two, which rounds nothing.
    """

    centre: FloatArray
    scale: float

    @classmethod
    def of(cls, data: FloatArray) -> "Units":
        """The units for some data."""
        data = data.astype(np.float64, copy=False)
        scale = _power_of_two(data)
        constant = (data == data[0]).all(axis=0)
        # Without rounding where a feature is constant: there its variance has to be zero.
        return cls(np.where(constant, data[0], data.mean(axis=0)), scale)

    def to(self, data: FloatArray) -> FloatArray:
        """Samples in these units."""
        with np.errstate(over="ignore"):
            return np.asarray((data.astype(np.float64, copy=False) - self.centre) / self.scale)

    def mixture_to(self, mixture: Mixture) -> Mixture:
        """A mixture of data, as one of coordinates."""
        means = (mixture.means - self.centre) / self.scale
        return Mixture(mixture.weights, means, mixture.covariances / self.scale**2)

    def mixture_from(self, mixture: Mixture) -> Mixture:
        """A mixture of coordinates, as one of the data."""
        means = mixture.means * self.scale + self.centre
        return Mixture(mixture.weights, means, mixture.covariances * self.scale**2)


def _power_of_two(data: FloatArray) -> float:
    """About the range of the data."""
    with np.errstate(over="ignore"):
        spread = float(np.ptp(data, axis=0).max())
    if spread == 0:
        return 1.0
    if not 1e-140 < spread < 1e140:
        raise ValueError(f"X has a range of {spread:g}, the square of which is lost; change its units.")
    return float(2.0 ** np.round(np.log2(spread)))


__all__ = ["Units"]
