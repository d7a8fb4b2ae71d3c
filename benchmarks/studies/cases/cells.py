"""Case study: cell types with answers of varying precision, and detection of new types.

700 blood cells (10x PBMC 68k, reduced, from scanpy) of 10 types, described by principal components of their gene
expressions. Types form a tree: an answer may be a type, a family such as "CD4 T cell", a lineage such as "T cell",
or just "cell". A wrong answer costs 1; a correct answer costs less if it is more precise (`COST_OF_LEVEL`); the
answer "new type" costs 0.4 for a cell of a known type, and nothing for a new one.

Protocol, written before the first run. *Known types*: 5 folds, 4 repetitions; 15 components, standardized for
methods that need it. Each method chooses the node of the tree with the least expected cost, by its probabilities
or by its masses (mass on a set is distributed equally). *A new type*: each type in turn is omitted from the
training cells; 70 % of the other cells are for training, the remaining 30 % and all cells of the omitted type are
new. Each method may answer "new type" for about 5 % of known cells: `UnseenClassDetector` by its p-values, the
others by the 5 % quantile of the largest probability in 5 folds of the training cells. Peers: a calibrated forest,
logistic regression (used by CellTypist) and nearest neighbors. Our methods: the first recommendation of the guide,
`EvidentialForestClassifier`, then `EvidentialKNNClassifier`, both with defaults. The unseen types of these data
were used in the design of the detector (`answers.unseen`), with other splits. No other variant was tried.
"""

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_predict

from benchmarks.studies.cases import classifiers
from benchmarks.studies.cases.cell_data import load
from benchmarks.studies.cases.decisions import acts_of_masses, acts_of_probabilities, gains, interval, intervals
from evlearn import predict_mass
from evlearn.conformal import UnseenClassDetector

REPEATS, FOLDS = 4, 5
WRONG, NEW, RATE = 1.0, 0.4, 0.05
#: Costs of a correct answer by level: a type, a family, a lineage, or just "cell".
COST_OF_LEVEL = {"type": 0.0, "family": 0.1, "lineage": 0.2, "cell": 0.4}
#: Named sets of types.
TREE = {
    "CD4 T cell": ("family", ("CD4+/CD25 T Reg", "CD4+/CD45RA+/CD25- Naive T", "CD4+/CD45RO+ Memory")),
    "CD8 T cell": ("family", ("CD8+ Cytotoxic T", "CD8+/CD45RA+ Naive Cytotoxic")),
    "T cell": (
        "lineage",
        (
            *("CD4+/CD25 T Reg", "CD4+/CD45RA+/CD25- Naive T", "CD4+/CD45RO+ Memory"),
            *("CD8+ Cytotoxic T", "CD8+/CD45RA+ Naive Cytotoxic"),
        ),
    ),
    "myeloid cell": ("family", ("CD14+ Monocyte", "Dendritic")),
}
METHOD = classifiers.METHOD
PEERS = classifiers.peers(200)
METHODS = PEERS | classifiers.library_methods()


def answers_of(kinds):
    """Return all possible answers: their names, levels and sets of types."""
    answers = [(kind, "type", {kind}) for kind in kinds]
    answers += [(name, level, set(types) & {*kinds}) for name, (level, types) in TREE.items()]
    return [*answers, ("cell", "cell", {*kinds})]


def losses(kinds):
    """Return the cost of each type (row) and answer (column)."""
    return np.array(
        [
            [COST_OF_LEVEL[level] if kind in types else WRONG for _, level, types in answers_of(kinds)]
            for kind in kinds
        ]
    )


def acts(model, X, loss):
    """Return the answers of a fitted model with the least expected cost."""
    last = model[-1] if hasattr(model, "steps") else model
    if hasattr(last, "predict_mass"):
        return acts_of_masses(predict_mass(model, X), loss)
    return acts_of_probabilities(model.predict_proba(X), loss)


def evaluate_answers(y, kinds, chosen, loss):
    """Return the precision of answers, the errors and the costs, per 100 cells."""
    levels = np.array([level for _, level, _ in answers_of(kinds)])[chosen]
    cost = loss[np.searchsorted(kinds, y), chosen]
    shares = {level: 100 * float((levels == level).mean()) for level in COST_OF_LEVEL}
    return {
        **shares,
        "wrong": 100 * float((cost == WRONG).mean()),
        "wrong_types": 100 * float((cost[levels == "type"] == WRONG).mean()),
        "cost": 100 * float(cost.mean()),
    }


