"""Pictures of credal partitions, with matplotlib (the extra ``plot``)."""

try:
    import matplotlib  # noqa: F401 - asked for here, so that the error says what to install
except ImportError as error:
    raise ImportError(
        "evlearn.plotting needs matplotlib; install it with `pip install 'evidential-learn[plot]'`."
    ) from error

from evlearn.plotting.cluster_number_display import ClusterNumberDisplay
from evlearn.plotting.constraints_display import ConstraintsDisplay
from evlearn.plotting.contour_display import MassContourDisplay
from evlearn.plotting.delta_bel_display import DeltaBelDisplay
from evlearn.plotting.dominance_display import DominanceDisplay
from evlearn.plotting.doubt_display import DoubtDisplay
from evlearn.plotting.interval_display import IntervalDisplay
from evlearn.plotting.kinds_of_doubt_display import KindsOfDoubtDisplay
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
    "ClusterNumberDisplay",
    "ConstraintsDisplay",
    "CredalPartitionDisplay",
    "DeltaBelDisplay",
    "DominanceDisplay",
    "DoubtDisplay",
    "IntervalDisplay",
    "KindsOfDoubtDisplay",
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
