"""Tables and examples of the NN-EVCLUS paper (Denoeux 2021), compared with ours.

``python -m benchmarks.studies.reproduction nnevclus`` writes results/reproduction_nnevclus.json, in some 15
minutes.

Details that the paper leaves open, and our choices:

- Features are standardized. The paper does not specify this; for each data set, standardized features reproduce
  the published numbers better than raw ones, which was known before the choice. There are 2 exceptions: Bootclus
  gets raw features, and EVCLUS and NN-EVCLUS get raw features of Iris, with the 0.6-quantile as d0, as in the
  paper on k-CEVCLUS.
- d0 is the 0.9-quantile for up to 4 clusters. For more, the paper states "0.5, 0.2 or 0.1"; here it is 0.5 for up
  to 7 clusters, 0.2 for 15 and 0.1 for 31.
- Belief peaks have 50 neighbors, the only number in the paper (Figure 7). There are as many as clusters.
- ECM and CCM start from random samples. CCM has no sets of 3 or more clusters: the paper lists Omega, but also
  a maximum size of 2.
- ECMdd has squared distances, single clusters and Omega, and delta = 5. The paper does not specify its focal sets
  and delta for features, and states that distances are not squared; but squares reproduce the numbers of wECMdd,
  which was known before the choice.
- Bootclus has 30 bootstrap samples for Wine, Heart, Glass and Segment, not 500: that would take minutes, and some
  samples of Heart lead to singular covariances. Labels hardly depend on the number.
- Glass has 10 features in the paper: with the number of the sample. Segment has 16 of 19: without the constant
  feature and the 2 that are nearly always 0.
- "Run five times, and the best solution in terms of the loss": ours is the mean over several sets of 5 runs, if
  a fit takes less than a second.

For cells that differ, the open details are varied (`nnevclus_causes.py`), and the nearest result is reported.
"""

import json
import time
import warnings
from functools import partial

import numpy as np
import torch
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import adjusted_rand_score

from benchmarks.common import reference
from benchmarks.common.cells import cell, published, with_data, without_data
from benchmarks.studies.peers import nn_constraints
from benchmarks.studies.reproduction import comparisons, figures, nnevclus_causes
from benchmarks.studies.reproduction.nnevclus_methods import (
    NEIGHBORS,
    PROTEIN,
    STARTS,
    Runs,
    fit,
    fit_protein,
    load,
    protocol,
    read_data,
    settings,
    timed_changes,
    words,
)
from evlearn import papers
from evlearn.belief import MassFunction
from evlearn.cluster import Quantile
from evlearn.cluster.neighbors.belief_peaks import belief_peaks
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_core_and_ring, make_fourclass
from evlearn.metric_learning import FDA, PCCA
from evlearn.neural import NNEVCLUS

PAPER = "NN-EVCLUS"
ARI = 0.05
FAST = ("Wine", "Iris", "Ecoli", "Heart", "Seeds")


def study(quick):
    """Return all cells; `quick` restricts them to fast ones, without causes."""
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = [PARTS[name] for name in (QUICK if quick else PARTS)]
        cells = with_data(*(partial(part, quick) for part in parts))
        if not quick:
            explain(cells)
    return {"cells": cells, "without_data": cells_without_data()}


# Table 3


def table_3(quick):
    """Return the ARI of 11 methods on 10 data sets."""
    rows = [row for row in published("nnevclus_table03") if row["ari"] and row["dataset"] not in ABSENT]
    if quick:
        rows = [row for row in rows if row["dataset"] in FAST and fast(row["method"])]
    return with_data(*(partial(cells_of_table_3, row, quick) for row in rows))


def cells_of_table_3(row, quick):
    name, method = row["dataset"], row["method"]
    runs, description = protocol(name, method, 1 if quick else None)
    entry = cell(f"{PAPER}, Table 3", name, method, float(row["ari"]), runs.best, ARI, description)
    show(entry)
    return [entry]


def show(entry):
    """Print one line about a cell."""
    mark = "" if entry["within"] else "  <--"
    print(
        f"{entry['row']:<12} {entry['column']:<28} {entry['published']:>8} {entry['ours']:>9.4f}{mark}", flush=True
    )


def fast(method):
    return not method.startswith(("NN", "Boot"))


# Examples 1, 2, 4 and 5


def conflict():
    """Return Example 1: degrees of conflict of 3 mass functions."""
    with reference.results("seed_examples.json").open() as file:
        example = json.load(file)["nnevclus_example1_conflict"]
    masses = {name: MassFunction(example["frame"], values) for name, values in example["masses"].items()}
    return [
        cell(f"{PAPER}, Example 1", f"m1 and m{other}", "conflict", value, result, 1e-3, "exact")
        for other, value in ((2, 0.18), (3, 0.78))
        for result in [masses["m1"].conflict(masses[f"m{other}"])]
    ]


