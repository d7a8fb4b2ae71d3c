"""What a model says of rows of a table, each of which gets an answer, if only that there is none."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from evlearn.command_line.tables import CellType, Chunk
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import predicted_partition, split_pipeline
from evlearn.preprocessing import GowerDistances, TableEncoder
from evlearn.preprocessing.reading import flag_in
from evlearn.reporting.objects import Objects
from evlearn.utils.cells import is_missing_text
from evlearn.utils.typing import BoolArray


@dataclass(frozen=True)
class FittedCells:
    """The type of the cells that a model was fitted to, in one column.

    Attributes
    ----------
    type : {"number", "text", "code", "raw"}
        The form in which a CSV file delivers the column.
    texts : frozenset of str
        Text that is a category, even if it is a missing-value token elsewhere.
    flags : bool
        True if the categories are True and False.
    """

    type: CellType = "number"
    texts: frozenset[str] = frozenset()
    flags: bool = False

    def convert(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return raw cells as the model takes them, with None for missing ones; each cell by itself."""
        if self.type != "raw" or cells.dtype.kind != "O":
            return cells
        converted = np.empty(len(cells), dtype=object)
        converted[:] = [self._convert(cell) if isinstance(cell, str) else cell for cell in cells]
        return converted

    def _convert(self, cell: str) -> Any:
        if cell in self.texts:
            return cell
        if is_missing_text(cell):
            return None
        flag = flag_in(cell) if self.flags else None
        return cell if flag is None else flag


def first_step(model: Any) -> Any:
    """What sees the table first."""
    before, last = split_pipeline(model)
    return last if before is None else before[0]


def names_of(model: Any) -> list[str]:
    """The names of the columns that a model needs, as far as it knows them."""
    first = first_step(model)
    names = [str(name) for name in getattr(first, "feature_names_in_", ())]
    if names and _reads_tables(first):
        return [one["column"] for one in first.columns_ if one["features"]]
    return names


def fitted_cells(model: Any, columns: Sequence[str]) -> dict[str, FittedCells]:
    """Return the types of the cells that a model was fitted to, for columns by name or else in their order."""
    first = first_step(model)
    cells = _cells_of_step(first)
    if _reads_tables(first):
        known = dict(zip((facts["column"] for facts in first.columns_), cells, strict=True))
        if known.keys() >= set(columns):
            return {name: known[name] for name in columns}
    return dict(zip(columns, cells, strict=True))


def takes_text(model: Any) -> bool:
    """Return True if a model takes tables with columns other than numbers."""
    return any(cells.type != "number" for cells in _cells_of_step(first_step(model)))


def _cells_of_step(step: Any) -> list[FittedCells]:
    """Return the types of the cells that a step was fitted to, column by column."""
    if isinstance(step, Pipeline):
        steps = [one for _, one in step.steps if one is not None and one != "passthrough"]
        known = [_cells_of_step(one) for one in steps]
        # An imputer keeps the categories that the step after it was fitted to.
        later = known[1] if len(known) > 1 and len(known[1]) == len(known[0]) else known[0]
        return [replace(one, texts=one.texts | other.texts) for one, other in zip(known[0], later, strict=True)]
    if isinstance(step, ColumnTransformer):
        return _cells_of_columns(step)
    if _reads_tables(step):
        return [_cells_of_facts(facts) for facts in step.columns_]
    if hasattr(step, "categories_"):
        return [_cells_of_values(values) for values in step.categories_]
    if isinstance(step, SimpleImputer):
        return [_cells_of_values([value, step.missing_values]) for value in step.statistics_]
    return [FittedCells()] * int(step.n_features_in_)


