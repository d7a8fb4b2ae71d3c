"""The δ-Bel graph, in which centers of clusters lie in the upper right corner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from evlearn.cluster import BeliefPeaks, belief_peaks
from evlearn.plotting import palette
from evlearn.plotting.axes import open_axes
from evlearn.plotting.sampling import draw_subset
from evlearn.utils.formatting import format_count
from evlearn.utils.typing import FloatArray, IntArray, Metric, RandomSeed
from evlearn.utils.validation import check_integer

_GRAY = "0.62"
_LABELS_PER_COLUMN = 25
_COLUMNS = 2
_MAX_LARGE_LABELS = 12


@dataclass(kw_only=True, repr=False, eq=False)
class BeliefPeaksDisplay:
    """The δ-Bel graph: distance to the nearest sample of larger belief against belief, for each sample.

    Samples in the upper right corner are centers of clusters. The selected ones are numbered, in the colors of
    clusters in `CredalPartitionDisplay`; all other samples are gray. Samples at the upper left are outliers: far
    from all others, but not centers. See Figure 7 of Denœux (2021).

    Create it with `from_data` or `from_delta_bel`; the constructor expects computed values.

    Parameters
    ----------
    bel : ndarray of shape (n_samples,)
        Belief of each sample.
    delta : ndarray of shape (n_samples,)
        Distance of each sample to the nearest one with a larger belief.
    peaks : ndarray of int of shape (n_peaks,)
        Samples to mark, in the order of their numbers.
    min_bel, min_delta : float or None, default=None
        Thresholds to draw.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    drawn_ : ndarray of int
        Positions of the gray samples that are drawn, all or a subset, in ascending order.
    points_ : matplotlib PathCollection
        Gray samples.
    peak_points_ : list of matplotlib PathCollection
        Marker of each peak.
    labels_ : list of matplotlib Annotation
        Number of each peak, for the first 50.
    threshold_lines_ : list of matplotlib Line2D
        Lines of the thresholds.

    See Also
    --------
    evlearn.cluster.belief_peaks : Computation of the graph.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn.datasets import make_fourclass
    >>> from evlearn.plotting import BeliefPeaksDisplay
    >>> X, y = make_fourclass(400, random_state=0)
    >>> display = BeliefPeaksDisplay.from_data(X, n_neighbors=50)
    >>> display.ax_.get_title()
    'δ-Bel graph: 4 peaks marked among 400 samples'
    >>> plt.close(display.figure_)
    """

    bel: FloatArray
    delta: FloatArray
    peaks: IntArray
    min_bel: float | None = None
    min_delta: float | None = None

    @classmethod
    def from_data(
        cls,
        X: ArrayLike,
        *,
        n_neighbors: int | Literal["auto"] = "auto",
        q: float | None = 0.9,
        metric: Metric = "euclidean",
        n_jobs: int | None = None,
        n_peaks: int | Literal["auto"] = "auto",
        min_bel: float | None = None,
        min_delta: float | None = None,
        ax: Axes | None = None,
        max_points: int = 20000,
        random_state: RandomSeed = 0,
    ) -> BeliefPeaksDisplay:
        """Draw the δ-Bel graph of data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Features, or dissimilarities if `metric` is "precomputed".
        n_neighbors : int or "auto", default="auto"
            Number of neighbors of each sample; see `evlearn.cluster.belief_peaks`, also for the next 3 parameters.
        q : float or None, default=0.9
            Quantile of the distances of a sample to its neighbors that is used as its scale.
        metric : str or callable, default="euclidean"
            "precomputed" for a square matrix of dissimilarities, or another scikit-learn metric.
        n_jobs : int or None, default=None
            Number of threads for the neighbor search.
        n_peaks : int or "auto", default="auto"
            Number of peaks to mark; see `evlearn.cluster.BeliefPeaks.peaks`, also for the next 2 parameters.
        min_bel : float or None, default=None
            Minimum belief of marked samples.
        min_delta : float or None, default=None
            Minimum delta of marked samples.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        max_points : int, default=20000
            Maximum number of gray samples to draw. Of more samples, those with the largest delta and a random
            subset of the others are drawn.
        random_state : int, RandomState instance or None, default=0
            Seed of the random subset.

        Returns
        -------
        BeliefPeaksDisplay
            The drawn display.
        """
        graph = belief_peaks(X, n_neighbors=n_neighbors, q=q, metric=metric, n_jobs=n_jobs)
        return cls.from_delta_bel(
            graph,
            n_peaks=n_peaks,
            min_bel=min_bel,
            min_delta=min_delta,
            ax=ax,
            max_points=max_points,
            random_state=random_state,
        )

    @classmethod
    def from_delta_bel(
        cls,
        graph: BeliefPeaks,
        *,
        n_peaks: int | Literal["auto"] = "auto",
        min_bel: float | None = None,
        min_delta: float | None = None,
        ax: Axes | None = None,
        max_points: int = 20000,
        random_state: RandomSeed = 0,
    ) -> BeliefPeaksDisplay:
        """Draw a given δ-Bel graph.

        Parameters
        ----------
        graph : BeliefPeaks
            Result of `evlearn.cluster.belief_peaks`.
        n_peaks : int or "auto", default="auto"
            Number of peaks to mark; see `evlearn.cluster.BeliefPeaks.peaks`, also for the next 2 parameters.
        min_bel : float or None, default=None
            Minimum belief of marked samples.
        min_delta : float or None, default=None
            Minimum delta of marked samples.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        max_points : int, default=20000
            Maximum number of gray samples to draw, see `from_data`.
        random_state : int, RandomState instance or None, default=0
            Seed of the random subset.

        Returns
        -------
        BeliefPeaksDisplay
            The drawn display.
        """
        if not isinstance(graph, BeliefPeaks):
            raise TypeError(
                f"graph must be the result of belief_peaks(X), got {type(graph).__name__}; use from_data for data."
            )
        peaks = graph.peaks(n_peaks=n_peaks, min_bel=min_bel, min_delta=min_delta)
        display = cls(bel=graph.bel, delta=graph.delta, peaks=peaks, min_bel=min_bel, min_delta=min_delta)
        return display.plot(ax, max_points=max_points, random_state=random_state)

    def plot(
        self, ax: Axes | None = None, *, max_points: int = 20000, random_state: RandomSeed = 0
    ) -> BeliefPeaksDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        max_points : int, default=20000
            Maximum number of gray samples to draw, see `from_data`.
        random_state : int, RandomState instance or None, default=0
            Seed of the random subset.

        Returns
        -------
        BeliefPeaksDisplay
            This display.
        """
        check_integer("max_points", max_points, 1)
        self.ax_: Axes = open_axes(ax)
        self.figure_: Figure | SubFigure = self.ax_.figure
        self.drawn_: IntArray = self._choose_samples(int(max_points), check_random_state(random_state))
        self._set_frame()
        # From 30 square points for 12 samples to 5 for 20,000.
        area = float(np.clip(700 / np.sqrt(len(self.drawn_) + 1), 5, 30))
        self.points_: PathCollection = self.ax_.scatter(
            self.bel[self.drawn_], self.delta[self.drawn_], s=area, color=_GRAY, linewidths=0, zorder=2
        )
        self.threshold_lines_: list[Line2D] = self._draw_thresholds()
        self.peak_points_: list[PathCollection] = [self._mark(number) for number in range(len(self.peaks))]
        self.labels_: list[Annotation] = self._draw_labels()
        return self

    def _choose_samples(self, max_points: int, random: np.random.RandomState) -> IntArray:
        others = np.delete(np.arange(len(self.bel)), self.peaks)
        if len(others) <= max_points:
            return others
        # Samples with a large delta are isolated; those with a small delta overlap.
        n_first = max_points // 2
        by_delta = others[np.argpartition(-self.delta[others], n_first)]
        rest = by_delta[n_first:]
        subset = draw_subset(rest, max_points - n_first, np.zeros(len(rest), dtype=np.intp), random)
        return np.sort(np.concatenate([by_delta[:n_first], subset]))

    def _set_frame(self) -> None:
        n_peaks = len(self.peaks)
        title = f"δ-Bel graph: {format_count(n_peaks, 'peak')} marked among {len(self.bel):,} samples"
        if len(self.drawn_) + n_peaks < len(self.bel):
            title += f"\nA subset: {len(self.drawn_):,} of {len(self.bel) - n_peaks:,} other samples"
        low, high = float(self.bel.min()), float(self.bel.max())
        width = (high - low) or 1.0
        top = float(self.delta.max()) or 1.0
        self.ax_.set(
            title=title,
            xlabel="belief in being a center (Bel)",
            ylabel="distance to the nearest larger belief (δ)",
            # The numbers need columns at the right.
            xlim=(low - 0.05 * width, high + (0.05 + 0.09 * _n_columns(n_peaks)) * width),
            ylim=(-0.03 * top, 1.08 * top),
        )

    def _draw_thresholds(self) -> list[Line2D]:
        style: dict[str, Any] = {"color": "black", "linestyle": (0, (5, 2.5)), "linewidth": 1, "zorder": 1}
        lines = []
        if self.min_bel is not None:
            lines.append(self.ax_.axvline(self.min_bel, **style))
        if self.min_delta is not None:
            lines.append(self.ax_.axhline(self.min_delta, **style))
        return lines

    def _mark(self, number: int) -> PathCollection:
        peak = self.peaks[number]
        return self.ax_.scatter(
            self.bel[peak],
            self.delta[peak],
            s=palette.marker_area(number, 70),
            marker=palette.cluster_marker(number),
            facecolors=palette.cluster_color(number),
            edgecolors=[palette.cluster_shade(number)],
            linewidths=0.8,
            # The first peak is drawn on top.
            zorder=4 - number / len(self.peaks),
        )

    def _draw_labels(self) -> list[Annotation]:
        labeled = self.peaks[: _LABELS_PER_COLUMN * _COLUMNS]
        has_space = len(labeled) <= _MAX_LARGE_LABELS
        low, high = self.ax_.get_ylim()
        targets = (self.delta[labeled] - low) / (high - low)
        heights, columns = np.empty(len(labeled)), np.zeros(len(labeled), dtype=np.intp)
        for column in range(n_columns := _n_columns(len(labeled))):
            members = np.argsort(-targets, kind="stable")[column::n_columns]
            heights[members], columns[members] = _spread(targets[members], 0.048 if has_space else 0.037), column
        return [
            self._draw_label(number, heights[number], 0.975 - 0.07 * columns[number], 10 if has_space else 7)
            for number in range(len(labeled))
        ]

    def _draw_label(self, number: int, height: float, across: float, size: float) -> Annotation:
        peak = self.peaks[number]
        return self.ax_.annotate(
            str(number),
            xy=(self.bel[peak], self.delta[peak]),
            xytext=(across, height),
            textcoords="axes fraction",
            ha="center",
            va="center",
            fontsize=size,
            fontweight="bold",
            color=palette.cluster_shade(number),
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
            arrowprops={"arrowstyle": "-", "color": palette.cluster_shade(number), "linewidth": 0.7, "shrinkB": 5},
            zorder=5,
        )


def _n_columns(n_labels: int) -> int:
    return min(_COLUMNS, -(-n_labels // _LABELS_PER_COLUMN))


def _spread(heights: FloatArray, gap: float) -> FloatArray:
    """Move decreasing heights in [0, 1] apart, by as little as needed for distances of `gap`."""
    steps = gap * np.arange(len(heights))
    capped = np.minimum.accumulate(np.minimum(heights, 1 - gap / 2) + steps)
    # Heights below the bottom are raised again, from the last to the first.
    raised = np.maximum.accumulate((np.maximum(capped - steps, gap / 2) - steps[::-1])[::-1])[::-1]
    return np.asarray(raised + steps[::-1])
