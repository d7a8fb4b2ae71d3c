"""
EK-NNclus: clusters without saying how many
===========================================

Fifteen clusters of different sizes, and nobody says that they are fifteen. `~evlearn.cluster.EKNNClus` lets every
sample ask its nearest neighbours for their labels, again and again, until nobody wants to change. The labels that
survive are the clusters.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from evlearn.cluster import EKNNClus
from evlearn.plotting import CredalPartitionDisplay

random = np.random.default_rng(3)
places = np.stack(np.meshgrid(np.arange(5), np.arange(3)), axis=-1).reshape(-1, 2) * 6.0
places += random.uniform(-1.2, 1.2, size=places.shape)
X, y = make_blobs(
    1500, centers=places, cluster_std=random.uniform(0.6, 1.3, size=15), random_state=0
)

# %%
# Each sample asks 100 neighbours. With ``q=0.9``, support reaches far: nine of ten neighbours give more than 1/e
# of the largest possible support.

model = EKNNClus(n_neighbors=100, q=0.9, random_state=0).fit(X)
print(
    f"{model.n_clusters_} clusters, adjusted Rand index "
    f"{adjusted_rand_score(y, model.labels_):.2f}"
)

# %%
# At first everybody has a random label; a few passes later, hardly anybody wants to change. Here are the labels on
# the way.

figure, axes = plt.subplots(
    1, 4, figsize=(11, 2.9), sharex=True, sharey=True, layout="constrained"
)
colours = plt.get_cmap("tab20")
for ax, passes in zip(axes, (0, 1, 2, model.n_iter_), strict=True):
    labels = random.integers(500, size=len(X))
    if passes:
        short = EKNNClus(n_neighbors=100, q=0.9, max_iter=passes, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it has not ended yet
            labels = short.fit(X).labels_
    ax.scatter(*X.T, c=colours(labels % 20), s=4)
    ax.set_title(f"{passes} passes: {len(np.unique(labels))} labels")
    ax.set_aspect("equal")
plt.show()

# %%
# The masses say which samples are sure. Between two clusters neighbours disagree, and there is mass on both.

figure, ax = plt.subplots(figsize=(9, 5.5), layout="constrained")
CredalPartitionDisplay.from_partition(model.credal_partition_, X, ax=ax)
ax.set_aspect("equal")
plt.show()

# %%
# How many clusters there are depends on how many neighbours are asked, and on ``q``. With few neighbours each
# hears of nobody but those around it, and clusters fall apart. Where the number hardly changes any more, it means
# something.

counts = [20, 30, 40, 60, 80, 100, 130, 160]
figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for q, style in ((0.5, "s--"), (0.75, "^-."), (0.9, "o-")):
    found = [
        EKNNClus(n_neighbors=k, q=q, random_state=0).fit(X).n_clusters_ for k in counts
    ]
    ax.plot(counts, found, style, label=f"q = {q}")
ax.axhline(15, color="0.6", linewidth=1, zorder=0)
ax.set(xlabel="n_neighbors", ylabel="clusters", yscale="log")
ax.set_yticks([15, 30, 60, 120], ["15", "30", "60", "120"])
ax.minorticks_off()
ax.legend(frameon=False)
plt.show()

# %%
# New samples ask their neighbours too. One in the middle of a cluster is sure; one far from all has nearly all of
# its mass on the set of all clusters: it could be anything.

new = np.array([places[0], places[:2].mean(axis=0), [12.0, 60.0]])
masses = model.predict_mass(new).masses
for point, mass in zip(new, masses, strict=True):
    print(
        f"at {point.round(1)}: largest mass of a cluster {mass[1:-1].max():.2f}, of "
        f"all together {mass[-1]:.2f}"
    )
