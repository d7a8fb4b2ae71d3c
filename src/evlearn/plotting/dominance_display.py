"""Plot of partitions by consistency and nonspecificity, with those that no other dominates."""

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
from evlearn.plotting.point_names import to_page_points, write_names
from evlearn.utils.typing import BoolArray, FloatArray

_COLOR = "#0072B2"
_GRAY = "0.55"


class DominanceDisplay:
    """Plot of the consistency of partitions with a reference against their nonspecificity.

    A partition dominates another if it is at least as consistent with the reference and at most as nonspecific,
    and better in at least one of them. The upper left corner is the best. Filled points are partitions that no
    other dominates. The dashed line through them is the Pareto front, a trade-off between precision and
    consistency. Hollow points are dominated.

    Create it with `from_partitions`; the constructor expects computed values.

    Parameters
    ----------
    names : sequence of str
        Names of the partitions.
    nonspecificities : ndarray of shape (n_partitions,)
        Nonspecificity of each partition.
    consistencies : ndarray of shape (n_partitions,)
        Consistency of each partition with the reference.

    Attributes
    ----------
    dominated_ : ndarray of bool of shape (n_partitions,)
        True for partitions that another one dominates.
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    best_points_, dominated_points_ : matplotlib PathCollection
        Partitions that no other dominates, and the others.
    front_ : matplotlib Line2D
        Pareto front.
    labels_ : list of matplotlib Annotation
        Names of the partitions.
    legend_ : matplotlib Legend or None
        Legend of the plot.

    See Also
    --------
    evlearn.metrics.consistency_index : Quantity of the vertical axis.
    evlearn.metrics.nonspecificity_index : Quantity of the horizontal axis.

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
        """Draw partitions.

        Parameters
        ----------
        partitions : dict of str to CredalPartition or array-like of labels
            Partitions of the same samples, by name.
        reference : CredalPartition or array-like of labels
            Reference, such as the true classes.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        legend : bool, default=True
            Whether to draw a legend.

        Returns
        -------
        DominanceDisplay
            The drawn display.
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
                    f"the partition {name!r} cannot be compared with the reference: {error}"
                ) from error
        display = cls(
            names=[str(name) for name in partitions],
            nonspecificities=np.array([nonspecificity_index(entry) for entry in partitions.values()]),
            consistencies=np.array(consistencies),
        )
        return display.plot(ax, legend=legend)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> DominanceDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        legend : bool, default=True
            Whether to draw a legend.

        Returns
        -------
        DominanceDisplay
            This display.
        """
        self.ax_: Axes
        self.figure_: Figure | SubFigure
        self.ax_, self.figure_ = open_axes(ax)
        self._set_frame()
        self.front_: Line2D = self._draw_front()
        best = {"facecolors": _COLOR, "edgecolors": "white", "label": "not dominated"}
        self.best_points_: PathCollection = self._scatter(~self.dominated_, 55, best)
        worse = {"facecolors": "white", "edgecolors": _GRAY, "label": "dominated"}
        self.dominated_points_: PathCollection = self._scatter(self.dominated_, 38, worse)
        self.legend_: Legend | None = self._draw_legend() if legend else None
        if isinstance(self.figure_, Figure):
            self.figure_.draw_without_rendering()  # names are placed after the layout of the legend
        self.labels_: list[Annotation] = self._draw_labels()
        return self

    def _set_frame(self) -> None:
        limits = []
        for values in (self.nonspecificities, self.consistencies):
            low, high = float(values.min()), float(values.max())
            width = max(high - low, 0.02)
            limits.append((low - 0.15 * width, high + 0.15 * width))
        self.ax_.set(
            xlabel="nonspecificity (imprecision)",
            ylabel="consistency with the reference",
            xlim=limits[0],
            ylim=limits[1],
        )

    def _draw_front(self) -> Line2D:
        best = np.flatnonzero(~self.dominated_)
        best = best[np.lexsort([self.consistencies[best], self.nonspecificities[best]])]
        x, y = self.nonspecificities[best], self.consistencies[best]
        # The line starts at the lower edge and ends at the right edge.
        x = np.concatenate([x[:1], x, [self.ax_.get_xlim()[1]]])
        y = np.concatenate([[self.ax_.get_ylim()[0]], y, y[-1:]])
        (line,) = self.ax_.plot(
            x, y, drawstyle="steps-post", color=_COLOR, linewidth=1, linestyle=(0, (5, 2.5)), zorder=1
        )
        return line

    def _scatter(self, selected: BoolArray, area: float, style: dict[str, Any]) -> PathCollection:
        return self.ax_.scatter(
            self.nonspecificities[selected],
            self.consistencies[selected],
            s=area,
            linewidths=1.2,
            zorder=2,
            **style,
        )

    def _draw_labels(self) -> list[Annotation]:
        points = np.column_stack([self.nonspecificities, self.consistencies])
        # Names of points on the line are placed above it.
        steps = _step_boxes(to_page_points(self.ax_, np.asarray(self.front_.get_xydata())))
        return write_names(
            self.ax_, points, self.names, faint=self.dominated_, above=~self.dominated_, obstacles=steps
        )

    def _draw_legend(self) -> Legend:
        handles = [self.best_points_, *([self.dominated_points_] if self.dominated_.any() else [])]
        if self.figure_.get_layout_engine() is not None:
            return self.ax_.legend(handles=handles, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        return self.ax_.legend(handles=handles, loc="lower right", fontsize="x-small", framealpha=0.6)


def _step_boxes(corners: FloatArray) -> list[FloatArray]:
    """Return boxes around the segments of a step line, first horizontal and then vertical."""
    boxes = []
    for (x, y), (next_x, next_y) in pairwise(corners):
        boxes.append(np.array([x, y - 1, next_x, y + 1]))
        boxes.append(np.array([next_x - 1, y, next_x + 1, next_y]))
    return boxes
