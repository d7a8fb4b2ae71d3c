"""
How many clusters? Curves, and when they mislead
================================================

Methods want the number of clusters, and often nobody knows it. One can fit for each number and look at a
criterion. `~evlearn.plotting.ClusterNumberDisplay` draws the curve and marks the number that it suggests. This
example shows when the curve helps, and when it misleads.
"""

import matplotlib.pyplot as plt
import numpy as np

from evlearn.cluster import ECM
from evlearn.datasets import make_fourclass
from evlearn.plotting import ClusterNumberDisplay, DeltaBelDisplay

# %%
# Three data sets of 400 samples: four clusters that overlap, four that stand apart, and none at all.

random = np.random.default_rng(0)
centres = np.array([[0, 0], [6, 0], [0, 6], [6, 6]])
data = {
    "overlapping": make_fourclass(400, random_state=0)[0],
    "apart": np.vstack(
        [centre + 0.5 * random.normal(size=(100, 2)) for centre in centres]
    ),
    "no clusters": random.uniform(-3, 3, size=(400, 2)),
}
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for ax, (name, X) in zip(axes, data.items(), strict=True):
    ax.scatter(*X.T, s=8, color="0.35", linewidths=0)
    ax.set(title=name, aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# Average nonspecificity says how much a partition leaves open. With too few clusters, samples lie between
# centres; with too many, they are torn between neighbours. So the smallest value is suggested. We ask ECM
# twice: with parameters chosen for the first data set, and with ``alpha=1``. All else is as in
# the paper; the defaults find four in the first two data sets.

papers = {
    "focal_sets": "full",
    "beta": 2,
    "init": "k-means++",
    "n_init": 2,
    "tol": 1e-4,
    "random_state": 0,
}
models = {
    "alpha=2, delta=4.5": ECM(alpha=2, delta=4.5, **papers),
    "alpha=1, delta auto": ECM(alpha=1, **papers),
}
usual = models["alpha=1, delta auto"]
figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained", sharey=True)
for ax, (title, X) in zip(axes, data.items(), strict=True):
    for name, model in models.items():
        ClusterNumberDisplay.from_estimator(model, X, name=name, ax=ax)
    ax.set(title=title)
    ax.label_outer()
axes[0].set_ylim(0, 0.75)
plt.show()

# %%
# - Apart: both curves have a clear minimum at four. So had those of four other pairs of parameters that we tried.
# - Overlapping: four with the one, two with the other. A shallow minimum, one that goes away when a parameter is
#   changed, is no evidence.
# - No clusters: something is suggested all the same. Two is what curves say that rise from the beginning on.
#
# The objective falls with every cluster more, so one looks for its elbow. Here it is no help at all (left): it
# is at four whether there are four clusters or none. And it moves with the numbers that are tried: on these data
# it is at three for 2 to 5 clusters, and at six for 4 to 10.
#
# Restricting the sets of clusters may mislead too (right). Nonspecificity is divided by its largest possible
# value, which grows with the number of clusters; a pair of clusters counts less and less. Where clusters stand
# apart, the curve of pairs is lowest at four as well, but without clusters it goes on falling. The legend warns
# that the suggestion is the last number that was tried.

noise = data["no clusters"]
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for name, X in data.items():
    ClusterNumberDisplay.from_estimator(
        usual, X, criterion="objective", name=name, ax=axes[0]
    )
axes[0].set(title="elbows of the objective")
pairs = ECM(alpha=1, **(papers | {"focal_sets": "pairs"}))
ClusterNumberDisplay.from_estimator(
    pairs, noise, n_clusters=range(2, 13), name="pairs", ax=axes[1]
)
ClusterNumberDisplay.from_estimator(usual, noise, name="all sets", ax=axes[1])
axes[1].set(title="no clusters", ylim=(0, 0.7))
plt.show()

# %%
# What to do, then? `~evlearn.model_selection.select_n_clusters` asks samples of the data and says how many of
# them agree (see :doc:`/guide/model_selection`). Try several parameters, and trust a number that stays. Look at
# the partition: many samples that are torn between the same two clusters say that these may be one. And ask in
# another way: the δ-Bel graph needs no fit (see :doc:`/guide/belief_peaks`). It finds the four clusters also
# where they overlap. Where there are none it has peaks too, but they come down in steps, and no wide gap sets
# them apart from the other samples.

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, (title, X) in zip(axes, data.items(), strict=True):
    display = DeltaBelDisplay.from_data(X, n_neighbors=50, ax=ax)
    ax.set(
        title=f"{title}: {len(display.peaks)} peaks",
        ylabel=display.ax_.get_ylabel() if ax is axes[0] else "",
    )
plt.show()
