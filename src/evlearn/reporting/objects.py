"""The samples of a report: what is known of them, their names, and the table as the user knows it."""

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

_MOST_COLUMNS = 12
_MIDNIGHT = "T00:00:00"


@dataclass(frozen=True)
class Objects:
    """Samples with their masses, names and columns; `seen` is what the model saw of them, None if nobody knows."""

    partition: CredalPartition
    names: Sequence[object]
    columns: list[str]
    values: Any
    seen: Any
    level: float = SURE_LEVEL

    @classmethod
    def of(cls, partition: CredalPartition, X: Any, seen: Any, level: float = SURE_LEVEL) -> "Objects":
        """Samples of any table; of none, only what is known of them is told."""
        table = np.empty((partition.n_samples, 0)) if X is None else X
        parts, named = split_columns(table)
        columns = [name if named else f"feature {k}" for k, (name, _) in enumerate(parts)]
        index = getattr(X, "index", None) if hasattr(X, "iloc") else partition.sample_index
        return cls(partition, range(partition.n_samples) if index is None else index, columns, table, seen, level)

    @property
    def verdict(self) -> Verdict:
        """Which samples are sure, torn or outliers."""
        return self.explanation.verdict

    @cached_property
    def explanation(self) -> Explanation:
        """What clusters are, and why samples are torn."""
        named = self.partition.sample_index is not None or isinstance(self.names, range)
        partition = (
            self.partition if named else self.partition.rename(sample_names=[str(name) for name in self.names])
        )
        return explain_table(partition, self.values, self.columns, level=self.level)

    def name(self, position: int) -> str:
        """The name of a sample, or its number."""
        return str(self.names[position])

    def most_torn(self) -> IntArray:
        """The torn samples, those in the greatest doubt first."""
        return np.array([one.position for one in self.explanation.torn], dtype=np.intp)

    def farthest(self) -> IntArray:
        """The outliers, those that are surest to belong to no cluster first."""
        return np.array([one.position for one in self.explanation.outliers], dtype=np.intp)

    def cells(self, rows: IntArray, n_columns: int | None = None) -> list[list[str]]:
        """The first columns of some samples, as text: numbers as they are, and nothing for gaps."""
        parts = split_columns(self.values)[0][:n_columns]
        found = []
        for name, part in parts:
            texts = as_text(read_columns([(name, part)])[name])[rows]
            found.append(["" if one is None else str(one).removesuffix(_MIDNIGHT) for one in texts])
        return found

    def figures(self, rows: IntArray) -> tuple[list[str], list[list[object]]]:
        """A table of some samples: name, doubt, mass of the empty set, plausibilities, and the first columns."""
        some = self.partition[rows]
        doubt, plausibilities = some.doubt(), some.to_possibilistic()
        shown = self.columns[:_MOST_COLUMNS]
        columns = ["sample", "doubt", "none", *(f"pl({name})" for name in some.cluster_names), *shown]
        cells = self.cells(rows, len(shown))
        body: list[list[object]] = []
        for k, row in enumerate(rows):
            numbers = [round(float(value), 3) for value in (doubt[k], some.masses[k, 0], *plausibilities[k])]
            body.append(
                [plain.one_line(self.name(int(row))), *numbers, *(_number_or_text(column[k]) for column in cells)]
            )
        return columns, body


def _number_or_text(text: str) -> object:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        return plain.one_line(text)
