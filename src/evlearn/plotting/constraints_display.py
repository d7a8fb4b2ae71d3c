"""Constraints between samples, drawn on the data."""

from __future__ import annotations

from collections.abc import Sequence
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
from evlearn.plotting.axes import open_axes
from evlearn.plotting.legends import draw_legend, key
from evlearn.plotting.names import on_axis
from evlearn.plotting.plane import place
from evlearn.plotting.sampling import sample, share_out
from evlearn.utils.typing import FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_integer

_SOLID, _DASHED = "-", (0, (4, 2))
_VIOLATED_COLOR = "#CC3311"
#: How each kind of constraint is drawn.
_STYLES: dict[str, dict[str, Any]] = {
    "must-link": {"color": "0.25", "linestyle": _SOLID, "linewidth": 0.9},
    "cannot-link": {"color": "0.25", "linestyle": _DASHED, "linewidth": 0.9},
    "must-link, violated": {"color": _VIOLATED_COLOR, "linestyle": _SOLID, "linewidth": 1.9},
    "cannot-link, violated": {"color": _VIOLATED_COLOR, "linestyle": _DASHED, "linewidth": 1.9},
}
_CROWD = 2000  # samples


class ConstraintsDisplay:
    """Constraints on the data: must-links are solid lines and cannot-links dashed ones, between two samples.

    Where labels are given, the constraints that they violate are thick and red.

    Make it with `from_constraints`; the constructor expects what that computes. For the clusters in the same
    picture, draw a `CredalPartitionDisplay` first and the constraints on its axes.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2)
        Where the samples lie.
    pairs : dict of str to ndarray of int of shape (n_pairs, 2)
        The samples of the constraints, by kind: "must-link", "cannot-link", "must-link, violated" and
        "cannot-link, violated".
    axis_labels : sequence of two str
        What to write on the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the picture is drawn.
    figure_ : matplotlib Figure
        The figure around it.
    lines_ : dict of str to matplotlib LineCollection
        The lines of each kind of constraint that there is.
    points_ : matplotlib PathCollection or None
        The samples, if the display made the axes itself.
    legend_ : matplotlib Legend or None
        The legend.

    See Also
    --------
    evlearn.constraints.PairwiseConstraints.violations : Which constraints labels do not respect.

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

    def __init__(self, *, points: FloatArray, pairs: dict[str, IntArray], axis_labels: Sequence[str]) -> None:
        self.points = points
        self.pairs = pairs
        self.axis_labels = axis_labels

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
        """The picture of constraints.

        Parameters
        ----------
        constraints : PairwiseConstraints
            The constraints.
        X : array-like or data frame of shape (n_samples, n_features)
            The features of the samples.
        labels : CredalPartition or array-like of shape (n_samples,), default=None
            The cluster of each sample, which tells the constraints that are violated. Of a partition, the most
            plausible clusters count.
        features : sequence of two int or str, default=None
            The features to show, by number or column name. None means the two that there are or, where there
            are more, the first two principal components of `X`, as in `CredalPartitionDisplay`.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure, with the samples as grey points; on given axes there are only
            lines, and the entries of their legend are kept.
        max_lines : int, default=500
            The largest number of constraints to draw; of more, a random subset, and the legend says of how many.
        random_state : int, RandomState instance or None, default=0
            The seed of that sample.
        legend : bool, default=True
            Whether to explain the lines.

        Returns
        -------
        ConstraintsDisplay
            The picture, drawn.
        """
        if not isinstance(constraints, PairwiseConstraints):
            raise ValueError(
                f"constraints must be PairwiseConstraints, got {type(constraints).__name__}; "
                "make them with PairwiseConstraints(must_link, cannot_link)."
            )
        n_samples = X.shape[0] if hasattr(X, "shape") and len(X.shape) else np.shape(X)[0]
        points, axis_labels = place(X, features, n_samples)
        constraints.check_samples(n_samples)
        display = cls(points=points, pairs=_kinds(constraints, labels, n_samples), axis_labels=axis_labels)
        return display.plot(ax, max_lines=max_lines, random_state=random_state, legend=legend)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        max_lines: int = 500,
        random_state: RandomSeed = 0,
        legend: bool = True,
    ) -> ConstraintsDisplay:
        """Draw the picture, again or elsewhere.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw, see `from_constraints`.
        max_lines : int, default=500
            The largest number of constraints to draw.
        random_state : int, RandomState instance or None, default=0
            The seed of the sample.
        legend : bool, default=True
            Whether to explain the lines.

        Returns
        -------
        ConstraintsDisplay
            The display itself.
        """
        check_integer("max_lines", max_lines, 1)
        self.ax_: Axes
        self.figure_: Figure | SubFigure
        self.ax_, self.figure_ = open_axes(ax)
        self.points_: PathCollection | None = self._draw_samples() if ax is None else None
        drawn = self._choose(int(max_lines), check_random_state(random_state))
        self.lines_: dict[str, LineCollection] = {
            kind: self._draw_lines(kind, pairs) for kind, pairs in drawn.items() if len(pairs)
        }
        self.legend_: Legend | None = self._draw_legend() if legend else None
        return self

    def _draw_samples(self) -> PathCollection:
        self.ax_.set(xlabel=on_axis(self.axis_labels[0]), ylabel=on_axis(self.axis_labels[1]))
        area = float(np.clip(350 / np.sqrt(len(self.points)), 3, 30))
        return self.ax_.scatter(self.points[:, 0], self.points[:, 1], s=area, color="0.7", linewidths=0, zorder=1)

    def _choose(self, max_lines: int, random: np.random.RandomState) -> dict[str, IntArray]:
        shares = share_out(max_lines, [len(pairs) for pairs in self.pairs.values()])
        chosen = {}
        for (kind, pairs), share in zip(self.pairs.items(), shares, strict=True):
            numbers = np.arange(len(pairs))
            chosen[kind] = pairs[sample(numbers, int(share), np.zeros(len(pairs), dtype=np.intp), random)]
        return chosen

    def _draw_lines(self, kind: str, pairs: IntArray) -> LineCollection:
        style = _STYLES[kind]
        lines = LineCollection(
            list(self.points[pairs]),
            colors=style["color"],
            linestyles=style["linestyle"],
            linewidths=style["linewidth"],
            label=kind,
            # Over the samples, and violated ones over the others.
            zorder=4.2 if "violated" in kind else 4.1,
        )
        self.ax_.add_collection(lines)
        return lines

    def _draw_legend(self) -> Legend:
        before = self.ax_.get_legend()
        handles: list[Any] = [] if before is None else list(before.legend_handles)
        title = "" if before is None else before.get_title().get_text()
        for kind, lines in self.lines_.items():
            drawn, all_pairs = len(lines.get_segments()), len(self.pairs[kind])
            count = f"{all_pairs:,}" if drawn == all_pairs else f"{drawn:,} of {all_pairs:,}"
            handles.append(key(f"{kind}: {count}", **_STYLES[kind]))
        return draw_legend(self.ax_, handles, title, crowded=len(self.points) > _CROWD)


def _kinds(
    constraints: PairwiseConstraints, labels: CredalPartition | npt.ArrayLike | None, n_samples: int
) -> dict[str, IntArray]:
    if labels is None:
        return {"must-link": constraints.must_link, "cannot-link": constraints.cannot_link}
    given = labels.to_hard() if isinstance(labels, CredalPartition) else np.asarray(labels)
    if given.shape != (n_samples,):
        raise ValueError(f"labels must have one label for each of the {n_samples} rows of X, got {given.shape}.")
    violated = constraints.violations(given)
    return {
        "must-link": _without(constraints.must_link, violated.must_link),
        "cannot-link": _without(constraints.cannot_link, violated.cannot_link),
        "must-link, violated": violated.must_link,
        "cannot-link, violated": violated.cannot_link,
    }


def _without(pairs: IntArray, others: IntArray) -> IntArray:
    left_out = set(map(tuple, others.tolist()))
    kept = [tuple(pair) not in left_out for pair in pairs.tolist()]
    return np.asarray(pairs[np.array(kept, dtype=bool)])