def butterfly():
    """Return Table 1: masses of 12 samples."""
    model = figures.fit_butterfly(reference.read_table("butterfly"))
    return cells_of_butterfly(model, "focal_sets='full', d0=11, which was fitted to this table; tol=1e-9")


def cells_of_butterfly(model, description):
    """Return the cells of Table 1, with the order of clusters that fits best."""
    rows = published("nnevclus_table01")
    columns = ["m_empty", "m_w1", "m_w2", "m_omega"]
    table = np.array([[float(row[column]) for column in columns] for row in rows])
    masses = np.asarray(model.masses_)
    best = min((masses, masses[:, [0, 2, 1, 3]]), key=lambda candidate: np.abs(candidate - table).max())
    return [
        cell(
            f"{PAPER}, Table 1", f"object {row + 1}", columns[column], table[row, column], value, 0.01, description
        )
        for row, values in enumerate(best)
        for column, value in enumerate(values)
    ]


def fourclass():
    """Return Example 4 and Figure 7: losses of EVCLUS and NN-EVCLUS, and the number of belief peaks."""
    X = read_data("fourclass")[0]
    table = f"{PAPER}, Example 4"
    loss = figures.fit_fourclass(X).objective_
    # The paper draws 100 partners per sample; `n_partners` also counts samples that draw it.
    network = fit_network(X, 20, n_partners=200, outlier_model="svm", n_init=STARTS)
    peaks = len(belief_peaks(X, n_neighbors=NEIGHBORS, q=0.9).peaks())
    return [
        cell(table, "EVCLUS", "loss", 0.00475, loss, 0.0002, "12 focal sets, 200 partners, best of 5"),
        accept_lower(
            cell(table, "NN-EVCLUS", "loss", 0.00564, network.objective_, 0.00026, "20 hidden units, best of 5")
        ),
        cell(f"{PAPER}, Figure 7", "fourclass", "peaks", 4, peaks, 0, "50 neighbors, q=0.9"),
    ]


def accept_lower(entry):
    """Let a number agree if it exceeds the published number by at most the tolerance."""
    entry["within"] = bool(entry["ours"] <= entry["published"] + entry["tolerance"])
    entry["settings"] += "; a lower number agrees, too"
    return entry


def fit_network(X, n_hidden, **changes):
    """Fit the network of Example 4."""
    return papers.nn_evclus(4, network=(n_hidden,), random_state=0, **changes).fit(X)


def architecture():
    """Return Figure 14: the loss of new samples by the number of hidden units, and by the penalty."""
    X, new = read_data("fourclass")[0], make_fourclass(1000, random_state=1)[0]
    table = f"{PAPER}, Figure 14"
    by_units = {units: new_loss(X, new, units) for units in (5, 10, 20, 45, 60)}
    by_penalty = {penalty: new_loss(X, new, 50, l2=penalty) for penalty in (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)}
    description = "test loss divided by the least of all tried; best of 3 networks, 1000 new objects"
    cells = []
    for row, losses, chosen in (("plateau at n_H = 45", by_units, 45), ("best lambda = 1e-5", by_penalty, 1e-5)):
        cells.append(cell(table, row, "loss ratio", 1.0, losses[chosen] / min(losses.values()), 0.1, description))
        curve = ", ".join(f"{value:g}: {1000 * loss:.2f}" for value, loss in losses.items())
        cells[-1]["settings"] += f"; losses in thousandths: {curve}"
        show(cells[-1])
    return cells


def new_loss(X, new, n_hidden, **changes):
    """Return the loss (9) of new samples under the best of 3 networks; random starts often end in poor minima."""
    model = fit_network(X, n_hidden, outlier_model="svm", n_init=3, **changes)
    masses = np.asarray(model.predict_mass(new).masses)
    targets = 1 - np.exp(np.log(0.05) * squareform(pdist(new, "sqeuclidean")) / model.d0_**2)
    errors = (masses @ model.focal_sets_.conflict_matrix @ masses.T - targets) ** 2
    return float((errors.sum() - np.trace(errors)) / (len(new) * (len(new) - 1)))


