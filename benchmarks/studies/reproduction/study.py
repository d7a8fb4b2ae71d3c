"""Comparison of published numbers with ours: runs the parts, writes their results and prints the agreement.

``python -m benchmarks.studies.reproduction [--quick] [PART ...]``

The parts are nnevclus, kcevclus, bootclus and slides, each in a separate module (default: all). Each writes
``results/reproduction_PART.json``. With ``--quick``, only a few cells and runs are computed, and nothing is
written. Published tables come with the repository; for other data see `benchmarks.common.reference`. Cells without
data are skipped.

A single table, figure, example or section of a part is computed again and printed, without being written:

    python -m benchmarks.studies.reproduction nnevclus --table 6
    python -m benchmarks.studies.reproduction kcevclus --figure 4 --folder FOLDER
    python -m benchmarks.studies.reproduction bootclus --example 3
    python -m benchmarks.studies.reproduction slides --section Ionosphere
    python -m benchmarks.studies.reproduction nnevclus --list
"""

import importlib
import os
import re
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.common import command_line, record
from benchmarks.common.cells import MISSING_DATA, with_data

PARTS = ("nnevclus", "kcevclus", "bootclus", "slides")
KINDS = ("table", "figure", "example", "section")


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


def is_named(name, kind, key):
    """Return True if a name such as "Tables 6 and 7" contains a table, figure, example or section."""
    if kind == "section":
        return key.lower() in name.lower()
    for numbers in re.findall(rf"{kind}s? ([\d]+(?: (?:to|and) \d+)?)", name, flags=re.IGNORECASE):
        first, *last = map(int, re.findall(r"\d+", numbers))
        if first <= int(key) <= (last or [first])[0]:
            return True
    return False


def selection(part, kind, key):
    """Return the functions of a module that compute a table, figure, example or section, by name."""
    module = importlib.import_module(f"benchmarks.studies.reproduction.{part}")
    cells = {name: run for name, run in module.PARTS.items() if is_named(name, kind, key)}
    pictures = getattr(module, "PICTURES", {})
    return cells, {name: run for name, run in pictures.items() if is_named(name, kind, key)}


def names(part):
    """Return the names of all tables, figures, examples and sections of a part."""
    module = importlib.import_module(f"benchmarks.studies.reproduction.{part}")
    return [*module.PARTS, *getattr(module, "PICTURES", {})]


def run_selection(part, kind, key, quick, folder):
    """Compute a table, figure, example or section, and print its numbers."""
    tables, pictures = selection(part, kind, key)
    if not tables and not pictures:
        raise SystemExit(f"{part} has no {kind} {key}; choose one of: {'; '.join(names(part))}")
    for run in tables.values():
        cells = with_data(lambda run=run: run(quick))
        tolerances = {None: "fewer"}
        for entry in cells:
            tolerance = tolerances.get(entry["tolerance"], entry["tolerance"])
            print(
                f"{entry['table']}, {entry['row']}, {entry['column']}: published {entry['published']}, "
                f"ours {entry['ours']:.4g}, tolerance {tolerance}{'' if entry['within'] else '  <--'}"
            )
        show(cells)
    for run in pictures.values():
        for picture in run(quick):
            print(f"{picture.name}: {picture.counts}", flush=True)
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
                picture.display.figure_.savefig(folder / f"{picture.name}.png", dpi=120)


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)}")
    parser.add_argument(
        "--quick", action="store_true", help="compute only a few cells and runs, and write nothing"
    )
    choice = parser.add_mutually_exclusive_group()
    for kind in KINDS:
        choice.add_argument(f"--{kind}", help=f"compute one {kind} of one part, and write nothing")
    choice.add_argument("--list", action="store_true", help="print the names of the tables, figures and examples")
    parser.add_argument("--folder", type=Path, help="folder for PNG files of figures without printed numbers")
    options = parser.parse_args()
    chosen = [(kind, key) for kind in KINDS if (key := getattr(options, kind)) is not None]
    if chosen and len(options.parts) != 1:
        parser.error(f"--{chosen[0][0]} needs one part: {', '.join(PARTS)}")
    if options.list:
        for part in options.parts or PARTS:
            print(f"{part}: {'; '.join(names(part))}")
    elif chosen:
        run_selection(options.parts[0], *chosen[0], options.quick, options.folder)
    else:
        run_parts(options.parts or PARTS, options.quick)


def run_parts(parts, quick):
    """Run whole parts, and write their results unless `quick`."""
    cells = []
    for part in parts:
        results = importlib.import_module(f"benchmarks.studies.reproduction.{part}").study(quick)
        show(results["cells"])
        cells += results["cells"]
        if not quick:
            results |= {"left_out": list(MISSING_DATA)} if MISSING_DATA else {}
            module = f"benchmarks.studies.reproduction.{part}"
            record.write(f"reproduction_{part}", results, packages=("torch",), module=module)
    print(f"all parts: {sum(entry['within'] for entry in cells)} of {len(cells)} agree")
