"""
EK-NNclus with an unknown number of clusters
============================================

The data consist of 15 clusters of different sizes, but the number of clusters is not given.
`~evlearn.cluster.EKNNClus` repeatedly updates the label of each sample from the labels of its nearest neighbors,
until the labels no longer change. The remaining labels are the clusters. On real data the method is often sure of
wrong labels; see :doc:`/guide/which_method`.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from evlearn.cluster import EKNNClus
from evlearn.plotting import CredalPartitionDisplay

random = np.random.default_rng(3)
centers = (
    np.stack(np.meshgrid(np.arange(5), np.arange(3)), axis=-1).reshape(-1, 2) * 6.0
)
centers += random.uniform(-1.2, 1.2, size=centers.shape)
X, y = make_blobs(
    1500, centers=centers, cluster_std=random.uniform(0.6, 1.3, size=15), random_state=0
)

# %%
# Each sample has 100 neighbors. With ``q=0.9``, the support extends far: 90 % of the neighbors contribute more
# than 1/e of the maximum support.

model = EKNNClus(n_neighbors=100, q=0.9, random_state=0).fit(X)
print(
    f"{model.n_clusters_} clusters, adjusted Rand index "
    f"{adjusted_rand_score(y, model.labels_):.2f}"
)

# %%
# The labels are random at first. After a few passes, they hardly change.

# sphinx_gallery_thumbnail_number = 2

figure, axes = plt.subplots(
    1, 4, figsize=(11, 2.9), sharex=True, sharey=True, layout="constrained"
)
colors = plt.get_cmap("tab20")
for ax, passes in zip(axes, (0, 1, 2, model.n_iter_), strict=True):
    labels = random.integers(500, size=len(X))
    if passes:
        short = EKNNClus(n_neighbors=100, q=0.9, max_iter=passes, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # not converged yet
            labels = short.fit(X).labels_
    ax.scatter(*X.T, c=colors(labels % 20), s=4)
    ax.set_title(f"{passes} passes: {len(np.unique(labels))} labels")
    ax.set_aspect("equal")
plt.show()

# %%
# The masses show which samples are sure. Between 2 clusters, the neighbors have different labels, and there is
# mass on both clusters.

figure, ax = plt.subplots(figsize=(9, 5.5), layout="constrained")
CredalPartitionDisplay.from_result(model.credal_partition_, X, ax=ax)
ax.set_aspect("equal")
plt.show()

# %%
# The number of clusters depends on the number of neighbors and on ``q``. With a small number of neighbors,
# clusters are split. A range of parameters with a stable number of clusters is a good choice.

counts = [20, 30, 40, 60, 80, 100, 130, 160]
figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for q, style in ((0.5, "s--"), (0.75, "^-."), (0.9, "o-")):
    n_clusters = [
        EKNNClus(n_neighbors=k, q=q, random_state=0).fit(X).n_clusters_ for k in counts
    ]
    ax.plot(counts, n_clusters, style, label=f"q = {q}")
ax.axhline(15, color="0.6", linewidth=1, zorder=0)
ax.set(xlabel="n_neighbors", ylabel="clusters", yscale="log")
ax.set_yticks([15, 30, 60, 120], ["15", "30", "60", "120"])
ax.minorticks_off()
ax.legend(frameon=False)
plt.show()

# %%
# The masses of new samples depend on their neighbors, too. A sample in the center of a cluster is sure; a sample
# far away from all others has nearly all its mass on the set of all clusters, which means ignorance.

new = np.array([centers[0], centers[:2].mean(axis=0), [12.0, 60.0]])
masses = model.predict_mass(new).masses
for point, mass in zip(new, masses, strict=True):
    print(
        f"at {point.round(1)}: largest mass of a cluster {mass[1:-1].max():.2f}, of "
        f"the set of all {mass[-1]:.2f}"
    )
