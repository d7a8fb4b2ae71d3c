"""Where data and tables of the papers and results of R are.

What may be copied comes with the repository, in ``tests/reference``. Everything else is looked for in a folder
that the user names; ``python -m benchmarks.get_data`` fills it as far as installed packages go.
"""

import csv
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "tests" / "reference"


def folder():
    """The folder with ``data`` and ``reference``: EVLEARN_REFERENCE, or ``shared`` beside the repository."""
    return Path(os.environ.get("EVLEARN_REFERENCE") or ROOT.parent / "shared")


def data(file):
    """The path of a file of data, in the folder or in this repository."""
    return find(folder() / "data" / file, SHIPPED / "data" / file)


def results(*names):
    """The path of published numbers or of a result of R, in the folder or in this repository."""
    return find(folder().joinpath("reference", *names), SHIPPED.joinpath(*names))


def has(*names):
    """Whether all these sets are there, as tables or as arrays."""
    return all(is_in(folder(), name) or is_in(SHIPPED, name) for name in names)


def is_in(place, name):
    """Whether a folder has a set."""
    return any((place / "data" / f"{name}.{end}").exists() for end in ("csv", "npz"))


def find(*places):
    """The first of these files that is there."""
    for path in places:
        if path.exists():
            return path
    raise FileNotFoundError(
        f"{places[0].name} is not in the folder of references; python -m benchmarks.get_data says where to get it"
    )


def read_table(name, **options):
    """A table of numbers with a header line, as an array."""
    import numpy as np

    return np.genfromtxt(data(f"{name}.csv"), delimiter=",", skip_header=1, **options)


def timings():
    """R's recorded runs, a dict for each."""
    with results("timings.csv").open() as file:
        return list(csv.DictReader(file))
