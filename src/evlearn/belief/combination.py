"""Combination of mass functions from several sources.

The conjunctive rule multiplies commonalities and the disjunctive rule implicabilities, so both are exact on any
family that is closed under intersection, or union. ``FocalSets.full``, ``simple``, ``pairs`` and ``singletons``
are closed under intersection.
"""

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.transforms import (
    canonical_weights,
    commonality,
    complement_positions,
    implicability,
    masses_from_commonality,
    masses_from_implicability,
    masses_from_weights,
    superset_inverse,
)
from evlearn.belief.validation import check_masses
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_choice

Sources: TypeAlias = Sequence[npt.ArrayLike] | npt.NDArray[np.floating]
Rule: TypeAlias = Literal[
    "average", "bold", "cautious", "conjunctive", "dempster", "disjunctive", "dubois_prade", "yager"
]


def combine(sources: Sources, focal_sets: FocalSets, rule: Rule = "dempster") -> FloatArray:
    """Combine mass functions from several sources, row by row.

    Parameters
    ----------
    sources : sequence of array-like of shape (..., n_focal_sets)
        Mass functions of each source, as a list or an array.
    focal_sets : FocalSets
        Sets of the columns.
    rule : str, default="dempster"
        Rule of combination:

        - "conjunctive": all sources are reliable; conflict is mass on the empty set. The sets must be closed under
          intersection.
        - "dempster": the conjunctive rule, normalized; NaN if sources exclude each other.
        - "yager": the conjunctive rule, with conflict as mass on the whole frame. Not associative.
        - "dubois_prade": conjunctive for sets that intersect, disjunctive for others. Not associative: sources are
          combined in the given order. The sets must contain the intersections and unions that arise.
        - "disjunctive": at least one source is reliable. The sets must be closed under union.
        - "cautious": for sources that may share evidence, with some mass on the frame: the smallest canonical
          weights, not normalized. The sets must be ``FocalSets.full(...)``.
        - "bold": the cautious rule applied to negations, for sources with some mass on the empty set. The sets
          must be ``FocalSets.full(...)``.
        - "average": the mean.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        Combined masses.

    Examples
    --------
    >>> from evlearn.belief import FocalSets, combine
    >>> combine([[0, 0.5, 0, 0.5], [0, 0, 0.5, 0.5]], FocalSets.full(2)).round(3)
    array([0.   , 0.333, 0.333, 0.333])
    """
    check_choice("rule", rule, RULES)
    return RULES[rule](sources, focal_sets)


def _conjunctive(sources: Sources, focal_sets: FocalSets) -> FloatArray:
    """Apply the unnormalized conjunctive rule."""
    stacked = _read_sources(sources, focal_sets)
    _require_closed(focal_sets, "intersection")
    return masses_from_commonality(commonality(stacked, focal_sets).prod(axis=0), focal_sets)


def _dempster(sources: Sources, focal_sets: FocalSets) -> FloatArray:
    """Apply Dempster's rule with sums of logarithms.

    Hundreds of sources, or sources that nearly exclude each other, cause no underflow.
    """
    stacked = _read_sources(sources, focal_sets)
    _require_closed(focal_sets, "intersection")
    with np.errstate(divide="ignore"):
        logs = np.log(commonality(stacked.astype(np.float64), focal_sets)).sum(axis=0)
    largest = logs[..., 1:].max(axis=-1, keepdims=True, initial=-np.inf)
    impossible = np.isneginf(largest)
    logs[..., 0] = -np.inf  # the empty set gets no mass, and its scaled commonality could overflow
    commonalities = np.exp(logs - np.where(impossible, 0, largest))
    masses = np.maximum(superset_inverse(commonalities, focal_sets), 0)
    masses[..., 0] = 0
    masses /= np.where(impossible, np.nan, masses.sum(axis=-1, keepdims=True))
    return masses.astype(stacked.dtype, copy=False)


def _disjunctive(sources: Sources, focal_sets: FocalSets) -> FloatArray:
    """Apply the disjunctive rule."""
    stacked = _read_sources(sources, focal_sets)
    _require_closed(focal_sets, "union")
    return masses_from_implicability(implicability(stacked, focal_sets).prod(axis=0), focal_sets)


