"""
Choosing the number of clusters by belief peaks
===============================================

The number of clusters must often be chosen before clustering. The δ-Bel graph shows which samples look like
cluster centers. In this example it identifies 4 centers, and a clustering method starts from them. The graph
requires only distances; degrees of belief are explained on the way.
"""

import matplotlib.pyplot as plt

from evlearn.cluster import ECM, belief_peaks
from evlearn.datasets import make_fourclass
from evlearn.plotting import BeliefPeaksDisplay, CredalPartitionDisplay

# %%
# The data consist of 400 samples with 2 features, in 4 groups with a large overlap and some outliers. The true
# groups are not used.

X, y = make_fourclass(400, random_state=0)
figure, axes = plt.subplots(figsize=(5.5, 5), layout="constrained")
axes.scatter(*X.T, s=12, color="0.45", linewidths=0)
axes.set(aspect="equal", xlabel="feature 0", ylabel="feature 1")
plt.show()

# %%
# The center of a cluster has 2 properties:
#
# - Its neighbors are close. Each of the 50 nearest neighbors is evidence that the sample is a center, which is
#   stronger for small distances. The combined evidence is a degree of belief ``bel`` between 0 and 1.
# - No better center is close. ``delta`` is the distance to the nearest sample with a larger belief. It is small
#   inside a cluster; for its center, it is the distance to another cluster.
#
# `~evlearn.cluster.belief_peaks` computes both, and ``peaks`` selects the best samples.

graph = belief_peaks(X, n_neighbors=50)
peaks = graph.peaks()
for number, peak in enumerate(peaks):
    print(
        f"peak {number}: sample {peak:>3}, belief {graph.bel[peak]:.2f}, delta "
        f"{graph.delta[peak]:.1f}"
    )

# %%
# The 4 peaks are clearly separated at the upper right. The sample at the upper left is far away from all others,
# but its belief is small, so it is an outlier.

BeliefPeaksDisplay.from_delta_bel(graph)
plt.show()

# %%
# The score of a sample is the product of its belief and delta. The scores decrease by a factor of 6 after the
# fourth sample; the largest relative decrease determines the number of peaks. Without a clear decrease, the number
# is uncertain. You can also select peaks by thresholds, as in ``graph.peaks(min_bel=0.4, min_delta=2)``.

scores = graph.scores[graph.peaks(n_peaks=12)]
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.semilogy(range(1, 13), scores, "o-", color="0.45")
axes.semilogy(
    range(1, len(peaks) + 1), scores[: len(peaks)], "o", color="#D55E00", markersize=8
)
axes.set(
    xlabel="samples, in the order of the score",
    ylabel="score",
    xticks=range(1, 13),
    yticks=[0.5, 1, 2, 5],
    ylim=(0.35, 8),
)
axes.set_yticklabels(["0.5", "1", "2", "5"])
axes.minorticks_off()
plt.show()

# %%
# The number of neighbors should be at least 20, and not larger than the smallest cluster. For 20 to 120 neighbors,
# there are 4 peaks. With 10 neighbors, belief is noisy; with 200, each sample has neighbors in several clusters,
# and the peaks merge.

figure, grid = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", sharey=True)
for axes, n_neighbors in zip(grid, (10, 100, 200), strict=True):
    display = BeliefPeaksDisplay.from_data(X, n_neighbors=n_neighbors, ax=axes)
    axes.set_title(
        f"{n_neighbors} neighbors: {len(display.peaks)} "
        f"peak{'s' * (len(display.peaks) > 1)}"
    )
    axes.set(xlabel="Bel", ylabel="δ" if n_neighbors == 10 else "")
plt.show()

# %%
# Finally, we cluster the data. `~evlearn.cluster.ECM` is an extension of k-means, which starts from the peaks as
# centers. Its result is a credal partition: most samples are sure of their cluster, others are torn between
# several clusters or outliers. The numbers and colors are those of the peaks.

model = ECM(n_clusters=len(peaks), init=X[peaks]).fit(X)
model.credal_partition_.summary()

# %%
# White stars are the peaks, black dots the final centers.

figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
CredalPartitionDisplay.from_result(model, X, ax=axes)
axes.scatter(
    *X[peaks].T,
    s=220,
    marker="*",
    facecolors="white",
    edgecolors="black",
    linewidths=1.2,
    zorder=6,
)
axes.scatter(*model.cluster_centers_.T, s=35, color="black", zorder=7)
axes.set(aspect="equal")
plt.show()
