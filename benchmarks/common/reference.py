"""Where data and tables of the papers and results of R are, which are no part of this repository."""

import csv
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def folder():
    """The folder with ``data`` and ``reference``: EVLEARN_REFERENCE, or ``shared`` beside the repository."""
    return Path(os.environ.get("EVLEARN_REFERENCE") or ROOT.parent / "shared")


def read_table(name, **options):
    """A table of numbers with a header line, as an array."""
    import numpy as np

    return np.genfromtxt(folder() / "data" / f"{name}.csv", delimiter=",", skip_header=1, **options)


def timings():
    """R's recorded runs, a dict for each."""
    with (folder() / "reference" / "timings.csv").open() as file:
        return list(csv.DictReader(file))
