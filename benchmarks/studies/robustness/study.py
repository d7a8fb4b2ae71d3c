"""The robustness study: ``python -m benchmarks.studies.robustness [--minutes 10]``, about 15 minutes.

Every public estimator gets every hostile input of `inputs` (`grid`), random ones for minutes
(`fuzz`), and there are trials with files, threads, workers and disks (`trials`). The results go
to ``benchmarks/results/robustness.json``. With ``--quick`` the parameters, random inputs and trials are left out,
and what was found is printed only. With ``--only-random`` the rest of the file, with its command, is kept; with
``--estimators`` what is known of others, of random inputs and of trials.
"""

import re
from collections import Counter

from benchmarks.common import command_line, record
from benchmarks.studies.robustness import fuzz as fuzzing
from benchmarks.studies.robustness import inputs, trials
from benchmarks.studies.robustness.grid import FAILURES, cells, subjects, watched

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
    parser.add_argument("--minutes", type=float, default=10, help="how long to try random inputs")
    parser.add_argument("--only-random", action="store_true", help="keep what was found, but try random inputs")
    parser.add_argument("--quick", action="store_true", help="data only, and write nothing")
    parser.add_argument("--estimators", nargs="*", help="try some estimators, and keep what was found of others")
    options = parser.parse_args()
    if options.only_random:
        command = f"python -m benchmarks.studies.robustness --only-random --minutes {options.minutes:g}"
        write(record.read("robustness") | {"fuzzing": fuzzing.run(options.minutes) | {"command": command}})
        return
    outcomes = list(watched(cells(options.estimators, parameters=not options.quick)))
    for cell, (outcome, message) in outcomes:
        if outcome in FAILURES:
            print(*cell, "|", outcome, "|", message)
    print(Counter(outcome for _, (outcome, _) in outcomes))
    if options.quick:
        return
    if options.estimators:
        before = record.read("robustness")
        write(before | merged(before, summary(outcomes), options.estimators))
        return
    write(summary(outcomes) | {"trials": trials.run(), "fuzzing": fuzzing.run(options.minutes)})


def write(found):
    record.write("robustness", found, packages=["torch", "hypothesis", "dask", "pyarrow", "pandas"])


def summary(outcomes):
    """Outcomes as strings of letters, one for each estimator, or for each value of a parameter; and messages."""
    names, values = list(subjects()), list(inputs.PARAMETERS)
    found = {cell: LETTERS[outcome] for cell, (outcome, _) in outcomes}
    table = {
        stage: {one: "".join(found.get((name, stage, one), "-") for name in names) for one in tried}
        for stage, tried in (("fit", all_inputs()), ("new data", inputs.NEW | inputs.HEADERS))
    }
    return {
        "letters": {letter: outcome for outcome, letter in LETTERS.items()},
        "estimators": names,
        "groups": {group: list(members) for group, members in inputs.GROUPS.items()},
        **table,
        "parameter values": values,
        "parameters": of_parameters(found, values),
        "counts": dict(Counter(outcome for _, (outcome, _) in outcomes)),
        "messages": messages(outcomes),
    }


def merged(before, after, names):
    """A summary of all estimators, from one of some of them and an older one of the others."""
    old = {name: place for place, name in enumerate(before["estimators"])}
    merged = {}
    for stage in ("fit", "new data"):
        merged[stage] = {
            one: "".join(
                letters[place] if name in names else before[stage][one][old[name]] if name in old else "-"
                for place, name in enumerate(after["estimators"])
            )
            for one, letters in after[stage].items()
        }
    known = before["parameters"] | after["parameters"]
    said = dict(before["messages"])
    for message, count in after["messages"]:
        said[message] = said.get(message, 0) + count
    parameters = {name: known[name] for name in after["estimators"] if name in known}
    tables = [*merged.values(), *parameters.values()]
    letters = Counter("".join(letters for table in tables for letters in table.values()).replace("-", ""))
    return (
        after
        | merged
        | {
            "parameters": parameters,
            "counts": {after["letters"][letter]: count for letter, count in letters.items()},
            "messages": [[message, count] for message, count in sorted(said.items(), key=lambda one: -one[1])],
        }
    )


def all_inputs():
    """The names of all inputs of ``fit``."""
    return [one for members in inputs.GROUPS.values() for one in members]


def of_parameters(found, values):
    """Letters of the values, by estimator and parameter."""
    table = {}
    for name, stage, one in found:
        if stage == "parameters":
            parameter = one.split("=", 1)[0]
            letters = (found[(name, stage, f"{parameter}={value}")] for value in values)
            table.setdefault(name, {}).setdefault(parameter, "".join(letters))
    return table


def messages(outcomes):
    """What users read about their data, without numbers, and how often."""
    said = Counter()
    for (_, stage, _), (_, message) in outcomes:
        if message and stage != "parameters":
            plain = re.sub(r"'[^']*'|array\(.*|<.*>", "'…'", message)
            said[re.sub(r"(?<![\w])[-+]?\d[\d.,e+-]*", "#", plain)] += 1
    return [[message, count] for message, count in sorted(said.items(), key=lambda one: -one[1])]
