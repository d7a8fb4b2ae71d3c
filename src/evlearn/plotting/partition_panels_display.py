"""Plots of a credal partition: a panel for each pair of features, or for each cluster."""

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
from evlearn.plotting.names import shorten, shorten_for_axis
from evlearn.plotting.partition_display import (
    CredalPartitionDisplay,
    build_display,
    candidates_of,
    mixture_of,
    partition_for_plot,
    prototypes_of,
    select_cluster,
)
from evlearn.utils.typing import EstimatorLike, RandomSeed
from evlearn.utils.validation import check_choice

_MAX_FEATURES = 8
_PANEL_SIZE = 2.6
_BACKGROUND = "0.8"


class PartitionPanelsDisplay:
    """Plots of a credal partition in panels: for each pair of features, or for each cluster.

    Panels for pairs of features are a matrix of `CredalPartitionDisplay` (Figures 6, 13 and 18 of Denœux (2020)).
    Each panel for a cluster shows its possible samples: filled markers are sure, rings are torn, and areas show
    the plausibility of the cluster. All other samples are gray.

    Create it with `from_estimator` or `from_partition`; the constructor expects computed values.

    Parameters
    ----------
    displays : sequence of CredalPartitionDisplay
        Displays, not yet drawn: for features 0 and 1, 0 and 2, 1 and 2, 0 and 3, ..., or for each cluster.
    panels : {"features", "clusters"}, default="features"
        Meaning of the panels.
    background : ndarray of shape (n_samples, 2), default=None
        Coordinates of all samples, for panels of clusters.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        Axes of the panels, in the order of `displays`.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    displays_ : list of CredalPartitionDisplay
        Displays of the panels.
    legend_ : matplotlib Legend or None
        Legend of all panels.

    See Also
    --------
    CredalPartitionDisplay : A single plot.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from evlearn.cluster import ECM
    >>> from evlearn.plotting import PartitionPanelsDisplay
    >>> iris = load_iris()
    >>> model = ECM(3, random_state=0).fit(iris.data)
    >>> display = PartitionPanelsDisplay.from_estimator(
    ...     model, iris.data, y_true=iris.target
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
        """Draw the partition of data by a fitted estimator.

        Parameters
        ----------
        estimator : fitted evlearn estimator
            If `X` is the training data, its ``credal_partition_`` is drawn; otherwise the
            result of its ``predict_mass``.
        X : array-like or data frame of shape (n_samples, n_features)
            Features of the samples. The axes have the column names of a data frame.
        panels : {"features", "clusters"}, default="features"
            Panels to draw: one for each pair of features, or for each cluster.
        features : sequence of int or str, default=None
            Features to show, by number or column name: at least 2 for panels of features, where None uses all of
            up to 8, and 2 for panels of clusters, where None is as in `CredalPartitionDisplay`.
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
        prototypes : bool, default=False
            Whether to draw ``cluster_centers_`` of the estimator.
        ellipses : bool, default=False
            Whether to draw the 90 % ellipses of the components of a Gaussian mixture: ``mixture_`` of the
            estimator, or the estimator itself.
        max_points : int, default=5000
            Maximum number of samples per panel.
        random_state : int, RandomState instance or None, default=0
            Seed of the random subset.
        hulls : bool, default=False
            Whether to draw the hulls.
        legend : bool, default=True
            Whether to draw a legend.

        Returns
        -------
        PartitionPanelsDisplay
            The drawn display.
        """
        return cls.from_partition(
            partition_for_plot(estimator, X),
            X,
            panels=panels,
            features=features,
            rule=rule,
            level=level,
            y_true=y_true,
            size=size,
            prototypes=prototypes_of(estimator) if prototypes else None,
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
        """Draw a credal partition.

        Parameters
        ----------
        partition : CredalPartition
            Partition to draw.
        X : array-like or data frame of shape (n_samples, n_features)
            Features of the samples. The axes have the column names of a data frame.
        panels : {"features", "clusters"}, default="features"
            Panels to draw: one for each pair of features, or for each cluster.
        features : sequence of int or str, default=None
            Features to show, by number or column name: at least 2 for panels of features, where None uses all of
            up to 8, and 2 for panels of clusters, where None is as in `CredalPartitionDisplay`.
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
        prototypes : array-like of shape (n_clusters, n_features), default=None
            Prototypes to draw, in the space of `X`.
        mixture : fitted Gaussian mixture, default=None
            Mixture whose components are the clusters; their 90 % ellipses are drawn.
        max_points : int, default=5000
            Maximum number of samples per panel.
        random_state : int, RandomState instance or None, default=0
            Seed of the random subset.
        hulls : bool, default=False
            Whether to draw the hulls.
        legend : bool, default=True
            Whether to draw a legend.

        Returns
        -------
        PartitionPanelsDisplay
            The drawn display.
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
            displays = [build_display(partition, X, features=pair, **options) for pair in pairs]
        else:
            whole_display = build_display(partition, X, features=features, **options)
            background = whole_display.points
            degrees = partition.to_possibilistic()
            candidates = candidates_of(partition, rule, level)
            displays = [
                select_cluster(whole_display, cluster, candidates[:, cluster], degrees[:, cluster])
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
        """Draw the plots in a new figure.

        Parameters
        ----------
        max_points : int, default=5000
            Maximum number of samples per panel.
        random_state : int, RandomState instance or None, default=0
            Seed of the random subset.
        hulls : bool, default=False
            Whether to draw the hulls.
        legend : bool, default=True
            Whether to draw a legend.

        Returns
        -------
        PartitionPanelsDisplay
            This display.
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

    def _name_panels(self) -> None:
        if self.panels == "features":
            for panel in self.axes_:
                panel.label_outer()
            return
        for cluster, (display, panel) in enumerate(zip(self.displays_, self.axes_, strict=True)):
            panel.set_title(f"cluster {shorten(display.cluster_names[cluster])}", fontsize="medium")
            panel.set(xlabel="", ylabel="")
        for write_label, label in zip(
            (self.figure_.supxlabel, self.figure_.supylabel), self.displays_[0].axis_labels, strict=True
        ):
            write_label(shorten_for_axis(label), fontsize="medium")

    def _draw_legend(self) -> Legend:
        handles, title = self.displays_[-1]._legend_entries()
        return self.figure_.legend(handles=handles, title=title, loc="outside right upper", frameon=False)


def _features(X: Any, features: Sequence[int | str] | None) -> list[int | str]:
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
