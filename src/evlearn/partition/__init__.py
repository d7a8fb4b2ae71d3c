"""Credal partitions: the result of every clusterer and classifier."""

from evlearn.partition.alignment import align_clusters
from evlearn.partition.credal_partition import CredalPartition
from evlearn.partition.tracking import ClusterEvent, ClusterTracking, track_clusters
from evlearn.partition.verdict import SURE_LEVEL as SURE_LEVEL
from evlearn.partition.verdict import Verdict

__all__ = [
    "ClusterEvent",
    "ClusterTracking",
    "CredalPartition",
    "Verdict",
    "align_clusters",
    "track_clusters",
]
