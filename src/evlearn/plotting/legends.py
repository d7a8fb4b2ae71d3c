"""Position and entries of legends."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from evlearn.plotting import palette
from evlearn.plotting.names import shorten

_MARKER_AREA = 36.0


def draw_legend(ax: Axes, handles: Sequence[Any], title: str, *, crowded: bool) -> Legend:
    """Draw a legend beside the axes, or inside them if the figure has no layout engine."""
    # Without a layout engine, other axes may be beside these.
    if ax.figure.get_layout_engine() is not None:
        anchor = (1, 1)
        return ax.legend(
            handles=handles,
            loc="upper left",
            title=title,
            fontsize="small",
            bbox_to_anchor=anchor,
            frameon=False,
            alignment="left",
        )
    corner: Literal["best", "upper right"] = "upper right" if crowded else "best"
    return ax.legend(handles=handles, loc=corner, title=title, fontsize="x-small", framealpha=0.6)


def cluster_key(cluster: int, name: str, **style: Any) -> Line2D:
    """Return the entry of a cluster, with its marker."""
    marker: dict[str, Any] = {
        "marker": palette.cluster_marker(cluster),
        "markersize": np.sqrt(palette.marker_area(cluster, _MARKER_AREA)),
        "markerfacecolor": palette.cluster_color(cluster),
        "markeredgecolor": palette.cluster_shade(cluster),
    }
    return key(shorten(name), **(marker | style))


def key(label: str, **style: Any) -> Line2D:
    """Return an entry of a legend, without a line unless `style` has one."""
    return Line2D([], [], label=label, **({"linestyle": "none"} | style))
