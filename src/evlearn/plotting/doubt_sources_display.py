"""Plot of samples, colored by the source of their doubt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike

from evlearn.conformal import DoubtSources
from evlearn.plotting.axes import open_axes
from evlearn.plotting.plane import coordinates
from evlearn.utils.typing import EstimatorLike, FloatArray

#: Color, marker and size; sure samples are in the background.
_STYLES: dict[str, tuple[str, str, float]] = {
    "sure": ("#C8C8C8", "o", 8),
    "overlap": ("#0072B2", "o", 16),
    "replication": ("#E69F00", "o", 16),
    "outlier": ("#D55E00", "X", 40),
}


class DoubtSourcesDisplay:
    """Plot of samples by source of doubt: sure, overlap, replication or outlier.

    Create it with `from_estimator`; the constructor expects computed values.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2)
        Coordinates of the samples.
    kinds : ndarray of str of shape (n_samples,)
        Source of doubt of each sample: "sure", "overlap", "replication" or "outlier".
    axis_labels : tuple of 2 str
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    points_ : dict from str to matplotlib PathCollection
        Samples of each kind that occurs.

    See Also
    --------
    evlearn.conformal.DoubtSources : Definition of the sources.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from evlearn.conformal import ConformalClusterer
    >>> from evlearn.plotting import DoubtSourcesDisplay
    >>> X = load_iris().data
    >>> model = ConformalClusterer(KMeans(3), n_splits=2, random_state=0).fit(X)
    >>> display = DoubtSourcesDisplay.from_estimator(model, X)
    >>> display.kinds.shape
    (150,)
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, points: FloatArray, kinds: ArrayLike, axis_labels: tuple[str, str]) -> None:
        self.points = points
        self.kinds = kinds
        self.axis_labels = axis_labels

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        X: ArrayLike,
        *,
        features: Sequence[int | str] | None = None,
        ax: Axes | None = None,
    ) -> DoubtSourcesDisplay:
        """Draw the sources of doubt of a fitted `evlearn.conformal.ConformalClusterer`.

        Parameters
        ----------
        estimator : fitted ConformalClusterer
            Clusterer whose ``doubt_`` is drawn.
        X : array-like of shape (n_samples, n_features)
            Training samples.
        features : sequence of 2 int or str, default=None
            Features to draw; None uses both of 2 features, or the first 2 principal components of more.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        DoubtSourcesDisplay
            The drawn display.
        """
        doubt = getattr(estimator, "doubt_", None)
        if not isinstance(doubt, DoubtSources):
            raise ValueError(f"estimator must be a fitted ConformalClusterer, got {estimator!r}.")
        points, axis_labels = coordinates(X, features, len(doubt.sets))
        return cls(points=points, kinds=doubt.kinds, axis_labels=axis_labels).plot(ax)

    def plot(self, ax: Axes | None = None) -> DoubtSourcesDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        DoubtSourcesDisplay
            This display.
        """
        self.ax_: Axes
        self.figure_: Figure | SubFigure
        self.ax_, self.figure_ = open_axes(ax)
        self.points_: dict[str, PathCollection] = {}
        for kind, (color, marker, size) in _STYLES.items():
            selected = np.asarray(self.kinds) == kind
            if selected.any():
                self.points_[kind] = self.ax_.scatter(
                    self.points[selected, 0],
                    self.points[selected, 1],
                    s=size,
                    color=color,
                    marker=marker,
                    linewidths=0,
                    label=f"{kind}: {selected.sum():,}",
                )
        self.ax_.set(xlabel=self.axis_labels[0], ylabel=self.axis_labels[1])
        self.ax_.legend(frameon=False, fontsize="small")
        return self
