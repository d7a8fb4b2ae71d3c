"""Metrics of partitions, set-valued decisions and doubt."""

from evlearn.metrics.comparison import compare_partitions
from evlearn.metrics.decisions import errors_by_verdict, utility_discounted_accuracy
from evlearn.metrics.pairwise import consistency_index, credal_rand_index, nonspecificity_index
from evlearn.metrics.risk_coverage import (
    RiskCoverageCurve,
    augrc_score,
    aurc_score,
    risk_coverage_curve,
)

__all__ = [
    "RiskCoverageCurve",
    "augrc_score",
    "aurc_score",
    "compare_partitions",
    "consistency_index",
    "credal_rand_index",
    "errors_by_verdict",
    "nonspecificity_index",
    "risk_coverage_curve",
    "utility_discounted_accuracy",
]
