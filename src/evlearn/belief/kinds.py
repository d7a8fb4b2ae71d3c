"""Which kind a mass function is of: what its focal sets have in common."""

import numpy as np
import numpy.typing as npt

from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.validation import as_mass_array
from evlearn.utils.typing import BoolArray

#: Masses up to this are rounding: their sets are no focal sets.
_NOTHING = 1e-9


def is_normal(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    """Say which mass functions have nothing on the empty set.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions. Masses up to 1e-9 count as zero.
    focal_sets : FocalSets
        What the columns stand for.

    Returns
    -------
    ndarray of bool of shape (...)
        Whether the empty set has no mass.
    """
    return np.asarray(~_focal(masses, focal_sets)[..., 0])


def is_dogmatic(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    """Say which mass functions have nothing on the frame: they exclude something for sure.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions. Masses up to 1e-9 count as zero.
    focal_sets : FocalSets
        What the columns stand for.

    Returns
    -------
    ndarray of bool of shape (...)
        Whether the frame has no mass.
    """
    return np.asarray(~_on_frame(masses, focal_sets))


def is_vacuous(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    """Say which mass functions know nothing: all mass is on the frame.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions. Masses up to 1e-9 count as zero.
    focal_sets : FocalSets
        What the columns stand for.

    Returns
    -------
    ndarray of bool of shape (...)
        Whether no other set has mass.
    """
    return np.asarray(is_logical(masses, focal_sets) & _on_frame(masses, focal_sets))


def is_logical(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    """Say which mass functions have one focal set only, and so are sets; also called categorical.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions. Masses up to 1e-9 count as zero.
    focal_sets : FocalSets
        What the columns stand for.

    Returns
    -------
    ndarray of bool of shape (...)
        Whether all mass is on one set.
    """
    return np.asarray(_focal(masses, focal_sets).sum(axis=-1) == 1)


def is_bayesian(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    """Say which mass functions are probabilities: all mass is on single elements.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions. Masses up to 1e-9 count as zero.
    focal_sets : FocalSets
        What the columns stand for.

    Returns
    -------
    ndarray of bool of shape (...)
        Whether every focal set has one element.
    """
    return np.asarray(~_focal(masses, focal_sets)[..., focal_sets.sizes != 1].any(axis=-1))


def is_simple(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    """Say which mass functions support one set: no other has mass, but for the frame.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions. Masses up to 1e-9 count as zero.
    focal_sets : FocalSets
        What the columns stand for.

    Returns
    -------
    ndarray of bool of shape (...)
        Whether at most one set has mass besides the frame.
    """
    others = _focal(masses, focal_sets)[..., focal_sets.sizes < focal_sets.frame_size]
    return np.asarray(others.sum(axis=-1) <= 1)


def is_consonant(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    """Say which mass functions are degrees of possibility: each focal set is part of the next.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions. Masses up to 1e-9 count as zero.
    focal_sets : FocalSets
        What the columns stand for.

    Returns
    -------
    ndarray of bool of shape (...)
        Whether focal sets are nested; the empty set is part of all others.
    """
    focal = _focal(masses, focal_sets)
    rows = focal.reshape(-1, focal.shape[-1])
    used = np.flatnonzero(rows.any(axis=0))
    table = focal_sets.membership[used].astype(np.int64)
    common = table @ table.T
    sizes = np.diagonal(common)
    apart = common < np.minimum(sizes[:, None], sizes)  # neither is part of the other
    rows = rows[:, used]
    return np.asarray(~((rows @ apart) & rows).any(axis=1)).reshape(focal.shape[:-1])


def _focal(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    return np.asarray(as_mass_array(masses, focal_sets) > _NOTHING)


def _on_frame(masses: npt.ArrayLike, focal_sets: FocalSets) -> BoolArray:
    return np.asarray(_focal(masses, focal_sets)[..., focal_sets.sizes == focal_sets.frame_size].any(axis=-1))
