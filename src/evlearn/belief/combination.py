r"""Rules that combine mass functions from several sources.

Every rule takes the sources in a list (or stacked in an array) and combines them row by row:
``dempster([m1, m2, m3], focal_sets)``.

The conjunctive rule multiplies commonalities and the disjunctive rule implicabilities, so both are exact on any
family that is closed under intersection, or union. Families made by ``FocalSets.full``, ``simple``, ``pairs``
and ``singletons`` are closed under intersection.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.transforms import (
    canonical_weights,
    commonality,
    complements,
    implicability,
    mass_from_commonality,
    mass_from_implicability,
    mass_from_weights,
    superset_inverse,
)
from evlearn.belief.validation import check_masses
from evlearn.utils.typing import FloatArray

Sources = Sequence[npt.ArrayLike] | npt.NDArray[np.floating]


def conjunctive(sources: Sources, focal_sets: FocalSets) -> FloatArray:
    """The unnormalised conjunctive rule: all sources are right; conflict goes to the empty set.

    Parameters
    ----------
    sources : sequence of array-like of shape (..., n_focal_sets)
        One array of mass functions from each source.
    focal_sets : FocalSets
        What the columns stand for; closed under intersection.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        The combined masses.
    """
    stacked = _read_sources(sources, focal_sets)
    _require_closed(focal_sets, "intersection")
    return mass_from_commonality(commonality(stacked, focal_sets).prod(axis=0), focal_sets)


def dempster(sources: Sources, focal_sets: FocalSets) -> FloatArray:
    """Dempster's rule: the conjunctive rule, with the mass of the empty set shared out in proportion.

    Computed with sums of logarithms, so that hundreds of sources, or sources that nearly exclude each other,
    do no harm.

    Parameters
    ----------
    sources : sequence of array-like of shape (..., n_focal_sets)
        One array of mass functions from each source.
    focal_sets : FocalSets
        What the columns stand for; closed under intersection.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        The combined masses; NaN where the sources exclude each other altogether.

    Examples
    --------
    >>> from evlearn.belief import FocalSets, dempster
    >>> dempster([[0, 0.5, 0, 0.5], [0, 0, 0.5, 0.5]], FocalSets.full(2)).round(3)
    array([0.   , 0.333, 0.333, 0.333])
    """
    stacked = _read_sources(sources, focal_sets)
    _require_closed(focal_sets, "intersection")
    with np.errstate(divide="ignore"):
        logs = np.log(commonality(stacked.astype(np.float64), focal_sets)).sum(axis=0)
    largest = logs[..., 1:].max(axis=-1, keepdims=True, initial=-np.inf)
    impossible = np.isneginf(largest)
    logs[..., 0] = -np.inf  # the empty set gets no mass, and its commonality of 1 could overflow here
    commonalities = np.exp(logs - np.where(impossible, 0, largest))
    masses = np.maximum(superset_inverse(commonalities, focal_sets), 0)
    masses[..., 0] = 0
    masses /= np.where(impossible, np.nan, masses.sum(axis=-1, keepdims=True))
    return masses.astype(stacked.dtype, copy=False)


def disjunctive(sources: Sources, focal_sets: FocalSets) -> FloatArray:
    """The disjunctive rule: at least one source is right.

    Parameters
    ----------
    sources : sequence of array-like of shape (..., n_focal_sets)
        One array of mass functions from each source.
    focal_sets : FocalSets
        What the columns stand for; closed under union.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        The combined masses.
    """
    stacked = _read_sources(sources, focal_sets)
    _require_closed(focal_sets, "union")
    return mass_from_implicability(implicability(stacked, focal_sets).prod(axis=0), focal_sets)


def yager(sources: Sources, focal_sets: FocalSets) -> FloatArray:
    """Yager's rule: the conjunctive rule, with conflict given to the whole frame. Not associative.

    Parameters
    ----------
    sources : sequence of array-like of shape (..., n_focal_sets)
        One array of mass functions from each source.
    focal_sets : FocalSets
        What the columns stand for; closed under intersection, with the frame.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        The combined masses.
    """
    if not focal_sets.has_omega:
        raise ValueError("focal_sets must hold the whole frame for Yager's rule; use focal_sets.with_omega().")
    masses = conjunctive(sources, focal_sets)
    masses[..., -1] += masses[..., 0]
    masses[..., 0] = 0
    return masses


def dubois_prade(sources: Sources, focal_sets: FocalSets) -> FloatArray:
    """Dubois and Prade's rule: conjunctive where sources agree, disjunctive where they conflict.

    Not associative: more than two sources are folded in the order given. The cost grows with the product of
    the numbers of focal sets that carry mass.

    Parameters
    ----------
    sources : sequence of array-like of shape (..., n_focal_sets)
        One array of mass functions from each source.
    focal_sets : FocalSets
        What the columns stand for; it must hold the intersections and the unions that arise.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        The combined masses.
    """
    first, *others = _read_sources(sources, focal_sets)
    combined = first
    for other in others:
        combined = _dubois_prade_two(combined, other, focal_sets)
    return np.array(combined)


def _dubois_prade_two(first: FloatArray, second: FloatArray, focal_sets: FocalSets) -> FloatArray:
    axes = tuple(range(first.ndim - 1))
    (rows,) = np.nonzero((first > 0).any(axis=axes))
    (columns,) = np.nonzero((second > 0).any(axis=axes))
    combined = np.zeros_like(first)
    for row in rows:
        member, members = focal_sets.membership[row], focal_sets.membership[columns]
        meeting = member & members
        target = np.where(meeting.any(axis=1, keepdims=True), meeting, member | members)
        positions = focal_sets.positions(target)
        if (positions < 0).any():
            missing = np.flatnonzero(target[np.argmin(positions)]).tolist()
            raise ValueError(_missing_set(missing, f"with_sets([{missing}])"))
        for column, position in zip(columns, positions, strict=True):
            combined[..., position] += first[..., row] * second[..., column]
    return combined


def cautious(sources: Sources, focal_sets: FocalSets) -> FloatArray:
    """The cautious rule, for sources that may share evidence: the smallest canonical weights.

    Parameters
    ----------
    sources : sequence of array-like of shape (..., n_focal_sets)
        One array of mass functions from each source, with some mass on the frame.
    focal_sets : FocalSets
        What the columns stand for: ``FocalSets.full(...)``.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        The combined masses, not normalised.
    """
    stacked = _read_sources(sources, focal_sets)
    return mass_from_weights(canonical_weights(stacked, focal_sets).min(axis=0), focal_sets)


def bold(sources: Sources, focal_sets: FocalSets) -> FloatArray:
    """The bold disjunctive rule: the cautious rule applied to the negations of the sources.

    Parameters
    ----------
    sources : sequence of array-like of shape (..., n_focal_sets)
        One array of mass functions from each source, with some mass on the empty set.
    focal_sets : FocalSets
        What the columns stand for: ``FocalSets.full(...)``.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        The combined masses.
    """
    stacked = _read_sources(sources, focal_sets)
    if not (stacked[..., 0] > 0).all():
        raise ValueError(
            "the bold rule needs some mass on the empty set in every mass function: "
            "it is the cautious rule on negations."
        )
    if not focal_sets.is_full:
        raise ValueError("the bold rule needs all subsets of the frame; expand the masses first.")
    negation = complements(focal_sets)
    return cautious(stacked[..., negation], focal_sets)[..., negation]


def average(sources: Sources, focal_sets: FocalSets) -> FloatArray:
    """The mean of the sources.

    Parameters
    ----------
    sources : sequence of array-like of shape (..., n_focal_sets)
        One array of mass functions from each source.
    focal_sets : FocalSets
        What the columns stand for.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        The combined masses.
    """
    return np.asarray(_read_sources(sources, focal_sets).mean(axis=0))


def _read_sources(sources: Sources, focal_sets: FocalSets) -> FloatArray:
    checked = [
        check_masses(source, focal_sets, name=f"sources[{number}]") for number, source in enumerate(sources)
    ]
    if not checked:
        raise ValueError("sources is empty; give at least one array of mass functions.")
    try:
        return np.stack(np.broadcast_arrays(*checked))
    except ValueError:
        shapes = ", ".join(str(source.shape) for source in checked)
        raise ValueError(f"sources must have shapes that fit together, got {shapes}.") from None


def _require_closed(focal_sets: FocalSets, operation: str) -> None:
    gap = focal_sets.intersection_gap if operation == "intersection" else focal_sets.union_gap
    if gap is not None:
        raise ValueError(_missing_set(gap, f"closure({operation!r})"))


def _missing_set(elements: Sequence[int], remedy: str) -> str:
    return (
        f"focal_sets lacks the set of elements {list(elements)}, which this rule can give mass to. Take "
        f"`larger = focal_sets.{remedy}` and `expand(masses, focal_sets, larger)`."
    )
