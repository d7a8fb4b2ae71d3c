"""Parts of the page on robustness to bad input."""

from collections import Counter

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from .tables import provenance, table, verdict

COLORS = {"-": "white", "o": "#9ecae1", "w": "#fdd49e", "r": "#d9d9d9"}
MEANINGS = {"o": "valid result", "w": "valid result with a warning", "r": "refused with a reason"}
FAILED = "#cb181d"
STAGES = ("fit", "new data")


def parts(read_results):
    """Return the texts and figures of the page."""
    results = read_results("robustness")
    return {
        "verdict": in_short(results, read_results("fuzz_files"), read_results("mutants")),
        "provenance": provenance(results),
        "grid": grid(results),
        "inputs": "".join(of_group(results, group) for group in results["groups"]),
        "parameters": of_parameters(results),
        "fuzzing": of_fuzzing(results["fuzzing"]),
        "trials": table(
            ["trial", "outcome", "description"],
            [[entry["what"].rstrip("."), entry["outcome"], entry["happened"]] for entry in results["trials"]],
            widths=[30, 10, 60],
        ),
        "files": of_files(read_results("fuzz_files")),
        "mutants": of_mutants(read_results("mutants")),
        "messages": table(
            ["count", "message"], [[count, literal(message)] for message, count in results["messages"]], [8, 92]
        ),
    }


def in_short(results, files, mutants):
    """Return the counts of all parts."""
    counts = results["counts"]
    cells, n_fits = (
        sum(counts.values()),
        sum(sum(entry.values()) for entry in results["fuzzing"]["counts"].values()),
    )
    failures = cells - sum(counts.get(entry, 0) for entry in ("ok", "warned", "refused"))
    broken = files["all"]["signals"] + files["all"]["other_failures"]
    failed = sum(entry["outcome"] not in ("ok", "warned", "refused") for entry in results["trials"])
    texts = ", ".join(f"{counts.get(key, 0):,} {name}" for key, name in OUTCOMES.items())
    return verdict(
        f"**Bad input: {failures} failures** in {cells:,} cases, of {len(results['estimators'])} estimators and "
        f"variants ({texts}).",
        f"**Random input: {len(results['fuzzing']['failures'])} failures** in {n_fits:,} fits of data and "
        "parameters drawn at random.",
        f"**Files: {broken} failures** in {files['all']['cases']:,} damaged or forged files; reading a file took "
        f"at most {files['all']['worst_memory_mb']:.0f} MB.",
        f"**Killed workers, threads, full disks: {failed} failures** in {len(results['trials'])} trials.",
        f"**Tests** detected {mutants['killed']} of {mutants['mutants']} errors put into central lines.",
        "**Limits**: methods without outliers refuse samples that are 1 million times farther away than all "
        "others; some methods refuse data in which all numbers are 1e150 or larger.",
    )


#: Descriptions of outcomes.
OUTCOMES = {"ok": "accepted", "warned": "accepted with a warning", "refused": "refused with a reason"}


def grid(results):
    """Draw the outcomes of inputs by estimator as colors."""
    names = [name for members in results["groups"].values() for name in members]
    names += [name for name in results["new data"] if name not in names]
    letters = list(COLORS)
    figure = Figure(figsize=(13, 17), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, stage in zip(axes, STAGES, strict=True):
        rows = [results[stage].get(name, "-" * len(results["estimators"])) for name in names]
        codes = [[letters.index(letter) if letter in letters else len(letters) for letter in row] for row in rows]
        colors = ListedColormap([*COLORS.values(), FAILED])
        ax.pcolormesh(np.array(codes), cmap=colors, vmin=-0.5, vmax=len(letters) + 0.5, edgecolors="white")
        ax.set_xticks(np.arange(len(results["estimators"])) + 0.5, results["estimators"], rotation=90)
        ax.set_title("training" if stage == "fit" else "new data")
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
    axes[0].set_yticks(np.arange(len(names)) + 0.5, names)
    axes[0].invert_yaxis()
    legend = [Patch(color=COLORS[name], label=meaning) for name, meaning in MEANINGS.items()]
    figure.legend(handles=[*legend, Patch(color=FAILED, label="failure")], loc="outside lower center", ncols=4)
    return figure


def of_group(results, group):
    """Return the numbers of estimators that accepted and refused the inputs of a group."""
    rows = []
    members = results["groups"][group]
    for name in members:
        row = [name]
        for stage in STAGES:
            letters = Counter(results[stage].get(name, "").replace("-", ""))
            row += [letters[letter] or None for letter in "owr"]
            row.append(sum(letters.values()) - sum(letters[letter] for letter in "owr") or None)
        rows.append(row)
    header = [group, "ok", "warned", "refused", "failed", "new: ok", "warned", "refused", "failed"]
    return table(header, rows, widths=[36, *[8] * 8])


def of_parameters(results):
    """Return the numbers of parameters that accepted and refused each value."""
    rows = []
    for k, value in enumerate(results["parameter values"]):
        letters = Counter(row[k] for rows in results["parameters"].values() for row in rows.values())
        n_accepted, n_refused = letters["o"] + letters["w"], letters["r"]
        rows.append([value, n_accepted, n_refused, letters.total() - n_accepted - n_refused])
    return table(["value", "accepted", "refused", "failed"], rows)


def of_fuzzing(fuzzing):
    """Return the numbers of random inputs by outcome."""
    total = Counter()
    for outcomes in fuzzing["counts"].values():
        total.update(outcomes)
    texts = ", ".join(f"{count} {outcome}" for outcome, count in total.most_common())
    note = f" This part was run separately: ``{fuzzing['command']}``." if "command" in fuzzing else ""
    return (
        f"Hypothesis generated small data of all kinds, with parameters, for {fuzzing['minutes']:g} minutes: "
        f"{total.total()} fits, {texts}; {len(fuzzing['failures'])} failures.{note}\n\n"
    )


def of_files(results):
    """Return the outcomes of reading changed files."""
    rows = []
    for kind, entry in results["kinds"].items():
        n_refused = entry["refused"] + entry["refused_in_use"]
        failures = entry["signals"] + entry["other_failures"]
        rows.append(
            [kind, entry["file_bytes"], entry["cases"], n_refused, entry["cases"] - n_refused - failures, failures]
        )
    header = ["kind of file", "bytes", "changed files", "refused", "read and used", "failures"]
    worst = f"The maximum memory for reading a file was {results['all']['worst_memory_mb']:.1f} MB.\n\n"
    return table(header, rows, widths=[40, 12, 12, 12, 12, 12]) + worst + provenance(results)


def of_mutants(results):
    """Return the numbers of inserted errors that the tests detect."""
    review = [entry for entry in results["outcomes"] if entry["from_the_review"] and not entry["equivalent"]]
    return (
        f"Tests detected {results['killed']} of {results['mutants']} inserted errors. This includes "
        f"{sum(entry['killed'] for entry in review)} of {len(review)} errors that were undetected in earlier "
        f"reviews. {results['equivalent']} more changes have no effect, and are not counted.\n\n"
    ) + provenance(results)


def literal(text):
    """Return a text as a literal."""
    return f"``{text.replace('`', chr(39)).strip()}``"
