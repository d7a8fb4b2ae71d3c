"""Locations of reference data, of tables from papers and of results from R.

Files with a permissive license come with the repository, in ``tests/reference``. All others are read from a folder
chosen by the user; ``python -m benchmarks.get_data`` writes those that installed packages contain.
"""

import csv
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "tests" / "reference"


def folder():
    """Return the folder with ``data`` and ``reference``: EVLEARN_REFERENCE, or ``../shared``."""
    return Path(os.environ.get("EVLEARN_REFERENCE") or ROOT.parent / "shared")


def data(file):
    """Return the path of a data file, in the folder or in this repository."""
    return find(folder() / "data" / file, SHIPPED / "data" / file)


def results(*names):
    """Return the path of published numbers or of a result of R, in the folder or in this repository."""
    return find(folder().joinpath("reference", *names), SHIPPED.joinpath(*names))


def has(*names):
    """Return True if all data sets exist, as tables or as arrays."""
    return all(is_in(folder(), name) or is_in(SHIPPED, name) for name in names)


def is_in(place, name):
    """Return True if a folder contains a data set."""
    return any((place / "data" / f"{name}.{end}").exists() for end in ("csv", "npz"))


def find(*places):
    """Return the first path that exists."""
    for path in places:
        if path.exists():
            return path
    raise FileNotFoundError(
        f"{places[0].name} is not in the reference folder; python -m benchmarks.get_data prints its source"
    )


def read_table(name, **options):
    """Return a table of numbers with a header line as an array."""
    import numpy as np

    return np.genfromtxt(data(f"{name}.csv"), delimiter=",", skip_header=1, **options)


def timings():
    """Return the recorded runs of R, one dict per run."""
    with results("timings.csv").open() as file:
        return list(csv.DictReader(file))
