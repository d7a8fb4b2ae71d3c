"""Agreement of clusters with classes on raw tables."""

from .tables import provenance, table

SHORT = {"k-modes or k-prototypes": "k-modes", "k-means, one-hot": "k-means"}


def parts(read_results):
    """Return the texts of the page."""
    results = read_results("answers_tables")
    return {"provenance": provenance(results), "indices": indices(results["tables"])}


def indices(tables):
    """Return adjusted Rand indices, the best of each data set in bold."""
    facts = ("rows", "columns", "classes", "missing")
    methods = [name for name in next(iter(tables.values())) if name not in facts]
    rows = []
    for name, entry in tables.items():
        best = max(round(entry[method], 2) for method in methods)
        values = [f"{entry[method]:.2f}" for method in methods]
        rows.append(
            [
                name,
                f"{entry['rows']} × {entry['columns']}, {100 * entry['missing']:.0f} % missing",
                entry["classes"],
                *(f"**{value}**" if float(value) == best else value for value in values),
            ]
        )
    return table(["data", "rows × columns", "classes", *(SHORT.get(method, method) for method in methods)], rows)
