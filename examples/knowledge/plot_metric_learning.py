"""
Metric learning: a ring around a cluster
========================================

Samples on opposite sides of a ring are as far apart as can be, and yet in one cluster. A clusterer that believes
in distances cannot find it. `~evlearn.metric_learning.KernelPCCA` learns other distances from a few pairs of
samples that belong together or do not, and `~evlearn.metric_learning.KernelFDA` from a few labels. This is
Example 5 of :cite:t:`denoeux2021nnevclus`, with data of our own: the paper shows its data in a figure only.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from evlearn.cluster import ECM
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_circles
from evlearn.metric_learning import FDA, PCCA, KernelFDA, KernelPCCA

X, y = make_circles(500, random_state=0)
constraints = PairwiseConstraints.sample(y, 50, random_state=0)
constraints

# %%
# Fifty pairs of 124,750. Left, pairs that belong together; right, pairs that do not.

colours = np.array(["#0072B2", "#E69F00"])
figure, grid = plt.subplots(
    1, 2, figsize=(10, 5), layout="constrained", sharex=True, sharey=True
)
for axes, pairs, name, style in (
    (grid[0], constraints.must_link, "must-link", "-"),
    (grid[1], constraints.cannot_link, "cannot-link", "--"),
):
    axes.scatter(*X.T, s=10, color=colours[y], alpha=0.6, linewidths=0)
    axes.plot(*X[pairs].transpose(2, 1, 0), style, color="black", linewidth=1)
    axes.set(title=f"{len(pairs)} {name} pairs", aspect="equal", xlabel="$x_1$")
grid[0].set_ylabel("$x_2$")
plt.show()

# %%
# One feature, learned from these pairs, tells the ring from what is inside it. So does one that is learned from
# the labels of fifty samples. Linear features cannot.

labels = np.full(500, -1)
chosen = np.random.default_rng(0).choice(500, size=50, replace=False)
labels[chosen] = y[chosen]
learned = {
    "PCCA, 50 pairs": PCCA(1, random_state=0).fit(X, constraints=constraints),
    "FDA, 50 labels": FDA().fit(X, labels),
    "KernelPCCA, 50 pairs": KernelPCCA(gamma=0.3, random_state=0).fit(
        X, constraints=constraints
    ),
    "KernelFDA, 50 labels": KernelFDA(gamma=0.3).fit(X, labels),
}
figure, grid = plt.subplots(1, 4, figsize=(12, 4), layout="constrained")
for axes, (name, model) in zip(grid, learned.items(), strict=True):
    feature = model.transform(X)[:, 0]
    boxes = axes.boxplot(
        [feature[y == 0], feature[y == 1]],
        tick_labels=["core", "ring"],
        widths=0.6,
        patch_artist=True,
        medianprops={"color": "black"},
        flierprops={"markersize": 4},
    )
    for box, colour in zip(boxes["boxes"], colours, strict=True):
        box.set_facecolor(colour)
    axes.set_title(name)
grid[0].set_ylabel("learned feature")
plt.show()

# %%
# The distances between all samples, those of the core first. Before, distances within the ring are the largest of
# all. Afterwards they are small, and large only between core and ring.

feature = learned["KernelPCCA, 50 pairs"].transform(X)
figure, grid = plt.subplots(1, 2, figsize=(10.5, 4.8), layout="constrained")
for axes, points, name in (
    (grid[0], X, "original attributes"),
    (grid[1], feature, "learned feature"),
):
    image = axes.imshow(
        pairwise_distances(points), cmap="viridis", interpolation="nearest"
    )
    figure.colorbar(image, ax=axes, label="distance", shrink=0.9)
    axes.set(title=name, xlabel="sample", ylabel="sample")
plt.show()

# %%
# Any clusterer can follow. Evidential c-means sees the learned feature only, and finds what was meant. In
# the original attributes there is nothing to find, and a warning says so.

for name, points in {"original attributes": X, "learned feature": feature}.items():
    model = ECM(n_clusters=2, random_state=0).fit(points)
    print(f"{name}: adjusted Rand index {adjusted_rand_score(y, model.labels_):.2f}")
print(model.credal_partition_.summary())
