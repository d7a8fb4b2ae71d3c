"""Tables and figures of the case studies, from ``benchmarks/results/case_*.json``."""

import numpy as np
from matplotlib.figure import Figure

from benchmarks.studies.cases.brain import BUDGET

from .tables import provenance, table

LIBRARY_COLOR, OTHER_COLOR, REFERENCE_COLOR = "#0072B2", "#8C8C8C", "#009E73"
#: Methods of this library.
OF_THE_LIBRARY = {
    *("CCM", "ECM", "CredalEnsemble", "EVCLUS", "RECM", "SECM"),
    *("evidential forest", "evidential neighbors", "unseen-class detector"),
}
REFERENCES = {"forest, given diagnoses", "look at all"}
#: Recommended methods for a review, and the column of the errors before it and after it.
REVIEWS = {
    "biopsies": (("Gaussian mixture", "CCM"), "wrong biopsies of 284"),
    "brain": (("SECM",), "wrong voxels, %"),
    "languages": (("spectral", "EVCLUS"), "wrong languages, %"),
}


def parts(read_results):
    """Return the texts and figures of the pages."""
    cases = (biopsies, cells, credit, brain, languages, sensors)
    contents = {f"{case.__name__}_{name}": part for case in cases for name, part in case(read_results).items()}
    reviews = {name: reviewed(name, read_results(f"case_{name}")) for name in REVIEWS}
    for name, rows in reviews.items():
        contents[f"{name}_review"] = table(["", "before", "after", "after a random review"], rows)
    contents["cells_review"] = less_precise(read_results("case_cells"))
    rows = [[f":doc:`{name}`", *row] for name, rows_of_case in reviews.items() for row in rows_of_case]
    contents["reviews"] = table(["study", "errors", "before", "after", "after a random review"], rows)
    return contents | {"outcomes": outcomes(read_results)}


def reviewed(name, results):
    """Return the errors before and after the review of samples in doubt, and after a random one, by method."""
    methods, measure = REVIEWS[name]
    share = results["looks"] / results["samples"] if "looks" in results else BUDGET
    rows = []
    for method in methods:
        figures = results["methods"][method]
        by_chance = (1 - share) * figures["errors"]["mean"]
        before, after = (with_interval(figures[key], 1) for key in ("errors", "errors_left"))
        rows.append([f"{measure}, {method_text(method)}", before, after, f"{by_chance:.1f}"])
    return rows


def less_precise(results):
    """Return the errors of 2 classifiers that always predict a type, and that use the tree."""
    return table(
        ["wrong predictions, %", "always a type", "with the tree"],
        [
            [
                method_text(name),
                *(with_interval(results["methods"][name][key], 1) for key in ("always_a_type", "wrong")),
            ]
            for name in ("logistic regression", "evidential forest")
        ],
    )


def outcomes(read_results):
    """Return a row for each study: the recommended method and the best other method."""
    applications = read_results("case_credit")
    compared = {
        "biopsies": ("CCM", read_results("case_biopsies"), None, "cost"),
        "cells": ("evidential forest", read_results("case_cells"), None, "cost"),
        "credit": ("evidential forest", applications, "as they are", "cost"),
        "credit, missing values": ("evidential forest", applications, "30 % removed", "cost"),
        "brain": ("SECM", read_results("case_brain"), None, "errors_left"),
        "languages": ("EVCLUS", read_results("case_languages"), None, "cost"),
        "sensors": ("evidential forest", read_results("case_sensors"), None, "cost"),
    }
    rows = []
    for case, (method, results, part, figure) in compared.items():
        methods, differences = (
            results[key] if part is None else results[key][part] for key in ("methods", "gains")
        )
        best = min(differences, key=lambda name: methods[name][figure]["mean"])
        losers = [name for name, gain in differences.items() if gain["low"] > 0]
        winners = [name for name, gain in differences.items() if gain["high"] < 0]
        texts = [f"{name}: {with_interval(methods[name][figure], 1)}" for name in (method, best)]
        page = case.split(",")[0]
        target = "/record/decisions" if page in ("credit", "sensors") else page
        rows.append(
            [f":doc:`{case} <{target}>`", *texts, ", ".join(losers) or "none", ", ".join(winners) or "none"]
        )
    header = ["case", "recommended method", "best other method", "better than", "worse than"]
    return table(header, rows)


