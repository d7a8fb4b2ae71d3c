"""What several partitions say about pairs of samples, combined into one statement for each pair."""

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.partition import PairMasses
from evlearn.utils.typing import FloatArray

#: The frame of a pair: same cluster, or different clusters. Its sets are the fields of `PairMasses`.
PAIR_FRAME = FocalSets.full(2)
#: How much of it is doubted before the cautious rule, which cannot do with statements that are quite sure.
_DOUBT = 1e-9


def _dempster(sources: Sequence[FloatArray], focal_sets: FocalSets) -> FloatArray:
    """Dempster's rule, and the mean where the sources exclude each other."""
    combined = belief.dempster(sources, focal_sets)
    return np.where(np.isnan(combined), belief.average(sources, focal_sets), combined)


def _cautious(sources: Sequence[FloatArray], focal_sets: FocalSets) -> FloatArray:
    """The cautious rule, normalised, of statements that are nearly as sure as they were."""
    doubted = [belief.discount(source, focal_sets, _DOUBT) for source in sources]
    combined = belief.cautious(doubted, focal_sets)
    support = 1 - combined[..., :1]
    with np.errstate(invalid="ignore", divide="ignore"):
        normal = combined / support
    normal[..., 0] = 0
    # Sources that exclude each other leave no more than their doubt.
    return np.where(support > 2 * _DOUBT, normal, belief.average(sources, focal_sets))


CombinationRule: TypeAlias = Literal[
    "average", "dempster", "cautious", "conjunctive", "yager", "dubois_prade", "disjunctive"
]
RULES: dict[str, Callable[[Sequence[FloatArray], FocalSets], FloatArray]] = {
    "average": belief.average,
    "dempster": _dempster,
    "cautious": _cautious,
    "conjunctive": belief.conjunctive,
    "yager": belief.yager,
    "dubois_prade": belief.dubois_prade,
    "disjunctive": belief.disjunctive,
}
#: Rules that answer contradictions by "nobody knows", and so need sets of clusters.
ADDING_DOUBT = ("yager", "dubois_prade", "disjunctive")


def fuse(sources: Sequence[PairMasses], rule: str) -> PairMasses:
    """Combine what several sources say about the same pairs."""
    stacked = [_summing_to_one(np.stack(source, axis=-1)) for source in sources]
    return PairMasses(*np.moveaxis(RULES[rule](stacked, PAIR_FRAME), -1, 0))


def _summing_to_one(masses: FloatArray) -> FloatArray:
    """Masses of pairs are products: what two rows lack to one is doubled, and may be more than the rules allow."""
    masses /= masses.sum(axis=-1, keepdims=True)
    return masses


__all__ = ["RULES", "fuse"]
