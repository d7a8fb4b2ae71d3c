"""
How many clusters? Look for peaks
=================================

Before clustering one has to say how many clusters there are. A picture helps: the δ-Bel graph shows which samples
look like centres. Here it finds four, and a clustering method starts from them. All it needs is distances; what a
"degree of belief" is comes along the way.
"""

import matplotlib.pyplot as plt

from evlearn.cluster import ECM, delta_bel
from evlearn.datasets import make_fourclass
from evlearn.plotting import CredalPartitionDisplay, DeltaBelDisplay

# %%
# The data: 400 samples with two features. There are four groups, with much overlap and some strays. We will not
# use the true groups; imagine that nobody knows them.

X, y = make_fourclass(400, random_state=0)
figure, axes = plt.subplots(figsize=(5.5, 5), layout="constrained")
axes.scatter(*X.T, s=12, color="0.45", linewidths=0)
axes.set(aspect="equal", xlabel="feature 0", ylabel="feature 1")
plt.show()

# %%
# What makes a sample the centre of a cluster? Two things:
#
# - Its neighbours are close by. Each of the 50 nearest neighbours is a witness that says "this is a centre", the
#   louder the nearer it is. Together they give a degree of belief, ``bel``, from 0 (nobody says so) to 1.
# - No better centre is near. ``delta`` is the distance to the nearest sample of larger belief. Inside a cluster
#   that is a small step. For the centre, it is the long way to another cluster.
#
# `~evlearn.cluster.delta_bel` computes both, and ``peaks`` chooses the samples that stand out.

graph = delta_bel(X, n_neighbors=50)
peaks = graph.peaks()
for number, peak in enumerate(peaks):
    print(
        f"peak {number}: object {peak:>3}, belief {graph.bel[peak]:.2f}, delta "
        f"{graph.delta[peak]:.1f}"
    )

# %%
# In the picture the four peaks are far from the crowd, at the upper right. The sample at the upper left is far
# from all others, but nobody believes it to be a centre: it is an outlier.

DeltaBelDisplay.from_delta_bel(graph)
plt.show()

# %%
# The choice was not made by hand. The score of a sample is its belief times its delta, and the scores drop to a
# sixth after the fourth; the largest drop gives the number of peaks. Always look: where the drop is not clear, the
# number is not either. You can also say what you see, as in ``graph.peaks(min_bel=0.4, min_delta=2)``.

scores = graph.scores[graph.peaks(n_peaks=12)]
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.semilogy(range(1, 13), scores, "o-", color="0.45")
axes.semilogy(
    range(1, len(peaks) + 1), scores[: len(peaks)], "o", color="#D55E00", markersize=8
)
axes.set(
    xlabel="samples, best first",
    ylabel="score",
    xticks=range(1, 13),
    yticks=[0.5, 1, 2, 5],
    ylim=(0.35, 8),
)
axes.set_yticklabels(["0.5", "1", "2", "5"])
axes.minorticks_off()
plt.show()

# %%
# Does the number of neighbours matter? It should be some tens, and not more than there are samples in the smallest
# cluster. From 20 to 120 neighbours there are four peaks. With 10, belief follows chance; with 200, each sample
# has neighbours in several clusters, and the peaks melt into one.

figure, grid = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", sharey=True)
for axes, n_neighbors in zip(grid, (10, 100, 200), strict=True):
    display = DeltaBelDisplay.from_data(X, n_neighbors=n_neighbors, ax=axes)
    axes.set_title(
        f"{n_neighbors} neighbours: {len(display.peaks)} "
        f"peak{'s' * (len(display.peaks) > 1)}"
    )
    axes.set(xlabel="Bel", ylabel="δ" if n_neighbors == 10 else "")
plt.show()

# %%
# Now the clusters. `~evlearn.cluster.ECM` is a relative of k-means that starts with the peaks as centres and moves
# them. Its result is a credal partition: most samples are sure of their cluster, others are torn between two or
# more, or belong to none. Numbers and colours are those of the peaks.

model = ECM(n_clusters=len(peaks), init=X[peaks]).fit(X)
model.credal_partition_.summary()

# %%
# White stars are the peaks, and black dots the final centres.

figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
CredalPartitionDisplay.from_estimator(model, X, ax=axes)
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
