"""Case studies on real data, with their costs and decisions; the module of a case contains its protocol.

``python -m benchmarks.studies.cases [NAME ...] [--write]``
"""

import importlib
import warnings

from benchmarks.common import command_line, record
from benchmarks.studies.cases.decisions import CASES, missing


def main():
    reader = command_line.parser(__doc__)
    reader.add_argument("names", nargs="*", choices=[[], *CASES], help="cases to run (default: all)")
    reader.add_argument("--write", action="store_true", help="write to results/case_NAME.json")
    arguments = reader.parse_args()
    warnings.simplefilter("ignore")
    for name in arguments.names or CASES:
        packages = missing(name)
        if packages:
            print(f"{name} requires {', '.join(packages)}: see benchmarks/studies/cases/requirements.txt")
            continue
        case = importlib.import_module(f"benchmarks.studies.cases.{name}")
        results = case.study()
        command_line.show(name, results)
        if arguments.write:
            record.write(f"case_{name}", results, packages=CASES[name], module=case.__name__)


if __name__ == "__main__":
    main()
