"""Axes, text on them, and names beside points."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation

from evlearn.utils.formatting import truncate
from evlearn.utils.typing import BoolArray, FloatArray

_AXIS_COLOR = "0.55"  # of axes and ticks
_MAX_LENGTH = 24  # characters of a name
#: Maximum number of characters of an axis label.
_MAX_AXIS_LENGTH = 60
_FONT = 9.0  # points
#: Positions of a name relative to its point, best first: offsets in points, and alignments.
_PLACEMENTS: tuple[tuple[float, float, str, str], ...] = (
    *((7, 0, "left", "center"), (-7, 0, "right", "center"), (0, 6, "center", "bottom"), (0, -6, "center", "top")),
    *((5, 5, "left", "bottom"), (5, -5, "left", "top"), (-5, 5, "right", "bottom"), (-5, -5, "right", "top")),
    *((7, 13, "left", "bottom"), (7, -13, "left", "top"), (-7, 13, "right", "bottom"), (-7, -13, "right", "top")),
)


def open_axes(ax: Axes | None, width: float = 6.4) -> Axes:
    """Return styled axes: those of the caller, or new ones with space for a legend."""
    if ax is None:
        # Imported here because pyplot selects a backend at import.
        from matplotlib import pyplot as plt

        _, ax = plt.subplots(figsize=(width, 4.8), layout="constrained")
    set_style(ax)
    return ax


def set_style(ax: Axes) -> None:
    """Draw light axes at the left and at the bottom, without a frame."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(_AXIS_COLOR)
    ax.tick_params(color=_AXIS_COLOR, labelcolor="0.25", labelsize="small")
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_color("0.15")


def open_panels(ax: Axes | Sequence[Axes] | None, n_panels: int) -> list[Axes]:
    """Return styled axes for panels: those of the caller, or new ones in a row."""
    if ax is None:
        from matplotlib import pyplot as plt

        size = (4.2 * n_panels + 0.8, 4.4)
        ax = list(plt.subplots(1, n_panels, figsize=size, layout="compressed", squeeze=False)[1].flat)
    panels = [ax] if isinstance(ax, Axes) else list(np.ravel(np.array(ax, dtype=object)))
    if len(panels) != n_panels:
        raise ValueError(f"ax has {len(panels)} axes but there are {n_panels} panels; pass one for each.")
    for panel in panels:
        set_style(panel)
    return panels


def shorten(name: str, max_length: int = _MAX_LENGTH) -> str:
    """Shorten a name and escape its special characters."""
    text = truncate("".join(letter if letter.isprintable() else " " for letter in name), max_length)
    if not text.strip():
        text = f'"{text}"'  # makes a blank name visible
    # matplotlib parses text between dollar signs, and omits labels that start with an underscore.
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def shorten_for_axis(name: str) -> str:
    """Shorten the name of a feature for an axis label."""
    return shorten(name, _MAX_AXIS_LENGTH)


def write_names(
    ax: Axes,
    points: FloatArray,
    names: Sequence[str],
    *,
    faint: BoolArray | None = None,
    above: BoolArray | None = None,
    obstacles: Sequence[FloatArray] = (),
) -> list[Annotation]:
    """Write a name beside each point."""
    no_points = np.zeros(len(points), dtype=bool)
    faint, above = no_points if faint is None else faint, no_points if above is None else above
    page = to_page_points(ax, points)
    figure = ax.get_figure(root=True)
    assert figure is not None
    frame = np.array(ax.bbox.extents) * 72 / figure.dpi
    text_boxes = [np.array([x - 4, y - 4, x + 4, y + 4]) for x, y in page] + list(obstacles)
    labels = {}
    for number in np.argsort(faint, kind="stable"):
        name = shorten(names[number])
        places = (*_PLACEMENTS[4:5], *_PLACEMENTS) if above[number] else _PLACEMENTS
        boxes = [_box(page[number], name, place) for place in places]
        chosen = int(np.argmin([_cost(box, text_boxes, frame) for box in boxes]))
        text_boxes.append(boxes[chosen])
        labels[int(number)] = _write(ax, points[number], name, places[chosen], bool(faint[number]))
    return [labels[number] for number in range(len(points))]


def to_page_points(ax: Axes, points: FloatArray) -> FloatArray:
    """Convert data coordinates to page coordinates in units of 1/72 inch."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return np.asarray(ax.transData.transform(points) * 72 / figure.dpi)


def _write(
    ax: Axes, point: FloatArray, name: str, place: tuple[float, float, str, str], faint: bool
) -> Annotation:
    right, up, horizontal, vertical = place
    return ax.annotate(
        name,
        (float(point[0]), float(point[1])),
        xytext=(right, up),
        textcoords="offset points",
        ha=horizontal,
        va=vertical,
        fontsize=_FONT,
        color="0.35" if faint else "black",
        path_effects=[withStroke(linewidth=2, foreground="white")],
        zorder=3,
    )


def _box(point: FloatArray, name: str, place: tuple[float, float, str, str]) -> FloatArray:
    """Return the approximate box of a name: left, bottom, right and top."""
    right, up, horizontal, vertical = place
    width, height = 0.56 * _FONT * len(name), 1.2 * _FONT
    left = point[0] + right - width * {"left": 0, "center": 0.5, "right": 1}[horizontal]
    bottom = point[1] + up - height * {"bottom": 0, "center": 0.5, "top": 1}[vertical]
    return np.array([left, bottom, left + width, bottom + height])


def _cost(box: FloatArray, occupied: list[FloatArray], frame: FloatArray) -> float:
    """Return the overlap of a box with others, plus a penalty for leaving the frame."""
    boxes = np.array(occupied)
    x_overlap = np.minimum(box[2], boxes[:, 2]) - np.maximum(box[0], boxes[:, 0])
    y_overlap = np.minimum(box[3], boxes[:, 3]) - np.maximum(box[1], boxes[:, 1])
    overlap = (np.maximum(x_overlap, 0) * np.maximum(y_overlap, 0)).sum()
    outside = np.maximum(frame[:2] - box[:2], 0).sum() + np.maximum(box[2:] - frame[2:], 0).sum()
    return float(overlap + 10 * outside)
