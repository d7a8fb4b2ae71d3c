"""
Comparing ECM and CCM on three clusters in a row
================================================

In ECM, the center of a set of clusters is the mean of their prototypes. This is a problem if another cluster is
located there, as with 3 clusters in a row. `~evlearn.cluster.CCM` (credal c-means) was developed for this case.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from evlearn.cluster import CCM, ECM, FocalFamily
from evlearn.plotting import CredalPartitionDisplay

random = np.random.default_rng(0)
y = np.repeat([0, 1, 2], 150)
X = np.column_stack([4.0 * y, np.zeros(450)]) + 0.8 * random.normal(size=(450, 2))

# %%
# Both methods start from the true centers, so that the results do not depend on the initialization. The exponents
# and focal sets are those of the papers. With its default parameters, ECM avoids the problem of this example: the
# outer clusters are not neighbors, so their pair is not a focal set.

start = [[0, 0], [4, 0], [8, 0]]
pairs = FocalFamily("pairs", include_omega=False)
models = {
    "ECM": ECM(3, focal_sets=pairs, alpha=1, beta=2, delta=5, init=start).fit(X),
    "CCM": CCM(3, focal_sets=pairs, beta=2, delta=5, init=start).fit(X),
}
for name, model in models.items():
    print(f"{name}: adjusted Rand index {adjusted_rand_score(y, model.labels_):.2f}")
    print(model.credal_partition_.summary(), end="\n\n")

# %%
# In ECM, many samples of the middle cluster have mass on the set of the *outer* clusters, because the mean of
# their prototypes is the center of cluster 1. The 2 sets share these samples, and the prototype of cluster 1 is
# displaced. In CCM, the middle cluster keeps its samples, and only samples between neighboring clusters are torn.

figure, grid = plt.subplots(2, 1, figsize=(8, 6.4), layout="constrained", sharex=True)
for axes, (name, model) in zip(grid, models.items(), strict=True):
    CredalPartitionDisplay.from_result(model, X, ax=axes)
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
# Mean masses of the samples of the middle cluster:

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
# The difference is due to the distance between a sample of the middle cluster and the set {0,2}. In ECM, it is the
# distance from the mean of the 2 prototypes, which is close to 0. In CCM, it is a mean of that distance and the
# distances from the prototypes, so a sample belongs to a set only if it is close to *all* clusters of the set. The
# figure shows the costs of {1} and {0,2} along the row.

position = np.linspace(-2, 10, 300)
squares = (position[:, None] - np.array([0, 4, 8])) ** 2
costs = {
    "ECM": 2 * (position - 4) ** 2,
    "CCM": (squares[:, 0] + squares[:, 2] + (position - 4) ** 2) / 3,
}
figure, grid = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", sharey=True)
for axes, (name, cost) in zip(grid, costs.items(), strict=True):
    axes.plot(position, squares[:, 1], label="{1}", color="#E69F00")
    axes.plot(position, cost, label="{0,2}", color="0.2", linestyle="--")
    axes.set(
        title=name, xlabel="position in the row", ylim=(-0.5, 26), xticks=[0, 4, 8]
    )
grid[0].set(ylabel="cost")
grid[1].legend(frameon=False)
plt.show()

# %%
# CCM is not always preferable. In ECM, a sample halfway between 2 clusters has all its mass on the set of both. In
# CCM, its distance from the set is similar to that from each cluster, so fewer samples are torn, less clearly, and
# samples on a long bridge may become outliers. Try CCM first, and use ECM to identify all samples between
# clusters.
