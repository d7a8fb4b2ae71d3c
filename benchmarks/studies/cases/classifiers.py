"""Classifiers of numeric features for several case studies, all with defaults."""

from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn.classify import EvidentialForestClassifier, EvidentialKNNClassifier

METHOD = "evidential forest"


def peers(n_trees):
    """Return constructors of common classifiers."""
    return {
        "calibrated forest": lambda: CalibratedClassifierCV(RandomForestClassifier(n_trees, random_state=0)),
        "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        "neighbors": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(10)),
    }


def library_methods():
    """Return constructors of classifiers of this library."""
    return {
        METHOD: lambda: EvidentialForestClassifier(random_state=0),
        "evidential neighbors": lambda: make_pipeline(StandardScaler(), EvidentialKNNClassifier()),
    }
