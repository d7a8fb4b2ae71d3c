"""Contours of masses or plausibilities over the plane of 2 features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgb
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure, SubFigure
from matplotlib.image import AxesImage
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from scipy.ndimage import zoom
from sklearn.utils import check_random_state

from evlearn.belief import FocalSets
from evlearn.belief.notation import format_name
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import predicted_partition, predicts_masses
from evlearn.plotting import palette
from evlearn.plotting.axes import open_axes, shorten, shorten_for_axis
from evlearn.plotting.palette import cluster_key, draw_legend, key
from evlearn.plotting.plane import feature_plane
from evlearn.plotting.sampling import draw_subset
from evlearn.utils.chunks import row_blocks
from evlearn.utils.formatting import format_count
from evlearn.utils.typing import BoolArray, EstimatorLike, FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_choice, check_integer

_MAX_SETS = 16
_GRID_BLOCK = 10_000  # points
_ROUNDING = 1e-9
_MIN_CROWD = 2000  # drawn samples
_SHADE_RESOLUTION = 4  # pixels of the shading per grid interval
_MAX_DARKNESS = 0.6  # maximum share of the color of a set in the shading


@dataclass(kw_only=True, repr=False, eq=False)
class MassContourDisplay:
    """Filled contours of plausibilities or masses over the plane of 2 features, with the decision boundary.

    Bands between levels have the color of the cluster, darker for higher levels. Where several clusters are
    plausible, their colors mix. The empty set is gray; sets of several clusters have additional colors and dashed
    lines. The thick gray line is the decision boundary between the regions of the most plausible clusters. For a
    single set, lines are labeled with their levels, and the shading is continuous.

    Create it with `from_estimator`; the constructor expects computed values.

    Parameters
    ----------
    x, y : ndarray of shape (n_columns,) and (n_rows,)
        Coordinates of the grid.
    heights : ndarray of shape (n_sets, n_rows, n_columns)
        Plausibility or mass of each set at each grid point.
    plausibilities : ndarray of shape (n_clusters, n_rows, n_columns)
        Plausibility of each cluster at each grid point, for the decision boundary.
    sets : ndarray of bool of shape (n_sets, n_clusters)
        Clusters of each set.
    set_labels : sequence of str
        Names of the sets.
    points : ndarray of shape (n_points, 2)
        Coordinates of the samples.
    clusters : ndarray of int of shape (n_points,)
        Most plausible cluster of each sample.
    cluster_names : sequence of str
        Names of the clusters.
    axis_labels : sequence of 2 str
        Labels of the axes.
    title : str
        Title of the plot.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    contours_ : list of matplotlib QuadContourSet or None
        Lines of each set; None if it crosses no level.
    shade_ : matplotlib AxesImage
        Shading between the lines.
    boundaries_ : list of matplotlib QuadContourSet or None
        Border of the region of each cluster; None without a border.
    points_ : list of matplotlib PathCollection
        Samples of each cluster.
    legend_ : matplotlib Legend or None
        Legend of the plot.

    See Also
    --------
    CredalPartitionDisplay : Sure, torn and outlying samples.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn.cluster import ECM
    >>> from evlearn.datasets import load_butterfly
    >>> from evlearn.plotting import MassContourDisplay
    >>> X = load_butterfly().data
    >>> model = ECM(n_clusters=2, random_state=0).fit(X)
    >>> display = MassContourDisplay.from_estimator(model, X, of="mass", sets=["∅"])
    >>> display.ax_.get_title()
    'mass of ∅'
    >>> plt.close(display.figure_)
    """

    x: FloatArray
    y: FloatArray
    heights: FloatArray
    plausibilities: FloatArray
    sets: BoolArray
    set_labels: Sequence[str]
    points: FloatArray
    clusters: IntArray
    cluster_names: Sequence[str]
    axis_labels: Sequence[str]
    title: str

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        X: npt.ArrayLike,
        *,
        of: Literal["plausibility", "mass"] = "plausibility",
        sets: Sequence[Any] | None = None,
        features: Sequence[int | str] | None = None,
        grid_resolution: int = 100,
        eps: float = 0.1,
        levels: Sequence[float] = (0.25, 0.5, 0.75),
        ax: Axes | None = None,
        max_points: int = 2000,
        random_state: RandomSeed = 0,
        legend: bool = True,
    ) -> MassContourDisplay:
        """Draw the contours of the predictions of a fitted estimator.

        Parameters
        ----------
        estimator : fitted evlearn estimator
            Estimator with ``predict_mass`` for new samples with the features of `X`.
        X : array-like or data frame of shape (n_samples, n_features)
            Samples to show. The grid extends slightly beyond them.
        of : {"plausibility", "mass"}, default="plausibility"
            Quantity of the contours.
        sets : sequence of sets, default=None
            Sets of clusters whose contours are drawn, such as ``[(0,), (0, 1)]`` or ``["∅", "{0}"]``. None uses
            all clusters for the plausibility, and all focal sets for the mass.
        features : sequence of 2 int or str, default=None
            Features of the plane, by number or column name. Required for more than 2 features; the others are then
            fixed at their means, and samples are projected to the plane.
        grid_resolution : int, default=100
            Number of grid points per axis.
        eps : float, default=0.1
            Margin of the grid around the samples, as a share of their range.
        levels : sequence of float, default=(0.25, 0.5, 0.75)
            Levels of the lines.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        max_points : int, default=2000
            Maximum number of samples to draw, 0 for none; of more, a random subset.
        random_state : int, RandomState instance or None, default=0
            Seed of the random subset.
        legend : bool, default=True
            Whether to draw a legend.

        Returns
        -------
        MassContourDisplay
            The drawn display.
        """
        check_choice("of", of, ["plausibility", "mass"])
        check_integer("grid_resolution", grid_resolution, 2)
        check_integer("max_points", max_points, 0)
        if not np.isfinite(eps) or eps < 0:
            raise ValueError(f"eps must be a number of at least 0, got {eps!r}.")
        if not predicts_masses(estimator):
            raise ValueError(
                f"estimator must have predict_mass, which returns masses of new samples, got {estimator!r}."
            )
        values, plane, names = feature_plane(X, features)
        subset = draw_subset(
            np.arange(len(values)), max_points, np.zeros(len(values), np.intp), check_random_state(random_state)
        )
        # Predict the samples first, which is cheap and determines the clusters and focal sets.
        partition = _predict(estimator, values[subset] if max_points else values[:1], X)
        sets_table, labels = _read_sets(of, sets, partition.focal_sets)
        columns = _columns_of(of, sets_table, partition.focal_sets)
        x, y = (_ticks(values[:, axis], eps, grid_resolution) for axis in plane)
        grid = _grid_points(values, plane, x, y)
        blocks = [_evaluate(estimator, grid[block], X, columns) for block in row_blocks(len(grid), _GRID_BLOCK)]
        heights, plausibilities = (np.concatenate(part, axis=1) for part in zip(*blocks, strict=True))
        display = cls(
            x=x,
            y=y,
            heights=heights.reshape(len(sets_table), len(y), len(x)),
            plausibilities=plausibilities.reshape(-1, len(y), len(x)),
            sets=sets_table,
            set_labels=labels,
            points=values[subset][:, plane],
            clusters=partition.to_hard()[: len(subset)],
            cluster_names=partition.cluster_names,
            axis_labels=(names[plane[0]], names[plane[1]]),
            title=_title(of, sets, labels, [name for index, name in enumerate(names) if index not in plane]),
        )
        return display.plot(ax, levels=levels, legend=legend)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        levels: Sequence[float] = (0.25, 0.5, 0.75),
        legend: bool = True,
    ) -> MassContourDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        levels : sequence of float, default=(0.25, 0.5, 0.75)
            Levels of the lines.
        legend : bool, default=True
            Whether to draw a legend.

        Returns
        -------
        MassContourDisplay
            This display.
        """
        heights = np.unique(np.asarray(levels, dtype=float))
        if len(heights) == 0 or not (heights[0] >= 0 and heights[-1] <= 1):
            raise ValueError(f"levels must be numbers between 0 and 1, got {levels!r}.")
        self.ax_: Axes = open_axes(ax)
        self.figure_: Figure | SubFigure = self.ax_.figure
        self.ax_.set(
            xlabel=shorten_for_axis(self.axis_labels[0]),
            ylabel=shorten_for_axis(self.axis_labels[1]),
            title=self.title,
        )
        self.shade_: AxesImage = self._draw_shade(heights)
        self.points_: list[PathCollection] = [self._scatter(number) for number in range(len(self.cluster_names))]
        self.boundaries_: list[QuadContourSet | None] = [
            self._draw_boundary(number) for number in range(len(self.cluster_names))
        ]
        self.contours_: list[QuadContourSet | None] = [
            self._draw_contours(number, heights) for number in range(len(self.sets))
        ]
        self.legend_: Legend | None = self._draw_legend() if legend else None
        return self

    def _draw_shade(self, levels: FloatArray) -> AxesImage:
        """Draw the product of the colors of all sets, which does not depend on their order."""
        light = np.ones((len(self.y) * _SHADE_RESOLUTION, len(self.x) * _SHADE_RESOLUTION, 3))
        for number, height in enumerate(self.heights):
            fine = np.clip(zoom(height, _SHADE_RESOLUTION, order=1, grid_mode=True, mode="nearest"), 0, 1)
            depth = fine if len(self.sets) == 1 else np.searchsorted(levels, fine) / len(levels)
            light *= 1 - _MAX_DARKNESS * depth[:, :, None] * (1 - np.array(to_rgb(self._fill(number))))
        right, up = (ticks[1] - ticks[0] for ticks in (self.x, self.y))
        borders = (self.x[0] - right / 2, self.x[-1] + right / 2, self.y[0] - up / 2, self.y[-1] + up / 2)
        shade = self.ax_.imshow(light, extent=borders, origin="lower", aspect="auto", zorder=0)
        self.ax_.set(xlim=self.x[[0, -1]], ylim=self.y[[0, -1]])
        return shade

    def _fill(self, number: int) -> Any:
        """Return the fill color of a set."""
        clusters = np.flatnonzero(self.sets[number])
        return palette.cluster_color(int(clusters[0])) if len(clusters) == 1 else self._line(number)[0]

    def _scatter(self, cluster: int) -> PathCollection:
        points = self.points[self.clusters == cluster]
        area = float(np.clip(350 / np.sqrt(max(1, len(self.points))), 5, 30))
        return self.ax_.scatter(
            points[:, 0],
            points[:, 1],
            s=palette.marker_area(cluster, area),
            marker=palette.cluster_marker(cluster),
            facecolors=palette.cluster_color(cluster),
            edgecolors="white",
            linewidths=0.4,
            alpha=0.8,
            zorder=1,
        )

    def _draw_boundary(self, cluster: int) -> QuadContourSet | None:
        if len(self.plausibilities) < 2:
            return None
        others = np.delete(self.plausibilities, cluster, axis=0).max(axis=0)
        lead = self.plausibilities[cluster] - others
        # A level above rounding errors gives regions of ties a smooth border.
        if not lead.min() < _ROUNDING < lead.max():
            return None
        return self.ax_.contour(
            self.x, self.y, lead, levels=[_ROUNDING], colors=["0.45"], linewidths=2.6, zorder=2
        )

    def _draw_contours(self, number: int, levels: FloatArray) -> QuadContourSet | None:
        height = self.heights[number]
        crossed = levels[(levels > height.min()) & (levels < height.max())]
        if len(crossed) == 0:
            return None
        color, style = self._line(number)
        lines = self.ax_.contour(
            self.x,
            self.y,
            height,
            levels=crossed,
            colors=[color],
            linestyles=[style],
            linewidths=0.9,
            zorder=3,
        )
        if len(self.sets) == 1:  # labels of several sets would overlap
            for text in self.ax_.clabel(lines, fontsize=8, fmt="%.3g"):
                text.set_path_effects([withStroke(linewidth=2, foreground="white")])
        return lines

    def _line(self, number: int) -> tuple[Any, Any]:
        """Return the color and the style of the lines of a set."""
        clusters = np.flatnonzero(self.sets[number])
        if len(clusters) == 0:
            return palette.OUTLIER_COLOR, "-"
        if len(clusters) == 1:
            return palette.cluster_shade(int(clusters[0])), "-"
        # Each set of several clusters has a color that no cluster has.
        n_previous = int((self.sets[:number].sum(axis=1) > 1).sum())
        return palette.cluster_shade(len(self.cluster_names) + n_previous), (0, (4, 1.5))

    def _draw_legend(self) -> Legend:
        drawn_sets = [number for number, lines in enumerate(self.contours_) if lines is not None]
        sizes = self.sets.sum(axis=1)
        outlined = [int(self.sets[number].argmax()) for number in drawn_sets if sizes[number] == 1]
        handles = []
        for cluster in np.union1d(np.unique(self.clusters), np.array(outlined, dtype=np.intp)):
            style: dict[str, Any] = {} if (self.clusters == cluster).any() else {"marker": "none"}
            if cluster in outlined:
                style |= {"color": palette.cluster_shade(int(cluster)), "linestyle": "-"}
            handles.append(cluster_key(int(cluster), self.cluster_names[cluster], **style))
        handles += [self._set_key(number) for number in drawn_sets if sizes[number] != 1]
        undrawn = [
            shorten(self.set_labels[number]) for number in range(len(self.sets)) if number not in drawn_sets
        ]
        if undrawn:
            handles.append(key(f"no line: {', '.join(undrawn)}"))
        if any(boundary is not None for boundary in self.boundaries_):
            handles.append(key("decision boundary", color="0.45", linestyle="-", linewidth=2.6))
        return draw_legend(self.ax_, handles, "cluster", crowded=len(self.points) > _MIN_CROWD)

    def _set_key(self, number: int) -> Line2D:
        color, style = self._line(number)
        return key(shorten(self.set_labels[number]), color=color, linestyle=style)


