"""Cells of text tables: missing-value tokens and number formats.

The table reader of the command line and the encoders of `evlearn.preprocessing` share these rules, so that a file
and a data frame with the same cells give the same columns.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evlearn.utils.typing import FloatArray

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

    def parse_all(self, cells: Sequence[str | None]) -> tuple[FloatArray, int | None]:
        """Return the numbers written in `cells`, and the position of the first cell that is not a number.

        Missing cells (None or a missing-value token) are NaN. The position is None if all other cells are numbers.
        """
        texts = [cell or "" for cell in cells]
        characters = "\n".join(texts).encode("ascii", "replace")
        if not characters.translate(None, f"0123456789eE+- {self.decimal}\n".encode("ascii", "replace")):
            # Neither underscores nor words, so that `float` reads the same numbers as `parse`, but faster.
            points = texts if self.decimal == "." else [cell.replace(self.decimal, ".") for cell in texts]
            try:
                filled = [cell or "nan" for cell in points] if "" in points else points
                return np.array(filled, dtype=np.float64), None
            except ValueError:
                pass
        numbers = np.full(len(texts), np.nan)
        for k, cell in enumerate(texts):
            number = self.parse(cell)
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
            digits = f"(?:[0-9]{{1,3}}(?:{re.escape(self.thousands)}[0-9]{{3}})+|[0-9]+)"
        finite = f"(?:{digits}(?:{decimal}[0-9]*)?|{decimal}[0-9]+)(?:[eE][+-]?[0-9]+)?"
        return re.compile(f"[+-]?(?:{finite}|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)")
