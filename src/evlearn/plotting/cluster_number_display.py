"""How many clusters: a criterion against their number, and the number that it suggests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.ticker import MaxNLocator

from evlearn.model_selection import ParameterSelection, select_n_clusters
from evlearn.model_selection.select import check_values
from evlearn.model_selection.selection import NUMBERS, RULES, VOTES, Rule, choose
from evlearn.plotting import palette
from evlearn.plotting.axes import open_axes
from evlearn.utils.typing import ClustererLike, DataLike, FloatArray, IntArray
from evlearn.utils.validation import check_choice

_GID = "evlearn-cluster-number"  # by which curves that are there already are counted


class ClusterNumberDisplay:
    """A criterion against the number of clusters.

    There is a hollow marker for each number. The suggested number has a larger, filled one, and the legend names
    it. Several curves drawn on the same axes have different colours, lines and markers.

    A suggestion is a hint and no proof: it depends on the parameters of the method and on the numbers that were
    tried, and something is suggested where there are no clusters too.

    Make it with `from_selection`, `from_estimator` or `from_values`; the constructor takes what these computed.

    Parameters
    ----------
    n_clusters : ndarray of shape (n_numbers,)
        The numbers of clusters, or values of another parameter, in ascending order.
    values : ndarray of shape (n_numbers,)
        The criterion for each number; NaN where it is not known.
    suggested : int, float or None
        The suggested number, one of `n_clusters`; None for no suggestion.
    criterion : str
        What the values are, for the axis.
    name : str
        What to call the curve.
    parameter : str, default="n_clusters"
        What the numbers are.
    spread : ndarray of shape (n_numbers,) or None, default=None
        How much the values differ between samples, drawn as a band.
    share : float or None, default=None
        The share of samples that agree on the suggestion, for the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the picture is drawn.
    figure_ : matplotlib Figure
        The figure around it.
    line_ : matplotlib Line2D
        The curve.
    mark_ : matplotlib Line2D
        The mark of the suggested number; it has no points if there is no suggestion.
    legend_ : matplotlib Legend or None
        The suggested number of each curve.

    See Also
    --------
    DeltaBelDisplay : Another way to the number of clusters, without any fit.

    References
    ----------
    Average nonspecificity was proposed with ECM, by Masson and Denœux (2008).

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn.cluster import ECM
    >>> from evlearn.datasets import make_fourclass
    >>> from evlearn.plotting import ClusterNumberDisplay
    >>> X, y = make_fourclass(400, random_state=0)
    >>> model = ECM(alpha=2, beta=2, focal_sets="full", delta=20**0.5, random_state=0)
    >>> display = ClusterNumberDisplay.from_estimator(model, X, n_clusters=range(2, 7))
    >>> display.suggested
    4
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        n_clusters: IntArray | FloatArray,
        values: FloatArray,
        suggested: int | float | None,
        criterion: str,
        name: str,
        parameter: str = "n_clusters",
        spread: FloatArray | None = None,
        share: float | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.values = values
        self.suggested = suggested
        self.criterion = criterion
        self.name = name
        self.parameter = parameter
        self.spread = spread
        self.share = share

    @classmethod
    def from_selection(
        cls,
        selection: ParameterSelection,
        *,
        name: str = "",
        ax: Axes | None = None,
        legend: bool = True,
    ) -> ClusterNumberDisplay:
        """The curve of a selection: the mean over samples, and a band of one standard deviation.

        Parameters
        ----------
        selection : ParameterSelection
            What `evlearn.model_selection.select_n_clusters` or `select_parameter` gave.
        name : str, default=""
            What to call the curve in the legend.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure. Give the ``ax_`` of another display to compare curves.
        legend : bool, default=True
            Whether to name the suggested number.

        Returns
        -------
        ClusterNumberDisplay
            The picture, drawn.
        """
        several = len(selection.curves) > 1
        display = cls(
            n_clusters=selection.values,
            values=selection.curve,
            suggested=selection.best,
            criterion=selection.criterion,
            name=name,
            parameter=selection.name,
            spread=selection.spread if several and selection.criterion != VOTES else None,
            share=selection.confidence if several else None,
        )
        return display.plot(ax, legend=legend)

    @classmethod
    def from_estimator(
        cls,
        estimator: ClustererLike,
        X: DataLike,
        *,
        n_clusters: Iterable[int] = range(2, 9),
        criterion: str = "nonspecificity",
        fit_params: Mapping[str, Any] | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        legend: bool = True,
    ) -> ClusterNumberDisplay:
        """Fit an estimator for each number of clusters, and draw what the criterion says.

        Parameters
        ----------
        estimator : estimator
            With a parameter ``n_clusters``, of evlearn or scikit-learn, also at the end of a pipeline. Clones are
            fitted; it is not changed, and its ``masses_file`` and ``checkpoint`` are not written.
        X : array-like or whatever its ``fit`` takes
            The data, or dissimilarities. An iterator can be read only once and is refused.
        n_clusters : iterable of int, default=range(2, 9)
            The numbers to try.
        criterion : str, default="nonspecificity"
            "nonspecificity": the average nonspecificity of the partition, of which the smallest is suggested.
            "objective": what the method minimises. As it falls with every cluster more, the elbow is suggested,
            see `from_values`. The others are those of `evlearn.model_selection.select_n_clusters`, which says how
            far to rely on them too; draw what it gives with `from_selection`.
        fit_params : mapping or None, default=None
            More arguments of ``fit``, such as constraints.
        name : str or None, default=None
            What to call the curve in the legend; None means the name of the class.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure. Give the ``ax_`` of another display to compare curves.
        legend : bool, default=True
            Whether to name the suggested number.

        Returns
        -------
        ClusterNumberDisplay
            The picture, drawn.
        """
        selection = select_n_clusters(
            estimator, X, n_clusters, criterion=criterion, n_repeats=1, sample_size=1.0, fit_params=fit_params
        )
        shown = type(estimator).__name__ if name is None else name
        return cls.from_selection(selection, name=shown, ax=ax, legend=legend)

    @classmethod
    def from_values(
        cls,
        n_clusters: Iterable[int],
        values: npt.ArrayLike,
        *,
        rule: Rule = "smallest",
        suggested: int | None = None,
        criterion: str = "criterion",
        name: str = "",
        ax: Axes | None = None,
        legend: bool = True,
    ) -> ClusterNumberDisplay:
        """The curve of a criterion that was computed elsewhere.

        Parameters
        ----------
        n_clusters : iterable of int
            The numbers of clusters, in any order.
        values : array-like of shape (n_numbers,)
            The criterion for each number; NaN where it is not known.
        rule : {"smallest", "largest", "last_largest", "elbow"}, default="smallest"
            Which number is suggested: that of the smallest or of the largest value (the smaller number if there
            are two; the larger one with "last_largest"), or the elbow. This is the number whose value is farthest
            below the straight line from the first to the last one; there is none where no value is below.
        suggested : int or None, default=None
            The suggested number, one of `n_clusters`, if another rule has chosen it.
        criterion : str, default="criterion"
            What the values are, for the axis.
        name : str, default=""
            What to call the curve in the legend.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure. Give the ``ax_`` of another display to compare curves.
        legend : bool, default=True
            Whether to name the suggested number.

        Returns
        -------
        ClusterNumberDisplay
            The picture, drawn.
        """
        check_choice("rule", rule, RULES)
        numbers = check_values(n_clusters, "n_clusters", 1)
        curve = _check_curve(values, numbers)
        order = np.argsort(numbers)
        numbers, curve = numbers[order], curve[order]
        if suggested is None:
            place = choose(numbers, curve, rule)
            suggested = None if place is None else int(numbers[place])
        elif suggested not in numbers:
            raise ValueError(f"suggested must be one of n_clusters, {numbers.tolist()}, got {suggested!r}.")
        display = cls(n_clusters=numbers, values=curve, suggested=suggested, criterion=criterion, name=name)
        return display.plot(ax, legend=legend)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> ClusterNumberDisplay:
        """Draw the picture, again or elsewhere.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        legend : bool, default=True
            Whether to name the suggested number.

        Returns
        -------
        ClusterNumberDisplay
            The display itself.
        """
        self.ax_: Axes
        self.figure_: Figure | SubFigure
        self.ax_, self.figure_ = open_axes(ax)
        number = sum(line.get_gid() == _GID for line in self.ax_.lines)
        look: dict[str, Any] = {
            "color": palette.cluster_shade(number),
            "linestyle": palette.line_style(number),
            "linewidth": 1.6,
            "marker": palette.cluster_marker(number),
        }
        area = 30 if len(self.values) <= 12 else 14
        (self.line_,) = self.ax_.plot(
            self.n_clusters,
            self.values,
            markersize=np.sqrt(palette.marker_area(number, area)),
            markerfacecolor="white",
            gid=_GID,
            **look,
        )
        if self.spread is not None:
            edges = self.values - self.spread, self.values + self.spread
            self.ax_.fill_between(self.n_clusters, *edges, color=look["color"], alpha=0.15, linewidth=0)
        chosen = self.n_clusters == self.suggested
        # A line of one point: the picture shows its marker only, the legend the look of the curve as well.
        (self.mark_,) = self.ax_.plot(
            self.n_clusters[chosen],
            self.values[chosen],
            label=self._label(),
            markersize=np.sqrt(palette.marker_area(number, 90)),
            markerfacecolor=palette.cluster_color(number),
            zorder=3,
            **look,
        )
        self.ax_.set(xlabel="number of clusters" if self._counts else self.parameter, ylabel=self.criterion)
        if self._counts:
            self.ax_.xaxis.set_major_locator(MaxNLocator(nbins=18, steps=[1, 2, 5, 10], integer=True))
        self.legend_: Legend | None = self.ax_.legend(fontsize="small") if legend else None
        return self

    def _label(self) -> str:
        beginning = f"{self.name}: " if self.name else ""
        if self.suggested is None:
            return f"{beginning}no number suggested"
        plural = "" if self.suggested == 1 else "s"
        what = f"{self.suggested} cluster{plural}" if self._counts else f"{self.parameter} = {self.suggested:g}"
        by = "" if self.share is None else f" by {self.share:.0%}"
        return f"{beginning}{what} suggested{by}{self._border()}"

    @property
    def _counts(self) -> bool:
        return self.parameter in NUMBERS

    def _border(self) -> str:
        """A warning where other numbers might be better still."""
        few, many = ("the fewest", "the most") if self._counts else ("the smallest", "the largest")
        if len(self.n_clusters) > 1 and self.suggested == self.n_clusters[-1]:
            return f", {many} that were tried"
        if self.suggested == self.n_clusters[0] and (self.n_clusters[0] > 2 or not self._counts):
            return f", {few} that were tried"
        return ""


def _check_curve(values: npt.ArrayLike, numbers: IntArray) -> FloatArray:
    curve = np.asarray(values, dtype=np.float64)
    if curve.shape != numbers.shape:
        raise ValueError(
            f"values must have one number for each of the {len(numbers)} n_clusters, got shape {curve.shape}."
        )
    if np.isinf(curve).any() or np.isnan(curve).all():
        raise ValueError(f"values must be finite numbers, or NaN where they are not known, got {curve.tolist()}.")
    return curve
