"""Columns of tables from any library, with unconverted cells, and the types of these cells.

The type of a column is inferred once, when an encoder is fitted. Cells of later tables are converted to that type,
so that the result for a row does not depend on other rows.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from evlearn.utils.cells import (
    PERCENT,
    DateOrder,
    NumberFormat,
    find_date_order,
    find_number_format,
    is_missing_text,
    looks_like_date,
    parse_date,
    split_unit,
)
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_not_container

Kind = Literal["number", "date", "yes/no", "category", "ordered"]
Source = Literal[
    "number", "amount", "percentage", "duration", "date", "day/month/year", "month/day/year", "yes/no", "text"
]
_KINDS: dict[Source, Kind] = {
    "number": "number",
    "amount": "number",
    "percentage": "number",
    "duration": "number",
    "date": "date",
    "day/month/year": "date",
    "month/day/year": "date",
    "yes/no": "yes/no",
    "text": "category",
}
_DAY = np.timedelta64(1, "D")
_UNITS = {"M": "datetime64[us]", "m": "timedelta64[us]"}
_MAX_EXACT = 2**53  # larger whole numbers lose digits as floats
_NUMBERS = NumberFormat()
_DATE_ORDERS: dict[Source, DateOrder] = {
    "day/month/year": "day/month/year",
    "month/day/year": "month/day/year",
}
#: Descriptions of the cells of each type, for error messages.
_EXPECTED: dict[Source, str] = {
    "number": "only numbers",
    "amount": "amounts of money in 1 currency (such as EUR 1,234.50)",
    "percentage": "percentages (such as 12.5%)",
    "duration": "durations",
    "date": "dates (such as 2026-11-16)",
    "day/month/year": "dates with the day first (such as 31/12/2026)",
    "month/day/year": "dates with the month first (such as 12/31/2026)",
    "yes/no": "yes or no (such as true or 0)",
}
_MARKED = (NumberFormat(".", ",'\u2019 \u00a0\u202f"), NumberFormat(",", ".'\u2019 \u00a0\u202f"))
_WHOLE = re.compile("[+-]?[0-9]+")
#: Text from which a boolean column is inferred, and text that is accepted in such a column.
_FLAG_WORDS = {"true": True, "false": False}
_FLAGS = _FLAG_WORDS | {"yes": True, "no": False, "t": True, "f": False, "y": True, "n": False}


@dataclass(frozen=True)
class RawColumn:
    """A column with its unconverted cells.

    Attributes
    ----------
    name : str
        Name of the column.
    cells : ndarray
        Numbers or durations with NaN or NaT for missing cells, dates, booleans, or objects with None for missing
        cells.
    declared : bool
        True if the table declares a column of categories.
    categories : list of str or None
        Names of the categories in their order, if the table declares them.
    ordered : bool
        True if the table declares that the order of the categories matters.
    """

    name: str
    cells: NDArray[Any]
    declared: bool = False
    categories: list[str] | None = None
    ordered: bool = False

    @property
    def kind(self) -> Kind:
        """Kind of the column, inferred from its cells: "number", "date", "yes/no", "category" or "ordered"."""
        if self.declared:
            return "ordered" if self.ordered else "category"
        return _KINDS[self.source]

    @property
    def source(self) -> Source:
        """Type of the cells, "text" if they have no other type.

        Text that can be parsed as another type has this type, unless the table declares categories. "amount" and
        "percentage" are numbers with a currency or a percent sign; "day/month/year" and "month/day/year" are
        dates.
        """
        return self._inferred[0]

    @property
    def numbers(self) -> NumberFormat:
        """Format of amounts and percentages; the default format for other columns."""
        return self._inferred[1] or _NUMBERS

    @cached_property
    def _inferred(self) -> tuple[Source, NumberFormat | None]:
        return _infer_source(self.cells, parse=not self.declared)

    @property
    def has_ambiguous_dates(self) -> bool:
        """True if day and month may be exchanged in all dates."""
        return self.source in _DATE_ORDERS and find_date_order(_texts(self.cells, iso=False))[1]

    @cached_property
    def problem(self) -> Literal["", "mixed", "formats", "dates"]:
        """Reason why a column of text that looks like numbers or dates is not converted; else empty.

        "mixed": more than half of the cells, but not all, are numbers. "formats": all cells are numbers, in
        several formats or currencies, or in an ambiguous format. "dates": all cells are dates, but the order of
        day and month differs.
        """
        present = [cell for cell in self.cells if cell is not None]
        if self.source != "text" or not present:
            return ""
        if all(isinstance(cell, str) and looks_like_date(cell) for cell in present):
            return "dates"
        n_numbers = sum(looks_like_number(cell) for cell in present)
        if 2 * n_numbers <= len(present):
            return ""
        return "formats" if n_numbers == len(present) else "mixed"

    @cached_property
    def values(self) -> NDArray[Any]:
        """Numbers with NaN for missing cells (dates as days since 1970), or names with None for missing cells."""
        if self.kind == "date":
            return as_dates(self, self.source)
        return as_numbers(self, self.source, self.numbers) if self.kind == "number" else as_text(self)


def read_columns(parts: list[tuple[str, Any]]) -> dict[str, RawColumn]:
    """Return columns by name, from the result of `split_columns`."""
    columns: dict[str, RawColumn] = {}
    for name, part in parts:
        if name in columns:
            raise ValueError(f"X has 2 columns with the name {name!r}; rename one of them.")
        columns[name] = _read_column(name, part)
    return columns


def split_columns(X: Any) -> tuple[list[tuple[str, Any]], bool]:
    """Return names and unconverted columns, and True if the table has column names."""
    check_not_container(X)
    if issparse(X):
        raise TypeError(
            "X must be a table, got a sparse matrix. Pass sparse features to the estimator without a TableEncoder "
            "or to sklearn.decomposition.TruncatedSVD first."
        )
    if isinstance(X, Mapping):
        return [
            (str(name), column if _lists_categories(column) else _as_array(column)) for name, column in X.items()
        ], True
    if hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas
        return [(str(name), X.iloc[:, k]) for k, name in enumerate(X.columns)], True
    if hasattr(X, "get_columns"):  # polars
        return [(column.name, column) for column in X.get_columns()], True
    if hasattr(X, "itercolumns") and hasattr(X, "column_names"):  # pyarrow
        return list(zip(X.column_names, X.itercolumns(), strict=True)), True
    array = _as_matrix(X)
    return [(f"x{k}", array[:, k]) for k in range(array.shape[1])], False


def as_numbers(column: RawColumn, source: Source = "number", numbers: NumberFormat = _NUMBERS) -> FloatArray:
    """Return the cells of a column of numbers, amounts, percentages, or durations as days.

    Raises
    ------
    ValueError
        If a cell is of another type, or infinite.
    """
    kind, expected = column.cells.dtype.kind, _EXPECTED[source]
    if kind == "O" and source == "duration":
        values = _days(np.array(_parsed(column, _duration, expected, np.timedelta64("NaT")), dtype=_UNITS["m"]))
    elif kind == "O":
        values = _numbers_in(column, expected, numbers)
    elif kind == "m" and source == "duration":
        values = _days(column.cells)
    elif kind in "iufb" and source in ("number", "amount"):
        values = column.cells.astype(np.float64)
    else:
        values = _all_missing(column, expected)
    if np.isinf(values).any():
        raise ValueError(
            f"Input X contains infinity, in the column {column.name!r}. Correct or delete these values."
        )
    return values


def as_dates(column: RawColumn, source: Source = "date") -> FloatArray:
    """Return the cells of a column of dates, as days since 1970.

    Raises
    ------
    ValueError
        If a cell is neither a date nor text such as 2026-11-16, or a date in the order of `source`.
    """
    if column.cells.dtype.kind == "M":
        return _days(column.cells)
    if column.cells.dtype.kind != "O":
        return _all_missing(column, _EXPECTED[source])
    order = _DATE_ORDERS.get(source)
    moments = _parsed(column, lambda cell: _moment(cell, order), _EXPECTED[source], np.datetime64("NaT", "us"))
    return _days(np.array(moments, dtype=_UNITS["M"]))


def as_flags(column: RawColumn) -> NDArray[np.intp]:
    """Return the cells of a boolean column as 1 and 0, with -2 for missing cells.

    Raises
    ------
    ValueError
        If a cell is neither a boolean, 1 or 0, nor text such as true, no or 1.
    """
    cells, expected = column.cells, _EXPECTED["yes/no"]
    if cells.dtype.kind == "O":
        return np.array(_parsed(column, flag_in, expected, -2), dtype=np.intp)
    if cells.dtype.kind in "Mm":
        return np.full(_all_missing(column, expected).shape, -2, dtype=np.intp)
    missing = cells != cells
    wrong = cells[~missing & (cells != 0) & (cells != 1)]
    if len(wrong):
        raise _mismatch(column, wrong[0], expected)
    return np.where(missing, -2, np.where(missing, 0, cells)).astype(np.intp)


def as_text(column: RawColumn, source: Source | None = None) -> NDArray[Any]:
    """Return the names of the categories of all cells, with None for missing cells.

    The name of a cell depends only on this cell and on `source`, the type of the cells that the encoder was fitted
    to (by default, of this column). Text is stripped of surrounding whitespace. If the source is another type,
    text that can be parsed as this type has the name of its value, so that 1, "1" and "1.0" are the same category
    of a column of numbers.
    """
    source = column.source if source is None else source
    parsers: dict[Source, Callable[[Any], Any]] = {"number": _exact_number, "date": _moment, "yes/no": flag_in}
    parse = parsers.get(source)
    cells = column.cells
    if cells.dtype.kind in "Mm":
        cells = cells.astype(_UNITS[cells.dtype.kind])
    # The text of a float32 has fewer digits before its conversion to float.
    values = list(cells) if cells.dtype in (np.float32, np.float16) else cells.tolist()
    if parse is not None:
        values = [cell if (value := parse(cell)) is None else value for cell in values]
    return _object_array([_name_of(cell) for cell in values])


def aliases(categories: list[str]) -> dict[str, str]:
    """Return a mapping from the names of cells of other types to text categories.

    A CSV reader may convert the text "01" to the number 1 if all other cells of a file are numbers. The name of
    this number, "1", is mapped to "01" if no other category is the same number.
    """
    meanings: dict[str, list[str]] = {}
    for category in categories:
        values = (_exact_number(category), _FLAG_WORDS.get(category.lower()), _moment(category))
        for name in {_name_of(value) for value in values if value is not None}:
            meanings.setdefault(str(name), []).append(category)
    exact = set(categories)
    return {name: texts[0] for name, texts in meanings.items() if len(texts) == 1 and name not in exact}


def common_order(orders: list[list[Any]]) -> list[Any] | None:
    """Return the longest list of categories if it contains all other lists in their order, else None.

    Parts of a table may declare different categories, so that the order in the whole table may be ambiguous.
    """
    longest = max(orders, key=len, default=[])
    position = {category: place for place, category in enumerate(longest)}
    for order in orders:
        places = [position.get(category, -1) for category in order]
        if places != sorted(places) or -1 in places:
            return None
    return longest


def days_to_dates(days: Any) -> NDArray[Any]:
    """Return days since 1970 as dates."""
    return np.array([_date_of(value) for value in days], dtype="datetime64[s]")


def _date_of(days: float) -> Any:
    if np.isnan(days):
        return np.datetime64("NaT", "s")
    return np.datetime64(0, "s") + np.timedelta64(round(days * 86_400), "s")


# Tables and columns of other libraries


def _as_matrix(X: Any) -> NDArray[Any]:
    array = np.asarray(X)
    if array.dtype.kind in "US":
        # NumPy would convert the numbers in a list of numbers and text to text.
        array = _as_text_array(array) if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    if array.dtype.kind == "c" or (array.dtype.kind == "O" and any(isinstance(v, complex) for v in array.flat)):
        raise ValueError("Complex data not supported: X contains complex numbers. Pass real numbers.")
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got an array of shape {array.shape} instead: X must have rows and columns. "
            "Reshape your data, with X.reshape(-1, 1) for a single column."
        )
    return array


def _as_array(column: Any) -> NDArray[Any]:
    """Return a column of a dict as an array, without the conversion of list cells to a common type."""
    if not isinstance(column, (list, tuple)):
        return np.asarray(column)
    types = {type(cell) for cell in column}
    small = types == {int} and max(map(abs, column)) < 2**63
    return np.array(column) if small or types == {float} else _object_array(column)


def _as_text_array(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(str).astype(object)


def _object_array(cells: Any) -> NDArray[Any]:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def _with_none_for_missing(cells: Any) -> NDArray[Any]:
    return _object_array([None if _is_missing(cell) else cell for cell in cells])


def _read_column(name: str, part: Any) -> RawColumn:
    """Return a column of a table from any library."""
    if hasattr(part, "cat") and hasattr(part.cat, "codes"):  # pandas Categorical
        categories = _with_none_for_missing(part.cat.categories.tolist())
        cells = np.append(categories, [None])[np.asarray(part.cat.codes)]
        return RawColumn(name, cells, True, _distinct(categories), bool(part.cat.ordered))
    if hasattr(getattr(part, "type", None), "ordered"):  # pyarrow dictionary
        parts = [chunk.dictionary.to_pylist() for chunk in getattr(part, "chunks", [part])]
        order = common_order(parts) if part.type.ordered else None
        categories = _with_none_for_missing(
            [category for chunk_categories in parts for category in chunk_categories] if order is None else order
        )
        return RawColumn(
            name, _with_none_for_missing(part.to_pylist()), True, _distinct(categories), order is not None
        )
    if _is_enum(part):
        categories = _with_none_for_missing(part.dtype.categories.to_list())
        return RawColumn(name, _with_none_for_missing(part.to_list()), True, _distinct(categories), True)
    values = _values_of(part)
    cells = values if values.dtype.kind in "iufbMm" else _with_none_for_missing(values)
    # The order of polars categories, unlike that of polars enumerations, is arbitrary.
    return RawColumn(name, cells, declared=str(getattr(part, "dtype", "")).startswith("Categorical"))


def _lists_categories(column: Any) -> bool:
    """Return True if a pandas, polars or pyarrow column declares its categories."""
    pandas = hasattr(column, "cat") and hasattr(column.cat, "codes")
    return pandas or hasattr(getattr(column, "type", None), "ordered") or _is_enum(column)


def _is_enum(column: Any) -> bool:
    """Return True for a polars column with an ordered enumeration of its categories."""
    return str(getattr(column, "dtype", "")).startswith("Enum") and hasattr(column.dtype, "categories")


def _distinct(categories: NDArray[Any]) -> list[str]:
    names = (_name_of(category) for category in categories)
    return list(dict.fromkeys(name for name in names if name is not None))


def _values_of(part: Any) -> NDArray[Any]:
    """Return the values of a column as an array, with None, NaN or NaT for missing cells."""
    if not hasattr(part, "iloc"):
        values = np.asarray(part.to_numpy() if hasattr(part, "to_numpy") else part)
        if values.dtype.kind == "f" and _loses_digits(part, values):
            return _object_array(part.to_list() if hasattr(part, "to_list") else part.to_pylist())
        return _as_text_array(values) if values.dtype.kind in "US" else values
    kind = getattr(part.dtype, "kind", None)  # pandas, also with masked arrays
    if kind in ("i", "u", "f"):
        is_missing = part.isna().to_numpy()
        values = np.asarray(
            part.to_numpy() if not is_missing.any() else part.to_numpy(np.float64, na_value=np.nan)
        )
        return np.asarray(part.to_numpy(object)) if kind != "f" and _loses_digits(part, values) else values
    if kind in ("M", "m") and not (hasattr(part.dtype, "pyarrow_dtype") and part.isna().any()):
        return np.asarray(part.to_numpy(_UNITS[kind]))
    return np.asarray(part.to_numpy(object))


def _loses_digits(part: Any, values: NDArray[Any]) -> bool:
    """Return True if integers with missing cells are too large for an exact conversion to floats."""
    whole = str(getattr(part, "type", getattr(part, "dtype", ""))).lower().startswith(("int", "uint"))
    return whole and values.dtype.kind == "f" and bool((np.abs(values) > _MAX_EXACT).any())


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return is_missing_text(value)
    return bool((np.isscalar(value) or isinstance(value, Decimal)) and value != value)


# Types of columns


def _infer_source(cells: NDArray[Any], *, parse: bool) -> tuple[Source, NumberFormat | None]:
    """Return the common type of all cells, and the format of amounts and percentages.

    If `parse` is true, text has the type that it can be parsed as.
    """
    typed: dict[str, Source] = {"b": "yes/no", "M": "date", "m": "duration"}
    if cells.dtype.kind != "O":
        return typed.get(cells.dtype.kind, "number"), None
    present = [cell for cell in cells if cell is not None]
    if not parse and any(isinstance(cell, str) for cell in present):
        return "text", None
    if not present:
        return "number", None
    if all(_is_flag(cell) for cell in present):
        return "yes/no", None
    if all(_moment(cell) is not None for cell in present):
        return "date", None
    texts = [cell for cell in present if isinstance(cell, str)]
    if len(texts) == len(present) and _NUMBERS.parse_all(texts)[1] is None:
        return "number", None
    if all(_duration(cell) is not None for cell in present):
        return "duration", None
    if all(number_in(cell) is not None for cell in present):
        return "number", None
    return _infer_format(present, texts)


def _infer_format(present: list[Any], texts: list[str]) -> tuple[Source, NumberFormat | None]:
    """Return the type of amounts, percentages and dates that are not in the ISO format, or "text"."""
    others = [cell for cell in present if not isinstance(cell, str)]
    numbers = find_number_format(texts)
    if numbers is not None and numbers.unit == PERCENT:
        return ("text", None) if others else ("percentage", numbers)
    if numbers is not None:
        return ("text", None) if any(number_in(cell) is None for cell in others) else ("amount", numbers)
    if any(_moment(cell) is None for cell in others):
        return "text", None
    return find_date_order([cell for cell in texts if _moment(cell) is None])[0] or "text", None


def _texts(cells: NDArray[Any], *, iso: bool = True) -> list[str]:
    """Return the cells that are text, without ISO dates if `iso` is false."""
    return [cell for cell in cells if isinstance(cell, str) and (iso or _moment(cell) is None)]


def _is_flag(cell: object) -> bool:
    return isinstance(cell, (bool, np.bool_)) or (isinstance(cell, str) and cell.strip().lower() in _FLAG_WORDS)


# Conversion of cells to a type; the result is None for cells of another type


def number_in(cell: object) -> float | None:
    """Return the number in a cell, or None if it is of another type."""
    if isinstance(cell, str):
        return _NUMBERS.parse(cell)
    return float(cell) if isinstance(cell, (Real, Decimal, np.bool_)) else None


def looks_like_number(cell: object) -> bool:
    """Return True if a cell is a number, an amount of money or a percentage, in any format."""
    if number_in(cell) is not None or not isinstance(cell, str):
        return number_in(cell) is not None
    unit, number = split_unit(cell)
    return any(numbers.parse(number) is not None for numbers in _MARKED) and unit is not None


def _exact_number(cell: object) -> Any:
    """Return a number; integers are exact."""
    if isinstance(cell, str):
        return int(cell) if _WHOLE.fullmatch(cell.strip()) else _NUMBERS.parse(cell)
    return int(cell) if isinstance(cell, (bool, np.bool_)) else None


def _moment(cell: object, order: DateOrder | None = None) -> datetime | None:
    """Return a datetime without time zone, in UTC if the cell has a time zone.

    Text must be an ISO date or, if `order` is not None, a date with this order of day and month.
    """
    if isinstance(cell, str):
        text = cell.strip()
        if not (len(text) >= 10 and text[4] == text[7] == "-"):
            return None if order is None else parse_date(text, order)
        try:
            cell = datetime.fromisoformat(text)
        except ValueError:
            return None
    if isinstance(cell, np.datetime64):
        cell = cell.astype(_UNITS["M"]).item()
    if isinstance(cell, datetime):
        offset = cell.utcoffset()
        return cell if offset is None else cell.replace(tzinfo=None) - offset
    return datetime(cell.year, cell.month, cell.day) if isinstance(cell, date) else None


def _duration(cell: object) -> Any:
    return cell if isinstance(cell, (timedelta, np.timedelta64)) else None


def flag_in(cell: object) -> bool | None:
    """Return the boolean in a cell, or None if it is of another type."""
    if isinstance(cell, str):
        number = _NUMBERS.parse(cell)
        return _FLAGS.get(cell.strip().lower()) if number is None else flag_in(number)
    if isinstance(cell, (Real, Decimal, np.bool_)):
        return bool(cell) if cell in (0, 1) else None
    return None


def _name_of(value: object) -> str | None:
    """Return the name of a category. 1 and 1.0 are equal, because missing cells convert integers to floats."""
    if value is None or isinstance(value, str):
        return value if value is None else value.strip()
    if isinstance(value, (float, np.floating)):
        if np.isnan(value):
            return None
        return str(int(value)) if float(value).is_integer() else str(value)
    if isinstance(value, Decimal):
        return str(int(value)) if value == value.to_integral_value() else format(value.normalize(), "f")
    moment = _moment(value)
    return str(value).strip() if moment is None else moment.isoformat().removesuffix("T00:00:00")


# Conversion of columns to a type


def _parsed(column: RawColumn, parse: Callable[[Any], Any], expected: str, missing: Any) -> list[Any]:
    """Return all cells as values of a type, with `missing` for missing cells."""
    values = []
    parsed: dict[str, Any] = {}
    for cell in column.cells:
        if isinstance(cell, str):
            if cell not in parsed:
                parsed[cell] = parse(cell)
            value = parsed[cell]
        else:
            value = missing if cell is None else parse(cell)
        if value is None:
            raise _mismatch(column, cell, expected)
        values.append(value)
    return values


def _numbers_in(column: RawColumn, expected: str, numbers: NumberFormat) -> FloatArray:
    if all(cell is None or isinstance(cell, str) for cell in column.cells):
        values, place = numbers.parse_all(column.cells.tolist())
        if place is not None:
            raise _mismatch(column, column.cells[place], expected)
        return values

    def parse(cell: object) -> float | None:
        if isinstance(cell, str):
            return numbers.parse(cell)
        return None if numbers.unit == PERCENT else number_in(cell)

    return np.array(_parsed(column, parse, expected, np.nan), dtype=np.float64)


def _all_missing(column: RawColumn, expected: str) -> FloatArray:
    """Return NaN for all cells of a column of another type; raise a ValueError unless all are missing."""
    present = column.cells[column.cells == column.cells]
    if len(present):
        raise _mismatch(column, present[0], expected)
    return np.full(len(column.cells), np.nan)


def _mismatch(column: RawColumn, cell: object, expected: str) -> ValueError:
    cell_text = repr(cell) if isinstance(cell, str) else str(cell)
    return ValueError(
        f"the column {column.name!r} contains {cell_text}, but had {expected} when the encoder was fitted. "
        "Correct or delete this value."
    )


def _days(values: NDArray[Any]) -> FloatArray:
    """Return datetimes as days since 1970, and durations as days."""
    values = values.astype(_UNITS[values.dtype.kind])
    missing = np.isnat(values)
    start = np.datetime64(0, "us") if values.dtype.kind == "M" else np.timedelta64(0, "us")
    return np.where(missing, np.nan, (np.where(missing, start, values) - start) / _DAY).astype(np.float64)
