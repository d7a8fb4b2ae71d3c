"""Two numbers of each pair of samples against each other: points about a diagonal, or their density."""

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
    """What has been drawn.

    Attributes
    ----------
    points : PathCollection or None
        The pairs, where they are few.
    density : QuadMesh or None
        How many pairs there are in each cell, where they are many.
    colorbar : Colorbar or None
        What its colours stand for.
    diagonal : Line2D
        Where both numbers are the same.
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
    # Seen on dark cells as well.
    edge = withStroke(linewidth=2.4, foreground="white")
    diagonal = ax.plot([0, 1], [0, 1], color="black", linewidth=1, path_effects=[edge])[0]
    ax.set_aspect("equal")
    return PairCloud(points, density, colorbar, diagonal)


def read_pairs(values: npt.ArrayLike, name: str) -> FloatArray:
    """One number for each pair, checked."""
    given = np.asarray(values)
    if given.ndim != 1 or len(given) == 0:
        raise ValueError(f"{name} must be one number per pair, got shape {given.shape}; choose pairs of a matrix.")
    given = given if given.dtype == np.float32 else given.astype(np.float64, copy=False)
    low, high = float(given.min()), float(given.max())
    if not -_ROUNDING <= low <= high <= 1 + _ROUNDING:  # also where one is missing
        raise ValueError(
            f"{name} must lie between 0 and 1, got values from {low:.6g} to {high:.6g}; bring them to this "
            "scale, and leave out pairs without a value."
        )
    return given


def root_mean_squared_difference(x: FloatArray, y: FloatArray) -> float:
    """How far two numbers are apart, on average."""
    total = sum(
        float(np.square(np.subtract(x[block], y[block], dtype=np.float64)).sum()) for block in row_blocks(len(x))
    )
    return float(np.sqrt(total / len(x)))


def _draw_density(ax: Axes, x: FloatArray, y: FloatArray) -> QuadMesh:
    # Counted in blocks, so that a hundred million pairs take no memory beyond their own.
    counts = np.zeros(_BINS * _BINS, dtype=np.int64)
    for block in row_blocks(len(x)):
        counts += np.bincount(_cells(y[block]) * _BINS + _cells(x[block]), minlength=len(counts))
    edges = np.linspace(0, 1, _BINS + 1)
    return ax.pcolormesh(
        edges,
        edges,
        np.ma.masked_equal(counts.reshape(_BINS, _BINS), 0),
        norm=LogNorm(vmin=1, vmax=max(2, int(counts.max()))),
        cmap="viridis_r",
    )


def _cells(values: FloatArray) -> npt.NDArray[np.intp]:
    return np.clip((values * _BINS).astype(np.intp), 0, _BINS - 1)


__all__ = ["PairCloud", "draw_pairs", "read_pairs", "root_mean_squared_difference"]
