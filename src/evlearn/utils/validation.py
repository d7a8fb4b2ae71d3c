"""Checks of estimator parameters, with messages that name the parameter, its value and what is allowed."""

from collections.abc import Iterable, Mapping
from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np

#: Parameters that say how to run and where to write to, and not what is computed: they are for whoever runs an
#: estimator to choose, and never for a file.
RUN_TIME = ("n_jobs", "verbose", "masses_file", "store_masses", "checkpoint", "device", "copy")


def check_choice(name: str, value: Any, options: Iterable[str]) -> None:
    """Raise unless `value` is one of `options`."""
    allowed = list(options)
    if not (isinstance(value, str) and value in allowed):
        raise ValueError(f"{name} must be one of {allowed}, got {value!r}.")


def check_integer(name: str, value: Any, least: int, *, or_auto: bool = False) -> None:
    """Raise unless `value` is a whole number of at least `least`."""
    if or_auto and isinstance(value, str) and value == "auto":
        return
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        other = "'auto' or " if or_auto else ""
        raise ValueError(f"{name} must be {other}a whole number of at least {least}, got {value!r}.")


def check_flag(name: str, value: Any) -> None:
    """Raise unless `value` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


def check_shape(name: str, array: Any, shape: tuple[int, ...]) -> None:
    """Raise unless an array has the shape that other arrays ask for."""
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}.")


def check_real(
    name: str,
    value: Any,
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


def check_range(name: str, values: Any, *, fitting: bool) -> None:
    """Raise if squares of numbers are lost: infinite or, in all data of a fit, zero."""
    limits = np.finfo(values.dtype)
    largest = float(max(values.max(initial=0), -values.min(initial=0)))
    too_large = largest > 0.1 * float(limits.max) ** 0.5
    too_small = fitting and 0 < largest < 100 * float(limits.tiny) ** 0.5
    if too_large or too_small:
        precision = " in single precision" if limits.bits == 32 else ""
        raise ValueError(
            f"{name} has values of up to {largest:.3g}, whose squares are lost{precision}: rescale {name}, for "
            "example by its largest value."
        )


def check_sparse(name: str, matrix: Any) -> None:
    """Raise unless all numbers of rows and columns in a sparse matrix are within its shape.

    SciPy believes them, and so does compiled code that follows them to other places of the memory.
    """
    try:
        if hasattr(matrix, "check_format"):
            copy(matrix).check_format(full_check=True)  # it may tidy up, and the matrix is the user's
        elif getattr(matrix, "format", None) == "coo":
            type(matrix)(
                (matrix.data, (matrix.row, matrix.col)), shape=matrix.shape
            )  # it checks what it is made of
    except ValueError as error:
        raise ValueError(f"{name} is not a valid sparse matrix: {error}.") from error


def column_names(X: Any) -> list[Any] | None:
    """Return the column names of a pandas, polars or pyarrow table; None if X is not a table."""
    schema: Any = getattr(X, "schema", None)
    if hasattr(schema, "pandas_metadata"):  # of pyarrow, whose `columns` are the columns themselves
        return list(schema.names)
    return list(X.columns) if hasattr(X, "columns") else None


def refuse_containers(X: Any) -> None:
    """Raise if X holds several tables, of which NumPy would make an array cell by cell, or never."""
    tables, variables = getattr(X, "obsm", None), getattr(X, "data_vars", None)
    if isinstance(tables, Mapping) and hasattr(X, "obs"):  # AnnData and MuData
        names = [str(name) for name in tables]
        name = names[0] if names else "X_pca"
        choice = f" It has {names}." if names else ""
        raise TypeError(
            f"X must be a table of features, got {type(X).__name__}, which holds several: give one of them, for "
            f"example adata.obsm[{name!r}] or adata.X, if X is called adata.{choice}"
        )
    if isinstance(variables, Mapping) and hasattr(X, "dims"):  # Dataset of xarray
        raise TypeError(
            f"X must be a table of features, got {type(X).__name__}, which holds several variables: give "
            f"X.to_dataframe()[names] with the names of the features among {[str(name) for name in variables]}, "
            "or X[name].to_numpy()."
        )


def refuse_equal_names(X: Any) -> None:
    """Raise if two columns of a frame have the same name."""
    names = column_names(X) or []
    if len(set(names)) < len(names):
        equal = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"X has more than one column with the name {equal!r}; give each a name of its own.")


def refuse_sparse(X: Any, who: str) -> None:
    """Raise if features are sparse, and say what takes them."""
    from scipy.sparse import issparse  # importing evlearn does not load it

    if issparse(X):
        raise TypeError(
            f"{who} does not take sparse features, and X is a sparse matrix of shape {X.shape}: put "
            "sklearn.decomposition.TruncatedSVD before it, or take ECM, CCM, EVCLUS (metric "
            "'euclidean' or 'cosine') or EvidentialKNNClassifier."
        )


#: How many times farther than others a sample must be to be remote. No distribution that squares of distances make
#: sense for has such samples; a mark for missing values, or a number in other units, is what they are as a rule.
REMOTE = 2.0**20
_MIDDLE_ROWS = 200
_FEWEST_ROWS = 10
_MANY = 1e4
_NUMBERS_AT_A_TIME = 1 << 17


def remoteness(data: Any) -> Any:
    """How much farther rows are from the median than half of them are; at most one in twenty counts as far."""
    nothing = np.zeros(len(data))
    if len(data) < _FEWEST_ROWS:
        return nothing
    middle = data[:: -(-len(data) // _MIDDLE_ROWS)]
    with np.errstate(over="ignore"):
        centre = np.median(middle, axis=0)
        own = np.abs(middle - centre).max(axis=1)
        unit = float(np.median(own[own > 0])) if own.any() else 0.0
        if not 0 < unit < np.inf:
            return nothing
        # Nearly always one of these is all: of all numbers together, or column by column, without a copy.
        if max(data.max() - centre.min(), centre.max() - data.min()) <= _MANY * unit:
            return nothing
        if np.maximum(data.max(axis=0) - centre, centre - data.min(axis=0)).max() <= _MANY * unit:
            return nothing
        step = max(1, _NUMBERS_AT_A_TIME // data.shape[1])
        parts = [np.abs(data[a : a + step] - centre).max(axis=1) for a in range(0, len(data), step)]
        ratios = np.concatenate(parts) / unit
    return nothing if (ratios > _MANY).sum() > max(1, len(data) // 20) else ratios


def refuse_remote(name: str, data: Any) -> None:
    """Raise if a few rows are so far from all others that nothing would be left of these.

    For methods to which every row counts alike, and which know no outliers.
    """
    far = np.flatnonzero(remoteness(data) > REMOTE)
    if len(far):
        largest = float(np.abs(data[far]).max())
        raise ValueError(
            f"{name} has values of up to {largest:.3g} in {len(far)} of {len(data)} samples (the first is number "
            f"{far[0]}). They are more than {REMOTE:.0e} times as far away as the others, and what sets those "
            "apart would be lost. Remove these samples, or correct their values."
        )
