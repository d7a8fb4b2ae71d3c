"""Tables of categories and numbers as they are: clusters against classes."""

from .tables import provenance, table

SHORT = {"k-modes or k-prototypes": "k-modes", "k-means, one-hot": "k-means"}


def parts(read):
    """Texts of the page."""
    results = read("answers_tables")
    return {"provenance": provenance(results), "indices": indices(results["tables"])}


def indices(found):
    """Adjusted Rand indices, the best of each set in bold."""
    facts = ("rows", "columns", "classes", "missing")
    methods = [name for name in next(iter(found.values())) if name not in facts]
    rows = []
    for name, one in found.items():
        best = max(round(one[method], 2) for method in methods)
        values = [f"{one[method]:.2f}" for method in methods]
        rows.append(
            [
                name,
                f"{one['rows']} × {one['columns']}, {100 * one['missing']:.0f} % missing",
                one["classes"],
                *(f"**{value}**" if float(value) == best else value for value in values),
            ]
        )
    return table(["data", "rows × columns", "classes", *(SHORT.get(method, method) for method in methods)], rows)
