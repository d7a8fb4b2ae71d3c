"""What is known beforehand about pairs of samples: same cluster, or different clusters."""

from evlearn.constraints.pairwise import PairwiseConstraints

__all__ = ["PairwiseConstraints"]
