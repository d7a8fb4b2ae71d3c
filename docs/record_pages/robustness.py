"""Parts of the page on hostile input."""

from collections import Counter

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from .tables import provenance, table, verdict

COLOURS = {"-": "white", "o": "#9ecae1", "w": "#fdd49e", "r": "#d9d9d9"}
MEANINGS = {"o": "result in order", "w": "in order, with a warning", "r": "refused, with a reason"}
FAILED = "#cb181d"
STAGES = ("fit", "new data")


def parts(read):
    """The parts, by name."""
    found = read("robustness")
    return {
        "verdict": in_short(found, read("fuzz_files"), read("mutants")),
        "provenance": provenance(found),
        "grid": grid(found),
        "inputs": "".join(of_group(found, group) for group in found["groups"]),
        "parameters": of_parameters(found),
        "fuzzing": of_fuzzing(found["fuzzing"]),
        "trials": table(
            ["tried", "ended", "what happened"],
            [[one["what"].rstrip("."), one["outcome"], one["happened"]] for one in found["trials"]],
            widths=[30, 10, 60],
        ),
        "files": of_files(read("fuzz_files")),
        "mutants": of_mutants(read("mutants")),
        "messages": table(
            ["times", "message"], [[count, literal(message)] for message, count in found["messages"]], [8, 92]
        ),
    }


def in_short(found, files, mutants):
    """The counts of all parts."""
    counts = found["counts"]
    cells, n_fits = sum(counts.values()), sum(sum(one.values()) for one in found["fuzzing"]["counts"].values())
    failures = cells - sum(counts.get(one, 0) for one in ("ok", "warned", "refused"))
    broken = files["all"]["signals"] + files["all"]["other_failures"]
    failed = sum(one["outcome"] not in ("ok", "warned", "refused") for one in found["trials"])
    told = ", ".join(f"{counts.get(key, 0):,} {name}" for key, name in OUTCOMES.items())
    return verdict(
        f"**Bad input: {failures} failures** in {cells:,} cases, of {len(found['estimators'])} estimators and "
        f"variants ({told}).",
        f"**Random input: {len(found['fuzzing']['failures'])} failures** in {n_fits:,} fits of data and "
        "parameters drawn at random.",
        f"**Files: {broken} failures** in {files['all']['cases']:,} damaged or forged files; reading one took at "
        f"most {files['all']['worst_memory_mb']:.0f} MB.",
        f"**Killed workers, threads, full disks: {failed} failures** in {len(found['trials'])} trials.",
        f"**Tests** noticed {mutants['killed']} of {mutants['mutants']} errors put into central lines.",
        "**Limits**: methods that know no outliers refuse samples a million times farther away than all others; "
        "some methods refuse data that all have numbers of 1e150 and beyond.",
    )


#: What became of an input, in words.
OUTCOMES = {"ok": "accepted", "warned": "accepted with a warning", "refused": "refused with a reason"}


def grid(found):
    """Inputs by estimators, as colours."""
    names = [one for members in found["groups"].values() for one in members]
    names += [one for one in found["new data"] if one not in names]
    letters = list(COLOURS)
    figure = Figure(figsize=(13, 17), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, stage in zip(axes, STAGES, strict=True):
        rows = [found[stage].get(one, "-" * len(found["estimators"])) for one in names]
        codes = [[letters.index(one) if one in letters else len(letters) for one in row] for row in rows]
        colours = ListedColormap([*COLOURS.values(), FAILED])
        ax.pcolormesh(np.array(codes), cmap=colours, vmin=-0.5, vmax=len(letters) + 0.5, edgecolors="white")
        ax.set_xticks(np.arange(len(found["estimators"])) + 0.5, found["estimators"], rotation=90)
        ax.set_title("training" if stage == "fit" else "new data")
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
    axes[0].set_yticks(np.arange(len(names)) + 0.5, names)
    axes[0].invert_yaxis()
    legend = [Patch(color=COLOURS[one], label=meaning) for one, meaning in MEANINGS.items()]
    figure.legend(handles=[*legend, Patch(color=FAILED, label="failure")], loc="outside lower center", ncols=4)
    return figure


def of_group(found, group):
    """How many estimators took an input, with and without a warning, and how many refused it."""
    rows = []
    members = found["groups"][group]
    for one in members:
        row = [one]
        for stage in STAGES:
            letters = Counter(found[stage].get(one, "").replace("-", ""))
            row += [letters[letter] or None for letter in "owr"]
            row.append(sum(letters.values()) - sum(letters[letter] for letter in "owr") or None)
        rows.append(row)
    header = [group, "ok", "warned", "refused", "failed", "new: ok", "warned", "refused", "failed"]
    return table(header, rows, widths=[36, *[8] * 8])


def of_parameters(found):
    """How each value was received by all parameters."""
    rows = []
    for k, value in enumerate(found["parameter values"]):
        letters = Counter(row[k] for rows in found["parameters"].values() for row in rows.values())
        taken, refused = letters["o"] + letters["w"], letters["r"]
        rows.append([value, taken, refused, letters.total() - taken - refused])
    return table(["value", "accepted", "refused", "failed"], rows)


def of_fuzzing(fuzzing):
    """How many random inputs there were, and how they ended."""
    total = Counter()
    for outcomes in fuzzing["counts"].values():
        total.update(outcomes)
    told = ", ".join(f"{count} {outcome}" for outcome, count in total.most_common())
    again = f" This part was run again on its own: ``{fuzzing['command']}``." if "command" in fuzzing else ""
    return (
        f"Hypothesis drew small data of all kinds, with parameters, for {fuzzing['minutes']:g} minutes: "
        f"{total.total()} fits, {told}; {len(fuzzing['failures'])} failures.{again}\n\n"
    )


def of_files(found):
    """What became of files in which something was changed."""
    rows = []
    for kind, one in found["kinds"].items():
        refused = one["refused"] + one["refused_in_use"]
        failures = one["signals"] + one["other_failures"]
        rows.append([kind, one["file_bytes"], one["cases"], refused, one["cases"] - refused - failures, failures])
    header = ["kind of file", "bytes", "changed files", "refused", "read and used", "failures"]
    worst = f"The most memory that reading one took was {found['all']['worst_memory_mb']:.1f} MB.\n\n"
    return table(header, rows, widths=[40, 12, 12, 12, 12, 12]) + worst + provenance(found)


def of_mutants(found):
    """How many errors in central lines the tests notice."""
    review = [one for one in found["outcomes"] if one["from_the_review"] and not one["equivalent"]]
    return (
        f"Of {found['mutants']} lines with an error put into them, tests noticed {found['killed']}. That includes "
        f"{sum(one['killed'] for one in review)} of the {len(review)} that earlier reviews had found to go "
        f"unnoticed. {found['equivalent']} more changes make no difference, and are not counted.\n\n"
    ) + provenance(found)


def literal(text):
    """A text as it is."""
    return f"``{text.replace('`', chr(39)).strip()}``"
