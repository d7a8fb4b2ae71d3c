"""Recorded cells computed again from the code that is printed under their tables.

``python -m benchmarks.studies.reproduction.recomputed [--cells 30] [--seed 0] [--runs 10] [--write]``

It draws cells of the record, runs their code, and compares the results with the recorded numbers. Cells without
code (exact examples), CPU seconds, and statements of figures are not drawn. Results of all recorded runs must be
equal up to 0.001; results of fewer runs, at most ``--runs``, must agree within 4 standard errors. Coverages are
means over 100 data sets with 1000 resamples; 3 of these are computed again. ``--write`` writes
results/reproduction_recomputed.json.
"""

import re
import warnings

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score, confusion_matrix

from benchmarks.common import command_line, record, reference
from benchmarks.common.cells import chance_tolerance
from benchmarks.studies.reproduction import bootclus, figures, kcevclus, nnevclus_methods, settings, slides, study
from evlearn.datasets import same_cluster_probability

NAME = "reproduction_recomputed"
ROUNDING = 1e-3
RUNS_OF_COVERAGE = 3


def candidates():
    """Return the cells of the record that can be computed again."""
    return [
        cell
        for part in study.PARTS
        for cell in record.load(f"reproduction_{part}")["cells"]
        if cell["table"] in TABLES and "seconds" not in cell["column"]
    ]


def draw(n_cells, seed):
    """Return cells of the record that are drawn at random."""
    cells = candidates()
    return [cells[i] for i in np.sort(np.random.default_rng(seed).choice(len(cells), n_cells, replace=False))]


def run(code, **names):
    """Return the result of the last statement of a code, and all names."""
    exec(settings.PREPARATION.partition("\n\nZ = ")[0], names)
    if "X" in names and names["X"] is not None:
        exec("Z = StandardScaler().fit_transform(X)", names)
    if names.get("y") is not None:
        exec("c = len(np.unique(y))", names)
    *statements, last = code.strip().split("\n")
    exec("\n".join(statements), names)
    return eval(last, names), names


