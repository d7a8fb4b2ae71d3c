"""Where a picture is drawn."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure


def open_axes(ax: Axes | None) -> tuple[Axes, Figure | SubFigure]:
    """The given axes, or new ones in a new figure that leaves room for a legend beside them.

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

        _, ax = plt.subplots(layout="constrained")
    return ax, ax.figure


def open_panels(ax: Axes | Sequence[Axes] | None, n_panels: int) -> list[Axes]:
    """The given axes, one for each panel, or new ones beside each other in a new figure."""
    if ax is None:
        from matplotlib import pyplot as plt

        size = (4.2 * n_panels + 0.8, 4.4)
        return list(plt.subplots(1, n_panels, figsize=size, layout="compressed", squeeze=False)[1].flat)
    panels = [ax] if isinstance(ax, Axes) else list(np.ravel(np.array(ax, dtype=object)))
    if len(panels) != n_panels:
        raise ValueError(f"ax has {len(panels)} axes and there are {n_panels} panels; give one for each.")
    return panels
