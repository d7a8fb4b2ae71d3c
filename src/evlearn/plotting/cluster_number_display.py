"""How many clusters: a criterion against their number, and the number that it suggests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.ticker import MaxNLocator
from sklearn.base import clone

from evlearn.belief.types import FloatArray, IntArray
from evlearn.parameters import check_choice, check_integer
from evlearn.plotting import palette
from evlearn.plotting.axes import open_axes

_GID = "evlearn-cluster-number"  # by which curves that are there already are counted
_RULES = ("smallest", "largest", "elbow")
_CRITERIA = {"nonspecificity": "smallest", "objective": "elbow"}
# The nonspecificity of one cluster is zero, whatever the data.
_FEWEST_CLUSTERS = {"nonspecificity": 2, "objective": 1}


class ClusterNumberDisplay:
    """A criterion against the number of clusters.

    There is a hollow marker for each number. The suggested number has a larger, filled one, and the legend names
    it. Several curves drawn on the same axes have different colours, lines and markers.

    A suggestion is a hint and no proof: it depends on the parameters of the method and on the numbers that were
    tried, and something is suggested where there are no clusters too.

    Make it with `from_estimator` or `from_values`; the constructor takes what these have computed.

    Parameters
    ----------
    n_clusters : ndarray of int of shape (n_numbers,)
        The numbers of clusters, in ascending order.
    values : ndarray of shape (n_numbers,)
        The criterion for each number; NaN where it is not known.
    suggested : int or None
        The suggested number, one of `n_clusters`; None for no suggestion.
    criterion : str
        What the values are, for the axis.
    name : str
        What to call the curve.

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
    Average nonspecificity was proposed with ECM, by :cite:t:`masson2008ecm`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn.cluster import ECM
    >>> from evlearn.datasets import make_fourclass
    >>> from evlearn.plotting import ClusterNumberDisplay
    >>> X, y = make_fourclass(400, random_state=0)
    >>> model = ECM(alpha=2, delta=20**0.5, n_init=3, random_state=0)
    >>> display = ClusterNumberDisplay.from_estimator(model, X, n_clusters=range(2, 7))
    >>> display.suggested
    4
    >>> plt.close(display.figure_)
    """

    def __init__(
        self, *, n_clusters: IntArray, values: FloatArray, suggested: int | None, criterion: str, name: str
    ) -> None:
        self.n_clusters = n_clusters
        self.values = values
        self.suggested = suggested
        self.criterion = criterion
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
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
        estimator : estimator of evlearn
            Has a parameter ``n_clusters``. Clones of it are fitted; it stays as it is. Where it has a
            ``masses_file``, each fit writes it anew.
        X : array-like or whatever its ``fit`` takes
            The data, or dissimilarities. An iterator can be read only once and is refused.
        n_clusters : iterable of int, default=range(2, 9)
            The numbers to try.
        criterion : {"nonspecificity", "objective"}, default="nonspecificity"
            "nonspecificity": the average nonspecificity of the partition, of which the smallest is suggested.
            "objective": what the method minimises. As it falls with every cluster more, the elbow is suggested,
            see `from_values`.
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
        check_choice("criterion", criterion, _CRITERIA)
        rule = _CRITERIA[criterion]
        numbers = _check_numbers(n_clusters, _FEWEST_CLUSTERS[criterion])
        _check_enough(numbers, rule)
        _check_estimator(estimator)
        if isinstance(X, Iterator):
            raise ValueError(f"X is an iterator, {X!r}, which can be read only once; give data that stay.")
        values = [
            _value(_fitted(estimator, X, int(number), fit_params or {}), criterion) for number in np.sort(numbers)
        ]
        return cls.from_values(
            np.sort(numbers),
            values,
            rule=rule,
            criterion="average nonspecificity" if criterion == "nonspecificity" else criterion,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
            legend=legend,
        )

    @classmethod
    def from_values(
        cls,
        n_clusters: Iterable[int],
        values: npt.ArrayLike,
        *,
        rule: str = "smallest",
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
        rule : {"smallest", "largest", "elbow"}, default="smallest"
            Which number is suggested: that of the smallest or of the largest value (the smaller number if there
            are two), or the elbow. This is the number whose value is farthest below the straight line from the
            first to the last one; there is none where no value is below.
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
        check_choice("rule", rule, _RULES)
        numbers = _check_numbers(n_clusters, 1)
        curve = _check_values(values, numbers)
        order = np.argsort(numbers)
        numbers, curve = numbers[order], curve[order]
        if suggested is None:
            suggested = _suggest(numbers, curve, rule)
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
        self.ax_.set(xlabel="number of clusters", ylabel=self.criterion)
        self.ax_.xaxis.set_major_locator(MaxNLocator(nbins=18, steps=[1, 2, 5, 10], integer=True))
        self.legend_: Legend | None = self.ax_.legend(fontsize="small") if legend else None
        return self

    def _label(self) -> str:
        beginning = f"{self.name}: " if self.name else ""
        if self.suggested is None:
            return f"{beginning}no number suggested"
        plural = "" if self.suggested == 1 else "s"
        return f"{beginning}{self.suggested} cluster{plural} suggested{self._border()}"

    def _border(self) -> str:
        """A warning where other numbers might be better still."""
        if len(self.n_clusters) > 1 and self.suggested == self.n_clusters[-1]:
            return ", the most that were tried"
        if self.suggested == self.n_clusters[0] > 2:
            return ", the fewest that were tried"
        return ""


def _check_numbers(n_clusters: Any, least: int) -> IntArray:
    advice = "give several whole numbers, such as range(2, 9)"
    if isinstance(n_clusters, str) or not isinstance(n_clusters, Iterable):
        raise ValueError(f"n_clusters must be the numbers to compare, got {n_clusters!r}; {advice}.")
    numbers = list(n_clusters)
    if not numbers:
        raise ValueError(f"n_clusters must be the numbers to compare, got none; {advice}.")
    for number in numbers:
        check_integer("each of n_clusters", number, least)
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"n_clusters must be different numbers, got {numbers}.")
    return np.array(numbers, dtype=np.intp)


def _check_enough(numbers: IntArray, rule: str) -> None:
    if rule == "elbow" and len(numbers) < 3:
        raise ValueError(
            f"n_clusters must have at least three numbers with known values for an elbow, got {numbers.tolist()}; "
            "add numbers."
        )


def _check_estimator(estimator: Any) -> None:
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise ValueError(f"estimator must be an estimator such as ECM(), got {estimator!r}.")
    if "n_clusters" not in estimator.get_params(deep=False):
        raise ValueError(
            f"estimator must have a parameter n_clusters, got {estimator!r}; give an estimator of "
            "evlearn.cluster, without a pipeline around it."
        )


def _fitted(estimator: Any, X: Any, n_clusters: int, fit_params: Mapping[str, Any]) -> Any:
    try:
        return clone(estimator).set_params(n_clusters=n_clusters).fit(X, **fit_params)
    except ValueError as error:
        raise ValueError(
            f"estimator could not be fitted with n_clusters={n_clusters}: {error} "
            "Change the estimator, or leave this number out of n_clusters."
        ) from error


def _value(fitted: Any, criterion: str) -> float:
    needed = "credal_partition_" if criterion == "nonspecificity" else "objective_"
    if not hasattr(fitted, needed):
        raise ValueError(
            f"criterion={criterion!r} needs an estimator with {needed} after its fit, got {fitted!r}; give an "
            "estimator of evlearn.cluster. Data that are not in memory have a credal_partition_ with masses_file "
            'only; criterion="objective" does without.'
        )
    return float(fitted.objective_ if criterion == "objective" else fitted.credal_partition_.nonspecificity())


def _check_values(values: npt.ArrayLike, numbers: IntArray) -> FloatArray:
    curve = np.asarray(values, dtype=np.float64)
    if curve.shape != numbers.shape:
        raise ValueError(
            f"values must have one number for each of the {len(numbers)} n_clusters, got shape {curve.shape}."
        )
    if np.isinf(curve).any() or np.isnan(curve).all():
        raise ValueError(f"values must be finite numbers, or NaN where they are not known, got {curve.tolist()}.")
    return curve


def _suggest(numbers: IntArray, values: FloatArray, rule: str) -> int | None:
    known = ~np.isnan(values)
    numbers, values = numbers[known], values[known]
    if rule != "elbow":
        return int(numbers[values.argmin() if rule == "smallest" else values.argmax()])
    _check_enough(numbers, rule)
    ends = numbers[[0, -1]], values[[0, -1]]
    below = np.interp(numbers, *ends) - values
    return int(numbers[below.argmax()]) if below.max() > 0 else None
