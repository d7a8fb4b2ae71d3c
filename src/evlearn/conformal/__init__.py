"""Answers with a promise, around any estimator: sets of clusters, and classes that nobody has seen."""

from evlearn.conformal.conformal_clusterer import ConformalClusterer
from evlearn.conformal.kinds_of_doubt import KindsOfDoubt
from evlearn.conformal.unseen_classes import UnseenClassDetector

__all__ = ["ConformalClusterer", "KindsOfDoubt", "UnseenClassDetector"]
