"""Tables and facts in reStructuredText."""

MANY = 8  # columns, from which on their heads stand upright


def table(header, rows, widths=None, title=""):
    """A table; cells are texts or numbers, and None is an empty cell."""
    lines = [f".. list-table:: {title}".rstrip(), "   :header-rows: 1"]
    if len(header) >= MANY:
        lines.append("   :class: many-columns")
    if widths:
        lines.append(f"   :widths: {' '.join(map(str, widths))}")
    lines.append("")
    for row in [header, *rows]:
        marks = ["   * -", *["     -"] * (len(row) - 1)]
        lines += [f"{mark} {cell(value)}".rstrip() for mark, value in zip(marks, row, strict=True)]
    return "\n".join(lines) + "\n\n"


def cell(value):
    """A cell: numbers with three digits that count."""
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def verdict(*lines):
    """What a page finds, in a box at its top."""
    return ".. admonition:: In short\n\n" + "".join(f"   * {line}\n" for line in lines) + "\n"


def provenance(results):
    """By which command, when, on what and with what a file of results was made."""
    machine = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items() if version)
    note = f" {results['note']}" if "note" in results else ""
    return (
        f"Made by ``{results['command']}`` on {results['date']}: {machine['processor']}, {machine['cores']} "
        f"cores, {machine.get('memory_gb', '?')} GB; {versions}.{note}\n\n"
    )


def written(one, form=".2f", percent=False):
    """A mean with its interval."""
    if not one:
        return ""
    scale, unit = (100, " %") if percent else (1, "")
    mean, low, high = (scale * one[key] for key in ("mean", "low", "high"))
    return f"{mean:{form}}{unit} [{low:{form}}, {high:{form}}]"


def duel_table(found, shown=str):
    """Each of ours beside each of the others: won, tied, lost, and the mean difference with its interval."""
    peers = list(next(iter(found.values())))
    return table(
        ["", *peers], [[shown(name), *(duel(of_name[peer]) for peer in peers)] for name, of_name in found.items()]
    )


def duel(one):
    return f"{one['won']}–{one['tied']}–{one['lost']}, {written(one, '+.2f')}" if one else "–"
