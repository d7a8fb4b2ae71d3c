"""Plots of pairs of samples: Shepard diagrams, and confidence intervals of BootClus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.colors import LogNorm
from matplotlib.container import BarContainer
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from evlearn.cluster.model_based.intervals import PairIntervals
from evlearn.partition.estimators import partition_of, split_pipeline, transform_through_pipeline
from evlearn.plotting.axes import open_axes, open_panels, shorten
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import EstimatorLike, FloatArray

_CELLS = 100  # of a density, along each axis
_ROUNDING = 1e-6
_BINS = 20  # of a histogram
_MAX_TITLE = 40  # characters of the title of a histogram
_BARS, _BOUND, _DEGREE = "0.75", "black", "#c44e52"


class PairScatter(NamedTuple):
    """Panel with 2 numbers from 0 to 1 for each pair of samples, and the diagonal.

    Attributes
    ----------
    x, y : ndarray of shape (n_pairs,)
        Numbers of each pair.
    x_label, y_label, title : str
        Texts of the panel.
    """

    x: FloatArray
    y: FloatArray
    x_label: str
    y_label: str
    title: str


class PairHistogram(NamedTuple):
    """Panel with the probabilities of a single pair over resamples.

    Attributes
    ----------
    probabilities : ndarray of shape (n_bootstrap,)
        Probability of the same cluster for each resample.
    bounds : ndarray of shape (2,)
        Bounds of the confidence interval.
    degrees : ndarray of shape (2,)
        Belief and plausibility of the same cluster.
    title : str
        Name of the pair.
    """

    probabilities: FloatArray
    bounds: FloatArray
    degrees: FloatArray
    title: str


@dataclass(kw_only=True, repr=False, eq=False)
class PairsDisplay:
    """Plots of the degrees that a method computes for pairs of samples, against the numbers that they approximate.

    A Shepard diagram shows the degrees of conflict of pairs against their dissimilarities, for methods that learn
    from dissimilarities; see Figure 3 of Denœux (2021).

    For `evlearn.cluster.BootClus`, the left panel shows the belief that 2 samples are in the same cluster, and the
    right one the plausibility, against the bounds of their confidence intervals (Figures 9, 12 and 17 of Denœux
    (2020)). For simulated data, they can be plotted against the true probabilities: belief should be below the
    diagonal, and plausibility above it. The share of pairs for which both hold is the coverage (Figure 10).

    In both, points close to the diagonal show a good approximation. For single pairs of BootClus, histograms show
    the probabilities over resamples, the bounds of the confidence interval as dashed lines, and belief and
    plausibility as solid lines (Figures 4 and 8).

    Create it with `from_estimator`, `from_pairs` or `from_intervals`; the constructor expects computed values.

    Parameters
    ----------
    panels : sequence of PairScatter or PairHistogram
        Content of each panel.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        Axes of the panels.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    points_ : list of matplotlib PathCollection or None
        Pairs in each panel, if there are few.
    densities_ : list of matplotlib QuadMesh or None
        Number of pairs per cell, if there are many.
    colorbars_ : list of matplotlib Colorbar or None
        Color scales of the densities.
    diagonals_ : list of matplotlib Line2D
        Lines of equal values.
    bars_ : list of matplotlib BarContainer
        Histograms.
    bound_lines_, degree_lines_ : list of list of matplotlib Line2D
        Lines of the bounds, and of belief and plausibility, in each histogram.
    legend_ : matplotlib Legend or None
        Legend of the lines, in the last histogram.

    See Also
    --------
    RelationalDisplay : Belief and plausibility of all pairs as matrices.
    evlearn.cluster.BootClus.pair_probabilities : Probabilities of pairs.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn.cluster import BootClus
    >>> from evlearn.datasets import make_gaussian_mixture
    >>> from evlearn.plotting import PairsDisplay
    >>> display = PairsDisplay.from_pairs([0.1, 0.5, 0.9], [0.0, 0.5, 1.0])
    >>> display.axes_[0].get_title()
    'Shepard diagram (root mean squared difference 0.0816)'
    >>> X, y, posterior = make_gaussian_mixture(1, 60, random_state=0)
    >>> model = BootClus(3, covariance_models="EII", n_bootstrap=50, random_state=0).fit(X)
    >>> display = PairsDisplay.from_estimator(model)
    >>> [panel.get_xlabel() for panel in display.axes_]
    ['lower bound of the confidence interval', 'upper bound of the confidence interval']
    >>> display = PairsDisplay.from_estimator(model, X, pairs=[(0, 1), (0, 2)])
    >>> len(display.panels[0].probabilities)
    50
    >>> plt.close("all")
    """

    panels: Sequence[PairScatter | PairHistogram]

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        X: npt.ArrayLike | None = None,
        *,
        pairs: npt.ArrayLike | None = None,
        probabilities: npt.ArrayLike | None = None,
        ax: Axes | Sequence[Axes] | None = None,
        max_points: int = 5000,
    ) -> PairsDisplay:
        """Draw the pairs of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            Estimator with the attributes ``transformed_dissimilarities_`` and ``conflict_`` of its pairs, or
            `evlearn.cluster.BootClus`; also a pipeline that ends in one.
        X : array-like or data frame of shape (n_samples, n_features), default=None
            Training samples or new samples, for the histograms of `pairs`.
        pairs : array-like of int of shape (n_pairs, 2), default=None
            Positions of the samples of a few pairs, whose histograms are drawn. None draws all pairs as points.
        probabilities : array-like of shape (n_pairs,), default=None
            True probabilities of ``intervals_.pairs`` of BootClus, for simulated data; see
            `evlearn.datasets.same_cluster_probability`. None compares with the confidence intervals.
        ax : matplotlib Axes or sequence of Axes, default=None
            Axes to draw on: 1 for a Shepard diagram, 2 for intervals, or 1 for each histogram. None creates a new
            figure.
        max_points : int, default=5000
            Maximum number of pairs drawn as points; of more pairs, the density is drawn.

        Returns
        -------
        PairsDisplay
            The drawn display.
        """
        if pairs is not None:
            return cls(panels=_histograms(estimator, X, pairs)).plot(ax)
        fitted = split_pipeline(estimator)[1]
        if hasattr(fitted, "intervals_"):
            return cls.from_intervals(fitted.intervals_, probabilities=probabilities, ax=ax, max_points=max_points)
        if not (hasattr(fitted, "transformed_dissimilarities_") and hasattr(fitted, "conflict_")):
            raise ValueError(
                "estimator must be fitted and have transformed_dissimilarities_ and conflict_, or intervals_ as "
                f"BootClus has, got {fitted!r}; call its fit first, or use from_pairs for given pairs."
            )
        return cls.from_pairs(fitted.transformed_dissimilarities_, fitted.conflict_, ax=ax, max_points=max_points)

    @classmethod
    def from_pairs(
        cls,
        dissimilarities: npt.ArrayLike,
        conflicts: npt.ArrayLike,
        *,
        ax: Axes | Sequence[Axes] | None = None,
        max_points: int = 5000,
    ) -> PairsDisplay:
        """Draw the Shepard diagram of given pairs.

        Parameters
        ----------
        dissimilarities : array-like of shape (n_pairs,)
            Dissimilarity of each pair, transformed to the scale of conflicts, from 0 to 1.
        conflicts : array-like of shape (n_pairs,)
            Degree of conflict of each pair.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        max_points : int, default=5000
            Maximum number of pairs drawn as points; of more pairs, the density is drawn.

        Returns
        -------
        PairsDisplay
            The drawn display.
        """
        x, y = _read_pairs(dissimilarities, "dissimilarities"), _read_pairs(conflicts, "conflicts")
        if len(x) != len(y):
            raise ValueError(f"dissimilarities has {len(x)} pairs and conflicts has {len(y)}; use the same pairs.")
        title = f"Shepard diagram ({_difference(x, y)})"
        panel = PairScatter(x, y, "transformed dissimilarity", "degree of conflict", title)
        return cls(panels=[panel]).plot(ax, max_points=max_points)

    @classmethod
    def from_intervals(
        cls,
        intervals: PairIntervals,
        *,
        probabilities: npt.ArrayLike | None = None,
        ax: Axes | Sequence[Axes] | None = None,
        max_points: int = 5000,
    ) -> PairsDisplay:
        """Draw given intervals of BootClus.

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
        PairsDisplay
            The drawn display.
        """
        sides = [("belief", intervals.belief, "lower", intervals.lower)]
        sides.append(("plausibility", intervals.plausibility, "upper", intervals.upper))
        panels = []
        truth = None if probabilities is None else _read_truth(probabilities, intervals)
        for name, degrees, side, bounds in sides:
            if truth is None:
                x, label, quality = (
                    bounds,
                    f"{side} bound of the confidence interval",
                    _difference(bounds, degrees),
                )
            else:
                x, label = truth, "true probability of the same cluster"
                quality = f"coverage {intervals.coverage(truth):.3f}"
            panels.append(PairScatter(x, degrees, label, f"{name} of the same cluster", f"{name} ({quality})"))
        return cls(panels=panels).plot(ax, max_points=max_points)

    def plot(self, ax: Axes | Sequence[Axes] | None = None, *, max_points: int = 5000) -> PairsDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of Axes, default=None
            Axes to draw on, one for each panel; None creates a new figure.
        max_points : int, default=5000
            Maximum number of pairs drawn as points; of more pairs, the density is drawn.

        Returns
        -------
        PairsDisplay
            This display.
        """
        is_single = ax is None and len(self.panels) == 1
        self.axes_: list[Axes] = [open_axes(None)] if is_single else open_panels(ax, len(self.panels))
        self.figure_: Figure | SubFigure = self.axes_[0].figure
        self.points_: list[PathCollection | None] = []
        self.densities_: list[QuadMesh | None] = []
        self.colorbars_: list[Colorbar | None] = []
        self.diagonals_: list[Line2D] = []
        self.bars_: list[BarContainer] = []
        self.bound_lines_: list[list[Line2D]] = []
        self.degree_lines_: list[list[Line2D]] = []
        for axes, panel in zip(self.axes_, self.panels, strict=True):
            if isinstance(panel, PairScatter):
                self._draw_scatter(axes, panel, max_points)
            else:
                self._draw_histogram(axes, panel)
        self.legend_: Legend | None = self._draw_legend() if self.bars_ else None
        return self

    def _draw_scatter(self, ax: Axes, panel: PairScatter, max_points: int) -> None:
        points = density = colorbar = None
        if len(panel.x) > max_points:
            density = _draw_density(ax, panel.x, panel.y)
            colorbar = ax.figure.colorbar(density, ax=ax, label="pairs")
        else:
            points = ax.scatter(panel.x, panel.y, s=8, color="#0072B2", linewidths=0, alpha=0.5)
        self.points_.append(points)
        self.densities_.append(density)
        self.colorbars_.append(colorbar)
        # The white edge makes the line visible on dark cells.
        edge = withStroke(linewidth=2.4, foreground="white")
        self.diagonals_ += ax.plot([0, 1], [0, 1], color="black", linewidth=1, path_effects=[edge])
        ax.set(aspect="equal", xlabel=panel.x_label, ylabel=panel.y_label, title=panel.title)

    def _draw_histogram(self, ax: Axes, panel: PairHistogram) -> None:
        heights, edges = np.histogram(panel.probabilities, bins=_BINS, range=(0, 1))
        width = np.diff(edges)
        self.bars_.append(ax.bar(edges[:-1], heights, width=width, align="edge", color=_BARS, edgecolor="white"))
        # Solid lines first, so that coinciding dashed lines remain visible.
        label = "belief and plausibility"
        lines = [ax.axvline(x, color=_DEGREE, linewidth=2, label=label) for x in panel.degrees]
        self.degree_lines_.append(lines)
        label = "confidence interval"
        lines = [ax.axvline(x, color=_BOUND, linestyle="--", linewidth=1.4, label=label) for x in panel.bounds]
        self.bound_lines_.append(lines)
        ax.set(
            xlim=(-0.02, 1.02),
            xlabel="probability of the same cluster",
            ylabel="resamples",
            title=shorten(panel.title, _MAX_TITLE),
        )

    def _draw_legend(self) -> Legend:
        handles = [self.bound_lines_[-1][0], self.degree_lines_[-1][0]]
        return self.axes_[-1].legend(handles=handles, fontsize="small")


