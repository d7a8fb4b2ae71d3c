"""
Choosing the number of clusters by criteria
===========================================

The number of clusters is often unknown. A common approach is to fit each number of clusters and to compare a
criterion. `~evlearn.plotting.ClusterNumberDisplay` shows the curve and marks the suggested number. This example
shows situations in which the curve helps, and in which it is misleading.
"""

import matplotlib.pyplot as plt
import numpy as np

from evlearn.cluster import ECM
from evlearn.datasets import make_fourclass
from evlearn.plotting import BeliefPeaksDisplay, ClusterNumberDisplay

# %%
# There are 3 data sets of 400 samples: 4 overlapping clusters, 4 separated clusters, and uniform data without
# clusters.

random = np.random.default_rng(0)
centers = np.array([[0, 0], [6, 0], [0, 6], [6, 6]])
data = {
    "overlapping": make_fourclass(400, random_state=0)[0],
    "separated": np.vstack(
        [center + 0.5 * random.normal(size=(100, 2)) for center in centers]
    ),
    "no clusters": random.uniform(-3, 3, size=(400, 2)),
}
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for ax, (name, X) in zip(axes, data.items(), strict=True):
    ax.scatter(*X.T, s=8, color="0.35", linewidths=0)
    ax.set(title=name, aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# The average nonspecificity measures the imprecision of a partition. With too few clusters, samples lie between
# centers; with too many, they are torn between neighboring clusters. The suggestion is therefore the number with
# the smallest value. We use ECM with parameters chosen for the first data set, and with ``alpha=1``. The other
# parameters are those of the paper; with the default parameters, the number is 4 for the first 2 data sets.

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
default_delta = models["alpha=1, delta auto"]
figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained", sharey=True)
for ax, (title, X) in zip(axes, data.items(), strict=True):
    for name, model in models.items():
        ClusterNumberDisplay.from_estimator(model, X, name=name, ax=ax)
    ax.set(title=title)
    ax.label_outer()
axes[0].set_ylim(0, 0.75)
plt.show()

# %%
# - Separated clusters: both curves have a clear minimum at 4, as for 4 other pairs of parameters.
# - Overlapping clusters: the minimum is at 4 for one model, and at 2 for the other. A shallow minimum that depends
#   on the parameters is no evidence.
# - No clusters: there is still a suggestion. Curves that increase from the start suggest 2 clusters.
#
# The objective decreases with each additional cluster, so its elbow is used. Here it does not help (left): it is
# at 4 with or without clusters. It also depends on the range of numbers: on these data it is at 3 for 2 to 5
# clusters, and at 6 for 4 to 10.
#
# Restricting the focal sets may also be misleading (right). Nonspecificity is divided by its largest possible
# value, which increases with the number of clusters, so the relative weight of pairs decreases. For separated
# clusters, the curve of pairs also has its minimum at 4, but without clusters it keeps decreasing. The legend
# warns that the suggestion is the last number of the range.

noise = data["no clusters"]
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for name, X in data.items():
    ClusterNumberDisplay.from_estimator(
        default_delta, X, criterion="objective", name=name, ax=axes[0]
    )
axes[0].set(title="elbow of the objective")
pairs = ECM(alpha=1, **(papers | {"focal_sets": "pairs"}))
ClusterNumberDisplay.from_estimator(
    pairs, noise, n_clusters=range(2, 13), name="pairs", ax=axes[1]
)
ClusterNumberDisplay.from_estimator(default_delta, noise, name="all sets", ax=axes[1])
axes[1].set(title="no clusters", ylim=(0, 0.7))
plt.show()

# %%
# We recommend `~evlearn.model_selection.select_n_clusters`, which evaluates random subsamples and reports their
# agreement (see :doc:`/guide/number_of_clusters`). Compare several parameters, and prefer a stable number. Inspect
# the partition: if many samples are torn between the same 2 clusters, these may be a single cluster. Also compare
# different criteria: the δ-Bel graph requires no fit (see :doc:`/guide/number_of_clusters`), and identifies the 4
# clusters even if they overlap. Without clusters there are peaks too, but they are not clearly separated from the
# other samples.

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, (title, X) in zip(axes, data.items(), strict=True):
    display = BeliefPeaksDisplay.from_data(X, n_neighbors=50, ax=ax)
    ax.set(
        title=f"{title}: {len(display.peaks)} peaks",
        ylabel=display.ax_.get_ylabel() if ax is axes[0] else "",
    )
plt.show()
