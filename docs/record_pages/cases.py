"""Tables and pictures of the case studies, from ``benchmarks/results/case_*.json``."""

import numpy as np
from matplotlib.figure import Figure

from .tables import provenance, table

OURS, OTHERS, REFERENCE = "#0072B2", "#8C8C8C", "#009E73"
#: Methods of this library; all others are peers, but for those that are given more than the others.
OF_THE_LIBRARY = {
    *("CCM", "ECM", "CredalEnsemble", "EVCLUS", "RECM", "SECM"),
    *("evidential forest", "evidential neighbours", "unseen-class detector"),
}
GIVEN_MORE = {"forest, given diagnoses", "look at all"}


def parts(read):
    """What the pages include."""
    cases = (biopsies, cells, credit, brain, languages, sensors)
    found = {f"{case.__name__}_{name}": part for case in cases for name, part in case(read).items()}
    return found | {"outcomes": outcomes(read)}


def outcomes(read):
    """A row for each case: what the guide advises, beside the best of the other methods."""
    applications = read("case_credit")
    compared = {
        "biopsies": ("CCM", read("case_biopsies"), None, "cost"),
        "cells": ("evidential forest", read("case_cells"), None, "cost"),
        "credit": ("evidential forest", applications, "as they are", "cost"),
        "credit, forms with gaps": ("evidential forest", applications, "30 % removed", "cost"),
        "brain": ("SECM", read("case_brain"), None, "errors_left"),
        "languages": ("EVCLUS", read("case_languages"), None, "cost"),
        "sensors": ("evidential forest", read("case_sensors"), None, "cost"),
    }
    rows = []
    for case, (ours, found, part, figure) in compared.items():
        methods, won = (found[key] if part is None else found[key][part] for key in ("methods", "gains"))
        best = min(won, key=lambda one: methods[one][figure]["mean"])
        beaten = [one for one, gain in won.items() if gain["low"] > 0]
        ahead = [one for one, gain in won.items() if gain["high"] < 0]
        shown = [f"{one}: {with_interval(methods[one][figure], 1)}" for one in (ours, best)]
        page = case.split(",")[0]
        rows.append([f":doc:`{case} <{page}>`", *shown, ", ".join(beaten) or "none", ", ".join(ahead) or "none"])
    header = ["case", "what the guide advises", "best of the others", "beats", "is beaten by"]
    return table(header, rows)


def biopsies(read):
    """Errors left by looks."""
    found = read("case_biopsies")
    columns = {
        "errors": "wrong before looks",
        "errors_left": "wrong after looks",
        "overlooked_left": "of these, overlooked tumours",
        "cost": "cost",
    }
    return {
        "decisions": decisions(found["methods"], columns),
        "gains": gains(found["gains"], "CCM", "cost"),
        "verdicts": decisions(
            found["verdicts"],
            {"sure": "sure", "wrong_of_sure": "wrong among the sure", "wrong_of_others": "wrong among the others"},
        ),
        "picture": curves(found),
        "made": provenance(found),
    }


def cells(read):
    """How exactly cells are named, and types that nobody taught."""
    found = read("case_cells")
    columns = {
        "always_a_type": "wrong, if always a type",
        "wrong": "wrong",
        "type": "named by type",
        "family": "by family",
        "lineage": "by lineage",
        "cell": "just “cell”",
        "cost": "cost",
    }
    return {
        "decisions": decisions(found["methods"], columns),
        "gains": gains(found["gains"], "evidential forest", "cost"),
        "new_types": decisions(
            found["new_types"], {"found": "new cells found", "false": "false alarms", "cost": "cost"}
        ),
        "by_type": by_type(found["found_by_type"]),
        "picture": map_of_cells(found["map"]),
        "made": provenance(found),
    }


def by_type(found):
    """How many cells of each type were found when it was new."""
    methods = list(next(iter(found.values())))
    rows = [[kind, *(f"{each[one]:.0f}" for one in methods)] for kind, each in found.items()]
    return table(["new type", *(called(one) for one in methods)], rows)


def credit(read):
    """Acts and costs, with and without gaps."""
    found = read("case_credit")
    columns = {
        "grant": "granted",
        "refuse": "refused",
        "look": "looked at",
        "bad_of_granted": "bad among the granted",
        "cost": "cost",
    }
    shown = {}
    for name, which in (("decisions", "as they are"), ("removed", "30 % removed")):
        shown[name] = decisions(found["methods"][which], columns)
        shown[f"gains_{name}"] = gains(found["gains"][which], "evidential forest", "cost")
    shown["neighbours_removed"] = gains(
        found["gains_of_neighbours"]["30 % removed"], "evidential neighbours", "cost"
    )
    costs = {
        which: {one: each["cost"] for one, each in found["methods"][which].items()} for which in found["methods"]
    }
    return {**shown, "picture": dots(costs, "cost of 100 applications"), "made": provenance(found)}