def _histograms(estimator: EstimatorLike, X: npt.ArrayLike | None, pairs: npt.ArrayLike) -> list[PairHistogram]:
    if X is None:
        raise ValueError("pairs requires X, the samples of these pairs; pass X.")
    method, rows = transform_through_pipeline(estimator, X)
    if not hasattr(method, "pair_probabilities"):
        raise ValueError(f"estimator must be a BootClus, which has bootstrap resamples, got {method!r}.")
    probabilities = method.pair_probabilities(rows, pairs)
    partition = partition_of(estimator, X)
    positions = np.asarray(pairs)
    relation = partition.relational(positions)
    quantiles = [(1 - method.confidence_level) / 2, (1 + method.confidence_level) / 2]
    bounds = np.quantile(probabilities, quantiles, axis=1).T
    degrees = np.column_stack([relation.same_cluster, relation.plausibility_same])
    sample_names = partition.sample_names
    names = [
        " and ".join(str(k if sample_names is None else sample_names[k]) for k in pair)
        for pair in positions.tolist()
    ]
    return [PairHistogram(*panel) for panel in zip(probabilities, bounds, degrees, names, strict=True)]


def _read_truth(probabilities: npt.ArrayLike, intervals: PairIntervals) -> FloatArray:
    truth = _read_pairs(probabilities, "probabilities")
    if len(truth) != len(intervals.pairs):
        raise ValueError(
            f"probabilities has {len(truth)} pairs and intervals has {len(intervals.pairs)}; pass one for each of "
            "intervals.pairs."
        )
    return truth


