"""Plot of belief and plausibility of BootClus against confidence intervals or true probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from evlearn.cluster.model_based.intervals import PairIntervals
from evlearn.partition.estimators import split_pipeline
from evlearn.plotting.axes import open_panels
from evlearn.plotting.pair_cloud import PairCloud, draw_pairs, read_pairs, root_mean_squared_difference
from evlearn.utils.typing import EstimatorLike, FloatArray


class IntervalDisplay:
    """Plot of belief and plausibility of BootClus against confidence bounds, for pairs of samples.

    The left panel shows the belief that 2 samples are in the same cluster, the right one the plausibility, against
    the bounds of the confidence intervals that they approximate. Points close to the diagonal show a good
    approximation (Figures 9, 12 and 17 of Denœux (2020)). For simulated data, they can be plotted against the true
    probabilities: belief should be below the diagonal, and plausibility above it. The share of pairs for which
    both hold is the coverage (Figure 10).

    Create it with `from_estimator` or `from_intervals`.

    Parameters
    ----------
    intervals : PairIntervals
        Pairs of samples, with the bounds of their intervals.
    probabilities : ndarray of shape (n_pairs,), default=None
        True probabilities of the same cluster, if known.

    Attributes
    ----------
    coverage : float or None
        Share of pairs whose true probability is between belief and plausibility.
    axes_ : list of matplotlib Axes
        Axes of both panels.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    points_ : list of matplotlib PathCollection or None
        The pairs, if there are few.
    densities_ : list of matplotlib QuadMesh or None
        Number of pairs per cell, if there are many.
    colorbars_ : list of matplotlib Colorbar or None
        Color scales of the densities.
    diagonals_ : list of matplotlib Line2D
        Lines of equal values.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn.cluster import BootClus
    >>> from evlearn.datasets import make_gaussian_mixture
    >>> from evlearn.plotting import IntervalDisplay
    >>> X, y, posterior = make_gaussian_mixture(1, 60, random_state=0)
    >>> model = BootClus(3, covariance_models="EII", n_bootstrap=50, random_state=0).fit(X)
    >>> display = IntervalDisplay.from_estimator(model)
    >>> [panel.get_xlabel() for panel in display.axes_]
    ['lower bound of the confidence interval', 'upper bound of the confidence interval']
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, intervals: PairIntervals, probabilities: FloatArray | None = None) -> None:
        self.intervals = intervals
        self.probabilities = probabilities
        self.coverage = None if probabilities is None else intervals.coverage(probabilities)

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        *,
        probabilities: npt.ArrayLike | None = None,
        ax: Sequence[Axes] | None = None,
        max_points: int = 5000,
    ) -> IntervalDisplay:
        """Draw the intervals of a fitted BootClus.

        Parameters
        ----------
        estimator : fitted estimator
            `BootClus`, or a pipeline that ends in one.
        probabilities : array-like of shape (n_pairs,), default=None
            True probabilities of ``intervals_.pairs``, for simulated data; see
            `evlearn.datasets.same_cluster_probability`. None compares with the confidence intervals.
        ax : sequence of 2 matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        max_points : int, default=5000
            Maximum number of pairs drawn as points; of more pairs, the density is drawn.

        Returns
        -------
        IntervalDisplay
            The drawn display.
        """
        estimator = split_pipeline(estimator)[1]
        if not hasattr(estimator, "intervals_"):
            raise ValueError(
                f"estimator must be a fitted BootClus, which has intervals_, got {estimator!r}; call its fit "
                "first."
            )
        return cls.from_intervals(estimator.intervals_, probabilities=probabilities, ax=ax, max_points=max_points)

    @classmethod
    def from_intervals(
        cls,
        intervals: PairIntervals,
        *,
        probabilities: npt.ArrayLike | None = None,
        ax: Sequence[Axes] | None = None,
        max_points: int = 5000,
    ) -> IntervalDisplay:
        """Draw given intervals.

        Parameters
        ----------
        intervals : PairIntervals
            Pairs of samples, with the bounds of their intervals.
        probabilities : array-like of shape (n_pairs,), default=None
            True probabilities of these pairs, for simulated data. None compares with the confidence
            intervals.
        ax : sequence of 2 matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        max_points : int, default=5000
            Maximum number of pairs drawn as points; of more pairs, the density is drawn.

        Returns
        -------
        IntervalDisplay
            The drawn display.
        """
        if probabilities is not None:
            probabilities = read_pairs(probabilities, "probabilities")
            if len(probabilities) != len(intervals.pairs):
                raise ValueError(
                    f"probabilities has {len(probabilities)} pairs and intervals has {len(intervals.pairs)}; pass "
                    "one for each of intervals.pairs."
                )
        return cls(intervals=intervals, probabilities=probabilities).plot(ax, max_points=max_points)

    def plot(self, ax: Sequence[Axes] | None = None, *, max_points: int = 5000) -> IntervalDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : sequence of 2 matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        max_points : int, default=5000
            Maximum number of pairs drawn as points; of more pairs, the density is drawn.

        Returns
        -------
        IntervalDisplay
            This display.
        """
        self.axes_: list[Axes] = open_panels(ax, 2)
        self.figure_: Figure | SubFigure = self.axes_[0].figure
        intervals = self.intervals
        clouds = [
            self._draw(self.axes_[0], "belief", intervals.belief, "lower", intervals.lower, max_points),
            self._draw(
                self.axes_[1], "plausibility", intervals.plausibility, "upper", intervals.upper, max_points
            ),
        ]
        self.points_: list[PathCollection | None] = [cloud.points for cloud in clouds]
        self.densities_: list[QuadMesh | None] = [cloud.density for cloud in clouds]
        self.colorbars_: list[Colorbar | None] = [cloud.colorbar for cloud in clouds]
        self.diagonals_: list[Line2D] = [cloud.diagonal for cloud in clouds]
        return self

    def _draw(
        self, panel: Axes, name: str, degrees: FloatArray, side: str, bounds: FloatArray, max_points: int
    ) -> PairCloud:
        if self.probabilities is None:
            x, label = bounds, f"{side} bound of the confidence interval"
            title = f"{name} (root mean squared difference {root_mean_squared_difference(bounds, degrees):.3g})"
        else:
            x, label = self.probabilities, "true probability of the same cluster"
            title = f"{name} (coverage {self.coverage:.3f})"
        panel.set(xlabel=label, ylabel=f"{name} of the same cluster", title=title)
        return draw_pairs(panel, x, degrees, max_points)
