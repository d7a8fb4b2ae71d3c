"""Kinds of mass functions, such as Bayesian or consonant ones."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.revision import is_contradictory
from evlearn.belief.validation import as_mass_array
from evlearn.utils.typing import BoolArray
from evlearn.utils.validation import check_choice

Kind: TypeAlias = Literal[
    "bayesian", "consonant", "contradictory", "dogmatic", "logical", "normal", "simple", "vacuous"
]

#: Largest mass that counts as rounding.
_ROUNDING = 1e-9


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
