"""Shepard diagram: degrees of conflict against dissimilarities."""

from __future__ import annotations

import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from evlearn.partition.estimators import split_pipeline
from evlearn.plotting.axes import open_axes
from evlearn.plotting.pair_cloud import draw_pairs, read_pairs, root_mean_squared_difference
from evlearn.utils.typing import EstimatorLike, FloatArray


class ShepardDisplay:
    """Shepard diagram of a credal partition: degrees of conflict of pairs against their dissimilarities.

    Methods that learn from dissimilarities fit degrees of conflict to them. Points close to the diagonal show a
    good fit; see Figure 3 of Denœux (2021).

    Create it with `from_estimator` or `from_pairs`.

    Parameters
    ----------
    dissimilarities : ndarray of shape (n_pairs,)
        Dissimilarity of each pair, transformed to the scale of conflicts.
    conflicts : ndarray of shape (n_pairs,)
        Degree of conflict of each pair.
    root_mean_squared_difference : float
        Root mean squared difference between both.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    points_ : matplotlib PathCollection or None
        The pairs, if there are few.
    density_ : matplotlib QuadMesh or None
        Number of pairs per cell, if there are many.
    colorbar_ : matplotlib Colorbar or None
        Color scale of the density.
    diagonal_ : matplotlib Line2D
        Line of equal values.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn.plotting import ShepardDisplay
    >>> display = ShepardDisplay.from_pairs([0.1, 0.5, 0.9], [0.0, 0.5, 1.0])
    >>> display.ax_.get_title()
    'Shepard diagram (root mean squared difference 0.0816)'
    >>> plt.close(display.figure_)
    """

    def __init__(
        self, *, dissimilarities: FloatArray, conflicts: FloatArray, root_mean_squared_difference: float
    ) -> None:
        self.dissimilarities = dissimilarities
        self.conflicts = conflicts
        self.root_mean_squared_difference = root_mean_squared_difference

    @classmethod
    def from_estimator(
        cls, estimator: EstimatorLike, *, ax: Axes | None = None, max_points: int = 5000
    ) -> ShepardDisplay:
        """Draw the Shepard diagram of a fitted estimator that learns from dissimilarities.

        Parameters
        ----------
        estimator : fitted estimator
            Estimator with the attributes ``transformed_dissimilarities_`` and ``conflict_`` of its pairs.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        max_points : int, default=5000
            Maximum number of pairs drawn as points; of more pairs, the density is drawn.

        Returns
        -------
        ShepardDisplay
            The drawn display.
        """
        fitted = split_pipeline(estimator)[1]
        missing = [name for name in ("transformed_dissimilarities_", "conflict_") if not hasattr(fitted, name)]
        if missing:
            raise ValueError(
                f"estimator must be fitted and have {' and '.join(missing)}, got {fitted!r}; call its fit "
                "first, or use from_pairs if it does not learn from dissimilarities."
            )
        return cls.from_pairs(fitted.transformed_dissimilarities_, fitted.conflict_, ax=ax, max_points=max_points)

    @classmethod
    def from_pairs(
        cls,
        dissimilarities: npt.ArrayLike,
        conflicts: npt.ArrayLike,
        *,
        ax: Axes | None = None,
        max_points: int = 5000,
    ) -> ShepardDisplay:
        """Draw the Shepard diagram of given pairs.

        Parameters
        ----------
        dissimilarities : array-like of shape (n_pairs,)
            Dissimilarity of each pair, transformed to the scale of conflicts, from 0 to 1.
        conflicts : array-like of shape (n_pairs,)
            Degree of conflict of each pair.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        max_points : int, default=5000
            Maximum number of pairs drawn as points; of more pairs, the density is drawn.

        Returns
        -------
        ShepardDisplay
            The drawn display.
        """
        first, second = read_pairs(dissimilarities, "dissimilarities"), read_pairs(conflicts, "conflicts")
        if len(first) != len(second):
            raise ValueError(
                f"dissimilarities has {len(first)} pairs and conflicts has {len(second)}; use the same pairs."
            )
        display = cls(
            dissimilarities=first,
            conflicts=second,
            root_mean_squared_difference=root_mean_squared_difference(first, second),
        )
        return display.plot(ax, max_points=max_points)

    def plot(self, ax: Axes | None = None, *, max_points: int = 5000) -> ShepardDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        max_points : int, default=5000
            Maximum number of pairs drawn as points; of more pairs, the density is drawn.

        Returns
        -------
        ShepardDisplay
            This display.
        """
        self.ax_: Axes
        self.figure_: Figure | SubFigure
        self.ax_, self.figure_ = open_axes(ax)
        cloud = draw_pairs(self.ax_, self.dissimilarities, self.conflicts, max_points)
        self.points_: PathCollection | None = cloud.points
        self.density_: QuadMesh | None = cloud.density
        self.colorbar_: Colorbar | None = cloud.colorbar
        self.diagonal_: Line2D = cloud.diagonal
        self.ax_.set(
            xlabel="transformed dissimilarity",
            ylabel="degree of conflict",
            title=f"Shepard diagram (root mean squared difference {self.root_mean_squared_difference:.3g})",
        )
        return self
