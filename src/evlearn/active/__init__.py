"""Clustering that asks about the pairs of samples that it doubts most, and samples for a person to review."""

from evlearn.active.active_clustering import ActiveClustering
from evlearn.active.answers import Answer, Query
from evlearn.active.oracles import LabelOracle, StopAsking, TerminalOracle
from evlearn.active.review import Review, ReviewAnswers, review

__all__ = [
    "ActiveClustering",
    "Answer",
    "LabelOracle",
    "Query",
    "Review",
    "ReviewAnswers",
    "StopAsking",
    "TerminalOracle",
    "review",
]
