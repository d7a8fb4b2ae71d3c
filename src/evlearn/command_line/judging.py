"""What a model says of rows of a table, each of which gets an answer, if only that there is none."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer

from evlearn.command_line.tables import Chunk
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import predicted_partition, split_pipeline
from evlearn.preprocessing import GowerDistances, TableEncoder
from evlearn.reporting.objects import Objects
from evlearn.utils.typing import BoolArray


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


def judge(model: Any, chunk: Chunk) -> tuple[CredalPartition | None, BoolArray]:
    """The masses of all rows that a model can judge, None if there are none, and which these are."""
    try:
        return _predicted(model, chunk), np.ones(len(chunk.names), dtype=bool)
    except ValueError:
        # Most models refuse gaps; if these are not the reason, the complete rows are refused as well.
        complete = chunk.complete
        if complete.all():
            raise
        return (_predicted(model, chunk.take(complete)) if complete.any() else None), complete


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


def _predicted(model: Any, chunk: Chunk) -> CredalPartition:
    with _nameless():
        return predicted_partition(model, _input(model, chunk))


def _input(model: Any, chunk: Chunk) -> Any:
    """Rows in the form that the first step takes: columns by name, a frame, or numbers."""
    first = first_step(model)
    if _reads_tables(first):
        return chunk.columns
    numbers = all(column.dtype.kind == "f" for column in chunk.columns.values())
    if numbers and not isinstance(first, ColumnTransformer):
        return chunk.values
    try:
        import pandas
    except ImportError as error:
        raise ImportError("this model reads tables by pandas; install it with `pip install pandas`.") from error
    return pandas.DataFrame({name: _as_in_pandas(column) for name, column in chunk.columns.items()})


def _as_in_pandas(column: Any) -> Any:
    """Text as pandas reads it from a CSV file: NaN for gaps, and True and False as such."""
    if column.dtype.kind != "O":
        return column
    found = set(column.tolist())
    if found <= {"True", "False"}:
        return column == "True"
    gaps = np.array([one is None for one in column])
    return np.where(gaps, np.nan, column) if gaps.any() else column


def _reads_tables(first: Any) -> bool:
    return isinstance(first, (TableEncoder, GowerDistances))


@contextmanager
def _nameless() -> Iterator[None]:
    """Columns have been chosen by their names, and the arrays that are made of them have none."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.filterwarnings("ignore", message="Found unknown categories")
        yield