def brain(read):
    """Errors, looks and volumes."""
    found = read("case_brain")
    columns = {
        "errors": "wrong, %",
        "errors_left": "wrong after looks, %",
        "mixed_found": "AUROC of mixed voxels",
        "grey_by_labels": "grey matter off, %",
        "grey_by_memberships": "the same by memberships, %",
    }
    return {
        "decisions": decisions(found["methods"], columns, digits={"mixed_found": 2}),
        "gains": gains(found["gains"], "SECM", "errors_left"),
        "picture": slices(found["pictures"]),
        "made": provenance(found),
    }


def languages(read):
    """Wrong teams, and a map."""
    found = read("case_languages")
    columns = {
        "errors": "wrong, %",
        "errors_left": "wrong after looks, %",
        "none_left": "of these, of no family",
        "cost": "cost",
    }
    return {
        "decisions": decisions(found["methods"], columns),
        "gains": gains(found["gains"], "EVCLUS", "cost"),
        "gains_recm": gains(found["gains_of_recm"], "RECM", "cost"),
        "picture": map_of_languages(found["map"]),
        "made": provenance(found),
    }


def sensors(read):
    """Looks and wrong names, and how they change with the persons that arrive."""
    found = read("case_sensors")
    columns = {
        "looks": "looked at, %",
        "wrong_of_named": "wrong among the named, %",
        "first_looks": "looks, first person",
        "last_looks": "looks, last person",
        "cost": "cost",
    }
    return {
        "decisions": decisions(found["methods"], columns),
        "gains": gains(found["gains"], "evidential forest", "cost"),
        "picture": over_batches(found["by_batch"]),
        "made": provenance(found),
    }


def decisions(methods, columns, digits=None):
    """A row for each method: means and 95 % intervals; methods of the library are bold."""
    digits = digits or {}
    rows = [
        [called(name), *(with_interval(each.get(key), digits.get(key, 1)) for key in columns)]
        for name, each in methods.items()
    ]
    return table(["method", *columns.values()], rows)


def gains(found, ours, figure):
    """One sentence for each peer: ours is better, worse, or they cannot be told apart."""
    sides = {"cost": ("cheaper", "more expensive"), "errors_left": ("better", "worse")}[figure]
    lines = []
    for peer, one in found.items():
        digits = 0 if abs(one["mean"]) >= 100 else 1
        how = f"{abs(one['mean']):.{digits}f} ({interval(one, digits)})"
        if one["low"] > 0:
            lines.append(f"- {ours} is **{sides[0]}** than {peer}, by {how}.")
        elif one["high"] < 0:
            lines.append(f"- {ours} is **{sides[1]}** than {peer}, by {how}.")
        else:
            lines.append(f"- {ours} and {peer} cannot be told apart: {one['mean']:+.1f} ({interval(one)}).")
    return "\n".join(lines) + "\n\n"


def interval(one, digits=1):
    """The ends of an interval, without a sign if both have the same."""
    low, high = sorted((one["low"], one["high"]))
    if low > 0 or high < 0:
        low, high = sorted((abs(low), abs(high)))
        return f"{low:.{digits}f} to {high:.{digits}f}"
    return f"{low:+.1f} to {high:+.1f}"


def called(name):
    return f"**{name}**" if name in OF_THE_LIBRARY else f"*{name}*" if name in GIVEN_MORE else name


def with_interval(one, digits):
    if one is None:
        return None
    half = one["high"] - one["mean"]
    digits = 0 if one["mean"] >= 100 else digits
    return f"{one['mean']:.{digits}f}\u00a0±\u00a0{half:.{digits}f}" if half else f"{one['mean']:.{digits}f}"


def colour(name):
    return OURS if name in OF_THE_LIBRARY else REFERENCE if name in GIVEN_MORE else OTHERS


def axes_of(figure, *place, **names):
    """Axes without a frame."""
    axes = figure.add_subplot(*place)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set(**names)
    return axes


def legend_beside(axes):
    """A legend to the right of the axes, where it covers nothing."""
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=9)


def curves(found):
    """Errors left, by the share that is looked at; hdbscan is beyond the picture."""
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = axes_of(figure, xlabel="biopsies looked at, %", ylabel="wrong labels left", ylim=(0, 28), xlim=(0, 30))
    styles = {True: iter(["-", "--", ":"]), False: iter(["-", "--", ":", "-."])}
    for name, values in found["curves"].items():
        if max(values) <= 50:
            style = next(styles[name in OF_THE_LIBRARY])
            axes.plot(
                [100 * one for one in found["shares"]], values, style, color=colour(name), lw=1.8, label=name
            )
    axes.axvline(10, color="#BBBBBB", lw=0.8)
    axes.text(10.2, 26.5, "the budget of the table", fontsize=8, color="#666666")
    legend_beside(axes)
    return figure


