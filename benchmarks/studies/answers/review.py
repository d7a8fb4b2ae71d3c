"""Errors expected from masses and actual errors, before and after a review of 10 % of the samples.

``python -m benchmarks.studies.answers.review --write`` takes a minute.
"""

import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from benchmarks.common import command_line
from evlearn.active import review_queue
from evlearn.cluster import CCM, ECM
from evlearn.conformal import ConformalClusterer
from evlearn.metrics.risk_coverage import majority_classes

DATA = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
METHODS = {
    "CCM": lambda c: CCM(c, random_state=0),
    "ECM": lambda c: ECM(c, random_state=0),
    "ConformalClusterer of CCM": lambda c: ConformalClusterer(CCM(c), random_state=0),
}
BUDGET = 0.1


def load(name):
    """Return standardized features and classes; for the digits, 20 principal components."""
    X, y = DATA[name](return_X_y=True)
    return (PCA(20, random_state=0) if name == "digits" else StandardScaler()).fit_transform(X), y


def compare(name, method):
    """Return expected and actual errors, and those left after the review."""
    X, y = load(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        partition = METHODS[method](int(y.max()) + 1).fit(X).credal_partition_
    queue = review_queue(partition, BUDGET)
    wrong = majority_classes(y, partition.to_hard()) != y
    return {
        "data": name,
        "method": method,
        "samples": len(y),
        "expected": round(queue.expected_errors, 1),
        "errors": int(wrong.sum()),
        "expected_left": round(queue.expected_errors_left, 1),
        "errors_left": int(wrong.sum() - wrong[queue.samples].sum()),
        "left_at_random": round(float((1 - BUDGET) * wrong.sum()), 1),
        "left_at_best": int(max(wrong.sum() - np.ceil(BUDGET * len(y)), 0)),
    }


def errors():
    """Return the results for all data and methods."""
    return [compare(name, method) for name in DATA for method in METHODS]


if __name__ == "__main__":
    command_line.run_parts(__doc__, {"errors": errors}, "answers_review")
