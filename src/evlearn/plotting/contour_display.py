"""What an estimator says about every place of a plane, as contours."""

from __future__ import annotations

from collections.abc import Sequence
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
from evlearn.belief.notation import written
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import predicted_partition, predicts_masses
from evlearn.plotting import palette
from evlearn.plotting.axes import open_axes
from evlearn.plotting.legends import cluster_key, draw_legend, key
from evlearn.plotting.names import on_axis, shortened
from evlearn.plotting.plane import cut
from evlearn.plotting.sampling import sample
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, EstimatorLike, FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_choice, check_integer

_MOST_SETS = 16
_GRID_BLOCK = 10_000  # places
_ROUNDING = 1e-9
_CROWD = 2000  # drawn samples
_FINER = 4  # pixels of the shade between two places of the grid
_DARKEST = 0.6  # how much of the colour of a set the shade takes at most


class MassContourDisplay:
    """Filled contours of plausibilities or masses over the plane of two features, with the decision boundary.

    Each band between two levels is filled with the colour of its cluster, the darker the higher. Where several
    clusters are plausible, their colours mix. The empty set is grey; sets of several clusters have colours of
    their own and dashed lines. The thick grey line is the decision boundary: on its two sides different clusters
    are the most plausible. The lines of a set alone carry their height, and its shade has no bands.

    Make it with `from_estimator`; the constructor expects what that computes.

    Parameters
    ----------
    x, y : ndarray of shape (n_columns,) and (n_rows,)
        The coordinates of the grid.
    heights : ndarray of shape (n_sets, n_rows, n_columns)
        The plausibility or mass of each set at each place.
    plausibilities : ndarray of shape (n_clusters, n_rows, n_columns)
        The plausibility of each cluster at each place, from which the boundary follows.
    sets : ndarray of bool of shape (n_sets, n_clusters)
        The clusters of each set.
    set_labels : sequence of str
        The name of each set.
    points : ndarray of shape (n_points, 2)
        Where the samples lie.
    clusters : ndarray of int of shape (n_points,)
        Their most plausible clusters.
    cluster_names : sequence of str
        The name of each cluster.
    axis_labels : sequence of two str
        What to write on the axes.
    title : str
        What to write above the picture.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the picture is drawn.
    figure_ : matplotlib Figure
        The figure around it.
    contours_ : list of matplotlib QuadContourSet or None
        The lines of each set; None where it reaches no level, or the same everywhere.
    shade_ : matplotlib AxesImage
        The shade between the lines.
    boundaries_ : list of matplotlib QuadContourSet or None
        The border of the region of each cluster; None where it has no border.
    points_ : list of matplotlib PathCollection
        The samples of each cluster.
    legend_ : matplotlib Legend or None
        The legend.

    See Also
    --------
    CredalPartitionDisplay : The samples, sure, torn or outliers.

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

    def __init__(
        self,
        *,
        x: FloatArray,
        y: FloatArray,
        heights: FloatArray,
        plausibilities: FloatArray,
        sets: BoolArray,
        set_labels: Sequence[str],
        points: FloatArray,
        clusters: IntArray,
        cluster_names: Sequence[str],
        axis_labels: Sequence[str],
        title: str,
    ) -> None:
        self.x = x
        self.y = y
        self.heights = heights
        self.plausibilities = plausibilities
        self.sets = sets
        self.set_labels = set_labels
        self.points = points
        self.clusters = clusters
        self.cluster_names = cluster_names
        self.axis_labels = axis_labels
        self.title = title

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
        """The contours of what a fitted estimator says about a plane.

        Parameters
        ----------
        estimator : fitted evlearn estimator
            Has ``predict_mass`` for new samples with the features of `X`.
        X : array-like or data frame of shape (n_samples, n_features)
            The samples to show. The grid reaches a little beyond them.
        of : {"plausibility", "mass"}, default="plausibility"
            What the contours are of.
        sets : sequence of sets, default=None
            The sets of clusters whose contours are drawn, such as ``[(0,), (0, 1)]`` or ``["∅", "{0}"]``. None
            means each cluster for the plausibility, and each focal set for the mass.
        features : sequence of two int or str, default=None
            The features of the plane, by number or column name. Needed where there are more than two; the others
            are then fixed at their means, and samples are drawn where the two features put them, whatever their
            others.
        grid_resolution : int, default=100
            The number of places along each axis.
        eps : float, default=0.1
            How far the grid reaches beyond the samples, as a part of their range.
        levels : sequence of float, default=(0.25, 0.5, 0.75)
            The heights of the lines.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        max_points : int, default=2000
            The largest number of samples to draw, 0 for none; of more, a random subset.
        random_state : int, RandomState instance or None, default=0
            The seed of that sample.
        legend : bool, default=True
            Whether to explain the lines.

        Returns
        -------
        MassContourDisplay
            The picture, drawn.
        """
        check_choice("of", of, ["plausibility", "mass"])
        check_integer("grid_resolution", grid_resolution, 2)
        check_integer("max_points", max_points, 0)
        if not np.isfinite(eps) or eps < 0:
            raise ValueError(f"eps must be a number of at least 0, got {eps!r}.")
        if not predicts_masses(estimator):
            raise ValueError(
                f"estimator must have predict_mass, which gives the masses of new samples: {estimator!r}."
            )
        values, plane, names = cut(X, features)
        drawn = sample(
            np.arange(len(values)), max_points, np.zeros(len(values), np.intp), check_random_state(random_state)
        )
        # The samples first: this is cheap, and says what the clusters and the focal sets are.
        said = _predict(estimator, values[drawn] if max_points else values[:1], X)
        table, labels = _read_sets(of, sets, said.focal_sets)
        columns = _columns_of(of, table, said.focal_sets)
        x, y = (_ticks(values[:, axis], eps, grid_resolution) for axis in plane)
        grid = np.tile(values.mean(axis=0, dtype=np.float64).astype(values.dtype), (len(x) * len(y), 1))
        grid[:, plane[0]], grid[:, plane[1]] = np.tile(x, len(y)), np.repeat(y, len(x))
        found = [_at(estimator, grid[block], X, columns) for block in row_blocks(len(grid), _GRID_BLOCK)]
        heights, plausibilities = (np.concatenate(part, axis=1) for part in zip(*found, strict=True))
        display = cls(
            x=x,
            y=y,
            heights=heights.reshape(len(table), len(y), len(x)),
            plausibilities=plausibilities.reshape(-1, len(y), len(x)),
            sets=table,
            set_labels=labels,
            points=values[drawn][:, plane],
            clusters=said.to_hard()[: len(drawn)],
            cluster_names=said.cluster_names,
            axis_labels=(names[plane[0]], names[plane[1]]),
            title=_title(of, sets, labels, [name for at, name in enumerate(names) if at not in plane]),
        )
        return display.plot(ax, levels=levels, legend=legend)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        levels: Sequence[float] = (0.25, 0.5, 0.75),
        legend: bool = True,
    ) -> MassContourDisplay:
        """Draw the picture, again or elsewhere.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        levels : sequence of float, default=(0.25, 0.5, 0.75)
            The heights of the lines.
        legend : bool, default=True
            Whether to explain the lines.

        Returns
        -------
        MassContourDisplay
            The display itself.
        """
        heights = np.unique(np.asarray(levels, dtype=float))
        if len(heights) == 0 or not (heights[0] >= 0 and heights[-1] <= 1):
            raise ValueError(f"levels must be numbers between 0 and 1, got {levels!r}.")
        self.ax_: Axes
        self.figure_: Figure | SubFigure
        self.ax_, self.figure_ = open_axes(ax)
        self.ax_.set(xlabel=on_axis(self.axis_labels[0]), ylabel=on_axis(self.axis_labels[1]), title=self.title)
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
        """The colours of all sets, multiplied, so that their order does not matter."""
        light = np.ones((len(self.y) * _FINER, len(self.x) * _FINER, 3))
        for number, height in enumerate(self.heights):
            fine = np.clip(zoom(height, _FINER, order=1, grid_mode=True, mode="nearest"), 0, 1)
            depth = fine if len(self.sets) == 1 else np.searchsorted(levels, fine) / len(levels)
            light *= 1 - _DARKEST * depth[:, :, None] * (1 - np.array(to_rgb(self._fill(number))))
        right, up = (ticks[1] - ticks[0] for ticks in (self.x, self.y))
        borders = (self.x[0] - right / 2, self.x[-1] + right / 2, self.y[0] - up / 2, self.y[-1] + up / 2)
        shade = self.ax_.imshow(light, extent=borders, origin="lower", aspect="auto", zorder=0)
        self.ax_.set(xlim=self.x[[0, -1]], ylim=self.y[[0, -1]])
        return shade

    def _fill(self, number: int) -> Any:
        """The colour that fills the bands of a set."""
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
        # Above rounding, so that a region of ties has a border and not a scribble.
        if not lead.min() < _ROUNDING < lead.max():
            return None
        return self.ax_.contour(
            self.x, self.y, lead, levels=[_ROUNDING], colors=["0.45"], linewidths=2.6, zorder=2
        )

    def _draw_contours(self, number: int, levels: FloatArray) -> QuadContourSet | None:
        height = self.heights[number]
        reached = levels[(levels > height.min()) & (levels < height.max())]
        if len(reached) == 0:
            return None
        color, style = self._line(number)
        lines = self.ax_.contour(
            self.x,
            self.y,
            height,
            levels=reached,
            colors=[color],
            linestyles=[style],
            linewidths=0.9,
            zorder=3,
        )
        if len(self.sets) == 1:  # the labels of several would hide each other
            for text in self.ax_.clabel(lines, fontsize=8, fmt=_level_text):
                text.set_path_effects([withStroke(linewidth=2, foreground="white")])
        return lines

    def _line(self, number: int) -> tuple[Any, Any]:
        """The colour and the style of the lines of a set."""
        clusters = np.flatnonzero(self.sets[number])
        if len(clusters) == 0:
            return palette.OUTLIER_COLOR, "-"
        if len(clusters) == 1:
            return palette.cluster_shade(int(clusters[0])), "-"
        # Colours of no cluster, one for each set of several.
        before = int((self.sets[:number].sum(axis=1) > 1).sum())
        return palette.cluster_shade(len(self.cluster_names) + before), (0, (4, 1.5))

    def _draw_legend(self) -> Legend:
        seen = [number for number, lines in enumerate(self.contours_) if lines is not None]
        sizes = self.sets.sum(axis=1)
        lined = [int(self.sets[number].argmax()) for number in seen if sizes[number] == 1]
        handles = []
        for cluster in np.union1d(np.unique(self.clusters), np.array(lined, dtype=np.intp)):
            style: dict[str, Any] = {} if (self.clusters == cluster).any() else {"marker": "none"}
            if cluster in lined:
                style |= {"color": palette.cluster_shade(int(cluster)), "linestyle": "-"}
            handles.append(cluster_key(int(cluster), self.cluster_names[cluster], **style))
        handles += [self._set_key(number) for number in seen if sizes[number] != 1]
        unseen = [shortened(self.set_labels[number]) for number in range(len(self.sets)) if number not in seen]
        if unseen:
            handles.append(key(f"no line: {', '.join(unseen)}"))
        if any(one is not None for one in self.boundaries_):
            handles.append(key("decision boundary", color="0.45", linestyle="-", linewidth=2.6))
        return draw_legend(self.ax_, handles, "cluster", crowded=len(self.points) > _CROWD)

    def _set_key(self, number: int) -> Line2D:
        color, style = self._line(number)
        return key(shortened(self.set_labels[number]), color=color, linestyle=style)


def _level_text(level: float) -> str:
    return f"{level:.3g}"


def _read_sets(of: str, sets: Sequence[Any] | None, focal_sets: FocalSets) -> tuple[BoolArray, list[str]]:
    """The sets as rows of zeros and ones, in the order in which the user gave them, and their names."""
    if isinstance(sets, str) or (sets is not None and len(sets) == 0):
        raise ValueError(f"sets must be a list of sets such as ['∅', '{{0}}'], got {sets!r}.")
    frame = focal_sets.names or focal_sets.frame_size
    if sets is not None:
        families = [FocalSets([one], frame) for one in sets]
        table = np.array([family.membership[-1] for family in families])
        labels = [family.labels[-1] for family in families]
    elif of == "plausibility":
        table, labels = (
            np.eye(focal_sets.frame_size, dtype=bool),
            [f"{{{written(name)}}}" for name in focal_sets.frame],
        )
    else:
        table, labels = focal_sets.membership, list(focal_sets.labels)
    if len(table) > _MOST_SETS:
        raise ValueError(
            f"there would be the lines of {len(table)} sets, too many to see; choose some with `sets`."
        )
    return table, labels


def _columns_of(of: str, table: BoolArray, focal_sets: FocalSets) -> FloatArray:
    """For each focal set, the wanted numbers to which its mass counts: those of sets, then of clusters."""
    if of == "plausibility":
        if not table.any(axis=1).all():
            raise ValueError("sets has the empty set, whose plausibility is 0; ask for its mass with of='mass'.")
        wanted = (focal_sets.membership.astype(float) @ table.T) > 0
    else:
        positions = [focal_sets.index(np.flatnonzero(row).tolist()) for row in table]
        wanted = np.eye(len(focal_sets), dtype=bool)[:, positions]
    return np.hstack([wanted, focal_sets.membership]).astype(float)


def _ticks(values: FloatArray, eps: float, resolution: int) -> FloatArray:
    low, high = float(values.min()), float(values.max())
    beyond = eps * (high - low) or 1.0 * (high == low)
    return np.linspace(low - beyond, high + beyond, resolution).astype(values.dtype)


def _at(estimator: Any, values: FloatArray, like: Any, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The wanted numbers at some places, those of the sets and those of the clusters."""
    said = _predict(estimator, values, like)
    numbers = (np.asarray(said.masses) @ columns).T
    n_clusters = said.n_clusters
    return numbers[:-n_clusters], numbers[-n_clusters:]


def _predict(estimator: Any, values: FloatArray, like: Any) -> CredalPartition:
    # A frame where a frame was given: the estimator may know its columns by name.
    known = type(like).__module__.partition(".")[0] in ("pandas", "polars")
    table = type(like)(dict(zip(like.columns, values.T, strict=True))) if known else values
    return predicted_partition(estimator, table)


def _title(of: str, sets: Sequence[Any] | None, labels: list[str], fixed: list[str]) -> str:
    what = "each cluster" if of == "plausibility" else "each focal set"
    title = f"{of} of {what if sets is None else ', '.join(map(shortened, labels))}"
    if not fixed:
        return title
    return f"{title}\n({len(fixed)} other feature{'s' if len(fixed) > 1 else ''} at the mean)"