def recompute(cell, max_runs):
    """Return the values of at most `max_runs` runs of a cell."""
    values = TABLES[cell["table"]]
    if values is of_intervals:
        max_runs = min(max_runs, RUNS_OF_COVERAGE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [values(cell, settings.code_of(cell), number) for number in range(min(cell["runs"], max_runs))]


def of_butterfly(cell, code, number):
    """Return a mass of Table 1 of NN-EVCLUS, with the order of clusters in the record."""
    masses = run(code, X=reference.read_table("butterfly"))[0].masses_
    recorded = [entry["ours"] for entry in recorded_cells("nnevclus", cell["table"])]
    table = np.reshape(recorded, (12, 4))
    masses = min((masses, masses[:, [0, 2, 1, 3]]), key=lambda candidate: np.abs(candidate - table).max())
    column = ("m_empty", "m_w1", "m_w2", "m_omega").index(cell["column"])
    return masses[int(cell["row"].split()[1]) - 1, column]


def recorded_cells(part, table):
    return [cell for cell in record.load(f"reproduction_{part}")["cells"] if cell["table"] == table]


def of_features(cell, code, number):
    """Return the ARI of the best of 5 fits, or of one if the method has no random start."""
    method, data = cell["column"], nnevclus_methods.load(cell["row"])
    n_starts = nnevclus_methods.effort(method, len(data.X))[1] if nnevclus_methods.random_start(method) else 1
    seeds = [100 * number + start for start in range(n_starts)]
    return best_agreement([run(code, X=data.X, y=data.y, seed=seed)[0] for seed in seeds], data.y)


def best_agreement(models, y):
    best = min(models, key=lambda model: getattr(model, "objective_", 0.0))
    return adjusted_rand_score(y, best.labels_)


def of_proteins(cell, code, number):
    """Return the ARI of the best of 5 fits to dissimilarities."""
    D, y = figures.load()["protein"]
    seeds = [100 * number + start for start in range(nnevclus_methods.STARTS)]
    return best_agreement([run(code, D=D, seed=seed)[0] for seed in seeds], y)


def of_fourclass(cell, code, number):
    """Return a loss of Example 4, or the number of belief peaks of Figure 7."""
    result = run(code, X=figures.load()["fourclass"][0])[0]
    return len(result) if "Figure" in cell["table"] else result.objective_


def of_constraints(cell, code, number):
    """Return the ARI or the nonspecificity of a fit with constraints."""
    X, y = kcevclus.load_small()[cell["dataset"]]
    request = cell["asked"]
    names = {"n": request["n_constraints"], "xi": request["xi"], "q": request["quantile"], "seed": number}
    model = run(code, X=X, y=y, **names)[0]
    if cell["column"].endswith("ARI"):
        return adjusted_rand_score(y, model.labels_)
    return model.credal_partition_.nonspecificity()


def of_intervals(cell, code, number):
    """Return the coverage or the length of the intervals of one data set."""
    level, kind = cell["row"].split(", ")
    model = "auto" if cell["assumed"] == "Auto" else cell["assumed"]
    fitted, names = run(code, X=None, y=None, model=model, level=float(level), seed=number)
    intervals = fitted.intervals_
    low, high = (intervals.lower, intervals.upper) if kind == "CI" else (intervals.belief, intervals.plausibility)
    truth = same_cluster_probability(names["posterior"], intervals.pairs)
    return ((low <= truth) & (truth <= high)).mean() if "coverage" in cell["column"] else (high - low).mean()


def named_data(table):
    """Return features, classes as numbers, and the names of the classes of the tables on Iris or Diabetes."""
    if int(table.split()[-1]) <= 8:
        frame = pd.read_csv(reference.data("iris.csv"))
        return frame.iloc[:, :4].to_numpy(), frame["y"].to_numpy() - 1, bootclus.IRIS
    X, y = bootclus.load_diabetes()
    return X, np.searchsorted(bootclus.DIABETES, y), bootclus.DIABETES


def of_masses(cell, code, number):
    """Return a mass of Table 5, or a count of Tables 6 to 12 of Bootclus."""
    X, y, classes = named_data(cell["table"])
    result = run(code, X=X, y=y, seed=number)[0]
    names = np.array(classes)[y]
    column = "empty" if cell["column"] == "∅" else cell["column"].strip("{}").replace(", ", "_")
    if cell["table"].endswith("Table 9"):
        row = [line["true_class"] for line in bootclus.published("bootclus_table09")].index(cell["row"])
        return bootclus.crisp_table(names, result.predict(X))[row, classes.index(column)]
    partition = figures.name_clusters(result.credal_partition_, names)
    if cell["table"].endswith("Table 5"):
        members = tuple(partition.cluster_names.index(name) for name in column.split("_"))
        return partition.masses[int(cell["row"].split()[1]) - 1, partition.focal_sets.index(members)]
    rows = bootclus.published(f"bootclus_table{int(cell['table'].split()[-1]):02}")
    row = [line["true_class"] for line in rows].index(cell["row"])
    return bootclus.has_largest_mass(partition, column)[names == classes[row]].sum()


def of_classifiers(cell, code, number):
    """Return an error or a count of the classifiers of the lecture."""
    if "Vowel" in cell["table"]:
        (X, y), (new, truth) = (slides.read_data(f"vowel_{part}", 10) for part in ("train", "test"))
        return 1 - run(code, X=X, y=y, seed=number)[0].score(new, truth)
    file, size, first = ("ionosphere_evclass", 34, 176) if "Iono" in cell["table"] else ("glass_evclass", 9, 89)
    X, y = slides.read_data(file, size)
    predicted = run(code, X=X, y=y, seed=number)[0]
    if cell["column"] == "error":
        return (predicted != y[first:]).mean()
    row, column = (int(re.search(r"\d", cell[key])[0]) - 1 for key in ("row", "column"))
    return confusion_matrix(y[first:], predicted, labels=np.unique(y))[row, column]


#: Functions of a cell, its code and the number of the run, by table.
TABLES = {
    "NN-EVCLUS, Table 1": of_butterfly,
    "NN-EVCLUS, Table 3": of_features,
    "NN-EVCLUS, Table 6": of_proteins,
    "NN-EVCLUS, Example 4": of_fourclass,
    "NN-EVCLUS, Figure 7": of_fourclass,
    "k-CEVCLUS, Table 2": of_constraints,
    "k-CEVCLUS, Table 3": of_constraints,
    **{f"Bootclus, Table {number}": of_intervals for number in (2, 3, 4)},
    **{f"Bootclus, Table {number}": of_masses for number in range(5, 13)},
    **{f"Lecture on machine learning, {name}": of_classifiers for name in ("Ionosphere", "Glass", "Vowel")},
}


def compare(cell, max_runs):
    """Return a cell with the recomputed number, and whether it equals the record or agrees within chance."""
    values = np.array(recompute(cell, max_runs), dtype=float)
    is_complete = len(values) == cell["runs"]
    spread = cell["spread"] if cell["spread"] is not None or is_complete else float(values.std(ddof=1))
    tolerance = ROUNDING if is_complete else chance_tolerance(cell | {"spread": spread}, len(values), ROUNDING)
    difference = abs(float(values.mean()) - cell["ours"])
    return {
        **{key: cell[key] for key in ("table", "row", "column", "ours", "runs")},
        "recomputed": round(float(values.mean()), 6),
        "recomputed_runs": len(values),
        "tolerance": round(tolerance, 6),
        "agrees": bool(difference <= tolerance),
    }


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--cells", type=int, default=30, help="number of cells")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw")
    parser.add_argument("--runs", type=int, default=10, help="largest number of runs for each cell")
    parser.add_argument("--write", action="store_true", help=f"write to results/{NAME}.json")
    options = parser.parse_args()
    results = []
    for cell in draw(options.cells, options.seed):
        entry = compare(cell, options.runs)
        results.append(entry)
        print(
            f"{entry['table']}, {entry['row']}, {entry['column']}: "
            f"record {entry['ours']:g} ({entry['runs']} runs), "
            f"recomputed {entry['recomputed']:g} ({entry['recomputed_runs']} runs), tolerance "
            f"{entry['tolerance']:g}{'' if entry['agrees'] else '  <--'}",
            flush=True,
        )
    print(f"{sum(entry['agrees'] for entry in results)} of {len(results)} agree")
    if options.write:
        record.write(NAME, {"seed": options.seed, "cells": results}, packages=("torch",))


if __name__ == "__main__":
    main()
