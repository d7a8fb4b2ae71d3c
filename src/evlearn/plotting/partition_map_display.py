"""Which partitions resemble each other: a map on which near ones say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure, SubFigure
from matplotlib.text import Annotation

from evlearn.metrics import PartitionComparison, compare_partitions
from evlearn.plotting.axes import open_axes
from evlearn.plotting.point_names import write_names
from evlearn.utils.typing import FloatArray, RandomSeed

_COLOR = "#0072B2"


class PartitionMapDisplay:
    """A map of partitions: the nearer two of them, the more alike is what they say about pairs of samples.

    Distances are nearly one minus the credal Rand index, by multidimensional scaling. The axes have no meaning of
    their own. The more a partition leaves open, the darker its point.

    Make it with `from_partitions` or `from_comparison`.

    Parameters
    ----------
    names : sequence of str
        The names of the partitions.
    places : ndarray of shape (n_partitions, 2)
        Where they are.
    nonspecificities : ndarray of shape (n_partitions,)
        How much each leaves open.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the picture is drawn.
    figure_ : matplotlib Figure
        The figure around it.
    points_ : matplotlib PathCollection
        The partitions.
    labels_ : list of matplotlib Annotation
        Their names.

    See Also
    --------
    evlearn.metrics.compare_partitions : The numbers behind it.

    References
    ----------
    Denœux et al. (2018).

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn.plotting import PartitionMapDisplay
    >>> partitions = {
    ...     "one": [0, 0, 1, 1],
    ...     "renumbered": [1, 1, 0, 0],
    ...     "other": [0, 1, 0, 1],
    ... }
    >>> display = PartitionMapDisplay.from_partitions(partitions)
    >>> bool(abs(display.places[0] - display.places[1]).max() < 1e-6)
    True
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, names: Sequence[str], places: FloatArray, nonspecificities: FloatArray) -> None:
        self.names = names
        self.places = places
        self.nonspecificities = nonspecificities

    @classmethod
    def from_partitions(
        cls,
        partitions: Mapping[str, Any],
        *,
        distance: Literal["jousselme", "belief"] = "jousselme",
        n_pairs: int | None = None,
        random_state: RandomSeed = None,
        ax: Axes | None = None,
    ) -> PartitionMapDisplay:
        """The map of given partitions.

        Parameters
        ----------
        partitions : dict of str to CredalPartition or array-like
            The partitions by name, of the same samples: credal ones, labels, or probabilities.
        distance : {"jousselme", "belief"}, default="jousselme"
            The distance behind the credal Rand index.
        n_pairs : int or None, default=None
            How many pairs of samples to draw; see `evlearn.metrics.compare_partitions`.
        random_state : int, RandomState instance or None, default=None
            The seed, for results that can be repeated.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        PartitionMapDisplay
            The picture, drawn.
        """
        comparison = compare_partitions(partitions, distance=distance, n_pairs=n_pairs, random_state=random_state)
        return cls.from_comparison(comparison, ax=ax)

    @classmethod
    def from_comparison(cls, comparison: PartitionComparison, *, ax: Axes | None = None) -> PartitionMapDisplay:
        """The map of partitions that have been compared.

        Parameters
        ----------
        comparison : PartitionComparison
            What `evlearn.metrics.compare_partitions` gave.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        PartitionMapDisplay
            The picture, drawn.
        """
        display = cls(names=comparison.names, places=comparison.map(), nonspecificities=comparison.nonspecificity)
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> PartitionMapDisplay:
        """Draw the picture, again or elsewhere.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        PartitionMapDisplay
            The display itself.
        """
        self.ax_: Axes
        self.figure_: Figure | SubFigure
        self.ax_, self.figure_ = open_axes(ax)
        shades = 0.85 * (1 - self.nonspecificities / max(float(self.nonspecificities.max()), 1e-12))
        x, y = self.places.T
        colors = [_shade(shade) for shade in shades]
        self.points_: PathCollection = self.ax_.scatter(
            x, y, s=50, c=colors, edgecolors=_COLOR, linewidths=1.2, zorder=2
        )
        self._set_frame()
        if isinstance(self.figure_, Figure):
            self.figure_.draw_without_rendering()  # names come after the layout
        self.labels_: list[Annotation] = write_names(self.ax_, self.places, self.names)
        return self

    def _set_frame(self) -> None:
        low, high = self.places.min(axis=0), self.places.max(axis=0)
        # At least a hundredth, so that rounding does not fill the picture when all partitions are the same.
        middle, reach = (low + high) / 2, max(float((high - low).max()) / 2, 0.01) * 1.4
        self.ax_.set(
            xlim=(middle[0] - reach, middle[0] + reach),
            ylim=(middle[1] - reach, middle[1] + reach),
            aspect="equal",
            xlabel="distance: 1 - credal Rand index",
            title="Near: alike. Dark: leaves much open.",
        )


def _shade(lightness: float) -> tuple[float, float, float]:
    """The colour of points, mixed with white."""
    base = np.array([0.0, 0x72 / 255, 0xB2 / 255])
    red, green, blue = base + (1 - base) * lightness
    return float(red), float(green), float(blue)


__all__ = ["PartitionMapDisplay"]
