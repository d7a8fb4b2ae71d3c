"""Where doubt comes from: samples in the plane, coloured by the kind of doubt about them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike

from evlearn.conformal import KindsOfDoubt
from evlearn.plotting.axes import open_axes
from evlearn.plotting.plane import place
from evlearn.utils.typing import EstimatorLike, FloatArray

#: Colour, mark and size; sure samples are the background.
_LOOKS: dict[str, tuple[str, str, float]] = {
    "sure": ("#C8C8C8", "o", 8),
    "overlap": ("#0072B2", "o", 16),
    "replication": ("#E69F00", "o", 16),
    "outlier": ("#D55E00", "X", 40),
}


class KindsOfDoubtDisplay:
    """Samples in the plane: which are sure, and where the doubt about the others comes from.

    Make it with `from_estimator`; the constructor expects what it computes.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2)
        Where the samples are.
    kinds : ndarray of str of shape (n_samples,)
        The kind of doubt about each: "sure", "overlap", "replication" or "outlier".
    axis_labels : tuple of two str
        Names for the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the picture is drawn.
    figure_ : matplotlib Figure
        The figure around it.
    points_ : dict from str to matplotlib PathCollection
        The samples of each kind that occurs.

    See Also
    --------
    evlearn.conformal.KindsOfDoubt : The numbers behind it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from evlearn.conformal import ConformalClusterer
    >>> from evlearn.plotting import KindsOfDoubtDisplay
    >>> X = load_iris().data
    >>> model = ConformalClusterer(KMeans(3), n_replications=2, random_state=0).fit(X)
    >>> display = KindsOfDoubtDisplay.from_estimator(model, X)
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
    ) -> KindsOfDoubtDisplay:
        """The kinds of doubt of a fitted `evlearn.conformal.ConformalClusterer`.

        Parameters
        ----------
        estimator : fitted ConformalClusterer
            Its ``doubt_`` is drawn.
        X : array-like of shape (n_samples, n_features)
            The samples that it was fitted to.
        features : sequence of two int or str, default=None
            The features to draw; None means the first two of two, and else two principal components.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        KindsOfDoubtDisplay
            The picture, drawn.
        """
        doubt = getattr(estimator, "doubt_", None)
        if not isinstance(doubt, KindsOfDoubt):
            raise ValueError(f"estimator must be a fitted ConformalClusterer, got {estimator!r}.")
        points, axis_labels = place(X, features, len(doubt.sets))
        return cls(points=points, kinds=doubt.kinds, axis_labels=axis_labels).plot(ax)

    def plot(self, ax: Axes | None = None) -> KindsOfDoubtDisplay:
        """Draw the picture, again or elsewhere.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        KindsOfDoubtDisplay
            The display itself.
        """
        self.ax_: Axes
        self.figure_: Figure | SubFigure
        self.ax_, self.figure_ = open_axes(ax)
        self.points_: dict[str, PathCollection] = {}
        for kind, (color, marker, size) in _LOOKS.items():
            chosen = np.asarray(self.kinds) == kind
            if chosen.any():
                self.points_[kind] = self.ax_.scatter(
                    self.points[chosen, 0],
                    self.points[chosen, 1],
                    s=size,
                    color=color,
                    marker=marker,
                    linewidths=0,
                    label=f"{kind}: {chosen.sum():,}",
                )
        self.ax_.set(xlabel=self.axis_labels[0], ylabel=self.axis_labels[1])
        self.ax_.legend(frameon=False, fontsize="small")
        return self


__all__ = ["KindsOfDoubtDisplay"]
