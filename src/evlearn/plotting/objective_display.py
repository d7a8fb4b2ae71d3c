"""Plot of the objective of a fit against the iterations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.ticker import MaxNLocator

from evlearn.partition.estimators import split_pipeline
from evlearn.plotting import palette
from evlearn.plotting.axes import open_axes
from evlearn.utils.formatting import pluralize
from evlearn.utils.typing import EstimatorLike, FloatArray
from evlearn.utils.validation import check_choice

_GID = "evlearn-objective"  # identifies lines of other displays on the same axes


@dataclass(kw_only=True, repr=False, eq=False)
class ObjectiveDisplay:
    """Plot of the objective of a fit against the iterations.

    The legend shows the last value and whether the fit converged. The marker of the last value is filled if it
    did, and hollow otherwise. Fits on the same axes differ in colors, lines and markers.

    Create it with `from_estimator`.

    Parameters
    ----------
    history : ndarray of shape (n_iterations + 1,)
        Objective before the first iteration, and after each.
    converged : bool
        Whether the fit converged.
    name : str
        Name of the fit.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    line_ : matplotlib Line2D
        Line of the objective, with a marker at the last value.
    legend_ : matplotlib Legend or None
        Legend with the last value and the convergence.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn.cluster import ECM
    >>> from evlearn.datasets import load_butterfly
    >>> from evlearn.plotting import ObjectiveDisplay
    >>> model = ECM(n_clusters=2, random_state=0).fit(load_butterfly().data)
    >>> display = ObjectiveDisplay.from_estimator(model)
    >>> len(display.history) == model.n_iter_ + 1
    True
    >>> plt.close(display.figure_)
    """

    history: FloatArray
    converged: bool
    name: str

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        *,
        name: str | None = None,
        kind: Literal["objective", "distance"] = "objective",
        ax: Axes | None = None,
        legend: bool = True,
    ) -> ObjectiveDisplay:
        """Draw the objective of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            Estimator with the attributes ``objective_history_`` and ``converged_``.
        name : str or None, default=None
            Name of the fit in the legend; None uses the name of the class.
        kind : {"objective", "distance"}, default="objective"
            Quantity to draw: the objective, or its distance to the last value on a logarithmic scale, where a
            decreasing straight line shows linear convergence.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure. Pass the ``ax_`` of another display to compare fits.
        legend : bool, default=True
            Whether to draw a legend with the last value and the convergence.

        Returns
        -------
        ObjectiveDisplay
            The drawn display.
        """
        fitted = split_pipeline(estimator)[1]
        missing = [
            attribute for attribute in ("objective_history_", "converged_") if not hasattr(fitted, attribute)
        ]
        if missing:
            raise ValueError(
                f"estimator must be fitted and have {' and '.join(missing)}, got {fitted!r}; call its fit first."
            )
        history = np.asarray(fitted.objective_history_)
        display = cls(
            history=history,
            converged=bool(fitted.converged_),
            name=type(fitted).__name__ if name is None else name,
        )
        return display.plot(ax, kind=kind, legend=legend)

    def plot(
        self, ax: Axes | None = None, *, kind: Literal["objective", "distance"] = "objective", legend: bool = True
    ) -> ObjectiveDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        kind : {"objective", "distance"}, default="objective"
            Quantity to draw, see `from_estimator`.
        legend : bool, default=True
            Whether to draw a legend with the last value and the convergence.

        Returns
        -------
        ObjectiveDisplay
            This display.
        """
        check_choice("kind", kind, ("objective", "distance"))
        self.ax_: Axes = open_axes(ax)
        self.figure_: Figure | SubFigure = self.ax_.figure
        number = palette.n_curves(self.ax_, _GID)
        iterations, values = self._points(kind)
        (self.line_,) = self.ax_.plot(
            iterations,
            values,
            label=self._label(),
            linewidth=1.6,
            markevery=[-1] if len(values) else None,
            markeredgewidth=1.2,
            gid=_GID,
            **palette.curve_style(number),
            **palette.curve_marker(number, 50, filled=self.converged),
        )
        self._set_frame(kind)
        self.legend_: Legend | None = self.ax_.legend(fontsize="small") if legend else None
        return self

    def _points(self, kind: str) -> tuple[FloatArray, FloatArray]:
        iterations = np.arange(float(len(self.history)))
        if kind == "objective":
            return iterations, self.history
        distances = np.abs(self.history - self.history[-1])
        is_positive = distances > 0  # zero has no place on a logarithmic scale
        return iterations[is_positive], distances[is_positive]

    def _set_frame(self, kind: str) -> None:
        self.ax_.set_xlabel("iteration")
        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        if kind == "distance":
            self.ax_.set_ylabel("distance to the last objective")
            self.ax_.set_yscale("log")
        else:
            self.ax_.set_ylabel("objective")

    def _label(self) -> str:
        n_iterations = len(self.history) - 1
        ending = "converged" if self.converged else "not converged"
        steps = pluralize("iteration", n_iterations)
        return f"{self.name}: {self.history[-1]:.4g}, {ending} after {n_iterations:,} {steps}"