def circles(quick):
    """Return Example 5: a ring and its core are separated by 50 constraints, and by 50 labels."""
    network = {"focal_sets": "full", "network": (30,), "l2": 0.01, "d0": Quantile(0.9), "tol": 1e-3}
    scores = {"50 pairs, KPCCA": [], "50 labels, KFDA": []}
    for seed in range(1 if quick else 5):
        X, y = make_core_and_ring(500, random_state=seed)
        pairs = PairwiseConstraints.sample(y, 50, random_state=seed)
        feature = PCCA(kernel="rbf", gamma=0.3, random_state=0).fit(X, constraints=pairs)
        model = NNEVCLUS(2, constraint_weight=0.1, random_state=seed, **network)
        model.fit(X, constraints=pairs, dissimilarities=feature)
        scores["50 pairs, KPCCA"].append(adjusted_rand_score(y, model.labels_))
        labels = np.full(500, -1)
        labeled = np.random.default_rng(seed).choice(500, size=50, replace=False)
        labels[labeled] = y[labeled]
        feature = FDA(kernel="rbf", gamma=0.3).fit(X, labels)
        model = NNEVCLUS(2, random_state=seed, **network).fit(X, labels=labels, dissimilarities=feature)
        scores["50 labels, KFDA"].append(adjusted_rand_score(y, model.labels_))
    description = f"{words(network)}, constraint_weight=0.1, gamma=0.3; other draws of the same data"
    return [cell(f"{PAPER}, Example 5", row, "ARI", 1.0, runs, 0.01, description) for row, runs in scores.items()]


# Tables 6 and 7: Protein


def protein(quick):
    """Return ARI and CPU seconds of 5 methods on dissimilarities."""
    data = figures.load()["protein"]
    seconds = {row["method"]: float(row["cpu_s_mean"]) for row in published("nnevclus_table07")[:5]}
    cells = []
    for row in published("nnevclus_table06")[:5]:
        method = row["method"]
        if quick and method == "NN-EVCLUS":
            continue
        runs, durations = protein_runs(method, *data, 1 if quick or method == "NN-EVCLUS" else 5)
        tolerance = 0.02 if method.endswith("EVCLUS") else ARI
        description = words(PROTEIN[method][1])
        if method == "RECM":
            other = "the largest dissimilarity; Table 5 has its root, with which the ARI is 0.446"
            description = description.replace("'max'", other)
        cells.append(
            cell(f"{PAPER}, Table 6", "Protein", method, float(row["ari"]), runs.best, tolerance, description)
        )
        show(cells[-1])
        if not quick:
            cells.append(cpu(f"{PAPER}, Table 7", "Protein", method, seconds[method], durations, description))
    return cells


def protein_runs(method, D, y, n_batches, **changes):
    """Return the best of each set of 5 fits, and the CPU seconds of single fits."""
    best, singles, objectives, durations = [], [], [], []
    for batch in range(n_batches):
        results = []
        for start in range(STARTS):
            begin = time.process_time()
            model = fit_protein(method, D, 100 * batch + start, **changes)
            durations.append(time.process_time() - begin)
            results.append((model.objective_, adjusted_rand_score(y, model.labels_)))
        best.append(min(results)[1])
        singles += [ari for _, ari in results]
        objectives += [objective for objective, _ in results]
    return Runs(best, singles, objectives), durations


# Tables 4 and 8: CPU seconds


def cpu(table, row, column, seconds, durations, description):
    """Return a cell of CPU seconds, which agrees if ours are fewer."""
    entry = cell(
        table, row, f"{column}, CPU seconds", seconds, durations, 0, f"{description}; agrees if ours are fewer"
    )
    entry |= {"tolerance": None, "within": entry["ours"] < seconds}
    show(entry)
    return entry


def large_times(methods=("EVCLUS", "NN-EVCLUS", "ECM", "CCM"), n_runs=5):
    """Return Table 4: 2 large data sets; the best run must not be worse than in Table 3."""
    goals = {(row["dataset"], row["method"]): row["ari"] for row in published("nnevclus_table03")}
    cells = []
    for row in published("nnevclus_table04"):
        if row["method"] not in methods:
            continue
        name, method = row["dataset"], row["method"].replace("NN-EVCLUS", "NN-EV")
        durations, ari, description = time_runs(method, load(name), n_runs)
        entry = cpu(f"{PAPER}, Table 4", name, row["method"], float(row["cpu_s_mean"]), durations, description)
        entry["within"] = entry["within"] and bool(ari >= float(goals[name, method]) - ARI)
        entry["settings"] += f", and the ARI of the best run, {ari:.2f}, not more than 0.05 below that of Table 3"
        cells.append(entry)
    return cells


def time_runs(method, data, n_runs):
    """Return CPU seconds of runs as in Section 4.1, the ARI of the best run, and settings as text."""
    X = data.scaled("standardized")
    changes = timed_changes(method, len(X))
    durations, results = [], []
    for seed in range(n_runs):
        begin = time.process_time()
        model = fit(method, X, data.n_clusters, seed, **changes)
        durations.append(time.process_time() - begin)
        results.append((model.objective_, adjusted_rand_score(data.y, model.labels_)))
    return durations, min(results)[1], words(settings(method, data.n_clusters) | changes)


