"""Displays of credal partitions, drawn with matplotlib (the extra ``plot``)."""

try:
    import matplotlib  # noqa: F401 - imported first for a clear error message
except ImportError as error:
    raise ImportError(
        "evlearn.plotting needs matplotlib; install it with `pip install 'evidential-learn[plot]'`."
    ) from error

from evlearn.plotting.belief_peaks_display import BeliefPeaksDisplay
from evlearn.plotting.cluster_number_display import ClusterNumberDisplay
from evlearn.plotting.comparison_display import ComparisonDisplay
from evlearn.plotting.constraints_display import ConstraintsDisplay
from evlearn.plotting.contour_display import MassContourDisplay
from evlearn.plotting.doubt_display import DoubtDisplay
from evlearn.plotting.drift_display import DriftDisplay
from evlearn.plotting.masses_display import MassesDisplay
from evlearn.plotting.objective_display import ObjectiveDisplay
from evlearn.plotting.pairs_display import PairsDisplay
from evlearn.plotting.partition_display import CredalPartitionDisplay
from evlearn.plotting.relational_display import RelationalDisplay
from evlearn.plotting.risk_coverage_display import RiskCoverageDisplay

__all__ = [
    "BeliefPeaksDisplay",
    "ClusterNumberDisplay",
    "ComparisonDisplay",
    "ConstraintsDisplay",
    "CredalPartitionDisplay",
    "DoubtDisplay",
    "DriftDisplay",
    "MassContourDisplay",
    "MassesDisplay",
    "ObjectiveDisplay",
    "PairsDisplay",
    "RelationalDisplay",
    "RiskCoverageDisplay",
]
