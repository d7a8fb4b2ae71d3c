"""Predictions for the rows of a table, including rows that the model does not accept."""

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
from evlearn.export.sklearn_steps import selected_columns
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import predicted_partition, split_pipeline
from evlearn.preprocessing import GowerDistances, TableEncoder
from evlearn.preprocessing.reading import flag_in
from evlearn.reporting.samples import Samples
from evlearn.utils.cells import is_missing_text
from evlearn.utils.typing import BoolArray


@dataclass(frozen=True)
class FittedCells:
    """Type of the cells of a column that a model was fitted to.

    Attributes
    ----------
    type : {"number", "text", "code", "raw"}
        Type of the column in `Table.chunks`.
    texts : frozenset of str
        Categories, which may include texts that usually mean a missing value.
    flags : bool
        True if the categories are True and False.
    """

    type: CellType = "number"
    texts: frozenset[str] = frozenset()
    flags: bool = False

    def convert(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Convert raw cells for the model, with None for missing cells, separately for each cell."""
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
    """Return the first step of a pipeline, or the model."""
    transformers, last = split_pipeline(model)
    return last if transformers is None else transformers[0]


def fitted_names(model: Any) -> list[str]:
    """Return the names of the columns that a model requires, or an empty list if they are unknown."""
    first = first_step(model)
    names = [str(name) for name in getattr(first, "feature_names_in_", ())]
    if names and _reads_tables(first):
        return [facts["column"] for facts in first.columns_ if facts["features"]]
    return names


def fitted_cells(model: Any, columns: Sequence[str]) -> dict[str, FittedCells]:
    """Return the types of the cells that a model was fitted to, for columns matched by name or position."""
    first = first_step(model)
    cells = _cells_of_step(first)
    if _reads_tables(first):
        cells_by_name = dict(zip((facts["column"] for facts in first.columns_), cells, strict=True))
        if cells_by_name.keys() >= set(columns):
            return {name: cells_by_name[name] for name in columns}
    return dict(zip(columns, cells, strict=True))


def takes_text(model: Any) -> bool:
    """Return True if a model accepts columns other than numbers."""
    return any(cells.type != "number" for cells in _cells_of_step(first_step(model)))


def _cells_of_step(step: Any) -> list[FittedCells]:
    """Return the types of the cells that a step was fitted to, column by column."""
    if isinstance(step, Pipeline):
        steps = [substep for _, substep in step.steps if substep is not None and substep != "passthrough"]
        cells_by_step = [_cells_of_step(substep) for substep in steps]
        # An imputer returns the categories that the next step was fitted to.
        next_cells = (
            cells_by_step[1]
            if len(cells_by_step) > 1 and len(cells_by_step[1]) == len(cells_by_step[0])
            else cells_by_step[0]
        )
        return [
            replace(cells, texts=cells.texts | other.texts)
            for cells, other in zip(cells_by_step[0], next_cells, strict=True)
        ]
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
    cells_by_position: dict[int, FittedCells] = {}
    for _, transformer, columns in step.transformers_:
        selected = selected_columns(step, columns)
        positions = [names.index(column) if isinstance(column, str) else column for column in selected]
        if isinstance(transformer, str):
            cells_by_position |= dict.fromkeys(
                positions, FittedCells("raw" if transformer == "drop" else "number")
            )
        else:
            cells_by_position |= dict(zip(positions, _cells_of_step(transformer), strict=True))
    return [cells_by_position.get(k, FittedCells("raw")) for k in range(step.n_features_in_)]


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
    """Return the masses of the rows that a model accepts, or None if there are none, and a mask of these rows."""
    transformers, last = split_pipeline(model)
    rows = _model_input(model, chunk)
    if transformers is not None and _reads_tables(transformers[0]):
        # Cells of another type than in the fit are an error; their rows are not excluded.
        rows = transformers[0].transform(rows)
        model = last if len(transformers) == 1 else Pipeline([*transformers.steps[1:], ("last", last)])
    try:
        return _predict(model, rows), np.ones(len(chunk.names), dtype=bool)
    except ValueError:
        # Most models reject missing values. If the error has another cause, complete rows are rejected, too.
        complete = chunk.complete
        if complete.all():
            raise
        positions = np.flatnonzero(complete)
        complete_rows = rows.iloc[positions] if hasattr(rows, "iloc") else rows[positions]
        return (_predict(model, complete_rows) if len(positions) else None), complete


def report_rows(model: Any, chunk: Chunk, partition: CredalPartition, level: float) -> Samples:
    """Return the rows for a report: the columns of the table, and the features of the clusterer."""
    transformers, last = split_pipeline(model)
    if transformers is None and getattr(last, "metric", None) == "precomputed":
        return Samples(partition, chunk.names, [], np.empty((len(partition), 0)), None, level)
    with _ignore_feature_names():
        features = chunk.values if transformers is None else transformers.transform(_model_input(model, chunk))
    dense = np.asarray(features.toarray() if hasattr(features, "toarray") else features)
    # Plots need values instead of NaN.
    return Samples(partition, chunk.names, list(chunk.columns), chunk.columns, np.nan_to_num(dense), level)


def _predict(model: Any, rows: Any) -> CredalPartition:
    with _ignore_feature_names():
        return predicted_partition(model, rows)


def _model_input(model: Any, chunk: Chunk) -> Any:
    """Return the input of the first step: a dict of columns, a frame, or an array of numbers."""
    first = first_step(model)
    if _reads_tables(first):
        return chunk.columns
    if not takes_text(model) and not isinstance(first, ColumnTransformer):
        return chunk.values
    try:
        import pandas
    except ImportError as error:
        raise ImportError("this model needs pandas; install it with `pip install pandas`.") from error
    return pandas.DataFrame({name: _as_in_pandas(column) for name, column in chunk.columns.items()})


def _as_in_pandas(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column with NaN for missing cells, with the same type in all chunks."""
    if column.dtype.kind != "O":
        return column
    return np.array([np.nan if cell is None else cell for cell in column], dtype=object)


def _reads_tables(first: Any) -> bool:
    return isinstance(first, (TableEncoder, GowerDistances))


@contextmanager
def _ignore_feature_names() -> Iterator[None]:
    """Ignore warnings about arrays without feature names, whose columns were selected by name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.filterwarnings("ignore", message="Found unknown categories")
        yield
