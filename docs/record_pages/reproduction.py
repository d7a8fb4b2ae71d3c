"""Published numbers beside ours: counts, tables, the cells that differ and why, and curves of figures."""

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from benchmarks.common.cells import agrees, worth
from record_pages.tables import provenance, table, verdict

PARTS = ("nnevclus", "kcevclus", "bootclus", "slides")
COLUMNS_AT_A_TIME = 6


def parts(read):
    """All that the page includes."""
    found = {name: read(f"reproduction_{name}") for name in PARTS}
    cells = [one for results in found.values() for one in results["cells"]]
    figures = {f"figure_{number}": figure for number, figure in draw(found["kcevclus"]).items()}
    return {
        "verdict": in_short(cells, with_defaults(read("reproduction_defaults"))),
        "counts": counts(cells, with_defaults(read("reproduction_defaults"))),
        **{f"tables_{name}": beside(results) for name, results in found.items()},
        "differences": differences(cells),
        "without_data": without_data(found.values()),
        "made": "".join(provenance(results) for results in found.values()),
        **figures,
    }


#: Cells that show little, and are not in the headline: what they are called on the page.
LITTLE = {
    "time": "CPU seconds, which agree if ours are fewer",
    "zero": "zeros that are zeros here, too",
    "weak": "cells that any setting would meet",
    "drawn anew": "data that the authors drew and did not publish",
}


def in_short(cells, defaults):
    """How many cells agree, and which do not count."""
    full, usual = full_ones(cells), full_ones(defaults)
    within = sum(one["within"] for one in full)
    little = "; ".join(
        f"{sum(map(agrees, some))} of {len(some)} {name}"
        for kind, name in LITTLE.items()
        if (some := [one for one in cells if worth(one) == kind])
    )
    return verdict(
        f"**{sum(map(agrees, full))} of {len(full)} published numbers agree** ({share(full)}): {within} within "
        "tolerance, and the others within chance, with the settings of the papers.",
        "With the defaults of the library, which are often other settings, "
        f"{sum(one['within'] for one in usual)} of {len(usual)} are within tolerance.",
        f"Numbers that show little are counted apart: {little}.",
        "Where a paper does not say how data were prepared, one choice was made for each data set after seeing "
        "the results. That helps the count; the choices stand under the tables.",
        f"All {sum(not one['within'] for one in cells)} numbers outside their tolerance are listed, with what was "
        "measured about them.",
    )


def counts(cells, defaults):
    """How many cells of each table agree, with the paper's settings and with ours; then those that show little."""
    full, usual = full_ones(cells), by(full_ones(defaults), "table")
    rows = []
    for name, some in [*by(full, "table").items(), ("**all of these**", full)]:
        tried = [one for key in by(some, "table") for one in usual.get(key, [])]
        ours = f"{sum(one['within'] for one in tried)} of {len(tried)}" if tried else None
        rows.append(
            (name, len(some), sum(one["within"] for one in some), sum(map(agrees, some)), share(some), ours)
        )
    for kind, name in LITTLE.items():
        some = [one for one in cells if worth(one) == kind]
        rows.append(
            (f"*{name}*", len(some), sum(one["within"] for one in some), sum(map(agrees, some)), share(some), None)
        )
    head = ("table", "cells", "within tolerance", "or within chance", "share", "with our defaults")
    return table(head, rows, widths=(40, 10, 13, 13, 9, 15))


def with_defaults(results):
    """The cells of all parts of the study of defaults."""
    return [one for part in results.values() if isinstance(part, list) for one in part]


def full_ones(cells):
    return [one for one in cells if worth(one) == "full"]


def share(cells):
    return f"{100 * sum(map(agrees, cells)) / len(cells):.1f} %"


def by(cells, key):
    """The cells in groups, in the order in which these begin."""
    groups = {}
    for one in cells:
        groups.setdefault(one[key], []).append(one)
    return groups


def beside(results):
    """Each table of a paper, ours / published; columns such as "Iris: ARI" become a table for each quantity."""
    texts = []
    for name, some in by(results["cells"], "table").items():
        split = [one | dict(zip(("column", "quantity"), one["column"].split(": "), strict=False)) for one in some]
        if all("quantity" in one for one in split):
            texts += [one_table(f"{name}, {quantity}", group) for quantity, group in by(split, "quantity").items()]
        else:
            texts.append(one_table(name, some))
        texts.append(settings(some))
    return "".join(texts)


def settings(cells):
    """The settings that decide a table, each with the cells that have it."""
    groups = by(cells, "settings")
    if len(groups) == 1:
        return f"Settings: {literal(next(iter(groups)))}.\n\n"
    lines = ["Settings:", ""]
    for how, some in groups.items():
        columns = [f"{column} ({listed(part, cells)})" for column, part in by(some, "column").items()]
        lines.append(f"- {', '.join(one.removesuffix(' ()') for one in columns)}: {literal(how)}")
    return "\n".join(lines) + "\n\n"


