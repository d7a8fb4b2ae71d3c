"""Numbers, shares, counts, durations and lists as text for readers."""

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


def format_number(value: float) -> str:
    """Format a number to 3 significant digits or, if it is larger, to a whole number.

    Only numbers that are extremely large or small have an exponent.
    """
    if value == 0 or abs(value) >= _LARGEST or abs(value) < 1e-6:
        return f"{value:.3g}"
    if abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{float(f'{value:.3g}'):,.10f}".rstrip("0").rstrip(".")


def format_rounded(value: float, step: float = 0.0, *, separator: str = ",") -> str:
    """Format a number without an exponent, rounded to a multiple of `step` or to 4 significant digits.

    Examples
    --------
    >>> from evlearn.utils.formatting import format_rounded
    >>> (
    ...     format_rounded(52341.7, 100),
    ...     format_rounded(0.0234, 0.01),
    ...     format_rounded(2923000.0),
    ... )
    ('52,300', '0.02', '2,923,000')
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


def resolution(values: FloatArray) -> float:
    """Return the resolution of values: 1 for whole numbers, 0.1 for tenths; 0 if it is finer than 0.0001."""
    subset = np.clip(values[:: max(1, len(values) // 2000)], -_LARGEST, _LARGEST)
    for decimals in range(5):
        scaled = subset * 10.0**decimals
        if (np.abs(scaled - np.round(scaled)) <= 1e-6 * np.maximum(1, np.abs(scaled))).all():
            return float(10.0**-decimals)
    return 0.0


def format_share(share: float) -> str:
    """Format a share as a percentage; only 0 is "0 %", and only 1 is "100 %"."""
    if 0 < share <= 0.005:
        return "less than 1 %"
    if 0.995 <= share < 1:
        return "more than 99 %"
    return f"{100 * share:.0f} %"


def format_large_share(share: float) -> str:
    """Format a share near 1 as a percentage with 1 decimal; only 1 is "100 %"."""
    return "100 %" if share == 1 else f"{min(100 * share, 99.9):.1f} %" if share <= 0.9995 else "more than 99.9 %"


def format_level(level: float) -> str:
    """Format a level from 0 to 1, with more digits near 0 and 1."""
    return f"{level:.2f}" if 0.01 <= level <= 0.99 or level == 1 else f"{level:.4g}"


def format_count(number: int, noun: str) -> str:
    """Return a number and its noun, in the plural if needed."""
    return f"{number} {pluralize(noun, number)}"


def pluralize(noun: str, number: float = 2) -> str:
    """Return the plural of a noun, or the noun itself for the number 1."""
    return noun if number == 1 else f"{noun}es" if noun.endswith("s") else f"{noun}s"


def format_date(seconds: float, unit: Literal["month", "day", "minute"]) -> str:
    """Format a time, given in seconds since 1970."""
    if not abs(seconds) < _LARGEST / 1000:
        return "unknown"
    moment = np.datetime64(round(seconds), "s")
    if unit == "month":
        year, month = str(moment.astype("M8[M]")).rsplit("-", 1)
        return f"{_MONTHS[int(month) - 1]} {year}"
    return str(moment.astype("M8[D]")) if unit == "day" else str(moment.astype("M8[m]")).replace("T", " ")


def format_duration(seconds: float) -> str:
    """Format a duration in the largest unit of which it has at least 2."""
    for size, name in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.3g} s"


def format_rate(seconds_each: float) -> str:
    """Format the speed of repeated work: its duration, or its number per second."""
    if seconds_each > 1:
        return f"{format_duration(seconds_each)} each"
    number = 1 / seconds_each
    return f"{number:,.0f} per second" if number >= 10 else f"{number:.1f} per second"


def one_line(text: object) -> str:
    """Return text on one line, shortened to fit into a sentence."""
    return truncate(re.sub(r"\s+", " ", str(text)).strip(), _MAX_LENGTH)


def truncate(text: str, max_length: int) -> str:
    """Shorten a text to a maximum number of characters, with an ellipsis at its end."""
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


def join_words(words: Sequence[str], conjunction: str = "and") -> str:
    """Join words: a, b and c."""
    return f" {conjunction} ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def join_first(words: Sequence[str], limit: int, rest: str = "and {} more") -> str:
    """Join at most `limit` words by commas; `rest` follows if there are more, with their number for the braces."""
    return ", ".join([*words[:limit], *([rest.format(len(words) - limit)] if len(words) > limit else [])])
