"""Colors, markers, line styles and legends, distinguishable by color-blind readers and in print."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from evlearn.plotting.axes import shorten

#: Color of outliers; no cluster has it.
OUTLIER_COLOR = "black"
OUTLIER_MARKER = "x"

#: The 7 colors of Okabe and Ito other than black, then 23 colors, each at maximum OKLab distance from all previous
#: ones, black and white, for normal vision, deuteranopia and protanopia.
_COLORS = (
    *("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442"),
    *("#800050", "#4800B0", "#D800F8", "#705000", "#00E8B0", "#C00088", "#D0C8F8", "#90B890"),
    *("#A04850", "#8018D8", "#F84868", "#8888D8", "#782008", "#F8C088", "#503078", "#605878"),
    *("#5048B0", "#30C850", "#A850D0", "#C0A8C0", "#309000", "#A0D840", "#4078E8"),
)
#: 7 markers and 30 colors have no common divisor, so 210 clusters differ in color or marker.
_MARKERS = ("o", "s", "^", "D", "v", "P", "*")
#: Factors for areas; markers that cover less than a circle of the same size are drawn larger.
_AREAS = {"o": 1.0, "s": 0.9, "^": 1.1, "D": 0.75, "v": 1.1, "P": 1.2, "*": 1.8}
_SHADE = 0.7
#: Line styles that are distinguishable without colors.
_LINE_STYLES = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
_MARKER_AREA = 36.0


def cluster_color(cluster: int) -> str:
    """Return the color of a cluster."""
    return _COLORS[cluster % len(_COLORS)]


def cluster_shade(cluster: int) -> tuple[float, float, float]:
    """Return a darker shade of the color of a cluster, for lines on a white background.

    Returns
    -------
    tuple of float
        Red, green and blue.
    """
    red, green, blue = to_rgb(cluster_color(cluster))
    return _SHADE * red, _SHADE * green, _SHADE * blue


def cluster_marker(cluster: int) -> str:
    """Return the marker of a cluster."""
    return _MARKERS[cluster % len(_MARKERS)]


def n_curves(ax: Axes, gid: str) -> int:
    """Return the number of curves with an identifier on some axes, as the number of the next curve."""
    return sum(line.get_gid() == gid for line in ax.lines)


def curve_style(curve: int) -> dict[str, Any]:
    """Return the color and the line style of a curve, by its number on the axes."""
    return {"color": cluster_shade(curve), "linestyle": _LINE_STYLES[curve % len(_LINE_STYLES)]}


def curve_marker(curve: int, area: float, *, filled: bool) -> dict[str, Any]:
    """Return the style of the markers of a curve."""
    return {
        "marker": cluster_marker(curve),
        "markersize": np.sqrt(marker_area(curve, area)),
        "markerfacecolor": cluster_color(curve) if filled else "white",
    }


def marker_area(cluster: int, area: float) -> float:
    """Return the area at which the marker of a cluster looks as large as a circle."""
    return area * _AREAS[cluster_marker(cluster)]


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
        "marker": cluster_marker(cluster),
        "markersize": np.sqrt(marker_area(cluster, _MARKER_AREA)),
        "markerfacecolor": cluster_color(cluster),
        "markeredgecolor": cluster_shade(cluster),
    }
    return key(shorten(name), **(marker | style))


def key(label: str, **style: Any) -> Line2D:
    """Return an entry of a legend, without a line unless `style` has one."""
    return Line2D([], [], label=label, **({"linestyle": "none"} | style))
