"""Cells of text tables: missing-value tokens and number formats.

The table reader of the command line and the encoders of `evlearn.preprocessing` share these rules, so that a file
and a data frame with the same cells give the same columns.
"""

import re
from dataclasses import dataclass
from functools import cached_property

#: Text that denotes a missing value, in lower case.
MISSING_TOKENS = frozenset({"", "?", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "none"})


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
        The mark between groups of 3 digits, or None if there is none.
    """

    decimal: str = "."
    thousands: str | None = None

    def parse(self, cell: str) -> float | None:
        """Return the number written in `cell`, or None if `cell` is not a number in this format.

        Unlike `float`, underscores and digits outside ASCII are rejected. A thousands mark is accepted only
        between groups of 3 digits.
        """
        cell = cell.strip()
        if self._pattern.fullmatch(cell) is None:
            return None
        if self.thousands is not None:
            cell = cell.replace(self.thousands, "")
        return float(cell.replace(self.decimal, "."))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        decimal = re.escape(self.decimal)
        digits = "[0-9]+"
        if self.thousands is not None:
            digits = f"(?:[0-9]{{1,3}}(?:{re.escape(self.thousands)}[0-9]{{3}})+|[0-9]+)"
        finite = f"(?:{digits}(?:{decimal}[0-9]*)?|{decimal}[0-9]+)(?:[eE][+-]?[0-9]+)?"
        return re.compile(f"[+-]?(?:{finite}|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)")
