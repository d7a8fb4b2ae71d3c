"""Clustering and classification that ask about what they doubt most, and samples for a person to review."""

from evlearn.active.active_clustering import ActiveClustering
from evlearn.active.active_labelling import ActiveLabelling
from evlearn.active.answers import Answer, Query
from evlearn.active.asking import StopAsking
from evlearn.active.label_answers import LabelAnswer, LabelQuery
from evlearn.active.oracles import LabelOracle, TerminalLabeller, TerminalOracle
from evlearn.active.review import Review, ReviewAnswers, review

__all__ = [
    "ActiveClustering",
    "ActiveLabelling",
    "Answer",
    "LabelAnswer",
    "LabelOracle",
    "LabelQuery",
    "Query",
    "Review",
    "ReviewAnswers",
    "StopAsking",
    "TerminalLabeller",
    "TerminalOracle",
    "review",
]
