"""What resampled mixtures of BootClus say about single pairs of samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from evlearn.partition import PairMasses
from evlearn.partition.estimators import partition_of, reached
from evlearn.plotting.axes import open_panels
from evlearn.plotting.names import shortened
from evlearn.utils.typing import EstimatorLike, FloatArray

_BINS = 20
_LONGEST = 40  # letters above a panel
_BARS, _BOUND, _DEGREE = "0.75", "black", "#c44e52"


class PairProbabilityDisplay:
    """How the probability that two samples are in the same cluster varies over bootstrap resamples.

    Each panel is a pair of samples: a histogram of its probabilities, the bounds of the confidence interval as
    dashed lines, and belief and plausibility of the same cluster as solid ones (Figures 4 and 8 of Denœux
    (2020)).

    Make it with `from_estimator`.

    Parameters
    ----------
    probabilities : ndarray of shape (n_pairs, n_bootstrap)
        The probability of the same cluster, for each pair and each resample.
    bounds : ndarray of shape (n_pairs, 2)
        The bounds of the confidence interval.
    degrees : ndarray of shape (n_pairs, 2)
        Belief and plausibility of the same cluster.
    names : sequence of str
        What each pair is called.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        A panel for each pair.
    figure_ : matplotlib Figure
        The figure around them.
    bars_ : list of matplotlib BarContainer
        The histograms.
    bound_lines_, degree_lines_ : list of list of matplotlib Line2D
        The lines of the bounds, and those of belief and plausibility, for each pair.
    legend_ : matplotlib Legend
        What lines stand for, in the last panel.

    See Also
    --------
    IntervalDisplay : Belief and plausibility of all pairs.
    evlearn.cluster.BootClus.pair_probabilities : The numbers.

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
        """Pairs of samples as a fitted BootClus sees them.

        Parameters
        ----------
        estimator : fitted estimator
            A `BootClus`, or a pipeline that ends in one.
        X : array-like or data frame of shape (n_samples, n_features)
            Samples, new or old.
        pairs : array-like of int of shape (n_pairs, 2)
            Pairs of them, by their numbers.
        ax : sequence of matplotlib Axes, default=None
            Where to draw, one for each pair; None makes a new figure.

        Returns
        -------
        PairProbabilityDisplay
            The picture, drawn.
        """
        method, rows = reached(estimator, X)
        if not hasattr(method, "pair_probabilities"):
            raise ValueError(f"estimator must be a BootClus, which has resamples, got {method!r}.")
        probabilities = method.pair_probabilities(rows, pairs)
        partition = partition_of(estimator, X)
        chosen = np.asarray(pairs)
        same: PairMasses = partition.relational(chosen)
        sides = [(1 - method.confidence) / 2, (1 + method.confidence) / 2]
        bounds = np.quantile(probabilities, sides, axis=1).T
        called = partition.sample_names
        names = [" and ".join(str(k if called is None else called[k]) for k in pair) for pair in chosen.tolist()]
        degrees = np.column_stack([same.same, same.plausibility_same])
        return cls(probabilities=probabilities, bounds=bounds, degrees=degrees, names=names).plot(ax)

    def plot(self, ax: Sequence[Axes] | None = None) -> PairProbabilityDisplay:
        """Draw the picture, again or elsewhere.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, default=None
            Where to draw, one for each pair; None makes a new figure.

        Returns
        -------
        PairProbabilityDisplay
            The display itself.
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
        # Belief first: where both are the same, the dashed line is seen on the solid one.
        self.degree_lines_.append(
            [
                panel.axvline(one, color=_DEGREE, linewidth=2, label="belief and plausibility")
                for one in self.degrees[number]
            ]
        )
        self.bound_lines_.append(
            [
                panel.axvline(one, color=_BOUND, linestyle="--", linewidth=1.4, label="confidence interval")
                for one in self.bounds[number]
            ]
        )
        panel.set(
            xlim=(-0.02, 1.02),
            xlabel="probability of the same cluster",
            ylabel="resamples",
            title=shortened(self.names[number], _LONGEST),
        )
