r"""Mass functions of pairs of samples: same cluster, different clusters, or unknown.

For samples i and j, on the frame {s, not s},

.. math::

   m_{ij}(\emptyset)=m_i^TEm_j,\quad m_{ij}(\{s\})=m_i^TSm_j,\quad m_{ij}(\{\neg s\})=m_i^T(C-E)m_j,\quad
   m_{ij}(\Theta)=m_i^T(\mathbf{11}^T-C-S)m_j

with the structure matrices of `FocalSets`. All four are sums of nonnegative products, so rounding cannot make them
negative.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evlearn.belief import FocalSets
from evlearn.utils.typing import FloatArray, IntArray


class PairMasses(NamedTuple):
    """Mass functions on the frame {same cluster, different clusters}, one for each pair of samples.

    Attributes
    ----------
    empty : ndarray
        Mass of the empty set: at least one of the 2 samples belongs to no cluster.
    same_cluster : ndarray
        Mass of "same cluster".
    different : ndarray
        Mass of "different clusters".
    unknown : ndarray
        Mass of the frame: "same" or "different".
    """

    empty: FloatArray
    same_cluster: FloatArray
    different: FloatArray
    unknown: FloatArray

    @property
    def plausibility_same(self) -> FloatArray:
        """Plausibility that the samples are in the same cluster."""
        return self.same_cluster + self.unknown

    @property
    def plausibility_different(self) -> FloatArray:
        """Plausibility that the samples are in different clusters."""
        return self.different + self.unknown


def check_pairs(pairs: npt.ArrayLike, n_samples: int) -> IntArray:
    """Return pairs of sample numbers as an array, and raise a ValueError if they are invalid."""
    numbers = np.asarray(pairs)
    if numbers.ndim != 2 or numbers.shape[1] != 2 or not np.issubdtype(numbers.dtype, np.integer):
        raise ValueError(f"pairs must be whole numbers of shape (n_pairs, 2), got shape {numbers.shape}.")
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < n_samples:
        raise ValueError(
            f"pairs contains sample {numbers.max() if numbers.max() >= n_samples else numbers.min()}, "
            f"but samples are numbered 0 to {n_samples - 1}."
        )
    return numbers


def masses_of_pairs(first: FloatArray, second: FloatArray, focal_sets: FocalSets) -> PairMasses:
    """Return the pair masses of row k of `first` and row k of `second`, for all k."""
    return PairMasses(*(np.einsum("ij,ij->i", first @ form, second) for form in pair_forms(focal_sets, first)))


def masses_of_block(rows: FloatArray, columns: FloatArray, focal_sets: FocalSets) -> PairMasses:
    """Return the pair masses of every row of `rows` and every row of `columns`."""
    return PairMasses(*((rows @ form) @ columns.T for form in pair_forms(focal_sets, rows)))


def pair_forms(
    focal_sets: FocalSets, reference: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the 4 bilinear forms of the pair masses, in the order of `PairMasses`.

    Returns
    -------
    tuple of 4 ndarrays of shape (n_focal_sets, n_focal_sets)
        Matrices of 0 and 1 whose sum is 1 everywhere, with the dtype of `reference`.
    """
    conflict, empty = focal_sets.conflict_matrix, focal_sets.emptiness_matrix
    singleton = focal_sets.same_singleton_matrix
    forms = (empty, singleton, conflict - empty, 1 - conflict - singleton)
    converted = [form.astype(reference.dtype) for form in forms]
    return converted[0], converted[1], converted[2], converted[3]
