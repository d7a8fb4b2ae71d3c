"""Clustering that asks about the pairs of samples that it doubts most."""

from evlearn.active.active_clustering import ActiveClustering
from evlearn.active.answers import Answer, Query
from evlearn.active.oracles import LabelOracle, StopAsking, TerminalOracle

__all__ = ["ActiveClustering", "Answer", "LabelOracle", "Query", "StopAsking", "TerminalOracle"]