def biopsies(read_results):
    """Return the parts about remaining errors after reviews."""
    results = read_results("case_biopsies")
    columns = {
        "errors": "wrong before reviews",
        "errors_left": "wrong after reviews",
        "overlooked_left": "of these, overlooked tumors",
        "cost": "cost",
    }
    return {
        "decisions": decisions(results["methods"], columns),
        "gains": gains(results["gains"], "CCM", "cost"),
        "verdicts": decisions(
            results["verdicts"],
            {"sure": "sure", "wrong_of_sure": "wrong among sure", "wrong_of_others": "wrong among others"},
        ),
        "picture": curves(results),
        "made": provenance(results),
    }


def cells(read_results):
    """Return the parts about the precision of predictions, and new types."""
    results = read_results("case_cells")
    columns = {
        "always_a_type": "wrong, always a type",
        "wrong": "wrong",
        "type": "predicted type",
        "family": "family",
        "lineage": "lineage",
        "cell": "cell",
        "cost": "cost",
    }
    return {
        "decisions": decisions(results["methods"], columns),
        "gains": gains(results["gains"], "evidential forest", "cost"),
        "new_types": decisions(
            results["new_types"], {"found": "detected new cells", "false": "false alarms", "cost": "cost"}
        ),
        "by_type": by_type(results["found_by_type"]),
        "picture": map_of_cells(results["map"]),
        "made": provenance(results),
    }


def by_type(shares):
    """Return the shares of detected cells of each new type."""
    methods = list(next(iter(shares.values())))
    rows = [
        [kind, *(f"{shares_of_kind[method]:.0f}" for method in methods)] for kind, shares_of_kind in shares.items()
    ]
    return table(["new type", *(method_text(method) for method in methods)], rows)


def credit(read_results):
    """Return the parts about acts and costs, with and without missing values."""
    results = read_results("case_credit")
    columns = {
        "grant": "granted",
        "refuse": "refused",
        "look": "reviewed",
        "bad_of_granted": "defaults among granted",
        "cost": "cost",
    }
    contents = {}
    for name, version in (("decisions", "as they are"), ("removed", "30 % removed")):
        contents[name] = decisions(results["methods"][version], columns)
        contents[f"gains_{name}"] = gains(results["gains"][version], "evidential forest", "cost")
    contents["neighbors_removed"] = gains(
        results["gains_of_neighbors"]["30 % removed"], "evidential neighbors", "cost"
    )
    costs = {
        version: {method: figures["cost"] for method, figures in results["methods"][version].items()}
        for version in results["methods"]
    }
    return {**contents, "picture": dots(costs, "cost of 100 applications"), "made": provenance(results)}


def brain(read_results):
    """Return the parts about errors, reviews and volumes."""
    results = read_results("case_brain")
    columns = {
        "errors": "wrong, %",
        "errors_left": "wrong after reviews, %",
        "mixed_found": "AUROC of mixed voxels",
        "gray_by_labels": "error of gray matter, %",
        "gray_by_memberships": "the same by memberships, %",
    }
    return {
        "decisions": decisions(results["methods"], columns, digits={"mixed_found": 2}),
        "gains": gains(results["gains"], "SECM", "errors_left"),
        "picture": slices(results["pictures"]),
        "made": provenance(results),
    }


def languages(read_results):
    """Return the parts about wrong teams, and a map."""
    results = read_results("case_languages")
    columns = {
        "errors": "wrong, %",
        "errors_left": "wrong after reviews, %",
        "none_left": "of these, of no family",
        "cost": "cost",
    }
    return {
        "decisions": decisions(results["methods"], columns),
        "gains": gains(results["gains"], "EVCLUS", "cost"),
        "gains_recm": gains(results["gains_of_recm"], "RECM", "cost"),
        "picture": map_of_languages(results["map"]),
        "made": provenance(results),
    }


def sensors(read_results):
    """Return the parts about reviews and errors, and their change over time."""
    results = read_results("case_sensors")
    columns = {
        "looks": "reviewed, %",
        "wrong_of_named": "wrong among others, %",
        "first_looks": "reviews, first person",
        "last_looks": "reviews, last person",
        "cost": "cost",
    }
    return {
        "decisions": decisions(results["methods"], columns),
        "gains": gains(results["gains"], "evidential forest", "cost"),
        "picture": over_batches(results["by_batch"]),
        "made": provenance(results),
    }


