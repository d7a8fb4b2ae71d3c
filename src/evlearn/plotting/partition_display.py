"""The picture of a credal partition: which samples are sure, torn or outliers, and how far clusters may reach."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
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
from evlearn.plotting.axes import open_axes
from evlearn.plotting.hulls import cluster_hulls
from evlearn.plotting.legends import cluster_key, draw_legend, key
from evlearn.plotting.names import on_axis, shortened
from evlearn.plotting.overlays import ellipses_of, place_prototypes, sizes_of, true_classes
from evlearn.plotting.plane import place
from evlearn.plotting.sampling import sample, share_out
from evlearn.utils.typing import BoolArray, EstimatorLike, FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_choice

_MOST_IN_LEGEND = 8  # clusters; with the four kinds of mark there are twelve entries
_MOST_IN_PICTURE = 60  # names of clusters
_CROWD = 2000  # drawn samples
_HIDDEN = 5  # samples of a cluster that its name would hide
_MOST_HULLS = 6  # clusters; the hulls of more are a net
_DENSITY_BINS = 100  # along each axis
_HULL_NAMES = {"lower": "surely in", "upper": "possibly in"}
_PROTOTYPE = "X"
Rule: TypeAlias = Literal["verdict", "max_mass", "interval_dominance"]
_HULL_STYLES = {"lower": "-", "upper": (0, (5, 2.5))}


class CredalPartitionDisplay:
    """The picture of a credal partition in two dimensions.

    Samples have the colour and the marker of their most plausible cluster. Filled markers are sure. Rings are
    torn: the core has the colour of the other cluster, and is white where there are several. Black crosses are
    outliers. Solid lines are the convex hulls of the samples that are surely in a cluster, dashed lines those of
    all that are possibly in it. With ``rule="max_mass"`` these are the lower and upper approximations of Figure 2
    of Denœux (2021).

    Make it with `from_estimator` or `from_partition`; the constructor expects what these compute.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2)
        Where the samples lie.
    clusters : ndarray of int of shape (n_samples,)
        The most plausible cluster of each sample.
    torn : ndarray of bool of shape (n_samples,)
        Whether the sample has several candidates.
    outliers : ndarray of bool of shape (n_samples,)
        Whether the sample has none.
    lower_hulls : sequence of ndarray of shape (n_corners, 2)
        For each cluster, the corners of the convex hull of the samples that have no other candidate, in order
        around it; two for a segment. With fewer there is nothing to draw.
    upper_hulls : sequence of ndarray of shape (n_corners, 2)
        The same for all samples that it is a candidate of.
    cluster_names : sequence of str
        The name of each cluster.
    axis_labels : sequence of two str
        What to write on the axes.
    rivals : ndarray of int of shape (n_samples,), default=None
        The other candidate of each torn sample, -1 where there are several or none.
    classes : ndarray of int of shape (n_samples,), default=None
        The true class of each sample, which then decides its marker.
    class_names : sequence of str, default=()
        The name of each class.
    sizes : ndarray of shape (n_samples,), default=None
        Numbers from 0 to 1 for the areas of markers.
    prototypes : ndarray of shape (n_clusters, 2), default=None
        Where the prototypes of clusters lie.
    ellipses : sequence of ndarray of shape (n_corners, 2), default=None
        A closed line around each cluster.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the picture is drawn.
    figure_ : matplotlib Figure
        The figure around it.
    drawn_ : ndarray of int
        The numbers of the samples that are drawn, in ascending order: all of them, or a subset.
    sure_points_, torn_points_ : list of matplotlib PathCollection
        The markers of sure and of torn samples, for each cluster, and in it for each class where these are shown.
    outlier_points_ : matplotlib PathCollection
        The crosses of the outliers.
    density_ : matplotlib QuadMesh or None
        Where all samples are, in grey, if only a subset is drawn.
    lower_lines_, upper_lines_ : list of matplotlib Line2D or None
        The hulls, for each cluster; None where there is nothing to draw.
    prototype_points_ : list of matplotlib PathCollection
        The prototypes.
    ellipse_lines_ : list of matplotlib Line2D
        The ellipses.
    legend_ : matplotlib Legend or None
        The legend.
    names_ : list of matplotlib Text
        The names of the clusters in the picture, when they are too many for the legend.

    See Also
    --------
    evlearn.CredalPartition.verdict : How the candidates of a sample are chosen.
    evlearn.CredalPartition.to_rough : The other two rules.

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
    >>> display = CredalPartitionDisplay.from_partition(partition, load_butterfly().data)
    >>> display.outlier_points_.get_offsets().tolist()
    [[10.0, 10.0]]
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        points: FloatArray,
        clusters: IntArray,
        torn: BoolArray,
        outliers: BoolArray,
        lower_hulls: Sequence[FloatArray],
        upper_hulls: Sequence[FloatArray],
        cluster_names: Sequence[str],
        axis_labels: Sequence[str],
        rivals: IntArray | None = None,
        classes: IntArray | None = None,
        class_names: Sequence[str] = (),
        sizes: FloatArray | None = None,
        prototypes: FloatArray | None = None,
        ellipses: Sequence[FloatArray] | None = None,
    ) -> None:
        self.points = points
        self.clusters = clusters
        self.torn = torn
        self.outliers = outliers
        self.lower_hulls = lower_hulls
        self.upper_hulls = upper_hulls
        self.cluster_names = cluster_names
        self.axis_labels = axis_labels
        self.rivals = rivals
        self.classes = classes
        self.class_names = class_names
        self.sizes = sizes
        self.prototypes = prototypes
        self.ellipses = ellipses

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        X: npt.ArrayLike,
        *,
        features: Sequence[int | str] | None = None,
        rule: Literal["verdict", "max_mass", "interval_dominance"] = "verdict",
        level: float = SURE_LEVEL,
        y_true: npt.ArrayLike | None = None,
        size: Literal["plausibility", "belief"] | None = None,
        prototypes: bool = False,
        ellipses: bool = False,
        ax: Axes | None = None,
        max_points: int = 20000,
        random_state: RandomSeed = 0,
        hulls: bool | Literal["auto"] = "auto",
        legend: bool = True,
    ) -> CredalPartitionDisplay:
        """The picture of what a fitted estimator says about data.

        Parameters
        ----------
        estimator : fitted evlearn estimator
            If `X` holds the very data that it was fitted on, its ``credal_partition_`` is drawn; otherwise what
            its ``predict_mass`` says about `X`. To show masses over other features than those that it was fitted
            on, use ``from_partition(estimator.credal_partition_, X)``.
        X : array-like or data frame of shape (n_samples, n_features)
            The features of the samples; the axes carry the column names of a data frame.
        features : sequence of two int or str, default=None
            The features to show, by number or column name. None means the two that there are or, where there are
            more, the first two principal components of `X`, whose share of the variance the axes show.
        rule : {"verdict", "max_mass", "interval_dominance"}, default="verdict"
            How the candidates of a sample are chosen: by the verdict that summaries and tables show, or as in the
            rough partitions of the papers. With the last rule no sample is an outlier.
        level : float, default=0.6
            For "verdict": the belief that the candidates of a sample must have together.
        y_true : array-like of shape (n_samples,), default=None
            The true classes: then these have the markers, and clusters only have colours.
        size : {"plausibility", "belief"} or None, default=None
            What the areas of markers show about a sample and its most plausible cluster; None draws all alike.
        prototypes : bool, default=False
            Whether to draw ``cluster_centers_`` of the estimator.
        ellipses : bool, default=False
            Whether to draw the ellipses that hold 90 % of the components of a Gaussian mixture: that of the
            estimator (``mixture_``), or the estimator itself.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        max_points : int, default=20000
            The largest number of samples to draw. Of more, a random subset is drawn, in which sure, torn and
            outlying samples and clusters have their shares, but for a few of each that are always drawn. The
            title says so, counts and hulls are those of all samples, and a grey shade shows where these are.
        random_state : int, RandomState instance or None, default=0
            The seed of that sample.
        hulls : bool or "auto", default="auto"
            Whether to draw the hulls; "auto" does for up to six clusters.
        legend : bool, default=True
            Whether to explain the marks. More than eight clusters are named in the picture instead.

        Returns
        -------
        CredalPartitionDisplay
            The picture, drawn.
        """
        return cls.from_partition(
            read_partition(estimator, X),
            X,
            features=features,
            rule=rule,
            level=level,
            y_true=y_true,
            size=size,
            prototypes=centers_of(estimator) if prototypes else None,
            mixture=mixture_of(estimator) if ellipses else None,
            ax=ax,
            max_points=max_points,
            random_state=random_state,
            hulls=hulls,
            legend=legend,
        )

    @classmethod
    def from_partition(
        cls,
        partition: CredalPartition,
        X: npt.ArrayLike,
        *,
        features: Sequence[int | str] | None = None,
        rule: Literal["verdict", "max_mass", "interval_dominance"] = "verdict",
        level: float = SURE_LEVEL,
        y_true: npt.ArrayLike | None = None,
        size: Literal["plausibility", "belief"] | None = None,
        prototypes: npt.ArrayLike | None = None,
        mixture: EstimatorLike | None = None,
        ax: Axes | None = None,
        max_points: int = 20000,
        random_state: RandomSeed = 0,
        hulls: bool | Literal["auto"] = "auto",
        legend: bool = True,
    ) -> CredalPartitionDisplay:
        """The picture of a credal partition.

        Parameters
        ----------
        partition : CredalPartition
            The partition.
        X : array-like or data frame of shape (n_samples, n_features)
            The features of the samples; the axes carry the column names of a data frame.
        features : sequence of two int or str, default=None
            The features to show, by number or column name. None means the two that there are or, where there are
            more, the first two principal components of `X`, whose share of the variance the axes show.
        rule : {"verdict", "max_mass", "interval_dominance"}, default="verdict"
            How the candidates of a sample are chosen: by the verdict that summaries and tables show, or as in the
            rough partitions of the papers. With the last rule no sample is an outlier.
        level : float, default=0.6
            For "verdict": the belief that the candidates of a sample must have together.
        y_true : array-like of shape (n_samples,), default=None
            The true classes: then these have the markers, and clusters only have colours.
        size : {"plausibility", "belief"} or None, default=None
            What the areas of markers show about a sample and its most plausible cluster; None draws all alike.
        prototypes : array-like of shape (n_clusters, n_features), default=None
            Prototypes to draw, in the space of `X`.
        mixture : fitted Gaussian mixture, default=None
            A mixture whose components are the clusters: the ellipses that hold 90 % of each are drawn.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        max_points : int, default=20000
            The largest number of samples to draw. Of more, a random subset is drawn, in which sure, torn and
            outlying samples and clusters have their shares, but for a few of each that are always drawn. The
            title says so, counts and hulls are those of all samples, and a grey shade shows where these are.
        random_state : int, RandomState instance or None, default=0
            The seed of that sample.
        hulls : bool or "auto", default="auto"
            Whether to draw the hulls; "auto" does for up to six clusters.
        legend : bool, default=True
            Whether to explain the marks. More than eight clusters are named in the picture instead.

        Returns
        -------
        CredalPartitionDisplay
            The picture, drawn.
        """
        display = make_display(
            partition,
            X,
            features=features,
            rule=rule,
            level=level,
            y_true=y_true,
            size=size,
            prototypes=prototypes,
            mixture=mixture,
        )
        return display.plot(ax, max_points=max_points, random_state=random_state, hulls=hulls, legend=legend)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        max_points: int = 20000,
        random_state: RandomSeed = 0,
        hulls: bool | Literal["auto"] = "auto",
        legend: bool = True,
    ) -> CredalPartitionDisplay:
        """Draw the picture, again or elsewhere.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        max_points : int, default=20000
            The largest number of samples to draw, see `from_partition`.
        random_state : int, RandomState instance or None, default=0
            The seed of the sample.
        hulls : bool or "auto", default="auto"
            Whether to draw the hulls; "auto" does for up to six clusters.
        legend : bool, default=True
            Whether to explain the marks.

        Returns
        -------
        CredalPartitionDisplay
            The display itself.
        """
        if not isinstance(max_points, (int, np.integer)) or max_points < 1:
            raise ValueError(f"max_points must be a positive whole number, got {max_points!r}.")
        if not isinstance(hulls, (bool, np.bool_)) and hulls != "auto":
            raise ValueError(f"hulls must be True, False or 'auto', got {hulls!r}.")
        self.ax_: Axes
        self.figure_: Figure | SubFigure
        self.ax_, self.figure_ = open_axes(ax, width=7.4 if legend else 6.4)
        self.ax_.set(xlabel=on_axis(self.axis_labels[0]), ylabel=on_axis(self.axis_labels[1]))
        self._choose_samples(int(max_points), check_random_state(random_state))
        self._draw_samples()
        enclosed = len(self.cluster_names) <= _MOST_HULLS if hulls == "auto" else bool(hulls)
        # Lower over upper: where they are the same, one solid line is seen.
        self.upper_lines_ = self._draw_hulls(self.upper_hulls, "upper") if enclosed else []
        self.lower_lines_ = self._draw_hulls(self.lower_hulls, "lower") if enclosed else []
        self.ellipse_lines_: list[Line2D] = self._draw_ellipses()
        self.prototype_points_: list[PathCollection] = self._draw_prototypes()
        many = len(self.cluster_names) > _MOST_IN_LEGEND
        self.names_: list[Text] = self._draw_names() if legend and many else []
        self.legend_: Legend | None = self._draw_legend() if legend else None
        return self

    def _choose_samples(self, max_points: int, random: np.random.RandomState) -> None:
        kinds = (~(self.torn | self.outliers), self.torn, self.outliers)
        numbers = [np.flatnonzero(kind) for kind in kinds]
        shares = share_out(max_points, [len(one) for one in numbers])
        drawn = [
            sample(one, share, self.clusters[one], random) for one, share in zip(numbers, shares, strict=True)
        ]
        self.drawn_: IntArray = np.sort(np.concatenate(drawn))
        self.density_: QuadMesh | None = None
        if len(self.drawn_) < len(self.points):
            self.density_ = self._draw_density()
            title = self.ax_.get_title()
            note = f"{len(self.drawn_):,} of {len(self.points):,} samples; grey: where all are"
            self.ax_.set_title(f"{title}\n{note}" if title else note, fontsize="small")

    def _draw_density(self) -> QuadMesh:
        counts, x, y = np.histogram2d(self.points[:, 0], self.points[:, 1], bins=_DENSITY_BINS)
        heights = np.ma.masked_equal(np.log1p(counts.T), 0)
        top = float(heights.max())
        # From pale, not from white: a place with a single sample is seen too.
        density = self.ax_.pcolormesh(x, y, heights, cmap="Greys", vmin=-0.3 * top, vmax=2.5 * top, zorder=0)
        density.sticky_edges.x.clear()  # or marks at the edge would be cut
        density.sticky_edges.y.clear()
        return density

    def _draw_samples(self) -> None:
        points, clusters = self.points[self.drawn_], self.clusters[self.drawn_]
        torn, outliers = self.torn[self.drawn_], self.outliers[self.drawn_]
        # From 45 square points for a dozen samples to 4 for twenty thousand.
        area = float(np.clip(600 / np.sqrt(len(points)), 4, 45))
        self.sure_points_: list[PathCollection] = []
        self.torn_points_: list[PathCollection] = []
        # Where there are true classes, these decide the marker; else the cluster does.
        marked = clusters if self.classes is None else self.classes[self.drawn_]
        markers = range(max(len(self.class_names), 1))
        for cluster, number in product(range(len(self.cluster_names)), markers):
            marker = cluster if self.classes is None else number
            own = (clusters == cluster) & (marked == marker)
            sure, doubtful = own & ~torn & ~outliers, own & torn
            self.sure_points_.append(self._scatter(points, sure, cluster, marker, area, None))
            self.torn_points_.append(self._scatter(points, doubtful, cluster, marker, area, self._cores(doubtful)))
        self.outlier_points_: PathCollection = self.ax_.scatter(
            points[outliers, 0],
            points[outliers, 1],
            s=1.3 * area,
            color=palette.OUTLIER_COLOR,
            marker=palette.OUTLIER_MARKER,
            linewidths=max(0.7, area / 30),
            zorder=5,
        )

    def _cores(self, chosen: BoolArray) -> list[str]:
        """The colours of the other candidates of torn samples."""
        if self.rivals is None:
            return ["white"]
        return [
            palette.cluster_color(rival) if rival >= 0 else "white" for rival in self.rivals[self.drawn_][chosen]
        ]

    def _scatter(
        self,
        points: FloatArray,
        chosen: BoolArray,
        cluster: int,
        marker: int,
        area: float,
        cores: list[str] | None,
    ) -> PathCollection:
        thin = 0.5 if area < 15 else 0.8
        ring = cores is not None
        area = palette.marker_area(marker, 1.2 * area if ring else area)
        areas = area if self.sizes is None else _areas(area, self.sizes[self.drawn_][chosen])
        return self.ax_.scatter(
            points[chosen, 0],
            points[chosen, 1],
            s=areas,
            marker=palette.cluster_marker(marker),
            facecolors=palette.cluster_color(cluster) if cores is None else cores,
            edgecolors=[palette.cluster_shade(cluster)],
            linewidths=1.8 * thin if ring else 0.6 * thin,
            zorder=3 if ring else 2,
        )

    def _draw_prototypes(self) -> list[PathCollection]:
        return [
            self.ax_.scatter(
                place[0],
                place[1],
                s=160,
                marker=_PROTOTYPE,
                facecolors=palette.cluster_color(cluster),
                edgecolors="black",
                linewidths=1.2,
                zorder=7,
            )
            for cluster, place in enumerate(() if self.prototypes is None else self.prototypes)
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
        # Few samples are not to be hidden by lines; among many the lines would be lost, so they go on top, with a
        # white border.
        crowded = len(self.drawn_) > _CROWD
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
        """The name of each cluster in the middle of its samples, or above them where they are few."""
        if len(self.cluster_names) > _MOST_IN_PICTURE:
            return []
        inside = self.drawn_[~self.outliers[self.drawn_]]
        points, clusters = self.points[inside], self.clusters[inside]
        return [self._draw_name(cluster, points[clusters == cluster]) for cluster in np.unique(clusters)]

    def _draw_name(self, cluster: int, points: FloatArray) -> Text:
        few = len(points) <= _HIDDEN
        x, y = points[points[:, 1].argmax()] if few else np.median(points, axis=0)
        above = ScaledTranslation(0, 5 / 72, self.figure_.dpi_scale_trans)
        return self.ax_.text(
            x,
            y,
            shortened(self.cluster_names[cluster]),
            transform=self.ax_.transData + above if few else self.ax_.transData,
            color=palette.cluster_shade(cluster),
            fontsize="small",
            fontweight="bold",
            ha="center",
            va="bottom" if few else "center",
            path_effects=[withStroke(linewidth=3, foreground="white")],
            zorder=6,
        )

    def _draw_legend(self) -> Legend:
        handles, title = self._legend_entries()
        return draw_legend(self.ax_, handles, title, crowded=len(self.drawn_) > _CROWD)

    def _legend_entries(self) -> tuple[list[Line2D], str]:
        """What stands in the legend, and above it."""
        n_clusters = len(self.cluster_names)
        if n_clusters <= _MOST_IN_LEGEND:
            style = {} if self.classes is None else {"marker": "o"}
            handles = [cluster_key(cluster, name, **style) for cluster, name in enumerate(self.cluster_names)]
            return handles + self._mark_keys(), "cluster"
        title = f"{n_clusters} clusters" + (",\nnamed in the picture" if self.names_ else "")
        return self._mark_keys(), title

    def _mark_keys(self) -> list[Line2D]:
        """What torn samples, outliers and hulls look like, as far as the picture has them."""
        grey = "0.35"
        keys = [
            cluster_key(number, f"true class {name}", markerfacecolor=grey, markeredgecolor=grey)
            for number, name in enumerate(self.class_names)
        ]
        keys += self._torn_keys(grey)
        if self.outliers.any():
            label = f"outlier: {self._share(self.outliers)}"
            keys.append(key(label, marker=palette.OUTLIER_MARKER, markeredgecolor=palette.OUTLIER_COLOR))
        for kind, lines in (("lower", self.lower_lines_), ("upper", self.upper_lines_)):
            if any(line is not None for line in lines):
                keys.append(key(_HULL_NAMES[kind], color=grey, linestyle=_HULL_STYLES[kind]))
        if self.prototype_points_:
            style = {"markersize": 10, "markerfacecolor": "white", "markeredgecolor": "black"}
            keys.append(key("prototype", marker=_PROTOTYPE, **style))
        if self.ellipse_lines_:
            keys.append(key("90 % of a component", color=grey, linestyle="-", linewidth=1.8))
        return keys

    def _torn_keys(self, grey: str) -> list[Line2D]:
        ring = {"marker": "o", "markeredgecolor": grey, "markeredgewidth": 1.4}
        if self.rivals is None:
            several, two = self.torn, np.zeros_like(self.torn)
        else:
            several, two = self.torn & (self.rivals < 0), self.torn & (self.rivals >= 0)
        keys = []
        if two.any():
            keys.append(key(f"torn between two: {self._share(two)}", markerfacecolor="0.8", **ring))
        if several.any():
            more = "torn between more" if two.any() else "torn"
            keys.append(key(f"{more}: {self._share(several)}", markerfacecolor="white", **ring))
        return keys

    def _share(self, chosen: BoolArray) -> str:
        """How many samples, and how many in a hundred."""
        number = int(chosen.sum())
        percent = 100 * number / len(chosen)
        return f"{number:,} ({percent:.0f} %)" if percent >= 10 else f"{number:,} ({percent:.2g} %)"


def make_display(
    partition: CredalPartition,
    X: Any,
    *,
    features: Sequence[int | str] | None,
    rule: Rule,
    level: float,
    y_true: Any,
    size: str | None,
    prototypes: Any,
    mixture: Any,
) -> CredalPartitionDisplay:
    """The picture of a credal partition, not yet drawn."""
    points, axis_labels = place(X, features, partition.n_samples)
    classes, class_names = true_classes(y_true, partition.n_samples)
    candidates = candidates_of(partition, rule, level)
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


def candidates_of(partition: CredalPartition, rule: Rule, level: float) -> BoolArray:
    """The clusters that each sample may belong to."""
    check_choice("rule", rule, ("verdict", "max_mass", "interval_dominance"))
    return partition.verdict(level).candidates if rule == "verdict" else partition.to_rough(rule)


def rivals_of(candidates: BoolArray, clusters: IntArray) -> IntArray:
    """The other cluster of each sample that has two candidates, and else -1."""
    rows = np.arange(len(clusters))
    two = (candidates.sum(axis=1) == 2) & candidates[rows, clusters]
    others = candidates.copy()
    others[rows, clusters] = False
    return np.where(two, others.argmax(axis=1), -1)


def of_cluster(
    picture: CredalPartitionDisplay, cluster: int, own: BoolArray, sizes: FloatArray
) -> CredalPartitionDisplay:
    """The picture of the samples that may belong to one cluster, with areas of their own, not yet drawn."""
    nothing = np.empty((0, 2))

    def only(lines: Sequence[FloatArray]) -> list[FloatArray]:
        return [line if number == cluster else nothing for number, line in enumerate(lines)]

    return CredalPartitionDisplay(
        points=picture.points[own],
        clusters=np.full(own.sum(), cluster),
        torn=picture.torn[own],
        outliers=np.zeros(own.sum(), dtype=bool),
        lower_hulls=only(picture.lower_hulls),
        upper_hulls=only(picture.upper_hulls),
        cluster_names=picture.cluster_names,
        axis_labels=picture.axis_labels,
        rivals=None if picture.rivals is None else picture.rivals[own],
        classes=None if picture.classes is None else picture.classes[own],
        class_names=picture.class_names,
        sizes=sizes[own],
        prototypes=picture.prototypes,
        ellipses=None if picture.ellipses is None else only(picture.ellipses),
    )


def read_partition(estimator: Any, X: Any) -> CredalPartition:
    """What a fitted estimator says about data."""
    if not predicts_masses(estimator):
        raise ValueError(
            f"estimator must have predict_mass, which gives the masses of samples, got {estimator!r}; if X "
            "holds the samples of a partition, use from_partition(partition, X)."
        )
    return partition_of(estimator, X)


def centers_of(estimator: Any) -> FloatArray:
    """The prototypes of an estimator, which are in the space of its data."""
    before, last = split_pipeline(estimator)
    if before is not None or not hasattr(last, "cluster_centers_"):
        raise ValueError(
            f"prototypes=True needs an estimator with cluster_centers_ that sees X itself, got {estimator!r}; "
            "give them to from_partition, in the space of X."
        )
    return np.asarray(last.cluster_centers_)


def mixture_of(estimator: Any) -> Any:
    """The Gaussian mixture of an estimator."""
    before, last = split_pipeline(estimator)
    if before is not None:
        raise ValueError(
            f"ellipses=True needs an estimator that sees X itself, got {estimator!r}; transform X first, and give "
            "the last step."
        )
    return getattr(last, "mixture_", last)


def _areas(area: float, sizes: FloatArray) -> FloatArray:
    """Areas in proportion, but for a tenth that is left of the smallest."""
    return np.asarray(1.5 * area * np.clip(sizes, 0.1, 1))
