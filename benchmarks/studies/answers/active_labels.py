"""How many labels a classifier needs that asks for them, beside one that gets them at random.

``python -m benchmarks.studies.answers.active_labels [--write]``

Half of the samples may be asked about; accuracy is that on the other half. `needed` is the number of labels from
which on the mean accuracy over seeds is that of random labels at the end, `most` of them. Experts who are unsure
answer with two classes in a fifth of all cases ("sets").
"""

import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

from benchmarks.common import command_line
from benchmarks.studies.answers.classifiers import scaled
from evlearn.active import ActiveLabelling
from evlearn.classify import EvidentialKNNClassifier

NAME = "answers_active_labels"
STRATEGIES = ("margin", "doubt", "entropy", "nonspecificity", "random")
DATA = {"digits": (load_digits, 200, 10), "breast_cancer": (load_breast_cancer, 60, 5)}  # labels, and in a batch
SEEDS, SETS = 5, 0.2


def accuracies(name, strategy, seed, *, sets=False):
    """The accuracy after each batch."""
    load, most, size = DATA[name]
    X, y = load(return_X_y=True)
    asked, tested, answers, truth = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    random, classes = np.random.default_rng(seed), np.unique(y).tolist()

    def expert(sample):
        other = random.choice(classes)
        return [int(answers[sample]), other] if sets and random.random() < SETS else int(answers[sample])

    model = scaled(EvidentialKNNClassifier())
    learner = ActiveLabelling(model, classes, strategy=strategy, batch_size=size, random_state=seed).start(asked)
    found = []
    for _ in range(most // size):
        learner.run(expert, size)
        found.append(learner.estimator_.score(tested, truth) if hasattr(learner, "estimator_") else 0.0)
    return found


def compared(name, **options):
    _, most, size = DATA[name]
    curves = {
        one: np.mean([accuracies(name, one, seed, **options) for seed in range(SEEDS)], axis=0)
        for one in STRATEGIES
    }
    goal = curves["random"][-1]
    found = {"most": most, "goal": float(goal)}
    for one, curve in curves.items():
        enough = np.flatnonzero(curve >= goal)
        found[one] = {"needed": int(size * (enough[0] + 1)) if len(enough) else None, "at_most": float(curve[-1])}
    return found


def classes():
    return {name: compared(name) for name in DATA}


def sets():
    return {"digits": compared("digits", sets=True)}


def main():
    warnings.simplefilter("ignore")
    command_line.run_parts(__doc__, {"classes": classes, "sets": sets}, NAME)


if __name__ == "__main__":
    main()
