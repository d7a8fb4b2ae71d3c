"""How vague a mass function is, and how far two of them are apart."""

import numpy as np
import numpy.typing as npt

from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.transforms import belief
from evlearn.belief.validation import as_mass_array
from evlearn.utils.typing import FloatArray

_LARGEST_BELIEF_FRAME = 16


def nonspecificity(masses: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    r"""How much a mass function leaves open, in bits.

    .. math:: N(m)=\sum_{A\ne\emptyset}m(A)\log_2|A|+m(\emptyset)\log_2c

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.
    focal_sets : FocalSets
        What the columns stand for.

    Returns
    -------
    ndarray of shape (...)
        From 0, when all mass is on singletons, to log2 of the size of the frame.
    """
    values = as_mass_array(masses, focal_sets)
    sizes = np.where(focal_sets.sizes == 0, focal_sets.frame_size, focal_sets.sizes)
    return np.asarray(values @ np.log2(sizes).astype(values.dtype))


def jousselme_distance(first: npt.ArrayLike, second: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    r"""The distance of Jousselme and others between mass functions, between 0 and 1.

    .. math:: d_J=\sqrt{\tfrac12(m_1-m_2)^T\mathbf J(m_1-m_2)},\qquad J_{AB}=\frac{|A\cap B|}{|A\cup B|}

    Parameters
    ----------
    first, second : array-like of shape (..., n_focal_sets)
        The mass functions to compare, row by row.
    focal_sets : FocalSets
        What the columns stand for.

    Returns
    -------
    ndarray of shape (...)
        The distances.
    """
    difference = _difference(first, second, focal_sets)
    rows = difference.reshape(-1, len(focal_sets))
    (used,) = np.nonzero((rows != 0).any(axis=0))
    used = used[used > 0]
    # Only sets on which the functions differ matter; the empty set is at distance one from all others.
    relevant = FocalSets.from_membership(focal_sets.membership[used].reshape(-1, focal_sets.frame_size))
    rows = rows[:, np.r_[0, used]]
    squared = np.einsum("ij,ij->i", rows @ relevant.jaccard_matrix, rows) / 2
    return np.asarray(np.sqrt(np.maximum(squared, 0)).reshape(difference.shape[:-1]))


def belief_distance(
    first: npt.ArrayLike, second: npt.ArrayLike, focal_sets: FocalSets, *, normalize: bool = False
) -> FloatArray:
    r"""Half the sum of the differences of belief over all subsets of the frame.

    .. math:: d_B=\tfrac12\sum_{A\subseteq\Omega}|Bel_1(A)-Bel_2(A)|

    Parameters
    ----------
    first, second : array-like of shape (..., n_focal_sets)
        The mass functions to compare, row by row.
    focal_sets : FocalSets
        What the columns stand for, on a frame of at most 16 elements.
    normalize : bool, default=False
        Whether to divide by the largest possible value, ``2**(c - 2)``, so that the distance is at most one
        on every frame and not only on frames of two elements.

    Returns
    -------
    ndarray of shape (...)
        The distances.
    """
    size = focal_sets.frame_size
    if size > _LARGEST_BELIEF_FRAME:
        raise ValueError(
            f"belief_distance sums over all 2^{size} subsets; frames may have at most "
            f"{_LARGEST_BELIEF_FRAME} elements. Use `jousselme_distance`."
        )
    difference = _difference(first, second, focal_sets)
    everywhere = belief(difference, focal_sets, at=FocalSets.full(focal_sets.names or size))
    total: FloatArray = np.abs(everywhere).sum(axis=-1)
    return total * 2.0 ** (1 - size) if normalize else total / 2


def _difference(first: npt.ArrayLike, second: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    one = as_mass_array(first, focal_sets, name="first")
    other = as_mass_array(second, focal_sets, name="second")
    return np.asarray(one - other)
