"""Checks of estimator parameters, with messages that name the parameter, its value and what is allowed."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any


def check_choice(name: str, value: Any, options: Iterable[str]) -> None:
    """Raise unless `value` is one of `options`.

    Parameters
    ----------
    name : str
        The name of the parameter.
    value : object
        Its value.
    options : iterable of str
        What is allowed.
    """
    allowed = list(options)
    if not (isinstance(value, str) and value in allowed):
        raise ValueError(f"{name} must be one of {allowed}, got {value!r}.")


def check_integer(name: str, value: Any, least: int, *, or_auto: bool = False) -> None:
    """Raise unless `value` is a whole number of at least `least`.

    Parameters
    ----------
    name : str
        The name of the parameter.
    value : object
        Its value.
    least : int
        The smallest number allowed.
    or_auto : bool, default=False
        Whether "auto" is allowed too.
    """
    if or_auto and isinstance(value, str) and value == "auto":
        return
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        other = "'auto' or " if or_auto else ""
        raise ValueError(f"{name} must be {other}a whole number of at least {least}, got {value!r}.")


def check_shape(name: str, array: Any, shape: tuple[int, ...]) -> None:
    """Raise unless an array has the shape that other arrays ask for.

    Parameters
    ----------
    name : str
        What the array is called.
    array : ndarray
        The array.
    shape : tuple of int
        The shape it should have.
    """
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
) -> None:
    """Raise unless `value` is a number between `low` and `high`.

    Parameters
    ----------
    name : str
        The name of the parameter.
    value : object
        Its value.
    low, high : float
        The bounds.
    open_low : bool, default=False
        Whether `low` itself is excluded.
    or_auto : bool, default=False
        Whether "auto" is allowed too.
    """
    if or_auto and isinstance(value, str) and value == "auto":
        return
    number = float("nan") if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    if not low <= number <= high or (open_low and number == low):
        bound = f"above {low:g}" if open_low else f"at least {low:g}"
        upper = "" if high == float("inf") else f" and at most {high:g}"
        other = "'auto' or " if or_auto else ""
        raise ValueError(f"{name} must be {other}a number {bound}{upper}, got {value!r}.")
