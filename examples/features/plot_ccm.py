"""
Three clusters in a row: ECM or CCM?
====================================

In ECM a set of clusters has its centre in the middle of their prototypes. What if there is a cluster in the
middle, as with three clusters in a row? `~evlearn.cluster.CCM`, credal c-means, was made for this case.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from evlearn.cluster import CCM, ECM
from evlearn.plotting import CredalPartitionDisplay

random = np.random.default_rng(0)
y = np.repeat([0, 1, 2], 150)
X = np.column_stack([4.0 * y, np.zeros(450)]) + 0.8 * random.normal(size=(450, 2))

# %%
# Both methods start from the true centres, so that nothing depends on luck. They have the exponents and sets
# of the papers. By default ECM does not have the problem that this example shows: the two outer clusters are no
# neighbours, and their pair carries no mass.

start = [[0, 0], [4, 0], [8, 0]]
models = {
    "ECM": ECM(
        3, focal_sets="pairs", include_omega=False, alpha=1, beta=2, delta=5, init=start
    ).fit(X),
    "CCM": CCM(3, focal_sets="pairs", beta=2, delta=5, init=start).fit(X),
}
for name, model in models.items():
    print(f"{name}: adjusted Rand index {adjusted_rand_score(y, model.labels_):.2f}")
    print(model.credal_partition_.summary(), end="\n\n")

# %%
# With ECM, many samples of the middle cluster give mass to the set of the two *outer* clusters: the point halfway
# between these is where cluster 1 lives, and both share its samples. The prototype of cluster 1 is pushed
# aside. With CCM, the middle cluster keeps its samples, and only samples between neighbours are torn.

figure, grid = plt.subplots(2, 1, figsize=(8, 6.4), layout="constrained", sharex=True)
for axes, (name, model) in zip(grid, models.items(), strict=True):
    CredalPartitionDisplay.from_estimator(model, X, ax=axes)
    axes.scatter(
        *model.cluster_centers_.T,
        s=150,
        marker="*",
        color="white",
        edgecolors="black",
        zorder=6,
    )
    axes.set(aspect="equal", title=f"{name} (stars: prototypes)", xlabel="", ylabel="")
plt.show()

# %%
# How the mass of the middle cluster is shared, on average of its samples:

figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for number, (name, model) in enumerate(models.items()):
    shares = model.masses_[y == 1].mean(axis=0)
    axes.bar(
        np.arange(len(shares)) + 0.4 * number - 0.2,
        shares,
        width=0.38,
        color=("0.7", "0.25")[number],
        label=name,
    )
axes.set(
    xticks=range(len(shares)),
    xticklabels=model.focal_sets_.labels,
    ylabel="mean mass of the middle cluster",
)
axes.legend(frameon=False)
plt.show()

# %%
# The reason is the distance to a set, here {0,2}, of a sample at the place of the middle cluster. For ECM it is
# the distance to the centre of the two prototypes, which is nothing. For CCM it is a mean of that and of the
# distances to the prototypes themselves: a sample belongs to a set only if it is near to *all* of its clusters.
# The picture shows what it costs to belong to {1} and to {0,2} along the row.

place = np.linspace(-2, 10, 300)
to = (place[:, None] - np.array([0, 4, 8])) ** 2
costs = {
    "ECM": 2 * (place - 4) ** 2,
    "CCM": (to[:, 0] + to[:, 2] + (place - 4) ** 2) / 3,
}
figure, grid = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", sharey=True)
for axes, (name, cost) in zip(grid, costs.items(), strict=True):
    axes.plot(place, to[:, 1], label="{1}", color="#E69F00")
    axes.plot(place, cost, label="{0,2}", color="0.2", linestyle="--")
    axes.set(title=name, xlabel="place in the row", ylim=(-0.5, 26), xticks=[0, 4, 8])
grid[0].set(ylabel="cost")
grid[1].legend(frameon=False)
plt.show()

# %%
# So why not always CCM? A sample halfway between two clusters is at no distance from their set in ECM, and gives
# it all its mass. In CCM it is nearly as far from the set as from either cluster: fewer samples are torn, and less
# clearly, and on a long bridge they may become outliers. CCM is the one to try first; use ECM if you want to see
# all samples between clusters.
