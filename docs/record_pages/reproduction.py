"""Comparison with published numbers: counts, tables, differences, and figures."""

import textwrap

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from benchmarks.common.cells import agrees, evidence
from benchmarks.studies.reproduction.settings import PREPARATION, code_of
from record_pages.tables import provenance, table, verdict

PARTS = ("nnevclus", "kcevclus", "bootclus", "slides")
COLUMNS_AT_A_TIME = 6
#: Width of code in characters, and a space at which lines are not divided.
WIDTH, SPACE = 88, "\N{NO-BREAK SPACE}"


def parts(read_results):
    """Return the texts and figures of the page."""
    results_of_parts = {name: read_results(f"reproduction_{name}") for name in PARTS}
    cells = [cell for results in results_of_parts.values() for cell in results["cells"]]
    figures = {f"figure_{number}": figure for number, figure in draw(results_of_parts["kcevclus"]).items()}
    return {
        "verdict": in_short(cells, with_defaults(read_results("reproduction_defaults"))),
        "counts": counts(cells, with_defaults(read_results("reproduction_defaults"))),
        "preparation": preparation(),
        **{f"tables_{name}": comparison_tables(results) for name, results in results_of_parts.items()},
        "differences": differences(cells),
        "without_data": without_data(results_of_parts.values()),
        "made": "".join(
            provenance(results) for results in (*results_of_parts.values(), read_results("reproduction_coverage"))
        ),
        "own": own_intervals(read_results("reproduction_coverage")),
        **figures,
    }


#: Descriptions of less informative cells, which are not in the main count.
LESS_INFORMATIVE = {
    "time": "CPU seconds, which agree if ours are fewer",
    "zero": "zeros that are also zeros here",
    "weak": "cells that agree for any setting",
    "random data": "unpublished random data",
}


def in_short(cells, defaults):
    """Return the numbers of cells that agree, by kind."""
    full, usual = informative_cells(cells), informative_cells(defaults)
    n_within = sum(cell["within"] for cell in full)
    less_informative = "; ".join(
        f"{sum(map(agrees, group))} of {len(group)} {name}"
        for kind, name in LESS_INFORMATIVE.items()
        if (group := [cell for cell in cells if evidence(cell) == kind])
    )
    return verdict(
        f"**{sum(map(agrees, full))} of {len(full)} published numbers agree** ({share(full)}): {n_within} within "
        "tolerance, and the others within chance, with the settings of the papers, or with those under the tables "
        "if a paper leaves them open or its table needs others.",
        "With the defaults of the library, which often differ, "
        f"{sum(cell['within'] for cell in usual)} of {len(usual)} are within tolerance.",
        f"Less informative numbers are counted separately: {less_informative}.",
        "If a paper does not describe the preprocessing of data, one choice was made for each data set after "
        "seeing the results. This increases the count; the choices are listed under the tables.",
        f"All {sum(not cell['within'] for cell in cells)} numbers outside their tolerance are listed, with "
        "explanations.",
    )


def counts(cells, defaults):
    """Return the numbers of cells that agree by table, with the settings under the tables and the defaults."""
    full, usual = informative_cells(cells), groups_of(informative_cells(defaults), "table")
    rows = []
    for name, group in [*groups_of(full, "table").items(), ("**all of these**", full)]:
        default_cells = [cell for key in groups_of(group, "table") for cell in usual.get(key, [])]
        default_count = (
            f"{sum(cell['within'] for cell in default_cells)} of {len(default_cells)}" if default_cells else None
        )
        rows.append(
            (
                name,
                len(group),
                sum(cell["within"] for cell in group),
                sum(map(agrees, group)),
                share(group),
                default_count,
            )
        )
    for kind, name in LESS_INFORMATIVE.items():
        group = [cell for cell in cells if evidence(cell) == kind]
        rows.append(
            (
                f"*{name}*",
                len(group),
                sum(cell["within"] for cell in group),
                sum(map(agrees, group)),
                share(group),
                None,
            )
        )
    head = ("table", "cells", "within tolerance", "or within chance", "share", "with default parameters")
    return table(head, rows, widths=(40, 10, 13, 13, 9, 15))


