"""Measures that compare partitions, and that judge set-valued and refused decisions."""

from evlearn.metrics.comparison import PartitionComparison, compare_partitions
from evlearn.metrics.decisions import (
    RejectionCurve,
    SetSummary,
    rejection_curve,
    summarize_sets,
    utility_discounted_accuracy,
)
from evlearn.metrics.pairwise import (
    SampledIndex,
    consistency_index,
    credal_rand_index,
    nonspecificity_index,
    sampled_credal_rand_index,
)

__all__ = [
    "PartitionComparison",
    "RejectionCurve",
    "SampledIndex",
    "SetSummary",
    "compare_partitions",
    "consistency_index",
    "credal_rand_index",
    "nonspecificity_index",
    "rejection_curve",
    "sampled_credal_rand_index",
    "summarize_sets",
    "utility_discounted_accuracy",
]