def _read_pairs(values: npt.ArrayLike, name: str) -> FloatArray:
    """Check that there is one number between 0 and 1 for each pair."""
    numbers = np.asarray(values)
    if numbers.ndim != 1 or len(numbers) == 0:
        raise ValueError(
            f"{name} must be one number per pair, got shape {numbers.shape}; select the pairs of a matrix first."
        )
    numbers = numbers if numbers.dtype == np.float32 else numbers.astype(np.float64, copy=False)
    low, high = float(numbers.min()), float(numbers.max())
    if not -_ROUNDING <= low <= high <= 1 + _ROUNDING:  # False for missing values, too
        raise ValueError(
            f"{name} must lie between 0 and 1, got values from {low:.6g} to {high:.6g}; rescale them "
            "and remove pairs without a value."
        )
    return numbers


def _difference(x: FloatArray, y: FloatArray) -> str:
    """Return the root mean squared difference, computed in blocks, as text."""
    total = sum(
        float(np.square(np.subtract(x[block], y[block], dtype=np.float64)).sum()) for block in row_blocks(len(x))
    )
    return f"root mean squared difference {np.sqrt(total / len(x)):.3g}"


def _draw_density(ax: Axes, x: FloatArray, y: FloatArray) -> QuadMesh:
    # Counting in blocks bounds the memory for many pairs.
    counts = np.zeros(_CELLS * _CELLS, dtype=np.int64)
    for block in row_blocks(len(x)):
        counts += np.bincount(_cell_indices(y[block]) * _CELLS + _cell_indices(x[block]), minlength=len(counts))
    edges = np.linspace(0, 1, _CELLS + 1)
    return ax.pcolormesh(
        edges,
        edges,
        np.ma.masked_equal(counts.reshape(_CELLS, _CELLS), 0),
        norm=LogNorm(vmin=1, vmax=max(2, int(counts.max()))),
        cmap="viridis_r",
    )


def _cell_indices(values: FloatArray) -> npt.NDArray[np.intp]:
    return np.clip((values * _CELLS).astype(np.intp), 0, _CELLS - 1)
