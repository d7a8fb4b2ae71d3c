"""Checks of values that were read from a file: JSON, arrays in JSON, and constraints on single values.

Files may come from other programs and are not trusted: memory is allocated for the actual content of a file and
never for its claimed size. A `ValueError` names any value whose type, shape or range is wrong.
"""

import json
import math
import reprlib
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

#: Function of the position of a value in the file and the value; it raises if the value is invalid.
Check: TypeAlias = Callable[[str, Any], None]

#: Maximum size that a file may claim without data, such as the number of columns of an empty table.
LARGEST_CLAIM = 1_000_000

_FAILURES = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError)
_MAX_DIMENSIONS = 4
_LARGEST_FORM = 1e100  # squared distances do not overflow
_LARGEST = 2**63 - 1  # NumPy converts larger whole numbers to objects
#: Types of arrays in JSON.
ARRAY_TYPES = ("float64", "float32", "int64", "int32", "bool", "str")


@contextmanager
def describe_errors(name: str, description: str, remedy: str) -> Iterator[None]:
    """Re-raise any error as a ValueError that names the file and the reason."""
    try:
        yield
    except _FAILURES as error:
        raise ValueError(f"{name} is not {description} that can be read: {_reason(error)}. {remedy}") from error


def _reason(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "it needs more memory than there is"
    if isinstance(error, RecursionError):
        return "its structure is broken, because it is nested too deeply"
    if isinstance(error, ArithmeticError):
        return "it holds a number that is too large"
    if isinstance(error, ValueError):
        return str(error).rstrip(".")
    return "its structure is broken"


# JSON


def read_json(content: bytes) -> Any:
    """Return the values of a JSON text."""
    try:
        text = content.decode("utf-8-sig")
        document = json.loads(text, object_pairs_hook=_without_repetition)
        if "\\" in text and ("\\ud" in text or "\\uD" in text):  # unpaired surrogates, which cannot be encoded
            json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON ({error})") from error
    except UnicodeError as error:
        raise ValueError("it is not text in UTF-8") from error
    except ValueError as error:
        if "digits" in str(error):  # Python's message is about one of its settings
            raise ValueError("it holds a number that is too large") from error
        raise
    return document


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("its structure is broken, because a name occurs twice")
    return document


def check_keys(place: str, document: Any, required: Iterable[str], optional: Iterable[str] = ()) -> None:
    """Raise unless a value is a JSON object with these names."""
    if not isinstance(document, dict):
        raise ValueError(f"{place} must be an object with names, got {shortened(document)}")
    required = list(required)
    missing = [name for name in required if name not in document]
    if missing:
        raise ValueError(f"its structure is broken, because {place} lacks {missing[0]!r}")
    unknown = document.keys() - set(required) - set(optional)
    if unknown:
        raise ValueError(f"{place} must not have {shortened(min(unknown))}")


def array_of(place: str, content: Any) -> npt.NDArray[Any]:
    """Return the array that JSON describes by its type, its shape and its values.

    The memory layout affects the last bit of products, so an array in column-major order is marked as such.
    """
    check_keys(place, content, ("type", "shape", "values"), ("order",))
    text("F")(f"{place}.order", content.get("order", "F"))
    kind, shape, values = content["type"], content["shape"], content["values"]
    if not isinstance(kind, str) or kind not in ARRAY_TYPES:
        raise ValueError(f"{place} must be an array of one of {ARRAY_TYPES}, got {shortened(kind)}")
    if not (isinstance(shape, list) and set(map(type, shape)) <= {int} and len(shape) <= _MAX_DIMENSIONS):
        raise ValueError(f"{place} has no valid shape: {shortened(shape)}")
    if min(shape, default=0) < 0 or not isinstance(values, list) or math.prod(shape) != len(values):
        size = f"{len(values)} values" if isinstance(values, list) else "no list of values"
        raise ValueError(f"{place} claims the shape {shortened(shape)} and brings {size}")
    if not values and max(shape) > LARGEST_CLAIM:
        raise ValueError(f"{place} is empty and claims the shape {shortened(shape)}, which is too large")
    if not _are_of(kind, values):
        raise ValueError(f"{place} is an array of {kind} and holds values of another kind")
    with np.errstate(over="ignore"):  # infinite values are rejected later if necessary
        data = np.array(values, dtype=object if kind == "str" else kind).reshape(shape)
    return np.asfortranarray(data) if "order" in content else data


def _are_of(kind: str, values: list[Any]) -> bool:
    """Return True if all values are of a kind; strings stand for numbers that are not finite."""
    if kind in ("bool", "str") or (values and isinstance(values[0], str)):
        return set(map(type, values)) <= {bool if kind == "bool" else str} and not kind.startswith("int")
    return kind.startswith("float") if (total := _sum(values)) is float else total is int


def _sum(values: Iterable[Any]) -> type | None:
    """Return the type of the sum of numbers, or None if there are other values. Faster than a loop."""
    try:
        return type(sum(values))
    except TypeError:
        return None


def table_of(place: str, rows: Any, n_columns: int) -> npt.NDArray[np.float64]:
    """Return a table from a list of rows."""
    if not isinstance(rows, list) or set(map(type, rows)) != {list} or set(map(len, rows)) != {n_columns}:
        raise ValueError(f"{place} must be rows of {n_columns} numbers each")
    if _sum(map(sum, rows)) is None:
        raise ValueError(f"{place} must hold numbers only")
    values = np.fromiter(chain.from_iterable(rows), dtype=np.float64, count=len(rows) * n_columns)
    return values.reshape(len(rows), n_columns)


def check_names(place: str, names: Any) -> None:
    """Raise unless a value is a list of names."""
    if not isinstance(names, list) or not set(map(type, names)) <= {str}:
        raise ValueError(f"{place} is not a list of names")


# Constraints on values


def number(low: float = -math.inf, high: float = math.inf, *, above: bool = False, finite: bool = True) -> Check:
    """Return a check that a value is a number between two bounds."""

    def check(place: str, value: Any) -> None:
        is_valid = type(value) in (int, float) and low <= value <= high and not (above and value == low)
        if not is_valid or abs(value) > (
            _LARGEST if type(value) is int else sys.float_info.max if finite else math.inf
        ):
            raise ValueError(f"{place} must be a number{_bounds_text(low, high, above)}, got {shortened(value)}")

    return check


def whole(low: int = 0, high: int = _LARGEST) -> Check:
    """Return a check that a value is a whole number between two bounds."""

    def check(place: str, value: object) -> None:
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"{place} must be a whole number of at least {low}, got {shortened(value)}")

    return check