def _read_sets(of: str, sets: Sequence[Any] | None, focal_sets: FocalSets) -> tuple[BoolArray, list[str]]:
    """Return the sets as boolean rows, in the order of the user, and their names."""
    if isinstance(sets, str) or (sets is not None and len(sets) == 0):
        raise ValueError(f"sets must be a list of sets such as ['∅', '{{0}}'], got {sets!r}.")
    frame = focal_sets.names or focal_sets.frame_size
    if sets is not None:
        families = [FocalSets([members], frame) for members in sets]
        table = np.array([family.membership[-1] for family in families])
        labels = [family.labels[-1] for family in families]
    elif of == "plausibility":
        table, labels = (
            np.eye(focal_sets.frame_size, dtype=bool),
            [f"{{{format_name(name)}}}" for name in focal_sets.frame],
        )
    else:
        table, labels = focal_sets.membership, list(focal_sets.labels)
    if len(table) > _MAX_SETS:
        raise ValueError(f"lines of {len(table)} sets would be too many to distinguish; choose some with `sets`.")
    return table, labels


def _columns_of(of: str, table: BoolArray, focal_sets: FocalSets) -> FloatArray:
    """Return the weight of each focal set in the requested quantities of sets, then of clusters."""
    if of == "plausibility":
        if not table.any(axis=1).all():
            raise ValueError("sets contains the empty set, whose plausibility is 0; use of='mass' for its mass.")
        counts = (focal_sets.membership.astype(float) @ table.T) > 0
    else:
        positions = [focal_sets.index(np.flatnonzero(row).tolist()) for row in table]
        counts = np.eye(len(focal_sets), dtype=bool)[:, positions]
    return np.hstack([counts, focal_sets.membership]).astype(float)


