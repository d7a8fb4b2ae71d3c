"""Plots of doubt: a matrix of the mass that pairs of clusters share, or samples by the source of their doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure, SubFigure
from matplotlib.text import Text

from evlearn.conformal import DoubtSources
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import partition_for
from evlearn.plotting import palette
from evlearn.plotting.axes import open_axes, shorten
from evlearn.plotting.plane import coordinates
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import DataLike, EstimatorLike, FloatArray

_MAX_WITH_NUMBERS = 12  # clusters
_MAX_NAMES = 40
_MAX_SHORT_NAME = 3  # characters of a name without rotation
_MAX_UPRIGHT = 12  # upright names on an axis
_MIN_DARK = 0.55  # share of the color scale above which text is white
#: Color, marker and size of samples by source of doubt; sure samples are in the background.
_KIND_STYLES: dict[str, tuple[str, str, float]] = {
    "sure": ("#C8C8C8", "o", 8),
    "overlap": ("#0072B2", "o", 16),
    "replication": ("#E69F00", "o", 16),
    "outlier": ("#D55E00", "X", 40),
}


@dataclass(kw_only=True, repr=False, eq=False)
class DoubtDisplay:
    r"""Plot of doubt: between which clusters, or in which samples.

    The matrix shows the average mass of each cluster, and of pairs of clusters. A cell on the diagonal is the
    average mass of a single cluster. A cell of 2 clusters is the average mass of the sets that contain both;
    larger sets divide their mass equally among their pairs:

    .. math::

        D_{kk} = \frac{1}{n} \sum_i m_i(\{\omega_k\}), \qquad
        D_{kl} = \frac{1}{n} \sum_i \sum_{A \ni \omega_k, \omega_l} \frac{m_i(A)}{\binom{|A|}{2}}.

    The drawn cells and the average mass of the empty set sum to 1. All cells have the same color scale.

    For `evlearn.conformal.ConformalClusterer`, the plot of samples shows the source of their doubt: sure, overlap,
    replication or outlier.

    Create it with `from_result` or `from_sources`; the constructor expects computed values, those of the matrix or
    those of the samples.

    Parameters
    ----------
    doubts : ndarray of shape (n_clusters, n_clusters), default=None
        Symmetric matrix of doubts.
    empty_mass : float, default=0.0
        Average mass of the empty set.
    n_outliers : int, default=0
        Number of samples with at least half of their mass on the empty set.
    n_samples : int, default=0
        Number of samples.
    cluster_names : sequence of str, default=()
        Names of the clusters.
    kinds : ndarray of str of shape (n_samples,), default=None
        Source of doubt of each sample: "sure", "overlap", "replication" or "outlier".
    points : ndarray of shape (n_samples, 2), default=None
        Coordinates of the samples.
    axis_labels : tuple of 2 str, default=("", "")
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    cells_ : matplotlib QuadMesh
        Cells on and below the diagonal, in percent.
    texts_ : list of matplotlib Text
        Numbers in the cells, row by row, except those that round to 0.0.
    colorbar_ : matplotlib Colorbar
        Color scale of the matrix.
    points_ : dict from str to matplotlib PathCollection
        Samples of each kind that occurs, instead of a matrix.

    See Also
    --------
    evlearn.conformal.DoubtSources : Definition of the sources.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn import CredalPartition
    >>> from evlearn.plotting import DoubtDisplay
    >>> partition = CredalPartition.from_rough([[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 0, 0]])
    >>> display = DoubtDisplay.from_result(partition)
    >>> display.doubts.round(3)
    array([[0.25 , 0.333, 0.083],
           [0.333, 0.   , 0.083],
           [0.083, 0.083, 0.   ]])
    >>> plt.close(display.figure_)
    """

    doubts: FloatArray | None = None
    empty_mass: float = 0.0
    n_outliers: int = 0
    n_samples: int = 0
    cluster_names: Sequence[str] = ()
    kinds: npt.ArrayLike | None = None
    points: FloatArray | None = None
    axis_labels: tuple[str, str] = ("", "")

    @classmethod
    def from_result(
        cls,
        result: CredalPartition | EstimatorLike,
        X: DataLike | None = None,
        *,
        ax: Axes | None = None,
        numbers: bool | Literal["auto"] = "auto",
    ) -> DoubtDisplay:
        """Draw the matrix of a partition or of a fitted estimator.

        Parameters
        ----------
        result : CredalPartition or fitted estimator
            Partition to draw, or an estimator or pipeline.
        X : array-like or data frame, default=None
            Samples to predict, in the form that the estimator accepts. None draws its training samples.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        numbers : bool or "auto", default="auto"
            Whether to write percentages into the cells; "auto" writes those of up to 12 clusters.

        Returns
        -------
        DoubtDisplay
            The drawn display.
        """
        partition = partition_for(result, X)
        means = np.zeros(len(partition.focal_sets))
        for block in row_blocks(partition.n_samples):
            means += partition.mass_table[block].sum(axis=0, dtype=np.float64)
        means /= partition.n_samples
        display = cls(
            doubts=_doubts(means, partition),
            empty_mass=float(means[0]),
            n_outliers=int(partition.outliers().sum()),
            n_samples=partition.n_samples,
            cluster_names=partition.cluster_names,
        )
        return display.plot(ax, numbers=numbers)

    @classmethod
    def from_sources(
        cls,
        estimator: EstimatorLike,
        X: npt.ArrayLike,
        *,
        features: Sequence[int | str] | None = None,
        ax: Axes | None = None,
    ) -> DoubtDisplay:
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
        DoubtDisplay
            The drawn display.
        """
        doubt = getattr(estimator, "doubt_", None)
        if not isinstance(doubt, DoubtSources):
            raise ValueError(f"estimator must be a fitted ConformalClusterer, got {estimator!r}.")
        points, axis_labels = coordinates(X, features, len(doubt.sets))
        return cls(kinds=doubt.kinds, points=points, axis_labels=axis_labels).plot(ax)

    def plot(self, ax: Axes | None = None, *, numbers: bool | Literal["auto"] = "auto") -> DoubtDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        numbers : bool or "auto", default="auto"
            Whether to write percentages into the cells of a matrix, see `from_result`.

        Returns
        -------
        DoubtDisplay
            This display.
        """
        if not isinstance(numbers, (bool, np.bool_)) and numbers != "auto":
            raise ValueError(f"numbers must be True, False or 'auto', got {numbers!r}.")
        self.ax_: Axes = open_axes(ax)
        self.figure_: Figure | SubFigure = self.ax_.figure
        if self.doubts is not None:
            has_numbers = len(self.doubts) <= _MAX_WITH_NUMBERS if numbers == "auto" else bool(numbers)
            self._draw_matrix(self.doubts, has_numbers)
        elif self.points is not None:
            self._draw_samples(self.points)
        return self

    def _draw_samples(self, points: FloatArray) -> None:
        self.points_: dict[str, PathCollection] = {}
        for kind, (color, marker, size) in _KIND_STYLES.items():
            selected = np.asarray(self.kinds) == kind
            if selected.any():
                label = f"{kind}: {selected.sum():,}"
                self.points_[kind] = self.ax_.scatter(
                    points[selected, 0],
                    points[selected, 1],
                    s=size,
                    color=color,
                    marker=marker,
                    linewidths=0,
                    label=label,
                )
        self.ax_.set(xlabel=self.axis_labels[0], ylabel=self.axis_labels[1])
        self.ax_.legend(frameon=False, fontsize="small")

    def _draw_matrix(self, doubts: FloatArray, has_numbers: bool) -> None:
        percents = np.ma.masked_where(~np.tri(len(doubts), dtype=bool), 100 * doubts)
        largest = float(percents.max()) or 1.0
        self.cells_: QuadMesh = self.ax_.pcolormesh(
            percents, cmap="Blues", vmin=0, vmax=largest, edgecolors="white", linewidth=0.5
        )
        self.colorbar_: Colorbar = self._draw_scale()
        self.texts_: list[Text] = self._write_numbers(100 * doubts) if has_numbers else []
        self._set_frame()

    def _draw_scale(self) -> Colorbar:
        bar = self.figure_.colorbar(self.cells_, ax=self.ax_, label="average mass, %", shrink=0.8)
        bar.outline.set_visible(False)
        return bar

    def _write_numbers(self, percents: FloatArray) -> list[Text]:
        size = "medium" if len(self.cluster_names) <= 6 else "x-small"
        return [
            self._write_number(row, column, float(percents[row, column]), size)
            for row in range(len(self.cluster_names))
            for column in range(row + 1)
            if round(float(percents[row, column]), 1) > 0
        ]

    def _write_number(self, row: int, column: int, percent: float, size: str) -> Text:
        dark = percent > _MIN_DARK * self.cells_.get_clim()[1]
        return self.ax_.text(
            column + 0.5,
            row + 0.5,
            f"{percent:.1f} %" if size == "medium" else f"{percent:.1f}",
            ha="center",
            va="center",
            fontsize=size,
            color="white" if dark else "black",
        )

    def _set_frame(self) -> None:
        names = [shorten(name) for name in self.cluster_names]
        step = -(-len(names) // _MAX_NAMES)
        ticks = np.arange(0, len(names), step)
        size = "medium" if len(names) <= _MAX_WITH_NUMBERS else "x-small"
        is_long = max(len(name) for name in names) > _MAX_SHORT_NAME
        rotation: dict[str, Any] = {}
        if is_long:
            rotation = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
        elif len(ticks) > _MAX_UPRIGHT:
            rotation = {"rotation": 90}
        self.ax_.set_xticks(ticks + 0.5, [names[tick] for tick in ticks], fontsize=size, **rotation)
        self.ax_.set_yticks(ticks + 0.5, [names[tick] for tick in ticks], fontsize=size)
        for labels in (self.ax_.get_xticklabels(), self.ax_.get_yticklabels()):
            for cluster, label in zip(ticks, labels, strict=True):
                label.set_color(palette.cluster_shade(int(cluster)))
        self.ax_.tick_params(length=0)
        self.ax_.spines[:].set_visible(False)
        self.ax_.invert_yaxis()
        self.ax_.set(aspect="equal", xlabel="cluster", ylabel="cluster")
        outliers = f"{self.n_outliers:,} of {self.n_samples:,} samples" if self.n_outliers else "none"
        self.ax_.set_title(
            f"Diagonal: sure of a cluster. Below: torn between 2 clusters.\n"
            f"No cluster (∅): {100 * self.empty_mass:.1f} %; outliers: {outliers}",
            fontsize="medium",
        )


def _doubts(means: FloatArray, partition: CredalPartition) -> FloatArray:
    """Return the matrix, given the average mass of each focal set."""
    sizes = partition.focal_sets.sizes
    members = partition.focal_sets.membership.astype(np.float64)
    n_pairs = np.maximum(sizes * (sizes - 1) / 2, 1)
    weights = np.where(sizes > 1, means / n_pairs, 0.0)
    doubts = members.T @ (weights[:, np.newaxis] * members)
    positions = partition.focal_sets.singleton_positions
    np.fill_diagonal(doubts, np.where(positions >= 0, means[positions], 0.0))
    return np.asarray(doubts)
