"""Comparison of published numbers with ours: runs the parts, writes their results and prints the agreement.

``python -m benchmarks.studies.reproduction [--quick] [PART ...]``

The parts are nnevclus, kcevclus, bootclus and slides, each in a separate module (default: all). Each writes
``results/reproduction_PART.json``. With ``--quick``, only a few cells and runs are computed, and nothing is
written. Published tables come with the repository; for other data see `benchmarks.common.reference`. Cells without
data are skipped.
"""

import importlib
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.common import command_line, record
from benchmarks.common.cells import MISSING_DATA

PARTS = ("nnevclus", "kcevclus", "bootclus", "slides")


def show(cells):
    """Print the counts of each table, and the cells that do not agree."""
    for table in dict.fromkeys(entry["table"] for entry in cells):
        agreements = [entry["within"] for entry in cells if entry["table"] == table]
        print(f"{table}: {sum(agreements)} of {len(agreements)}")
    for entry in cells:
        if not entry["within"]:
            print(
                f"  {entry['table']}, {entry['row']}, {entry['column']}: "
                f"{entry['published']} {entry['ours']} {entry['cause']}"
            )


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)}")
    parser.add_argument(
        "--quick", action="store_true", help="compute only a few cells and runs, and write nothing"
    )
    options = parser.parse_args()
    cells = []
    for part in options.parts or PARTS:
        results = importlib.import_module(f"benchmarks.studies.reproduction.{part}").study(options.quick)
        show(results["cells"])
        cells += results["cells"]
        if not options.quick:
            results |= {"left_out": list(MISSING_DATA)} if MISSING_DATA else {}
            record.write(f"reproduction_{part}", results, packages=("torch",))
    print(f"all parts: {sum(entry['within'] for entry in cells)} of {len(cells)} agree")
