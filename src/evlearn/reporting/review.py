"""Who a person should look at, as a table for spreadsheets."""

import csv
import io

import numpy as np

from evlearn.reporting.objects import Objects
from evlearn.utils.spreadsheets import harmless


def review_table(objects: Objects, limit: int | None = None) -> bytes:
    """Return torn samples and outliers with the reasons and all their columns, as CSV that spreadsheets open.

    With a limit, the torn samples in the least doubt are left out first; outliers, whose doubt may be 0, are not.
    """
    torn, outliers = objects.explanation.torn, objects.explanation.outliers
    found = [*torn[: None if limit is None else max(limit - len(outliers), 0)], *outliers][:limit]
    rows = np.array([one.position for one in found], dtype=np.intp)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    head = ["sample", "verdict", "may be in", "doubt", "why", *objects.columns]
    writer.writerow([harmless(name) for name in head])
    columns = objects.cells(rows) if found else []
    for k, one in enumerate(found):
        verdict = "torn" if one.clusters else "outlier"
        told = [objects.name(one.position), verdict, " or ".join(one.clusters), f"{one.doubt:.2f}", one.text]
        writer.writerow([harmless(cell) for cell in (*told, *(column[k] for column in columns))])
    # The mark at the beginning tells spreadsheets that this is UTF-8.
    return text.getvalue().encode("utf-8-sig", errors="backslashreplace")