def decisions(methods, columns, digits=None):
    """Return a row for each method: means and 95 % intervals; methods of the library are bold."""
    digits = digits or {}
    rows = [
        [method_text(name), *(with_interval(figures.get(key), digits.get(key, 1)) for key in columns)]
        for name, figures in methods.items()
    ]
    return table(["method", *columns.values()], rows)


def gains(differences, method, figure):
    """Return one sentence for each other method: better, worse, or no clear difference."""
    sides = {"cost": ("cheaper", "more expensive"), "errors_left": ("better", "worse")}[figure]
    lines = []
    for peer, difference in differences.items():
        digits = 0 if abs(difference["mean"]) >= 100 else 1
        size = f"{abs(difference['mean']):.{digits}f} ({interval(difference, digits)})"
        if difference["low"] > 0:
            lines.append(f"- {method} is **{sides[0]}** than {peer}, by {size}.")
        elif difference["high"] < 0:
            lines.append(f"- {method} is **{sides[1]}** than {peer}, by {size}.")
        else:
            lines.append(
                f"- There is no clear difference between {method} and {peer}: {difference['mean']:+.1f} "
                f"({interval(difference)})."
            )
    return "\n".join(lines) + "\n\n"


def interval(difference, digits=1):
    """Return the ends of an interval, without signs if both signs are equal."""
    low, high = sorted((difference["low"], difference["high"]))
    if low > 0 or high < 0:
        low, high = sorted((abs(low), abs(high)))
        return f"{low:.{digits}f} to {high:.{digits}f}"
    return f"{low:+.1f} to {high:+.1f}"


def method_text(name):
    return f"**{name}**" if name in OF_THE_LIBRARY else f"*{name}*" if name in REFERENCES else name


def with_interval(estimate, digits):
    if estimate is None:
        return None
    half = estimate["high"] - estimate["mean"]
    digits = 0 if estimate["mean"] >= 100 else digits
    return (
        f"{estimate['mean']:.{digits}f}\u00a0±\u00a0{half:.{digits}f}"
        if half
        else f"{estimate['mean']:.{digits}f}"
    )


def color(name):
    return LIBRARY_COLOR if name in OF_THE_LIBRARY else REFERENCE_COLOR if name in REFERENCES else OTHER_COLOR


def axes_of(figure, *place, **names):
    """Add axes without a frame."""
    axes = figure.add_subplot(*place)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set(**names)
    return axes


def legend_beside(axes):
    """Add a legend to the right of the axes."""
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=9)


def curves(results):
    """Draw remaining errors by the share of reviews, without hdbscan, which is out of range."""
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = axes_of(
        figure, xlabel="reviewed biopsies, %", ylabel="remaining wrong labels", ylim=(0, 28), xlim=(0, 30)
    )
    styles = {True: iter(["-", "--", ":"]), False: iter(["-", "--", ":", "-."])}
    for name, values in results["curves"].items():
        if max(values) <= 50:
            style = next(styles[name in OF_THE_LIBRARY])
            axes.plot(
                [100 * share for share in results["shares"]], values, style, color=color(name), lw=1.8, label=name
            )
    errors = results["methods"]["CCM"]["errors"]["mean"]
    axes.plot([0, 30], [errors, 0.7 * errors], ":", color="#444444", lw=1, label="CCM, random review")
    axes.axvline(10, color="#BBBBBB", lw=0.8)
    axes.text(10.2, 26.5, "budget of the table", fontsize=8, color="#666666")
    legend_beside(axes)
    return figure


def dots(costs, label):
    """Draw costs with intervals, with a panel for each version of the data."""
    figure = Figure(figsize=(7, 2.6), layout="constrained")
    ends = [
        estimate[end] for estimates in costs.values() for estimate in estimates.values() for end in ("low", "high")
    ]
    limits = (min(ends) - 1, max(ends) + 1)
    for place, (title, estimates) in enumerate(costs.items(), start=1):
        axes = axes_of(figure, 1, len(costs), place, xlabel=label, xlim=limits)
        axes.set_title(title, loc="left", fontsize=10)
        for row, (name, estimate) in enumerate(estimates.items()):
            axes.plot([estimate["low"], estimate["high"]], [row, row], color=color(name), lw=2)
            axes.plot(estimate["mean"], row, "o", color=color(name))
        names = list(estimates) if place == 1 else [""] * len(estimates)
        axes.set_yticks(range(len(estimates)), names, fontsize=8)
        axes.invert_yaxis()
    return figure


