"""Plot of masses: stacked bars for few samples, a heat map for many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.colors import to_rgb
from matplotlib.container import BarContainer
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from scipy import sparse

from evlearn.belief import contour
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import partition_for
from evlearn.plotting import palette
from evlearn.plotting.axes import open_axes, shorten
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import DataLike, EstimatorLike, FloatArray, IntArray
from evlearn.utils.validation import check_choice, check_integer

_MAX_AUTO_BARS = 40  # samples
_MAX_BARS = 200
_MAX_SAMPLE_NAMES = 40
_SETS_IN_BARS = 12
_COLORS_IN_BARS = 30  # colors of single clusters
_SETS_IN_HEAT_MAP = 40
_MAX_UPRIGHT = 12  # names of normal size
_LINE_LENGTH = 50
_GRAY = "0.35"
_FRAME_COLOR = "0.86"
_OTHER_SETS_COLOR = "0.6"
#: Stripes for pairs, other patterns for larger sets.
_HATCHES = ("////", "xxxx", "....", "++++", "oo", "\\\\\\\\")
_MAX_LEGEND_ROWS = 17
_MIN_NAMED_SHARE = 0.02  # minimum share of the rows for the name of a cluster


@dataclass(kw_only=True, repr=False, eq=False)
class MassesDisplay:
    """Plot of the masses of a credal partition.

    Few samples are stacked bars: single clusters have their color, sets of several clusters a pattern in the
    colors of their members, Ω is light gray and the empty set black. Many samples are rows of a heat map with a
    column for each set. Rows are sorted by the most plausible cluster, whose color is at the left, and within a
    cluster by decreasing mass of the cluster alone.

    Sets without mass are omitted. If there are too many sets, those with the largest total mass are shown, and the
    others are combined.

    Create it with `from_result`.

    Parameters
    ----------
    partition : CredalPartition
        Partition to draw.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    shown_ : ndarray of int
        Positions of the focal sets that are shown separately.
    labels_ : list of str
        Labels of the sets; the last one is that of the combined sets, if any.
    bars_ : list of matplotlib BarContainer
        Bars of each set; empty for a heat map.
    legend_ : matplotlib Legend or None
        Legend of the bars.
    cells_ : matplotlib QuadMesh or None
        Heat map; None for bars.
    cluster_bands_ : list of matplotlib Rectangle
        Color bands at the left of a heat map, for each cluster with samples.
    colorbar_ : matplotlib Colorbar or None
        Color scale of a heat map.
    order_ : ndarray of int of shape (n_samples,)
        Order of the samples: bars from the left, heat maps from the top.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn import CredalPartition
    >>> from evlearn.plotting import MassesDisplay
    >>> partition = CredalPartition.from_rough(
    ...     [[1, 0], [1, 1], [0, 0]], cluster_names=["left", "right"]
    ... )
    >>> display = MassesDisplay.from_result(partition)
    >>> display.labels_
    ['∅', '{left}', 'Ω']
    >>> plt.close(display.figure_)
    """

    partition: CredalPartition

    @classmethod
    def from_result(
        cls,
        result: CredalPartition | EstimatorLike,
        X: DataLike | None = None,
        *,
        kind: Literal["auto", "bars", "heatmap"] = "auto",
        max_sets: int | None = None,
        max_rows: int = 500,
        ax: Axes | None = None,
        legend: bool = True,
    ) -> MassesDisplay:
        """Draw the masses of a partition or of a fitted estimator.

        Parameters
        ----------
        result : CredalPartition or fitted estimator
            Partition to draw, or an estimator or pipeline. The axis shows the names of up to 40 samples that are
            drawn as bars.
        X : array-like or data frame, default=None
            Samples to predict, in the form that the estimator accepts. None draws its training samples.
        kind : {"auto", "bars", "heatmap"}, default="auto"
            Type of the plot; "auto" draws bars for up to 40 samples, otherwise a heat map.
        max_sets : int or None, default=None
            Maximum number of sets to show. None means 40 for a heat map; for bars, the number of clusters plus 2,
            but at least 12 and at most 32.
        max_rows : int, default=500
            Approximate maximum number of rows of a heat map. With more samples, each row is the mean of
            consecutive samples, and the title shows their number.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        legend : bool, default=True
            Whether to draw a legend of the bars, or the color scale of the heat map.

        Returns
        -------
        MassesDisplay
            The drawn display.
        """
        display = cls(partition=partition_for(result, X))
        return display.plot(ax, kind=kind, max_sets=max_sets, max_rows=max_rows, legend=legend)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["auto", "bars", "heatmap"] = "auto",
        max_sets: int | None = None,
        max_rows: int = 500,
        legend: bool = True,
    ) -> MassesDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        kind : {"auto", "bars", "heatmap"}, default="auto"
            Type of the plot, see `from_result`.
        max_sets : int or None, default=None
            Maximum number of sets to show, see `from_result`.
        max_rows : int, default=500
            Approximate maximum number of rows of a heat map, see `from_result`.
        legend : bool, default=True
            Whether to draw a legend of the bars, or the color scale of the heat map.

        Returns
        -------
        MassesDisplay
            This display.
        """
        bars = self._use_bars(kind)
        if max_sets is None:
            clusters_and_two = min(self.partition.n_clusters + 2, _COLORS_IN_BARS + 2)
            max_sets = max(_SETS_IN_BARS, clusters_and_two) if bars else _SETS_IN_HEAT_MAP
        check_integer("max_sets", max_sets, 1)
        check_integer("max_rows", max_rows, 1)
        self.ax_: Axes = open_axes(ax)
        self.figure_: Figure | SubFigure = self.ax_.figure
        self._choose_sets(int(max_sets))
        self.bars_: list[BarContainer] = []
        self.legend_: Legend | None = None
        self.cells_: QuadMesh | None = None
        self.cluster_bands_: list[Rectangle] = []
        self.colorbar_: Colorbar | None = None
        if bars:
            self._draw_bars(legend)
        else:
            self._draw_heat_map(int(max_rows), legend)
        return self

    def _use_bars(self, kind: str) -> bool:
        check_choice("kind", kind, ("auto", "bars", "heatmap"))
        n_samples = self.partition.n_samples
        if kind == "bars" and n_samples > _MAX_BARS:
            raise ValueError(
                f"kind='bars' is for at most {_MAX_BARS} samples, but there are {n_samples:,}; use 'heatmap', or "
                "select samples, for example partition[:100]."
            )
        return kind == "bars" or (kind == "auto" and n_samples <= _MAX_AUTO_BARS)

    # Selection of sets

    def _choose_sets(self, max_sets: int) -> None:
        totals = np.zeros(len(self.partition.focal_sets))
        for block in row_blocks(self.partition.n_samples):
            totals += self.partition.mass_table[block].sum(axis=0, dtype=np.float64)
        by_mass = np.argsort(-totals, kind="stable")[: np.count_nonzero(totals)]
        n_shown = len(by_mass) if len(by_mass) <= max_sets else max_sets - 1
        self.shown_: IntArray = np.sort(by_mass[:n_shown])
        labels = self.partition.focal_sets.labels
        self.labels_: list[str] = [shorten(labels[position]) for position in self.shown_]
        if n_shown < len(by_mass):
            self.labels_.append(f"{len(by_mass) - n_shown:,} other sets")

    def _columns(self, block: slice) -> FloatArray:
        """Return the masses of the drawn sets for a block of samples."""
        masses = self.partition.mass_table[block]
        columns = masses[:, self.shown_]
        if len(self.labels_) == len(self.shown_):
            return columns
        # Subtraction is fast for many other sets; rounding may cause negative values.
        others = masses.sum(axis=1, dtype=np.float64) - columns.sum(axis=1, dtype=np.float64)
        return np.column_stack([columns, np.maximum(others, 0)])

    # Bars

    def _draw_bars(self, legend: bool) -> None:
        n_samples = self.partition.n_samples
        self.order_: IntArray = np.arange(n_samples)
        heights = self._columns(slice(None))
        tops = heights.cumsum(axis=1)
        self.bars_ = [
            self.ax_.bar(
                self.order_,
                heights[:, column],
                bottom=tops[:, column] - heights[:, column],
                width=0.85 if n_samples <= _MAX_AUTO_BARS else 1.0,
                linewidth=0,
                label=label,
                **self._style(column),
            )
            for column, label in enumerate(self.labels_)
        ]
        self.ax_.set(xlabel="sample", ylabel="mass", xlim=(-0.6, n_samples - 0.4), ylim=(0, 1))
        self._name_samples()
        if legend:
            self.legend_ = self._draw_legend()

    def _draw_legend(self) -> Legend:
        # Without a layout engine, other axes may be beside these.
        has_layout = self.figure_.get_layout_engine() is not None
        place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1), "frameon": False}
        return self.ax_.legend(
            handles=self.bars_[::-1],  # in the order of the bars, from the top
            title="focal set",
            handleheight=1.4,
            ncols=1 + len(self.bars_) // _MAX_LEGEND_ROWS,
            **(place if has_layout else {"loc": "upper right", "fontsize": "x-small", "framealpha": 0.8}),
        )

    def _style(self, column: int) -> dict[str, Any]:
        """Return the style of the bars of a set: a color, and a pattern for sets of several clusters."""
        if column == len(self.shown_):
            return {"facecolor": _OTHER_SETS_COLOR}
        members = self.partition.focal_sets[int(self.shown_[column])]
        if len(members) == 0:
            return {"facecolor": palette.OUTLIER_COLOR}
        if len(members) == 1:
            return {"facecolor": palette.cluster_color(members[0])}
        if len(members) == self.partition.n_clusters:
            return {"facecolor": _FRAME_COLOR}
        *first, last = (to_rgb(palette.cluster_color(member)) for member in members)
        return {
            "facecolor": np.mean(first, axis=0),
            "edgecolor": last,  # color of the pattern; bars have no edges
            "hatch": _HATCHES[min(len(members) - 2, len(_HATCHES) - 1)],
        }

    def _name_samples(self) -> None:
        n_samples = self.partition.n_samples
        names = self.partition.sample_names if n_samples <= _MAX_SAMPLE_NAMES else None
        if names is None:
            self.ax_.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))
            return
        short = [shorten(name) for name in names]
        size = "medium" if n_samples <= _MAX_UPRIGHT else "small"
        self.ax_.set_xticks(self.order_, short, fontsize=size, **_rotation(short))

    # Heat map

    def _draw_heat_map(self, max_rows: int, legend: bool) -> None:
        clusters = self.partition.to_hard()
        self.order_ = self._sort_samples(clusters)
        rows, step = _assign_rows(clusters, self.order_, max_rows)
        sizes = np.bincount(rows)
        self.cells_ = self.ax_.pcolormesh(
            np.arange(len(self.labels_) + 1),
            np.append(0, sizes.cumsum()),
            self._row_means(rows, sizes),
            cmap="Blues",
            vmin=0,
            vmax=1,
            rasterized=True,
        )
        self._draw_bands(clusters)
        self._name_sets()
        if legend:
            self.colorbar_ = self.figure_.colorbar(self.cells_, ax=self.ax_, label="mass")
        if step > 1:
            title = self.ax_.get_title()
            note = f"{self.partition.n_samples:,} samples; each row is the mean of up to {step:,}"
            self.ax_.set_title(f"{title}\n{note}" if title else note, fontsize="small")

    def _sort_samples(self, clusters: IntArray) -> IntArray:
        """Sort samples by cluster, then by the mass of the cluster alone, then by its plausibility."""
        focal_sets = self.partition.focal_sets
        single = focal_sets.singleton_positions
        sure, possible = np.zeros(len(clusters)), np.zeros(len(clusters))
        for block in row_blocks(len(clusters)):
            masses, block_clusters = self.partition.mass_table[block], clusters[block]
            rows = np.arange(len(block_clusters))
            sure[block] = np.where(single[block_clusters] >= 0, masses[rows, single[block_clusters]], 0)
            possible[block] = contour(masses, focal_sets)[rows, block_clusters]
        return np.lexsort((-possible, -sure, clusters))

    def _row_means(self, rows: IntArray, sizes: IntArray) -> FloatArray:
        sums = np.zeros((len(sizes), len(self.labels_)))
        for block in row_blocks(len(rows)):
            block_rows = rows[block]
            incidence = sparse.csc_array(
                (np.ones(len(block_rows)), block_rows, np.arange(len(block_rows) + 1)),
                shape=(len(sizes), len(block_rows)),
            )
            sums += incidence @ self._columns(block)
        return np.asarray(sums / sizes[:, np.newaxis])

    def _draw_bands(self, clusters: IntArray) -> None:
        counts = np.bincount(clusters, minlength=self.partition.n_clusters)
        ends = counts.cumsum()
        width = len(self.labels_)
        middles, names = [], []
        for cluster in np.flatnonzero(counts):
            start, height = int(ends[cluster] - counts[cluster]), int(counts[cluster])
            color = palette.cluster_color(int(cluster))
            band = Rectangle((-0.045 * width, start), 0.035 * width, height, facecolor=color)
            self.ax_.add_patch(band)
            self.cluster_bands_.append(band)
            if start:
                self.ax_.axhline(start, color=_GRAY, linewidth=0.5)
            if height >= _MIN_NAMED_SHARE * len(clusters):
                middles.append(start + height / 2)
                names.append(shorten(self.partition.cluster_names[cluster]))
        self.ax_.set_yticks(middles, names, fontsize="medium" if len(names) <= _MAX_UPRIGHT else "small")
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.set(
            xlim=(-0.055 * width, width),
            ylim=(len(clusters), 0),
            ylabel="samples, by their most plausible cluster",
            xlabel="focal set",
        )

    def _name_sets(self) -> None:
        sizes = self.partition.focal_sets.sizes[self.shown_]
        is_short = len(self.labels_) <= _MAX_UPRIGHT
        self.ax_.set_xticks(
            np.arange(len(self.labels_)) + 0.5,
            self.labels_,
            fontsize="medium" if is_short else "small",
            **_rotation(self.labels_),
        )
        for label, position in zip(self.ax_.get_xticklabels(), self.shown_, strict=False):
            members = self.partition.focal_sets[int(position)]
            if len(members) == 1:
                label.set(color=palette.cluster_shade(members[0]), fontweight="bold")
        # Lines separate the empty set, single clusters, larger sets, and the combined sets.
        kinds = np.append(np.minimum(sizes, 2), [3] * (len(self.labels_) - len(sizes)))
        for edge in np.flatnonzero(np.diff(kinds)) + 1:
            self.ax_.axvline(float(edge), color="black", linewidth=0.8)


def _assign_rows(clusters: IntArray, order: IntArray, max_rows: int) -> tuple[IntArray, int]:
    """Return the row of each sample, and the maximum number of samples per row, all of one cluster."""
    step = -(-len(order) // max_rows)
    counts = np.bincount(clusters)
    starts = counts.cumsum() - counts
    n_rows = -(-counts // step)
    first_rows = n_rows.cumsum() - n_rows
    sorted_clusters = clusters[order]
    rows = np.empty(len(order), dtype=np.intp)
    rows[order] = first_rows[sorted_clusters] + (np.arange(len(order)) - starts[sorted_clusters]) // step
    return rows, step


def _rotation(names: Sequence[str]) -> dict[str, Any]:
    """Return the rotation of tick labels: none, or vertical if they would overlap."""
    return {} if max(map(len, names)) * len(names) <= _LINE_LENGTH else {"rotation": 90}
