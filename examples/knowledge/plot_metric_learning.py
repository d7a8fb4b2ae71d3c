"""
Metric learning for a ring around a cluster
===========================================

Samples on opposite sides of a ring have large distances, although they are in the same cluster, so distance-based
clusterers fail. With a kernel, `~evlearn.metric_learning.PCCA` learns other distances from a few pairs of samples that are
in the same cluster or not, and `~evlearn.metric_learning.FDA` from a few labels. This is Example 5 of
:cite:t:`denoeux2021nnevclus`, with generated data, because the paper shows its data only in a figure."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from evlearn.cluster import ECM
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_core_and_ring
from evlearn.metric_learning import FDA, PCCA

X, y = make_core_and_ring(500, random_state=0)
constraints = PairwiseConstraints.sample(y, 50, random_state=0)
constraints

# %%
# We draw 50 of 124,750 pairs. The left panel shows pairs in the same cluster, the right panel pairs in different
# clusters.

colors = np.array(["#0072B2", "#E69F00"])
figure, grid = plt.subplots(
    1, 2, figsize=(10, 5), layout="constrained", sharex=True, sharey=True
)
for axes, pairs, name, style in (
    (grid[0], constraints.must_link, "must-link", "-"),
    (grid[1], constraints.cannot_link, "cannot-link", "--"),
):
    axes.scatter(*X.T, s=10, color=colors[y], alpha=0.6, linewidths=0)
    axes.plot(*X[pairs].transpose(2, 1, 0), style, color="black", linewidth=1)
    axes.set(title=f"{len(pairs)} {name} pairs", aspect="equal", xlabel="$x_1$")
grid[0].set_ylabel("$x_2$")
plt.show()

# %%
# A nonlinear feature learned from these pairs separates the ring from the core, and so does a feature learned from
# the labels of 50 samples. Linear features do not.

labels = np.full(500, -1)
chosen = np.random.default_rng(0).choice(500, size=50, replace=False)
labels[chosen] = y[chosen]
models = {
    "PCCA, 50 pairs": PCCA(1, random_state=0).fit(X, constraints=constraints),
    "FDA, 50 labels": FDA().fit(X, labels),
    "kernel PCCA, 50 pairs": PCCA(kernel="rbf", gamma=0.3, random_state=0).fit(
        X, constraints=constraints
    ),
    "kernel FDA, 50 labels": FDA(kernel="rbf", gamma=0.3).fit(X, labels),
}
figure, grid = plt.subplots(1, 4, figsize=(12, 4), layout="constrained")
for axes, (name, model) in zip(grid, models.items(), strict=True):
    feature = model.transform(X)[:, 0]
    boxes = axes.boxplot(
        [feature[y == 0], feature[y == 1]],
        tick_labels=["core", "ring"],
        widths=0.6,
        patch_artist=True,
        medianprops={"color": "black"},
        flierprops={"markersize": 4},
    )
    for box, color in zip(boxes["boxes"], colors, strict=True):
        box.set_facecolor(color)
    axes.set_title(name)
grid[0].set_ylabel("learned feature")
plt.show()

# %%
# The distances between all samples, sorted by cluster. The original distances are largest within the ring. The
# learned distances are large only between core and ring.

feature = models["kernel PCCA, 50 pairs"].transform(X)
figure, grid = plt.subplots(1, 2, figsize=(10.5, 4.8), layout="constrained")
for axes, points, name in (
    (grid[0], X, "original features"),
    (grid[1], feature, "learned feature"),
):
    image = axes.imshow(
        pairwise_distances(points), cmap="viridis", interpolation="nearest"
    )
    figure.colorbar(image, ax=axes, label="distance", shrink=0.9)
    axes.set(title=name, xlabel="sample", ylabel="sample")
plt.show()

# %%
# The learned feature can be used with any clusterer. Evidential c-means finds the clusters from the learned
# feature. With the original features it fails, and issues a warning.

for name, points in {"original features": X, "learned feature": feature}.items():
    model = ECM(n_clusters=2, random_state=0).fit(points)
    print(f"{name}: adjusted Rand index {adjusted_rand_score(y, model.labels_):.2f}")
print(model.credal_partition_.summary())
