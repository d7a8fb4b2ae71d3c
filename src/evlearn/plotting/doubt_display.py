"""Matrix of the mass that is sure of each cluster, or torn between pairs of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure, SubFigure
from matplotlib.text import Text

from evlearn.partition import CredalPartition
from evlearn.partition.estimators import fitted_partition
from evlearn.plotting import palette
from evlearn.plotting.axes import open_axes
from evlearn.plotting.names import shorten
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import EstimatorLike, FloatArray

_MAX_WITH_NUMBERS = 12  # clusters
_MAX_NAMES = 40
_MAX_SHORT_NAME = 3  # characters of a name without rotation
_MAX_UPRIGHT = 12  # upright names on an axis
_MIN_DARK = 0.55  # share of the color scale above which text is white


class DoubtDisplay:
    r"""Matrix of doubts: average mass of each cluster, and of pairs of clusters.

    A cell on the diagonal is the average mass of a single cluster. A cell of 2 clusters is the average mass of the
    sets that contain both; larger sets divide their mass equally among their pairs:

    .. math::

        D_{kk} = \frac{1}{n} \sum_i m_i(\{\omega_k\}), \qquad
        D_{kl} = \frac{1}{n} \sum_i \sum_{A \ni \omega_k, \omega_l} \frac{m_i(A)}{\binom{|A|}{2}}.

    The drawn cells and the average mass of the empty set sum to 1. All cells have the same color scale.

    Create it with `from_estimator` or `from_partition`; the constructor expects computed values.

    Parameters
    ----------
    doubts : ndarray of shape (n_clusters, n_clusters)
        Symmetric matrix of doubts.
    empty_mass : float
        Average mass of the empty set.
    n_outliers : int
        Number of samples with at least half of their mass on the empty set.
    n_samples : int
        Number of samples.
    cluster_names : sequence of str
        Names of the clusters.

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

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn import CredalPartition
    >>> from evlearn.plotting import DoubtDisplay
    >>> partition = CredalPartition.from_rough([[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 0, 0]])
    >>> display = DoubtDisplay.from_partition(partition)
    >>> display.doubts.round(3)
    array([[0.25 , 0.333, 0.083],
           [0.333, 0.   , 0.083],
           [0.083, 0.083, 0.   ]])
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        doubts: FloatArray,
        empty_mass: float,
        n_outliers: int,
        n_samples: int,
        cluster_names: Sequence[str],
    ) -> None:
        self.doubts = doubts
        self.empty_mass = empty_mass
        self.n_outliers = n_outliers
        self.n_samples = n_samples
        self.cluster_names = cluster_names

    @classmethod
    def from_estimator(
        cls, estimator: EstimatorLike, *, ax: Axes | None = None, numbers: bool | Literal["auto"] = "auto"
    ) -> DoubtDisplay:
        """Draw the doubts of a fitted estimator about its training data.

        Parameters
        ----------
        estimator : fitted evlearn estimator
            Estimator whose ``credal_partition_`` is drawn. For new samples, use
            ``from_partition(estimator.predict_mass(X))``.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        numbers : bool or "auto", default="auto"
            Whether to write percentages into the cells; "auto" writes those of up to 12 clusters.

        Returns
        -------
        DoubtDisplay
            The drawn display.
        """
        return cls.from_partition(fitted_partition(estimator), ax=ax, numbers=numbers)

    @classmethod
    def from_partition(
        cls, partition: CredalPartition, *, ax: Axes | None = None, numbers: bool | Literal["auto"] = "auto"
    ) -> DoubtDisplay:
        """Draw the doubts in a credal partition.

        Parameters
        ----------
        partition : CredalPartition
            Partition to draw.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        numbers : bool or "auto", default="auto"
            Whether to write percentages into the cells; "auto" writes those of up to 12 clusters.

        Returns
        -------
        DoubtDisplay
            The drawn display.
        """
        means = np.zeros(len(partition.focal_sets))
        for block in row_blocks(partition.n_samples):
            means += partition.masses[block].sum(axis=0, dtype=np.float64)
        means /= partition.n_samples
        display = cls(
            doubts=_doubts(means, partition),
            empty_mass=float(means[0]),
            n_outliers=int(partition.outliers().sum()),
            n_samples=partition.n_samples,
            cluster_names=partition.cluster_names,
        )
        return display.plot(ax, numbers=numbers)

    def plot(self, ax: Axes | None = None, *, numbers: bool | Literal["auto"] = "auto") -> DoubtDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        numbers : bool or "auto", default="auto"
            Whether to write percentages into the cells, see `from_partition`.

        Returns
        -------
        DoubtDisplay
            This display.
        """
        if not isinstance(numbers, (bool, np.bool_)) and numbers != "auto":
            raise ValueError(f"numbers must be True, False or 'auto', got {numbers!r}.")
        self.ax_: Axes
        self.figure_: Figure | SubFigure
        self.ax_, self.figure_ = open_axes(ax)
        n_clusters = len(self.cluster_names)
        self.cells_: QuadMesh = self._draw_cells()
        self.colorbar_: Colorbar = self._draw_scale()
        has_numbers = n_clusters <= _MAX_WITH_NUMBERS if numbers == "auto" else bool(numbers)
        self.texts_: list[Text] = self._write_numbers() if has_numbers else []
        self._set_frame()
        return self

    def _draw_cells(self) -> QuadMesh:
        percents = np.ma.masked_where(~np.tri(len(self.doubts), dtype=bool), 100 * self.doubts)
        largest = float(percents.max()) or 1.0
        return self.ax_.pcolormesh(percents, cmap="Blues", vmin=0, vmax=largest, edgecolors="white", linewidth=0.5)

    def _draw_scale(self) -> Colorbar:
        bar = self.figure_.colorbar(self.cells_, ax=self.ax_, label="average mass, %", shrink=0.8)
        bar.outline.set_visible(False)
        return bar

    def _write_numbers(self) -> list[Text]:
        size = "medium" if len(self.cluster_names) <= 6 else "x-small"
        return [
            self._write_number(row, column, size)
            for row in range(len(self.cluster_names))
            for column in range(row + 1)
            if round(100 * float(self.doubts[row, column]), 1) > 0
        ]

    def _write_number(self, row: int, column: int, size: str) -> Text:
        percent = 100 * float(self.doubts[row, column])
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
