"""Combination of the statements of several partitions about pairs of samples."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.partition.relational import PairMasses
from evlearn.utils.typing import FloatArray

#: Frame of a pair: same cluster, or different clusters. Its sets are the fields of `PairMasses`.
PAIR_FRAME = FocalSets.full(2)
#: Discount rate before the cautious rule, which needs some mass on the frame.
_DISCOUNT_RATE = 1e-9


def _dempster(sources: Sequence[FloatArray], focal_sets: FocalSets) -> FloatArray:
    """Apply Dempster's rule, or the mean where sources exclude each other."""
    combined = belief.combine(sources, focal_sets, rule="dempster")
    return np.where(np.isnan(combined), belief.combine(sources, focal_sets, rule="average"), combined)


def _cautious(sources: Sequence[FloatArray], focal_sets: FocalSets) -> FloatArray:
    """Apply the normalized cautious rule to slightly discounted statements."""
    discounted = [belief.discount(source, focal_sets, _DISCOUNT_RATE) for source in sources]
    combined = belief.combine(discounted, focal_sets, rule="cautious")
    support = 1 - combined[..., :1]
    with np.errstate(invalid="ignore", divide="ignore"):
        normalized = combined / support
    normalized[..., 0] = 0
    # Only the discounted mass remains where sources exclude each other.
    return np.where(support > 2 * _DISCOUNT_RATE, normalized, belief.combine(sources, focal_sets, rule="average"))


CombinationRule: TypeAlias = Literal[
    "average", "dempster", "cautious", "conjunctive", "yager", "dubois_prade", "disjunctive"
]
RULES: dict[str, Callable[[Sequence[FloatArray], FocalSets], FloatArray]] = {
    "average": partial(belief.combine, rule="average"),
    "dempster": _dempster,
    "cautious": _cautious,
    "conjunctive": partial(belief.combine, rule="conjunctive"),
    "yager": partial(belief.combine, rule="yager"),
    "dubois_prade": partial(belief.combine, rule="dubois_prade"),
    "disjunctive": partial(belief.combine, rule="disjunctive"),
}
#: Rules that replace conflict by ignorance, so that focal sets of several clusters are needed.
DOUBT_RULES = ("yager", "dubois_prade", "disjunctive")


def combine_statements(sources: Sequence[PairMasses], rule: str) -> PairMasses:
    """Combine the statements of several sources about the same pairs."""
    stacked = [_normalize_rows(np.stack(source, axis=-1)) for source in sources]
    return PairMasses(*np.moveaxis(RULES[rule](stacked, PAIR_FRAME), -1, 0))


def _normalize_rows(masses: FloatArray) -> FloatArray:
    """Normalize masses of pairs, because products double the rounding errors of the sums of rows."""
    masses /= masses.sum(axis=-1, keepdims=True)
    return masses
