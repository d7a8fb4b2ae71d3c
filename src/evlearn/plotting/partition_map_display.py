"""Map of partitions, on which similar ones are close to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure, SubFigure
from matplotlib.text import Annotation

from evlearn.metrics import compare_partitions
from evlearn.metrics.comparison import PartitionComparison
from evlearn.plotting.axes import open_axes
from evlearn.plotting.point_names import write_names
from evlearn.utils.typing import FloatArray, RandomSeed

_COLOR = "#0072B2"


class PartitionMapDisplay:
    """Map of partitions, on which close partitions agree on pairs of samples.

    Distances approximate 1 minus the credal Rand index, by multidimensional scaling. The directions of the axes
    have no meaning. Darker points are more nonspecific partitions.

    Create it with `from_partitions` or `from_comparison`.

    Parameters
    ----------
    names : sequence of str
        Names of the partitions.
    places : ndarray of shape (n_partitions, 2)
        Coordinates of the partitions.
    nonspecificities : ndarray of shape (n_partitions,)
        Nonspecificity of each partition.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    points_ : matplotlib PathCollection
        Points of the partitions.
    labels_ : list of matplotlib Annotation
        Names of the partitions.

    See Also
    --------
    evlearn.metrics.compare_partitions : Comparison of the partitions.

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
        """Draw the map of partitions.

        Parameters
        ----------
        partitions : dict of str to CredalPartition or array-like
            Partitions of the same samples, by name: credal partitions, labels, or probabilities.
        distance : {"jousselme", "belief"}, default="jousselme"
            Distance of the credal Rand index.
        n_pairs : int or None, default=None
            Number of random pairs of samples; see `evlearn.metrics.compare_partitions`.
        random_state : int, RandomState instance or None, default=None
            Seed, for reproducible results.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        PartitionMapDisplay
            The drawn display.
        """
        comparison = compare_partitions(partitions, distance=distance, n_pairs=n_pairs, random_state=random_state)
        return cls.from_comparison(comparison, ax=ax)

    @classmethod
    def from_comparison(cls, comparison: PartitionComparison, *, ax: Axes | None = None) -> PartitionMapDisplay:
        """Draw the map of compared partitions.

        Parameters
        ----------
        comparison : PartitionComparison
            Result of `evlearn.metrics.compare_partitions`.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        PartitionMapDisplay
            The drawn display.
        """
        display = cls(names=comparison.names, places=comparison.map(), nonspecificities=comparison.nonspecificity)
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> PartitionMapDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        PartitionMapDisplay
            This display.
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
            self.figure_.draw_without_rendering()  # names are placed after the layout
        self.labels_: list[Annotation] = write_names(self.ax_, self.places, self.names)
        return self

    def _set_frame(self) -> None:
        low, high = self.places.min(axis=0), self.places.max(axis=0)
        # A minimum size hides rounding errors if all partitions are equal.
        middle, reach = (low + high) / 2, max(float((high - low).max()) / 2, 0.01) * 1.4
        self.ax_.set(
            xlim=(middle[0] - reach, middle[0] + reach),
            ylim=(middle[1] - reach, middle[1] + reach),
            aspect="equal",
            xlabel="distance: 1 - credal Rand index",
            title="Close: similar. Dark: nonspecific.",
        )


def _shade(lightness: float) -> tuple[float, float, float]:
    """Mix the color of points with white."""
    base = np.array([0.0, 0x72 / 255, 0xB2 / 255])
    red, green, blue = base + (1 - base) * lightness
    return float(red), float(green), float(blue)
