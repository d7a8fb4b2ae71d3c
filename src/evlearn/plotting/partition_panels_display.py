"""Several pictures of one credal partition: a panel for each pair of features, or for each cluster."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from evlearn.partition import SURE_LEVEL, CredalPartition
from evlearn.plotting.names import on_axis, shortened
from evlearn.plotting.partition_display import (
    CredalPartitionDisplay,
    candidates_of,
    centers_of,
    make_display,
    mixture_of,
    of_cluster,
    read_partition,
)
from evlearn.utils.typing import EstimatorLike, RandomSeed
from evlearn.utils.validation import check_choice

_MOST_FEATURES = 8
_SIDE = 2.6
_BACKGROUND = "0.8"


class PartitionPanelsDisplay:
    """A credal partition in several panels: for each pair of features, or for each cluster.

    Panels for pairs of features are the pictures of `CredalPartitionDisplay`, as a matrix (Figures 6, 13 and 18 of
    Denœux (2020)). Panels for clusters show the samples that may belong to one cluster each, filled if they are
    sure of it and rings if torn, with areas by the plausibility of this cluster, among all others in grey.

    Make it with `from_estimator` or `from_partition`; the constructor expects what these compute.

    Parameters
    ----------
    displays : sequence of CredalPartitionDisplay
        The pictures, not yet drawn: for features 0 and 1, 0 and 2, 1 and 2, 0 and 3, ..., or one for each cluster.
    panels : {"features", "clusters"}, default="features"
        What panels stand for.
    background : ndarray of shape (n_samples, 2), default=None
        All samples, for panels of clusters.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        The panels, in the order of `displays`.
    figure_ : matplotlib Figure
        The figure around them.
    displays_ : list of CredalPartitionDisplay
        What is drawn in each of them.
    legend_ : matplotlib Legend or None
        The legend, for all panels.

    See Also
    --------
    CredalPartitionDisplay : One picture.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from evlearn.cluster import ECM
    >>> from evlearn.plotting import PartitionPanelsDisplay
    >>> irises = load_iris()
    >>> model = ECM(3, random_state=0).fit(irises.data)
    >>> display = PartitionPanelsDisplay.from_estimator(
    ...     model, irises.data, y_true=irises.target
    ... )
    >>> len(display.axes_)
    6
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        displays: Sequence[CredalPartitionDisplay],
        panels: Literal["features", "clusters"] = "features",
        background: npt.ArrayLike | None = None,
    ) -> None:
        self.displays = displays
        self.panels = panels
        self.background = background

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        X: npt.ArrayLike,
        *,
        panels: Literal["features", "clusters"] = "features",
        features: Sequence[int | str] | None = None,
        rule: Literal["verdict", "max_mass", "interval_dominance"] = "verdict",
        level: float = SURE_LEVEL,
        y_true: npt.ArrayLike | None = None,
        size: Literal["plausibility", "belief"] | None = None,
        prototypes: bool = False,
        ellipses: bool = False,
        max_points: int = 5000,
        random_state: RandomSeed = 0,
        hulls: bool = False,
        legend: bool = True,
    ) -> PartitionPanelsDisplay:
        """The pictures of what a fitted estimator says about data.

        Parameters
        ----------
        estimator : fitted evlearn estimator
            If `X` holds the very data that it was fitted on, its ``credal_partition_`` is drawn; otherwise what
            its ``predict_mass`` says about `X`.
        X : array-like or data frame of shape (n_samples, n_features)
            The features of the samples; the axes carry the column names of a data frame.
        panels : {"features", "clusters"}, default="features"
            A panel for each pair of features, or for each cluster.
        features : sequence of int or str, default=None
            The features to show, by number or column name: two or more for "features", where None means all of up
            to eight, and two for "clusters", where None is as in `CredalPartitionDisplay`.
        rule : {"verdict", "max_mass", "interval_dominance"}, default="verdict"
            How the candidates of a sample are chosen: by the verdict that summaries and tables show, or as in the
            rough partitions of the papers. With the last rule no sample is an outlier.
        level : float, default=0.6
            For "verdict": the belief that the candidates of a sample must have together.
        y_true : array-like of shape (n_samples,), default=None
            The true classes: then these have the markers, and clusters only have colours.
        size : {"plausibility", "belief"} or None, default=None
            What the areas of markers show about a sample and its most plausible cluster; None draws all alike.
            Panels of clusters always show the plausibility of their cluster.
        prototypes : bool, default=False
            Whether to draw ``cluster_centers_`` of the estimator.
        ellipses : bool, default=False
            Whether to draw the ellipses that hold 90 % of the components of a Gaussian mixture: that of the
            estimator (``mixture_``), or the estimator itself.
        max_points : int, default=5000
            The largest number of samples to draw in each panel.
        random_state : int, RandomState instance or None, default=0
            The seed of that sample.
        hulls : bool, default=False
            Whether to draw the hulls.
        legend : bool, default=True
            Whether to explain the marks.

        Returns
        -------
        PartitionPanelsDisplay
            The pictures, drawn.
        """
        return cls.from_partition(
            read_partition(estimator, X),
            X,
            panels=panels,
            features=features,
            rule=rule,
            level=level,
            y_true=y_true,
            size=size,
            prototypes=centers_of(estimator) if prototypes else None,
            mixture=mixture_of(estimator) if ellipses else None,
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
        panels: Literal["features", "clusters"] = "features",
        features: Sequence[int | str] | None = None,
        rule: Literal["verdict", "max_mass", "interval_dominance"] = "verdict",
        level: float = SURE_LEVEL,
        y_true: npt.ArrayLike | None = None,
        size: Literal["plausibility", "belief"] | None = None,
        prototypes: npt.ArrayLike | None = None,
        mixture: EstimatorLike | None = None,
        max_points: int = 5000,
        random_state: RandomSeed = 0,
        hulls: bool = False,
        legend: bool = True,
    ) -> PartitionPanelsDisplay:
        """The pictures of a credal partition.

        Parameters
        ----------
        partition : CredalPartition
            The partition.
        X : array-like or data frame of shape (n_samples, n_features)
            The features of the samples; the axes carry the column names of a data frame.
        panels : {"features", "clusters"}, default="features"
            A panel for each pair of features, or for each cluster.
        features : sequence of int or str, default=None
            The features to show, by number or column name: two or more for "features", where None means all of up
            to eight, and two for "clusters", where None is as in `CredalPartitionDisplay`.
        rule : {"verdict", "max_mass", "interval_dominance"}, default="verdict"
            How the candidates of a sample are chosen: by the verdict that summaries and tables show, or as in the
            rough partitions of the papers. With the last rule no sample is an outlier.
        level : float, default=0.6
            For "verdict": the belief that the candidates of a sample must have together.
        y_true : array-like of shape (n_samples,), default=None
            The true classes: then these have the markers, and clusters only have colours.
        size : {"plausibility", "belief"} or None, default=None
            What the areas of markers show about a sample and its most plausible cluster; None draws all alike.
            Panels of clusters always show the plausibility of their cluster.
        prototypes : array-like of shape (n_clusters, n_features), default=None
            Prototypes to draw, in the space of `X`.
        mixture : fitted Gaussian mixture, default=None
            A mixture whose components are the clusters: the ellipses that hold 90 % of each are drawn.
        max_points : int, default=5000
            The largest number of samples to draw in each panel.
        random_state : int, RandomState instance or None, default=0
            The seed of that sample.
        hulls : bool, default=False
            Whether to draw the hulls.
        legend : bool, default=True
            Whether to explain the marks.

        Returns
        -------
        PartitionPanelsDisplay
            The pictures, drawn.
        """
        check_choice("panels", panels, ("features", "clusters"))
        options: dict[str, Any] = {
            "rule": rule,
            "level": level,
            "y_true": y_true,
            "size": size,
            "prototypes": prototypes,
            "mixture": mixture,
        }
        background = None
        if panels == "features":
            columns = _features(X, features)
            pairs = [pair[::-1] for pair in combinations(columns[::-1], 2)][::-1]
            displays = [make_display(partition, X, features=pair, **options) for pair in pairs]
        else:
            whole = make_display(partition, X, features=features, **options)
            background = whole.points
            degrees = partition.to_possibilistic()
            candidates = candidates_of(partition, rule, level)
            displays = [
                of_cluster(whole, cluster, candidates[:, cluster], degrees[:, cluster])
                for cluster in range(partition.n_clusters)
            ]
        display = cls(displays=displays, panels=panels, background=background)
        return display.plot(max_points=max_points, random_state=random_state, hulls=hulls, legend=legend)

    def plot(
        self,
        *,
        max_points: int = 5000,
        random_state: RandomSeed = 0,
        hulls: bool = False,
        legend: bool = True,
    ) -> PartitionPanelsDisplay:
        """Draw the pictures, in a new figure.

        Parameters
        ----------
        max_points : int, default=5000
            The largest number of samples to draw in each panel.
        random_state : int, RandomState instance or None, default=0
            The seed of that sample.
        hulls : bool, default=False
            Whether to draw the hulls.
        legend : bool, default=True
            Whether to explain the marks.

        Returns
        -------
        PartitionPanelsDisplay
            The display itself.
        """
        self.figure_: Figure
        self.figure_, self.axes_ = self._open()
        self.displays_ = list(self.displays)
        for display, panel in zip(self.displays_, self.axes_, strict=True):
            if self.background is not None:
                points = np.asarray(self.background)
                points = points[:: len(points) // max_points + 1]
                panel.scatter(points[:, 0], points[:, 1], s=8, color=_BACKGROUND, linewidths=0, zorder=0)
            display.plot(panel, max_points=max_points, random_state=random_state, hulls=hulls, legend=False)
        self._name_panels()
        self.legend_: Legend | None = self._draw_legend() if legend else None
        return self

    def _open(self) -> tuple[Figure, list[Axes]]:
        from matplotlib import pyplot as plt

        number = len(self.displays)
        if self.panels == "clusters":
            wide = min(number, 4)
            high = -(-number // wide)
            size = (_SIDE * 1.2 * wide + 1.5, _SIDE * 1.2 * high)
            figure, grid = plt.subplots(
                high, wide, figsize=size, layout="constrained", squeeze=False, sharex=True, sharey=True
            )
            for unused in grid.ravel()[number:]:
                unused.set_visible(False)
            return figure, list(grid.ravel()[:number])
        side = round((np.sqrt(8 * number + 1) - 1) / 2)
        size = (_SIDE * side + 1.5, _SIDE * side) if side > 1 else (6.4, 4.8)
        figure, grid = plt.subplots(
            side, side, figsize=size, layout="constrained", squeeze=False, sharex="col", sharey="row"
        )
        for row, column in zip(*np.triu_indices(side, k=1), strict=True):
            grid[row, column].set_visible(False)
        return figure, [grid[row, column] for row in range(side) for column in range(row + 1)]

    def _name_panels(self) -> None:
        if self.panels == "features":
            for panel in self.axes_:
                panel.label_outer()
            return
        for cluster, (display, panel) in enumerate(zip(self.displays_, self.axes_, strict=True)):
            panel.set_title(f"cluster {shortened(display.cluster_names[cluster])}", fontsize="medium")
            panel.set(xlabel="", ylabel="")
        for write, label in zip(
            (self.figure_.supxlabel, self.figure_.supylabel), self.displays_[0].axis_labels, strict=True
        ):
            write(on_axis(label), fontsize="medium")

    def _draw_legend(self) -> Legend:
        handles, title = self.displays_[-1]._legend_entries()
        return self.figure_.legend(handles=handles, title=title, loc="outside right upper", frameon=False)


def _features(X: Any, features: Sequence[int | str] | None) -> list[int | str]:
    """The features of the panels."""
    if features is not None:
        if isinstance(features, str) or len(features) < 2:
            raise ValueError(f"features must name two or more columns of X, got {features!r}.")
        return list(features)
    number = np.shape(X)[1] if np.ndim(X) == 2 else 0
    if not 2 <= number <= _MOST_FEATURES:
        raise ValueError(
            f"X has {number} features, and panels show from two to {_MOST_FEATURES}; choose some with `features`."
        )
    return list(range(number))