def flag(place: str, value: object) -> None:
    """Check that a value is true or false."""
    if type(value) is not bool:
        raise ValueError(f"{place} must be true or false, got {shortened(value)}")


def text(*choices: str) -> Check:
    """Return a check that a value is text, or one of the choices."""

    def check(place: str, value: object) -> None:
        if not isinstance(value, str) or (choices and value not in choices):
            allowed = f"one of {list(choices)}" if choices else "a word"
            raise ValueError(f"{place} must be {allowed}, got {shortened(value)}")

    return check


def sentences(place: str, value: object) -> None:
    """Check that a value is a list or tuple of lines of text."""
    if not isinstance(value, (list, tuple)) or not all(type(line) is str for line in value):
        raise ValueError(f"{place} must be a list of sentences, got {shortened(value)}")
    if any(len(line.splitlines()) != 1 or not line.isprintable() for line in value):
        raise ValueError(f"{place} must have one line of text for each sentence, got {shortened(value)}")


def array(
    n_dimensions: int, kinds: str = "f", *, low: float = -math.inf, high: float = math.inf, finite: bool = True
) -> Check:
    """Return a check that a value is an array with values between two bounds."""

    def check(place: str, value: object) -> None:
        if not isinstance(value, np.ndarray) or value.ndim != n_dimensions or value.dtype.kind not in kinds:
            raise ValueError(f"{place} must be an array of {n_dimensions} dimensions, got {shortened(value)}")
        if value.size == 0 or value.dtype.kind in "bO" or not (finite or low > -math.inf or high < math.inf):
            return
        # NaN if any value is NaN, and then no comparison holds; in double precision, as the bounds are.
        minimum, maximum = value.min().item(), value.max().item()
        if not (low <= minimum and maximum <= high and not (finite and max(-minimum, maximum) == math.inf)):
            raise ValueError(f"{place} must hold finite numbers{_bounds_text(low, high, False)}")

    return check


def quadratic_forms(place: str, value: Any) -> None:
    """Check that a value is an array of symmetric matrices without negative eigenvalues."""
    array(3, low=-_LARGEST_FORM, high=_LARGEST_FORM)(place, value)
    if value.shape[1] != value.shape[2] or not np.allclose(value, value.transpose(0, 2, 1), rtol=1e-6, atol=0):
        raise ValueError(f"{place} must hold symmetric matrices")
    squares = np.linalg.eigvalsh(value)
    if (squares[:, 0] < -1e-6 * squares[:, -1]).any():
        raise ValueError(f"{place} must hold positive semi-definite matrices")


def optional(check: Check) -> Check:
    """Return a check that a value is missing or passes another check."""

    def check_or_none(place: str, value: object) -> None:
        if value is not None:
            check(place, value)

    return check_or_none


def instance(*classes: type) -> Check:
    """Return a check that a value is an instance of one of these classes."""

    def check(place: str, value: object) -> None:
        if not isinstance(value, classes):
            names = " or ".join(kind.__name__ for kind in classes)
            raise ValueError(f"{place} must be of {names}, got {shortened(value)}")

    return check


def check_length(place: str, value: Any, shape: tuple[int, ...]) -> None:
    """Raise unless an array is missing or has the shape that other values require."""
    if value is not None and value.shape != shape:
        raise ValueError(f"{place} must have shape {shape}, got {value.shape}")


def shortened(value: object) -> str:
    """Return a short representation of a value for an error message."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    if type(value) is int and abs(value) > 10**40:  # Python limits the length of printed numbers
        return "a number of more than 40 digits"
    return reprlib.repr(value) if isinstance(value, (int, float, str, list, dict)) else type(value).__name__


def _bounds_text(low: float, high: float, above: bool) -> str:
    bounds = [] if low == -math.inf else [f"above {low:g}" if above else f"of at least {low:g}"]
    bounds += [] if high == math.inf else [f"of at most {high:g}"]
    return "".join(f" {bound}" for bound in [" and ".join(bounds)] if bound)


__all__ = [
    "ARRAY_TYPES",
    "LARGEST_CLAIM",
    "Check",
    "array",
    "array_of",
    "check_keys",
    "check_length",
    "check_names",
    "describe_errors",
    "flag",
    "instance",
    "number",
    "optional",
    "quadratic_forms",
    "read_json",
    "shortened",
    "table_of",
    "text",
    "whole",
]
