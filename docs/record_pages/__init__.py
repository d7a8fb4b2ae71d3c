"""Tables and figures of the benchmark pages and of the case studies, generated from ``benchmarks/results``.

There is a module for each page. Its function ``parts(read_results)`` takes the function that reads a result file,
and returns texts in reStructuredText and Matplotlib figures by name. Text NAME of page PAGE is included with
``.. include:: generated/PAGE_NAME.inc``, and a figure with ``.. image:: generated/PAGE_NAME.svg``.
"""

import importlib
import json
from pathlib import Path

PAGES = (
    *("reproduction", "peers", "answers", "one_call", "n_clusters", "images", "coverage"),
    *("unclean", "raw_tables", "classifiers", "scale", "robustness", "landing", "ccm", "cases", "views"),
    *("label_issues", "quoted", "evidence"),
)
ROOT = Path(__file__).resolve().parents[2]


def read_results(name):
    """Return the results of a study."""
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def write_parts(folder=ROOT / "docs" / "record" / "generated"):
    """Write all included files; files without changes are not written."""
    folder.mkdir(exist_ok=True)
    for page in PAGES:
        for name, part in importlib.import_module(f"{__name__}.{page}").parts(read_results).items():
            if isinstance(part, str):
                path = folder / f"{page}_{name}.inc"
                if not path.exists() or path.read_text() != part:
                    path.write_text(part)
            else:
                part.savefig(folder / f"{page}_{name}.svg", metadata={"Date": None})