def with_defaults(results):
    """Return the cells of all parts of the study of defaults."""
    return [cell for part in results.values() if isinstance(part, list) for cell in part]


def informative_cells(cells):
    return [cell for cell in cells if evidence(cell) == "full"]


def share(cells):
    return f"{100 * sum(map(agrees, cells)) / len(cells):.1f} %"


def groups_of(cells, key):
    """Return the cells in groups, in the order of their first cells."""
    groups = {}
    for cell in cells:
        groups.setdefault(cell[key], []).append(cell)
    return groups


def comparison_tables(results):
    """Return the tables of a paper, ours / published; columns such as "Iris: ARI" are split by quantity."""
    texts = []
    for name, group in groups_of(results["cells"], "table").items():
        split_cells = [
            cell | dict(zip(("column", "quantity"), cell["column"].split(": "), strict=False)) for cell in group
        ]
        if all("quantity" in cell for cell in split_cells):
            texts += [
                table_of(f"{name}, {quantity}", group)
                for quantity, group in groups_of(split_cells, "quantity").items()
            ]
        else:
            texts.append(table_of(name, group))
        texts.append(settings(group))
    return "".join(texts)


def settings(cells):
    """Return the code of the estimators of a table, each with its columns."""
    groups = groups_of([cell | {"code": code_of(cell)} for cell in cells], "code")
    text = ""
    for code, group in groups.items():
        columns = [f"{column} ({rows_of(part, cells)})" for column, part in groups_of(group, "column").items()]
        names = "all cells" if len(groups) == 1 else ", ".join(name.removesuffix(" ()") for name in columns)
        if code is None:
            text += "Settings: none, the results are exact.\n\n"
        else:
            block = "".join(f"   {part}\n" for line in code.splitlines() for part in split_line(line))
            text += f"Settings of {literal(names)}:\n\n.. code-block:: python\n\n{block}\n"
    return text


