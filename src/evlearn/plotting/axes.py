"""Where a picture is drawn."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure


def open_axes(ax: Axes | None) -> tuple[Axes, Figure | SubFigure]:
    """The given axes, or new ones in a new figure that leaves room for a legend beside them.

    Parameters
    ----------
    ax : Axes or None
        The axes to draw on.

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
