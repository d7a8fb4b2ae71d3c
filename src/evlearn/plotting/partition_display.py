"""Plot of a credal partition: sure, torn and outlying samples, and hulls of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation
from sklearn.utils import check_random_state

from evlearn.partition import SURE_LEVEL, CredalPartition
from evlearn.partition.estimators import partition_of, predicts_masses, split_pipeline
from evlearn.plotting import palette
from evlearn.plotting.axes import open_axes, shorten, shorten_for_axis
from evlearn.plotting.palette import cluster_key, draw_legend, key
from evlearn.plotting.plane import (
    cluster_hulls,
    coordinates,
    ellipses_of,
    place_prototypes,
    sizes_of,
    true_classes,
)
from evlearn.plotting.sampling import allocate, draw_subset
from evlearn.utils.typing import AnnDataLike, BoolArray, EstimatorLike, FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_choice

_MAX_POINTS = 20_000
_MAX_POINTS_IN_PANEL = 5_000
_MAX_FEATURES = 8  # shown in panels
_PANEL_SIZE = 2.6
_BACKGROUND = "0.8"
_MAX_IN_LEGEND = 8  # clusters; with 4 kinds of marks, the legend has 12 entries
_MAX_NAMES = 60  # names of clusters
_MIN_CROWD = 2000  # drawn samples
_MAX_HIDDEN = 5  # samples; the name of a smaller cluster would hide them
_MAX_HULLS = 6  # clusters; more hulls would overlap too much
_DENSITY_BINS = 100  # along each axis
_HULL_NAMES = {"lower": "sure samples", "upper": "possible samples"}
_PROTOTYPE = "X"
Rule: TypeAlias = Literal["verdict", "max_mass", "interval_dominance"]
_HULL_STYLES = {"lower": "-", "upper": (0, (5, 2.5))}


@dataclass(kw_only=True, repr=False, eq=False)
class CredalPartitionDisplay:
    """Plot of a credal partition in 2 dimensions.

    Samples have the color and the marker of their most plausible cluster. Filled markers are sure samples. Rings
    are torn samples: the inner color is that of the other cluster, or white for several other clusters. Black
    crosses are outliers. Solid lines are the convex hulls of the sure samples of a cluster, dashed lines those of
    its possible samples. With ``rule="max_mass"`` these are the lower and upper approximations of Figure 2 of
    Denœux (2021).

    Panels for pairs of features are a matrix of such plots (Figures 6, 13 and 18 of Denœux (2020)). Each panel for
    a cluster shows its possible samples: filled markers are sure, rings are torn, and areas show the plausibility
    of the cluster. All other samples are gray.

    Create it with `from_result`, or with `from_anndata` for cells; the constructor expects computed values.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2)
        Coordinates of the samples.
    clusters : ndarray of int of shape (n_samples,)
        Most plausible cluster of each sample.
    torn : ndarray of bool of shape (n_samples,)
        True for samples with several candidates.
    outliers : ndarray of bool of shape (n_samples,)
        True for samples without candidates.
    lower_hulls : sequence of ndarray of shape (n_corners, 2)
        For each cluster, the corners of the convex hull of the samples with no other candidate, in order. Hulls
        with fewer than 2 corners are not drawn.
    upper_hulls : sequence of ndarray of shape (n_corners, 2)
        The same for all samples with this candidate.
    cluster_names : sequence of str
        Names of the clusters.
    axis_labels : sequence of 2 str
        Labels of the axes.
    rivals : ndarray of int of shape (n_samples,), default=None
        Other candidate of each torn sample, -1 for several or none.
    classes : ndarray of int of shape (n_samples,), default=None
        True class of each sample, which determines its marker.
    class_names : sequence of str, default=()
        Names of the classes.
    sizes : ndarray of shape (n_samples,), default=None
        Numbers from 0 to 1 for the areas of markers.
    prototypes : ndarray of shape (n_clusters, 2), default=None
        Coordinates of the prototypes.
    ellipses : sequence of ndarray of shape (n_corners, 2), default=None
        Closed line around each cluster.
    panels : {"features", "clusters"} or None, default=None
        Meaning of the panels.
    displays : sequence of CredalPartitionDisplay, default=()
        Displays of the panels, not yet drawn: for features 0 and 1, 0 and 2, 1 and 2, 0 and 3, ..., or for each
        cluster.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot. Of panels, only `displays` have this and the next attributes.
    axes_ : list of matplotlib Axes
        Axes of the panels, in the order of `displays`.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    drawn_ : ndarray of int
        Positions of the drawn samples, all or a subset, in ascending order.
    sure_points_, torn_points_ : list of matplotlib PathCollection
        Markers of sure and of torn samples, by cluster, and by class if these are shown.
    outlier_points_ : matplotlib PathCollection
        Crosses of the outliers.
    density_ : matplotlib QuadMesh or None
        Density of all samples, in gray, if only a subset is drawn.
    lower_lines_, upper_lines_ : list of matplotlib Line2D or None
        Hulls of the clusters; None if a hull is not drawn.
    prototype_points_ : list of matplotlib PathCollection
        Markers of the prototypes.
    ellipse_lines_ : list of matplotlib Line2D
        Ellipses of the clusters.
    legend_ : matplotlib Legend or None
        Legend of the plot.
    names_ : list of matplotlib Text
        Names of the clusters in the plot, if they are too many for the legend.

    See Also
    --------
    evlearn.CredalPartition.verdict : Default rule for the candidates of a sample.
    evlearn.CredalPartition.to_rough : The other rules.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn import CredalPartition
    >>> from evlearn.datasets import load_butterfly
    >>> from evlearn.plotting import CredalPartitionDisplay
    >>> candidates = [[1, 0]] * 5 + [[1, 1]] + [[0, 1]] * 5 + [[0, 0]]
    >>> partition = CredalPartition.from_rough(
    ...     candidates, cluster_names=["left wing", "right wing"]
    ... )
    >>> display = CredalPartitionDisplay.from_result(partition, load_butterfly().data)
    >>> display.outlier_points_.get_offsets().tolist()
    [[10.0, 10.0]]
    >>> plt.close(display.figure_)
    """

    points: FloatArray
    clusters: IntArray
    torn: BoolArray
    outliers: BoolArray
    lower_hulls: Sequence[FloatArray]
    upper_hulls: Sequence[FloatArray]
    cluster_names: Sequence[str]
    axis_labels: Sequence[str]
    rivals: IntArray | None = None
    classes: IntArray | None = None
    class_names: Sequence[str] = ()
    sizes: FloatArray | None = None
    prototypes: FloatArray | None = None
    ellipses: Sequence[FloatArray] | None = None
    panels: Literal["features", "clusters"] | None = None
    displays: Sequence[CredalPartitionDisplay] = ()

    @classmethod
    def from_result(
        cls,
        result: CredalPartition | EstimatorLike,
        X: npt.ArrayLike,
        *,
        features: Sequence[int | str] | None = None,
        panels: Literal["features", "clusters"] | None = None,
        rule: Literal["verdict", "max_mass", "interval_dominance"] = "verdict",
        level: float = SURE_LEVEL,
        y_true: npt.ArrayLike | None = None,
        size: Literal["plausibility", "belief"] | None = None,
        prototypes: bool | npt.ArrayLike = False,
        ellipses: bool | EstimatorLike = False,
        ax: Axes | None = None,
        max_points: int | None = None,
        random_state: RandomSeed = 0,
        hulls: bool | Literal["auto"] = "auto",
        legend: bool = True,
    ) -> CredalPartitionDisplay:
        """Draw a partition, or the partition of data by a fitted estimator.

        Parameters
        ----------
        result : CredalPartition or fitted evlearn estimator
            Partition of the samples, or an estimator or pipeline: if `X` is its training data, its
            ``credal_partition_`` is drawn; otherwise the result of its ``predict_mass``. To show masses over other
            features than those that it was fitted on, pass its ``credal_partition_``.
        X : array-like or data frame of shape (n_samples, n_features)
            Features of the samples. The axes have the column names of a data frame.
        features : sequence of int or str, default=None
            The 2 features to show, by number or column name. None uses both of 2 features, or the first 2
            principal components of more; the axes show their shares of the variance. For panels of features, at
            least 2 features, where None uses all of up to 8.
        panels : {"features", "clusters"} or None, default=None
            Panels to draw: one for each pair of features, or one for each cluster, with its possible samples and
            all others in gray. None draws a single plot.
        rule : {"verdict", "max_mass", "interval_dominance"}, default="verdict"
            Rule for the candidates of a sample: the verdict of summaries and tables, or a rough partition of the
            papers. With "interval_dominance" no sample is an outlier.
        level : float, default=0.6
            Minimum belief in the set of candidates, for the rule "verdict".
        y_true : array-like of shape (n_samples,), default=None
            True classes. Markers then show classes, and colors show clusters.
        size : {"plausibility", "belief"} or None, default=None
            Quantity shown by the areas of markers, for the most plausible cluster; None uses equal areas.
            Panels of clusters always show the plausibility of their cluster.
        prototypes : bool or array-like of shape (n_clusters, n_features), default=False
            Prototypes to draw, in the space of `X`; True draws ``cluster_centers_`` of the estimator.
        ellipses : bool or fitted Gaussian mixture, default=False
            Mixture whose components are the clusters, for their 90 % ellipses; True uses ``mixture_`` of the
            estimator, or the estimator itself.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure, which panels require.
        max_points : int or None, default=None
            Maximum number of samples to draw; None means 20,000, or 5,000 in each of several panels. Of more
            samples, a stratified random subset is drawn, with a minimum number of sure, torn and outlying samples
            and of each cluster. The title mentions the subset, counts and hulls are those of all samples, and the
            density of all samples is gray.
        random_state : int, RandomState instance or None, default=0
            Seed of the random subset.
        hulls : bool or "auto", default="auto"
            Whether to draw the hulls; "auto" draws those of up to 6 clusters, and none in panels.
        legend : bool, default=True
            Whether to draw a legend. More than 8 clusters are labeled in the plot instead.

        Returns
        -------
        CredalPartitionDisplay
            The drawn display.
        """
        if panels is not None:
            check_choice("panels", panels, ("features", "clusters"))
        partition = result if isinstance(result, CredalPartition) else _predicted_partition(result, X)
        options: dict[str, Any] = {"rule": rule, "level": level, "y_true": y_true, "size": size}
        options["prototypes"] = _prototypes(result, prototypes)
        options["mixture"] = _mixture(result, ellipses)
        if panels == "features":
            columns = _panel_features(X, features)
            pairs = [pair[::-1] for pair in combinations(columns[::-1], 2)][::-1]
            displays = [_build_display(partition, X, pair, **options) for pair in pairs]
            display = replace(displays[0], panels=panels, displays=displays)
        else:
            display = _build_display(partition, X, features, **options)
        if panels == "clusters":
            degrees, candidates = partition.to_possibilistic(), _candidates(partition, rule, level)
            displays = [
                _select_cluster(display, cluster, candidates[:, cluster], degrees[:, cluster])
                for cluster in range(partition.n_clusters)
            ]
            display = replace(display, panels=panels, displays=displays)
        return display.plot(ax, max_points=max_points, random_state=random_state, hulls=hulls, legend=legend)

    @classmethod
    def from_anndata(
        cls,
        adata: AnnDataLike,
        basis: str = "umap",
        *,
        key: str = "doubt",
        ax: Axes | None = None,
        max_points: int | None = None,
        random_state: RandomSeed = 0,
        legend: bool = True,
    ) -> CredalPartitionDisplay:
        """Draw the result of `evlearn.cluster.doubt_of` on an existing embedding of the cells.

        Parameters
        ----------
        adata : AnnData
            Annotated data with the result.
        basis : str, default="umap"
            Embedding: ``adata.obsm["X_umap"]`` for "umap".
        key : str, default="doubt"
            Key of the result, the parameter `key_added` of `doubt_of`.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        max_points : int or None, default=None
            Maximum number of samples to draw, see `from_result`.
        random_state : int, RandomState instance or None, default=0
            Seed of the random subset.
        legend : bool, default=True
            Whether to draw a legend. More than 8 clusters are labeled in the plot instead.

        Returns
        -------
        CredalPartitionDisplay
            The drawn display.
        """
        if f"X_{basis}" not in adata.obsm:
            raise ValueError(
                f"basis={basis!r} needs adata.obsm['X_{basis}']; compute it, or choose one of {list(adata.obsm)}."
            )
        if key not in adata.uns or f"{key}_verdict" not in adata.obs:
            raise ValueError(f"adata has no result with key={key!r}; call evlearn.cluster.doubt_of first.")
        columns = {name: adata.obs[f"{key}_{name}"] for name in ("verdict", "cluster", "second_cluster")}
        torn = (columns["verdict"] == "torn").to_numpy()
        names = [str(name) for name in columns["cluster"].cat.categories]
        return cls(
            points=np.asarray(adata.obsm[f"X_{basis}"], dtype=np.float64)[:, :2],
            clusters=columns["cluster"].cat.codes.to_numpy(np.intp),
            torn=torn,
            outliers=(columns["verdict"] == "outlier").to_numpy(),
            lower_hulls=[np.empty((0, 2))] * len(names),
            upper_hulls=[np.empty((0, 2))] * len(names),
            cluster_names=names,
            axis_labels=[f"{basis.upper()}{number}" for number in (1, 2)],
            rivals=np.where(torn, columns["second_cluster"].cat.codes, -1),
        ).plot(ax, max_points=max_points, random_state=random_state, hulls=False, legend=legend)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        max_points: int | None = None,
        random_state: RandomSeed = 0,
        hulls: bool | Literal["auto"] = "auto",
        legend: bool = True,
    ) -> CredalPartitionDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure, which panels require.
        max_points : int or None, default=None
            Maximum number of samples to draw, see `from_result`.
        random_state : int, RandomState instance or None, default=0
            Seed of the random subset.
        hulls : bool or "auto", default="auto"
            Whether to draw the hulls; "auto" draws those of up to 6 clusters, and none in panels.
        legend : bool, default=True
            Whether to draw a legend.

        Returns
        -------
        CredalPartitionDisplay
            This display.
        """
        if max_points is None:
            max_points = _MAX_POINTS_IN_PANEL if self.displays else _MAX_POINTS
        if not isinstance(max_points, (int, np.integer)) or max_points < 1:
            raise ValueError(f"max_points must be a positive whole number, got {max_points!r}.")
        if not isinstance(hulls, (bool, np.bool_)) and hulls != "auto":
            raise ValueError(f"hulls must be True, False or 'auto', got {hulls!r}.")
        if self.displays:
            if ax is not None:
                raise ValueError("ax must be None for panels, which need a separate figure.")
            self._plot_panels(max_points, random_state, hulls != "auto" and bool(hulls), legend)
            return self
        self.ax_: Axes = open_axes(ax, width=7.4 if legend else 6.4)
        self.figure_: Figure | SubFigure = self.ax_.figure
        self.ax_.set(xlabel=shorten_for_axis(self.axis_labels[0]), ylabel=shorten_for_axis(self.axis_labels[1]))
        self._choose_samples(int(max_points), check_random_state(random_state))
        self._draw_samples()
        has_hulls = len(self.cluster_names) <= _MAX_HULLS if hulls == "auto" else bool(hulls)
        # Lower hulls are drawn last, so that equal hulls are solid lines.
        self.upper_lines_ = self._draw_hulls(self.upper_hulls, "upper") if has_hulls else []
        self.lower_lines_ = self._draw_hulls(self.lower_hulls, "lower") if has_hulls else []
        self.ellipse_lines_: list[Line2D] = self._draw_ellipses()
        self.prototype_points_: list[PathCollection] = self._draw_prototypes()
        is_long = len(self.cluster_names) > _MAX_IN_LEGEND
        self.names_: list[Text] = self._draw_names() if legend and is_long else []
        self.legend_: Legend | None = self._draw_legend() if legend else None
        return self

    def _plot_panels(self, max_points: int, random_state: RandomSeed, hulls: bool, legend: bool) -> None:
        figure, self.axes_ = self._open_panels()
        self.figure_ = figure
        for display, panel in zip(self.displays, self.axes_, strict=True):
            if self.panels == "clusters":
                points = self.points[:: len(self.points) // max_points + 1]
                panel.scatter(points[:, 0], points[:, 1], s=8, color=_BACKGROUND, linewidths=0, zorder=0)
            display.plot(panel, max_points=max_points, random_state=random_state, hulls=hulls, legend=False)
        self._name_panels(figure)
        self.legend_ = None
        if legend:
            handles, title = self.displays[-1]._legend_entries()
            self.legend_ = figure.legend(handles=handles, title=title, loc="outside right upper", frameon=False)

    def _open_panels(self) -> tuple[Figure, list[Axes]]:
        from matplotlib import pyplot as plt

        n_panels = len(self.displays)
        if self.panels == "clusters":
            n_columns = min(n_panels, 4)
            n_rows = -(-n_panels // n_columns)
            size = (_PANEL_SIZE * 1.2 * n_columns + 1.5, _PANEL_SIZE * 1.2 * n_rows)
            figure, grid = plt.subplots(
                n_rows, n_columns, figsize=size, layout="constrained", squeeze=False, sharex=True, sharey=True
            )
            for unused in grid.ravel()[n_panels:]:
                unused.set_visible(False)
            return figure, list(grid.ravel()[:n_panels])
        side = round((np.sqrt(8 * n_panels + 1) - 1) / 2)
        size = (_PANEL_SIZE * side + 1.5, _PANEL_SIZE * side) if side > 1 else (6.4, 4.8)
        figure, grid = plt.subplots(
            side, side, figsize=size, layout="constrained", squeeze=False, sharex="col", sharey="row"
        )
        for row, column in zip(*np.triu_indices(side, k=1), strict=True):
            grid[row, column].set_visible(False)
        return figure, [grid[row, column] for row in range(side) for column in range(row + 1)]

    def _name_panels(self, figure: Figure) -> None:
        if self.panels == "features":
            for panel in self.axes_:
                panel.label_outer()
            return
        for cluster, (display, panel) in enumerate(zip(self.displays, self.axes_, strict=True)):
            panel.set_title(f"cluster {shorten(display.cluster_names[cluster])}", fontsize="medium")
            panel.set(xlabel="", ylabel="")
        for write_label, label in zip((figure.supxlabel, figure.supylabel), self.axis_labels, strict=True):
            write_label(shorten_for_axis(label), fontsize="medium")

    def _choose_samples(self, max_points: int, random: np.random.RandomState) -> None:
        kinds = (~(self.torn | self.outliers), self.torn, self.outliers)
        positions = [np.flatnonzero(kind) for kind in kinds]
        shares = allocate(max_points, [len(members) for members in positions])
        subsets = [
            draw_subset(members, share, self.clusters[members], random)
            for members, share in zip(positions, shares, strict=True)
        ]
        self.drawn_: IntArray = np.sort(np.concatenate(subsets))
        self.density_: QuadMesh | None = None
        if len(self.drawn_) < len(self.points):
            self.density_ = self._draw_density()
            title = self.ax_.get_title()
            note = f"{len(self.drawn_):,} of {len(self.points):,} samples; gray: density of all samples"
            self.ax_.set_title(f"{title}\n{note}" if title else note, fontsize="small")

    def _draw_density(self) -> QuadMesh:
        counts, x, y = np.histogram2d(self.points[:, 0], self.points[:, 1], bins=_DENSITY_BINS)
        heights = np.ma.masked_equal(np.log1p(counts.T), 0)
        top = float(heights.max())
        # The scale starts below 0, so that cells with a single sample are visible.
        density = self.ax_.pcolormesh(x, y, heights, cmap="Grays", vmin=-0.3 * top, vmax=2.5 * top, zorder=0)
        density.sticky_edges.x.clear()  # sticky edges would cut marks
        density.sticky_edges.y.clear()
        return density

    def _draw_samples(self) -> None:
        points, clusters = self.points[self.drawn_], self.clusters[self.drawn_]
        torn, outliers = self.torn[self.drawn_], self.outliers[self.drawn_]
        # From 45 square points for 12 samples to 4 for 20,000.
        area = float(np.clip(600 / np.sqrt(len(points)), 4, 45))
        self.sure_points_: list[PathCollection] = []
        self.torn_points_: list[PathCollection] = []
        # Markers show the true classes, if any, or else the clusters.
        marker_numbers = clusters if self.classes is None else self.classes[self.drawn_]
        markers = range(max(len(self.class_names), 1))
        for cluster, number in product(range(len(self.cluster_names)), markers):
            marker = cluster if self.classes is None else number
            members = (clusters == cluster) & (marker_numbers == marker)
            sure_members, doubtful_members = members & ~torn & ~outliers, members & torn
            self.sure_points_.append(self._scatter(points, sure_members, cluster, marker, area, None))
            self.torn_points_.append(
                self._scatter(points, doubtful_members, cluster, marker, area, self._cores(doubtful_members))
            )
        self.outlier_points_: PathCollection = self.ax_.scatter(
            points[outliers, 0],
            points[outliers, 1],
            s=1.3 * area,
            color=palette.OUTLIER_COLOR,
            marker=palette.OUTLIER_MARKER,
            linewidths=max(0.7, area / 30),
            zorder=5,
        )

    def _cores(self, selected: BoolArray) -> list[str]:
        """Return the colors of the other candidates of torn samples."""
        if self.rivals is None:
            return ["white"]
        return [
            palette.cluster_color(rival) if rival >= 0 else "white" for rival in self.rivals[self.drawn_][selected]
        ]

    def _scatter(
        self,
        points: FloatArray,
        selected: BoolArray,
        cluster: int,
        marker: int,
        area: float,
        cores: list[str] | None,
    ) -> PathCollection:
        edge_width = 0.5 if area < 15 else 0.8
        is_ring = cores is not None
        area = palette.marker_area(marker, 1.2 * area if is_ring else area)
        areas = area if self.sizes is None else _areas(area, self.sizes[self.drawn_][selected])
        return self.ax_.scatter(
            points[selected, 0],
            points[selected, 1],
            s=areas,
            marker=palette.cluster_marker(marker),
            facecolors=palette.cluster_color(cluster) if cores is None else cores,
            edgecolors=[palette.cluster_shade(cluster)],
            linewidths=1.8 * edge_width if is_ring else 0.6 * edge_width,
            zorder=3 if is_ring else 2,
        )

    def _draw_prototypes(self) -> list[PathCollection]:
        return [
            self.ax_.scatter(
                position[0],
                position[1],
                s=160,
                marker=_PROTOTYPE,
                facecolors=palette.cluster_color(cluster),
                edgecolors="black",
                linewidths=1.2,
                zorder=7,
            )
            for cluster, position in enumerate(() if self.prototypes is None else self.prototypes)
        ]

    def _draw_ellipses(self) -> list[Line2D]:
        halo = [withStroke(linewidth=3, foreground="white")]
        lines = []
        for cluster, line in enumerate(self.ellipses or ()):
            color = palette.cluster_shade(cluster)
            lines += self.ax_.plot(*line.T, color=color, linewidth=1.8, path_effects=halo, zorder=4)
        return lines

    def _draw_hulls(self, hulls: Sequence[FloatArray], kind: str) -> list[Line2D | None]:
        return [
            self._draw_hull(hull, cluster, kind) if len(hull) > 1 else None for cluster, hull in enumerate(hulls)
        ]

    def _draw_hull(self, hull: FloatArray, cluster: int, kind: str) -> Line2D:
        closed = hull if len(hull) == 2 else np.vstack([hull, hull[:1]])
        # Lines must not hide small numbers of samples. Among many samples, lines are on top, with a white border.
        crowded = len(self.drawn_) > _MIN_CROWD
        (line,) = self.ax_.plot(
            *closed.T,
            color=palette.cluster_shade(cluster),
            linestyle=_HULL_STYLES[kind],
            linewidth=1.4 if kind == "lower" else 1.2,
            path_effects=[withStroke(linewidth=2.6, foreground="white")] if crowded else None,
            zorder=4 if crowded else 1,
        )
        return line

    def _draw_names(self) -> list[Text]:
        """Write the name of each cluster at the center of its samples, or above few samples."""
        if len(self.cluster_names) > _MAX_NAMES:
            return []
        clustered = self.drawn_[~self.outliers[self.drawn_]]
        points, clusters = self.points[clustered], self.clusters[clustered]
        return [self._draw_name(cluster, points[clusters == cluster]) for cluster in np.unique(clusters)]

    def _draw_name(self, cluster: int, points: FloatArray) -> Text:
        is_small = len(points) <= _MAX_HIDDEN
        x, y = points[points[:, 1].argmax()] if is_small else np.median(points, axis=0)
        above = ScaledTranslation(0, 5 / 72, self.figure_.dpi_scale_trans)
        return self.ax_.text(
            x,
            y,
            shorten(self.cluster_names[cluster]),
            transform=self.ax_.transData + above if is_small else self.ax_.transData,
            color=palette.cluster_shade(cluster),
            fontsize="small",
            fontweight="bold",
            ha="center",
            va="bottom" if is_small else "center",
            path_effects=[withStroke(linewidth=3, foreground="white")],
            zorder=6,
        )

    def _draw_legend(self) -> Legend:
        handles, title = self._legend_entries()
        return draw_legend(self.ax_, handles, title, crowded=len(self.drawn_) > _MIN_CROWD)

    def _legend_entries(self) -> tuple[list[Line2D], str]:
        """Return the entries and the title of the legend."""
        n_clusters = len(self.cluster_names)
        if n_clusters <= _MAX_IN_LEGEND:
            style = {} if self.classes is None else {"marker": "o"}
            handles = [cluster_key(cluster, name, **style) for cluster, name in enumerate(self.cluster_names)]
            return handles + self._mark_keys(), "cluster"
        title = f"{n_clusters} clusters" + (",\nnamed in the plot" if self.names_ else "")
        return self._mark_keys(), title

    def _mark_keys(self) -> list[Line2D]:
        """Return legend entries of the marks that occur in the plot."""
        gray = "0.35"
        keys = [
            cluster_key(number, f"true class {name}", markerfacecolor=gray, markeredgecolor=gray)
            for number, name in enumerate(self.class_names)
        ]
        keys += self._torn_keys(gray)
        if self.outliers.any():
            label = f"outlier: {self._share(self.outliers)}"
            keys.append(key(label, marker=palette.OUTLIER_MARKER, markeredgecolor=palette.OUTLIER_COLOR))
        for kind, lines in (("lower", self.lower_lines_), ("upper", self.upper_lines_)):
            if any(line is not None for line in lines):
                keys.append(key(_HULL_NAMES[kind], color=gray, linestyle=_HULL_STYLES[kind]))
        if self.prototype_points_:
            style = {"markersize": 10, "markerfacecolor": "white", "markeredgecolor": "black"}
            keys.append(key("prototype", marker=_PROTOTYPE, **style))
        if self.ellipse_lines_:
            keys.append(key("90 % of a component", color=gray, linestyle="-", linewidth=1.8))
        return keys

    def _torn_keys(self, gray: str) -> list[Line2D]:
        ring = {"marker": "o", "markeredgecolor": gray, "markeredgewidth": 1.4}
        if self.rivals is None:
            among_more, between_pairs = self.torn, np.zeros_like(self.torn)
        else:
            among_more, between_pairs = self.torn & (self.rivals < 0), self.torn & (self.rivals >= 0)
        keys = []
        if between_pairs.any():
            keys.append(key(f"torn between 2: {self._share(between_pairs)}", markerfacecolor="0.8", **ring))
        if among_more.any():
            label = "torn between more" if between_pairs.any() else "torn"
            keys.append(key(f"{label}: {self._share(among_more)}", markerfacecolor="white", **ring))
        return keys

    def _share(self, selected: BoolArray) -> str:
        """Return the number and the percentage of selected samples."""
        number = int(selected.sum())
        percent = 100 * number / len(selected)
        return f"{number:,} ({percent:.0f} %)" if percent >= 10 else f"{number:,} ({percent:.2g} %)"


def _build_display(
    partition: CredalPartition,
    X: Any,
    features: Sequence[int | str] | None,
    *,
    rule: Rule,
    level: float,
    y_true: Any,
    size: str | None,
    prototypes: Any,
    mixture: Any,
) -> CredalPartitionDisplay:
    """Return the display of a credal partition, not yet drawn."""
    points, axis_labels = coordinates(X, features, partition.n_samples)
    classes, class_names = true_classes(y_true, partition.n_samples)
    candidates = _candidates(partition, rule, level)
    n_candidates = candidates.sum(axis=1)
    lower_hulls, upper_hulls = cluster_hulls(points, candidates)
    clusters = partition.to_hard()
    return CredalPartitionDisplay(
        points=points,
        clusters=clusters,
        torn=n_candidates > 1,
        outliers=n_candidates == 0,
        lower_hulls=lower_hulls,
        upper_hulls=upper_hulls,
        cluster_names=partition.cluster_names,
        axis_labels=axis_labels,
        rivals=rivals_of(candidates, clusters),
        classes=classes,
        class_names=class_names,
        sizes=sizes_of(partition, size),
        prototypes=place_prototypes(prototypes, X, features, partition.n_clusters),
        ellipses=ellipses_of(mixture, X, features, partition.n_clusters),
    )


def _candidates(partition: CredalPartition, rule: Rule, level: float) -> BoolArray:
    """Return the candidate clusters of each sample."""
    check_choice("rule", rule, ("verdict", "max_mass", "interval_dominance"))
    return partition.verdict(level).candidates if rule == "verdict" else partition.to_rough(rule)


def rivals_of(candidates: BoolArray, clusters: IntArray) -> IntArray:
    """Return the other candidate of samples with 2 candidates, -1 for other samples."""
    rows = np.arange(len(clusters))
    has_rival = (candidates.sum(axis=1) == 2) & candidates[rows, clusters]
    others = candidates.copy()
    others[rows, clusters] = False
    return np.where(has_rival, others.argmax(axis=1), -1)


def _select_cluster(
    display: CredalPartitionDisplay, cluster: int, members: BoolArray, sizes: FloatArray
) -> CredalPartitionDisplay:
    """Return the display of the possible samples of a cluster with given sizes, not yet drawn."""
    no_lines = np.empty((0, 2))

    def keep_cluster(lines: Sequence[FloatArray]) -> list[FloatArray]:
        return [line if number == cluster else no_lines for number, line in enumerate(lines)]

    return replace(
        display,
        points=display.points[members],
        clusters=np.full(members.sum(), cluster),
        torn=display.torn[members],
        outliers=np.zeros(members.sum(), dtype=bool),
        lower_hulls=keep_cluster(display.lower_hulls),
        upper_hulls=keep_cluster(display.upper_hulls),
        rivals=None if display.rivals is None else display.rivals[members],
        classes=None if display.classes is None else display.classes[members],
        sizes=sizes[members],
        ellipses=None if display.ellipses is None else keep_cluster(display.ellipses),
    )


def _predicted_partition(estimator: Any, X: Any) -> CredalPartition:
    """Return the partition of data by a fitted estimator."""
    if not predicts_masses(estimator):
        raise ValueError(
            f"estimator must have predict_mass, which returns the masses of samples, got {estimator!r}; if X "
            "contains the samples of a partition, pass the partition."
        )
    return partition_of(estimator, X)


def _prototypes(estimator: Any, prototypes: Any) -> Any:
    """Return given prototypes, those of an estimator, or None."""
    if not isinstance(prototypes, (bool, np.bool_)):
        return prototypes
    if not prototypes:
        return None
    before, last = split_pipeline(estimator)
    if before is not None or not hasattr(last, "cluster_centers_"):
        raise ValueError(
            f"prototypes=True needs an estimator with cluster_centers_ in the space of X, got {estimator!r}; "
            "pass an array of prototypes."
        )
    return np.asarray(last.cluster_centers_)


def _mixture(estimator: Any, ellipses: Any) -> Any:
    """Return a given Gaussian mixture, that of an estimator, or None."""
    if not isinstance(ellipses, (bool, np.bool_)):
        return ellipses
    if not ellipses:
        return None
    before, last = split_pipeline(estimator)
    if before is not None:
        raise ValueError(
            f"ellipses=True needs an estimator without transformers, got {estimator!r}; transform X first, and "
            "pass the last step."
        )
    return getattr(last, "mixture_", last)


def _areas(area: float, sizes: FloatArray) -> FloatArray:
    """Return areas proportional to sizes, of at least 10 % of the maximum."""
    return np.asarray(1.5 * area * np.clip(sizes, 0.1, 1))


def _panel_features(X: Any, features: Sequence[int | str] | None) -> list[int | str]:
    """Return the features of the panels."""
    if features is not None:
        if isinstance(features, str) or len(features) < 2:
            raise ValueError(f"features must name at least 2 columns of X, got {features!r}.")
        return list(features)
    n_features = np.shape(X)[1] if np.ndim(X) == 2 else 0
    if not 2 <= n_features <= _MAX_FEATURES:
        raise ValueError(
            f"X has {n_features} features, but panels show 2 to {_MAX_FEATURES}; choose some with `features`."
        )
    return list(range(n_features))
