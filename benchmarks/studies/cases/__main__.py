"""Case studies on real data, each with its costs and its decisions; the module of a case has its protocol.

``python -m benchmarks.studies.cases [NAME ...] [--write]``
"""

import importlib
import warnings

from benchmarks.common import command_line, record
from benchmarks.studies.cases.decisions import CASES, missing


def main():
    reader = command_line.parser(__doc__)
    reader.add_argument("names", nargs="*", choices=[[], *CASES], help="all of them if none is named")
    reader.add_argument("--write", action="store_true", help="write to results/case_NAME.json")
    given = reader.parse_args()
    warnings.simplefilter("ignore")
    for name in given.names or CASES:
        absent = missing(name)
        if absent:
            print(f"{name} needs {', '.join(absent)}: see benchmarks/studies/cases/requirements.txt")
            continue
        case = importlib.import_module(f"benchmarks.studies.cases.{name}")
        found = case.study()
        command_line.show(name, found)
        if given.write:
            record.write(f"case_{name}", found, packages=CASES[name])


if __name__ == "__main__":
    main()
