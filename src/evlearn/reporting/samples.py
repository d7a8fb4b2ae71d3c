"""The samples of a report: masses, names and columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evlearn.explain import Explanation, plain
from evlearn.explain.explain import explain_table
from evlearn.partition import SURE_LEVEL, CredalPartition, Verdict
from evlearn.preprocessing.reading import as_text, read_columns, split_columns
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
        names = self.columns[:_MAX_COLUMNS]
        columns = ["sample", "doubt", "none", *(f"pl({name})" for name in partition.cluster_names), *names]
        cells = self.cells(rows, len(names))
        body: list[list[object]] = []
        for k, row in enumerate(rows):
            numbers = [round(float(value), 3) for value in (doubts[k], partition.masses[k, 0], *plausibilities[k])]
            body.append(
                [plain.one_line(self.name(int(row))), *numbers, *(_parse_cell(column[k]) for column in cells)]
            )
        return columns, body


def _parse_cell(text: str) -> object:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        return plain.one_line(text)
