"""Notation of frames and sets: ``3`` or ``["a", "b", "c"]`` for a frame, ``(0, 2)`` or ``"a,c"`` for a set.

Names may contain any character. In the text of a set, ambiguous names are JSON strings in double quotes:
``{"a,b",c}`` is the set of ``a,b`` and ``c``. Therefore, different sets have different texts, and each text is
read as the original set.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from evlearn.utils.typing import BoolArray

#: A frame: its number of elements, or their names.
Frame: TypeAlias = int | Sequence[str]
#: A set: element numbers or names, or a string such as ``"T,O"``.
SetLike: TypeAlias = str | Iterable[int | str]

EMPTY_LABEL = "∅"
FRAME_LABEL = "Ω"

# Characters that are ambiguous in the text of a set, or break the line.
_SPECIAL_CHARACTERS = re.compile('[,{}"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]')
_NAME_PATTERN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^,]*)\s*(,|\Z)', re.DOTALL)


def read_frame(frame: Frame) -> tuple[tuple[str, ...] | None, int]:
    """Return the names of the elements of a frame, or None if they are numbered, and their number.

    Returns
    -------
    names : tuple of str or None
        Names.
    size : int
        Number of elements.
    """
    if isinstance(frame, (int, np.integer)) and not isinstance(frame, bool):
        if frame < 1:
            raise ValueError(f"frame must have at least one element, got {frame}.")
        return None, int(frame)
    if isinstance(frame, (str, bool, float)):
        raise TypeError(f"frame must be a number of elements or a list of names, got {frame!r}.")
    names = tuple(str(name) for name in frame)
    if not names:
        raise ValueError("frame must have at least one element, got an empty list.")
    if len(set(names)) < len(names):
        duplicate = next(name for name, count in Counter(names).items() if count > 1)
        raise ValueError(f"frame contains the name {duplicate!r} more than once; names must be different.")
    return names, len(names)


def read_table(table: npt.ArrayLike) -> BoolArray:
    """Return a membership table from zeros and ones."""
    values = np.asarray(table)
    if values.ndim != 2 or (values.dtype != np.bool_ and not np.isin(values, (0, 1)).all()):
        raise ValueError("table must be a 2-D array of zeros and ones, a row per set, a column per element.")
    return values.astype(bool)


def read_set(subset: SetLike, names: tuple[str, ...] | None, size: int) -> BoolArray:
    """Return a set as a row of a membership table."""
    row = np.zeros(size, dtype=bool)
    if isinstance(subset, str):
        text = subset.strip()
        if text.startswith("{") and text.endswith("}"):
            text = text[1:-1].strip()
        if text == FRAME_LABEL:
            return ~row
        subset = [] if text in ("", EMPTY_LABEL) else list(_split_names(text))
    elif not isinstance(subset, Iterable):
        raise TypeError(f"a set must be a list of elements or a string, got {subset!r}; write ({subset!r},).")
    elements = list(subset)
    for element in elements:
        row[_read_element(element, elements, names, size)] = True
    return row


def _split_names(text: str) -> Iterator[str]:
    """Yield the names between commas, without quotes."""
    position, comma = 0, ","
    while comma:
        match = _NAME_PATTERN.match(text, position)
        assert match is not None  # the pattern matches any text up to a comma or the end
        part, comma, position = match[1].strip(), match[2], match.end()
        if len(part) > 1 and part[0] == part[-1] == '"':
            try:
                part = json.loads(part, strict=False)
            except json.JSONDecodeError as error:
                raise ValueError(f"the set {text!r} has the name {part}, which is not a JSON string.") from error
        yield part


def _read_element(element: int | str, elements: list[int | str], names: tuple[str, ...] | None, size: int) -> int:
    if isinstance(element, str):
        number = _number_names(names).get(element) if names is not None else _read_number(element, size)
        if number is not None:
            return number
    elif isinstance(element, (int, np.integer)) and not isinstance(element, bool) and 0 <= int(element) < size:
        return int(element)
    description = f"numbered 0 to {size - 1}" + (
        f" and named {', '.join(map(format_name, names[:10]))}" if names else ""
    )
    raise ValueError(
        f"the set {elements!r} has the element {element!r}, which is outside the frame of {size} elements, "
        f"{description}. Remove it, or enlarge the frame."
    )


@lru_cache(maxsize=4)
def _number_names(names: tuple[str, ...]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


def _read_number(text: str, size: int) -> int | None:
    plain = text.isascii() and text.isdecimal() and len(text) <= len(str(size))
    return int(text) if plain and str(int(text)) == text and int(text) < size else None


def format_name(name: str) -> str:
    """Return a name as in the text of a set, in quotes if it is ambiguous."""
    if (
        name
        and name == name.strip()
        and name not in (EMPTY_LABEL, FRAME_LABEL)
        and not _SPECIAL_CHARACTERS.search(name)
    ):
        return name
    return json.dumps(name, ensure_ascii=not name.isprintable())


def format_set(row: BoolArray, names: tuple[str, ...] | None) -> str:
    """Return a set as text for `read_set`: ``∅``, ``{0,2}``, or ``Ω`` for the frame."""
    members = row.nonzero()[0].tolist()
    if not members:
        return EMPTY_LABEL
    if len(members) == len(row):
        return FRAME_LABEL
    return "{" + ",".join(str(member) if names is None else format_name(names[member]) for member in members) + "}"
