"""
EVCLUS on four overlapping clusters
===================================

The 4 clusters have heavy tails: some samples lie between 2 clusters, some far away from all clusters.
`~evlearn.cluster.EVCLUS` with pairs of clusters identifies torn samples and outliers. The fitted model can be
evaluated in the whole plane.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.metrics import adjusted_rand_score

from evlearn.cluster import EVCLUS
from evlearn.datasets import make_fourclass
from evlearn.plotting import CredalPartitionDisplay, PairsDisplay

X, y = make_fourclass(400, random_state=0)
model = EVCLUS(n_clusters=4, focal_sets="pairs", random_state=0).fit(X)
model.credal_partition_.summary()

# %%
# Solid lines enclose the samples that surely belong to a cluster, dashed lines those that possibly do. Samples in
# the intersection of dashed lines are torn.

figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
CredalPartitionDisplay.from_result(model, X, ax=axes)
axes.set(aspect="equal")
plt.show()

# %%
# Errors occur mainly among the samples that are not sure. The adjusted Rand index of the labels, for all samples
# and for sure ones:

sure = model.credal_partition_.verdict().sure
print(f"all {len(y)} samples: {adjusted_rand_score(y, model.labels_):.2f}")
print(
    f"the {sure.sum()} sure ones: "
    f"{adjusted_rand_score(y[sure], model.labels_[sure]):.2f}"
)

# %%
# New samples, here the points of a grid, are compared with the training samples. The first panel shows the
# plausibility of each cluster, with lines at 0.2, 0.5 and 0.8 (the thickest), and the boundary between the labels
# of ``predict`` in black. Far away from the data, all plausibilities approach 0, so samples there would be
# outliers. The second panel shows the number of clusters in ``predict_set``.

side = np.linspace(-6, 12, 181)
grid = np.stack(np.meshgrid(side, side), axis=-1)
predicted = model.predict_mass(grid.reshape(-1, 2))
plausibilities = predicted.to_possibilistic().reshape(len(side), len(side), 4)
labels = predicted.to_hard().reshape(len(side), len(side))
n_candidates = model.predict_set(grid.reshape(-1, 2)).sum(axis=1)

colors = ["#0072B2", "#E69F00", "#009E73", "#D55E00"]  # those of the display
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 5), layout="constrained", sharey=True
)
for cluster, color in enumerate(colors):
    lines = {"levels": [0.2, 0.5, 0.8], "linewidths": [0.7, 1.3, 2.2], "colors": color}
    left.contour(side, side, plausibilities[..., cluster], **lines)
    left.contour(
        side, side, labels == cluster, levels=[0.5], colors="black", linewidths=1.5
    )
left.scatter(*X.T, s=6, c=np.array(colors)[model.labels_], linewidths=0)
left.set(title="plausibilities", aspect="equal", xlabel="feature 0", ylabel="feature 1")
grays = ListedColormap(["#FFFFFF", "#E8E8E8", "#CCCCCC", "#B0B0B0", "#909090"])
image = right.pcolormesh(
    side, side, n_candidates.reshape(labels.shape), cmap=grays, vmin=-0.5, vmax=4.5
)
right.scatter(*X.T, s=6, c=np.array(colors)[model.labels_], linewidths=0)
right.set(title="number of possible clusters", aspect="equal", xlabel="feature 0")
figure.colorbar(image, ticks=range(5), label="candidates (0: outlier)")
plt.show()

# %%
# The Shepard diagram of all pairs is drawn as a density.

PairsDisplay.from_estimator(model)
plt.show()
