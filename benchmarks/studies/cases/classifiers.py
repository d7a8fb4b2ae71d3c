"""Classifiers of measured features that several cases compare, all by default."""

from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn.classify import EvidentialForestClassifier, EvidentialKNNClassifier

OURS = "evidential forest"


def peers(n_trees):
    """Makers of the usual ones."""
    return {
        "calibrated forest": lambda: CalibratedClassifierCV(RandomForestClassifier(n_trees, random_state=0)),
        "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        "neighbours": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(10)),
    }


def ours():
    """Makers of those of this library."""
    return {
        OURS: lambda: EvidentialForestClassifier(random_state=0),
        "evidential neighbours": lambda: make_pipeline(StandardScaler(), EvidentialKNNClassifier()),
    }
