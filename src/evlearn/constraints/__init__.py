"""Prior knowledge about pairs of samples: same cluster, or different clusters."""

from evlearn.constraints.named import NamedConstraints
from evlearn.constraints.pairwise import PairwiseConstraints

__all__ = ["NamedConstraints", "PairwiseConstraints"]
