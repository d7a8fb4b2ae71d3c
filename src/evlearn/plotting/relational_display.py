"""What a credal partition says about pairs of samples, as matrices with the samples in order."""

from __future__ import annotations

from collections.abc import Sequence
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
from evlearn.partition.estimators import fitted_partition
from evlearn.plotting.axes import open_panels
from evlearn.plotting.names import shortened
from evlearn.plotting.sampling import sample
from evlearn.utils.typing import EstimatorLike, FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_integer

_PARTS = ("plausibility", "belief")
_MOST_NAMES = 12  # groups with names at the axes
_LEAST_SHARE = 0.04  # of the samples, for a group to be named


class RelationalDisplay:
    """The relational representation of a credal partition: whether each two samples are in one cluster.

    Each panel is a matrix with a row and a column for each sample. Samples are ordered by their most plausible
    cluster, within a cluster by their doubt, and outliers come last. Blocks on the diagonal are clusters; a
    stripe is a sample of which little is known. Where belief and plausibility differ, it is unknown whether the
    two are in one cluster. The diagonal compares a sample with an independent twin.

    Make it with `from_estimator` or `from_partition`; the constructor expects what these compute.

    Parameters
    ----------
    matrices : dict of str to ndarray of shape (n_drawn, n_drawn)
        What to show, by name, in the order of the samples that are drawn.
    order : ndarray of int of shape (n_drawn,)
        The numbers of these samples.
    group_sizes : ndarray of int of shape (n_groups,)
        How many of them are in each group: the clusters, then the outliers. None of these is 0.
    group_names : sequence of str
        The name of each group.
    n_samples : int
        How many samples there are, drawn or not.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        The panels.
    figure_ : matplotlib Figure
        The figure around them.
    images_ : list of matplotlib AxesImage
        The matrices.
    borders_ : list of list of matplotlib Line2D
        For each panel, the lines between groups.
    colorbars_ : list of matplotlib Colorbar
        What the colours stand for: one for belief and plausibility, one for dissimilarities.

    See Also
    --------
    evlearn.CredalPartition.relational : The numbers.
    evlearn.CredalPartition.doubt : What samples of a cluster are ordered by.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn import CredalPartition
    >>> from evlearn.plotting import RelationalDisplay
    >>> partition = CredalPartition.from_rough([[1, 0], [0, 1], [1, 1], [1, 0]])
    >>> display = RelationalDisplay.from_partition(partition)
    >>> display.order.tolist()
    [0, 3, 2, 1]
    >>> display.matrices["plausibility"].astype(int)
    array([[1, 1, 1, 0],
           [1, 1, 1, 0],
           [1, 1, 1, 1],
           [0, 0, 1, 1]])
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        matrices: dict[str, FloatArray],
        order: IntArray,
        group_sizes: IntArray,
        group_names: Sequence[str],
        n_samples: int,
    ) -> None:
        self.matrices = matrices
        self.order = order
        self.group_sizes = group_sizes
        self.group_names = group_names
        self.n_samples = n_samples

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        *,
        parts: Sequence[str] = ("plausibility", "belief"),
        dissimilarities: npt.ArrayLike | None = None,
        ax: Axes | Sequence[Axes] | None = None,
        max_samples: int = 500,
        random_state: RandomSeed = 0,
    ) -> RelationalDisplay:
        """The matrices of the partition that an estimator has found.

        Parameters
        ----------
        estimator : fitted evlearn estimator
            Its ``credal_partition_`` is drawn.
        parts : sequence of {"plausibility", "belief"}, default=("plausibility", "belief")
            What to show of "the same cluster", one panel for each.
        dissimilarities : array-like of shape (n_samples, n_samples), default=None
            Shown in a first panel, with the samples in the same order.
        ax : matplotlib Axes or sequence of Axes, default=None
            Where to draw, one for each panel; None makes a new figure.
        max_samples : int, default=500
            The largest number of samples to draw; of more, a random subset.
        random_state : int, RandomState instance or None, default=0
            The seed of that sample.

        Returns
        -------
        RelationalDisplay
            The picture, drawn.
        """
        return cls.from_partition(
            fitted_partition(estimator),
            parts=parts,
            dissimilarities=dissimilarities,
            ax=ax,
            max_samples=max_samples,
            random_state=random_state,
        )

    @classmethod
    def from_partition(
        cls,
        partition: CredalPartition,
        *,
        parts: Sequence[str] = ("plausibility", "belief"),
        dissimilarities: npt.ArrayLike | None = None,
        ax: Axes | Sequence[Axes] | None = None,
        max_samples: int = 500,
        random_state: RandomSeed = 0,
    ) -> RelationalDisplay:
        """The matrices of a credal partition.

        Parameters
        ----------
        partition : CredalPartition
            The partition.
        parts : sequence of {"plausibility", "belief"}, default=("plausibility", "belief")
            What to show of "the same cluster", one panel for each.
        dissimilarities : array-like of shape (n_samples, n_samples), default=None
            Shown in a first panel, with the samples in the same order.
        ax : matplotlib Axes or sequence of Axes, default=None
            Where to draw, one for each panel; None makes a new figure.
        max_samples : int, default=500
            The largest number of samples to draw; of more, a random subset.
        random_state : int, RandomState instance or None, default=0
            The seed of that sample.

        Returns
        -------
        RelationalDisplay
            The picture, drawn.
        """
        check_integer("max_samples", max_samples, 1)
        _check_parts(parts, dissimilarities)
        groups = np.where(partition.outliers(), partition.n_clusters, partition.to_hard())
        drawn = sample(np.arange(len(groups)), max_samples, groups, check_random_state(random_state))
        chosen = partition[drawn]
        ranks = np.lexsort([chosen.doubt(), groups[drawn]])
        order = drawn[ranks]
        pairs = chosen[ranks].relational()
        said = {"plausibility": pairs.plausibility_same, "belief": pairs.same}
        matrices = {part: said[part] for part in parts}
        if dissimilarities is not None:
            matrices = {"dissimilarity": _read(dissimilarities, order, len(partition)), **matrices}
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
        """Draw the picture, again or elsewhere.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of Axes, default=None
            Where to draw, one for each panel; None makes a new figure.

        Returns
        -------
        RelationalDisplay
            The display itself.
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
        note = "" if n_drawn == self.n_samples else f" (a subset: {n_drawn:,} of {self.n_samples:,})"
        panel.set(title=title, xlabel=f"samples by cluster{note}", xticks=[], yticks=[])
        if len(self.group_sizes) > _MOST_NAMES:
            return
        middles = np.cumsum(self.group_sizes) - self.group_sizes / 2 - 0.5
        # The names of small groups would lie on each other.
        large = self.group_sizes >= _LEAST_SHARE * n_drawn
        names = [shortened(str(name)) for name in np.array(self.group_names, dtype=object)[large]]
        long = max((len(one) for one in names), default=0) > 4
        panel.set_yticks(middles[large], names, rotation=90 if long else 0, va="center")
        panel.set_xticks(middles[large], names)
        panel.tick_params(length=0)

    def _draw_colorbars(self) -> list[Colorbar]:
        names = list(self.matrices)
        bars = []
        for wanted, label in ((("dissimilarity",), "dissimilarity"), (_PARTS, "degree")):
            panels = [number for number, name in enumerate(names) if name in wanted]
            if panels:
                around = [self.axes_[number] for number in panels]
                bars.append(
                    self.figure_.colorbar(self.images_[panels[0]], ax=around, label=label, shrink=0.8, pad=0.02)
                )
        return bars


def _check_parts(parts: Sequence[str], dissimilarities: npt.ArrayLike | None) -> None:
    if isinstance(parts, str) or len(set(parts)) < len(parts) or not set(parts) <= set(_PARTS):
        raise ValueError(f"parts must be a list of different names among {list(_PARTS)}, got {parts!r}.")
    if len(parts) == 0 and dissimilarities is None:
        raise ValueError(f"parts is empty, and there is nothing to draw; choose among {list(_PARTS)}.")


def _read(dissimilarities: npt.ArrayLike, order: IntArray, n_samples: int) -> FloatArray:
    given = np.asanyarray(dissimilarities)
    if given.shape != (n_samples, n_samples):
        raise ValueError(
            f"dissimilarities must be a square matrix of the {n_samples} samples of the partition, got shape "
            f"{given.shape}."
        )
    return np.asarray(given[np.ix_(order, order)], dtype=np.float64)
