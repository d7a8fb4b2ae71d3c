"""The credal partition: the one result object that every method publishes."""

from evlearn.partition.alignment import align_clusters
from evlearn.partition.credal_partition import CredalPartition
from evlearn.partition.noise import from_hdbscan
from evlearn.partition.reading import as_credal
from evlearn.partition.relational import PairMasses
from evlearn.partition.summary import PartitionSummary
from evlearn.partition.verdict import SURE_LEVEL as SURE_LEVEL
from evlearn.partition.verdict import Verdict

__all__ = [
    "CredalPartition",
    "PairMasses",
    "PartitionSummary",
    "Verdict",
    "align_clusters",
    "as_credal",
    "from_hdbscan",
]
