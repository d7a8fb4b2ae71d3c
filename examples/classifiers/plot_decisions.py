"""
Decisions and rejection on two classes
======================================

A mass function on two classes, with nothing on the empty set, is a point of a triangle: its corners are
*surely class 0*, *surely class 1* and *nothing known*. Every decision rule cuts the triangle into regions.

With losses of 0 and 1 and no way out, all rules for one act choose alike. They differ once an act of refusing
to decide is on offer, because they do not agree on what mass on Ω is worth.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from evlearn.belief import (
    FocalSets,
    decide,
    interval_dominance,
    loss_matrix,
    partial_assignment,
)

focal_sets = FocalSets.full(2)
side = np.linspace(0, 1, 401)
to_right, upward = np.meshgrid(side, side)
# Corners: class 0 at the lower left, class 1 at the lower right, the frame on top.
masses = np.stack(
    [np.zeros_like(upward), 1 - to_right - upward / 2, to_right - upward / 2, upward],
    axis=-1,
)
inside = (masses >= 0).all(axis=-1)

# %%
# Refusing costs 0.3. The optimistic rule counts mass on Ω for every class and hardly ever refuses; the
# pessimistic rule counts it against every class. The acts are numbered 0, 1 and 2 (refuse).

losses = loss_matrix(2, rejection_cost=0.3)
regions = {
    f'decide, "{criterion}"': decide(
        masses[inside], focal_sets, losses, criterion=criterion
    )
    for criterion in ("optimistic", "plausibility", "pignistic", "pessimistic")
}

# %%
# The other way is to answer with a set of classes. `~evlearn.belief.partial_assignment` trades size for
# certainty, and `~evlearn.belief.interval_dominance` keeps what cannot be ruled out. Both say *both
# classes* where the others refuse.

for name, sets in {
    "partial_assignment, u65": partial_assignment(
        masses[inside], focal_sets, utility="u65"
    ),
    "interval_dominance": interval_dominance(masses[inside], focal_sets),
}.items():
    regions[name] = np.where(sets.all(axis=1), 2, sets.argmax(axis=1))

# %%
# .. note:: For two classes the Hurwicz rule with ``rho=0.5`` is the same as the pignistic rule.

colours = ListedColormap(["#56B4E9", "#E69F00", "#999999"])  # Okabe and Ito
figure, axes = plt.subplots(2, 3, figsize=(9.5, 6.6), layout="constrained")
for ax, (name, acts) in zip(axes.flat, regions.items(), strict=True):
    picture = np.full(inside.shape, np.nan)
    picture[inside] = acts
    ax.imshow(
        picture,
        origin="lower",
        extent=(0, 1, 0, 1),
        cmap=colours,
        vmin=0,
        vmax=2,
        aspect=np.sqrt(3) / 2,
    )
    ax.plot([0, 1, 0.5, 0], [0, 0, 1, 0], color="black", linewidth=1)
    for x, y, text, side_of in (
        (0, -0.03, "{0}", "top"),
        (1, -0.03, "{1}", "top"),
        (0.5, 1.02, "Ω", "bottom"),
    ):
        ax.text(x, y, text, ha="center", va=side_of)
    ax.set(title=name, xlim=(-0.08, 1.08), ylim=(-0.14, 1.13))
    ax.title.set_fontsize(11)
    ax.axis("off")
handles = [
    Patch(color=colours(k), label=text)
    for k, text in enumerate(("class 0", "class 1", "refuse, or both"))
]
figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
plt.show()
