"""Scatter plot or density of 2 values per pair of samples, with the diagonal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray

_BINS = 100
_ROUNDING = 1e-6


class PairCloud(NamedTuple):
    """Artists of the plot.

    Attributes
    ----------
    points : PathCollection or None
        The pairs, if there are few.
    density : QuadMesh or None
        Number of pairs per cell, if there are many.
    colorbar : Colorbar or None
        Color scale of the density.
    diagonal : Line2D
        Line of equal values.
    """

    points: PathCollection | None
    density: QuadMesh | None
    colorbar: Colorbar | None
    diagonal: Line2D


def draw_pairs(ax: Axes, x: FloatArray, y: FloatArray, max_points: int) -> PairCloud:
    """Draw pairs and the diagonal."""
    points = density = colorbar = None
    if len(x) > max_points:
        density = _draw_density(ax, x, y)
        colorbar = ax.figure.colorbar(density, ax=ax, label="pairs")
    else:
        points = ax.scatter(x, y, s=8, color="#0072B2", linewidths=0, alpha=0.5)
    # The white edge makes the line visible on dark cells.
    edge = withStroke(linewidth=2.4, foreground="white")
    diagonal = ax.plot([0, 1], [0, 1], color="black", linewidth=1, path_effects=[edge])[0]
    ax.set_aspect("equal")
    return PairCloud(points, density, colorbar, diagonal)


def read_pairs(values: npt.ArrayLike, name: str) -> FloatArray:
    """Check that there is one number between 0 and 1 for each pair."""
    numbers = np.asarray(values)
    if numbers.ndim != 1 or len(numbers) == 0:
        raise ValueError(
            f"{name} must be one number per pair, got shape {numbers.shape}; select the pairs of a matrix first."
        )
    numbers = numbers if numbers.dtype == np.float32 else numbers.astype(np.float64, copy=False)
    low, high = float(numbers.min()), float(numbers.max())
    if not -_ROUNDING <= low <= high <= 1 + _ROUNDING:  # False for missing values, too
        raise ValueError(
            f"{name} must lie between 0 and 1, got values from {low:.6g} to {high:.6g}; rescale them "
            "and remove pairs without a value."
        )
    return numbers


def root_mean_squared_difference(x: FloatArray, y: FloatArray) -> float:
    """Return the root mean squared difference, computed in blocks."""
    total = sum(
        float(np.square(np.subtract(x[block], y[block], dtype=np.float64)).sum()) for block in row_blocks(len(x))
    )
    return float(np.sqrt(total / len(x)))


def _draw_density(ax: Axes, x: FloatArray, y: FloatArray) -> QuadMesh:
    # Counting in blocks bounds the memory for many pairs.
    counts = np.zeros(_BINS * _BINS, dtype=np.int64)
    for block in row_blocks(len(x)):
        counts += np.bincount(_cell_indices(y[block]) * _BINS + _cell_indices(x[block]), minlength=len(counts))
    edges = np.linspace(0, 1, _BINS + 1)
    return ax.pcolormesh(
        edges,
        edges,
        np.ma.masked_equal(counts.reshape(_BINS, _BINS), 0),
        norm=LogNorm(vmin=1, vmax=max(2, int(counts.max()))),
        cmap="viridis_r",
    )


def _cell_indices(values: FloatArray) -> npt.NDArray[np.intp]:
    return np.clip((values * _BINS).astype(np.intp), 0, _BINS - 1)
