"""Table of samples for manual review, for spreadsheets."""

import csv
import io

import numpy as np

from evlearn.partition.verdict import risks
from evlearn.reporting.samples import Samples
from evlearn.utils.cells import escape_formula


def review_table(samples: Samples, limit: int | None = None) -> bytes:
    """Return torn samples and outliers, with reasons and all columns, as CSV for spreadsheets.

    Samples are sorted by risk, as in `evlearn.active.review_queue`; sorted by doubt, outliers would come last. A
    limit excludes the least doubtful torn samples first.
    """
    torn, outliers = samples.explanation.torn, samples.explanation.outliers
    explanations = [*torn[: None if limit is None else max(limit - len(outliers), 0)], *outliers][:limit]
    partition = samples.partition
    risk = risks(partition.masses, partition.focal_sets)
    explanations.sort(key=lambda sample: -risk[sample.position])
    rows = np.array([sample.position for sample in explanations], dtype=np.intp)
    score = partition.masses[rows, 0]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    head = ["sample", "verdict", "may be in", "doubt", "outlier score", "why", *samples.columns]
    writer.writerow([escape_formula(name) for name in head])
    columns = samples.cells(rows) if explanations else []
    for k, sample in enumerate(explanations):
        verdict = "torn" if sample.clusters else "outlier"
        figures = f"{sample.doubt:.2f}", f"{score[k]:.2f}"
        cells = [samples.name(sample.position), verdict, " or ".join(sample.clusters), *figures, sample.text]
        writer.writerow([escape_formula(cell) for cell in (*cells, *(column[k] for column in columns))])
    # Spreadsheets need the byte order mark to recognize UTF-8.
    return text.getvalue().encode("utf-8-sig", errors="backslashreplace")
