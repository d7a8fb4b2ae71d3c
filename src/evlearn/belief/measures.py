"""Nonspecificity of mass functions, and distances between them."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.transforms import belief
from evlearn.belief.validation import as_mass_array
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_choice

_MAX_FRAME_SIZE_OF_BELIEF = 16


def nonspecificity(masses: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    r"""Compute the nonspecificity of mass functions, in bits.

    .. math:: N(m)=\sum_{A\ne\emptyset}m(A)\log_2|A|+m(\emptyset)\log_2c

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns.

    Returns
    -------
    ndarray of shape (...)
        Nonspecificity, from 0 if all mass is on singletons to log2 of the size of the frame.
    """
    values = as_mass_array(masses, focal_sets)
    sizes = np.where(focal_sets.sizes == 0, focal_sets.frame_size, focal_sets.sizes)
    return np.asarray(values @ np.log2(sizes).astype(values.dtype))


def mass_distance(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    focal_sets: FocalSets,
    *,
    metric: Literal["jousselme", "belief"] = "jousselme",
    normalize: bool = False,
) -> FloatArray:
    r"""Compute distances between mass functions, row by row.

    .. math:: d_J=\sqrt{\tfrac12(m_1-m_2)^T\mathbf J(m_1-m_2)},\qquad J_{AB}=\frac{|A\cap B|}{|A\cup B|}

    .. math:: d_B=\tfrac12\sum_{A\subseteq\Omega}|Bel_1(A)-Bel_2(A)|

    Parameters
    ----------
    first, second : array-like of shape (..., n_focal_sets)
        Mass functions to compare.
    focal_sets : FocalSets
        Sets of the columns; for "belief" on a frame of at most 16 elements.
    metric : {"jousselme", "belief"}, default="jousselme"
        Distance of Jousselme and others, between 0 and 1, or half the sum of the differences of belief over all
        subsets of the frame.
    normalize : bool, default=False
        Whether to divide the distance "belief" by its largest possible value, ``2**(c - 2)``, so that it is at
        most 1 on every frame and not only on frames of 2 elements.

    Returns
    -------
    ndarray of shape (...)
        Distances.

    Examples
    --------
    >>> from evlearn.belief import FocalSets, mass_distance
    >>> float(mass_distance([0, 1, 0, 0], [0, 0, 1, 0], FocalSets.full(2)))
    1.0
    """
    check_choice("metric", metric, ("jousselme", "belief"))
    if metric == "belief":
        return _belief_distance(first, second, focal_sets, normalize)
    if normalize:
        raise ValueError("normalize=True needs metric='belief'; the distance of Jousselme is at most 1.")
    return _jousselme_distance(first, second, focal_sets)


def _jousselme_distance(first: npt.ArrayLike, second: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    difference = _difference(first, second, focal_sets)
    rows = difference.reshape(-1, len(focal_sets))
    (columns,) = np.nonzero((rows != 0).any(axis=0))
    columns = columns[columns > 0]
    # Sets with equal masses do not matter; the empty set has distance 1 from all others.
    relevant = FocalSets.from_membership(focal_sets.membership[columns].reshape(-1, focal_sets.frame_size))
    rows = rows[:, np.r_[0, columns]]
    squared = np.einsum("ij,ij->i", rows @ relevant.jaccard_matrix, rows) / 2
    return np.asarray(np.sqrt(np.maximum(squared, 0)).reshape(difference.shape[:-1]))


def _belief_distance(
    first: npt.ArrayLike, second: npt.ArrayLike, focal_sets: FocalSets, normalize: bool
) -> FloatArray:
    size = focal_sets.frame_size
    if size > _MAX_FRAME_SIZE_OF_BELIEF:
        raise ValueError(
            f"metric='belief' sums over all 2^{size} subsets; frames may have at most "
            f"{_MAX_FRAME_SIZE_OF_BELIEF} elements. Use metric='jousselme'."
        )
    difference = _difference(first, second, focal_sets)
    beliefs = belief(difference, focal_sets, at=FocalSets.full(focal_sets.names or size))
    total: FloatArray = np.abs(beliefs).sum(axis=-1)
    return total * 2.0 ** (1 - size) if normalize else total / 2


def _difference(first: npt.ArrayLike, second: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    minuend = as_mass_array(first, focal_sets, name="first")
    return np.asarray(minuend - as_mass_array(second, focal_sets, name="second"))
