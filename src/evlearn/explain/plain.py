"""Plain-text formats of numbers, dates and lists: thousands separators, no exponents, few digits."""

import re
from collections.abc import Sequence
from typing import Literal

import numpy as np

from evlearn.utils.typing import FloatArray

_LARGEST = 1e15
_MAX_DECIMALS = 12
_MAX_LENGTH = 60
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def number(value: float, step: float = 0.0, *, separator: str = ",") -> str:
    """Format a number, rounded to a multiple of `step`; without a step, to 4 significant digits.

    Examples
    --------
    >>> from evlearn.explain.plain import number
    >>> number(52341.7, 100), number(0.0234, 0.01), number(2923000.0), number(-0.0)
    ('52,300', '0.02', '2,923,000', '0')
    """
    if not np.isfinite(value):
        return "unknown" if np.isnan(value) else "infinite"
    if abs(value) >= _LARGEST:
        return f"{'below -' if value < 0 else 'above '}{_LARGEST:{separator}.0f}"
    step = step if step > 0 else power_of_ten(abs(value) / 1000)
    rounded = round(value / step) * step if step > abs(value) * 1e-15 else value
    decimals = int(np.clip(-np.floor(np.log10(step) + 1e-9), 0, _MAX_DECIMALS))
    text = f"{rounded:{separator}.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def power_of_ten(value: float) -> float:
    """Return the largest power of 10 that is at most `value`; 1 for zero."""
    return float(10.0 ** np.floor(np.log10(value) + 1e-9)) if value > 0 else 1.0


def date(seconds: float, unit: Literal["month", "day", "minute"]) -> str:
    """Format a time, given in seconds since 1970."""
    if not abs(seconds) < _LARGEST / 1000:
        return "unknown"
    moment = np.datetime64(round(seconds), "s")
    if unit == "month":
        year, month = str(moment.astype("M8[M]")).rsplit("-", 1)
        return f"{_MONTHS[int(month) - 1]} {year}"
    return str(moment.astype("M8[D]")) if unit == "day" else str(moment.astype("M8[m]")).replace("T", " ")


def percent(share: float) -> str:
    """Format a share as a percentage; only 0 is "0 %", and only 1 is "100 %"."""
    if 0 < share < 0.005:
        return "under 1 %"
    if 0.995 < share < 1:
        return "over 99 %"
    return f"{100 * share:.0f} %"


def one_line(text: object) -> str:
    """Return text on one line, shortened to fit into a sentence."""
    words = re.sub(r"\s+", " ", str(text)).strip()
    return words if len(words) <= _MAX_LENGTH else words[: _MAX_LENGTH - 1] + "…"


def join_words(words: Sequence[str], conjunction: str = "and") -> str:
    """Join words: a, b and c."""
    return f" {conjunction} ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def resolution(values: FloatArray) -> float:
    """Return the resolution of values: 1 for whole numbers, 0.1 for tenths; 0 if it is finer than 0.0001."""
    subset = np.clip(values[:: max(1, len(values) // 2000)], -_LARGEST, _LARGEST)
    for decimals in range(5):
        scaled = subset * 10.0**decimals
        if (np.abs(scaled - np.round(scaled)) <= 1e-6 * np.maximum(1, np.abs(scaled))).all():
            return float(10.0**-decimals)
    return 0.0
