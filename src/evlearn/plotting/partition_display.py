"""The picture of a credal partition: who is sure, torn, or an outlier, and how far clusters may reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation
from sklearn.utils import check_random_state

from evlearn.partition import SURE_LEVEL, CredalPartition
from evlearn.partition.estimators import partition_of, predicts_masses
from evlearn.plotting import palette
from evlearn.plotting.axes import open_axes
from evlearn.plotting.hulls import cluster_hulls
from evlearn.plotting.legends import cluster_key, draw_legend, key
from evlearn.plotting.names import on_axis, shortened
from evlearn.plotting.plane import place
from evlearn.plotting.sampling import sample, share_out
from evlearn.utils.typing import BoolArray, EstimatorLike, FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_choice

_MOST_IN_LEGEND = 8  # clusters; with the four kinds of mark there are twelve entries
_MOST_IN_PICTURE = 60  # names of clusters
_CROWD = 2000  # drawn samples
_HIDDEN = 5  # samples of a cluster that its name would hide
_HULL_NAMES = {
    "verdict": {"lower": "around sure", "upper": "around sure and torn"},
    "rough": {"lower": "lower approximation", "upper": "upper approximation"},
}
_HULL_STYLES = {"lower": "-", "upper": (0, (5, 2.5))}


class CredalPartitionDisplay:
    """The picture of a credal partition in two dimensions.

    Samples have the colour and the marker of their most plausible cluster. Filled markers are sure, hollow ones
    are torn between clusters, and black crosses are outliers. Solid lines are the convex hulls of the samples that
    are sure of a cluster, dashed lines those of all that may belong to it. With ``rule="max_mass"`` these are the
    lower and upper approximations of Figure 2 of Denœux (2021).

    Make it with `from_estimator` or `from_partition`; the constructor takes what these have computed.

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
    rule : str, default="verdict"
        How the candidates were chosen, which decides what the hulls are called.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the picture is drawn.
    figure_ : matplotlib Figure
        The figure around it.
    drawn_ : ndarray of int
        The numbers of the samples that are drawn, in ascending order: all of them, or a subset.
    sure_points_, torn_points_ : list of matplotlib PathCollection
        The markers of sure and of torn samples, for each cluster.
    outlier_points_ : matplotlib PathCollection
        The crosses of the outliers.
    lower_lines_, upper_lines_ : list of matplotlib Line2D or None
        The hulls, for each cluster; None where there is nothing to draw.
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
    >>> partition = CredalPartition.from_rough(candidates, cluster_names=["left wing", "right wing"])
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
        rule: str = "verdict",
    ) -> None:
        self.points = points
        self.clusters = clusters
        self.torn = torn
        self.outliers = outliers
        self.lower_hulls = lower_hulls
        self.upper_hulls = upper_hulls
        self.cluster_names = cluster_names
        self.axis_labels = axis_labels
        self.rule = rule

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        X: npt.ArrayLike,
        *,
        features: Sequence[int | str] | None = None,
        rule: Literal["verdict", "max_mass", "interval_dominance"] = "verdict",
        level: float = SURE_LEVEL,
        ax: Axes | None = None,
        max_points: int = 20000,
        random_state: RandomSeed = 0,
        hulls: bool = True,
        legend: bool = True,
    ) -> CredalPartitionDisplay:
        """The picture of what a fitted estimator says about data.

        Parameters
        ----------
        estimator : fitted estimator of evlearn
            If `X` holds the very data that it was fitted on, its ``credal_partition_`` is drawn; otherwise what
            its ``predict_mass`` says about `X`. To show masses over other features than those that it was fitted
            on, use ``from_partition(estimator.credal_partition_, X)``.
        X : array-like or data frame of shape (n_samples, n_features)
            The features of the samples; the axes carry the column names of a data frame.
        features : sequence of two int or str, default=None
            The features to show, by number or column name. None means the two that there are or, where there
            are more, the first two principal components of `X`, of which the axes tell the variance.
        rule : {"verdict", "max_mass", "interval_dominance"}, default="verdict"
            How the candidates of a sample are chosen: by the verdict that summaries and tables show, or as in the
            rough partitions of the papers. With the last rule no sample is an outlier.
        level : float, default=0.6
            For "verdict": the belief that the candidates of a sample must have together.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        max_points : int, default=20000
            The largest number of samples to draw. Of more, a random subset is drawn, and the title says how many
            of the sure, the torn and the outliers; hulls are those of all samples.
        random_state : int, RandomState instance or None, default=0
            The seed of that sample.
        hulls : bool, default=True
            Whether to draw the hulls.
        legend : bool, default=True
            Whether to explain the marks. More than eight clusters are named in the picture instead.

        Returns
        -------
        CredalPartitionDisplay
            The picture, drawn.
        """
        return cls.from_partition(
            _partition_of(estimator, X),
            X,
            features=features,
            rule=rule,
            level=level,
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
        ax: Axes | None = None,
        max_points: int = 20000,
        random_state: RandomSeed = 0,
        hulls: bool = True,
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
            The features to show, by number or column name. None means the two that there are or, where there
            are more, the first two principal components of `X`, of which the axes tell the variance.
        rule : {"verdict", "max_mass", "interval_dominance"}, default="verdict"
            How the candidates of a sample are chosen: by the verdict that summaries and tables show, or as in the
            rough partitions of the papers. With the last rule no sample is an outlier.
        level : float, default=0.6
            For "verdict": the belief that the candidates of a sample must have together.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        max_points : int, default=20000
            The largest number of samples to draw. Of more, a random subset is drawn, and the title says how many
            of the sure, the torn and the outliers; hulls are those of all samples.
        random_state : int, RandomState instance or None, default=0
            The seed of that sample.
        hulls : bool, default=True
            Whether to draw the hulls.
        legend : bool, default=True
            Whether to explain the marks. More than eight clusters are named in the picture instead.

        Returns
        -------
        CredalPartitionDisplay
            The picture, drawn.
        """
        check_choice("rule", rule, ("verdict", "max_mass", "interval_dominance"))
        points, axis_labels = place(X, features, partition.n_samples)
        candidates = partition.verdict(level).candidates if rule == "verdict" else partition.to_rough(rule)
        n_candidates = candidates.sum(axis=1)
        lower_hulls, upper_hulls = cluster_hulls(points, candidates)
        display = cls(
            points=points,
            clusters=partition.to_hard(),
            torn=n_candidates > 1,
            outliers=n_candidates == 0,
            lower_hulls=lower_hulls,
            upper_hulls=upper_hulls,
            cluster_names=partition.cluster_names,
            axis_labels=axis_labels,
            rule=rule,
        )
        return display.plot(ax, max_points=max_points, random_state=random_state, hulls=hulls, legend=legend)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        max_points: int = 20000,
        random_state: RandomSeed = 0,
        hulls: bool = True,
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
        hulls : bool, default=True
            Whether to draw the hulls.
        legend : bool, default=True
            Whether to explain the marks.

        Returns
        -------
        CredalPartitionDisplay
            The display itself.
        """
        if not isinstance(max_points, (int, np.integer)) or max_points < 1:
            raise ValueError(f"max_points must be a positive whole number, got {max_points!r}.")
        self.ax_: Axes
        self.figure_: Figure | SubFigure
        self.ax_, self.figure_ = open_axes(ax)
        self.ax_.set(xlabel=on_axis(self.axis_labels[0]), ylabel=on_axis(self.axis_labels[1]))
        self._choose_samples(int(max_points), check_random_state(random_state))
        self._draw_samples()
        # Lower over upper: where they are the same, one solid line is seen.
        self.upper_lines_ = self._draw_hulls(self.upper_hulls, "upper") if hulls else []
        self.lower_lines_ = self._draw_hulls(self.lower_hulls, "lower") if hulls else []
        many = len(self.cluster_names) > _MOST_IN_LEGEND
        self.names_: list[Text] = self._draw_names() if legend and many else []
        self.legend_: Legend | None = self._draw_legend() if legend else None
        return self

    def _choose_samples(self, max_points: int, random: np.random.RandomState) -> None:
        kinds = {"sure": ~(self.torn | self.outliers), "torn": self.torn, "outliers": self.outliers}
        objects = {kind: np.flatnonzero(chosen) for kind, chosen in kinds.items()}
        shares = share_out(max_points, [len(one) for one in objects.values()])
        drawn = [
            sample(one, share, self.clusters[one], random)
            for one, share in zip(objects.values(), shares, strict=True)
        ]
        self.drawn_: IntArray = np.sort(np.concatenate(drawn))
        if len(self.drawn_) < len(self.points):
            counts = [
                f"{share:,} of {len(one):,} {kind}"
                for (kind, one), share in zip(objects.items(), shares, strict=True)
                if len(one)
            ]
            title = self.ax_.get_title()
            note = f"A sample: {', '.join(counts)}"
            self.ax_.set_title(f"{title}\n{note}" if title else note, fontsize="small")

    def _draw_samples(self) -> None:
        points, clusters = self.points[self.drawn_], self.clusters[self.drawn_]
        torn, outliers = self.torn[self.drawn_], self.outliers[self.drawn_]
        # From 45 square points for a dozen samples to 4 for twenty thousand.
        area = float(np.clip(600 / np.sqrt(len(points)), 4, 45))
        self.sure_points_: list[PathCollection] = []
        self.torn_points_: list[PathCollection] = []
        for cluster in range(len(self.cluster_names)):
            own = clusters == cluster
            self.sure_points_.append(self._scatter(points[own & ~torn & ~outliers], cluster, area, hollow=False))
            self.torn_points_.append(self._scatter(points[own & torn], cluster, area, hollow=True))
        self.outlier_points_: PathCollection = self.ax_.scatter(
            points[outliers, 0],
            points[outliers, 1],
            s=1.3 * area,
            color=palette.OUTLIER_COLOR,
            marker=palette.OUTLIER_MARKER,
            linewidths=max(0.7, area / 30),
            zorder=5,
        )

    def _scatter(self, points: FloatArray, cluster: int, area: float, *, hollow: bool) -> PathCollection:
        thin = 0.5 if area < 15 else 0.8
        return self.ax_.scatter(
            points[:, 0],
            points[:, 1],
            s=palette.marker_area(cluster, 1.2 * area if hollow else area),
            marker=palette.cluster_marker(cluster),
            facecolors="white" if hollow else palette.cluster_color(cluster),
            edgecolors=[palette.cluster_shade(cluster)],
            linewidths=1.8 * thin if hollow else 0.6 * thin,
            zorder=3 if hollow else 2,
        )

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
        n_clusters = len(self.cluster_names)
        if n_clusters <= _MOST_IN_LEGEND:
            handles = [cluster_key(cluster, name) for cluster, name in enumerate(self.cluster_names)]
            title = "cluster"
        else:
            handles = []
            title = f"{n_clusters} clusters" + (",\nnamed in the picture" if self.names_ else "")
        handles += self._mark_keys()
        return draw_legend(self.ax_, handles, title, crowded=len(self.drawn_) > _CROWD)

    def _mark_keys(self) -> list[Line2D]:
        """What torn samples, outliers and hulls look like, as far as the picture has them."""
        grey = "0.35"
        keys = []
        if self.torn.any():
            keys.append(key("torn", marker="o", markerfacecolor="white", markeredgecolor=grey))
        if self.outliers.any():
            keys.append(key("outlier", marker=palette.OUTLIER_MARKER, markeredgecolor=palette.OUTLIER_COLOR))
        names = _HULL_NAMES["verdict" if self.rule == "verdict" else "rough"]
        for kind, lines in (("lower", self.lower_lines_), ("upper", self.upper_lines_)):
            if any(line is not None for line in lines):
                keys.append(key(names[kind], color=grey, linestyle=_HULL_STYLES[kind]))
        return keys


def _partition_of(estimator: Any, X: Any) -> CredalPartition:
    if not predicts_masses(estimator):
        raise ValueError(
            f"estimator must have predict_mass, which says masses of samples, got {estimator!r}; if X holds the "
            "samples of a partition, use from_partition(partition, X)."
        )
    return partition_of(estimator, X)
