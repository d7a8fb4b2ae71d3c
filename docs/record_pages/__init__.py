"""Tables and pictures of the record and of the case studies, made of ``benchmarks/results`` when pages are built.

There is a module for each page. Its function ``parts(read)`` takes the function that reads a file of results, and
gives what the page includes: texts in reStructuredText and Matplotlib figures, by name. Text NAME of page PAGE is
included with ``.. include:: generated/PAGE_NAME.inc``, a figure is shown with
``.. image:: generated/PAGE_NAME.svg``.
"""

import importlib
import json
from pathlib import Path

PAGES = (
    *("reproduction", "peers", "answers", "images", "coverage", "unclean"),
    *("raw_tables", "classifiers", "scale", "robustness", "landing", "cases", "quoted"),
)
ROOT = Path(__file__).resolve().parents[2]


def read(name):
    """The results of a study."""
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def write_parts(folder=ROOT / "docs" / "record" / "generated"):
    """Write what the pages include; files that would not change are left alone."""
    folder.mkdir(exist_ok=True)
    for page in PAGES:
        for name, part in importlib.import_module(f"{__name__}.{page}").parts(read).items():
            if isinstance(part, str):
                path = folder / f"{page}_{name}.inc"
                if not path.exists() or path.read_text() != part:
                    path.write_text(part)
            else:
                part.savefig(folder / f"{page}_{name}.svg", metadata={"Date": None})
