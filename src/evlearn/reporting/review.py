"""Who a person should look at, as a table for spreadsheets."""

import csv
import io

import numpy as np

from evlearn.partition.verdict import risks
from evlearn.reporting.objects import Objects
from evlearn.utils.spreadsheets import harmless


def review_table(objects: Objects, limit: int | None = None) -> bytes:
    """Return torn samples and outliers with the reasons and all their columns, as CSV that spreadsheets open.

    Samples are ordered by risk, as in `evlearn.active.review`: by doubt, outliers would come last. With a limit,
    the torn samples in the least doubt are left out first.
    """
    torn, outliers = objects.explanation.torn, objects.explanation.outliers
    found = [*torn[: None if limit is None else max(limit - len(outliers), 0)], *outliers][:limit]
    partition = objects.partition
    risk = risks(partition.masses, partition.focal_sets)
    found.sort(key=lambda one: -risk[one.position])
    rows = np.array([one.position for one in found], dtype=np.intp)
    score = partition.masses[rows, 0]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    head = ["sample", "verdict", "may be in", "doubt", "outlier score", "why", *objects.columns]
    writer.writerow([harmless(name) for name in head])
    columns = objects.cells(rows) if found else []
    for k, one in enumerate(found):
        verdict = "torn" if one.clusters else "outlier"
        figures = f"{one.doubt:.2f}", f"{score[k]:.2f}"
        cells = [objects.name(one.position), verdict, " or ".join(one.clusters), *figures, one.text]
        writer.writerow([harmless(cell) for cell in (*cells, *(column[k] for column in columns))])
    # The mark at the beginning tells spreadsheets that this is UTF-8.
    return text.getvalue().encode("utf-8-sig", errors="backslashreplace")
