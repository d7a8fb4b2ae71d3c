"""Measures that compare partitions: credal Rand index, consistency and nonspecificity."""

from evlearn.metrics.pairwise import (
    SampledIndex,
    consistency_index,
    credal_rand_index,
    nonspecificity_index,
    sampled_credal_rand_index,
)

__all__ = [
    "SampledIndex",
    "consistency_index",
    "credal_rand_index",
    "nonspecificity_index",
    "sampled_credal_rand_index",
]