def _cells_of_columns(step: ColumnTransformer) -> list[FittedCells]:
    names = [str(name) for name in getattr(step, "feature_names_in_", ())]
    known: dict[int, FittedCells] = {}
    for _, transformer, columns in step.transformers_:
        places = [names.index(one) if isinstance(one, str) else one for one in columns]
        if isinstance(transformer, str):
            known |= dict.fromkeys(places, FittedCells("raw" if transformer == "drop" else "number"))
        else:
            known |= dict(zip(places, _cells_of_step(transformer), strict=True))
    return [known.get(k, FittedCells("raw")) for k in range(step.n_features_in_)]


def _cells_of_facts(facts: dict[str, Any]) -> FittedCells:
    if facts["kind"] == "number" and facts["source"] == "number":
        return FittedCells()
    return FittedCells("code" if facts.get("source") in ("number", "yes/no") else "text")


def _cells_of_values(values: Any) -> FittedCells:
    present = [value for value in values if value is not None and value == value]
    if any(isinstance(value, str) for value in present):
        return FittedCells("raw", frozenset(value for value in present if isinstance(value, str)))
    flags = any(isinstance(value, (bool, np.bool_)) for value in present)
    return FittedCells("raw", flags=True) if flags else FittedCells()


def judge(model: Any, chunk: Chunk) -> tuple[CredalPartition | None, BoolArray]:
    """Return the masses of all rows that a model can judge, None if there are none, and which rows these are."""
    before, last = split_pipeline(model)
    rows = _input(model, chunk)
    if before is not None and _reads_tables(before[0]):
        # Cells that are not of the type of the fit are an error, and not a reason to leave out rows.
        rows = before[0].transform(rows)
        model = last if len(before) == 1 else Pipeline([*before.steps[1:], ("last", last)])
    try:
        return _predicted(model, rows), np.ones(len(chunk.names), dtype=bool)
    except ValueError:
        # Most models refuse missing values; if these are not the reason, the complete rows are refused as well.
        complete = chunk.complete
        if complete.all():
            raise
        known = np.flatnonzero(complete)
        some = rows.iloc[known] if hasattr(rows, "iloc") else rows[known]
        return (_predicted(model, some) if len(known) else None), complete


def described(model: Any, chunk: Chunk, partition: CredalPartition, level: float) -> Objects:
    """Rows as a report shows them: as the table has them, and as the clusterer sees them."""
    before, last = split_pipeline(model)
    if before is None and getattr(last, "metric", None) == "precomputed":
        return Objects(partition, chunk.names, [], np.empty((len(partition), 0)), None, level)
    with _nameless():
        seen = chunk.values if before is None else before.transform(_input(model, chunk))
    dense = np.asarray(seen.toarray() if hasattr(seen, "toarray") else seen)
    # Pictures have no place for gaps.
    return Objects(partition, chunk.names, list(chunk.columns), chunk.columns, np.nan_to_num(dense), level)


def _predicted(model: Any, rows: Any) -> CredalPartition:
    with _nameless():
        return predicted_partition(model, rows)


def _input(model: Any, chunk: Chunk) -> Any:
    """Rows in the form that the first step takes: columns by name, a frame, or numbers."""
    first = first_step(model)
    if _reads_tables(first):
        return chunk.columns
    if not takes_text(model) and not isinstance(first, ColumnTransformer):
        return chunk.values
    try:
        import pandas
    except ImportError as error:
        raise ImportError("this model reads tables by pandas; install it with `pip install pandas`.") from error
    return pandas.DataFrame({name: _as_in_pandas(column) for name, column in chunk.columns.items()})


def _as_in_pandas(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column with NaN for missing cells, and with the same type in any chunk."""
    if column.dtype.kind != "O":
        return column
    return np.array([np.nan if cell is None else cell for cell in column], dtype=object)


def _reads_tables(first: Any) -> bool:
    return isinstance(first, (TableEncoder, GowerDistances))


@contextmanager
def _nameless() -> Iterator[None]:
    """Columns have been chosen by their names, and the arrays that are made of them have none."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.filterwarnings("ignore", message="Found unknown categories")
        yield
