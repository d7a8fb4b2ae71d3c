"""What a file brings, checked before it is used: JSON, arrays in it, and what a value must be.

Whoever writes a file decides what is in it, and not only we write files. So nothing is taken on trust: memory is
taken for what a file holds and never for what it claims, and a value has the kind, the shape and the range that it
must have, or a `ValueError` says which has not.
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

#: Raises unless a value, whose place in the file comes first, is what it must be.
Check: TypeAlias = Callable[[str, Any], None]

#: A size that a file may claim without bringing as much: columns of an empty table, samples that are only counted.
LARGEST_CLAIM = 1_000_000

_FAILURES = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError)
_MOST_DIMENSIONS = 4
_LARGEST_FORM = 1e100  # squared distances by it are numbers
_LARGEST = 2**63 - 1  # whole numbers beyond it are samples to NumPy, and not numbers
#: The types of arrays in JSON.
ARRAY_TYPES = ("float64", "float32", "int64", "int32", "bool", "str")


@contextmanager
def explaining(name: str, what: str, how: str) -> Iterator[None]:
    """Let whatever goes wrong with a file be a `ValueError` that names the file and says what is wrong."""
    try:
        yield
    except _FAILURES as error:
        raise ValueError(f"{name} is not {what} that can be read: {_reason(error)}. {how}") from error


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
    """The values of a JSON text."""
    try:
        text = content.decode("utf-8-sig")
        document = json.loads(text, object_pairs_hook=_without_repetition)
        if "\\" in text and (
            "\\ud" in text or "\\uD" in text
        ):  # halves of characters, which nothing can print, are errors here
            json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON ({error})") from error
    except UnicodeError as error:
        raise ValueError("it is not text in UTF-8") from error
    except ValueError as error:
        if "digits" in str(error):  # the words of Python are about a setting of its own
            raise ValueError("it holds a number that is too large") from error
        raise
    return document


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("its structure is broken, because a name is there twice")
    return document


def check_keys(where: str, document: Any, required: Iterable[str], optional: Iterable[str] = ()) -> None:
    """Raise unless a value is a sample of JSON with these names."""
    if not isinstance(document, dict):
        raise ValueError(f"{where} must be an object with names, got {shortened(document)}")
    required = list(required)
    missing = [name for name in required if name not in document]
    if missing:
        raise ValueError(f"its structure is broken, because {where} lacks {missing[0]!r}")
    unknown = document.keys() - set(required) - set(optional)
    if unknown:
        raise ValueError(f"{where} must not have {shortened(min(unknown))}")


def array_of(where: str, content: Any) -> npt.NDArray[Any]:
    """An array from what JSON holds of it: its type, its shape, and its values one after the other.

    How it lies in memory matters to the last bit of products, so that an array in the order of columns says so.
    """
    check_keys(where, content, ("type", "shape", "values"), ("order",))
    text("F")(f"{where}.order", content.get("order", "F"))
    kind, shape, values = content["type"], content["shape"], content["values"]
    if not isinstance(kind, str) or kind not in ARRAY_TYPES:
        raise ValueError(f"{where} must be an array of one of {ARRAY_TYPES}, got {shortened(kind)}")
    if not (isinstance(shape, list) and set(map(type, shape)) <= {int} and len(shape) <= _MOST_DIMENSIONS):
        raise ValueError(f"{where} has no valid shape: {shortened(shape)}")
    if min(shape, default=0) < 0 or not isinstance(values, list) or math.prod(shape) != len(values):
        brought = f"{len(values)} values" if isinstance(values, list) else "no list of values"
        raise ValueError(f"{where} claims the shape {shortened(shape)} and brings {brought}")
    if not values and max(shape) > LARGEST_CLAIM:
        raise ValueError(f"{where} is empty and claims the shape {shortened(shape)}, which is too large")
    if not _are_of(kind, values):
        raise ValueError(f"{where} is an array of {kind} and holds values of another kind")
    with np.errstate(over="ignore"):  # becomes infinite, and is refused where it must be finite
        found = np.array(values, dtype=object if kind == "str" else kind).reshape(shape)
    return np.asfortranarray(found) if "order" in content else found


def _are_of(kind: str, values: list[Any]) -> bool:
    """Whether all values are of a kind; among numbers, words are for those that are not finite."""
    if kind in ("bool", "str") or (values and isinstance(values[0], str)):
        return set(map(type, values)) <= {bool if kind == "bool" else str} and not kind.startswith("int")
    return kind.startswith("float") if (total := _sum(values)) is float else total is int


def _sum(values: Iterable[Any]) -> type | None:
    """The type of the sum of numbers; None if something else is among them. Faster than to look at each."""
    try:
        return type(sum(values))
    except TypeError:
        return None


def table_of(where: str, rows: Any, n_columns: int) -> npt.NDArray[np.float64]:
    """A table from a list of rows."""
    if not isinstance(rows, list) or set(map(type, rows)) != {list} or set(map(len, rows)) != {n_columns}:
        raise ValueError(f"{where} must be rows of {n_columns} numbers each")
    if _sum(map(sum, rows)) is None:
        raise ValueError(f"{where} must hold numbers only")
    values = np.fromiter(chain.from_iterable(rows), dtype=np.float64, count=len(rows) * n_columns)
    return values.reshape(len(rows), n_columns)


def check_names(where: str, names: Any) -> None:
    """Raise unless a value is a list of names."""
    if not isinstance(names, list) or not set(map(type, names)) <= {str}:
        raise ValueError(f"{where} is not a list of names")


# What a value must be


def number(low: float = -math.inf, high: float = math.inf, *, above: bool = False, finite: bool = True) -> Check:
    """A check: the value is a number between two bounds."""

    def check(where: str, value: Any) -> None:
        right = type(value) in (int, float) and low <= value <= high and not (above and value == low)
        if not right or abs(value) > (
            _LARGEST if type(value) is int else sys.float_info.max if finite else math.inf
        ):
            raise ValueError(f"{where} must be a number{_between(low, high, above)}, got {shortened(value)}")

    return check


def whole(low: int = 0, high: int = _LARGEST) -> Check:
    """A check: the value is a whole number between two bounds."""

    def check(where: str, value: Any) -> None:
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"{where} must be a whole number of at least {low}, got {shortened(value)}")

    return check


def flag(where: str, value: Any) -> None:
    """A check: the value is true or false."""
    if type(value) is not bool:
        raise ValueError(f"{where} must be true or false, got {shortened(value)}")


def text(*choices: str) -> Check:
    """A check: the value is a word."""

    def check(where: str, value: Any) -> None:
        if not isinstance(value, str) or (choices and value not in choices):
            allowed = f"one of {list(choices)}" if choices else "a word"
            raise ValueError(f"{where} must be {allowed}, got {shortened(value)}")

    return check


def sentences(where: str, value: Any) -> None:
    """Check that a value is a list or tuple of lines of text."""
    if not isinstance(value, (list, tuple)) or not all(type(one) is str for one in value):
        raise ValueError(f"{where} must be a list of sentences, got {shortened(value)}")
    if any(len(one.splitlines()) != 1 or not one.isprintable() for one in value):
        raise ValueError(f"{where} must have one line of text for each sentence, got {shortened(value)}")


def array(
    n_dimensions: int, kinds: str = "f", *, low: float = -math.inf, high: float = math.inf, finite: bool = True
) -> Check:
    """A check: the value is an array with values between two bounds."""

    def check(where: str, value: Any) -> None:
        if not isinstance(value, np.ndarray) or value.ndim != n_dimensions or value.dtype.kind not in kinds:
            raise ValueError(f"{where} must be an array of {n_dimensions} dimensions, got {shortened(value)}")
        if value.size == 0 or value.dtype.kind in "bO" or not (finite or low > -math.inf or high < math.inf):
            return
        # NaN if one of them is, and then no comparison holds; in double precision, where bounds are what they are.
        least, most = value.min().item(), value.max().item()
        if not (low <= least and most <= high and not (finite and max(-least, most) == math.inf)):
            raise ValueError(f"{where} must hold finite numbers{_between(low, high, False)}")

    return check


def quadratic_forms(where: str, value: Any) -> None:
    """A check: the value is an array of symmetric matrices, none of which makes a square negative."""
    array(3, low=-_LARGEST_FORM, high=_LARGEST_FORM)(where, value)
    if value.shape[1] != value.shape[2] or not np.allclose(value, value.transpose(0, 2, 1), rtol=1e-6, atol=0):
        raise ValueError(f"{where} must hold symmetric matrices")
    squares = np.linalg.eigvalsh(value)
    if (squares[:, 0] < -1e-6 * squares[:, -1]).any():
        raise ValueError(f"{where} must hold matrices of squared distances, and one of them makes some negative")


def optional(check: Check) -> Check:
    """A check: the value is missing, or passes another check."""

    def check_or_none(where: str, value: Any) -> None:
        if value is not None:
            check(where, value)

    return check_or_none


def instance(*classes: type) -> Check:
    """A check: the value is of one of these classes."""

    def check(where: str, value: Any) -> None:
        if not isinstance(value, classes):
            names = " or ".join(one.__name__ for one in classes)
            raise ValueError(f"{where} must be of {names}, got {shortened(value)}")

    return check


def check_length(where: str, value: Any, shape: tuple[int, ...]) -> None:
    """Raise unless an array has the shape that other values ask for; nothing is wrong with a missing one."""
    if value is not None and value.shape != shape:
        raise ValueError(f"{where} must have shape {shape}, got {value.shape}")


def shortened(value: Any) -> str:
    """A value for an error message, however long it is."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    if type(value) is int and abs(value) > 10**40:  # some are too long to be written at all
        return "a number of more than 40 digits"
    return reprlib.repr(value) if isinstance(value, (int, float, str, list, dict)) else type(value).__name__


def _between(low: float, high: float, above: bool) -> str:
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
    "explaining",
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
