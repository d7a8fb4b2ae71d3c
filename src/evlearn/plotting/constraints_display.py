"""Plot of constraints between samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from sklearn.utils import check_random_state

from evlearn.constraints import PairwiseConstraints
from evlearn.partition import CredalPartition
from evlearn.plotting.axes import open_axes, shorten_for_axis
from evlearn.plotting.palette import draw_legend, key
from evlearn.plotting.plane import coordinates
from evlearn.plotting.sampling import allocate, draw_subset
from evlearn.utils.typing import FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_integer

_SOLID, _DASHED = "-", (0, (4, 2))
_VIOLATED_COLOR = "#CC3311"
#: Line style of each kind of constraint.
_STYLES: dict[str, dict[str, Any]] = {
    "must-link": {"color": "0.25", "linestyle": _SOLID, "linewidth": 0.9},
    "cannot-link": {"color": "0.25", "linestyle": _DASHED, "linewidth": 0.9},
    "must-link, violated": {"color": _VIOLATED_COLOR, "linestyle": _SOLID, "linewidth": 1.9},
    "cannot-link, violated": {"color": _VIOLATED_COLOR, "linestyle": _DASHED, "linewidth": 1.9},
}
_MIN_CROWD = 2000  # samples


@dataclass(kw_only=True, repr=False, eq=False)
class ConstraintsDisplay:
    """Plot of constraints: must-links are solid lines between samples, and cannot-links dashed ones.

    With labels, violated constraints are thick and red.

    Create it with `from_constraints`; the constructor expects computed values. To show clusters
    in the same plot, draw a `CredalPartitionDisplay` first and the constraints on its axes.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2)
        Coordinates of the samples.
    pairs : dict of str to ndarray of int of shape (n_pairs, 2)
        Pairs of samples by kind: "must-link", "cannot-link", "must-link, violated" and "cannot-link, violated".
    axis_labels : sequence of 2 str
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    lines_ : dict of str to matplotlib LineCollection
        Lines of each kind of constraint that occurs.
    points_ : matplotlib PathCollection or None
        Samples, if the display created the axes.
    legend_ : matplotlib Legend or None
        Legend of the plot.

    See Also
    --------
    evlearn.constraints.PairwiseConstraints.violations : Constraints that labels violate.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn.constraints import PairwiseConstraints
    >>> from evlearn.plotting import ConstraintsDisplay
    >>> X = [[0, 0], [1, 0], [0, 1], [1, 1]]
    >>> constraints = PairwiseConstraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)])
    >>> display = ConstraintsDisplay.from_constraints(constraints, X, labels=[0, 0, 0, 0])
    >>> list(display.lines_)
    ['must-link', 'cannot-link, violated']
    >>> plt.close(display.figure_)
    """

    points: FloatArray
    pairs: dict[str, IntArray]
    axis_labels: Sequence[str]

    @classmethod
    def from_constraints(
        cls,
        constraints: PairwiseConstraints,
        X: npt.ArrayLike,
        *,
        labels: CredalPartition | npt.ArrayLike | None = None,
        features: Sequence[int | str] | None = None,
        ax: Axes | None = None,
        max_lines: int = 500,
        random_state: RandomSeed = 0,
        legend: bool = True,
    ) -> ConstraintsDisplay:
        """Draw constraints.

        Parameters
        ----------
        constraints : PairwiseConstraints
            Constraints to draw.
        X : array-like or data frame of shape (n_samples, n_features)
            Features of the samples.
        labels : CredalPartition or array-like of shape (n_samples,), default=None
            Clusters of the samples, to show violated constraints. For a partition, the most plausible clusters are
            used.
        features : sequence of 2 int or str, default=None
            Features to show, by number or column name. None uses both of 2 features, or the first 2 principal
            components of more, as in `CredalPartitionDisplay`.
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a new figure, with the samples as gray points; on existing axes only
            lines are drawn, and the entries of their legend are kept.
        max_lines : int, default=500
            Maximum number of constraints to draw; of more, a random subset, and the legend shows both numbers.
        random_state : int, RandomState instance or None, default=0
            Seed of the random subset.
        legend : bool, default=True
            Whether to draw a legend.

        Returns
        -------
        ConstraintsDisplay
            The drawn display.
        """
        if not isinstance(constraints, PairwiseConstraints):
            raise ValueError(
                f"constraints must be PairwiseConstraints, got {type(constraints).__name__}; "
                "create them with PairwiseConstraints(must_link, cannot_link)."
            )
        n_samples = X.shape[0] if hasattr(X, "shape") and len(X.shape) else np.shape(X)[0]
        points, axis_labels = coordinates(X, features, n_samples)
        constraints.check_samples(n_samples)
        display = cls(points=points, pairs=_pairs_by_kind(constraints, labels, n_samples), axis_labels=axis_labels)
        return display.plot(ax, max_lines=max_lines, random_state=random_state, legend=legend)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        max_lines: int = 500,
        random_state: RandomSeed = 0,
        legend: bool = True,
    ) -> ConstraintsDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on, see `from_constraints`.
        max_lines : int, default=500
            Maximum number of constraints to draw.
        random_state : int, RandomState instance or None, default=0
            Seed of the random subset.
        legend : bool, default=True
            Whether to draw a legend.

        Returns
        -------
        ConstraintsDisplay
            This display.
        """
        check_integer("max_lines", max_lines, 1)
        self.ax_: Axes = open_axes(ax)
        self.figure_: Figure | SubFigure = self.ax_.figure
        self.points_: PathCollection | None = self._draw_samples() if ax is None else None
        subset = self._choose(int(max_lines), check_random_state(random_state))
        self.lines_: dict[str, LineCollection] = {
            kind: self._draw_lines(kind, pairs) for kind, pairs in subset.items() if len(pairs)
        }
        self.legend_: Legend | None = self._draw_legend() if legend else None
        return self

    def _draw_samples(self) -> PathCollection:
        self.ax_.set(xlabel=shorten_for_axis(self.axis_labels[0]), ylabel=shorten_for_axis(self.axis_labels[1]))
        area = float(np.clip(350 / np.sqrt(len(self.points)), 3, 30))
        return self.ax_.scatter(self.points[:, 0], self.points[:, 1], s=area, color="0.7", linewidths=0, zorder=1)

    def _choose(self, max_lines: int, random: np.random.RandomState) -> dict[str, IntArray]:
        shares = allocate(max_lines, [len(pairs) for pairs in self.pairs.values()])
        chosen = {}
        for (kind, pairs), share in zip(self.pairs.items(), shares, strict=True):
            numbers = np.arange(len(pairs))
            chosen[kind] = pairs[draw_subset(numbers, int(share), np.zeros(len(pairs), dtype=np.intp), random)]
        return chosen

    def _draw_lines(self, kind: str, pairs: IntArray) -> LineCollection:
        style = _STYLES[kind]
        lines = LineCollection(
            list(self.points[pairs]),
            colors=style["color"],
            linestyles=style["linestyle"],
            linewidths=style["linewidth"],
            label=kind,
            # Lines cover the samples, and violated constraints cover the others.
            zorder=4.2 if "violated" in kind else 4.1,
        )
        self.ax_.add_collection(lines)
        return lines

    def _draw_legend(self) -> Legend:
        legend = self.ax_.get_legend()
        handles: list[Any] = [] if legend is None else list(legend.legend_handles)
        title = "" if legend is None else legend.get_title().get_text()
        for kind, lines in self.lines_.items():
            n_drawn, n_pairs = len(lines.get_segments()), len(self.pairs[kind])
            count = f"{n_pairs:,}" if n_drawn == n_pairs else f"{n_drawn:,} of {n_pairs:,}"
            handles.append(key(f"{kind}: {count}", **_STYLES[kind]))
        return draw_legend(self.ax_, handles, title, crowded=len(self.points) > _MIN_CROWD)


def _pairs_by_kind(
    constraints: PairwiseConstraints, labels: CredalPartition | npt.ArrayLike | None, n_samples: int
) -> dict[str, IntArray]:
    if labels is None:
        return {"must-link": constraints.must_link, "cannot-link": constraints.cannot_link}
    clusters = labels.to_hard() if isinstance(labels, CredalPartition) else np.asarray(labels)
    if clusters.shape != (n_samples,):
        raise ValueError(
            f"labels must have one label for each of the {n_samples} rows of X, got {clusters.shape}."
        )
    violated = constraints.violations(clusters)
    return {
        "must-link": _difference(constraints.must_link, violated.must_link),
        "cannot-link": _difference(constraints.cannot_link, violated.cannot_link),
        "must-link, violated": violated.must_link,
        "cannot-link, violated": violated.cannot_link,
    }


def _difference(pairs: IntArray, others: IntArray) -> IntArray:
    excluded = set(map(tuple, others.tolist()))
    is_other = [tuple(pair) not in excluded for pair in pairs.tolist()]
    return np.asarray(pairs[np.array(is_other, dtype=bool)])
