"""Active learning: queries about the most doubtful pairs or labels, and a queue of samples for review."""

from evlearn.active.active_clustering import ActiveClustering
from evlearn.active.active_labeling import ActiveLabeling
from evlearn.active.answers import LabelAnswer, LabelQuery, PairAnswer, PairQuery, StopQuerying
from evlearn.active.oracles import PairOracle, TerminalLabelOracle, TerminalPairOracle
from evlearn.active.review_queue import ReviewQueue, review_queue

__all__ = [
    "ActiveClustering",
    "ActiveLabeling",
    "LabelAnswer",
    "LabelQuery",
    "PairAnswer",
    "PairOracle",
    "PairQuery",
    "ReviewQueue",
    "StopQuerying",
    "TerminalLabelOracle",
    "TerminalPairOracle",
    "review_queue",
]
