"""Cells of text tables: missing-value tokens, formulas, and formats of numbers, amounts, percentages and dates.

The table reader of the command line and the encoders of `evlearn.preprocessing` share these rules, so that a file
and a data frame with the same cells give the same columns.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Literal

import numpy as np

from evlearn.utils.typing import FloatArray

#: Text that denotes a missing value, in lower case.
MISSING_TOKENS = frozenset({"", "?", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "none"})

#: Order of day and month in a date; an ISO date is accepted in each of them.
DateOrder = Literal["day/month/year", "month/day/year"]

#: The unit of percentages.
PERCENT = "%"
_CODES = (
    "AED ARS AUD BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KRW KWD MAD MXN MYR NGN NOK "
    "NZD PEN PHP PKR PLN QAR RON RSD RUB SAR SEK SGD THB TND TRY TWD UAH USD VND ZAR"
)
_SYMBOLS = {
    "\u20ac": "EUR",
    "$": "USD",
    "US$": "USD",
    "\u00a3": "GBP",
    "\u00a5": "JPY",
    "\u20b9": "INR",
    "\u20bd": "RUB",
    "\u20a9": "KRW",
    "\u20ba": "TRY",
    "\u20aa": "ILS",
    "\u20ab": "VND",
    "\u20b4": "UAH",
    "\u0e3f": "THB",
    "R$": "BRL",
    "z\u0142": "PLN",
    "K\u010d": "CZK",
    "kr": "kr",
    "kr.": "kr",
    "Fr.": "CHF",
}
_CURRENCIES = _SYMBOLS | {code: code for code in _CODES.split()}
#: The units of amounts.
CURRENCIES = tuple(sorted(set(_CURRENCIES.values())))
_UNIT = "|".join(re.escape(mark) for mark in sorted([*_CURRENCIES, PERCENT], key=len, reverse=True))
_AMOUNT = re.compile(
    f"(?P<sign>[+\u2212-]?)\\s*(?P<before>{_UNIT})?\\s*(?P<number>[+\u2212-]?[0-9.,][^A-Za-z%]*?)\\s*(?P<after>{_UNIT})?"
)
#: Marks between groups of 3 digits that are never decimal marks.
_SPACES = " \u00a0\u202f'\u2019"
_DATE = re.compile(
    r"([0-9]{1,2})([/.-])([0-9]{1,2})\2([0-9]{4})(?:[ T]+([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]+)?)?)?"
)
#: First characters of cells that a spreadsheet evaluates as formulas.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def is_missing_text(cell: str) -> bool:
    """Return True if `cell` is a missing-value token, in any case and with any surrounding whitespace."""
    return cell.strip().lower() in MISSING_TOKENS


@dataclass(frozen=True)
class NumberFormat:
    """Notation of numbers in text.

    Attributes
    ----------
    decimal : str
        The decimal mark, a single character.
    thousands : str or None
        The mark between groups of 3 digits, or None if there is none. Each of several characters is such a mark.
    unit : str or None
        None for plain numbers; "%" for percentages, each of which has the sign; or a currency such as "EUR" for
        amounts of money with or without this currency, before or after the number.
    """

    decimal: str = "."
    thousands: str | None = None
    unit: str | None = None

    @classmethod
    def of_unit(cls, decimal: str, unit: str | None) -> "NumberFormat":
        """Return the format of amounts or percentages with any thousands mark, or the plain one without a unit."""
        return cls(decimal) if unit is None else cls(decimal, ("," if decimal == "." else ".") + _SPACES, unit)

    def parse(self, cell: str) -> float | None:
        """Return the number written in `cell`, or None if `cell` is not a number in this format.

        Unlike `float`, underscores and digits outside ASCII are rejected. A thousands mark is accepted only
        between groups of 3 digits.
        """
        cell = cell.strip()
        if self.unit is not None:
            unit, cell = split_unit(cell)
            if unit != self.unit and (unit is not None or self.unit == PERCENT):
                return None
        if self._pattern.fullmatch(cell) is None:
            return None
        for mark in self.thousands or "":
            cell = cell.replace(mark, "")
        return float(cell.replace(self.decimal, "."))

    def parse_all(self, cells: Sequence[str | None]) -> tuple[FloatArray, int | None]:
        """Return the numbers written in `cells`, and the position of the first cell that is not a number.

        Missing cells (None or a missing-value token) are NaN. The position is None if all other cells are numbers.
        """
        texts = [cell or "" for cell in cells]
        characters = "\n".join(texts).encode("ascii", "replace")
        if self.unit is None and not characters.translate(
            None, f"0123456789eE+- {self.decimal}\n".encode("ascii", "replace")
        ):
            # Neither underscores nor words, so that `float` reads the same numbers as `parse`, but faster.
            points = texts if self.decimal == "." else [cell.replace(self.decimal, ".") for cell in texts]
            try:
                filled = [cell or "nan" for cell in points] if "" in points else points
                return np.array(filled, dtype=np.float64), None
            except ValueError:
                pass
        numbers = np.full(len(texts), np.nan)
        parsed: dict[str, float | None] = {}
        for k, cell in enumerate(texts):
            if cell not in parsed:
                parsed[cell] = self.parse(cell)
            number = parsed[cell]
            if number is not None:
                numbers[k] = number
            elif not is_missing_text(cell):
                return numbers, k
        return numbers, None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        decimal = re.escape(self.decimal)
        digits = "[0-9]+"
        if self.thousands is not None:
            digits = f"(?:[0-9]{{1,3}}(?:[{re.escape(self.thousands)}][0-9]{{3}})+|[0-9]+)"
        finite = f"(?:{digits}(?:{decimal}[0-9]*)?|{decimal}[0-9]+)(?:[eE][+-]?[0-9]+)?"
        return re.compile(f"[+-]?(?:{finite}|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)")


def split_unit(cell: str) -> tuple[str | None, str]:
    """Return the unit in a cell ("%", a currency such as "EUR", or None) and the number beside it, as text.

    The number is empty if the cell is neither a number nor a number with 1 unit.
    """
    match = _AMOUNT.fullmatch(cell.strip())
    if match is None:
        return None, ""
    sign, before, number, after = match.group("sign", "before", "number", "after")
    if (before and after) or before == PERCENT or (sign and number[0] in "+-\u2212"):
        return None, ""
    mark = before or after
    unit = None if mark is None else _CURRENCIES.get(mark, PERCENT)
    return unit, (sign + number).replace("\u2212", "-")


def find_number_format(cells: Sequence[str]) -> NumberFormat | None:
    """Return the format of a column of percentages or of amounts in 1 currency; None if it is another column.

    A point or comma is a decimal mark or a thousands mark according to all cells. A column that can be read both
    ways, such as \u20ac1.799 and \u20ac1.859, has no format.
    """
    units: set[str] = set()
    numbers: list[str] = []
    for cell in set(cells):
        unit, number = split_unit(cell)
        if not number:
            return None
        units.add(unit or "")
        numbers.append(number)
    unit = max(units, default="")
    if not unit or len(units - {""}) != 1 or (unit == PERCENT and len(units) > 1):
        return None
    point, comma = NumberFormat.of_unit(".", unit), NumberFormat.of_unit(",", unit)
    values = [[replace(notation, unit=None).parse(number) for number in numbers] for notation in (point, comma)]
    if None in values[0] and None in values[1]:
        return None
    if None in values[1] or values[0] == values[1]:
        return point
    if None in values[0]:
        return comma
    # All marks are in front of 3 digits. Percentages have no thousands; amounts have no 3 decimals, unless all of
    # them are prices of small quantities.
    groups = [re.split("[.,]", number.lstrip("+-")) for number in numbers]
    if unit != PERCENT and all(len(group) > 1 and len(group[0]) == 1 for group in groups):
        return None
    has_comma = any("," in number for number in numbers)
    return point if has_comma == (unit != PERCENT) else comma


def parse_date(cell: str, order: DateOrder) -> datetime | None:
    """Return the date in a cell such as 31/12/2025, 31.12.2025 or 31-12-2025 14:30; None if it has none."""
    match = _DATE.fullmatch(cell.strip())
    if match is None:
        return None
    first, _, second, year, *time = match.groups()
    day, month = (first, second) if order == "day/month/year" else (second, first)
    try:
        hour, minute, seconds = (int(part or 0) for part in time)
        return datetime(int(year), int(month), int(day), hour, minute, seconds)
    except ValueError:
        return None


def find_date_order(cells: Sequence[str]) -> tuple[DateOrder | None, bool]:
    """Return the order of day and month in a column, and True if another order is possible as well.

    None if the cells are not all dates in 1 order. Where both orders are possible, a part that is 1 in all cells
    is the day, and otherwise the day comes first.
    """
    orders: tuple[DateOrder, DateOrder] = ("day/month/year", "month/day/year")
    distinct = set(cells)
    dates = {order: [parse_date(cell, order) for cell in distinct] for order in orders}
    possible = [order for order in orders if None not in dates[order]]
    if not possible or not cells:
        return None, False
    days = [{date.day for date in dates[order] if date is not None} for order in possible]
    if len(possible) == 1 or dates[orders[0]] == dates[orders[1]] or any("." in cell for cell in distinct):
        return possible[0], False
    if {1} in days:
        return possible[days.index({1})], False
    return possible[0], True


def looks_like_date(cell: str) -> bool:
    """Return True if a cell is a date with the day or the month first."""
    return any(parse_date(cell, order) for order in ("day/month/year", "month/day/year"))


def escape_formula(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would evaluate as a formula; numbers remain."""
    if not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
