"""Published numbers compared with the results of the library with default parameters.

``python -m benchmarks.studies.reproduction.defaults [TABLE ...] [--write]`` writes
results/reproduction_defaults.json in half an hour.

The other studies use the settings of the papers, or those that reproduce their numbers. Here each method has
its defaults: only the number of clusters, neighbors or prototypes, the varied parameter of a table, and a seed
are given. Features of Table 3 are standardized, except for Bootclus, and its cells are means over 5 seeds.
Tables of combinations without an estimator have no settings, and Tables 2 to 4 of Bootclus (coverage) and the
figures are excluded.
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from benchmarks.common import command_line, reference
from benchmarks.common.cells import cell, published
from benchmarks.studies.reproduction import bootclus, figures, kcevclus, nnevclus, slides
from benchmarks.studies.reproduction.nnevclus import ABSENT, ARI
from benchmarks.studies.reproduction.nnevclus_methods import load, read_data
from evlearn.classify import EvidentialKNNClassifier, EvidentialNeuralClassifier
from evlearn.cluster import BPEC, CCM, ECM, EVCLUS, RECM, BootClus, ECMdd, Quantile, belief_peaks
from evlearn.constraints import PairwiseConstraints
from evlearn.neural import NNEVCLUS

NAME = "reproduction_defaults"
METHODS = {
    "EVCLUS": EVCLUS,
    "NN-EV": NNEVCLUS,
    "NN-EVCLUS": NNEVCLUS,
    "ECM": ECM,
    "CCM": CCM,
    "RECM": RECM,
    "sECMdd": ECMdd,
    "wECMdd": ECMdd,
    "BPEC": BPEC,
    "Bootclus": BootClus,
}
RUNS = 3  # number of draws of constraints
SEEDS = 5  # of Table 3


def table_1():
    """Return the cells of NN-EVCLUS, Table 1: the butterfly."""
    model = EVCLUS(2, random_state=0).fit(reference.read_table("butterfly"))
    return nnevclus.cells_of_butterfly(model, "")


def table_3():
    """Return the cells of NN-EVCLUS, Table 3: 11 methods on 10 data sets."""
    cells = []
    for row in published("nnevclus_table03"):
        if row["ari"] and row["dataset"] not in ABSENT:
            data = load(row["dataset"])
            X = data.scaled("raw" if row["method"] == "Bootclus" else "standardized")
            models = [fitted(row["method"], X, data.n_clusters, seed) for seed in range(SEEDS)]
            aris = [adjusted_rand_score(data.y, model.labels_) for model in models]
            cells.append(cell("NN-EVCLUS, Table 3", row["dataset"], row["method"], float(row["ari"]), aris, ARI))
    return cells


def fitted(method, X, n_clusters, seed=0, **options):
    """Fit a method with its defaults; methods with belief peaks start from them."""
    options |= {"medoids": "weighted"} if method == "wECMdd" else {}
    model = METHODS[method.removesuffix("-bp")](n_clusters, random_state=seed, **options)
    if not method.endswith("-bp"):
        return model.fit(X)
    peaks = belief_peaks(X).peaks(n_peaks=n_clusters)
    if isinstance(model, NNEVCLUS):
        labels = np.full(len(X), -1)
        labels[peaks] = np.arange(n_clusters)
        return model.fit(X, labels=labels)
    return model.set_params(init=X[peaks]).fit(X)


def table_6():
    """Return the cells of NN-EVCLUS, Table 6: Protein."""
    D, y = figures.load()["protein"]
    return [
        cell(
            "NN-EVCLUS, Table 6",
            "Protein",
            row["method"],
            float(row["ari"]),
            adjusted_rand_score(y, fitted(row["method"], D, 4, metric="precomputed").labels_),
            0.02 if row["method"].endswith("EVCLUS") else ARI,
        )
        for row in published("nnevclus_table06")[:5]
    ]


def constraints():
    """Return the cells of k-CEVCLUS, Tables 2 and 3, with the varied parameter of each row."""
    data, cells = kcevclus.load_small(), []
    for number in (2, 3):
        for row in published(f"kcevclus_table0{number}"):
            X, y = data[row["dataset"]]
            settings = {"n_constraints": int(row["nb_constraints"]), "xi": 0.5, "quantile": 0.9}
            if number == 2:
                settings["xi"] = float(row["xi"])
                varied = {"constraint_weight": settings["xi"]}
            else:
                settings["quantile"] = float(row["d0_quantile"])
                varied = {"d0": Quantile(settings["quantile"])}
            runs = [with_constraints(X, y, settings["n_constraints"], seed, varied) for seed in range(RUNS)]
            cells += kcevclus.cells_of(number, row, settings, np.array(runs))
    return cells


def with_constraints(X, y, n_constraints, seed, varied):
    """Return the ARI and nonspecificity of a fit with constraints."""
    pairs = PairwiseConstraints.sample(y, n_constraints, random_state=seed)
    model = EVCLUS(len(np.unique(y)), random_state=seed, **varied).fit(X, constraints=pairs)
    return adjusted_rand_score(y, model.labels_), model.credal_partition_.nonspecificity()


def confusions():
    """Return the cells of Bootclus, Tables 5 to 8 and 10 to 12: Iris and Diabetes."""
    table = pd.read_csv(reference.data("iris.csv"))
    irises = table.iloc[:, :4].to_numpy(), np.array(bootclus.IRIS)[table["y"] - 1]
    patients = bootclus.load_diabetes()
    cells = []
    for (X, y), classes, numbers in (
        (irises, bootclus.IRIS, (6, 7, 8)),
        (patients, bootclus.DIABETES, (10, 11, 12)),
    ):
        scaled = StandardScaler().fit_transform(X)
        for number, kind, tolerance in zip(numbers, (BootClus, ECM, EVCLUS), (3, 1, 5), strict=True):
            rows = X if kind is BootClus or number == 7 else scaled
            partition = kind(3, random_state=0).fit(rows).credal_partition_
            named_partition = figures.name_clusters(partition, y)
            cells += bootclus.confusion_cells(
                number, y, classes, [named_partition], 0 if number == 11 else tolerance, ""
            )
    return cells


def lectures():
    """Return the cells of the classifiers and clusterings of the lectures."""
    make = EvidentialNeuralClassifier
    cells = [
        *slides.ionosphere(EvidentialKNNClassifier),
        *slides.glass(RUNS, make),
        *slides.vowel(1, make),
    ]
    D, y = figures.load()["protein"]
    errors = figures.n_errors(y, EVCLUS(4, metric="precomputed", random_state=0).fit(D).labels_)
    cells.append(cell(f"{slides.CLUSTERING}, Protein", "EVCLUS", "errors", 2, errors, 0))
    X = read_data("fourclass")[0]
    values = [ECM(c, random_state=0).fit(X).credal_partition_.nonspecificity() for c in range(2, 7)]
    best_number = 2 + int(np.argmin(values))
    location = f"{slides.CLUSTERING}, number of clusters"
    return [*cells, cell(location, "fourclass, ECM", "least nonspecific", 4, best_number, 0)]


TABLES = {
    "table_1": table_1,
    "table_3": table_3,
    "table_6": table_6,
    "constraints": constraints,
    "confusions": confusions,
    "lectures": lectures,
}


def main():
    warnings.simplefilter("ignore")
    command_line.run_parts(__doc__, TABLES, NAME)


if __name__ == "__main__":
    main()
