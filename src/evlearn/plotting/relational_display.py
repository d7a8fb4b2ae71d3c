"""Matrices of the relational representation of a credal partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure, SubFigure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from sklearn.utils import check_random_state

from evlearn.partition import CredalPartition
from evlearn.partition.estimators import partition_for
from evlearn.plotting.axes import open_panels, shorten
from evlearn.plotting.sampling import draw_subset
from evlearn.utils.typing import DataLike, EstimatorLike, FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_integer

_PARTS = ("plausibility", "belief")
_MAX_NAMES = 12  # named groups on the axes
_MIN_SHARE = 0.04  # of the samples in a named group


@dataclass(kw_only=True, repr=False, eq=False)
class RelationalDisplay:
    """Matrices of belief and plausibility that pairs of samples are in the same cluster.

    Each panel is a matrix with a row and a column for each sample. Samples are sorted by their most plausible
    cluster, then by their doubt, and outliers are last. Blocks on the diagonal are clusters; stripes are uncertain
    samples. Differences between belief and plausibility show ignorance about a pair. The diagonal compares a
    sample with an independent copy.

    Create it with `from_result`; the constructor expects computed values.

    Parameters
    ----------
    matrices : dict of str to ndarray of shape (n_drawn, n_drawn)
        Matrices by name, in the order of the drawn samples.
    order : ndarray of int of shape (n_drawn,)
        Positions of the drawn samples.
    group_sizes : ndarray of int of shape (n_groups,)
        Number of drawn samples in each non-empty group: clusters, then outliers.
    group_names : sequence of str
        Names of the groups.
    n_samples : int
        Number of all samples.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        Axes of the panels.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    images_ : list of matplotlib AxesImage
        Images of the matrices.
    borders_ : list of list of matplotlib Line2D
        Lines between groups, for each panel.
    colorbars_ : list of matplotlib Colorbar
        Color scales: one for belief and plausibility, one for dissimilarities.

    See Also
    --------
    evlearn.CredalPartition.relational : Belief and plausibility of pairs.
    evlearn.CredalPartition.doubt : Order of the samples within a cluster.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn import CredalPartition
    >>> from evlearn.plotting import RelationalDisplay
    >>> partition = CredalPartition.from_rough([[1, 0], [0, 1], [1, 1], [1, 0]])
    >>> display = RelationalDisplay.from_result(partition)
    >>> display.order.tolist()
    [0, 3, 2, 1]
    >>> display.matrices["plausibility"].astype(int)
    array([[1, 1, 1, 0],
           [1, 1, 1, 0],
           [1, 1, 1, 1],
           [0, 0, 1, 1]])
    >>> plt.close(display.figure_)
    """

    matrices: dict[str, FloatArray]
    order: IntArray
    group_sizes: IntArray
    group_names: Sequence[str]
    n_samples: int

    @classmethod
    def from_result(
        cls,
        result: CredalPartition | EstimatorLike,
        X: DataLike | None = None,
        *,
        parts: Sequence[str] = ("plausibility", "belief"),
        dissimilarities: npt.ArrayLike | None = None,
        ax: Axes | Sequence[Axes] | None = None,
        max_samples: int = 500,
        random_state: RandomSeed = 0,
    ) -> RelationalDisplay:
        """Draw the matrices of a partition or of a fitted estimator.

        Parameters
        ----------
        result : CredalPartition or fitted estimator
            Partition to draw, or an estimator or pipeline.
        X : array-like or data frame, default=None
            Samples to predict, in the form that the estimator accepts. None draws its training samples.
        parts : sequence of {"plausibility", "belief"}, default=("plausibility", "belief")
            Degrees of "same cluster" to show, one panel for each.
        dissimilarities : array-like of shape (n_samples, n_samples), default=None
            Dissimilarities for an additional first panel, with the samples in the same order.
        ax : matplotlib Axes or sequence of Axes, default=None
            Axes to draw on, one for each panel; None creates a new figure.
        max_samples : int, default=500
            Maximum number of samples to draw; of more, a random subset.
        random_state : int, RandomState instance or None, default=0
            Seed of the random subset.

        Returns
        -------
        RelationalDisplay
            The drawn display.
        """
        check_integer("max_samples", max_samples, 1)
        _check_parts(parts, dissimilarities)
        partition = partition_for(result, X)
        groups = np.where(partition.outliers(), partition.n_clusters, partition.to_hard())
        subset = draw_subset(np.arange(len(groups)), max_samples, groups, check_random_state(random_state))
        selection = partition[subset]
        ranks = np.lexsort([selection.doubt(), groups[subset]])
        order = subset[ranks]
        pairs = selection[ranks].relational()
        pair_degrees = {"plausibility": pairs.plausibility_same, "belief": pairs.same_cluster}
        matrices = {part: pair_degrees[part] for part in parts}
        if dissimilarities is not None:
            matrices = {"dissimilarity": _read_dissimilarities(dissimilarities, order, len(partition)), **matrices}
        present, sizes = np.unique(groups[order], return_counts=True)
        names = [*partition.cluster_names, "outliers"]
        display = cls(
            matrices=matrices,
            order=order,
            group_sizes=sizes,
            group_names=[names[group] for group in present],
            n_samples=len(partition),
        )
        return display.plot(ax)

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> RelationalDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of Axes, default=None
            Axes to draw on, one for each panel; None creates a new figure.

        Returns
        -------
        RelationalDisplay
            This display.
        """
        self.axes_: list[Axes] = open_panels(ax, len(self.matrices))
        self.figure_: Figure | SubFigure = self.axes_[0].figure
        self.images_: list[AxesImage] = []
        self.borders_: list[list[Line2D]] = []
        for panel, (name, matrix) in zip(self.axes_, self.matrices.items(), strict=True):
            style: dict[str, Any] = (
                {"cmap": "viridis_r"} if name == "dissimilarity" else {"cmap": "viridis", "vmin": 0, "vmax": 1}
            )
            self.images_.append(panel.imshow(matrix, interpolation="nearest", aspect="equal", **style))
            self.borders_.append(self._draw_borders(panel))
            self._set_frame(panel, name)
        self.colorbars_: list[Colorbar] = self._draw_colorbars()
        return self

    def _draw_borders(self, panel: Axes) -> list[Line2D]:
        style: dict[str, Any] = {"color": "white", "linewidth": 0.8}
        ends = np.cumsum(self.group_sizes)[:-1] - 0.5
        return [line for end in ends for line in (panel.axhline(end, **style), panel.axvline(end, **style))]

    def _set_frame(self, panel: Axes, name: str) -> None:
        title = name if name == "dissimilarity" else f"{name} of the same cluster"
        n_drawn = len(self.order)
        remark = "" if n_drawn == self.n_samples else f" (a subset: {n_drawn:,} of {self.n_samples:,})"
        panel.set(title=title, xlabel=f"samples by cluster{remark}", xticks=[], yticks=[])
        if len(self.group_sizes) > _MAX_NAMES:
            return
        middles = np.cumsum(self.group_sizes) - self.group_sizes / 2 - 0.5
        # Names of small groups would overlap.
        is_large = self.group_sizes >= _MIN_SHARE * n_drawn
        names = [shorten(str(name)) for name in np.array(self.group_names, dtype=object)[is_large]]
        has_long_names = max((len(text) for text in names), default=0) > 4
        panel.set_yticks(middles[is_large], names, rotation=90 if has_long_names else 0, va="center")
        panel.set_xticks(middles[is_large], names)
        panel.tick_params(length=0)

    def _draw_colorbars(self) -> list[Colorbar]:
        names = list(self.matrices)
        bars = []
        for group, label in ((("dissimilarity",), "dissimilarity"), (_PARTS, "degree")):
            panels = [number for number, name in enumerate(names) if name in group]
            if panels:
                axes = [self.axes_[number] for number in panels]
                bars.append(
                    self.figure_.colorbar(self.images_[panels[0]], ax=axes, label=label, shrink=0.8, pad=0.02)
                )
        return bars


def _check_parts(parts: Sequence[str], dissimilarities: npt.ArrayLike | None) -> None:
    if isinstance(parts, str) or len(set(parts)) < len(parts) or not set(parts) <= set(_PARTS):
        raise ValueError(f"parts must be a list of distinct names from {list(_PARTS)}, got {parts!r}.")
    if len(parts) == 0 and dissimilarities is None:
        raise ValueError(f"parts is empty and dissimilarities is None; choose parts from {list(_PARTS)}.")


def _read_dissimilarities(dissimilarities: npt.ArrayLike, order: IntArray, n_samples: int) -> FloatArray:
    matrix = np.asanyarray(dissimilarities)
    if matrix.shape != (n_samples, n_samples):
        raise ValueError(
            f"dissimilarities must be a square matrix of the {n_samples} samples of the partition, got shape "
            f"{matrix.shape}."
        )
    return np.asarray(matrix[np.ix_(order, order)], dtype=np.float64)
