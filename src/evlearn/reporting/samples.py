"""The samples of a report, and the table of those for manual review."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evlearn.explain import Explanation
from evlearn.explain.explanation import explain_table
from evlearn.partition import SURE_LEVEL, CredalPartition, Verdict
from evlearn.preprocessing.reading import as_text, read_columns, split_columns
from evlearn.utils.cells import escape_formula
from evlearn.utils.formatting import one_line
from evlearn.utils.typing import IntArray

_MAX_COLUMNS = 12
_MIDNIGHT = "T00:00:00"


@dataclass(frozen=True)
class Samples:
    """Samples with their masses, names and columns.

    `model_input` is the table after the transformers of a pipeline, None if it is unknown.
    """

    partition: CredalPartition
    names: Sequence[object]
    columns: list[str]
    values: Any
    model_input: Any
    level: float = SURE_LEVEL

    @classmethod
    def from_table(
        cls, partition: CredalPartition, X: Any, model_input: Any, level: float = SURE_LEVEL
    ) -> "Samples":
        """Return the samples of a table; without a table, they have no columns."""
        table = np.empty((partition.n_samples, 0)) if X is None else X
        parts, has_names = split_columns(table)
        columns = [name if has_names else f"feature {k}" for k, (name, _) in enumerate(parts)]
        index = getattr(X, "index", None) if hasattr(X, "iloc") else partition.sample_index
        return cls(
            partition, range(partition.n_samples) if index is None else index, columns, table, model_input, level
        )

    @property
    def verdict(self) -> Verdict:
        """Sure, torn and outlying samples."""
        return self.explanation.verdict

    @cached_property
    def explanation(self) -> Explanation:
        """Explanation of the clusters and of doubtful samples."""
        has_names = self.partition.sample_index is not None or isinstance(self.names, range)
        partition = (
            self.partition if has_names else self.partition.rename(sample_names=[str(name) for name in self.names])
        )
        return explain_table(partition, self.values, self.columns, level=self.level)

    def name(self, position: int) -> str:
        """Return the name of a sample, or its number."""
        return str(self.names[position])

    def torn_positions(self) -> IntArray:
        """Return positions of the torn samples, in decreasing order of doubt."""
        return np.array([sample.position for sample in self.explanation.torn], dtype=np.intp)

    def outlier_positions(self) -> IntArray:
        """Return positions of the outliers, in decreasing order of the mass of the empty set."""
        return np.array([sample.position for sample in self.explanation.outliers], dtype=np.intp)

    def cells(self, rows: IntArray, n_columns: int | None = None) -> list[list[str]]:
        """Return the first columns of some samples as text, empty for missing values."""
        parts = split_columns(self.values)[0][:n_columns]
        columns = []
        for name, part in parts:
            texts = as_text(read_columns([(name, part)])[name])[rows]
            columns.append(["" if text is None else str(text).removesuffix(_MIDNIGHT) for text in texts])
        return columns

    def numeric_table(self, rows: IntArray) -> tuple[list[str], list[list[object]]]:
        """Return column names and rows: name, doubt, mass of the empty set, plausibilities, first columns."""
        partition = self.partition[rows]
        doubts, plausibilities = partition.doubt(), partition.to_possibilistic()
        scores = partition.mass_table[:, 0]
        names = self.columns[:_MAX_COLUMNS]
        columns = ["sample", "doubt", "none", *(f"pl({name})" for name in partition.cluster_names), *names]
        cells = self.cells(rows, len(names))
        body: list[list[object]] = []
        for k, row in enumerate(rows):
            numbers = [round(float(value), 3) for value in (doubts[k], scores[k], *plausibilities[k])]
            body.append([one_line(self.name(int(row))), *numbers, *(_parse_cell(column[k]) for column in cells)])
        return columns, body


def _parse_cell(text: str) -> object:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        return one_line(text)


def review_table(samples: Samples, limit: int | None = None) -> bytes:
    """Return torn samples and outliers, with reasons and all columns, as CSV for spreadsheets.

    Samples are sorted by risk, as in `evlearn.active.review_queue`; sorted by doubt, outliers would come last. A
    limit excludes the least doubtful torn samples first.
    """
    torn, outliers = samples.explanation.torn, samples.explanation.outliers
    explanations = [*torn[: None if limit is None else max(limit - len(outliers), 0)], *outliers][:limit]
    partition = samples.partition
    risk = partition.risks()
    explanations.sort(key=lambda sample: -risk[sample.position])
    rows = np.array([sample.position for sample in explanations], dtype=np.intp)
    score = partition.mass_table[:, 0][rows]
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
