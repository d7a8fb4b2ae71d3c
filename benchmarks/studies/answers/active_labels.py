"""Number of labels that an active classifier needs, compared with random queries.

``python -m benchmarks.studies.answers.active_labels [--write]``

Queries use half of the samples, and the accuracy is measured on the other half. `needed` is the number of labels
after which the mean accuracy over the seeds reaches that of random queries with all labels, `most` of them. Unsure
experts return 2 classes in 20 % of their answers ("sets").
"""

import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

from benchmarks.common import command_line
from benchmarks.studies.answers.classifiers import scaled
from evlearn.active import ActiveLabeling
from evlearn.classify import EvidentialKNNClassifier

NAME = "answers_active_labels"
STRATEGIES = ("margin", "doubt", "entropy", "nonspecificity", "random")
DATA = {
    "digits": (load_digits, 200, 10),
    "breast_cancer": (load_breast_cancer, 60, 5),
}  # maximum number of labels, batch size
SEEDS, SETS = 5, 0.2


def accuracies(name, strategy, seed, *, sets=False):
    """Return the accuracy after each batch."""
    load, n_labels, size = DATA[name]
    X, y = load(return_X_y=True)
    pool, X_test, answers, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    random, classes = np.random.default_rng(seed), np.unique(y).tolist()

    def expert(sample):
        other = random.choice(classes)
        return [int(answers[sample]), other] if sets and random.random() < SETS else int(answers[sample])

    model = scaled(EvidentialKNNClassifier())
    learner = ActiveLabeling(model, classes, strategy=strategy, batch_size=size, random_state=seed).start(pool)
    scores = []
    for _ in range(n_labels // size):
        learner.run(expert, size)
        scores.append(learner.estimator_.score(X_test, y_test) if hasattr(learner, "estimator_") else 0.0)
    return scores


def compared(name, **options):
    _, n_labels, size = DATA[name]
    curves = {
        strategy: np.mean([accuracies(name, strategy, seed, **options) for seed in range(SEEDS)], axis=0)
        for strategy in STRATEGIES
    }
    goal = curves["random"][-1]
    result = {"most": n_labels, "goal": float(goal)}
    for strategy, curve in curves.items():
        is_reached = np.flatnonzero(curve >= goal)
        result[strategy] = {
            "needed": int(size * (is_reached[0] + 1)) if len(is_reached) else None,
            "at_most": float(curve[-1]),
        }
    return result


def classes():
    return {name: compared(name) for name in DATA}


def sets():
    return {"digits": compared("digits", sets=True)}


def main():
    warnings.simplefilter("ignore")
    command_line.run_parts(__doc__, {"classes": classes, "sets": sets}, NAME)


if __name__ == "__main__":
    main()