def dots(costs, label):
    """Costs with intervals, a panel for each kind."""
    figure = Figure(figsize=(7, 2.6), layout="constrained")
    ends = [one[end] for each in costs.values() for one in each.values() for end in ("low", "high")]
    limits = (min(ends) - 1, max(ends) + 1)
    for place, (title, each) in enumerate(costs.items(), start=1):
        axes = axes_of(figure, 1, len(costs), place, xlabel=label, xlim=limits)
        axes.set_title(title, loc="left", fontsize=10)
        for row, (name, one) in enumerate(each.items()):
            axes.plot([one["low"], one["high"]], [row, row], color=colour(name), lw=2)
            axes.plot(one["mean"], row, "o", color=colour(name))
        names = list(each) if place == 1 else [""] * len(each)
        axes.set_yticks(range(len(each)), names, fontsize=8)
        axes.invert_yaxis()
    return figure


def map_of_cells(found):
    """Cells, by how exactly they are named, with wrong ones marked."""
    figure = Figure(figsize=(7, 4.4), layout="constrained")
    axes = axes_of(figure, xticks=[], yticks=[], xlabel="UMAP", ylabel="")
    coarse = {"CD4 T cell", "CD8 T cell", "T cell", "myeloid cell", "cell"}
    groups = {
        "named by type": ([one for one in found if one[2] not in coarse and one[3]], "#B8D4E8", "o", 12),
        "by a family or lineage": (
            [one for one in found if one[2] in coarse - {"cell"} and one[3]],
            "#E69F00",
            "s",
            18,
        ),
        "just “cell”": ([one for one in found if one[2] == "cell" and one[3]], "#000000", "^", 22),
        "wrong": ([one for one in found if not one[3]], "#CC3311", "x", 28),
    }
    for name, (some, shade, mark, size) in groups.items():
        if some:
            u, v = np.array([one[:2] for one in some]).T
            axes.scatter(
                u, v, s=size, c=shade, marker=mark, lw=1.2 if mark == "x" else 0, label=f"{name} ({len(some)})"
            )
    legend_beside(axes)
    return figure


def map_of_languages(found):
    """Languages by their two first coordinates; marks are verdicts, colours are families."""
    figure = Figure(figsize=(7, 4.8), layout="constrained")
    axes = axes_of(figure, xticks=[], yticks=[])
    colours = {
        "Romance": "#D55E00",
        "Germanic": "#0072B2",
        "Slavic": "#009E73",
        "Turkic": "#CC79A7",
        "none": "#666666",
    }
    places = apart(np.array([one["place"] for one in found]))
    for one, place in zip(found, places, strict=True):
        n_candidates = len(one["candidates"])
        weight = "bold" if n_candidates == 1 else "normal"
        marks = {0: "[]", 1: ("", "")}.get(n_candidates, "()")
        text = marks[0] + one["language"] + marks[1]
        axes.text(*place, text, color=colours[one["family"]], fontsize=8, weight=weight, ha="center")
    low, high = places.min(axis=0), places.max(axis=0)
    axes.set(xlim=(low[0] - 0.05, high[0] + 0.05), ylim=(low[1] - 0.05, high[1] + 0.05))
    for name, shade in colours.items():
        axes.plot([], [], "s", color=shade, label="no family" if name == "none" else name)
    legend_beside(axes)
    return figure


def apart(places, width=0.024, height=0.016):
    """Places of short texts, moved until they no longer cover each other."""
    places = places.copy()
    for _ in range(300):
        gap = places[:, None] - places[None]
        near = (np.abs(gap) < [width, height]).all(axis=2) & ~np.eye(len(places), dtype=bool)
        if not near.any():
            break
        push = np.where(gap[..., 1] == 0, np.subtract.outer(range(len(places)), range(len(places))), gap[..., 1])
        places[:, 1] += 0.1 * height * (near * np.sign(push)).sum(axis=1)
    return places


def slices(found):
    """A slice of the brain: brightness, voxels that hold two tissues, and doubts."""
    names = {
        "brightness": "brightness",
        "mixed": "truly mixed voxels",
        "Gaussian mixture, smoothed": "doubt, smoothed mixture",
        "SECM": "doubt, SECM",
    }
    figure = Figure(figsize=(7, 2.5), layout="constrained")
    for place, (key, title) in enumerate(names.items(), start=1):
        axes = figure.add_subplot(1, 4, place)
        values = np.array([list(bytes.fromhex(row)) for row in found[key]])
        shown = np.ma.masked_equal(values, 255)
        axes.imshow(shown, origin="lower", cmap="gray" if key == "brightness" else "magma", vmin=0, vmax=200)
        axes.set_title(title, fontsize=8)
        axes.set_axis_off()
    return figure


def over_batches(found):
    """Costs by the person that arrives."""
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = axes_of(figure, xlabel="persons that have arrived", ylabel="cost of 100 windows")
    styles = iter(["-", "--", ":", "-", "--"])
    for name, each in found.items():
        axes.plot(
            range(1, len(each) + 1), [one["mean"] for one in each], next(styles), color=colour(name), label=name
        )
    axes.set_ylim(bottom=0)
    legend_beside(axes)
    return figure
