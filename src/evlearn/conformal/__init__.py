"""Conformal prediction around any estimator: sets of clusters, and detection of unseen classes."""

from evlearn.conformal.conformal_classifier import ConformalClassifier
from evlearn.conformal.conformal_clusterer import ConformalClusterer, DoubtSources
from evlearn.conformal.unseen_classes import UnseenClassDetector

__all__ = ["ConformalClassifier", "ConformalClusterer", "DoubtSources", "UnseenClassDetector"]
