"""
EVCLUS on four overlapping clusters
===================================

Four clusters with heavy tails: some samples lie between two clusters, some far from all.
`~evlearn.cluster.EVCLUS` with pairs of clusters says which samples are torn between which clusters, and which
belong to none. The fitted model then maps the whole plane.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.metrics import adjusted_rand_score

from evlearn.cluster import EVCLUS
from evlearn.datasets import make_fourclass
from evlearn.plotting import CredalPartitionDisplay, ShepardDisplay

X, y = make_fourclass(400, random_state=0)
model = EVCLUS(n_clusters=4, focal_sets="pairs", random_state=0).fit(X)
model.credal_partition_.summary()

# %%
# Solid lines are the hulls of the samples that are sure of a cluster; dashed ones also hold those that may belong
# to it. Where dashed lines overlap, samples are torn.

figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
CredalPartitionDisplay.from_estimator(model, X, ax=axes)
axes.set(aspect="equal")
plt.show()

# %%
# Errors are found among the samples that are not sure. The adjusted Rand index of the labels, for all samples
# and for those that are sure:

sure = model.credal_partition_.verdict().sure
print(f"all {len(y)} samples: {adjusted_rand_score(y, model.labels_):.2f}")
print(
    f"the {sure.sum()} sure ones: "
    f"{adjusted_rand_score(y[sure], model.labels_[sure]):.2f}"
)

# %%
# New samples are compared with samples of the training set. Here they are the points of a grid. The first
# picture shows the plausibility of each cluster, with lines at 0.2, 0.5 and 0.8 (the thickest), and the border
# between the labels of ``predict`` in black. Outside, all plausibilities fall to zero: samples there would be
# outliers. The second picture shows how many clusters ``predict_set`` leaves open.

side = np.linspace(-6, 12, 181)
grid = np.stack(np.meshgrid(side, side), axis=-1)
predicted = model.predict_mass(grid.reshape(-1, 2))
plausibilities = predicted.to_possibilistic().reshape(len(side), len(side), 4)
labels = predicted.to_hard().reshape(len(side), len(side))
n_candidates = model.predict_set(grid.reshape(-1, 2)).sum(axis=1)

colours = ["#0072B2", "#E69F00", "#009E73", "#D55E00"]  # those of the display
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 5), layout="constrained", sharey=True
)
for cluster, colour in enumerate(colours):
    lines = {"levels": [0.2, 0.5, 0.8], "linewidths": [0.7, 1.3, 2.2], "colors": colour}
    left.contour(side, side, plausibilities[..., cluster], **lines)
    left.contour(
        side, side, labels == cluster, levels=[0.5], colors="black", linewidths=1.5
    )
left.scatter(*X.T, s=6, c=np.array(colours)[model.labels_], linewidths=0)
left.set(title="plausibilities", aspect="equal", xlabel="feature 0", ylabel="feature 1")
greys = ListedColormap(["#FFFFFF", "#E8E8E8", "#CCCCCC", "#B0B0B0", "#909090"])
image = right.pcolormesh(
    side, side, n_candidates.reshape(labels.shape), cmap=greys, vmin=-0.5, vmax=4.5
)
right.scatter(*X.T, s=6, c=np.array(colours)[model.labels_], linewidths=0)
right.set(title="how many clusters are possible", aspect="equal", xlabel="feature 0")
figure.colorbar(image, ticks=range(5), label="candidates (0: outlier)")
plt.show()

# %%
# The Shepard diagram of all pairs; so many are drawn as a density.

ShepardDisplay.from_estimator(model)
plt.show()
