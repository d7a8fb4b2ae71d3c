"""
Decisions and rejection on two classes
======================================

A mass function on 2 classes without mass on the empty set is a point in a triangle with the corners *surely class
0*, *surely class 1* and *complete ignorance*. Each decision rule divides the triangle into regions.

With losses of 0 and 1 and without a rejection option, all rules for single decisions agree. They differ if
rejection is possible, because they treat the mass on Ω differently.
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
# Corners: class 0 at the lower left, class 1 at the lower right, Ω at the top.
masses = np.stack(
    [np.zeros_like(upward), 1 - to_right - upward / 2, to_right - upward / 2, upward],
    axis=-1,
)
valid = (masses >= 0).all(axis=-1)

# %%
# Rejection costs 0.3. The optimistic rule counts the mass on Ω in favor of each class and hardly ever rejects a
# sample; the pessimistic rule counts it against each class. The decisions are numbered 0, 1 and 2 (reject).

losses = loss_matrix(2, rejection_cost=0.3)
regions = {
    f'decide, "{criterion}"': decide(
        masses[valid], focal_sets, losses, criterion=criterion
    )
    for criterion in ("optimistic", "plausibility", "pignistic", "pessimistic")
}

# %%
# The alternative is to predict a set of classes. `~evlearn.belief.partial_assignment` balances the size of the set
# and the certainty, and `~evlearn.belief.interval_dominance` keeps all classes that cannot be ruled out. Both
# predict *both classes* where the other rules reject.

for name, sets in {
    "partial_assignment, u65": partial_assignment(
        masses[valid], focal_sets, utility="u65"
    ),
    "interval_dominance": interval_dominance(masses[valid], focal_sets),
}.items():
    regions[name] = np.where(sets.all(axis=1), 2, sets.argmax(axis=1))

# %%
# .. note:: For 2 classes, the Hurwicz rule with ``rho=0.5`` is equivalent to the pignistic rule.

colors = ListedColormap(["#56B4E9", "#E69F00", "#999999"])  # Okabe and Ito
figure, axes = plt.subplots(2, 3, figsize=(9.5, 6.6), layout="constrained")
for ax, (name, acts) in zip(axes.flat, regions.items(), strict=True):
    picture = np.full(valid.shape, np.nan)
    picture[valid] = acts
    ax.imshow(
        picture,
        origin="lower",
        extent=(0, 1, 0, 1),
        cmap=colors,
        vmin=0,
        vmax=2,
        aspect=np.sqrt(3) / 2,
    )
    ax.plot([0, 1, 0.5, 0], [0, 0, 1, 0], color="black", linewidth=1)
    for x, y, text, alignment in (
        (0, -0.03, "{0}", "top"),
        (1, -0.03, "{1}", "top"),
        (0.5, 1.02, "Ω", "bottom"),
    ):
        ax.text(x, y, text, ha="center", va=alignment)
    ax.set(title=name, xlim=(-0.08, 1.08), ylim=(-0.14, 1.13))
    ax.title.set_fontsize(11)
    ax.axis("off")
handles = [
    Patch(color=colors(k), label=text)
    for k, text in enumerate(("class 0", "class 1", "reject, or both classes"))
]
figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
plt.show()
