r"""What a credal partition says about pairs of samples: same cluster, different clusters, or unknown.

For samples i and j, on the frame {s, not s},

.. math::

   m_{ij}(\emptyset)=m_i^TEm_j,\quad m_{ij}(\{s\})=m_i^TSm_j,\quad m_{ij}(\{\neg s\})=m_i^T(C-E)m_j,\quad
   m_{ij}(\Theta)=m_i^T(\mathbf{11}^T-C-S)m_j

with the structure matrices of `FocalSets`. All four are sums of nonnegative products, so none comes out negative.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evlearn.belief import FocalSets
from evlearn.utils.typing import FloatArray, IntArray


class PairMasses(NamedTuple):
    """Mass functions on "same cluster or not", one for each pair of samples.

    Attributes
    ----------
    empty : ndarray
        Mass of the empty set: one of the two samples belongs to no cluster.
    same : ndarray
        Mass of "the same cluster".
    different : ndarray
        Mass of "different clusters".
    unknown : ndarray
        Mass of "either".
    """

    empty: FloatArray
    same: FloatArray
    different: FloatArray
    unknown: FloatArray

    @property
    def plausibility_same(self) -> FloatArray:
        """The plausibility that the samples are in the same cluster."""
        return self.same + self.unknown

    @property
    def plausibility_different(self) -> FloatArray:
        """The plausibility that the samples are in different clusters."""
        return self.different + self.unknown


def check_pairs(pairs: npt.ArrayLike, n_samples: int) -> IntArray:
    """Pairs of samples by their numbers."""
    chosen = np.asarray(pairs)
    if chosen.ndim != 2 or chosen.shape[1] != 2 or not np.issubdtype(chosen.dtype, np.integer):
        raise ValueError(f"pairs must be whole numbers of shape (n_pairs, 2), got shape {chosen.shape}.")
    if chosen.size and not 0 <= chosen.min() <= chosen.max() < n_samples:
        raise ValueError(
            f"pairs has the sample {chosen.max() if chosen.max() >= n_samples else chosen.min()}, "
            f"but samples are numbered 0 to {n_samples - 1}."
        )
    return chosen


def masses_of_pairs(first: FloatArray, second: FloatArray, focal_sets: FocalSets) -> PairMasses:
    """Pair masses for rows that belong together: row k of `first` with row k of `second`."""
    return PairMasses(*(np.einsum("ij,ij->i", first @ form, second) for form in pair_forms(focal_sets, first)))


def masses_of_block(rows: FloatArray, columns: FloatArray, focal_sets: FocalSets) -> PairMasses:
    """Pair masses of every row of `rows` with every row of `columns`."""
    return PairMasses(*((rows @ form) @ columns.T for form in pair_forms(focal_sets, rows)))


def pair_forms(focal_sets: FocalSets, like: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The four bilinear forms that give the pair masses, in the order of `PairMasses`.

    Returns
    -------
    tuple of four ndarrays of shape (n_focal_sets, n_focal_sets)
        Matrices of zeros and ones that sum to a matrix of ones.
    """
    conflict, empty = focal_sets.conflict_matrix, focal_sets.emptiness_matrix
    same = focal_sets.same_singleton_matrix
    forms = (empty, same, conflict - empty, 1 - conflict - same)
    as_like = [form.astype(like.dtype) for form in forms]
    return as_like[0], as_like[1], as_like[2], as_like[3]
