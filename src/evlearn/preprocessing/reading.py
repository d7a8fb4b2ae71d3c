"""Columns of tables of any kind, as numbers, dates or text, whoever made the table."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from evlearn.utils.typing import FloatArray

Kind = Literal["number", "date", "yes/no", "category", "ordered"]
#: Text that stands for a gap.
GAPS = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "null", "None"})
_DAY = np.timedelta64(1, "D")
_UNITS = {"M": "datetime64[us]", "m": "timedelta64[us]"}


@dataclass(frozen=True)
class RawColumn:
    """A column as it came: what kind it seems to be, and its values.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        "number", "date", "yes/no", "category" or "ordered".
    values : ndarray
        Numbers with NaN for gaps (dates as days since 1970), or text with None for gaps.
    categories : list of str or None
        The categories in their order, where the table tells them.
    whole : bool
        Whether the table holds whole numbers.
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    categories: list[str] | None = None
    whole: bool = False


def read_columns(parts: list[tuple[str, Any]]) -> dict[str, RawColumn]:
    """Columns by name, from those of `split_columns`."""
    found: dict[str, RawColumn] = {}
    for name, part in parts:
        if name in found:
            raise ValueError(f"X has two columns with the name {name!r}; give each its own name.")
        found[name] = _read(name, part)
    return found


def split_columns(X: Any) -> tuple[list[tuple[str, Any]], bool]:
    """Names and columns, as they are, and whether the names are those of the table."""
    if issparse(X):
        raise TypeError(
            "X is a sparse matrix, and a table is wanted: sparse features need no TableEncoder. Give them to the "
            "estimator, or to sklearn.decomposition.TruncatedSVD first."
        )
    if isinstance(X, Mapping):
        return [(str(name), np.asarray(column)) for name, column in X.items()], True
    if hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas
        return [(str(name), X.iloc[:, k]) for k, name in enumerate(X.columns)], True
    if hasattr(X, "get_columns"):  # polars
        return [(column.name, column) for column in X.get_columns()], True
    if hasattr(X, "itercolumns") and hasattr(X, "column_names"):  # pyarrow
        return list(zip(X.column_names, X.itercolumns(), strict=True)), True
    array = _as_matrix(X)
    return [(f"x{k}", array[:, k]) for k in range(array.shape[1])], False


def as_numbers(column: RawColumn) -> FloatArray:
    """A column that was one of numbers when the encoder was fitted."""
    if column.values.dtype.kind == "f":
        return column.values
    found = _numbers_in(column.values, yes_no=column.kind == "yes/no")
    if found is None:
        wrong = next(one for one in column.values if one is not None and _number_in(one) is None)
        raise ValueError(
            f"the column {column.name!r} holds {wrong!r}, and it had only numbers when the encoder was fitted. "
            "Correct the value, or leave the cell empty."
        )
    return found


def as_dates(column: RawColumn) -> FloatArray:
    """A column that was one of dates, as days since 1970."""
    if column.kind == "date" or all(one is None or one != one for one in column.values):
        return column.values.astype(np.float64)
    raise ValueError(
        f"the column {column.name!r} had dates when the encoder was fitted, and now holds others: give dates, or "
        "text such as 2026-11-16."
    )


def as_text(column: RawColumn) -> NDArray[Any]:
    """A column as names of categories, with None for gaps."""
    if column.values.dtype.kind != "f":
        return column.values
    if column.kind == "date":
        return np.array([None if np.isnan(one) else str(_date_of(one)) for one in column.values], dtype=object)
    return np.array([_name_of(one) for one in column.values.tolist()], dtype=object)


def days_to_dates(days: Any) -> NDArray[Any]:
    """Days since 1970 as dates."""
    return np.array([_date_of(one) for one in days], dtype="datetime64[s]")


def _date_of(days: float) -> Any:
    if np.isnan(days):
        return np.datetime64("NaT", "s")
    return np.datetime64(0, "s") + np.timedelta64(round(days * 86_400), "s")


def _as_matrix(X: Any) -> NDArray[Any]:
    array = np.asarray(X)
    if array.dtype.kind in "US":
        array = array.astype(object)
    if array.dtype.kind == "c" or (array.dtype.kind == "O" and any(isinstance(v, complex) for v in array.flat)):
        raise ValueError("Complex data not supported: X holds complex numbers. Give real ones.")
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got an array of shape {array.shape} instead: X must have rows and columns. "
            "Reshape your data, with X.reshape(-1, 1) for a single column."
        )
    return array


def _read(name: str, part: Any) -> RawColumn:
    """A column of a table of any kind."""
    if hasattr(part, "cat") and hasattr(part.cat, "codes"):  # a categorical of pandas
        names = [_name_of(one) for one in part.cat.categories.tolist()]
        codes = np.asarray(part.cat.codes)
        text = np.array([*names, None], dtype=object)[codes]
        return RawColumn(name, "ordered" if part.cat.ordered else "category", text, [str(one) for one in names])
    if hasattr(getattr(part, "type", None), "ordered"):  # a dictionary of pyarrow
        return _of_dictionary(name, part)
    values = _values_of(part)
    kind = values.dtype.kind
    if kind in "iuf":
        return _checked(RawColumn(name, "number", values.astype(np.float64), whole=kind in "iu"))
    if kind in "Mm":
        return _of_times(name, values)
    if kind == "b":
        return RawColumn(name, "yes/no", _names_of(values.tolist()))
    return _of_objects(name, values)


