"""Where a picture is drawn, and how the axes of all pictures look."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

_LINES = "0.55"  # the grey of axes and ticks


def open_axes(ax: Axes | None, width: float = 6.4) -> tuple[Axes, Figure | SubFigure]:
    """The given axes, or new ones in a new figure that leaves room for a legend beside them, in our style.

    Returns
    -------
    ax : Axes
        The axes.
    figure : Figure or SubFigure
        The figure they are in.
    """
    if ax is None:
        # Here and not above, because pyplot chooses a backend when it is imported.
        from matplotlib import pyplot as plt

        _, ax = plt.subplots(figsize=(width, 4.8), layout="constrained")
    set_style(ax)
    return ax, ax.figure


def set_style(ax: Axes) -> None:
    """Light axes at the left and at the bottom, and no frame: what is drawn comes first."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(_LINES)
    ax.tick_params(color=_LINES, labelcolor="0.25", labelsize="small")
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_color("0.15")


def open_panels(ax: Axes | Sequence[Axes] | None, n_panels: int) -> list[Axes]:
    """The given axes, one for each panel, or new ones beside each other in a new figure."""
    if ax is None:
        from matplotlib import pyplot as plt

        size = (4.2 * n_panels + 0.8, 4.4)
        ax = list(plt.subplots(1, n_panels, figsize=size, layout="compressed", squeeze=False)[1].flat)
    panels = [ax] if isinstance(ax, Axes) else list(np.ravel(np.array(ax, dtype=object)))
    if len(panels) != n_panels:
        raise ValueError(f"ax has {len(panels)} axes but there are {n_panels} panels; give one for each.")
    for panel in panels:
        set_style(panel)
    return panels
