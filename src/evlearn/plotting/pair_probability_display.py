"""Histograms of the bootstrap probabilities of BootClus for pairs of samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from evlearn.partition.estimators import partition_of, transform_through_pipeline
from evlearn.partition.relational import PairMasses
from evlearn.plotting.axes import open_panels
from evlearn.plotting.names import shorten
from evlearn.utils.typing import EstimatorLike, FloatArray

_BINS = 20
_MAX_TITLE = 40  # characters of the title of a panel
_BARS, _BOUND, _DEGREE = "0.75", "black", "#c44e52"


class PairProbabilityDisplay:
    """Histograms of the probability, over bootstrap resamples, that 2 samples are in the same cluster.

    Each panel shows a pair of samples: a histogram of its probabilities, the bounds of the confidence interval as
    dashed lines, and belief and plausibility of the same cluster as solid lines (Figures 4 and 8 of Denœux
    (2020)).

    Create it with `from_estimator`.

    Parameters
    ----------
    probabilities : ndarray of shape (n_pairs, n_bootstrap)
        Probability of the same cluster, for each pair and each resample.
    bounds : ndarray of shape (n_pairs, 2)
        Bounds of the confidence intervals.
    degrees : ndarray of shape (n_pairs, 2)
        Belief and plausibility of the same cluster.
    names : sequence of str
        Names of the pairs.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        Axes of each pair.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    bars_ : list of matplotlib BarContainer
        Histograms.
    bound_lines_, degree_lines_ : list of list of matplotlib Line2D
        Lines of the bounds, and of belief and plausibility, for each pair.
    legend_ : matplotlib Legend
        Legend of the lines, in the last panel.

    See Also
    --------
    IntervalDisplay : Belief and plausibility of all pairs.
    evlearn.cluster.BootClus.pair_probabilities : Probabilities of pairs.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn.cluster import BootClus
    >>> from evlearn.datasets import make_gaussian_mixture
    >>> from evlearn.plotting import PairProbabilityDisplay
    >>> X, y, posterior = make_gaussian_mixture(1, 60, random_state=0)
    >>> model = BootClus(3, covariance_models="EII", n_bootstrap=50, random_state=0).fit(X)
    >>> display = PairProbabilityDisplay.from_estimator(model, X, [(0, 1), (0, 2)])
    >>> display.probabilities.shape
    (2, 50)
    >>> plt.close(display.figure_)
    """

    def __init__(
        self, *, probabilities: FloatArray, bounds: FloatArray, degrees: FloatArray, names: Sequence[str]
    ) -> None:
        self.probabilities = probabilities
        self.bounds = bounds
        self.degrees = degrees
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        X: npt.ArrayLike,
        pairs: npt.ArrayLike,
        *,
        ax: Sequence[Axes] | None = None,
    ) -> PairProbabilityDisplay:
        """Draw the probabilities of pairs by a fitted BootClus.

        Parameters
        ----------
        estimator : fitted estimator
            `BootClus`, or a pipeline that ends in one.
        X : array-like or data frame of shape (n_samples, n_features)
            Training samples or new samples.
        pairs : array-like of int of shape (n_pairs, 2)
            Positions of the samples of each pair.
        ax : sequence of matplotlib Axes, default=None
            Axes to draw on, one for each pair; None creates a new figure.

        Returns
        -------
        PairProbabilityDisplay
            The drawn display.
        """
        method, rows = transform_through_pipeline(estimator, X)
        if not hasattr(method, "pair_probabilities"):
            raise ValueError(f"estimator must be a BootClus, which has bootstrap resamples, got {method!r}.")
        probabilities = method.pair_probabilities(rows, pairs)
        partition = partition_of(estimator, X)
        positions = np.asarray(pairs)
        relation: PairMasses = partition.relational(positions)
        quantiles = [(1 - method.confidence_level) / 2, (1 + method.confidence_level) / 2]
        bounds = np.quantile(probabilities, quantiles, axis=1).T
        sample_names = partition.sample_names
        names = [
            " and ".join(str(k if sample_names is None else sample_names[k]) for k in pair)
            for pair in positions.tolist()
        ]
        degrees = np.column_stack([relation.same_cluster, relation.plausibility_same])
        return cls(probabilities=probabilities, bounds=bounds, degrees=degrees, names=names).plot(ax)

    def plot(self, ax: Sequence[Axes] | None = None) -> PairProbabilityDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, default=None
            Axes to draw on, one for each pair; None creates a new figure.

        Returns
        -------
        PairProbabilityDisplay
            This display.
        """
        self.axes_: list[Axes] = open_panels(ax, len(self.names))
        self.figure_: Figure | SubFigure = self.axes_[0].figure
        self.bars_: list[BarContainer] = []
        self.bound_lines_: list[list[Line2D]] = []
        self.degree_lines_: list[list[Line2D]] = []
        for number, panel in enumerate(self.axes_):
            self._draw(panel, number)
        handles = [self.bound_lines_[-1][0], self.degree_lines_[-1][0]]
        self.legend_: Legend = self.axes_[-1].legend(handles=handles, fontsize="small")
        return self

    def _draw(self, panel: Axes, number: int) -> None:
        heights, edges = np.histogram(self.probabilities[number], bins=_BINS, range=(0, 1))
        bars = panel.bar(edges[:-1], heights, width=np.diff(edges), align="edge", color=_BARS, edgecolor="white")
        self.bars_.append(bars)
        # Solid lines first, so that coinciding dashed lines remain visible.
        self.degree_lines_.append(
            [
                panel.axvline(x, color=_DEGREE, linewidth=2, label="belief and plausibility")
                for x in self.degrees[number]
            ]
        )
        self.bound_lines_.append(
            [
                panel.axvline(x, color=_BOUND, linestyle="--", linewidth=1.4, label="confidence interval")
                for x in self.bounds[number]
            ]
        )
        panel.set(
            xlim=(-0.02, 1.02),
            xlabel="probability of the same cluster",
            ylabel="resamples",
            title=shorten(self.names[number], _MAX_TITLE),
        )
