"""How clusters are told apart: by colours that colour-blind readers tell apart too, and by markers for print."""

from typing import Any

from matplotlib.colors import to_rgb

#: What outliers are drawn in; no cluster has it.
OUTLIER_COLOR = "black"
OUTLIER_MARKER = "x"

#: The seven colours of Okabe and Ito that are not black; then 23 that were added one after the other, each as far
#: as possible from all before it, from black and from white: in OKLab, for normal sight, deuteranopia and
#: protanopia together.
_COLORS = (
    *("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442"),
    *("#800050", "#4800B0", "#D800F8", "#705000", "#00E8B0", "#C00088", "#D0C8F8", "#90B890"),
    *("#A04850", "#8018D8", "#F84868", "#8888D8", "#782008", "#F8C088", "#503078", "#605878"),
    *("#5048B0", "#30C850", "#A850D0", "#C0A8C0", "#309000", "#A0D840", "#4078E8"),
)
#: Seven, which has no common divisor with thirty: 210 clusters differ in colour or marker.
_MARKERS = ("o", "s", "^", "D", "v", "P", "*")
#: Markers that cover less than the circle at the same size are drawn larger.
_AREAS = {"o": 1.0, "s": 0.9, "^": 1.1, "D": 0.75, "v": 1.1, "P": 1.2, "*": 1.8}
_SHADE = 0.7
#: Lines that can be told apart without colours.
_LINE_STYLES = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))


def cluster_color(cluster: int) -> str:
    """The colour of a cluster."""
    return _COLORS[cluster % len(_COLORS)]


def cluster_shade(cluster: int) -> tuple[float, float, float]:
    """A darker shade of the colour of a cluster, for lines: the lighter colours would be lost on white.

    Returns
    -------
    tuple of float
        Red, green and blue.
    """
    red, green, blue = to_rgb(cluster_color(cluster))
    return _SHADE * red, _SHADE * green, _SHADE * blue


def cluster_marker(cluster: int) -> str:
    """The marker of a cluster."""
    return _MARKERS[cluster % len(_MARKERS)]


def line_style(curve: int) -> Any:
    """The style of a curve, among several on the same axes."""
    return _LINE_STYLES[curve % len(_LINE_STYLES)]


def marker_area(cluster: int, area: float) -> float:
    """The area at which the marker of a cluster looks as large as a circle."""
    return area * _AREAS[cluster_marker(cluster)]
