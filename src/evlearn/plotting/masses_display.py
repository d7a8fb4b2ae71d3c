"""The masses themselves: stacked bars for few samples, a heat map for many."""

from __future__ import annotations

from collections.abc import Sequence
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
from evlearn.partition.estimators import fitted_partition
from evlearn.plotting import palette
from evlearn.plotting.axes import open_axes
from evlearn.plotting.names import shortened
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import EstimatorLike, FloatArray, IntArray
from evlearn.utils.validation import check_choice, check_integer

_FEW = 40  # samples that are bars unless told otherwise
_MOST_BARS = 200
_MOST_OBJECT_NAMES = 40
_SETS_IN_BARS = 12
_COLORS_IN_BARS = 30  # of single clusters
_SETS_IN_HEAT_MAP = 40
_UPRIGHT = 12  # names of the usual size
_LETTERS_IN_A_LINE = 50
_GREY = "0.35"
_LIGHT = "0.86"
_OTHERS = "0.6"
#: Stripes for pairs, other patterns for larger sets.
_HATCHES = ("////", "xxxx", "....", "++++", "oo", "\\\\\\\\")
_LONGEST_LEGEND = 17
_SMALLEST_NAMED = 0.02  # the part of the rows that the name of a cluster needs


class MassesDisplay:
    """The masses of a credal partition, for each sample and focal set.

    Few samples are stacked bars: single clusters have their colour, sets of several clusters a pattern in the
    colours of their members, Ω is light grey and the empty set black. Many samples are the rows of a heat map with
    a column for each set. There samples are sorted by their most plausible cluster, whose colour stands at the
    left; in each cluster those come first that give most mass to it alone.

    Sets without any mass are left out. Where there are too many sets, those with most mass are shown, and the
    others as one.

    Make it with `from_estimator` or `from_partition`.

    Parameters
    ----------
    partition : CredalPartition
        The partition.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the picture is drawn.
    figure_ : matplotlib Figure
        The figure around it.
    shown_ : ndarray of int
        The positions of the focal sets that are shown each for itself.
    labels_ : list of str
        What the sets are called in the picture, with the others, if there are any, as the last.
    bars_ : list of matplotlib BarContainer
        The bars of each set; empty for a heat map.
    legend_ : matplotlib Legend or None
        What the bars stand for.
    cells_ : matplotlib QuadMesh or None
        The heat map; None for bars.
    cluster_bands_ : list of matplotlib Rectangle
        The colours at the left of a heat map, for each cluster that has samples.
    colorbar_ : matplotlib Colorbar or None
        The colour scale of a heat map.
    order_ : ndarray of int of shape (n_samples,)
        The samples in the order in which they are drawn: bars from the left, heat maps from the top.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn import CredalPartition
    >>> from evlearn.plotting import MassesDisplay
    >>> partition = CredalPartition.from_rough(
    ...     [[1, 0], [1, 1], [0, 0]], cluster_names=["left", "right"]
    ... )
    >>> display = MassesDisplay.from_partition(partition)
    >>> display.labels_
    ['∅', '{left}', 'Ω']
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, partition: CredalPartition) -> None:
        self.partition = partition

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        *,
        kind: Literal["auto", "bars", "heatmap"] = "auto",
        max_sets: int | None = None,
        max_rows: int = 500,
        ax: Axes | None = None,
        legend: bool = True,
    ) -> MassesDisplay:
        """The masses that a fitted estimator gives to the data it was fitted on.

        Parameters
        ----------
        estimator : fitted evlearn estimator
            Its ``credal_partition_`` is drawn. For new samples, use ``from_partition(estimator.predict_mass(X))``.
        kind : {"auto", "bars", "heatmap"}, default="auto"
            What to draw; "auto" means bars for up to 40 samples, else a heat map.
        max_sets : int or None, default=None
            The largest number of sets to show. None means 40 for a heat map; for bars 12, or two more
            than there are clusters, up to 32.
        max_rows : int, default=500
            About the largest number of rows in a heat map. Of more samples, each row is the mean of several that
            follow each other, and the title says of how many.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        legend : bool, default=True
            Whether to explain the bars, or to draw the colour scale of the heat map.

        Returns
        -------
        MassesDisplay
            The picture, drawn.
        """
        return cls.from_partition(
            fitted_partition(estimator), kind=kind, max_sets=max_sets, max_rows=max_rows, ax=ax, legend=legend
        )

    @classmethod
    def from_partition(
        cls,
        partition: CredalPartition,
        *,
        kind: Literal["auto", "bars", "heatmap"] = "auto",
        max_sets: int | None = None,
        max_rows: int = 500,
        ax: Axes | None = None,
        legend: bool = True,
    ) -> MassesDisplay:
        """The masses of a credal partition.

        Parameters
        ----------
        partition : CredalPartition
            The partition. Up to 40 samples that are drawn as bars have their names on the axis.
        kind : {"auto", "bars", "heatmap"}, default="auto"
            What to draw; "auto" means bars for up to 40 samples, else a heat map.
        max_sets : int or None, default=None
            The largest number of sets to show. None means 40 for a heat map; for bars 12, or two more
            than there are clusters, up to 32.
        max_rows : int, default=500
            About the largest number of rows in a heat map. Of more samples, each row is the mean of several that
            follow each other, and the title says of how many.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        legend : bool, default=True
            Whether to explain the bars, or to draw the colour scale of the heat map.

        Returns
        -------
        MassesDisplay
            The picture, drawn.
        """
        return cls(partition=partition).plot(ax, kind=kind, max_sets=max_sets, max_rows=max_rows, legend=legend)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["auto", "bars", "heatmap"] = "auto",
        max_sets: int | None = None,
        max_rows: int = 500,
        legend: bool = True,
    ) -> MassesDisplay:
        """Draw the picture, again or elsewhere.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        kind : {"auto", "bars", "heatmap"}, default="auto"
            What to draw, see `from_partition`.
        max_sets : int or None, default=None
            The largest number of sets to show, see `from_partition`.
        max_rows : int, default=500
            About the largest number of rows in a heat map, see `from_partition`.
        legend : bool, default=True
            Whether to explain the bars, or to draw the colour scale of the heat map.

        Returns
        -------
        MassesDisplay
            The display itself.
        """
        bars = self._wants_bars(kind)
        if max_sets is None:
            clusters_and_two = min(self.partition.n_clusters + 2, _COLORS_IN_BARS + 2)
            max_sets = max(_SETS_IN_BARS, clusters_and_two) if bars else _SETS_IN_HEAT_MAP
        check_integer("max_sets", max_sets, 1)
        check_integer("max_rows", max_rows, 1)
        self.ax_: Axes
        self.figure_: Figure | SubFigure
        self.ax_, self.figure_ = open_axes(ax)
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

    def _wants_bars(self, kind: str) -> bool:
        check_choice("kind", kind, ("auto", "bars", "heatmap"))
        n_samples = self.partition.n_samples
        if kind == "bars" and n_samples > _MOST_BARS:
            raise ValueError(
                f"kind='bars' is for at most {_MOST_BARS} samples, but there are {n_samples:,}; use 'heatmap', or "
                "choose samples, as in partition[:100]."
            )
        return kind == "bars" or (kind == "auto" and n_samples <= _FEW)

    # Which sets

    def _choose_sets(self, max_sets: int) -> None:
        totals = np.zeros(len(self.partition.focal_sets))
        for block in row_blocks(self.partition.n_samples):
            totals += self.partition.masses[block].sum(axis=0, dtype=np.float64)
        by_mass = np.argsort(-totals, kind="stable")[: np.count_nonzero(totals)]
        n_shown = len(by_mass) if len(by_mass) <= max_sets else max_sets - 1
        self.shown_: IntArray = np.sort(by_mass[:n_shown])
        labels = self.partition.focal_sets.labels
        self.labels_: list[str] = [shortened(labels[position]) for position in self.shown_]
        if n_shown < len(by_mass):
            self.labels_.append(f"{len(by_mass) - n_shown:,} other sets")

    def _columns(self, block: slice) -> FloatArray:
        """The masses of the sets in the picture, for some samples."""
        masses = self.partition.masses[block]
        shown = masses[:, self.shown_]
        if len(self.labels_) == len(self.shown_):
            return shown
        # By subtraction, because the others may be many; rounding may make it negative.
        others = masses.sum(axis=1, dtype=np.float64) - shown.sum(axis=1, dtype=np.float64)
        return np.column_stack([shown, np.maximum(others, 0)])

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
                width=0.85 if n_samples <= _FEW else 1.0,
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
        # Beside the axes if a layout makes room there; else a neighbour may be there.
        beside = self.figure_.get_layout_engine() is not None
        place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1), "frameon": False}
        return self.ax_.legend(
            handles=self.bars_[::-1],  # the uppermost bars come first
            title="focal set",
            handleheight=1.4,
            ncols=1 + len(self.bars_) // _LONGEST_LEGEND,
            **(place if beside else {"loc": "upper right", "fontsize": "x-small", "framealpha": 0.8}),
        )

    def _style(self, column: int) -> dict[str, Any]:
        """How the bars of a set look: a colour, and a pattern for sets of several clusters."""
        if column == len(self.shown_):
            return {"facecolor": _OTHERS}
        members = self.partition.focal_sets[int(self.shown_[column])]
        if len(members) == 0:
            return {"facecolor": palette.OUTLIER_COLOR}
        if len(members) == 1:
            return {"facecolor": palette.cluster_color(members[0])}
        if len(members) == self.partition.n_clusters:
            return {"facecolor": _LIGHT}
        *first, last = (to_rgb(palette.cluster_color(member)) for member in members)
        return {
            "facecolor": np.mean(first, axis=0),
            "edgecolor": last,  # of the pattern; bars have no edges
            "hatch": _HATCHES[min(len(members) - 2, len(_HATCHES) - 1)],
        }

    def _name_samples(self) -> None:
        n_samples = self.partition.n_samples
        names = self.partition.sample_names if n_samples <= _MOST_OBJECT_NAMES else None
        if names is None:
            self.ax_.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))
            return
        short = [shortened(name) for name in names]
        size = "medium" if n_samples <= _UPRIGHT else "small"
        self.ax_.set_xticks(self.order_, short, fontsize=size, **_turned(short))

    # Heat map

    def _draw_heat_map(self, max_rows: int, legend: bool) -> None:
        clusters = self.partition.to_hard()
        self.order_ = self._by_decidedness(clusters)
        rows, step = _share_rows(clusters, self.order_, max_rows)
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

    def _by_decidedness(self, clusters: IntArray) -> IntArray:
        """Samples by cluster; in each, by the mass of it alone, and where this is equal by its plausibility."""
        focal_sets = self.partition.focal_sets
        single = focal_sets.singleton_positions
        sure, possible = np.zeros(len(clusters)), np.zeros(len(clusters))
        for block in row_blocks(len(clusters)):
            masses, own = self.partition.masses[block], clusters[block]
            rows = np.arange(len(own))
            sure[block] = np.where(single[own] >= 0, masses[rows, single[own]], 0)
            possible[block] = contour(masses, focal_sets)[rows, own]
        return np.lexsort((-possible, -sure, clusters))

    def _row_means(self, rows: IntArray, sizes: IntArray) -> FloatArray:
        sums = np.zeros((len(sizes), len(self.labels_)))
        for block in row_blocks(len(rows)):
            own = rows[block]
            adds = sparse.csc_array(
                (np.ones(len(own)), own, np.arange(len(own) + 1)), shape=(len(sizes), len(own))
            )
            sums += adds @ self._columns(block)
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
                self.ax_.axhline(start, color=_GREY, linewidth=0.5)
            if height >= _SMALLEST_NAMED * len(clusters):
                middles.append(start + height / 2)
                names.append(shortened(self.partition.cluster_names[cluster]))
        self.ax_.set_yticks(middles, names, fontsize="medium" if len(names) <= _UPRIGHT else "small")
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.set(
            xlim=(-0.055 * width, width),
            ylim=(len(clusters), 0),
            ylabel="samples, by their most plausible cluster",
            xlabel="focal set",
        )

    def _name_sets(self) -> None:
        sizes = self.partition.focal_sets.sizes[self.shown_]
        few = len(self.labels_) <= _UPRIGHT
        self.ax_.set_xticks(
            np.arange(len(self.labels_)) + 0.5,
            self.labels_,
            fontsize="medium" if few else "small",
            **_turned(self.labels_),
        )
        for label, position in zip(self.ax_.get_xticklabels(), self.shown_, strict=False):
            members = self.partition.focal_sets[int(position)]
            if len(members) == 1:
                label.set(color=palette.cluster_shade(members[0]), fontweight="bold")
        # Lines between the empty set, single clusters, sets of several, and all others.
        kinds = np.append(np.minimum(sizes, 2), [3] * (len(self.labels_) - len(sizes)))
        for edge in np.flatnonzero(np.diff(kinds)) + 1:
            self.ax_.axvline(float(edge), color="black", linewidth=0.8)


def _share_rows(clusters: IntArray, order: IntArray, max_rows: int) -> tuple[IntArray, int]:
    """The row of each sample, where a row holds samples of one cluster that follow each other, and how many."""
    step = -(-len(order) // max_rows)
    counts = np.bincount(clusters)
    starts = counts.cumsum() - counts
    n_rows = -(-counts // step)
    first_rows = n_rows.cumsum() - n_rows
    sorted_clusters = clusters[order]
    rows = np.empty(len(order), dtype=np.intp)
    rows[order] = first_rows[sorted_clusters] + (np.arange(len(order)) - starts[sorted_clusters]) // step
    return rows, step


def _turned(names: Sequence[str]) -> dict[str, Any]:
    """How names are written under an axis: upright, or turned where they would run into each other."""
    return {} if max(map(len, names)) * len(names) <= _LETTERS_IN_A_LINE else {"rotation": 90}
