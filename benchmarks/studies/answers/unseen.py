"""Detection of unseen classes: each class is omitted from the training samples in turn.

``python -m benchmarks.studies.answers.unseen [design] [named] [judged] [--write]``

Each class of at least 10 samples is omitted in turn. Of the other classes, 70 % of the samples are for training
and 30 % are new; all samples of the omitted class are new. AUROC is that of the p-values of `UnseenClassDetector`
with its defaults; *false* and *found* are the shares of samples of known and unseen classes with a p-value of at
most 0.05. For comparison: 1 minus the largest probability of a random forest, the local outlier factor, the
distance to the fifth neighbor, and the mass on all classes of `EvidentialKNNClassifier` with the parameters of the
papers, all on standardized features. The scores and their weights were chosen on *design*; the 4 target data sets
*named* were used during that choice, *judged* were not. The data come with the packages of requirements.txt and
with ``../shared``.
"""

import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import StandardScaler

from benchmarks.common import command_line
from benchmarks.studies.answers.data import blood_cells, keel_table, shared
from evlearn.classify import EvidentialKNNClassifier
from evlearn.conformal import UnseenClassDetector

NAME = "answers_unseen"
MIN_CLASS_SIZE, NEW, RATE = 10, 0.3, 0.05
DATA = {
    "design": ("vehicle", "wine", "led7digit", "vowel", "movement_libras", "texture", "penbased"),
    "named": ("pbmc", "segment", "digits", "satimage"),
    "judged": ("ecoli", "glass_uci", "seeds", "yeast"),
}


def load(name):
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    elif name == "pbmc":
        X, y = blood_cells()
        X = X[:, :15]
    elif name in DATA["judged"]:
        X, y = shared(name)
    else:
        table = keel_table(name).dropna()
        X, y = table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].astype(str)
    order = np.random.default_rng(0).permutation(len(X))[: 2000 if name in DATA["design"] else None]
    return np.asarray(X, dtype=float)[order], np.unique(np.asarray(y), return_inverse=True)[1][order]


def peers(X, y, new):
    """Return scores of strangeness from other methods."""
    scaler = StandardScaler().fit(X)
    train_rows, new_rows = scaler.transform(X), scaler.transform(new)
    forest = RandomForestClassifier(200, random_state=0).fit(X, y)
    neighbors = EvidentialKNNClassifier(5, alpha=0.95).fit(train_rows, y)
    return {
        "forest": 1 - forest.predict_proba(new).max(axis=1),
        "outlier factor": -LocalOutlierFactor(novelty=True).fit(train_rows).score_samples(new_rows),
        "distance": NearestNeighbors(n_neighbors=5).fit(train_rows).kneighbors(new_rows)[0][:, -1],
        "evidential neighbors": neighbors.predict_mass(new_rows).masses[:, -1],
    }


def omit_class(X, y, omitted, random):
    """Return the scores for one omitted class."""
    others = random.permutation(np.flatnonzero(y != omitted))
    n_new = int(NEW * len(others))
    train, new = others[n_new:], np.concatenate([others[:n_new], np.flatnonzero(y == omitted)])
    is_unseen = np.arange(len(new)) >= n_new
    p_values = UnseenClassDetector(random_state=0).fit(X[train], y[train]).p_values(X[new])
    figures = {name: roc_auc_score(is_unseen, score) for name, score in peers(X[train], y[train], X[new]).items()}
    alarms = p_values <= RATE
    return figures | {
        "detector": roc_auc_score(is_unseen, -p_values),
        "false": alarms[~is_unseen].mean(),
        "found": alarms[is_unseen].mean(),
    }


def compared(name):
    X, y = load(name)
    random = np.random.default_rng(0)
    classes = np.flatnonzero(np.bincount(y) >= MIN_CLASS_SIZE)
    rows = [omit_class(X, y, omitted, random) for omitted in classes]
    return {"classes": len(rows)} | {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}


def main():
    warnings.simplefilter("ignore")
    command_line.run_lists(__doc__, DATA, compared, NAME)


if __name__ == "__main__":
    main()
