"""Conformal prediction around any estimator: sets of clusters, unseen classes, and drift."""

from evlearn.conformal.conformal_classifier import ConformalClassifier
from evlearn.conformal.conformal_clusterer import ConformalClusterer, DoubtSources
from evlearn.conformal.drift_monitor import DriftChange, DriftMonitor, DriftTest
from evlearn.conformal.unseen_classes import UnseenClassDetector

__all__ = [
    "ConformalClassifier",
    "ConformalClusterer",
    "DoubtSources",
    "DriftChange",
    "DriftMonitor",
    "DriftTest",
    "UnseenClassDetector",
]
