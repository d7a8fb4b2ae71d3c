"""Classifiers with default parameters compared with their best setting, in the folds of the study of classifiers.

``python -m benchmarks.studies.answers.classifier_defaults [design] [judged] [--write]``

For each data set, the accuracy with defaults and the best accuracy over a small grid. The best setting is selected
on the test folds, so it is optimistic. The defaults were selected on the *design* data sets, from 32 settings of
the nearest-neighbor classifier (with 4 selection criteria), 29 of the neural and 39 of the RBF classifier.
"""

import warnings

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from benchmarks.common import command_line
from benchmarks.studies.answers.classifiers import DATA, FOLDS, load, scaled
from evlearn.classify import EvidentialKNNClassifier, EvidentialNeuralClassifier, EvidentialRBFClassifier

NAME = "answers_classifier_defaults"
TOLERANCE = 0.02


def neighbors(**options):
    return scaled(EvidentialKNNClassifier(**options))


def network(**options):
    return EvidentialNeuralClassifier(random_state=0, **options)


def radial(**options):
    return EvidentialRBFClassifier(random_state=0, **options)


def grids(n_classes):
    """Return the constructor and settings of each classifier; the first setting is the default."""
    return {
        "evidential neighbors": (
            neighbors,
            [{}, *({"n_neighbors": k, "alpha": alpha} for k in (5, 10, 20, 40) for alpha in (0.1, 0.3, 0.95))],
        ),
        "evidential network": (
            network,
            [
                {},
                *({"n_prototypes": number * n_classes, "mu": mu} for number in (2, 5, 10) for mu in (0, 1e-3)),
            ],
        ),
        "evidential radial": (
            radial,
            [
                {},
                *(
                    {"n_prototypes": number * n_classes, "l2": price}
                    for number in (2, 5)
                    for price in (1e-4, 1e-3, 1e-2)
                ),
            ],
        ),
    }


def accuracy(model, X, y):
    """Return the cross-validated accuracy."""
    correct = np.zeros(len(y), dtype=bool)
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        correct[test] = clone(model).fit(X[train], y[train]).predict(X[test]) == y[test]
    return float(correct.mean())


def compared(name):
    """Return the accuracy of each classifier with its defaults and with the best setting of its grid."""
    X, y = load(name)
    results = {}
    for method, (make, settings) in grids(int(y.max()) + 1).items():
        default, *others = (accuracy(make(**options), X, y) for options in settings)
        best = max([default, *others])
        results[method] = {
            "default": default,
            "best": best,
            "setting": settings[[default, *others].index(best)],
            "within": default >= best - TOLERANCE,
        }
    return results


def main():
    warnings.simplefilter("ignore")
    command_line.run_lists(__doc__, DATA, compared, NAME)


if __name__ == "__main__":
    main()
