"""Constraints on the fields of stored classes, as checks of values and as annotations.

Files may come from other programs and are not trusted. A `ValueError` names any value whose type, shape or range
is wrong.
"""

import math
import reprlib
import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evlearn.utils.typing import FloatArray, IntArray

#: Function of the position of a value in the file and the value; it raises if the value is invalid.
Check: TypeAlias = Callable[[str, Any], None]

#: Maximum size that a file may claim without data, such as the number of columns of an empty table.
LARGEST_CLAIM = 1_000_000

_LARGEST_FORM = 1e100  # squared distances do not overflow
_LARGEST = 2**63 - 1  # NumPy converts larger whole numbers to objects


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


def covariance(place: str, value: Any) -> None:
    """Check that a value is a covariance matrix that is not singular, or a vector of variances."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        array(1, low=np.finfo(float).tiny)(place, value)
        return
    array(2)(place, value)
    quadratic_forms(place, value[None])
    sizes = np.linalg.eigvalsh(value)
    if sizes.size and not sizes[0] > 1e-14 * sizes[-1]:
        raise ValueError(f"{place} must be a covariance matrix that is not singular")


def ascending(place: str, value: Any) -> None:
    """Check that a value is an array of numbers in ascending order, which may be infinite."""
    array(1, finite=False)(place, value)
    if np.isnan(value).any() or (np.diff(value) < 0).any():
        raise ValueError(f"{place} must be numbers in ascending order")


def class_labels(place: str, value: Any) -> None:
    """Check that a value is an array of distinct class labels."""
    array(1, "iufbO", finite=False)(place, value)
    if len(value) < 2 or len(set(value.tolist())) != len(value):
        raise ValueError(f"{place} must contain at least 2 classes, each once")


def predictor(place: str, value: object) -> None:
    """Check that a value is a clusterer or classifier that predicts."""
    if not any(hasattr(value, name) for name in ("predict_mass", "predict_proba", "predict")):
        raise ValueError(f"{place} must be a clusterer that predicts")


def optional(check: Check) -> Check:
    """Return a check that a value is missing or passes another check."""

    def check_or_none(place: str, value: object) -> None:
        if value is not None:
            check(place, value)

    return check_or_none


def list_of(check: Check, *, min_length: int = 0) -> Check:
    """Return a check that a value is a list or tuple whose items pass another check."""

    def check_all(location: str, value: object) -> None:
        if not isinstance(value, (list, tuple)) or len(value) < min_length:
            raise ValueError(f"{location} must be a list of at least {min_length} items, got {shortened(value)}")
        for k, item in enumerate(value):
            check(f"{location}[{k}]", item)

    return check_all


def any_of(*checks: Check) -> Check:
    """Return a check that a value passes one of several checks."""

    def check_any(location: str, value: object) -> None:
        for check in checks[:-1]:
            try:
                return check(location, value)
            except ValueError:
                continue
        return checks[-1](location, value)

    return check_any


def instance(*classes: type) -> Check:
    """Return a check that a value is an instance of one of these classes."""

    def check(place: str, value: object) -> None:
        if not isinstance(value, classes):
            names = " or ".join(kind.__name__ for kind in classes)
            raise ValueError(f"{place} must be of {names}, got {shortened(value)}")

    return check


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


# Annotations of fields

#: Largest mass, with rounding errors in single precision.
LARGEST_MASS = 1 + 1e-4
PositiveNumber: TypeAlias = Annotated[float, number(0, above=True)]
NonnegativeNumber: TypeAlias = Annotated[float, number(0)]
#: Number that may be infinite.
ExtendedNumber: TypeAlias = Annotated[float, number(finite=False)]
PositiveExtendedNumber: TypeAlias = Annotated[float, number(0, above=True, finite=False)]
NonnegativeExtendedNumber: TypeAlias = Annotated[float, number(0, finite=False)]
#: Number whose square neither overflows nor underflows.
SquarableNumber: TypeAlias = Annotated[float, number(1e-154, 1e154)]
Fraction: TypeAlias = Annotated[float, number(0, 1)]
PositiveCount: TypeAlias = Annotated[int, whole(1)]
Vector: TypeAlias = Annotated[FloatArray, array(1)]
Matrix: TypeAlias = Annotated[FloatArray, array(2)]
NonnegativeVector: TypeAlias = Annotated[FloatArray, array(1, low=0)]
NonnegativeMatrix: TypeAlias = Annotated[FloatArray, array(2, low=0)]
#: Vector of numbers whose inverses are finite.
PositiveVector: TypeAlias = Annotated[FloatArray, array(1, low=np.finfo(float).tiny)]
#: Vector of divisors, with a safety margin.
ScaleVector: TypeAlias = Annotated[FloatArray, array(1, low=1e-300)]
#: Vector of numbers that may be infinite or NaN.
ExtendedVector: TypeAlias = Annotated[FloatArray, array(1, finite=False)]
Indices: TypeAlias = Annotated[IntArray, array(1, "i", low=0)]
Masses: TypeAlias = Annotated[FloatArray, array(2, low=0, high=LARGEST_MASS)]
FeatureNames: TypeAlias = Annotated[npt.NDArray[Any], array(1, "O")]
ClassLabels: TypeAlias = Annotated[npt.NDArray[Any], class_labels]
Sentences: TypeAlias = Annotated[tuple[str, ...], sentences]
