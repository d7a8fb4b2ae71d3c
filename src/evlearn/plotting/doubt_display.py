"""Which samples are torn between which clusters: a matrix with a row and a column for each cluster."""

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
from evlearn.plotting.names import shortened
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import EstimatorLike, FloatArray

_MOST_WITH_NUMBERS = 12  # clusters
_MOST_NAMES = 40
_SHORT = 3  # letters of a name that need not be turned
_UPRIGHT = 12  # names side by side
_DARK = 0.55  # the part of a colour scale from which on text is white


class DoubtDisplay:
    r"""The matrix of doubts: how much mass is sure of a cluster, and how much is torn between which clusters.

    The cell of one cluster, on the diagonal, is the average mass of being surely in it. The cell of two clusters
    is the average mass of the sets that hold both; larger sets share their mass equally among their pairs:

    .. math::

        D_{kk} = \frac{1}{n} \sum_i m_i(\{\omega_k\}), \qquad
        D_{kl} = \frac{1}{n} \sum_i \sum_{A \ni \omega_k, \omega_l} \frac{m_i(A)}{\binom{|A|}{2}}.

    The cells that are drawn and the average mass of the empty set add up to one. All cells have one colour scale.

    Make it with `from_estimator` or `from_partition`; the constructor expects what these compute.

    Parameters
    ----------
    doubts : ndarray of shape (n_clusters, n_clusters)
        The matrix, symmetric.
    empty_mass : float
        The average mass of the empty set.
    n_outliers : int
        How many samples have at least half of their mass on the empty set.
    n_samples : int
        How many samples there are.
    cluster_names : sequence of str
        The name of each cluster.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the picture is drawn.
    figure_ : matplotlib Figure
        The figure around it.
    cells_ : matplotlib QuadMesh
        The diagonal and the cells below it, in percent.
    texts_ : list of matplotlib Text
        The numbers in the cells, row by row, where they are written: those that are not 0.0.
    colorbar_ : matplotlib Colorbar
        The colour scale.

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
        """The doubts of a fitted estimator about the data it was fitted on.

        Parameters
        ----------
        estimator : fitted evlearn estimator
            Its ``credal_partition_`` is drawn. For new samples, use ``from_partition(estimator.predict_mass(X))``.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        numbers : bool or "auto", default="auto"
            Whether to write the numbers into the cells, in percent; "auto" does for up to 12 clusters.

        Returns
        -------
        DoubtDisplay
            The picture, drawn.
        """
        return cls.from_partition(fitted_partition(estimator), ax=ax, numbers=numbers)

    @classmethod
    def from_partition(
        cls, partition: CredalPartition, *, ax: Axes | None = None, numbers: bool | Literal["auto"] = "auto"
    ) -> DoubtDisplay:
        """The doubts in a credal partition.

        Parameters
        ----------
        partition : CredalPartition
            The partition.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        numbers : bool or "auto", default="auto"
            Whether to write the numbers into the cells, in percent; "auto" does for up to 12 clusters.

        Returns
        -------
        DoubtDisplay
            The picture, drawn.
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
        """Draw the picture, again or elsewhere.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        numbers : bool or "auto", default="auto"
            Whether to write the numbers into the cells, see `from_partition`.

        Returns
        -------
        DoubtDisplay
            The display itself.
        """
        if not isinstance(numbers, (bool, np.bool_)) and numbers != "auto":
            raise ValueError(f"numbers must be True, False or 'auto', got {numbers!r}.")
        self.ax_: Axes
        self.figure_: Figure | SubFigure
        self.ax_, self.figure_ = open_axes(ax)
        n_clusters = len(self.cluster_names)
        self.cells_: QuadMesh = self._draw_cells()
        self.colorbar_: Colorbar = self._draw_scale()
        written = n_clusters <= _MOST_WITH_NUMBERS if numbers == "auto" else bool(numbers)
        self.texts_: list[Text] = self._write_numbers() if written else []
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
        dark = percent > _DARK * self.cells_.get_clim()[1]
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
        names = [shortened(name) for name in self.cluster_names]
        step = -(-len(names) // _MOST_NAMES)
        ticks = np.arange(0, len(names), step)
        size = "medium" if len(names) <= _MOST_WITH_NUMBERS else "x-small"
        long = max(len(name) for name in names) > _SHORT
        turned: dict[str, Any] = {}
        if long:
            turned = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
        elif len(ticks) > _UPRIGHT:
            turned = {"rotation": 90}
        self.ax_.set_xticks(ticks + 0.5, [names[tick] for tick in ticks], fontsize=size, **turned)
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
            f"Diagonal: surely in a cluster. Below: torn between two.\n"
            f"In no cluster (∅): {100 * self.empty_mass:.1f} %; outliers: {outliers}",
            fontsize="medium",
        )


def _doubts(means: FloatArray, partition: CredalPartition) -> FloatArray:
    """The matrix, from the average mass of each focal set."""
    sizes = partition.focal_sets.sizes
    members = partition.focal_sets.membership.astype(np.float64)
    n_pairs = np.maximum(sizes * (sizes - 1) / 2, 1)
    weights = np.where(sizes > 1, means / n_pairs, 0.0)
    doubts = members.T @ (weights[:, np.newaxis] * members)
    positions = partition.focal_sets.singleton_positions
    np.fill_diagonal(doubts, np.where(positions >= 0, means[positions], 0.0))
    return np.asarray(doubts)
