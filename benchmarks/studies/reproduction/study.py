"""Published numbers beside ours: runs the studies, writes their results and says how many agree.

``python -m benchmarks.studies.reproduction [--quick] [PART ...]``

The parts are nnevclus, kcevclus, bootclus and slides, each in a module beside this one; all of them unless some
are named. Each writes ``results/reproduction_PART.json``. With ``--quick`` they make a few cells and runs only,
and write nothing. Published tables come with the repository, and data from where `benchmarks.common.reference`
says; cells whose data are not there are left out.
"""

import importlib
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.common import command_line, record
from benchmarks.common.cells import LEFT_OUT

PARTS = ("nnevclus", "kcevclus", "bootclus", "slides")


def show(cells):
    """Print the counts of each table, and the cells that do not agree."""
    for table in dict.fromkeys(one["table"] for one in cells):
        some = [one["within"] for one in cells if one["table"] == table]
        print(f"{table}: {sum(some)} of {len(some)}")
    for one in cells:
        if not one["within"]:
            print(
                f"  {one['table']}, {one['row']}, {one['column']}: {one['published']} {one['ours']} {one['cause']}"
            )


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="a few cells and runs only, and nothing is written")
    options = parser.parse_args()
    cells = []
    for part in options.parts or PARTS:
        found = importlib.import_module(f"benchmarks.studies.reproduction.{part}").study(options.quick)
        show(found["cells"])
        cells += found["cells"]
        if not options.quick:
            found |= {"left_out": list(LEFT_OUT)} if LEFT_OUT else {}
            record.write(f"reproduction_{part}", found, packages=("torch",))
    print(f"all parts: {sum(one['within'] for one in cells)} of {len(cells)} agree")