def _yager(sources: Sources, focal_sets: FocalSets) -> FloatArray:
    """Apply Yager's rule."""
    if not focal_sets.has_omega:
        raise ValueError("focal_sets must contain the whole frame for Yager's rule; use focal_sets.with_omega().")
    masses = _conjunctive(sources, focal_sets)
    masses[..., -1] += masses[..., 0]
    masses[..., 0] = 0
    return masses


def _dubois_prade(sources: Sources, focal_sets: FocalSets) -> FloatArray:
    """Apply Dubois and Prade's rule.

    The cost grows with the product of the numbers of focal sets that carry mass.
    """
    combined, *others = _read_sources(sources, focal_sets)
    for other in others:
        combined = _combine_two(combined, other, focal_sets)
    return np.array(combined)


def _combine_two(first: FloatArray, second: FloatArray, focal_sets: FocalSets) -> FloatArray:
    axes = tuple(range(first.ndim - 1))
    (rows,) = np.nonzero((first > 0).any(axis=axes))
    (columns,) = np.nonzero((second > 0).any(axis=axes))
    combined = np.zeros_like(first)
    for row in rows:
        member, members = focal_sets.membership[row], focal_sets.membership[columns]
        intersections = member & members
        target = np.where(intersections.any(axis=1, keepdims=True), intersections, member | members)
        positions = focal_sets.positions(target)
        if (positions < 0).any():
            missing = np.flatnonzero(target[np.argmin(positions)]).tolist()
            raise ValueError(_missing_set(missing, f"with_sets([{missing}])"))
        for column, position in zip(columns, positions, strict=True):
            combined[..., position] += first[..., row] * second[..., column]
    return combined


def _cautious(sources: Sources, focal_sets: FocalSets) -> FloatArray:
    """Apply the cautious rule."""
    stacked = _read_sources(sources, focal_sets)
    return masses_from_weights(canonical_weights(stacked, focal_sets).min(axis=0), focal_sets)


def _bold(sources: Sources, focal_sets: FocalSets) -> FloatArray:
    """Apply the bold rule: the cautious rule on negations."""
    stacked = _read_sources(sources, focal_sets)
    if not (stacked[..., 0] > 0).all():
        raise ValueError(
            "rule='bold' needs some mass on the empty set in each mass function, because it applies "
            "the cautious rule to negations."
        )
    if not focal_sets.is_full:
        raise ValueError("rule='bold' needs all subsets of the frame; use expand_masses onto FocalSets.full(...).")
    negation = complement_positions(focal_sets)
    return _cautious(stacked[..., negation], focal_sets)[..., negation]


def _average(sources: Sources, focal_sets: FocalSets) -> FloatArray:
    """Return the mean of the sources."""
    return np.asarray(_read_sources(sources, focal_sets).mean(axis=0))


def _read_sources(sources: Sources, focal_sets: FocalSets) -> FloatArray:
    checked = [
        check_masses(source, focal_sets, name=f"sources[{number}]") for number, source in enumerate(sources)
    ]
    if not checked:
        raise ValueError("sources is empty; pass at least one array of mass functions.")
    try:
        return np.stack(np.broadcast_arrays(*checked))
    except ValueError:
        shapes = ", ".join(str(source.shape) for source in checked)
        raise ValueError(f"sources must have shapes that can be broadcast together, got {shapes}.") from None


def _require_closed(focal_sets: FocalSets, operation: str) -> None:
    gap = focal_sets.intersection_gap if operation == "intersection" else focal_sets.union_gap
    if gap is not None:
        raise ValueError(_missing_set(gap, f"closure({operation!r})"))


def _missing_set(elements: Sequence[int], remedy: str) -> str:
    return (
        f"focal_sets lacks the set of elements {list(elements)}, which may get mass by this rule. Use "
        f"`larger = focal_sets.{remedy}` and `expand_masses(masses, focal_sets, larger)`."
    )


RULES: dict[str, Callable[[Sources, FocalSets], FloatArray]] = {
    "average": _average,
    "bold": _bold,
    "cautious": _cautious,
    "conjunctive": _conjunctive,
    "dempster": _dempster,
    "disjunctive": _disjunctive,
    "dubois_prade": _dubois_prade,
    "yager": _yager,
}
