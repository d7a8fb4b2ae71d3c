"""Parts of the case study on wrong labels."""

from .tables import provenance, table

LIBRARY = "find_label_issues"
RIVALS = ("normalized_margin", "self_confidence", "one round")


def parts(read_results):
    """Return the texts of the page."""
    results = read_results("label_issues_judged")
    return {
        "gains": gains(results["differences"]),
        "lists": lists(results["tables"]),
        "made": provenance(results),
    }


def gains(differences):
    """Return the average precision, and the gains over other scores."""
    rows = []
    for case, figures in differences.items():
        noise, _, leaf = case.partition(" leaf ")
        rows.append([noise, leaf, f"{figures[LIBRARY]:.3f}", *(gain_text(figures[rival]) for rival in RIVALS)])
    return table(["wrong labels", "leaves", LIBRARY, *RIVALS], rows)


def gain_text(figures):
    return f"{figures['gain']:+.3f} [{figures['low']:+.3f}, {figures['high']:+.3f}]"


def lists(tables):
    """Return the means of the default lists over tables."""
    rows = []
    for name, method in (("find_label_issues", LIBRARY), ("cleanlab's filter", "cleanlab")):
        cases = [case[method] for of_table in tables.values() for case in of_table.values()]
        figures = ("listed", "listed precision", "listed recall", "listed F1")
        rows.append([name, *(f"{sum(case[figure] for case in cases) / len(cases):.2f}" for figure in figures)])
    return table(["list", "share of samples", "precision", "recall", "F1"], rows)