def map_of_cells(points):
    """Draw cells by the precision of their predictions, with errors marked."""
    figure = Figure(figsize=(7, 4.4), layout="constrained")
    axes = axes_of(figure, xticks=[], yticks=[], xlabel="UMAP", ylabel="")
    coarse = {"CD4 T cell", "CD8 T cell", "T cell", "myeloid cell", "cell"}
    groups = {
        "type": ([point for point in points if point[2] not in coarse and point[3]], "#B8D4E8", "o", 12),
        "family or lineage": (
            [point for point in points if point[2] in coarse - {"cell"} and point[3]],
            "#E69F00",
            "s",
            18,
        ),
        "cell": ([point for point in points if point[2] == "cell" and point[3]], "#000000", "^", 22),
        "wrong": ([point for point in points if not point[3]], "#CC3311", "x", 28),
    }
    for name, (members, shade, mark, size) in groups.items():
        if members:
            u, v = np.array([point[:2] for point in members]).T
            axes.scatter(
                u, v, s=size, c=shade, marker=mark, lw=1.2 if mark == "x" else 0, label=f"{name} ({len(members)})"
            )
    legend_beside(axes)
    return figure


def map_of_languages(entries):
    """Draw languages by their first 2 coordinates; brackets are verdicts, colors are families."""
    figure = Figure(figsize=(7, 4.8), layout="constrained")
    axes = axes_of(figure, xticks=[], yticks=[])
    colors = {
        "Romance": "#D55E00",
        "Germanic": "#0072B2",
        "Slavic": "#009E73",
        "Turkic": "#CC79A7",
        "none": "#666666",
    }
    places = spread_texts(np.array([entry["place"] for entry in entries]))
    for entry, place in zip(entries, places, strict=True):
        n_candidates = len(entry["candidates"])
        weight = "bold" if n_candidates == 1 else "normal"
        marks = {0: "[]", 1: ("", "")}.get(n_candidates, "()")
        text = marks[0] + entry["language"] + marks[1]
        axes.text(*place, text, color=colors[entry["family"]], fontsize=8, weight=weight, ha="center")
    low, high = places.min(axis=0), places.max(axis=0)
    axes.set(xlim=(low[0] - 0.05, high[0] + 0.05), ylim=(low[1] - 0.05, high[1] + 0.05))
    for name, shade in colors.items():
        axes.plot([], [], "s", color=shade, label="no family" if name == "none" else name)
    legend_beside(axes)
    return figure


def spread_texts(places, width=0.024, height=0.016):
    """Move the places of short texts until they no longer overlap."""
    places = places.copy()
    for _ in range(300):
        gap = places[:, None] - places[None]
        overlaps = (np.abs(gap) < [width, height]).all(axis=2) & ~np.eye(len(places), dtype=bool)
        if not overlaps.any():
            break
        push = np.where(gap[..., 1] == 0, np.subtract.outer(range(len(places)), range(len(places))), gap[..., 1])
        places[:, 1] += 0.1 * height * (overlaps * np.sign(push)).sum(axis=1)
    return places


def slices(images):
    """Draw a slice of the brain: brightness, voxels with 2 tissues, and doubts."""
    names = {
        "brightness": "brightness",
        "mixed": "mixed voxels",
        "Gaussian mixture, smoothed": "doubt, smoothed mixture",
        "SECM": "doubt, SECM",
    }
    figure = Figure(figsize=(7, 2.5), layout="constrained")
    for place, (key, title) in enumerate(names.items(), start=1):
        axes = figure.add_subplot(1, 4, place)
        values = np.array([list(bytes.fromhex(row)) for row in images[key]])
        image = np.ma.masked_equal(values, 255)
        axes.imshow(image, origin="lower", cmap="gray" if key == "brightness" else "magma", vmin=0, vmax=200)
        axes.set_title(title, fontsize=8)
        axes.set_axis_off()
    return figure


def over_batches(costs):
    """Draw costs by new person."""
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = axes_of(figure, xlabel="number of new people", ylabel="cost of 100 windows")
    styles = iter(["-", "--", ":", "-", "--"])
    for name, estimates in costs.items():
        axes.plot(
            range(1, len(estimates) + 1),
            [estimate["mean"] for estimate in estimates],
            next(styles),
            color=color(name),
            label=name,
        )
    axes.set_ylim(bottom=0)
    legend_beside(axes)
    return figure
