"""The credal partition: the one result object that every method publishes."""

from evlearn.partition.credal_partition import CredalPartition
from evlearn.partition.relational import PairMasses
from evlearn.partition.summary import PartitionSummary

__all__ = ["CredalPartition", "PairMasses", "PartitionSummary"]