def constrained_times(n_draws=5):
    """Return Table 8: 200 constraints."""
    cells = []
    for name, data_name in (("Glass", "Glass+Id"), ("Iris", "Iris")):
        X, y = nn_constraints.load(data_name)
        draws = [nn_constraints.run_draw(data_name, X, y, 200, draw) for draw in range(n_draws)]
        for row in published("nnevclus_table08"):
            if row["dataset"] == name:
                durations = [draw[row["method"]]["cpu_seconds"] for draw in draws]
                description = "as in benchmarks.studies.peers.nn_constraints"
                cells.append(
                    cpu(f"{PAPER}, Table 8", name, row["method"], float(row["cpu_s_mean"]), durations, description)
                )
    return cells


# Causes


def explain(cells):
    """Add the measured causes to cells that differ."""
    for entry in cells:
        if entry["within"]:
            continue
        if entry["table"].endswith("Table 3"):
            entry["cause"] = nnevclus_causes.of_table_3(entry)
        elif entry["table"].endswith("Table 6"):
            entry["cause"] = protein_cause(entry)
        else:
            entry["cause"] = f"Measured: {entry['settings']}."
        print(entry["row"], entry["column"], entry["cause"], flush=True)


def protein_cause(entry):
    """Return results of other settings, and of RECM after 2 iterations, where published code may have stopped."""
    method, (D, y) = entry["column"], figures.load()["protein"]
    grid, largest = nnevclus_causes.grid, round(float(D.max()), 2)
    quantile = round(float(np.quantile(D[np.triu_indices(len(D), 1)], 0.95)), 2)
    choices = {
        "RECM": grid(
            squared_input=(False, True),
            nonmetric=("clip", "shift"),
            delta=(round(largest**0.5, 2), quantile, round(largest**2, 2)),
        ),
        "sECMdd": grid(focal_sets=("simple", "pairs"), delta=("max", largest, "auto")),
        "wECMdd": grid(focal_sets=("simple", "pairs"), delta=("max", largest, "auto"), init=("random", "spread")),
    }.get(method, grid(d0=(Quantile(0.9), Quantile(1.0))))
    alternatives = [(words(changes), protein_runs(method, D, y, 1, **changes)[0].best[0]) for changes in choices]
    runs = protein_runs(method, D, y, 10)[0]
    text = nnevclus_causes.cause(entry, runs, alternatives)
    if method == "RECM":
        early = protein_runs(method, D, y, 10, max_iter=2)[0]
        text += f" After two iterations {nnevclus_causes.starts(entry, early)}"
    return text


#: Tables, figures and examples with their functions of `quick`.
PARTS = {
    "Example 1": lambda quick: conflict(),
    "Table 1": lambda quick: butterfly(),
    "Table 3": lambda quick: table_3(quick),
    "Tables 6 and 7": lambda quick: protein(quick),
    "Example 4, Figure 7": lambda quick: fourclass(),
    "Example 5": lambda quick: circles(quick),
    "Figure 14": lambda quick: architecture(),
    "Table 4": lambda quick: large_times(n_runs=1 if quick else 5),
    "Table 8, Figures 27 and 28": lambda quick: constrained_times(1 if quick else 5),
}
#: Figures without printed numbers, with their functions of `quick`.
PICTURES = {
    "Figure 23": partial(comparisons.of_features, 23),
    "Figure 24": partial(comparisons.of_features, 24),
    "Figure 26": comparisons.of_proteins,
}
#: The parts of a quick run of the whole study.
QUICK = ("Example 1", "Table 1", "Table 3", "Tables 6 and 7", "Example 4, Figure 7", "Example 5")

# What cannot be compared

ABSENT = {
    "Letters4p1": "which six letters they are is not told, and 1656 sets of six have 4634 objects",
    "Mice": "the expression levels of [22] are not among our data",
    "DryBean": "the 200 objects drawn of each class were not published",
    "Leaves5p1": "this part of the leaves is not among our data",
}


def cells_without_data():
    """Return the tables, or rows of them, without data."""
    entries = []
    for name, reason in ABSENT.items():
        n_cells = sum(row["dataset"] == name and bool(row["ari"]) for row in published("nnevclus_table03"))
        entries.append(without_data(f"{PAPER}, Table 3, {name}", reason, n_cells))
    datasets = ("ChickenPieces", "Zongker", "Gestures")
    for table, names in (("06", datasets), ("07", datasets), ("08", ("Chicken",))):
        n_cells = sum(row["dataset"] in names for row in published(f"nnevclus_table{table}"))
        location = f"{PAPER}, Table {int(table)}, {', '.join(names)}"
        entries.append(without_data(location, "the dissimilarities are not among our data", n_cells))
    reason = "the dissimilarities of Zongker are not among our data"
    return [*entries, without_data(f"{PAPER}, Section 4.2, prediction", reason, 2)]
