"""
Data sets and generators
========================

This example shows all data sets of `evlearn.datasets`. The generators are seeded and return the true clusters.
"""

import matplotlib.pyplot as plt
import numpy as np

from evlearn.datasets import (
    load_butterfly,
    make_bananas,
    make_core_and_ring,
    make_fourclass,
    make_gaussian_mixture,
    same_cluster_probability,
)

colors = np.array(["#0072B2", "#D55E00", "#009E73", "#CC79A7"])  # Okabe and Ito
markers = "os^D"


def draw(ax, X, y, title):
    for cluster in np.unique(y):
        ax.scatter(
            *X[y == cluster].T,
            s=9,
            c=colors[cluster],
            marker=markers[cluster],
            linewidths=0,
        )
    ax.set(title=title, aspect="equal")


figure, axes = plt.subplots(2, 2, figsize=(8, 7.6), layout="constrained")
butterfly = load_butterfly()
axes[0, 0].scatter(*butterfly.data.T, c="#000000", s=18)
for number, point in zip(butterfly.sample_names, butterfly.data, strict=True):
    axes[0, 0].annotate(
        number, point, xytext=(3, 4), textcoords="offset points", fontsize=8
    )
axes[0, 0].set(title="load_butterfly()", aspect="equal", xlim=(-6.5, 12), ylim=(-6, 12))
draw(axes[0, 1], *make_fourclass(random_state=0), "make_fourclass()")
draw(axes[1, 0], *make_bananas(400, random_state=0), "make_bananas()")
draw(axes[1, 1], *make_core_and_ring(random_state=0), "make_core_and_ring()")
plt.show()

# %%
# The Gaussian mixtures are returned with the true probabilities of the components. Samples with a less certain
# component are lighter.

figure, axes = plt.subplots(
    1, 3, figsize=(9, 3.4), layout="constrained", sharex=True, sharey=True
)
for mixture, ax in zip((1, 2, 3), axes, strict=True):
    X, y, posterior = make_gaussian_mixture(mixture, random_state=0)
    for component in range(3):
        chosen = y == component
        ax.scatter(
            *X[chosen].T,
            s=14,
            c=colors[component],
            marker=markers[component],
            alpha=np.clip(posterior[chosen].max(axis=1) ** 3, 0.15, 1),
            linewidths=0,
        )
    ax.set(title=f"make_gaussian_mixture({mixture})", aspect="equal")
plt.show()

# %%
# These probabilities determine the probability that 2 samples come from the same component. A calibrated credal
# partition should enclose it between belief and plausibility.

order = np.argsort(y, kind="stable")
figure, ax = plt.subplots(figsize=(4.6, 3.8), layout="constrained")
image = ax.imshow(
    same_cluster_probability(posterior[order]), cmap="viridis", vmin=0, vmax=1
)
ax.set(
    title="mixture 3: same component",
    xlabel="sample, by component",
    ylabel="sample, by component",
)
figure.colorbar(image, label="probability")
plt.show()
