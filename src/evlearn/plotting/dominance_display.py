"""Which of several partitions are worse than another in every respect: consistency against nonspecificity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation

from evlearn.belief.types import BoolArray, FloatArray
from evlearn.metrics import consistency_index, nonspecificity_index
from evlearn.partition import CredalPartition
from evlearn.plotting.axes import open_axes
from evlearn.plotting.legends import shortened

_ROUNDING = 1e-9
_COLOR = "#0072B2"
_GREY = "0.55"
_FONT = 9.0  # points
#: Where a name may stand beside its point, from the best to the worst: offsets in points, and alignments.
_PLACES: tuple[tuple[float, float, str, str], ...] = (
    *((7, 0, "left", "center"), (-7, 0, "right", "center"), (0, 6, "center", "bottom"), (0, -6, "center", "top")),
    *((5, 5, "left", "bottom"), (5, -5, "left", "top"), (-5, 5, "right", "bottom"), (-5, -5, "right", "top")),
    *((7, 13, "left", "bottom"), (7, -13, "left", "top"), (-7, 13, "right", "bottom"), (-7, -13, "right", "top")),
)


class DominanceDisplay:
    """Several partitions against a reference: how much they leave open, and how rarely they contradict it.

    One partition dominates another if it is at least as consistent with the reference and leaves at most as much
    open, and is better in one of the two. The upper left corner is the best. Filled points are the partitions that
    no other dominates. The dashed line through them is the border of what is reached: along it one has to choose
    between saying much and saying nothing wrong. Hollow points are dominated.

    Make it with `from_partitions`; the constructor takes what that has computed.

    Parameters
    ----------
    names : sequence of str
        The name of each partition.
    nonspecificities : ndarray of shape (n_partitions,)
        How much each one leaves open.
    consistencies : ndarray of shape (n_partitions,)
        How consistent each one is with the reference.

    Attributes
    ----------
    dominated_ : ndarray of bool of shape (n_partitions,)
        Whether another partition is better.
    ax_ : matplotlib Axes
        Where the picture is drawn.
    figure_ : matplotlib Figure
        The figure around it.
    best_points_, dominated_points_ : matplotlib PathCollection
        The partitions that no other dominates, and the others.
    front_ : matplotlib Line2D
        The line through the former.
    labels_ : list of matplotlib Annotation
        The names.
    legend_ : matplotlib Legend or None
        The legend.

    See Also
    --------
    evlearn.metrics.consistency_index : What the vertical axis shows.
    evlearn.metrics.nonspecificity_index : What the horizontal axis shows.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn import CredalPartition
    >>> from evlearn.plotting import DominanceDisplay
    >>> partitions = {
    ...     "right": [0, 0, 1, 1],
    ...     "wrong": [0, 1, 0, 1],
    ...     "open": CredalPartition.from_rough([[1, 1]] * 4),
    ... }
    >>> display = DominanceDisplay.from_partitions(partitions, [0, 0, 1, 1])
    >>> display.dominated_.tolist()
    [False, True, True]
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, names: Sequence[str], nonspecificities: FloatArray, consistencies: FloatArray) -> None:
        self.names = names
        self.nonspecificities = nonspecificities
        self.consistencies = consistencies
        self.dominated_: BoolArray = _dominated(nonspecificities, consistencies)

    @classmethod
    def from_partitions(
        cls,
        partitions: Mapping[str, CredalPartition | npt.ArrayLike],
        reference: CredalPartition | npt.ArrayLike,
        *,
        ax: Axes | None = None,
        legend: bool = True,
    ) -> DominanceDisplay:
        """The picture of given partitions.

        Parameters
        ----------
        partitions : dict of str to CredalPartition or array-like of labels
            The partitions by name, of the same objects.
        reference : CredalPartition or array-like of labels
            What they are held against, such as the true classes.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        legend : bool, default=True
            Whether to explain the marks.

        Returns
        -------
        DominanceDisplay
            The picture, drawn.
        """
        if not isinstance(partitions, Mapping) or len(partitions) == 0:
            raise ValueError(
                "partitions must be a dictionary of partitions by name, such as {'ECM': model.credal_partition_}, "
                f"got {type(partitions).__name__}{'' if partitions else ' without entries'}."
            )
        consistencies = []
        for name, partition in partitions.items():
            try:
                consistencies.append(consistency_index(partition, reference))
            except ValueError as error:
                raise ValueError(
                    f"the partition {name!r} cannot be held against the reference: {error}"
                ) from error
        display = cls(
            names=[str(name) for name in partitions],
            nonspecificities=np.array([nonspecificity_index(one) for one in partitions.values()]),
            consistencies=np.array(consistencies),
        )
        return display.plot(ax, legend=legend)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> DominanceDisplay:
        """Draw the picture, again or elsewhere.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        legend : bool, default=True
            Whether to explain the marks.

        Returns
        -------
        DominanceDisplay
            The display itself.
        """
        self.ax_: Axes
        self.figure_: Figure | SubFigure
        self.ax_, self.figure_ = open_axes(ax)
        self._set_frame()
        self.front_: Line2D = self._draw_front()
        best = {"facecolors": _COLOR, "edgecolors": "white", "label": "not dominated"}
        self.best_points_: PathCollection = self._scatter(~self.dominated_, 55, best)
        worse = {"facecolors": "white", "edgecolors": _GREY, "label": "dominated"}
        self.dominated_points_: PathCollection = self._scatter(self.dominated_, 38, worse)
        self.legend_: Legend | None = self._draw_legend() if legend else None
        if isinstance(self.figure_, Figure):
            self.figure_.draw_without_rendering()  # the layout makes room for the legend, and names come after it
        self.labels_: list[Annotation] = self._draw_labels()
        return self

    def _set_frame(self) -> None:
        limits = []
        for values in (self.nonspecificities, self.consistencies):
            low, high = float(values.min()), float(values.max())
            width = max(high - low, 0.02)
            limits.append((low - 0.15 * width, high + 0.15 * width))
        self.ax_.set(
            xlabel="nonspecificity (how much is left open)",
            ylabel="consistency with the reference",
            xlim=limits[0],
            ylim=limits[1],
        )

    def _draw_front(self) -> Line2D:
        best = np.flatnonzero(~self.dominated_)
        best = best[np.lexsort([self.consistencies[best], self.nonspecificities[best]])]
        x, y = self.nonspecificities[best], self.consistencies[best]
        # From the lower edge to the first point, and from the last one to the right edge.
        x = np.concatenate([x[:1], x, [self.ax_.get_xlim()[1]]])
        y = np.concatenate([[self.ax_.get_ylim()[0]], y, y[-1:]])
        (line,) = self.ax_.plot(
            x, y, drawstyle="steps-post", color=_COLOR, linewidth=1, linestyle=(0, (5, 2.5)), zorder=1
        )
        return line

    def _scatter(self, chosen: BoolArray, area: float, style: dict[str, Any]) -> PathCollection:
        return self.ax_.scatter(
            self.nonspecificities[chosen], self.consistencies[chosen], s=area, linewidths=1.2, zorder=2, **style
        )

    def _draw_labels(self) -> list[Annotation]:
        # In points, so that places on the page can be compared.
        scale = 72 / self.figure_.dpi
        points = np.column_stack([self.nonspecificities, self.consistencies])
        page = self.ax_.transData.transform(points) * scale
        frame = np.array(self.ax_.bbox.extents) * scale
        taken = [np.array([x - 4, y - 4, x + 4, y + 4]) for x, y in page]
        taken += _steps(self.ax_.transData.transform(self.front_.get_xydata()) * scale)
        labels = {}
        # Names of the best ones first, while there is room.
        for number in np.argsort(self.dominated_, kind="stable"):
            name = shortened(self.names[number])
            # Above the line, if the point is on it.
            places = _PLACES if self.dominated_[number] else (*_PLACES[4:5], *_PLACES)
            boxes = [_box(page[number], name, place) for place in places]
            costs = [_cost(box, taken, frame) for box in boxes]
            chosen = int(np.argmin(costs))
            taken.append(boxes[chosen])
            labels[int(number)] = self._draw_label(points[number], name, places[chosen], self.dominated_[number])
        return [labels[number] for number in range(len(self.names))]

    def _draw_label(
        self, point: FloatArray, name: str, place: tuple[float, float, str, str], dominated: bool
    ) -> Annotation:
        right, up, across, along = place
        return self.ax_.annotate(
            name,
            (float(point[0]), float(point[1])),
            xytext=(right, up),
            textcoords="offset points",
            ha=across,
            va=along,
            fontsize=_FONT,
            color="0.35" if dominated else "black",
            path_effects=[withStroke(linewidth=2, foreground="white")],
            zorder=3,
        )

    def _draw_legend(self) -> Legend:
        handles = [self.best_points_, *([self.dominated_points_] if self.dominated_.any() else [])]
        if self.figure_.get_layout_engine() is not None:
            return self.ax_.legend(handles=handles, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        return self.ax_.legend(handles=handles, loc="lower right", fontsize="x-small", framealpha=0.6)


def _dominated(nonspecificities: FloatArray, consistencies: FloatArray) -> BoolArray:
    """Whether another is at least as good in both, and better in one, beyond rounding."""
    less_open = nonspecificities[:, None] - nonspecificities  # row: the one that may be dominated
    more_consistent = consistencies - consistencies[:, None]
    not_worse = (less_open >= -_ROUNDING) & (more_consistent >= -_ROUNDING)
    better = (less_open > _ROUNDING) | (more_consistent > _ROUNDING)
    return np.asarray((not_worse & better).any(axis=1))


def _steps(corners: FloatArray) -> list[FloatArray]:
    """The boxes around the parts of a line of steps, first across and then up."""
    boxes = []
    for (x, y), (next_x, next_y) in pairwise(corners):
        boxes.append(np.array([x, y - 1, next_x, y + 1]))
        boxes.append(np.array([next_x - 1, y, next_x + 1, next_y]))
    return boxes


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
