"""Changing mass functions: discounting, conditioning, normalising, and turning them into probabilities."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.notation import SetLike
from evlearn.belief.transforms import contour, implicability, mass_from_implicability
from evlearn.belief.validation import as_mass_array
from evlearn.utils.typing import BoolArray, FloatArray


def discount(masses: npt.ArrayLike, focal_sets: FocalSets, rate: npt.ArrayLike) -> FloatArray:
    """Weaken mass functions whose source is unreliable with probability `rate`.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.
    focal_sets : FocalSets
        What the columns stand for; it must hold the whole frame, which receives the mass taken away.
    rate : float or array-like of shape (...)
        The share of mass taken away, between 0 and 1; one for all or one for each mass function.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        The discounted masses.

    Examples
    --------
    >>> from evlearn.belief import FocalSets, discount
    >>> discount([0, 1.0, 0, 0], FocalSets.full(2), 0.1)
    array([0. , 0.9, 0. , 0.1])
    """
    values = as_mass_array(masses, focal_sets)
    _require_omega(focal_sets, "discount")
    rates = np.asarray(rate, dtype=values.dtype)
    if not ((rates >= 0) & (rates <= 1)).all():
        raise ValueError(f"rate must lie between 0 and 1, got {rate!r}.")
    discounted = values * (1 - rates)[..., None]
    discounted[..., -1] += rates
    return discounted


def contextual_discount(masses: npt.ArrayLike, focal_sets: FocalSets, rates: npt.ArrayLike) -> FloatArray:
    """Weaken mass functions whose source is unreliable with a probability that depends on the truth.

    With the rate a of an element, its plausibility p becomes 1 - (1 - a)(1 - p). With the same rate for all
    elements that is what `discount` gives; of sets of several elements it is not.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.
    focal_sets : FocalSets
        What the columns stand for; all subsets of the frame.
    rates : array-like of shape (n_elements,)
        The probability that the source is unreliable, between 0 and 1, for each element of the frame if that is
        the truth.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        The discounted masses.

    References
    ----------
    Mercier et al. (2008).

    Examples
    --------
    A source that says b, and misses a in one of ten cases:

    >>> from evlearn.belief import FocalSets, contextual_discount
    >>> contextual_discount([0, 0, 1.0, 0], FocalSets.full(["a", "b"]), [0.1, 0])
    array([0. , 0. , 0.9, 0.1])
    """
    values = as_mass_array(masses, focal_sets)
    given = np.asarray(rates, dtype=values.dtype)
    if given.shape != (focal_sets.frame_size,) or not ((given >= 0) & (given <= 1)).all():
        raise ValueError(
            f"rates must hold {focal_sets.frame_size} numbers from 0 to 1, one for each element, got {rates!r}."
        )
    if not focal_sets.is_full:
        raise ValueError("contextual_discount needs all subsets of the frame: use FocalSets.full, and `expand`.")
    kept = np.where(focal_sets.membership, 1, 1 - given).prod(axis=1)
    return mass_from_implicability(implicability(values, focal_sets) * kept, focal_sets)


def condition(masses: npt.ArrayLike, focal_sets: FocalSets, on: SetLike, *, normalize: bool = True) -> FloatArray:
    """Learn that the truth lies in a set: every focal set keeps only what it shares with it.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.
    focal_sets : FocalSets
        What the columns stand for; it must hold the intersections with `on`.
    on : set
        The set that is known to hold the truth.
    normalize : bool, default=True
        Whether to apply Dempster's normalisation to the result.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        The conditional masses. Normalised, they are NaN where `on` was impossible.
    """
    values = as_mass_array(masses, focal_sets)
    kept = FocalSets([on], focal_sets.names or focal_sets.frame_size).membership[-1]
    targets = focal_sets.positions(focal_sets.membership & kept)
    if (targets < 0).any():
        missing = focal_sets[int(np.argmin(targets))]
        raise ValueError(
            f"focal_sets lacks what the set {list(missing)} shares with on={on!r}; take "
            "`focal_sets.with_sets([on]).closure('intersection')` and `expand` the masses onto it."
        )
    order = np.argsort(targets, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(targets[order]) > 0])
    conditional = np.zeros_like(values)
    conditional[..., targets[order][starts]] = np.add.reduceat(values[..., order], starts, axis=-1)
    if normalize:
        conditional[..., 0] = 0
        total = conditional.sum(axis=-1, keepdims=True)
        conditional /= np.where(total > 0, total, np.nan)
    return conditional


def normalize(
    masses: npt.ArrayLike, focal_sets: FocalSets, method: Literal["dempster", "yager"] = "dempster"
) -> FloatArray:
    """Remove the mass of the empty set.

    A mass function that is all on the empty set says nothing once that is given up: it becomes vacuous (find
    such rows with `is_contradictory`).

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.
    focal_sets : FocalSets
        What the columns stand for.
    method : {"dempster", "yager"}, default="dempster"
        Share the mass out in proportion, or give it to the whole frame.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        Masses with nothing on the empty set.
    """
    values = as_mass_array(masses, focal_sets)
    if method not in ("dempster", "yager"):
        raise ValueError(f"method must be 'dempster' or 'yager', got {method!r}.")
    contradictory = is_contradictory(values)
    if method == "yager" or contradictory.any():
        _require_omega(focal_sets, "normalize")
    normalized = np.array(values)
    normalized[..., 0] = 0
    if method == "yager":
        normalized[..., -1] += values[..., 0]
    else:
        normalized /= np.where(contradictory, 1, support(values))[..., None]
        if contradictory.any():
            normalized[contradictory, -1] = 1
    return normalized


def is_contradictory(masses: npt.ArrayLike) -> BoolArray:
    """Say which mass functions have everything on the empty set, and so support nothing.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.

    Returns
    -------
    ndarray of bool of shape (...)
        Whether no other set has any mass.
    """
    return np.asarray(support(np.asarray(masses)) <= 0)


def support(masses: FloatArray) -> FloatArray:
    """The mass that is not on the empty set, as a sum, so that it is zero only if nothing is there."""
    return np.asarray(masses[..., 1:].sum(axis=-1))


def pignistic(masses: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    """Probabilities that share the mass of each set equally among its elements.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.
    focal_sets : FocalSets
        What the columns stand for.

    Returns
    -------
    ndarray of shape (..., frame_size)
        Probabilities; uniform where all mass is on the empty set.

    Examples
    --------
    >>> from evlearn.belief import FocalSets, pignistic, plausibility_transform
    >>> masses, sets = [0, 0.5, 0, 0.5], FocalSets.full(2)
    >>> pignistic(masses, sets)
    array([0.75, 0.25])
    >>> plausibility_transform(masses, sets).round(3)
    array([0.667, 0.333])
    """
    values = as_mass_array(masses, focal_sets)
    shares = focal_sets.membership / np.maximum(focal_sets.sizes, 1)[:, None]
    return _as_probabilities(values @ shares.astype(values.dtype))


def plausibility_transform(masses: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    """Probabilities proportional to the plausibilities of the elements.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.
    focal_sets : FocalSets
        What the columns stand for.

    Returns
    -------
    ndarray of shape (..., frame_size)
        Probabilities; uniform where all mass is on the empty set.
    """
    return _as_probabilities(contour(masses, focal_sets))


def _as_probabilities(weights: FloatArray) -> FloatArray:
    total = weights.sum(axis=-1, keepdims=True)
    without_support = total[..., 0] <= 0
    weights /= np.where(total > 0, total, 1)
    weights[without_support] = 1 / weights.shape[-1]
    return weights


def _require_omega(focal_sets: FocalSets, function: str) -> None:
    if not focal_sets.has_omega:
        raise ValueError(
            f"focal_sets must hold the whole frame for `{function}`; use `larger = focal_sets.with_omega()` "
            "and `expand(masses, focal_sets, larger)`."
        )