def _ticks(values: FloatArray, eps: float, resolution: int) -> FloatArray:
    low, high = float(values.min()), float(values.max())
    margin = eps * (high - low) or 1.0 * (high == low)
    return np.linspace(low - margin, high + margin, resolution).astype(values.dtype)


def _grid_points(values: FloatArray, plane: tuple[int, int], x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the points of the grid, with the mean of all features outside the plane."""
    grid = np.tile(values.mean(axis=0, dtype=np.float64).astype(values.dtype), (len(x) * len(y), 1))
    grid[:, plane[0]], grid[:, plane[1]] = np.tile(x, len(y)), np.repeat(y, len(x))
    return grid


def _evaluate(
    estimator: Any, values: FloatArray, table: Any, columns: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the requested quantities of sets and of clusters at grid points."""
    partition = _predict(estimator, values, table)
    numbers = (np.asarray(partition.masses) @ columns).T
    n_clusters = partition.n_clusters
    return numbers[:-n_clusters], numbers[-n_clusters:]


def _predict(estimator: Any, values: FloatArray, template: Any) -> CredalPartition:
    # The estimator may need the column names of a data frame.
    has_names = type(template).__module__.partition(".")[0] in ("pandas", "polars")
    table = type(template)(dict(zip(template.columns, values.T, strict=True))) if has_names else values
    return predicted_partition(estimator, table)


def _title(of: str, sets: Sequence[Any] | None, labels: list[str], fixed: list[str]) -> str:
    default = "each cluster" if of == "plausibility" else "each focal set"
    title = f"{of} of {default if sets is None else ', '.join(map(shorten, labels))}"
    if not fixed:
        return title
    return f"{title}\n({format_count(len(fixed), 'other feature')} at the mean)"
