"""Creation and style of axes."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

_AXIS_COLOR = "0.55"  # of axes and ticks


def open_axes(ax: Axes | None, width: float = 6.4) -> tuple[Axes, Figure | SubFigure]:
    """Return styled axes: those of the caller, or new ones with space for a legend.

    Returns
    -------
    ax : Axes
        Axes to draw on.
    figure : Figure or SubFigure
        Figure that contains the axes.
    """
    if ax is None:
        # Imported here because pyplot selects a backend at import.
        from matplotlib import pyplot as plt

        _, ax = plt.subplots(figsize=(width, 4.8), layout="constrained")
    set_style(ax)
    return ax, ax.figure


def set_style(ax: Axes) -> None:
    """Draw light axes at the left and at the bottom, without a frame."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(_AXIS_COLOR)
    ax.tick_params(color=_AXIS_COLOR, labelcolor="0.25", labelsize="small")
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_color("0.15")


def open_panels(ax: Axes | Sequence[Axes] | None, n_panels: int) -> list[Axes]:
    """Return styled axes for panels: those of the caller, or new ones in a row."""
    if ax is None:
        from matplotlib import pyplot as plt

        size = (4.2 * n_panels + 0.8, 4.4)
        ax = list(plt.subplots(1, n_panels, figsize=size, layout="compressed", squeeze=False)[1].flat)
    panels = [ax] if isinstance(ax, Axes) else list(np.ravel(np.array(ax, dtype=object)))
    if len(panels) != n_panels:
        raise ValueError(f"ax has {len(panels)} axes but there are {n_panels} panels; pass one for each.")
    for panel in panels:
        set_style(panel)
    return panels