def known_types(X, y, methods, repeats=REPEATS):
    """Return costs by fold, including the cost of always answering with the most likely type."""
    kinds = np.unique(y)
    loss, rows = losses(kinds), []
    for train, test in RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=0).split(X, y):
        row = {}
        for name, make in methods.items():
            model = make().fit(X[train], y[train])
            row[name] = evaluate_answers(y[test], kinds, acts(model, X[test], loss), loss)
            row[name]["always_a_type"] = 100 * float((model.predict(X[test]) != y[test]).mean())
        rows.append(row)
    return rows


def alarms_by_probability(make, X, y, new):
    """Return the cells whose largest probability is below the 5 % quantile of cross-validated training cells."""
    usual = cross_val_predict(make(), X, y, cv=FOLDS, method="predict_proba").max(axis=1)
    return make().fit(X, y).predict_proba(new).max(axis=1) < np.quantile(usual, RATE)


def new_types(X, y, methods, omitted=None):
    """Return false alarms, detections and costs for each omitted type."""
    rows = []
    for kind in np.unique(y) if omitted is None else omitted:
        random = np.random.default_rng(0)
        known_rows = random.permutation(np.flatnonzero(y != kind))
        n_new = int(0.3 * len(known_rows))
        train, test = known_rows[n_new:], np.concatenate([known_rows[:n_new], np.flatnonzero(y == kind)])
        is_new = y[test] == kind
        detector = UnseenClassDetector(false_alarm_rate=RATE, random_state=0).fit(X[train], y[train])
        alarms = {name: alarms_by_probability(make, X[train], y[train], X[test]) for name, make in methods.items()}
        alarms["unseen-class detector"] = detector.is_unseen(X[test])
        rows.append(
            {
                name: {
                    "false": 100 * float(alarm[~is_new].mean()),
                    "found": 100 * float(alarm[is_new].mean()),
                    "cost": 100 * float((WRONG * (~alarm[is_new]).mean() + NEW * alarm[~is_new].mean()) / 2),
                }
                for name, alarm in alarms.items()
            }
        )
    return rows


def map_of_cells(X, y, coordinates):
    """Return the coordinates of cells, and their cross-validated answers from a forest."""
    kinds = np.unique(y)
    loss, chosen = losses(kinds), np.zeros(len(y), dtype=int)
    for train, test in RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=1, random_state=0).split(X, y):
        chosen[test] = acts(METHODS[METHOD]().fit(X[train], y[train]), X[test], loss)
    names = [name for name, _, _ in answers_of(kinds)]
    is_correct = loss[np.searchsorted(kinds, y), chosen] < WRONG
    return [
        [round(float(u), 2), round(float(v), 2), names[act], bool(correct)]
        for (u, v), act, correct in zip(coordinates, chosen, is_correct, strict=True)
    ]


def study(repeats=REPEATS, chosen=tuple(METHODS), omitted=None):
    """Return all results."""
    X, y, coordinates = load()
    methods = {name: METHODS[name] for name in chosen}
    peers = {name: METHODS[name] for name in chosen if name in PEERS}
    folds, types = known_types(X, y, methods, repeats), new_types(X, y, peers, omitted)
    return {
        "samples": len(y),
        "repetitions": len(folds),
        "costs": COST_OF_LEVEL | {"wrong": WRONG, "new type, though known": NEW},
        "variants": 0,
        "types": {str(kind): int((y == kind).sum()) for kind in np.unique(y)},
        "methods": intervals(folds),
        "gains": gains(folds, METHOD, peers, "cost"),
        "new_types": intervals(types),
        "found_by_type": {
            str(kind): {name: round(scores["found"], 1) for name, scores in row.items()}
            for kind, row in zip(np.unique(y) if omitted is None else omitted, types, strict=True)
        },
        "new_gains": {
            name: interval([row[name]["found"] - row["unseen-class detector"]["found"] for row in types])
            for name in peers
        },
        "map": map_of_cells(X, y, coordinates),
    }
