"""Colors, markers and line styles of clusters, distinguishable by color-blind readers and in print."""

from typing import Any

from matplotlib.colors import to_rgb

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


def line_style(curve: int) -> Any:
    """Return the line style of a curve, by its number on the axes."""
    return _LINE_STYLES[curve % len(_LINE_STYLES)]


def marker_area(cluster: int, area: float) -> float:
    """Return the area at which the marker of a cluster looks as large as a circle."""
    return area * _AREAS[cluster_marker(cluster)]
