"""What several partitions say about pairs of samples, combined into one statement for each pair."""

from collections.abc import Callable, Sequence

import numpy as np

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.partition import PairMasses
from evlearn.utils.typing import FloatArray

#: The frame of a pair: same cluster, or different clusters. Its sets are the fields of `PairMasses`.
PAIR_FRAME = FocalSets.full(2)


def _dempster(sources: Sequence[FloatArray], focal_sets: FocalSets) -> FloatArray:
    """Dempster's rule, and the mean where the sources exclude each other."""
    combined = belief.dempster(sources, focal_sets)
    return np.where(np.isnan(combined), belief.average(sources, focal_sets), combined)


RULES: dict[str, Callable[[Sequence[FloatArray], FocalSets], FloatArray]] = {
    "average": belief.average,
    "dempster": _dempster,
    "dubois_prade": belief.dubois_prade,
}


def fuse(sources: Sequence[PairMasses], rule: str) -> PairMasses:
    """Combine what several sources say about the same pairs."""
    stacked = [_summing_to_one(np.stack(source, axis=-1)) for source in sources]
    return PairMasses(*np.moveaxis(RULES[rule](stacked, PAIR_FRAME), -1, 0))


def _summing_to_one(masses: FloatArray) -> FloatArray:
    """Masses of pairs are products: what two rows lack to one is doubled, and may be more than the rules allow."""
    masses /= masses.sum(axis=-1, keepdims=True)
    return masses


__all__ = ["RULES", "fuse"]
