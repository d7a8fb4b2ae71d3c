"""P-values of batches against time, with alarms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from evlearn.conformal.drift_monitor import STATISTICS
from evlearn.plotting import palette
from evlearn.plotting.axes import open_axes, shorten
from evlearn.utils.typing import BoolArray, FloatArray

_MAX_TICKS = 12
_MAX_WIDTH = 40  # characters of all tick labels that fit side by side
_DODGE = 0.09  # distance of the markers of statistics, in batches


@dataclass(kw_only=True, repr=False, eq=False)
class DriftDisplay:
    """P-values of batches in their order, with the alarms.

    The line shows the p-value of all statistics together on a logarithmic scale. Alarms have filled markers, at or
    below the dashed line of the false alarm rate. Small markers show the p-value of each statistic.

    Create it with `from_frame`.

    Parameters
    ----------
    names : sequence of str
        Names of the batches.
    p_values : ndarray of shape (n_batches,)
        P-value of each batch.
    alarms : ndarray of bool of shape (n_batches,)
        True for batches with an alarm.
    statistics : dict of str to ndarray of shape (n_batches,)
        P-values of each statistic.
    false_alarm_rates : ndarray of shape (n_batches,)
        Level of the alarms.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    line_ : matplotlib Line2D
        P-values of the batches.
    alarms_ : matplotlib Line2D
        Markers of the alarms.
    level_ : matplotlib Line2D
        Line of the false alarm rate.
    points_ : list of matplotlib Line2D
        Markers of each statistic.
    legend_ : matplotlib Legend or None
        Legend of the plot.

    See Also
    --------
    evlearn.conformal.DriftMonitor : The test of batches.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from evlearn.cluster import CCM
    >>> from evlearn.conformal import DriftMonitor
    >>> from evlearn.plotting import DriftDisplay
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(900, 2)) + 6 * random.integers(2, size=(900, 1))
    >>> monitor = DriftMonitor(CCM(2, random_state=0).fit(X[:300]), X[300:700])
    >>> frame = monitor.test_batches({"Monday": X[700:800], "Tuesday": X[800:] + 1})
    >>> display = DriftDisplay.from_frame(frame)
    >>> display.alarms.tolist()
    [False, True]
    >>> plt.close(display.figure_)
    """

    names: Sequence[str]
    p_values: FloatArray
    alarms: BoolArray
    statistics: dict[str, FloatArray]
    false_alarm_rates: FloatArray

    @classmethod
    def from_frame(cls, frame: Any, *, ax: Axes | None = None, legend: bool = True) -> DriftDisplay:
        """Draw the result of ``DriftMonitor.test_batches``, or several results in one table.

        Parameters
        ----------
        frame : pandas.DataFrame
            Table with one row per batch.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        legend : bool, default=True
            Whether to draw a legend.

        Returns
        -------
        DriftDisplay
            The drawn display.
        """
        columns = ["batch", "p_value", "alarm", "false_alarm_rate", *STATISTICS]
        missing = [name for name in columns if name not in frame]
        if missing or not len(frame):
            raise ValueError(
                "frame must be a result of DriftMonitor.test_batches with at least one batch; it has "
                f"{len(frame)} rows and lacks the columns {missing}."
            )
        values = {name: np.asarray(frame[name]) for name in columns}
        display = cls(
            names=[str(name) for name in frame["batch"]],
            p_values=values["p_value"].astype(float),
            alarms=values["alarm"].astype(bool),
            statistics={name: values[name].astype(float) for name in STATISTICS},
            false_alarm_rates=values["false_alarm_rate"].astype(float),
        )
        return display.plot(ax, legend=legend)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> DriftDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        legend : bool, default=True
            Whether to draw a legend.

        Returns
        -------
        DriftDisplay
            This display.
        """
        self.ax_: Axes = open_axes(ax, width=8.4 if legend else 6.4)
        self.figure_: Figure | SubFigure = self.ax_.figure
        places = np.arange(float(len(self.names)))
        self.ax_.set_yscale("log")
        (self.level_,) = self.ax_.plot(
            *_widened(places, self.false_alarm_rates), color="0.35", linestyle=(0, (5, 2)), linewidth=1
        )
        self.points_: list[Line2D] = [
            self._draw_statistic(number, name, places) for number, name in enumerate(self.statistics)
        ]
        style: dict[str, Any] = {"color": "black", "marker": "o", "markersize": 7, "zorder": 3}
        (self.line_,) = self.ax_.plot(places, self.p_values, linewidth=1.5, markerfacecolor="white", **style)
        (self.alarms_,) = self.ax_.plot(places[self.alarms], self.p_values[self.alarms], linestyle="none", **style)
        self.ax_.set(xlabel="batch", ylabel="p-value")
        lowest = min(0.01, *(values.min() for values in (self.p_values, *self.statistics.values())))
        self.ax_.set_ylim(lowest / 1.5, 1.2)
        self._set_ticks(places)
        self.legend_: Legend | None = self._draw_legend() if legend else None
        return self

    def _draw_statistic(self, number: int, name: str, places: FloatArray) -> Line2D:
        shift = _DODGE * (number - (len(self.statistics) - 1) / 2)
        (points,) = self.ax_.plot(
            places + shift,
            self.statistics[name],
            linestyle="none",
            markeredgecolor=palette.cluster_shade(number),
            markeredgewidth=0.6,
            label=name,
            **palette.curve_marker(number, 16, filled=True),
        )
        return points

    def _set_ticks(self, places: FloatArray) -> None:
        step = -(-len(places) // _MAX_TICKS)
        names = [shorten(name) for name in self.names[::step]]
        is_crowded = sum(map(len, names)) > _MAX_WIDTH
        self.ax_.set_xticks(
            places[::step],
            names,
            rotation=40 if is_crowded else 0,
            ha="right" if is_crowded else "center",
        )

    def _draw_legend(self) -> Legend:
        style: dict[str, Any] = {"color": "black", "marker": "o"}
        handles = [
            palette.key("all statistics", markerfacecolor="white", **style | {"linestyle": "-"}),
            palette.key("alarm", **style),
            palette.key("false alarm rate", color="0.35", linestyle=(0, (5, 2))),
            *self.points_,
        ]
        return palette.draw_legend(self.ax_, handles, "", crowded=True)


def _widened(places: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return steps from half a place before the first to half a place after the last value."""
    return np.column_stack([places - 0.5, places + 0.5]).ravel(), np.repeat(values, 2)
