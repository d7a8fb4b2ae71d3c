"""Displays of credal partitions, drawn with matplotlib (the extra ``plot``)."""

try:
    import matplotlib  # noqa: F401 - imported first for a clear error message
except ImportError as error:
    raise ImportError(
        "evlearn.plotting needs matplotlib; install it with `pip install 'evidential-learn[plot]'`."
    ) from error

from evlearn.plotting.belief_peaks_display import BeliefPeaksDisplay
from evlearn.plotting.cluster_number_display import ClusterNumberDisplay
from evlearn.plotting.constraints_display import ConstraintsDisplay
from evlearn.plotting.contour_display import MassContourDisplay
from evlearn.plotting.dominance_display import DominanceDisplay
from evlearn.plotting.doubt_display import DoubtDisplay
from evlearn.plotting.doubt_sources_display import DoubtSourcesDisplay
from evlearn.plotting.interval_display import IntervalDisplay
from evlearn.plotting.masses_display import MassesDisplay
from evlearn.plotting.objective_display import ObjectiveDisplay
from evlearn.plotting.pair_probability_display import PairProbabilityDisplay
from evlearn.plotting.partition_display import CredalPartitionDisplay
from evlearn.plotting.partition_map_display import PartitionMapDisplay
from evlearn.plotting.partition_panels_display import PartitionPanelsDisplay
from evlearn.plotting.relational_display import RelationalDisplay
from evlearn.plotting.risk_coverage_display import RiskCoverageDisplay
from evlearn.plotting.shepard_display import ShepardDisplay

__all__ = [
    "BeliefPeaksDisplay",
    "ClusterNumberDisplay",
    "ConstraintsDisplay",
    "CredalPartitionDisplay",
    "DominanceDisplay",
    "DoubtDisplay",
    "DoubtSourcesDisplay",
    "IntervalDisplay",
    "MassContourDisplay",
    "MassesDisplay",
    "ObjectiveDisplay",
    "PairProbabilityDisplay",
    "PartitionMapDisplay",
    "PartitionPanelsDisplay",
    "RelationalDisplay",
    "RiskCoverageDisplay",
    "ShepardDisplay",
]
