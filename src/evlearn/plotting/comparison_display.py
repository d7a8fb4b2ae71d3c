"""Plots of several partitions: by consistency with a reference and nonspecificity, or as a map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Annotation

from evlearn.metrics import compare_partitions, consistency_index, nonspecificity_index
from evlearn.metrics.comparison import PartitionComparison, dominated
from evlearn.partition import CredalPartition
from evlearn.plotting.axes import open_axes, to_page_points, write_names
from evlearn.utils.typing import BoolArray, FloatArray, RandomSeed

_COLOR = "#0072B2"
_GRAY = "0.55"


@dataclass(kw_only=True, repr=False, eq=False)
class ComparisonDisplay:
    """Plot of several partitions of the same samples, against a reference or as a map.

    With a reference, the plot shows the consistency of partitions with it against their nonspecificity. A
    partition dominates another if it is at least as consistent with the reference and at most as nonspecific, and
    better in at least one of them. The upper left corner is the best. Filled points are partitions that no other
    dominates. The dashed line through them is the Pareto front, a trade-off between precision and consistency.
    Hollow points are dominated.

    Without a reference, the plot is a map on which close partitions agree on pairs of samples: distances
    approximate 1 minus the credal Rand index, by multidimensional scaling. The directions of the axes have no
    meaning. Darker points are more nonspecific partitions.

    Create it with `from_partitions` or `from_comparison`; the constructor expects computed values.

    Parameters
    ----------
    names : sequence of str
        Names of the partitions.
    nonspecificities : ndarray of shape (n_partitions,)
        Nonspecificity of each partition.
    consistencies : ndarray of shape (n_partitions,), default=None
        Consistency of each partition with the reference.
    places : ndarray of shape (n_partitions, 2), default=None
        Coordinates of the partitions on a map, instead of consistencies.

    Attributes
    ----------
    dominated_ : ndarray of bool of shape (n_partitions,)
        True for partitions that another one dominates; none on a map.
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    points_ : matplotlib PathCollection
        Partitions on a map, or those that no other dominates.
    dominated_points_ : matplotlib PathCollection or None
        Dominated partitions.
    front_ : matplotlib Line2D or None
        Pareto front.
    labels_ : list of matplotlib Annotation
        Names of the partitions.
    legend_ : matplotlib Legend or None
        Legend of the plot; a map has none.

    See Also
    --------
    evlearn.metrics.consistency_index : Quantity of the vertical axis.
    evlearn.metrics.nonspecificity_index : Quantity of the horizontal axis.
    evlearn.metrics.compare_partitions : Comparison of the partitions on a map.

    References
    ----------
    Denœux et al. (2018), Evaluating and comparing soft partitions: an approach based on
    Dempster-Shafer theory, IEEE Transactions on Fuzzy Systems 26,
    doi:10.1109/TFUZZ.2017.2718484.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn import CredalPartition
    >>> from evlearn.plotting import ComparisonDisplay
    >>> partitions = {
    ...     "right": [0, 0, 1, 1],
    ...     "renumbered": [1, 1, 0, 0],
    ...     "wrong": [0, 1, 0, 1],
    ...     "open": CredalPartition.from_rough([[1, 1]] * 4),
    ... }
    >>> display = ComparisonDisplay.from_partitions(partitions, [0, 0, 1, 1])
    >>> display.dominated_.tolist()
    [False, False, True, True]
    >>> map_display = ComparisonDisplay.from_partitions(partitions)
    >>> bool(abs(map_display.places[0] - map_display.places[1]).max() < 1e-6)
    True
    >>> plt.close("all")
    """

    names: Sequence[str]
    nonspecificities: FloatArray
    consistencies: FloatArray | None = None
    places: FloatArray | None = None

    def __post_init__(self) -> None:
        if (self.consistencies is None) == (self.places is None):
            raise ValueError("either consistencies or places must be given, but not both.")
        self.dominated_: BoolArray = (
            np.zeros(len(self.names), dtype=bool)
            if self.consistencies is None
            else dominated(self.nonspecificities, self.consistencies)
        )

    @classmethod
    def from_partitions(
        cls,
        partitions: Mapping[str, CredalPartition | npt.ArrayLike],
        reference: CredalPartition | npt.ArrayLike | None = None,
        *,
        distance: Literal["jousselme", "belief"] = "jousselme",
        n_pairs: int | None = None,
        random_state: RandomSeed = None,
        ax: Axes | None = None,
        legend: bool = True,
    ) -> ComparisonDisplay:
        """Draw partitions.

        Parameters
        ----------
        partitions : dict of str to CredalPartition or array-like
            Partitions of the same samples, by name: credal partitions or labels and, for a map, probabilities.
        reference : CredalPartition or array-like of labels, default=None
            Reference, such as the true classes; None draws a map.
        distance : {"jousselme", "belief"}, default="jousselme"
            Distance of the credal Rand index, for a map.
        n_pairs : int or None, default=None
            Number of random pairs of samples for a map; see `evlearn.metrics.compare_partitions`.
        random_state : int, RandomState instance or None, default=None
            Seed of these pairs, for reproducible results.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        legend : bool, default=True
            Whether to draw a legend, if there is a reference.

        Returns
        -------
        ComparisonDisplay
            The drawn display.
        """
        if reference is None:
            comparison = compare_partitions(
                partitions, distance=distance, n_pairs=n_pairs, random_state=random_state
            )
            return cls.from_comparison(comparison, ax=ax)
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

    @classmethod
    def from_comparison(cls, comparison: PartitionComparison, *, ax: Axes | None = None) -> ComparisonDisplay:
        """Draw the map of compared partitions.

        Parameters
        ----------
        comparison : PartitionComparison
            Result of `evlearn.metrics.compare_partitions`.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        ComparisonDisplay
            The drawn display.
        """
        display = cls(names=comparison.names, nonspecificities=comparison.nonspecificity, places=comparison.map())
        return display.plot(ax)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> ComparisonDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        legend : bool, default=True
            Whether to draw a legend, if there is a reference.

        Returns
        -------
        ComparisonDisplay
            This display.
        """
        self.ax_: Axes = open_axes(ax)
        self.figure_: Figure | SubFigure = self.ax_.figure
        self.dominated_points_: PathCollection | None = None
        self.front_: Line2D | None = None
        self.legend_: Legend | None = None
        if self.places is not None:
            points = self.places
            self._draw_map(points)
        else:
            assert self.consistencies is not None
            points = np.column_stack([self.nonspecificities, self.consistencies])
            self._draw_dominance(points, legend)
        if isinstance(self.figure_, Figure):
            self.figure_.draw_without_rendering()  # names are placed after the layout of the legend
        self.labels_: list[Annotation] = self._draw_labels(points)
        return self

    def _draw_map(self, points: FloatArray) -> None:
        shades = 0.85 * (1 - self.nonspecificities / max(float(self.nonspecificities.max()), 1e-12))
        colors = [_shade(shade) for shade in shades]
        self.points_: PathCollection = self._scatter(points, 50, {"c": colors, "edgecolors": _COLOR})
        low, high = points.min(axis=0), points.max(axis=0)
        # A minimum size hides rounding errors if all partitions are equal.
        middle, reach = (low + high) / 2, max(float((high - low).max()) / 2, 0.01) * 1.4
        self.ax_.set(
            xlim=(middle[0] - reach, middle[0] + reach),
            ylim=(middle[1] - reach, middle[1] + reach),
            aspect="equal",
            xlabel="distance: 1 - credal Rand index",
            title="Close: similar. Dark: nonspecific.",
        )

    def _draw_dominance(self, points: FloatArray, legend: bool) -> None:
        low, high = points.min(axis=0), points.max(axis=0)
        margin = 0.15 * np.maximum(high - low, 0.02)
        self.ax_.set(
            xlabel="nonspecificity (imprecision)",
            ylabel="consistency with the reference",
            xlim=(low[0] - margin[0], high[0] + margin[0]),
            ylim=(low[1] - margin[1], high[1] + margin[1]),
        )
        self.front_ = self._draw_front(points[~self.dominated_])
        best = {"facecolors": _COLOR, "edgecolors": "white", "label": "not dominated"}
        self.points_ = self._scatter(points[~self.dominated_], 55, best)
        worse = {"facecolors": "white", "edgecolors": _GRAY, "label": "dominated"}
        self.dominated_points_ = self._scatter(points[self.dominated_], 38, worse)
        if legend:
            self.legend_ = self._draw_legend([self.points_, self.dominated_points_][: 1 + self.dominated_.any()])

    def _draw_front(self, best: FloatArray) -> Line2D:
        x, y = best[np.lexsort(best.T[::-1])].T
        # The line starts at the lower edge and ends at the right edge.
        x = np.concatenate([x[:1], x, [self.ax_.get_xlim()[1]]])
        y = np.concatenate([[self.ax_.get_ylim()[0]], y, y[-1:]])
        (line,) = self.ax_.plot(
            x, y, drawstyle="steps-post", color=_COLOR, linewidth=1, linestyle=(0, (5, 2.5)), zorder=1
        )
        return line

    def _scatter(self, points: FloatArray, area: float, style: dict[str, Any]) -> PathCollection:
        return self.ax_.scatter(points[:, 0], points[:, 1], s=area, linewidths=1.2, zorder=2, **style)

    def _draw_labels(self, points: FloatArray) -> list[Annotation]:
        if self.front_ is None:
            return write_names(self.ax_, points, self.names)
        # Names of points on the line are placed above it.
        steps = _step_boxes(to_page_points(self.ax_, np.asarray(self.front_.get_xydata())))
        return write_names(
            self.ax_, points, self.names, faint=self.dominated_, above=~self.dominated_, obstacles=steps
        )

    def _draw_legend(self, handles: list[PathCollection]) -> Legend:
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


def _shade(lightness: float) -> tuple[float, float, float]:
    """Mix the color of points with white."""
    base = np.array([0.0, 0x72 / 255, 0xB2 / 255])
    red, green, blue = base + (1 - base) * lightness
    return float(red), float(green), float(blue)
