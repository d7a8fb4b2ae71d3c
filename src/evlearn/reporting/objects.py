"""Which samples a report shows, with the names and features that the user knows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evlearn.belief.notation import written
from evlearn.partition import SURE_LEVEL, CredalPartition, Verdict
from evlearn.utils.typing import IntArray

_MOST_ATTRIBUTES = 12


@dataclass(frozen=True)
class Objects:
    """Samples with their masses, names and features.

    Attributes
    ----------
    partition : CredalPartition
        Their masses.
    names : sequence
        Their names, or numbers.
    columns : list of str
        The names of the features; empty if only dissimilarities are known.
    values : ndarray of shape (n_samples, n_features)
        The features as the user knows them.
    seen : ndarray of shape (n_samples, n_features) or None
        The features as the model saw them, after scaling; None if only dissimilarities are known.
    level : float, default=0.6
        The belief from which on a sample is sure.
    """

    partition: CredalPartition
    names: Sequence[object]
    columns: list[str]
    values: Any
    seen: Any
    level: float = SURE_LEVEL

    @classmethod
    def of(cls, partition: CredalPartition, X: Any, seen: Any, level: float = SURE_LEVEL) -> "Objects":
        """Samples of any array or frame."""
        values = np.asarray(X)
        columns = [str(name) for name in getattr(X, "columns", [f"feature {k}" for k in range(values.shape[1])])]
        index = getattr(X, "index", None) if hasattr(X, "iloc") else None
        names = range(len(values)) if index is None else index
        if seen is None:
            return cls(partition, names, [], values[:, :0], None, level)
        return cls(partition, names, columns, values, np.asarray(seen), level)

    @cached_property
    def verdict(self) -> Verdict:
        """Who is sure, torn or an outlier."""
        return self.partition.verdict(self.level)

    @property
    def shown(self) -> list[str]:
        """The names of the features that tables show."""
        return self.columns[:_MOST_ATTRIBUTES]

    def most_torn(self, limit: int) -> IntArray:
        """The torn samples in the greatest doubt."""
        torn = np.flatnonzero(self.verdict.torn)
        return torn[np.argsort(-self.partition.doubt()[torn], kind="stable")][:limit]

    def farthest(self, limit: int) -> IntArray:
        """The outliers."""
        outliers = np.flatnonzero(self.verdict.outlier)
        return outliers[np.argsort(-self.partition.masses[outliers, 0], kind="stable")][:limit]

    def rows(self, chosen: IntArray) -> tuple[list[str], list[list[object]]]:
        """A table of some samples: name, clusters, doubt, mass of the empty set, plausibilities, features.

        Returns
        -------
        columns : list of str
            The heads of the columns.
        rows : list of list
            The cells.
        """
        some = self.partition[chosen]
        names = some.cluster_names
        candidates, doubt, plausibilities = self.verdict.candidates[chosen], some.doubt(), some.to_possibilistic()
        columns = ["sample", "may be in", "doubt", "none", *(f"pl({name})" for name in names), *self.shown]
        rows: list[list[object]] = []
        for k, number in enumerate(chosen):
            may = ", ".join(written(name) for name, possible in zip(names, candidates[k], strict=True) if possible)
            cells = [round(float(value), 3) for value in (doubt[k], some.masses[k, 0], *plausibilities[k])]
            attributes = map(_cell, self.values[number][: len(self.shown)])
            rows.append([str(self.names[number]), may or "no cluster", *cells, *attributes])
        return columns, rows


def _cell(value: Any) -> object:
    return float(value) if np.issubdtype(type(value), np.number) else str(value)