def _of_dictionary(name: str, part: Any) -> RawColumn:
    listed = [chunk.dictionary.to_pylist() for chunk in getattr(part, "chunks", [part])]
    names = dict.fromkeys(str(_name_of(one)) for chunk in listed for one in chunk if not _is_gap(one))
    cells = [None if _is_gap(one) else one for one in part.to_pylist()]
    return RawColumn(name, "ordered" if part.type.ordered else "category", _names_of(cells), list(names))


def _values_of(part: Any) -> NDArray[Any]:
    """The values of a column as an array; None or NaN for gaps."""
    kind = getattr(getattr(part, "dtype", None), "kind", None)
    if hasattr(part, "iloc") and kind in ("i", "u", "f"):  # of pandas, also with a mask for gaps
        gaps = part.isna().to_numpy()
        return np.asarray(part.to_numpy() if not gaps.any() else part.to_numpy(np.float64, na_value=np.nan))
    if hasattr(part, "iloc") and kind in ("M", "m"):
        return np.asarray(part.to_numpy(_UNITS[kind]))
    if hasattr(part, "iloc"):
        return np.asarray(part.to_numpy(object))
    found = np.asarray(part.to_numpy() if hasattr(part, "to_numpy") else part)
    return found.astype(object) if found.dtype.kind in "US" else found


def _of_times(name: str, values: NDArray[Any]) -> RawColumn:
    gaps = np.isnat(values)
    start = np.datetime64(0, "D") if values.dtype.kind == "M" else np.timedelta64(0, "D")
    days = np.where(gaps, np.nan, (np.where(gaps, start, values) - start) / _DAY)
    return RawColumn(name, "date" if values.dtype.kind == "M" else "number", days.astype(np.float64))


def _of_objects(name: str, values: NDArray[Any]) -> RawColumn:
    """A column of Python objects: what all of them are that are no gaps."""
    cells = [None if _is_gap(one) else one for one in values]
    kinds = {type(one) for one in cells if one is not None}
    if not kinds:
        return RawColumn(name, "number", np.full(len(cells), np.nan))
    if all(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        return RawColumn(name, "yes/no", _names_of(cells))
    if all(issubclass(kind, (date, np.datetime64)) for kind in kinds):
        return _of_times(name, np.array([_moment(one) for one in cells], dtype="datetime64[us]"))
    if all(issubclass(kind, (timedelta, np.timedelta64)) for kind in kinds):
        return _of_times(name, np.array(cells, dtype="timedelta64[us]"))
    text = _names_of(cells)
    numbers = _numbers_in(cells)
    if numbers is not None:
        whole = all(one is None or isinstance(one, (int, np.integer)) or str(one).isdigit() for one in cells)
        return _checked(RawColumn(name, "number", numbers, whole=whole))
    moments = _dates_in(text) if kinds == {str} else None
    return RawColumn(name, "category", text) if moments is None else _of_times(name, moments)


def _checked(column: RawColumn) -> RawColumn:
    if np.isinf(column.values).any():
        raise ValueError(
            f"Input X contains infinity, in the column {column.name!r}. Correct these cells, or leave them empty."
        )
    return column


def _is_gap(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return value.strip() in GAPS
    return bool(np.isscalar(value) and value != value)


def _moment(value: Any) -> Any:
    """A moment without a time zone."""
    if isinstance(value, datetime) and (offset := value.utcoffset()) is not None:
        return value.replace(tzinfo=None) - offset
    return np.datetime64("NaT", "us") if value is None else value


def _names_of(cells: list[Any]) -> NDArray[Any]:
    found = np.empty(len(cells), dtype=object)
    found[:] = [_name_of(one) for one in cells]
    return found


def _name_of(value: Any) -> str | None:
    """The name of a category; 1 and 1.0 are the same, since gaps turn whole numbers into others."""
    if isinstance(value, (float, np.floating)):
        if np.isnan(value):
            return None
        return str(int(value)) if float(value).is_integer() else str(float(value))
    if value is None:
        return None
    return str(value).strip()


def _numbers_in(values: Any, *, yes_no: bool = False) -> FloatArray | None:
    """Numbers, also if they are written as text; None if there is anything else."""
    found = np.full(len(values), np.nan)
    for k, one in enumerate(values):
        if one is None:
            continue
        if yes_no:
            one = one == "True"
        number = _number_in(one)
        if number is None:
            return None
        found[k] = number
    return found


def _number_in(value: Any) -> float | None:
    if isinstance(value, (Real, Decimal, np.number)):
        return float(value)
    if not isinstance(value, str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _dates_in(text: NDArray[Any]) -> NDArray[Any] | None:
    """Dates that are written as year-month-day; None if there is any other text."""
    moments = []
    for one in text:
        if one is not None and not (len(one) >= 10 and one[4] == one[7] == "-"):
            return None
        try:
            moments.append(_moment(None if one is None else datetime.fromisoformat(one)))
        except ValueError:
            return None
    return np.array(moments, dtype="datetime64[us]")
