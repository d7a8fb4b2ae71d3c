"""A class that nobody has seen: leave one class out of the training samples, and find its samples among new ones.

``python -m benchmarks.studies.answers.unseen [design] [named] [judged] [--write]``

Each class of at least ten samples is left out in turn. 70 % of the others are for training, 30 % are new samples,
and so are all of the class. AUROC is that of the p-values of `UnseenClassDetector` with its defaults; *false* and
*found* are the shares of known and of unseen samples with a p-value of at most 0.05. Beside it: one minus the
largest probability of a random forest, the local outlier factor, the distance to the fifth neighbour, and the mass
on all classes of `EvidentialKNNClassifier` with the values of the papers, all on standardised features. *design*
chose the questions and how they are weighed; *named* are the four sets of the aim, which were looked at while
choosing; *judged* were not. Data come with the packages of requirements.txt and with ``../shared``.
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
FEWEST, NEW, RATE = 10, 0.3, 0.05
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
    """How strange new samples are, by other means."""
    scaler = StandardScaler().fit(X)
    rows, asked = scaler.transform(X), scaler.transform(new)
    forest = RandomForestClassifier(200, random_state=0).fit(X, y)
    neighbours = EvidentialKNNClassifier(5, alpha=0.95).fit(rows, y)
    return {
        "forest": 1 - forest.predict_proba(new).max(axis=1),
        "outlier factor": -LocalOutlierFactor(novelty=True).fit(rows).score_samples(asked),
        "distance": NearestNeighbors(n_neighbors=5).fit(rows).kneighbors(asked)[0][:, -1],
        "evidential neighbours": neighbours.predict_mass(asked).masses[:, -1],
    }


def without(X, y, left_out, random):
    """The figures of one class that is left out."""
    known = random.permutation(np.flatnonzero(y != left_out))
    n_new = int(NEW * len(known))
    train, new = known[n_new:], np.concatenate([known[:n_new], np.flatnonzero(y == left_out)])
    strange = np.arange(len(new)) >= n_new
    p_values = UnseenClassDetector(random_state=0).fit(X[train], y[train]).p_values(X[new])
    figures = {name: roc_auc_score(strange, said) for name, said in peers(X[train], y[train], X[new]).items()}
    alarms = p_values <= RATE
    return figures | {
        "detector": roc_auc_score(strange, -p_values),
        "false": alarms[~strange].mean(),
        "found": alarms[strange].mean(),
    }


def compared(name):
    X, y = load(name)
    random = np.random.default_rng(0)
    classes = np.flatnonzero(np.bincount(y) >= FEWEST)
    rows = [without(X, y, one, random) for one in classes]
    return {"classes": len(rows)} | {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}


def main():
    warnings.simplefilter("ignore")
    command_line.run_lists(__doc__, DATA, compared, NAME)


if __name__ == "__main__":
    main()