def listed(some, cells):
    """The rows of these cells of one column, or nothing if they are all that the column has."""
    whole = [one["row"] for one in cells if one["column"] == some[0]["column"]]
    rows = [one["row"] for one in some]
    return "" if rows == whole else ", ".join(rows)


def literal(text):
    """Text in which stars and bars mean themselves."""
    return text.replace("*", "\\*").replace("|", "\\|")


def one_table(name, cells):
    """As rows and columns, a few columns at a time; or as a list where these would be mostly empty."""
    title = f"{name}: ours / published; {rule(cells)}"
    rows, columns = list(by(cells, "row")), list(by(cells, "column"))
    if len(cells) < 0.5 * len(rows) * len(columns):
        lines = [(one["row"], one["column"], pair(one)) for one in cells]
        return table(("", "", "ours / published"), lines, title=title)
    places = {(one["row"], one["column"]): one for one in cells}
    text = ""
    for first in range(0, len(columns), COLUMNS_AT_A_TIME):
        some = columns[first : first + COLUMNS_AT_A_TIME]
        lines = [(row, *(pair(places.get((row, column))) for column in some)) for row in rows]
        text += table(("", *some), lines, title=title)
    return text


def rule(cells):
    """When numbers agree."""
    values = dict.fromkeys(one["tolerance"] for one in cells)
    if None in values:
        return "ours should be less"
    return f"tolerance {', '.join(f'{value:g}' for value in values)}"


def pair(one):
    """Two numbers, in bold if they differ."""
    if one is None:
        return None
    text = " / ".join(numbers(one)).replace(" ", "\N{NO-BREAK SPACE}")
    return text if one["within"] else f"**{text}**"


def numbers(one):
    """Ours and the published number, with as many digits as their tolerance calls for."""
    fine = one["tolerance"] is not None and one["tolerance"] < 0.002
    values = one["ours"], one["published"]
    return tuple(f"{value:.4g}" if fine or abs(value) >= 10 else f"{round(value, 3):g}" for value in values)


def differences(cells):
    """The cells that are not within tolerance, and what was measured about them."""
    lines = []
    for name, some in by([one for one in cells if not one["within"]], "table").items():
        lines += [f"**{name}**", ""]
        for one in some:
            ours, value = numbers(one)
            lines += [f"- {one['row']}; {one['column']}: published {value}, ours {ours}. {one['cause']}"]
        lines.append("")
    return "\n".join(lines) + "\n"


def without_data(results):
    """What cannot be compared, and why."""
    rows = [
        (one["table"], one["cells"] or None, one["reason"]) for found in results for one in found["without_data"]
    ]
    return table(("what", "cells", "why"), rows, widths=(40, 10, 50))


# Figures of the k-CEVCLUS paper


def draw(results):
    """Figures 5 to 7 and 9."""
    with matplotlib.rc_context({"svg.hashsalt": "evlearn", "font.size": 9}):
        figures = {name: curves(name, figure) for name, figure in results["figures"].items()}
        return figures | {"9": expansion(results["expansion"])}


def curves(name, figure):
    """ARI, CPU seconds and nonspecificity against the number of distances, and of constraints."""
    picture = Figure(figsize=(8, 5), layout="constrained")
    axes = picture.subplots(2, 3, sharex="row")
    for row, (part, key, label) in enumerate(
        (("by_distances", "k", "distances of each sample"), ("by_constraints", "constraints", "constraints"))
    ):
        points = figure[part]
        x = np.arange(len(points)) if part == "by_distances" else [point[key] for point in points]
        for one, quantity in zip(axes[row], ("ari", "cpu", "nonspecificity"), strict=True):
            quartiles(one, x, points, quantity, color="black")
            one.set(xlabel=label, ylim=(0, None))
            if part == "by_distances":
                one.set_xticks(x, [point[key] for point in points])
    for one, title in zip(axes[0], ("ARI", "CPU seconds", "nonspecificity"), strict=True):
        one.set_title(title)
    picture.suptitle(f"Figure {name}: {figure['data']}")
    return picture


def expansion(results):
    """ARI against the number of constraints, for some numbers of neighbours that they are handed on to."""
    picture = Figure(figsize=(8, 3.2), layout="constrained")
    for axes, (name, points) in zip(picture.subplots(1, len(results), sharey=True), results.items(), strict=True):
        for K, some in by(points, "K").items():
            quartiles(axes, [point["constraints"] for point in some], some, "ari", label=f"K = {K}")
        axes.set(title=f"Figure 9: {name}", xlabel="constraints before expansion")
    picture.axes[0].set_ylabel("ARI")
    picture.axes[0].legend(frameon=False, loc="lower right")
    return picture


def quartiles(axes, x, points, quantity, **style):
    low, middle, high = np.array([point[quantity] for point in points]).T
    axes.errorbar(x, middle, yerr=[middle - low, high - middle], marker="o", markersize=3, capsize=2, **style)
