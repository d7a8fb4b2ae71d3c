"""Measures that compare partitions, and that judge set-valued decisions and doubt."""

from evlearn.metrics.comparison import PartitionComparison, compare_partitions
from evlearn.metrics.decisions import (
    SetSummary,
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
from evlearn.metrics.risk_coverage import (
    RiskCoverageCurve,
    augrc_score,
    aurc_score,
    majority_classes,
    risk_coverage_curve,
)
from evlearn.metrics.verdict_errors import VerdictErrors, errors_by_verdict

__all__ = [
    "PartitionComparison",
    "RiskCoverageCurve",
    "SampledIndex",
    "SetSummary",
    "VerdictErrors",
    "augrc_score",
    "aurc_score",
    "compare_partitions",
    "consistency_index",
    "credal_rand_index",
    "errors_by_verdict",
    "majority_classes",
    "nonspecificity_index",
    "risk_coverage_curve",
    "sampled_credal_rand_index",
    "summarize_sets",
    "utility_discounted_accuracy",
]
