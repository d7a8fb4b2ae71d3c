"""How frames and sets are written: ``3`` or ``["a", "b", "c"]`` for a frame, ``(0, 2)`` or ``"a,c"`` for a set."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from evlearn.belief.types import BoolArray

#: The frame: its number of elements, or their names.
Frame: TypeAlias = int | Sequence[str]
#: A set: element numbers or names, or a string such as ``"T,O"``.
SetLike: TypeAlias = str | Iterable[int | str]

EMPTY_LABEL = "∅"
FRAME_LABEL = "Ω"


def read_frame(frame: Frame) -> tuple[tuple[str, ...] | None, int]:
    """The names of a frame's elements, None where they are only numbered, and how many there are.

    Parameters
    ----------
    frame : int or sequence of str
        The frame as the user wrote it.

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
    for name in names:
        if not name.strip() or "," in name or name in (EMPTY_LABEL, FRAME_LABEL) or names.count(name) > 1:
            raise ValueError(
                f"frame has the name {name!r}; names must be different, not blank, without commas, "
                f"and other than {EMPTY_LABEL} and {FRAME_LABEL}."
            )
    return names, len(names)


def read_table(table: npt.ArrayLike) -> BoolArray:
    """A membership table given as zeros and ones.

    Parameters
    ----------
    table : array-like of shape (n_sets, n_elements)
        The table as the user wrote it.

    Returns
    -------
    ndarray of bool of shape (n_sets, n_elements)
        The table.
    """
    values = np.asarray(table)
    if values.ndim != 2 or (values.dtype != np.bool_ and not np.isin(values, (0, 1)).all()):
        raise ValueError("table must be a 2-D array of zeros and ones, a row per set, a column per element.")
    return values.astype(bool)


def read_set(subset: SetLike, names: tuple[str, ...] | None, size: int) -> BoolArray:
    """A set as a row of a membership table.

    Parameters
    ----------
    subset : set
        The set as the user wrote it.
    names : tuple of str or None
        The names of the elements of the frame.
    size : int
        The number of elements of the frame.

    Returns
    -------
    ndarray of bool of shape (size,)
        Whether each element belongs to the set.
    """
    row = np.zeros(size, dtype=bool)
    if isinstance(subset, str):
        text = subset.strip().strip("{}")
        if text == FRAME_LABEL:
            return ~row
        subset = [] if text in ("", EMPTY_LABEL) else [part.strip() for part in text.split(",")]
    elif not isinstance(subset, Iterable):
        raise TypeError(f"a set must be a list of elements or a string, got {subset!r}; write ({subset!r},).")
    elements = list(subset)
    for element in elements:
        row[_element(element, elements, names, size)] = True
    return row


def _element(element: int | str, elements: list[int | str], names: tuple[str, ...] | None, size: int) -> int:
    if names is not None and element in names:
        return names.index(str(element))
    numbered = isinstance(element, (int, np.integer)) and not isinstance(element, bool)
    if names is None and isinstance(element, str) and element in map(str, range(size)):
        element, numbered = int(element), True
    if numbered and 0 <= int(element) < size:
        return int(element)
    inside = f"numbered 0 to {size - 1}" + (f" and named {', '.join(names[:10])}" if names else "")
    raise ValueError(
        f"the set {elements!r} has the element {element!r}, which is outside the frame of {size} elements, "
        f"{inside}. Remove it, or enlarge the frame."
    )


def label(row: BoolArray, names: tuple[str, ...] | None) -> str:
    """A set as text: ``∅``, ``{0,2}``, or ``Ω`` for the frame.

    Parameters
    ----------
    row : ndarray of bool of shape (n_elements,)
        Whether each element belongs to the set.
    names : tuple of str or None
        The names of the elements of the frame.

    Returns
    -------
    str
        The label.
    """
    members = np.flatnonzero(row)
    if len(members) == 0:
        return EMPTY_LABEL
    if len(members) == len(row):
        return FRAME_LABEL
    return "{" + ",".join(str(member) if names is None else names[member] for member in members) + "}"