def split_line(line):
    """Return the parts of a line of code that is wider than the page, divided after commas."""
    parts = textwrap.wrap(
        line.replace(" ", SPACE).replace("," + SPACE, ", "),
        WIDTH,
        subsequent_indent=SPACE * 4,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [part.replace(SPACE, " ") for part in parts]


def preparation():
    """Return the import statements and definitions for the code under the tables."""
    block = "".join(f"   {line}".rstrip() + "\n" for line in PREPARATION.splitlines())
    return f".. code-block:: python\n\n{block}\n"


def rows_of(selection, cells):
    """Return the rows of these cells of one column, or an empty text if they are the whole column."""
    whole = [cell["row"] for cell in cells if cell["column"] == selection[0]["column"]]
    rows = [cell["row"] for cell in selection]
    return "" if rows == whole else ", ".join(rows)


def literal(text):
    """Escape stars and bars."""
    return text.replace("*", "\\*").replace("|", "\\|")


def table_of(name, cells):
    """Return tables of a few columns each, or a list if the table would be mostly empty."""
    title = f"{name}: ours / published; {rule(cells)}"
    rows, columns = list(groups_of(cells, "row")), list(groups_of(cells, "column"))
    if len(cells) < 0.5 * len(rows) * len(columns):
        lines = [(cell["row"], cell["column"], pair(cell)) for cell in cells]
        return table(("", "", "ours / published"), lines, title=title)
    places = {(cell["row"], cell["column"]): cell for cell in cells}
    text = ""
    for first in range(0, len(columns), COLUMNS_AT_A_TIME):
        block = columns[first : first + COLUMNS_AT_A_TIME]
        lines = [(row, *(pair(places.get((row, column))) for column in block)) for row in rows]
        text += table(("", *block), lines, title=title)
    return text


def rule(cells):
    """Return the tolerance as text."""
    values = dict.fromkeys(cell["tolerance"] for cell in cells)
    if None in values:
        return "ours must be smaller"
    return f"tolerance {', '.join(f'{value:g}' for value in values)}"


def pair(cell):
    """Return 2 numbers, in bold if they differ."""
    if cell is None:
        return None
    text = " / ".join(numbers(cell)).replace(" ", "\N{NO-BREAK SPACE}")
    return text if cell["within"] else f"**{text}**"


def numbers(cell):
    """Return our number and the published one, with digits according to the tolerance."""
    fine = cell["tolerance"] is not None and cell["tolerance"] < 0.002
    values = cell["ours"], cell["published"]
    return tuple(f"{value:.4g}" if fine or abs(value) >= 10 else f"{round(value, 3):g}" for value in values)


def differences(cells):
    """Return the cells that are not within tolerance, with explanations."""
    lines = []
    for name, group in groups_of([cell for cell in cells if not cell["within"]], "table").items():
        lines += [f"**{name}**", ""]
        for cell in group:
            value_here, value = numbers(cell)
            lines += [f"- {cell['row']}; {cell['column']}: published {value}, ours {value_here}. {cell['cause']}"]
        lines.append("")
    return "\n".join(lines) + "\n"


def own_intervals(results):
    """Return coverage and length of the default of BootClus beside those of the paper's method, for Auto."""
    if "own" not in results:
        return ""
    measured = {place(cell): cell for cell in results["cells"] if cell["assumed_model"] == "Auto"}
    rows = [
        (
            *place(cell),
            cell["coverage_published"],
            *(f"{entry['coverage']:.2f} ({entry['length']:.2f})" for entry in (measured[place(cell)], cell)),
        )
        for cell in results["own"]["cells"]
    ]
    title = "Auto: coverage (length); one model for all resamples, and a model for each resample (default)"
    return table(("mixture", "level", "interval", "published", "as in the paper", "default"), rows, title=title)


def place(cell):
    return cell["true_model"], cell["confidence"], cell["interval"]


def without_data(results):
    """Return tables without data, with reasons."""
    rows = [
        (entry["table"], entry["cells"] or None, entry["reason"])
        for part in results
        for entry in part["without_data"]
    ]
    return table(("table", "cells", "reason"), rows, widths=(40, 10, 50))


# Figures of the k-CEVCLUS paper


def draw(results):
    """Draw figures 5 to 7 and 9."""
    with matplotlib.rc_context({"svg.hashsalt": "evlearn", "font.size": 9}):
        figures = {name: curves(name, figure) for name, figure in results["figures"].items()}
        return figures | {"9": expansion(results["expansion"])}


def curves(name, figure):
    """Draw ARI, CPU seconds and nonspecificity against the numbers of distances and of constraints."""
    picture = Figure(figsize=(8, 5), layout="constrained")
    axes = picture.subplots(2, 3, sharex="row")
    for row, (part, key, label) in enumerate(
        (("by_distances", "k", "distances per sample"), ("by_constraints", "constraints", "constraints"))
    ):
        points = figure[part]
        x = np.arange(len(points)) if part == "by_distances" else [point[key] for point in points]
        for panel, quantity in zip(axes[row], ("ari", "cpu", "nonspecificity"), strict=True):
            quartiles(panel, x, points, quantity, color="black")
            panel.set(xlabel=label, ylim=(0, None))
            if part == "by_distances":
                panel.set_xticks(x, [point[key] for point in points])
    for panel, title in zip(axes[0], ("ARI", "CPU seconds", "nonspecificity"), strict=True):
        panel.set_title(title)
    picture.suptitle(f"Figure {name}: {figure['data']}")
    return picture


def expansion(results):
    """Draw ARI against the number of constraints, for several numbers of neighbors in the expansion."""
    picture = Figure(figsize=(8, 3.2), layout="constrained")
    for axes, (name, points) in zip(picture.subplots(1, len(results), sharey=True), results.items(), strict=True):
        for K, points_of_K in groups_of(points, "K").items():
            quartiles(axes, [point["constraints"] for point in points_of_K], points_of_K, "ari", label=f"K = {K}")
        axes.set(title=f"Figure 9: {name}", xlabel="constraints before expansion")
    picture.axes[0].set_ylabel("ARI")
    picture.axes[0].legend(frameon=False, loc="lower right")
    return picture


def quartiles(axes, x, points, quantity, **style):
    low, middle, high = np.array([point[quantity] for point in points]).T
    axes.errorbar(x, middle, yerr=[middle - low, high - middle], marker="o", markersize=3, capsize=2, **style)
