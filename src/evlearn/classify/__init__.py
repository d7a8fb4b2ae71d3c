"""Evidential classifiers: what is known about the class of an object, ignorance included."""

from evlearn.classify.knn import EvidentialKNNClassifier

__all__ = ["EvidentialKNNClassifier"]
