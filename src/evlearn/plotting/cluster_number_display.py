"""Plot of a criterion against the number of clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
from evlearn.utils.formatting import pluralize
from evlearn.utils.typing import ClustererLike, DataLike, FloatArray, IntArray
from evlearn.utils.validation import check_choice

_GID = "evlearn-cluster-number"  # identifies curves of other displays on the same axes


@dataclass(kw_only=True, repr=False, eq=False)
class ClusterNumberDisplay:
    """Plot of a criterion against the number of clusters.

    Hollow markers show all numbers. A larger, filled marker and the legend show the suggested number. Curves on
    the same axes differ in colors, lines and markers.

    A suggestion is not evidence: it depends on the parameters of the method and on the candidate numbers, and
    there is a suggestion for data without clusters, too.

    Create it with `from_selection`, `from_estimator` or `from_values`; the constructor expects computed values.

    Parameters
    ----------
    n_clusters : ndarray of shape (n_numbers,)
        Numbers of clusters, or values of another parameter, in ascending order.
    values : ndarray of shape (n_numbers,)
        Criterion for each number; NaN where it is unknown.
    suggested : int, float or None
        Suggested number, one of `n_clusters`; None for no suggestion.
    criterion : str
        Name of the criterion, the label of the axis.
    name : str
        Name of the curve.
    parameter : str, default="n_clusters"
        Name of the parameter.
    spread : ndarray of shape (n_numbers,) or None, default=None
        Standard deviation of the values over repetitions, drawn as a band.
    share : float or None, default=None
        Share of the repetitions with the same suggestion, for the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    line_ : matplotlib Line2D
        Curve of the criterion.
    mark_ : matplotlib Line2D
        Marker of the suggested number, without points if there is no suggestion.
    legend_ : matplotlib Legend or None
        Legend with the suggested number of each curve.

    See Also
    --------
    BeliefPeaksDisplay : Number of clusters without any fit.

    References
    ----------
    Masson and Denœux (2008) proposed the average nonspecificity.

    - Masson and Denœux (2008), ECM: an evidential version of the fuzzy c-means
      algorithm, Pattern Recognition 41, doi:10.1016/j.patcog.2007.08.014.

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

    n_clusters: IntArray | FloatArray
    values: FloatArray
    suggested: int | float | None
    criterion: str
    name: str
    parameter: str = "n_clusters"
    spread: FloatArray | None = None
    share: float | None = None

    @classmethod
    def from_selection(
        cls,
        selection: ParameterSelection,
        *,
        name: str = "",
        ax: Axes | None = None,
        legend: bool = True,
    ) -> ClusterNumberDisplay:
        """Draw the curve of a selection: the mean over repetitions, and a band of 1 standard deviation.

        Parameters
        ----------
        selection : ParameterSelection
            Result of `evlearn.model_selection.select_n_clusters` or `select_parameter`.
        name : str, default=""
            Name of the curve in the legend.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure. Pass the ``ax_`` of another display to compare curves.
        legend : bool, default=True
            Whether to draw a legend with the suggested number.

        Returns
        -------
        ClusterNumberDisplay
            The drawn display.
        """
        has_repeats = len(selection.curves) > 1
        display = cls(
            n_clusters=selection.values,
            values=selection.curve,
            suggested=selection.best,
            criterion=selection.criterion,
            name=name,
            parameter=selection.name,
            spread=selection.spread if has_repeats and selection.criterion != VOTES else None,
            share=selection.confidence if has_repeats else None,
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
        """Fit an estimator for each number of clusters, and draw the criterion.

        Parameters
        ----------
        estimator : estimator
            Clusterer with a parameter ``n_clusters``, or a pipeline that ends in one. Clones are fitted, which
            write no files of masses and no checkpoints.
        X : array-like, or another input of ``fit``
            Data or dissimilarities. An iterator can be read only once and is refused.
        n_clusters : iterable of int, default=range(2, 9)
            Candidate numbers.
        criterion : str, default="nonspecificity"
            "nonspecificity" suggests the number with the smallest average nonspecificity of the partition.
            "objective" suggests the elbow of the objective, which decreases with the number of clusters, see
            `from_values`. `evlearn.model_selection.select_n_clusters` describes all criteria and their
            reliability; draw its result with `from_selection`.
        fit_params : mapping or None, default=None
            Additional arguments of ``fit``, such as constraints.
        name : str or None, default=None
            Name of the curve in the legend; None uses the name of the class.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure. Pass the ``ax_`` of another display to compare curves.
        legend : bool, default=True
            Whether to draw a legend with the suggested number.

        Returns
        -------
        ClusterNumberDisplay
            The drawn display.
        """
        selection = select_n_clusters(
            estimator, X, n_clusters, criterion=criterion, n_repeats=1, sample_size=1.0, fit_params=fit_params
        )
        label = type(estimator).__name__ if name is None else name
        return cls.from_selection(selection, name=label, ax=ax, legend=legend)

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
        """Draw the curve of a precomputed criterion.

        Parameters
        ----------
        n_clusters : iterable of int
            Numbers of clusters, in any order.
        values : array-like of shape (n_numbers,)
            Criterion for each number; NaN where it is unknown.
        rule : {"smallest", "largest", "last_largest", "elbow"}, default="smallest"
            Rule for the suggested number: smallest value, largest value (the larger number of ties with
            "last_largest", otherwise the smaller one), or elbow. The elbow is the number whose value is farthest
            below the straight line from the first to the last one; if no value is below, there is no suggestion.
        suggested : int or None, default=None
            Suggested number, one of `n_clusters`, if it is chosen by another rule.
        criterion : str, default="criterion"
            Name of the criterion, the label of the axis.
        name : str, default=""
            Name of the curve in the legend.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure. Pass the ``ax_`` of another display to compare curves.
        legend : bool, default=True
            Whether to draw a legend with the suggested number.

        Returns
        -------
        ClusterNumberDisplay
            The drawn display.
        """
        check_choice("rule", rule, RULES)
        numbers = check_values(n_clusters, "n_clusters", 1)
        curve = _check_curve(values, numbers)
        order = np.argsort(numbers)
        numbers, curve = numbers[order], curve[order]
        if suggested is None:
            position = choose(numbers, curve, rule)
            suggested = None if position is None else int(numbers[position])
        elif suggested not in numbers:
            raise ValueError(f"suggested must be one of n_clusters, {numbers.tolist()}, got {suggested!r}.")
        display = cls(n_clusters=numbers, values=curve, suggested=suggested, criterion=criterion, name=name)
        return display.plot(ax, legend=legend)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> ClusterNumberDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        legend : bool, default=True
            Whether to draw a legend with the suggested number.

        Returns
        -------
        ClusterNumberDisplay
            This display.
        """
        self.ax_: Axes = open_axes(ax)
        self.figure_: Figure | SubFigure = self.ax_.figure
        number = palette.n_curves(self.ax_, _GID)
        style: dict[str, Any] = {"linewidth": 1.6} | palette.curve_style(number)
        area = 30 if len(self.values) <= 12 else 14
        (self.line_,) = self.ax_.plot(
            self.n_clusters,
            self.values,
            gid=_GID,
            **style,
            **palette.curve_marker(number, area, filled=False),
        )
        if self.spread is not None:
            edges = self.values - self.spread, self.values + self.spread
            self.ax_.fill_between(self.n_clusters, *edges, color=style["color"], alpha=0.15, linewidth=0)
        chosen = self.n_clusters == self.suggested
        # A line with one point shows only its marker; its legend entry has the style of the curve.
        (self.mark_,) = self.ax_.plot(
            self.n_clusters[chosen],
            self.values[chosen],
            label=self._label(),
            zorder=3,
            **style,
            **palette.curve_marker(number, 90, filled=True),
        )
        self.ax_.set(xlabel="number of clusters" if self._counts else self.parameter, ylabel=self.criterion)
        if self._counts:
            self.ax_.xaxis.set_major_locator(MaxNLocator(nbins=18, steps=[1, 2, 5, 10], integer=True))
        self.legend_: Legend | None = self.ax_.legend(fontsize="small") if legend else None
        return self

    def _label(self) -> str:
        prefix = f"{self.name}: " if self.name else ""
        if self.suggested is None:
            return f"{prefix}no number suggested"
        noun = pluralize("cluster", self.suggested)
        suggestion = f"{self.suggested} {noun}" if self._counts else f"{self.parameter} = {self.suggested:g}"
        votes = "" if self.share is None else f" by {self.share:.0%}"
        return f"{prefix}{suggestion} suggested{votes}{self._border()}"

    @property
    def _counts(self) -> bool:
        return self.parameter in NUMBERS

    def _border(self) -> str:
        """Return a remark if the suggestion is the first or the last candidate."""
        noun = "number" if self._counts else "value"
        if len(self.n_clusters) > 1 and self.suggested == self.n_clusters[-1]:
            return f", the largest {noun} tested"
        if self.suggested == self.n_clusters[0] and (self.n_clusters[0] > 2 or not self._counts):
            return f", the smallest {noun} tested"
        return ""


def _check_curve(values: npt.ArrayLike, numbers: IntArray) -> FloatArray:
    curve = np.asarray(values, dtype=np.float64)
    if curve.shape != numbers.shape:
        raise ValueError(
            f"values must have one number for each of the {len(numbers)} n_clusters, got shape {curve.shape}."
        )
    if np.isinf(curve).any() or np.isnan(curve).all():
        raise ValueError(f"values must be finite numbers, or NaN where they are unknown, got {curve.tolist()}.")
    return curve
