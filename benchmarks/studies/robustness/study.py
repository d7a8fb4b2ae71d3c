"""Robustness study: ``python -m benchmarks.studies.robustness [--minutes 10]``, about 15 minutes.

Each public estimator gets each hostile input of `inputs` (`grid`) and random inputs (`fuzz`), and there are trials
with files, threads, workers and disks (`trials`). The results are written to
``benchmarks/results/robustness.json``. With ``--quick``, the parameters, random inputs and trials are skipped, and
results are only printed. With ``--only-random``, the rest of the record and its command are kept; with
``--estimators``, the results of other estimators, of random inputs and of trials.
"""

import re
from collections import Counter

from benchmarks.common import command_line, record
from benchmarks.studies.robustness import fuzz as fuzzing
from benchmarks.studies.robustness import inputs, trials
from benchmarks.studies.robustness.grid import FAILURES, cells, run_monitored, subjects

LETTERS = {
    "ok": "o",
    "warned": "w",
    "refused": "r",
    "bad error": "E",
    "bad message": "M",
    "bad numbers": "N",
    "other result": "L",
    "NumPy warning": "W",
    "hang": "H",
    "crash": "C",
}


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="minutes of random inputs")
    parser.add_argument(
        "--only-random", action="store_true", help="run random inputs only, and keep other results"
    )
    parser.add_argument("--quick", action="store_true", help="run hostile data only, and write nothing")
    parser.add_argument("--estimators", nargs="*", help="run selected estimators, and keep the results of others")
    options = parser.parse_args()
    if options.only_random:
        command = f"python -m benchmarks.studies.robustness --only-random --minutes {options.minutes:g}"
        recorded = record.load("robustness")
        write(recorded | {"fuzzing": fuzzing.run(options.minutes) | {"command": command}}, recorded)
        return
    outcomes = list(run_monitored(cells(options.estimators, parameters=not options.quick)))
    for cell, (outcome, message) in outcomes:
        if outcome in FAILURES:
            print(*cell, "|", outcome, "|", message)
    print(Counter(outcome for _, (outcome, _) in outcomes))
    if options.quick:
        return
    if options.estimators:
        recorded = record.load("robustness")
        write(recorded | merge(recorded, summary(outcomes), options.estimators), recorded)
        return
    write(summary(outcomes) | {"trials": trials.run(), "fuzzing": fuzzing.run(options.minutes)})


def write(results, former=None):
    packages = ["torch", "hypothesis", "dask", "pyarrow", "pandas"]
    record.write("robustness", results, packages, former=former)


def summary(outcomes):
    """Return outcomes as strings of letters by estimator or by value of a parameter, and messages."""
    names, values = list(subjects()), list(inputs.PARAMETERS)
    letters = {cell: LETTERS[outcome] for cell, (outcome, _) in outcomes}
    table = {
        stage: {
            input_name: "".join(letters.get((name, stage, input_name), "-") for name in names)
            for input_name in input_names
        }
        for stage, input_names in (("fit", all_inputs()), ("new data", inputs.NEW | inputs.HEADERS))
    }
    return {
        "letters": {letter: outcome for outcome, letter in LETTERS.items()},
        "estimators": names,
        "groups": {group: list(members) for group, members in inputs.GROUPS.items()},
        **table,
        "parameter values": values,
        "parameters": of_parameters(letters, values),
        "counts": dict(Counter(outcome for _, (outcome, _) in outcomes)),
        "messages": messages(outcomes),
    }


def merge(recorded, new, names):
    """Merge a summary of selected estimators with an older one of the others."""
    positions = {name: position for position, name in enumerate(recorded["estimators"])}
    stages = {}
    for stage in ("fit", "new data"):
        stages[stage] = {
            input_name: "".join(
                letters[position]
                if name in names
                else recorded[stage][input_name][positions[name]]
                if name in positions
                else "-"
                for position, name in enumerate(new["estimators"])
            )
            for input_name, letters in new[stage].items()
        }
    all_parameters = recorded["parameters"] | new["parameters"]
    counts = dict(recorded["messages"])
    for message, count in new["messages"]:
        counts[message] = counts.get(message, 0) + count
    parameters = {name: all_parameters[name] for name in new["estimators"] if name in all_parameters}
    tables = [*stages.values(), *parameters.values()]
    letters = Counter("".join(letters for table in tables for letters in table.values()).replace("-", ""))
    return (
        new
        | stages
        | {
            "parameters": parameters,
            "counts": {new["letters"][letter]: count for letter, count in letters.items()},
            "messages": [[message, count] for message, count in sorted(counts.items(), key=lambda item: -item[1])],
        }
    )


def all_inputs():
    """Return the names of all inputs of ``fit``."""
    return [name for members in inputs.GROUPS.values() for name in members]


def of_parameters(results, values):
    """Return letters of the values, by estimator and parameter."""
    table = {}
    for name, stage, setting in results:
        if stage == "parameters":
            parameter = setting.split("=", 1)[0]
            letters = (results[(name, stage, f"{parameter}={value}")] for value in values)
            table.setdefault(name, {}).setdefault(parameter, "".join(letters))
    return table


def messages(outcomes):
    """Return messages about data without numbers, and their counts."""
    counts = Counter()
    for (_, stage, _), (_, message) in outcomes:
        if message and stage != "parameters":
            plain = re.sub(r"'[^']*'|array\(.*|<.*>", "'…'", message)
            counts[re.sub(r"(?<![\w])[-+]?\d[\d.,e+-]*", "#", plain)] += 1
    return [[message, count] for message, count in sorted(counts.items(), key=lambda entry: -entry[1])]
