"""Nonspecificity and kinds of mass functions, such as Bayesian or consonant ones, and distances between them."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.revision import is_contradictory
from evlearn.belief.transforms import belief
from evlearn.belief.validation import as_mass_array
from evlearn.utils.typing import BoolArray, FloatArray
from evlearn.utils.validation import check_choice

_MAX_FRAME_SIZE_OF_BELIEF = 16
Kind: TypeAlias = Literal[
    "bayesian", "consonant", "contradictory", "dogmatic", "logical", "normal", "simple", "vacuous"
]

#: Largest mass that counts as rounding.
_ROUNDING = 1e-9


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


def is_kind(masses: npt.ArrayLike, focal_sets: FocalSets, kind: Kind) -> BoolArray:
    """Return True for mass functions of a kind; masses up to 1e-9 count as 0.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns.
    kind : str
        Kind of mass function:

        - "normal": the empty set has no mass.
        - "contradictory": all mass is on the empty set.
        - "dogmatic": the frame has no mass.
        - "vacuous": all mass is on the frame.
        - "logical": all mass is on one set; also called categorical.
        - "bayesian": all mass is on single elements, a probability distribution.
        - "simple": at most one set besides the frame has mass.
        - "consonant": focal sets are nested, as for degrees of possibility.

    Returns
    -------
    ndarray of bool of shape (...)
        True for the mass functions of the kind.

    Examples
    --------
    >>> from evlearn.belief import FocalSets, is_kind
    >>> is_kind([[0, 0.5, 0.5, 0], [0, 0, 0, 1]], FocalSets.full(2), "bayesian")
    array([ True, False])
    """
    check_choice("kind", kind, _KINDS)
    return _KINDS[kind](masses, focal_sets)


def _is_normal(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    """Return True if the empty set has no mass."""
    return np.asarray(~_has_mass(masses, focal_sets)[..., 0])


def _is_dogmatic(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    """Return True if the frame has no mass."""
    return np.asarray(~_has_mass_on_frame(masses, focal_sets))


def _is_vacuous(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    """Return True if all mass is on the frame."""
    return np.asarray(_is_logical(masses, focal_sets) & _has_mass_on_frame(masses, focal_sets))


def _is_logical(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    """Return True if all mass is on one set."""
    return np.asarray(_has_mass(masses, focal_sets).sum(axis=-1) == 1)


def _is_bayesian(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    """Return True if all mass is on single elements."""
    return np.asarray(~_has_mass(masses, focal_sets)[..., focal_sets.sizes != 1].any(axis=-1))


def _is_simple(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    """Return True if at most one set besides the frame has mass."""
    others = _has_mass(masses, focal_sets)[..., focal_sets.sizes < focal_sets.frame_size]
    return np.asarray(others.sum(axis=-1) <= 1)


def _is_consonant(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    """Return True if focal sets are nested."""
    focal = _has_mass(masses, focal_sets)
    rows = focal.reshape(-1, focal.shape[-1])
    columns = np.flatnonzero(rows.any(axis=0))
    table = focal_sets.membership[columns].astype(np.int64)
    common = table @ table.T
    sizes = np.diagonal(common)
    is_crossing = common < np.minimum(sizes[:, None], sizes)  # neither set contains the other
    rows = rows[:, columns]
    return np.asarray(~((rows @ is_crossing) & rows).any(axis=1)).reshape(focal.shape[:-1])


def _has_mass(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    return np.asarray(as_mass_array(masses, focal_sets) > _ROUNDING)


def _has_mass_on_frame(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    return np.asarray(_has_mass(masses, focal_sets)[..., focal_sets.sizes == focal_sets.frame_size].any(axis=-1))


def _is_contradictory(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    """Return True if all mass is on the empty set."""
    return is_contradictory(as_mass_array(masses, focal_sets))


_KINDS: dict[str, Callable[[npt.ArrayLike, FocalSets], BoolArray]] = {
    "bayesian": _is_bayesian,
    "consonant": _is_consonant,
    "contradictory": _is_contradictory,
    "dogmatic": _is_dogmatic,
    "logical": _is_logical,
    "normal": _is_normal,
    "simple": _is_simple,
    "vacuous": _is_vacuous,
}
