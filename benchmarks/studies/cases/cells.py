"""Cell types, how exactly each cell may be named, and which cells are of a type that nobody taught.

700 blood cells (10x PBMC 68k, reduced, as it comes with scanpy) in ten types, by principal components of their
gene expressions. Types form a tree: an answer may be a type, a family such as "CD4 T cell", a lineage such as "T
cell", or just "cell". A wrong answer costs 1; a right one costs less the nearer it is to a type (`COST_OF_LEVEL`);
saying "new type" of a cell whose type was taught costs 0.4, and of a new one nothing.

Protocol, written before the first run. *Known types*: five folds, four times; fifteen components, standardised for
methods that need it. Each method answers with the node of the tree whose expected cost is least, by its
probabilities, or by its masses (mass on a set counts in equal parts). *A new type*: each type in turn is left out
of the training cells; 70 % of the others are for training, 30 % of them and all cells of the left-out type are
new. Every method may say "new type" of about 5 % of known cells: `UnseenClassDetector` by its p-values, the others
by the 5 % quantile of the largest probability in five folds of the training cells. Peers: a calibrated forest,
logistic regression (what CellTypist uses) and nearest neighbours. Ours: what the guide names first, an
`EvidentialForestClassifier`, then `EvidentialKNNClassifier`, both by default. The unseen types of these data were
looked at when the detector was designed (`answers.unseen`), with other splits. No other variant was tried.
"""

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_predict

from benchmarks.studies.answers.data import folder
from benchmarks.studies.cases import classifiers
from benchmarks.studies.cases.decisions import acts_of_masses, acts_of_probabilities, gains, interval, intervals
from evlearn import predict_mass
from evlearn.conformal import UnseenClassDetector

N_COMPONENTS, REPEATS, FOLDS = 15, 4, 5
WRONG, NEW, RATE = 1.0, 0.4, 0.05
#: What a right answer costs: a type, a family, a lineage, nothing but "cell".
COST_OF_LEVEL = {"type": 0.0, "family": 0.1, "lineage": 0.2, "cell": 0.4}
#: Sets of types that have a name, beside the types themselves.
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
OURS = classifiers.OURS
PEERS = classifiers.peers(200)
METHODS = PEERS | classifiers.ours()


def load():
    """Principal components, the names of types, and two coordinates to draw."""
    import h5py

    with h5py.File(folder("scanpy") / "datasets" / "10x_pbmc68k_reduced.h5ad") as file:
        kinds = np.asarray(file["uns"]["bulk_labels_categories"]).astype(str)
        components, place = np.asarray(file["obsm"]["X_pca"]), np.asarray(file["obsm"]["X_umap"])
        return components[:, :N_COMPONENTS], kinds[np.asarray(file["obs"]["bulk_labels"])], place


def answers_of(kinds):
    """All answers that may be given: their names, levels and the types that they allow for."""
    found = [(kind, "type", {kind}) for kind in kinds]
    found += [(name, level, set(types) & {*kinds}) for name, (level, types) in TREE.items()]
    return [*found, ("cell", "cell", {*kinds})]


def losses(kinds):
    """A row for each type and a column for each answer."""
    return np.array(
        [
            [COST_OF_LEVEL[level] if kind in types else WRONG for _, level, types in answers_of(kinds)]
            for kind in kinds
        ]
    )


def acts(model, X, loss):
    """The answers of a fitted model, by expected cost."""
    last = model[-1] if hasattr(model, "steps") else model
    if hasattr(last, "predict_mass"):
        return acts_of_masses(predict_mass(model, X), loss)
    return acts_of_probabilities(model.predict_proba(X), loss)


def named(y, kinds, chosen, loss):
    """How exact answers are, how many are wrong, and what they cost, for a hundred cells."""
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
    """Costs by fold, and beside them those of always naming the likeliest type."""
    kinds = np.unique(y)
    loss, rows = losses(kinds), []
    for train, test in RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=0).split(X, y):
        row = {}
        for name, make in methods.items():
            model = make().fit(X[train], y[train])
            row[name] = named(y[test], kinds, acts(model, X[test], loss), loss)
            row[name]["always_a_type"] = 100 * float((model.predict(X[test]) != y[test]).mean())
        rows.append(row)
    return rows


def alarms_by_probability(make, X, y, new):
    """Which cells have a largest probability that is as small as that of 5 % of training cells left out."""
    usual = cross_val_predict(make(), X, y, cv=FOLDS, method="predict_proba").max(axis=1)
    return make().fit(X, y).predict_proba(new).max(axis=1) < np.quantile(usual, RATE)


def new_types(X, y, methods, left_out=None):
    """Alarms for each type that is left out: false ones, right ones, and what is called a known type."""
    rows = []
    for kind in np.unique(y) if left_out is None else left_out:
        random = np.random.default_rng(0)
        known = random.permutation(np.flatnonzero(y != kind))
        n_new = int(0.3 * len(known))
        train, test = known[n_new:], np.concatenate([known[:n_new], np.flatnonzero(y == kind)])
        strange = y[test] == kind
        detector = UnseenClassDetector(false_alarm_rate=RATE, random_state=0).fit(X[train], y[train])
        found = {name: alarms_by_probability(make, X[train], y[train], X[test]) for name, make in methods.items()}
        found["unseen-class detector"] = detector.is_unseen(X[test])
        rows.append(
            {
                name: {
                    "false": 100 * float(alarm[~strange].mean()),
                    "found": 100 * float(alarm[strange].mean()),
                    "cost": 100 * float((WRONG * (~alarm[strange]).mean() + NEW * alarm[~strange].mean()) / 2),
                }
                for name, alarm in found.items()
            }
        )
    return rows


def map_of_cells(X, y, place):
    """Where cells are drawn, and what is said of each by a forest that has not seen it."""
    kinds = np.unique(y)
    loss, chosen = losses(kinds), np.zeros(len(y), dtype=int)
    for train, test in RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=1, random_state=0).split(X, y):
        chosen[test] = acts(METHODS[OURS]().fit(X[train], y[train]), X[test], loss)
    names = [name for name, _, _ in answers_of(kinds)]
    right = loss[np.searchsorted(kinds, y), chosen] < WRONG
    return [
        [round(float(u), 2), round(float(v), 2), names[act], bool(ok)]
        for (u, v), act, ok in zip(place, chosen, right, strict=True)
    ]


def study(repeats=REPEATS, chosen=tuple(METHODS), left_out=None):
    """All figures."""
    X, y, place = load()
    methods = {name: METHODS[name] for name in chosen}
    peers = {name: METHODS[name] for name in chosen if name in PEERS}
    folds, types = known_types(X, y, methods, repeats), new_types(X, y, peers, left_out)
    return {
        "samples": len(y),
        "repetitions": len(folds),
        "costs": COST_OF_LEVEL | {"wrong": WRONG, "new type, though known": NEW},
        "variants": 0,
        "types": {str(kind): int((y == kind).sum()) for kind in np.unique(y)},
        "methods": intervals(folds),
        "gains": gains(folds, OURS, peers, "cost"),
        "new_types": intervals(types),
        "found_by_type": {
            str(kind): {name: round(one["found"], 1) for name, one in row.items()}
            for kind, row in zip(np.unique(y) if left_out is None else left_out, types, strict=True)
        },
        "new_gains": {
            name: interval([row[name]["found"] - row["unseen-class detector"]["found"] for row in types])
            for name in peers
        },
        "map": map_of_cells(X, y, place),
    }
