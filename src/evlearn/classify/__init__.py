"""Evidential classifiers, which predict mass functions on sets of classes."""

from evlearn.classify.annotations import Annotations
from evlearn.classify.forest import EvidentialForestClassifier, masses_from_forest
from evlearn.classify.fusion import FusionClassifier
from evlearn.classify.knn import EvidentialKNNClassifier
from evlearn.classify.label_issues import LabelIssues, find_label_issues
from evlearn.classify.prototype_classifiers import EvidentialNeuralClassifier, EvidentialRBFClassifier
from evlearn.classify.weights_of_evidence import masses_from_linear

__all__ = [
    "Annotations",
    "EvidentialForestClassifier",
    "EvidentialKNNClassifier",
    "EvidentialNeuralClassifier",
    "EvidentialRBFClassifier",
    "FusionClassifier",
    "LabelIssues",
    "find_label_issues",
    "masses_from_forest",
    "masses_from_linear",
]
