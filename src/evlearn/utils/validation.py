"""Checks of parameters and data, with messages that name the parameter, its value and the allowed values."""

from collections.abc import Iterable, Mapping
from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np

#: Parameters for execution and output, which do not affect the result. The user sets them; model files do not
#: contain them.
RUN_TIME = ("n_jobs", "verbose", "store_masses", "checkpoint", "device", "copy")


def check_choice(name: str, value: object, options: Iterable[str]) -> None:
    """Raise unless `value` is one of `options`."""
    allowed = list(options)
    if not (isinstance(value, str) and value in allowed):
        raise ValueError(f"{name} must be one of {allowed}, got {value!r}.")


def check_integer(name: str, value: object, minimum: int, *, or_auto: bool = False) -> None:
    """Raise unless `value` is a whole number of at least `minimum`."""
    if or_auto and isinstance(value, str) and value == "auto":
        return
    if isinstance(value, bool) or not isinstance(value, Integral) or value < minimum:
        other = "'auto' or " if or_auto else ""
        raise ValueError(f"{name} must be {other}a whole number of at least {minimum}, got {value!r}.")


def check_flag(name: str, value: object) -> None:
    """Raise unless `value` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


def check_shape(name: str, array: Any, shape: tuple[int, ...]) -> None:
    """Raise unless an array is missing or has the shape that other values require."""
    if array is not None and array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}.")


def check_real(
    name: str,
    value: object,
    low: float,
    high: float = float("inf"),
    *,
    open_low: bool = False,
    or_auto: bool = False,
    or_infinity: bool = False,
) -> None:
    """Raise unless `value` is a finite number between `low` and `high`."""
    if or_auto and isinstance(value, str) and value == "auto":
        return
    number = float("nan") if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    infinite = abs(number) == float("inf") and not or_infinity
    if not low <= number <= high or (open_low and number == low) or infinite:
        bound = f"above {low:g}" if open_low else f"at least {low:g}"
        upper = f" and at most {high:g}" if high < float("inf") else " and finite" if infinite else ""
        other = "'auto' or " if or_auto else ""
        raise ValueError(f"{name} must be {other}a number {bound}{upper}, got {value!r}.")


def read_budget(budget: Any, n_samples: int, default: int) -> int:
    """Return the number of samples in a budget: a number, a share of all samples, or None for a default."""
    if budget is None:
        return default
    if isinstance(budget, (float, np.floating)):
        check_real("budget", budget, 0, 1, open_low=True)
        return int(np.ceil(budget * n_samples))
    check_integer("budget", budget, 1)
    return int(min(budget, n_samples))


def check_range(name: str, values: Any, *, fitting: bool) -> None:
    """Raise if squares of numbers overflow or, in all data of a fit, underflow."""
    limits = np.finfo(values.dtype)
    largest = float(max(values.max(initial=0), -values.min(initial=0)))
    too_large = largest > 0.1 * float(limits.max) ** 0.5
    too_small = fitting and 0 < largest < 100 * float(limits.tiny) ** 0.5
    if too_large or too_small:
        precision = " in single precision" if limits.bits == 32 else ""
        raise ValueError(
            f"{name} has values of up to {largest:.3g}, whose squares overflow or underflow{precision}: "
            f"rescale {name}, for example by its largest value."
        )


def check_sparse(name: str, matrix: Any) -> None:
    """Raise unless all indices of a sparse matrix are within its shape.

    SciPy and compiled code use them unchecked, which would access memory outside of the arrays.
    """
    try:
        if hasattr(matrix, "check_format"):
            copy(matrix).check_format(full_check=True)  # a copy, because the check may change the matrix
        elif getattr(matrix, "format", None) == "coo":
            type(matrix)(
                (matrix.data, (matrix.row, matrix.col)), shape=matrix.shape
            )  # the constructor checks indices
    except ValueError as error:
        raise ValueError(f"{name} is not a valid sparse matrix: {error}.") from error


def column_names(X: Any) -> list[Any] | None:
    """Return the column names of a pandas, polars or pyarrow table; None if X is not a table."""
    schema: Any = getattr(X, "schema", None)
    if hasattr(schema, "pandas_metadata"):  # pyarrow, whose `columns` contains the data
        return list(schema.names)
    return list(X.columns) if hasattr(X, "columns") else None


def check_not_container(X: Any) -> None:
    """Raise if X contains several tables, which NumPy would convert very slowly or not at all."""
    tables, variables = getattr(X, "obsm", None), getattr(X, "data_vars", None)
    if isinstance(tables, Mapping) and hasattr(X, "obs"):  # AnnData and MuData
        names = [str(name) for name in tables]
        name = names[0] if names else "X_pca"
        choice = f" It has {names}." if names else ""
        raise TypeError(
            f"X must be a table of features, got {type(X).__name__}, which holds several: pass one of them, for "
            f"example adata.obsm[{name!r}] or adata.X, if X is called adata.{choice}"
        )
    if isinstance(variables, Mapping) and hasattr(X, "dims"):  # xarray dataset
        raise TypeError(
            f"X must be a table of features, got {type(X).__name__}, which holds several variables: pass "
            f"X.to_dataframe()[names] with the names of the features among {[str(name) for name in variables]}, "
            "or X[name].to_numpy()."
        )


def check_unique_names(X: Any) -> None:
    """Raise if two columns of a frame have the same name."""
    names = column_names(X) or []
    if len(set(names)) < len(names):
        equal = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"X has more than one column with the name {equal!r}; give each column a unique name.")


#: Distance ratio above which a sample is extreme. No distribution for which squared distances are meaningful has
#: such samples; usually they contain codes for missing values, or numbers in other units.
EXTREME_RATIO = 2.0**20
_MIDDLE_ROWS = 200
_MIN_ROWS = 10
_LARGE_RATIO = 1e4
_BLOCK_SIZE = 1 << 17


def distance_ratios(data: Any) -> Any:
    """Return distances of rows from the median, relative to a typical distance; 0 if over 5 % are far away."""
    zeros = np.zeros(len(data))
    if len(data) < _MIN_ROWS:
        return zeros
    middle = data[:: -(-len(data) // _MIDDLE_ROWS)]
    with np.errstate(over="ignore"):
        center = np.median(middle, axis=0)
        distances = np.abs(middle - center).max(axis=1)
        unit = float(np.median(distances[distances > 0])) if distances.any() else 0.0
        if not 0 < unit < np.inf:
            return zeros
        # In most cases one of these bounds suffices: over all values, or per column, without a copy.
        if max(data.max() - center.min(), center.max() - data.min()) <= _LARGE_RATIO * unit:
            return zeros
        if np.maximum(data.max(axis=0) - center, center - data.min(axis=0)).max() <= _LARGE_RATIO * unit:
            return zeros
        step = max(1, _BLOCK_SIZE // data.shape[1])
        parts = [np.abs(data[start : start + step] - center).max(axis=1) for start in range(0, len(data), step)]
        ratios = np.concatenate(parts) / unit
    return zeros if (ratios > _LARGE_RATIO).sum() > max(1, len(data) // 20) else ratios


def check_no_extreme_rows(name: str, data: Any) -> None:
    """Raise if a few rows are so extreme that differences between the others would be lost.

    For methods in which all rows have equal weight and that do not detect outliers.
    """
    extreme = np.flatnonzero(distance_ratios(data) > EXTREME_RATIO)
    if len(extreme):
        largest = float(np.abs(data[extreme]).max())
        raise ValueError(
            f"{name} has values of up to {largest:.3g} in {len(extreme)} of {len(data)} samples (the first is "
            f"number {extreme[0]}). They are more than {EXTREME_RATIO:.0e} times as far away as the others, and "
            "differences between the others would be lost. Remove these samples, or correct their values."
        )
