"""How frames and sets are written: ``3`` or ``["a", "b", "c"]`` for a frame, ``(0, 2)`` or ``"a,c"`` for a set.

Names may hold any character. In the text of a set, a name that could be taken for something else stands in double
quotes, as a JSON string: ``{"a,b",c}`` is the set of ``a,b`` and ``c``. So different sets have different texts,
and each is read back as the set that it was made from.
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

#: The frame: its number of elements, or their names.
Frame: TypeAlias = int | Sequence[str]
#: A set: element numbers or names, or a string such as ``"T,O"``.
SetLike: TypeAlias = str | Iterable[int | str]

EMPTY_LABEL = "∅"
FRAME_LABEL = "Ω"

# What would be read as something else in the text of a set, or would break the line.
_SPECIAL = re.compile('[,{}"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]')
_PART = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^,]*)\s*(,|\Z)', re.DOTALL)


def read_frame(frame: Frame) -> tuple[tuple[str, ...] | None, int]:
    """The names of a frame's elements, None where they are only numbered, and how many there are.

    Returns
    -------
    names : tuple of str or None
        The names.
    size : int
        The number of elements.
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
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise ValueError(f"frame has the name {twice!r} twice; names must be different.")
    return names, len(names)


def read_table(table: npt.ArrayLike) -> BoolArray:
    """A membership table given as zeros and ones."""
    values = np.asarray(table)
    if values.ndim != 2 or (values.dtype != np.bool_ and not np.isin(values, (0, 1)).all()):
        raise ValueError("table must be a 2-D array of zeros and ones, a row per set, a column per element.")
    return values.astype(bool)


def read_set(subset: SetLike, names: tuple[str, ...] | None, size: int) -> BoolArray:
    """A set as a row of a membership table."""
    row = np.zeros(size, dtype=bool)
    if isinstance(subset, str):
        text = subset.strip()
        if text.startswith("{") and text.endswith("}"):
            text = text[1:-1].strip()
        if text == FRAME_LABEL:
            return ~row
        subset = [] if text in ("", EMPTY_LABEL) else list(_parts(text))
    elif not isinstance(subset, Iterable):
        raise TypeError(f"a set must be a list of elements or a string, got {subset!r}; write ({subset!r},).")
    elements = list(subset)
    for element in elements:
        row[_element(element, elements, names, size)] = True
    return row


def _parts(text: str) -> Iterator[str]:
    """The names between commas, those in quotes as what the quotes hold."""
    position, comma = 0, ","
    while comma:
        found = _PART.match(text, position)
        assert found is not None  # anything up to a comma or the end is a part
        part, comma, position = found[1].strip(), found[2], found.end()
        if len(part) > 1 and part[0] == part[-1] == '"':
            try:
                part = json.loads(part, strict=False)
            except json.JSONDecodeError as error:
                raise ValueError(f"the set {text!r} has the name {part}, which is not a JSON string.") from error
        yield part


def _element(element: int | str, elements: list[int | str], names: tuple[str, ...] | None, size: int) -> int:
    if isinstance(element, str):
        number = _numbers(names).get(element) if names is not None else _number(element, size)
        if number is not None:
            return number
    elif isinstance(element, (int, np.integer)) and not isinstance(element, bool) and 0 <= int(element) < size:
        return int(element)
    inside = f"numbered 0 to {size - 1}" + (f" and named {', '.join(map(written, names[:10]))}" if names else "")
    raise ValueError(
        f"the set {elements!r} has the element {element!r}, which is outside the frame of {size} elements, "
        f"{inside}. Remove it, or enlarge the frame."
    )


@lru_cache(maxsize=4)
def _numbers(names: tuple[str, ...]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


def _number(text: str, size: int) -> int | None:
    plain = text.isascii() and text.isdecimal() and len(text) <= len(str(size))
    return int(text) if plain and str(int(text)) == text and int(text) < size else None


def written(name: str) -> str:
    """A name as it stands in the text of a set: as it is, or in quotes if it could be taken for something else."""
    if name and name == name.strip() and name not in (EMPTY_LABEL, FRAME_LABEL) and not _SPECIAL.search(name):
        return name
    return json.dumps(name, ensure_ascii=not name.isprintable())


def label(row: BoolArray, names: tuple[str, ...] | None) -> str:
    """A set as text, which `read_set` reads back: ``∅``, ``{0,2}``, or ``Ω`` for the frame."""
    members = np.flatnonzero(row)
    if len(members) == 0:
        return EMPTY_LABEL
    if len(members) == len(row):
        return FRAME_LABEL
    return "{" + ",".join(str(member) if names is None else written(names[member]) for member in members) + "}"
