"""Discounting, conditioning and normalization of mass functions, and their transforms to probabilities."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.notation import SetLike
from evlearn.belief.transforms import contour, implicability, masses_from_implicability
from evlearn.belief.validation import as_mass_array
from evlearn.utils.typing import BoolArray, FloatArray


def discount(masses: npt.ArrayLike, focal_sets: FocalSets, rate: npt.ArrayLike) -> FloatArray:
    """Discount mass functions from a source that is unreliable with probability `rate`.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns, including the whole frame, which receives the removed mass.
    rate : float or array-like of shape (...)
        Share of mass to remove, between 0 and 1, for all or for each mass function.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        Discounted masses.

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
    """Discount mass functions from a source whose reliability depends on the truth.

    With the rate a of an element, its plausibility p becomes 1 - (1 - a)(1 - p). With equal rates, plausibilities
    of elements are those of `discount`, but not those of larger sets.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns, which must be all subsets of the frame.
    rates : array-like of shape (n_elements,)
        Probability that the source is unreliable if the element is the truth, between 0 and 1.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        Discounted masses.

    References
    ----------
    Mercier et al. (2008), Refined modeling of sensor reliability in the belief function
    framework using contextual discounting, Information Fusion 9,
    doi:10.1016/j.inffus.2006.08.001.

    Examples
    --------
    A source reports b, and it misses a in 10 % of cases:

    >>> from evlearn.belief import FocalSets, contextual_discount
    >>> contextual_discount([0, 0, 1.0, 0], FocalSets.full(["a", "b"]), [0.1, 0])
    array([0. , 0. , 0.9, 0.1])
    """
    values = as_mass_array(masses, focal_sets)
    element_rates = np.asarray(rates, dtype=values.dtype)
    if element_rates.shape != (focal_sets.frame_size,) or not ((element_rates >= 0) & (element_rates <= 1)).all():
        raise ValueError(
            f"rates must be {focal_sets.frame_size} numbers from 0 to 1, one for each element, got {rates!r}."
        )
    if not focal_sets.is_full:
        raise ValueError(
            "contextual_discount needs all subsets of the frame; use expand_masses onto FocalSets.full(...)."
        )
    products = np.where(focal_sets.membership, 1, 1 - element_rates).prod(axis=1)
    return masses_from_implicability(implicability(values, focal_sets) * products, focal_sets)


def condition(masses: npt.ArrayLike, focal_sets: FocalSets, on: SetLike, *, normalize: bool = True) -> FloatArray:
    """Condition mass functions on a set: each focal set is replaced by its intersection with it.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns, including the intersections with `on`.
    on : set
        Set that contains the truth.
    normalize : bool, default=True
        Whether to apply Dempster's normalization to the result.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        Conditional masses. If normalized, they are NaN where `on` is impossible.
    """
    values = as_mass_array(masses, focal_sets)
    members = FocalSets([on], focal_sets.names or focal_sets.frame_size).membership[-1]
    targets = focal_sets.positions(focal_sets.membership & members)
    if (targets < 0).any():
        missing = focal_sets[int(np.argmin(targets))]
        raise ValueError(
            f"focal_sets lacks the intersection of the set {list(missing)} with on={on!r}; use expand_masses onto "
            "focal_sets.with_sets([on]).closure('intersection')."
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

    Mass functions with all mass on the empty set become vacuous; ``is_kind(..., "contradictory")`` returns True
    for them.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns.
    method : {"dempster", "yager"}, default="dempster"
        Distribute the mass in proportion to the other masses, or move it to the whole frame.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        Masses without mass on the empty set.
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
        normalized /= np.where(contradictory, 1, total_support(values))[..., None]
        if contradictory.any():
            normalized[contradictory, -1] = 1
    return normalized


def is_contradictory(masses: npt.ArrayLike) -> BoolArray:
    """Return True for mass functions with all mass on the empty set.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.

    Returns
    -------
    ndarray of bool of shape (...)
        True if no other set has mass.
    """
    return np.asarray(total_support(np.asarray(masses)) <= 0)


def total_support(masses: FloatArray) -> FloatArray:
    """Return the mass outside the empty set, as a sum, so that it is 0 only if there is none."""
    return np.asarray(masses[..., 1:].sum(axis=-1))


def pignistic(masses: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    """Compute probabilities by distributing the mass of each set equally among its elements.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns.

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
    return _normalize_weights(values @ shares.astype(values.dtype))


def plausibility_transform(masses: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    """Compute probabilities that are proportional to the plausibilities of the elements.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns.

    Returns
    -------
    ndarray of shape (..., frame_size)
        Probabilities; uniform where all mass is on the empty set.
    """
    return _normalize_weights(contour(masses, focal_sets))


def _normalize_weights(weights: FloatArray) -> FloatArray:
    total = weights.sum(axis=-1, keepdims=True)
    without_support = total[..., 0] <= 0
    weights /= np.where(total > 0, total, 1)
    weights[without_support] = 1 / weights.shape[-1]
    return weights


def _require_omega(focal_sets: FocalSets, function: str) -> None:
    if not focal_sets.has_omega:
        raise ValueError(
            f"focal_sets must contain the whole frame for `{function}`; use `larger = focal_sets.with_omega()` "
            "and `expand_masses(masses, focal_sets, larger)`."
        )
