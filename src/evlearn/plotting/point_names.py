"""Names beside points, each where it hides least of the others."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation

from evlearn.plotting.names import shortened
from evlearn.utils.typing import BoolArray, FloatArray

_FONT = 9.0  # points
#: Where a name may stand beside its point, from the best to the worst: offsets in points, and alignments.
_PLACES: tuple[tuple[float, float, str, str], ...] = (
    *((7, 0, "left", "center"), (-7, 0, "right", "center"), (0, 6, "center", "bottom"), (0, -6, "center", "top")),
    *((5, 5, "left", "bottom"), (5, -5, "left", "top"), (-5, 5, "right", "bottom"), (-5, -5, "right", "top")),
    *((7, 13, "left", "bottom"), (7, -13, "left", "top"), (-7, 13, "right", "bottom"), (-7, -13, "right", "top")),
)


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
    nobody = np.zeros(len(points), dtype=bool)
    faint, above = nobody if faint is None else faint, nobody if above is None else above
    page = on_page(ax, points)
    figure = ax.get_figure(root=True)
    assert figure is not None
    frame = np.array(ax.bbox.extents) * 72 / figure.dpi
    taken = [np.array([x - 4, y - 4, x + 4, y + 4]) for x, y in page] + list(obstacles)
    labels = {}
    for number in np.argsort(faint, kind="stable"):
        name = shortened(names[number])
        places = (*_PLACES[4:5], *_PLACES) if above[number] else _PLACES
        boxes = [_box(page[number], name, place) for place in places]
        chosen = int(np.argmin([_cost(box, taken, frame) for box in boxes]))
        taken.append(boxes[chosen])
        labels[int(number)] = _write(ax, points[number], name, places[chosen], bool(faint[number]))
    return [labels[number] for number in range(len(points))]


def on_page(ax: Axes, points: FloatArray) -> FloatArray:
    """Where points are on the page, in points of 1/72 inch, so that distances can be compared."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return np.asarray(ax.transData.transform(points) * 72 / figure.dpi)


def _write(
    ax: Axes, point: FloatArray, name: str, place: tuple[float, float, str, str], faint: bool
) -> Annotation:
    right, up, across, along = place
    return ax.annotate(
        name,
        (float(point[0]), float(point[1])),
        xytext=(right, up),
        textcoords="offset points",
        ha=across,
        va=along,
        fontsize=_FONT,
        color="0.35" if faint else "black",
        path_effects=[withStroke(linewidth=2, foreground="white")],
        zorder=3,
    )


def _box(point: FloatArray, name: str, place: tuple[float, float, str, str]) -> FloatArray:
    """About where a name would stand: left, bottom, right and top."""
    right, up, across, along = place
    width, height = 0.56 * _FONT * len(name), 1.2 * _FONT
    left = point[0] + right - width * {"left": 0, "center": 0.5, "right": 1}[across]
    bottom = point[1] + up - height * {"bottom": 0, "center": 0.5, "top": 1}[along]
    return np.array([left, bottom, left + width, bottom + height])


def _cost(box: FloatArray, taken: list[FloatArray], frame: FloatArray) -> float:
    """How much of a box lies on others or outside the frame."""
    others = np.array(taken)
    across = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0])
    along = np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1])
    shared = (np.maximum(across, 0) * np.maximum(along, 0)).sum()
    outside = np.maximum(frame[:2] - box[:2], 0).sum() + np.maximum(box[2:] - frame[2:], 0).sum()
    return float(shared + 10 * outside)


__all__ = ["on_page", "write_names"]
