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
from matplotlib.text import Annotation

from evlearn.metrics import consistency_index, nonspecificity_index
from evlearn.metrics.comparison import dominated
from evlearn.partition import CredalPartition
from evlearn.plotting.axes import open_axes
from evlearn.plotting.point_names import on_page, write_names
from evlearn.utils.typing import BoolArray, FloatArray

_COLOR = "#0072B2"
_GREY = "0.55"


class DominanceDisplay:
    """Several partitions against a reference: how much they leave open, and how rarely they contradict it.

    One partition dominates another if it is at least as consistent with the reference and leaves at most as much
    open, and is better in one of the two. The upper left corner is the best. Filled points are the partitions that
    no other dominates. The dashed line through them is the border of what is reached: along it you have to choose
    between saying much and saying nothing wrong. Hollow points are dominated.

    Make it with `from_partitions`; the constructor expects what that computes.

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
        self.dominated_: BoolArray = dominated(nonspecificities, consistencies)

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
            The partitions by name, of the same samples.
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
        points = np.column_stack([self.nonspecificities, self.consistencies])
        # Above the line, if the point is on it.
        steps = _steps(on_page(self.ax_, np.asarray(self.front_.get_xydata())))
        return write_names(
            self.ax_, points, self.names, faint=self.dominated_, above=~self.dominated_, obstacles=steps
        )

    def _draw_legend(self) -> Legend:
        handles = [self.best_points_, *([self.dominated_points_] if self.dominated_.any() else [])]
        if self.figure_.get_layout_engine() is not None:
            return self.ax_.legend(handles=handles, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        return self.ax_.legend(handles=handles, loc="lower right", fontsize="x-small", framealpha=0.6)


def _steps(corners: FloatArray) -> list[FloatArray]:
    """The boxes around the parts of a line of steps, first across and then up."""
    boxes = []
    for (x, y), (next_x, next_y) in pairwise(corners):
        boxes.append(np.array([x, y - 1, next_x, y + 1]))
        boxes.append(np.array([next_x - 1, y, next_x + 1, next_y]))
    return boxes
